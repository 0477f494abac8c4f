"""The measures that a planner understands, to be expected of a setting: from public data alone.

The homes are simulated from public data (`mapapp.publishing.public_part`), placed in blocks by population, and drawn
once with the published test key, as a release is. So nothing here depends on the confidential homes, and anybody with
the public tables gets the same numbers.

Flows and areas are read from two simulations. What many workplaces have in common decides the error of an area's
inflow, so their homes differ from the gravity model alike. In a flow between two tracts, the difference of one
workplace is larger than that, and a common one as well would move too many homes within PUMAs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.gravity import GravityDecay
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.placement import BlockTable
from engine.streams import PublicSeed
from mapapp.publishing.certified_weights import certify_weights
from mapapp.publishing.compared_homes import Places
from mapapp.publishing.drawn_homes import drawn_homes
from mapapp.publishing.geography import Ints
from mapapp.publishing.inputs import Inputs
from mapapp.publishing.plain_measures import PlainMeasures, plain_measures
from mapapp.publishing.public_part import CONCENTRATION, PublicPart, PublicPriors, simulated_homes
from mapapp.publishing.support import build_support

__all__ = ["expected_plain"]

_COMMON_ERROR: Final = 1.0
"""In sums over many workplaces, real homes differ from the gravity model alike: by a factor of about two.

Without this, cleaning would look perfect, because it takes noise out by the same model.
"""
_PLACING: Final = 20102  # any number: the same blocks in every run


def expected_plain(
    public: PublicPart, places: Places, privacy: PrivacyParameters, parameters: SynthesisParameters
) -> PlainMeasures:
    """Certify a setting and draw it once in place of each of two simulations of homes from public data.

    Raises
    ------
    EngineError
        The setting cannot be certified.
    """
    geography, priors = public.geography, PublicPriors(public, parameters)
    sample = public.sample
    support = build_support(
        PublicSeed.for_tests(),
        geography.tracts,
        sample.destination_tract,
        priors.of(parameters.prior),
        privacy,
        parameters,
    )
    certified = certify_weights(sample, support, privacy, parameters.mechanism)

    def measured(common_error: float) -> PlainMeasures:
        inputs = simulated_inputs(public, priors.gravity, common_error=common_error)
        compared = drawn_homes(inputs, geography, places, support, certified, privacy, parameters)
        return plain_measures([compared], is_sample=is_sample)

    is_sample = sample.destination_tract.size < public.workplaces.tract.size
    flows = measured(0.0)
    inflow = {} if is_sample else measured(_COMMON_ERROR).inflow
    # Some simulated homes are anywhere, so their average commute says nothing about the real one.
    return replace(flows, inflow=inflow, real_mi=math.nan, drawn_mi=math.nan)


def simulated_inputs(public: PublicPart, gravity: GravityDecay, *, common_error: float) -> Inputs:
    """The workers of the public sample with homes simulated from public data, in place of the confidential ones."""
    sample = public.sample
    homes = simulated_homes(public, gravity, CONCENTRATION, common_error=common_error)
    return Inputs(
        destination_tract=sample.destination_tract,
        destination=sample.destination,
        segment=sample.segment,
        tract=sample.tract,
        worker_ptr=np.append(0, np.cumsum(sample.count)).astype(np.int64),
        worker_origin=_placed(public.geography.blocks, homes.origin_tract),
    )


def _placed(blocks: BlockTable, home_tract: Ints) -> npt.NDArray[np.int32]:
    """A block of each home tract, drawn by population, or evenly if nobody lives there."""
    value = np.random.default_rng(_PLACING).random(home_tract.size)
    first, end = blocks.block_ptr[home_tract], blocks.block_ptr[home_tract + 1]
    below, people = blocks.block_sum[first], blocks.block_sum[end] - blocks.block_sum[first]
    by_population = np.searchsorted(blocks.block_sum, below + (value * people).astype(np.int64), "right") - 1
    any_block = first + (value * (end - first)).astype(np.int64)
    return np.where(people > 0, by_population, any_block).astype(np.int32)
