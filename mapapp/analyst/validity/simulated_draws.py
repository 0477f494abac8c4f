"""Draws of a setting with the published test key, for mechanisms whose expectation has no closed form.

They stay in memory on the analyst's machine, and only means over them are shown. Confidential all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.mechanisms.dirichlet_multinomial import Synthesizers
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters
from engine.streams import SecretKey, attempt_key
from geodata.progress import work_in_order
from mapapp.kinds.base.inputs import Inputs
from mapapp.kinds.release.make.certified_weights import SynthesizerWeights
from mapapp.kinds.release.make.drawn_points import draw_support_points
from mapapp.kinds.release.make.support import Support

N_DRAWS: Final = 10
"""Draws of a mechanism that has no closed form."""

NO_CLOSED_FORM: Final[tuple[Mechanism, ...]] = ("exponential",)


def simulate_points(
    inputs: Inputs,
    support: Support,
    weights: SynthesizerWeights,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    worker_point: npt.NDArray[np.int32],
    n_draws: int = N_DRAWS,
) -> Iterator[npt.NDArray[np.int32]]:
    """Yield the local support points of all synthetic workers, once for each draw.

    Parameters
    ----------
    inputs : Inputs
        The real workers.
    support, weights, privacy, parameters
        The setting.
    worker_point : int32[W]
        Local support point of each real worker.
    n_draws : int
    """
    key = SecretKey.for_tests()
    synthesizers = Synthesizers(
        tract=inputs.tract,
        destination=inputs.destination,
        segment=inputs.segment,
        worker_ptr=inputs.worker_ptr,
        worker_point=worker_point,
        min_prior_weight=weights.min_prior_weight,
        published_count=inputs.count,
        prunes=weights.prunes,
    )

    def draw_points(draw: int) -> npt.NDArray[np.int32]:
        return draw_support_points(
            attempt_key(key, draw + 1),
            synthesizers,
            support.table,
            privacy,
            parameters,
            destination_tract=inputs.destination_tract,
        ).synthetic_point

    return work_in_order(draw_points, range(n_draws), os.cpu_count() or 1)
