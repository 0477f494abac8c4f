"""The informed attacker on a release: knows the mechanism, all public inputs, and every worker but the victim.

Also the test of the promise: the spread of the log likelihood ratios is at most epsilon_final, but for what delta
allows. An audit that finds more has found a bug.

Source: docs/audit.md, "The informed attacker".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.audit.alarm import most_allowed
from engine.audit.informed import informed_attack, likelihood_of
from engine.audit.predictions import Predictions
from engine.coarsening import LEVEL_REMAINDER
from engine.parameters import SynthesisParameters
from engine.synthesis import Synthesizers, SyntheticPoints
from mapapp.measuring.audit.audited import Audited, AuditedPart
from mapapp.measuring.audit.questions import QuestionPart
from mapapp.measuring.audit.result import ReleaseFacts

__all__ = ["InformedPart", "SpreadPart", "informed_part", "spread_row", "why_not_informed"]

_ROUNDING: Final = 1e-9
"""By which a spread may exceed epsilon in floating point."""


class InformedPart(NamedTuple):
    """What the informed attacker finds about the workers of some destination tracts.

    Attributes
    ----------
    without_release, with_release : Predictions
        Values are those of the question about home points.
    spread : float64[S]
        Greatest spread of log likelihood ratios of every (workplace block, segment).
    is_exact : bool[S]
        False in tracts with a remainder point, whose workers were drawn again after the mechanism.
    promised : float
        What a release, or a setting on these tracts alone, promises; at most what it promises on all.
    """

    without_release: Predictions
    with_release: Predictions
    spread: npt.NDArray[np.float64]
    is_exact: npt.NDArray[np.bool_]
    promised: float


class SpreadPart(NamedTuple):
    """What remains of the likelihood ratios of some destination tracts.

    Attributes
    ----------
    pairs, untested : int
        (Workplace block, segment) pairs whose spread is exact, and the others.
    largest : float
        Of the exact spreads; NaN if one is no number, 0 without any.
    above : float64[A]
        Exact spreads that are not within what was promised on these tracts.
    """

    pairs: int
    untested: int
    largest: float
    above: npt.NDArray[np.float64]

    @classmethod
    def of(cls, part: InformedPart) -> SpreadPart:
        """Sum up the spreads of some destination tracts."""
        spread = part.spread[part.is_exact]
        return cls(
            pairs=spread.size,
            untested=part.spread.size - spread.size,
            largest=float(spread.max(initial=0.0)),
            above=spread[~(spread <= part.promised + _ROUNDING)],
        )


def informed_part(
    audited: Audited, part: AuditedPart, asked: QuestionPart, promised: float | None
) -> InformedPart | None:
    """Run the informed attacker on some destination tracts; None if the mechanism leaves the attacker out.

    Parameters
    ----------
    audited : Audited
    part : AuditedPart
    asked : QuestionPart
        The home points of the same workers.
    promised : float or None
        The promise of the release, or of the setting on these tracts alone; None for a mechanism without one.
    """
    privacy, parameters = audited.privacy, audited.parameters
    likelihood = likelihood_of(parameters.mechanism, parameters.unit, privacy)
    if likelihood is None or promised is None or parameters.editing == "drop":
        return None
    inputs, table = part.panel.inputs, part.support.table
    weights = part.certified.of_synthesizers()
    first = np.repeat(table.support_ptr[inputs.tract], inputs.count)
    found = informed_attack(
        Synthesizers(
            tract=inputs.tract,
            destination=inputs.destination,
            segment=inputs.segment,
            worker_ptr=inputs.worker_ptr,
            worker_point=(asked.truth - first).astype(np.int32),
            min_prior_weight=weights.min_prior_weight,
            published_count=inputs.count,
            prunes=weights.prunes,
        ),
        SyntheticPoints(
            synthetic_ptr=inputs.worker_ptr, synthetic_point=(asked.released - first).astype(np.int32)
        ),
        table,
        part.support.share,
        likelihood,
        epsilon=promised,
    )
    coarsening = part.support.coarsening
    remainders = coarsening.tract_of_point[coarsening.support_level == LEVEL_REMAINDER]
    return InformedPart(
        without_release=_as_values(found.without_release, first),
        with_release=_as_values(found.with_release, first),
        spread=np.maximum.reduceat(found.spread, inputs.worker_ptr[:-1]),
        is_exact=~np.isin(inputs.tract, remainders),
        promised=promised,
    )


def _as_values(predictions: Predictions, first: npt.NDArray[np.int64]) -> Predictions:
    return Predictions(first + predictions.value, predictions.belief)


def spread_row(facts: ReleaseFacts, parts: Sequence[SpreadPart]) -> dict[str, object]:
    """Hold the likelihood ratios against the promise: a row of the table `spread`; None for what was not tested."""
    promised, delta = facts["epsilon_final"], facts["delta"]
    pairs = sum(part.pairs for part in parts)
    row: dict[str, object] = {
        "release": facts["name"],
        "epsilon_final": promised,
        "delta": delta,
        "pairs": pairs,
        "untested": sum(part.untested for part in parts),
        "largest": None,
        "exceeding": None,
        "allowed": None,
        "is_broken": None,
    }
    if promised is None or delta is None or not pairs:
        return row
    above = np.concatenate([part.above for part in parts])
    # A spread that is no number exceeds the promise.
    exceeding = int(np.count_nonzero(~(above <= promised + _ROUNDING)))
    allowed = most_allowed(pairs, delta)
    largest = float(np.max([part.largest for part in parts]))
    found = {"largest": largest, "exceeding": exceeding, "allowed": allowed}
    return row | found | {"is_broken": exceeding > allowed}


def why_not_informed(parameters: SynthesisParameters) -> list[str]:
    """Say that the informed attacker is left out, or what its numbers leave out; empty if nothing is."""
    what = "the attacker who knows all others"
    if parameters.unit != "cell":
        return [f"{what} is left out: for units of a {parameters.unit} there is no closed form"]
    if parameters.editing == "drop":
        return [f"{what} is left out: editing drop removes workers before the draw"]
    if parameters.clean:
        return [
            f"{what} reads the cleaned release as if it had been drawn so, and claims too much; a setting with clean = "
            "false shows what the draw alone gives away"
        ]
    return []
