"""The mechanisms that no accountant certifies: what each uses, promises and draws; and the drawing of them all.

The Dirichlet-multinomial and accept/reject are as private as their prior weights are large, which an accountant
certifies. The exponential mechanism, Laplace noise and the sparse histogram have proofs of their own, which use epsilon
and delta alone; plug-in has no proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from engine.accept_reject import inner_privacy, synthesize_accepted
from engine.mechanisms.exponential import exponential, exponential_promise
from engine.mechanisms.laplace import laplace_histogram, laplace_promise
from engine.mechanisms.plug_in import plug_in_multinomial, plug_in_promise
from engine.mechanisms.promise import MechanismPromise
from engine.mechanisms.randomizing import (
    geometric_histogram,
    geometric_promise,
    keep_or_redraw,
    keep_or_redraw_promise,
)
from engine.mechanisms.sparse import sparse_histogram, sparse_promise
from engine.parameters import Mechanism, PrivacyParameters, Unit
from engine.streams import SecretKey
from engine.support_table import SupportTable
from engine.synthesis import Synthesizers, SyntheticPoints, synthesize
from engine.units import WEIGHT_UNITS
from mapapp.publishing.certificate.terms import MARGINS_CAVEAT, SINGLE_HOMES_CAVEAT

__all__ = ["OWN_PROOFS", "OwnProof", "Units", "draw_support_points", "require_range"]


class Units(NamedTuple):
    """Workers who are drawn together, and the row of `tracts` of each destination tract: int64[T]."""

    unit: Unit
    tract_number: npt.NDArray[np.int64]


_Draw: TypeAlias = Callable[
    [SecretKey, Synthesizers, SupportTable, PrivacyParameters, Units], SyntheticPoints
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnProof:
    """A mechanism that no accountant certifies.

    Attributes
    ----------
    uses : tuple of str
        The privacy parameters that it depends on; it ignores all others.
    promise : callable
        Takes the privacy parameters; ParameterError where epsilon is out of its range.
    draw : callable
        Takes key, synthesizers, support, the privacy parameters and the units; returns a support point per synthetic
        worker.
    caveats : tuple of str
        For the certificate.
    uses_weights : bool
        Whether the draw reads prior weights.
    """

    uses: tuple[str, ...]
    promise: Callable[[PrivacyParameters], MechanismPromise]
    draw: _Draw
    caveats: tuple[str, ...]
    uses_weights: bool = True


def _by_unit(mechanism: Callable[..., SyntheticPoints]) -> _Draw:
    """The draw of a mechanism that depends on epsilon and takes units."""

    def draw(
        key: SecretKey,
        synthesizers: Synthesizers,
        support: SupportTable,
        privacy: PrivacyParameters,
        units: Units,
    ) -> SyntheticPoints:
        return mechanism(
            key,
            synthesizers,
            support,
            epsilon=privacy.epsilon,
            unit=units.unit,
            tract_number=units.tract_number,
        )

    return draw


OWN_PROOFS: Final[Mapping[str, OwnProof]] = {
    "exponential": OwnProof(
        uses=("epsilon",),
        promise=lambda privacy: exponential_promise(privacy.epsilon),
        draw=_by_unit(exponential),
        uses_weights=False,
        caveats=(
            "Among all ways in which the public number of workers could live, those that differ from the real one in "
            "few workers are more likely to be drawn. The promise holds in both readings with delta 0, and for "
            "everything computed from the release.",
            "Equal epsilon is not equal exposure. This mechanism adds no noise that the promise does not need, so at "
            "the same epsilon it is closer to the truth for single workers as well.",
            MARGINS_CAVEAT,
            SINGLE_HOMES_CAVEAT,
        ),
    ),
    "keep-or-redraw": OwnProof(
        uses=("epsilon",),
        promise=lambda privacy: keep_or_redraw_promise(privacy.epsilon),
        draw=_by_unit(keep_or_redraw),
        caveats=(
            "Each worker keeps the true support point with a chance that follows from epsilon, or gets any support "
            "point. The promise holds in both readings with delta 0, and survives whatever is computed from the "
            "release.",
            MARGINS_CAVEAT,
            SINGLE_HOMES_CAVEAT,
        ),
    ),
    "geometric": OwnProof(
        uses=("epsilon",),
        promise=lambda privacy: geometric_promise(privacy.epsilon),
        draw=_by_unit(geometric_histogram),
        caveats=(
            "Noise is added to the number of homes in every support point, and the noisy numbers are moved to the "
            "nearest ones with the public total. The noise alone is the promise, so it holds in both readings with "
            "delta 0, and survives whatever is computed from the noisy counts.",
            MARGINS_CAVEAT,
            SINGLE_HOMES_CAVEAT,
        ),
    ),
    "laplace": OwnProof(
        uses=("epsilon",),
        promise=lambda privacy: laplace_promise(privacy.epsilon),
        draw=lambda key, synthesizers, support, privacy, units: laplace_histogram(
            key, synthesizers, support, epsilon=privacy.epsilon
        ),
        caveats=(
            "Noise is added to the number of homes in every support point. The promise follows from this alone, so it "
            "holds in both readings with delta 0, and for everything computed from the noisy counts.",
            MARGINS_CAVEAT,
            SINGLE_HOMES_CAVEAT,
        ),
    ),
    "sparse-histogram": OwnProof(
        uses=("epsilon", "delta"),
        promise=lambda privacy: sparse_promise(privacy.epsilon, privacy.delta),
        draw=lambda key, synthesizers, support, privacy, units: sparse_histogram(
            key, synthesizers, support, epsilon=privacy.epsilon, delta=privacy.delta
        ),
        caveats=(
            "The promise is ordinary (epsilon, delta)-differential privacy and holds for everything computed from the "
            "release. It does not hold in the probabilistic reading: if many workers each live alone in a support "
            "point, the probability that some point reveals its worker is up to delta times their number.",
            MARGINS_CAVEAT,
            SINGLE_HOMES_CAVEAT,
        ),
    ),
    "plug-in": OwnProof(
        uses=(),
        promise=lambda privacy: plug_in_promise(),
        draw=lambda key, synthesizers, support, privacy, units: plug_in_multinomial(
            key, synthesizers, support
        ),
        caveats=(
            "Nothing is promised. Synthetic homes are drawn from the real homes of the same workplace, so every home "
            "on the map reveals a real one. This release only serves for comparison. Do not publish it.",
        ),
    ),
}


def require_range(privacy: PrivacyParameters, mechanism: Mechanism) -> None:
    """Refuse a promise that a mechanism cannot make, before anything is read.

    Raises
    ------
    ParameterError
        Epsilon is out of the mechanism's range, or it is not for this accountant.
    """
    if mechanism in OWN_PROOFS:
        OWN_PROOFS[mechanism].promise(privacy)
    elif mechanism == "accept-reject":
        inner_privacy(privacy)


def draw_support_points(
    key: SecretKey,
    synthesizers: Synthesizers,
    support: SupportTable,
    privacy: PrivacyParameters,
    mechanism: Mechanism,
    *,
    units: Units,
    accepted_ratio: npt.NDArray[np.int64] | None,
) -> SyntheticPoints:
    """Draw a support point for every synthetic worker.

    Parameters
    ----------
    key : SecretKey
    synthesizers, support
        As for :func:`engine.synthesis.synthesize`.
    privacy : PrivacyParameters
        The promise, whose epsilon (and delta) set the noise of a mechanism that adds any.
    mechanism : str
    units : Units
        For mechanisms that can draw larger units than a cell.
    accepted_ratio : int64[S] or None
        What accept/reject accepts (:attr:`engine.accept_reject.AcceptedAccounting.ratio`).

    Raises
    ------
    EngineError
        As the mechanism's own function.
    """
    if mechanism in OWN_PROOFS:
        return OWN_PROOFS[mechanism].draw(key, synthesizers, support, privacy, units)
    # Both accountants certify pruning that spares what weighs more than one worker; so it is drawn.
    if accepted_ratio is not None:
        return synthesize_accepted(key, synthesizers, support, accepted_ratio, certain_above=WEIGHT_UNITS)
    return synthesize(key, synthesizers, support, certain_above=WEIGHT_UNITS)
