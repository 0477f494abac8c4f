"""Synthetic workers of a mechanism up to their support points: the draw, and what every release does after it."""

from __future__ import annotations

from engine.kernels.units import WEIGHT_UNITS
from engine.mechanisms.cascade import (
    cascade_points,
    class_factors,
    count_kinds,
    deal_labels,
    draw_labels,
    sum_classes,
)
from engine.mechanisms.cleaning import clean_points
from engine.mechanisms.dirichlet_multinomial import (
    Synthesizers,
    SyntheticPoints,
    redraw_remainder,
    synthesize,
)
from engine.mechanisms.expected_noise import expected_noise
from engine.mechanisms.exponential import exponential
from engine.mechanisms.unit import deal_to_cells, pool_cells
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed, SecretKey
from engine.support.far_states import split_far_states
from engine.support.prior import redraw_weight
from engine.support.support_table import SupportTable
from mapapp.kinds.base.geography import Ints
from mapapp.kinds.release.make.support import Support

__all__ = ["draw_points", "draw_support_points"]


def draw_points(
    key: SecretKey,
    synthesizers: Synthesizers,
    support: Support,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    destination_tract: Ints,
) -> SyntheticPoints:
    """Draw the support points of synthetic workers, clean them, and split far states, as a release does.

    Parameters
    ----------
    key : SecretKey
    synthesizers : Synthesizers
        All those of some destination tracts.
    support : Support
        Of the same tracts.
    privacy, parameters
        What the release is made of.
    destination_tract : int64[T]
        Rows of `tracts`.

    Returns
    -------
    SyntheticPoints
        Points of ``support.coarsening_of_homes``.

    Raises
    ------
    EngineError
        As the mechanism's own function.
    """
    if parameters.cascade:
        drawn = _simulate_cascade(
            key, synthesizers, support, privacy, parameters, destination_tract=destination_tract
        )
        return (
            drawn
            if support.far_split is None
            else split_far_states(key, synthesizers, drawn, support.far_split)
        )
    released = draw_support_points(
        key, synthesizers, support.table, privacy, parameters, destination_tract=destination_tract
    )
    drawn = released
    if support.n_eliminated:  # else no point is a remainder, and shares need not be kept
        drawn = redraw_remainder(key, synthesizers, drawn, support.coarsening, redraw_weight(support.share))
    if parameters.clean:
        noise = expected_noise(
            synthesizers,
            released,
            support.table,
            epsilon=privacy.epsilon,
            unit=parameters.unit,
            tract_number=destination_tract,
        )
        drawn = clean_points(
            key, synthesizers, drawn, support.coarsening, support.share, noise, destination_tract
        )
    if support.far_split is not None:
        drawn = split_far_states(key, synthesizers, drawn, support.far_split)
    return drawn


def _simulate_cascade(
    key: SecretKey,
    cells: Synthesizers,
    support: Support,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    destination_tract: Ints,
) -> SyntheticPoints:
    """Draw a cascade of some destination tracts as if they were all, dealt by the seed that goes with the test key.

    For simulations: a release deals its workers by what all tracts show (:mod:`mapapp.kinds.release.make.cascade`).
    """
    pooled = pool_cells(cells, parameters.unit, None)
    points = cascade_points(support.coarsening, support.share)
    labels = draw_labels(key, pooled.units, points, epsilon=privacy.epsilon)
    factors = class_factors([sum_classes(labels, points, count_kinds(support.coarsening.tracts))])
    dealt = deal_labels(PublicSeed.for_tests(), labels, points, factors, destination_tract)
    return deal_to_cells(key, cells, pooled, dealt)


def draw_support_points(
    key: SecretKey,
    synthesizers: Synthesizers,
    support: SupportTable,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    destination_tract: Ints,
) -> SyntheticPoints:
    """Draw a support point for every synthetic worker by the mechanism alone; arguments as in :func:`draw_points`.

    Raises
    ------
    EngineError
        As the mechanism's own function.
    """
    if parameters.mechanism == "exponential":
        return exponential(
            key,
            synthesizers,
            support,
            epsilon=privacy.epsilon,
            unit=parameters.unit,
            tract_number=destination_tract,
        )
    # Both accountants certify pruning that spares what weighs more than one worker; so it is drawn.
    return synthesize(key, synthesizers, support, certain_above=WEIGHT_UNITS)
