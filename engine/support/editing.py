"""Domain editing: removing far support points from which no one commutes according to public data.

Only public data and the keyed stream decide which points are removed, never a confidential count.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray, FloatArray, IntArray, as_amounts
from engine.errors import ParameterError, SupportError
from engine.kernels.units import RETENTION_UNITS
from engine.streams import Keyed, Stage, stream_words
from engine.support.coarsening import LEVEL_REMAINDER, Coarsening

__all__ = ["DEFAULT_ELIMINATION", "EditedDomain", "EditingMode", "edit_domain"]

EditingMode = Literal["none", "drop", "pool"]

DEFAULT_ELIMINATION: tuple[tuple[float, float], ...] = ((500.0, 0.98), (200.0, 0.9), (100.0, 0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedDomain:
    """Support points after domain editing.

    Attributes
    ----------
    coarsening : Coarsening
        The edited support points; surviving points keep their order. Under ``pool`` a destination tract
        that lost points has one more point, its last, of level 3 (remainder).
    new_point : int32[K]
        Local number after editing of each point before it: -1 if dropped, the remainder's number if pooled.
    tract_before : int64[K before]
        Destination tract (position in the batch) of each point before editing.
    n_eliminated : int64[T]
        Support points eliminated from each destination tract.
    """

    coarsening: Coarsening
    new_point: npt.NDArray[np.int32]
    tract_before: npt.NDArray[np.int64]
    n_eliminated: npt.NDArray[np.int64]

    def carry(self, amounts: FloatArray) -> FloatArray:
        """Amounts of the points before editing, such as prior mass, summed over the points after it: float64[K]."""
        n_before = self.new_point.size
        if amounts.size != n_before:
            raise ParameterError(
                f"{amounts.size} amounts for {n_before} points before editing: give one each"
            )
        if not self.n_eliminated.any():
            return amounts.astype(np.float64, copy=False)
        kept = self.new_point >= 0
        at = self.coarsening.support_ptr[self.tract_before] + self.new_point
        return np.bincount(at[kept], amounts[kept], self.coarsening.support_level.size).astype(np.float64)


def edit_domain(
    key: Keyed,
    coarsening: Coarsening,
    support_mass: FloatArray,
    destination_tract: IntArray,
    *,
    mode: EditingMode = "pool",
    elimination: Sequence[tuple[float, float]] = DEFAULT_ELIMINATION,
) -> EditedDomain:
    """Eliminate support points without public prior mass at random, the farther away the more often.

    Parameters
    ----------
    key : PublicSeed or SecretKey
        A public seed, which the certificate states, is enough because no confidential count is used. Draws
        come from stage EDIT, addressed by (destination tract number, 0), one 32-bit word per candidate
        point in point order.
    coarsening : Coarsening
        The support points before editing.
    support_mass : float64[K]
        Public prior mass of each point; only points with mass exactly zero can be eliminated.
    destination_tract : int[T]
        Global number (0 to 2^32 - 1) of each destination tract, the same in every batch that holds it.
    mode : {"pool", "drop", "none"}
        ``pool`` merges eliminated points into one remainder point per destination tract, so that no
        worker is lost; ``drop`` removes them with their workers (P10); ``none`` changes nothing.
    elimination : sequence of (distance_mi, probability)
        A candidate farther than ``distance_mi`` miles is eliminated with ``probability``; the largest distance
        that applies counts. Probabilities are rounded down to multiples of 2^-32.

    Returns
    -------
    EditedDomain

    Raises
    ------
    ParameterError
        If mode, elimination or array lengths are not as above.
    SupportError
        If a destination tract would keep no point.

    Source: P10 "Editing the Prior Domain"; docs/theory/method.md, section 4. Departure: ``pool``, so that n is
    untouched.
    """
    if mode not in get_args(EditingMode):
        raise ParameterError(f"editing mode {mode!r}: allowed are {', '.join(get_args(EditingMode))}")
    mass = as_amounts("support_mass", support_mass)
    n_tracts, n_points = coarsening.n_destination_tracts, coarsening.support_level.size
    if mass.size != n_points or destination_tract.size != n_tracts:
        raise ParameterError(
            f"{mass.size} masses and {destination_tract.size} tract numbers: give {n_points}, one per "
            f"support point, and {n_tracts}, one per destination tract"
        )
    if np.any(coarsening.support_level == LEVEL_REMAINDER):
        raise ParameterError("these support points have been edited already: edit the original coarsening")
    thresholds = _thresholds(elimination)
    is_candidate = mass == 0
    if mode == "none" or not is_candidate.any():
        return _keep_domain(coarsening)
    threshold = np.where(is_candidate, _elimination_threshold(coarsening, thresholds), 0)
    eliminated = _draw_eliminated(key, coarsening, threshold, destination_tract)
    if not eliminated.any():
        return _keep_domain(coarsening)
    n_eliminated = np.bincount(coarsening.tract_of_point[eliminated], minlength=n_tracts)
    emptied = np.flatnonzero(n_eliminated == coarsening.n_support)
    if emptied.size:
        raise SupportError(
            f"domain editing leaves destination tract {destination_tract[emptied[0]]} no support point: "
            "give it prior mass, or lower the elimination probabilities"
        )
    return _rebuild(coarsening, eliminated, n_eliminated, pool=mode == "pool")


def _keep_domain(coarsening: Coarsening) -> EditedDomain:
    """The domain where nothing is eliminated."""
    return EditedDomain(
        coarsening=coarsening,
        new_point=coarsening.local_points,
        tract_before=coarsening.tract_of_point,
        n_eliminated=np.zeros(coarsening.n_destination_tracts, dtype=np.int64),
    )


def _thresholds(elimination: Sequence[tuple[float, float]]) -> list[tuple[float, int]]:
    """Distances, rising, and elimination probabilities in units of 2^-32, rounded down."""
    for distance_mi, probability in elimination:
        if not (distance_mi >= 0 and 0 <= probability <= 1):
            raise ParameterError(
                f"elimination ({distance_mi} mi, {probability}): give a distance of at least 0 and a "
                "probability of 0 to 1"
            )
    return [
        (distance_mi, int(probability * RETENTION_UNITS)) for distance_mi, probability in sorted(elimination)
    ]


def _elimination_threshold(
    coarsening: Coarsening, thresholds: list[tuple[float, int]]
) -> npt.NDArray[np.int64]:
    """Elimination probability of each point by distance alone, in units of 2^-32."""
    threshold = np.zeros(coarsening.support_level.size, dtype=np.int64)
    for distance_mi, probability in thresholds:
        threshold[coarsening.support_distance_mi > distance_mi] = probability
    return threshold


def _draw_eliminated(
    key: Keyed, coarsening: Coarsening, threshold: npt.NDArray[np.int64], destination_tract: IntArray
) -> BoolArray:
    """Bernoulli draws, one word for each point whose threshold is not 0: bool[K]."""
    candidate = threshold > 0
    n_candidates = np.bincount(
        coarsening.tract_of_point[candidate], minlength=coarsening.n_destination_tracts
    )
    segment = np.zeros(destination_tract.size, dtype=np.int64)
    _, words = stream_words(key, Stage.EDIT, destination_tract, segment, n_candidates)
    eliminated = np.zeros(candidate.size, dtype=np.bool_)
    eliminated[candidate] = words < threshold[candidate]
    return eliminated


def _rebuild(
    coarsening: Coarsening, eliminated: BoolArray, n_eliminated: npt.NDArray[np.int64], *, pool: bool
) -> EditedDomain:
    """The edited support points, and the new number of each old point."""
    tract = coarsening.tract_of_point
    n_kept = coarsening.n_support - n_eliminated
    has_remainder = (n_eliminated > 0) & pool
    new_ptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(n_kept + has_remainder)))
    kept_before: npt.NDArray[np.int64] = np.cumsum(~eliminated) - ~eliminated
    new_point = kept_before - (np.cumsum(n_kept) - n_kept)[tract]
    new_point[eliminated] = n_kept[tract[eliminated]] if pool else -1
    kept_at = (new_ptr[tract] + new_point)[~eliminated]
    remainder_at = new_ptr[1:][has_remainder] - 1
    remainder_of = np.flatnonzero(has_remainder)

    n_points = int(new_ptr[-1])
    level = np.full(n_points, LEVEL_REMAINDER, dtype=np.int8)
    unit = np.full(n_points, -1, dtype=np.int32)
    distance_mi = np.zeros(n_points)
    population = np.zeros(n_points, dtype=np.int64)
    level[kept_at] = coarsening.support_level[~eliminated]
    unit[kept_at] = coarsening.support_unit[~eliminated]
    distance_mi[kept_at] = coarsening.support_distance_mi[~eliminated]
    population[kept_at] = coarsening.support_population[~eliminated]
    pooled_mi, pooled_population = _pool(coarsening, eliminated)
    distance_mi[remainder_at] = pooled_mi[remainder_of]
    population[remainder_at] = pooled_population[remainder_of]

    edited = replace(
        coarsening,
        support_ptr=new_ptr,
        support_level=level,
        support_unit=unit,
        support_distance_mi=distance_mi,
        support_population=population,
    )
    return EditedDomain(
        coarsening=edited, new_point=new_point.astype(np.int32), tract_before=tract, n_eliminated=n_eliminated
    )


def _pool(coarsening: Coarsening, eliminated: BoolArray) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Mean distance and population of the points that each destination tract lost: float64[T] and int64[T].

    The mean is weighted by population, or unweighted if the points have no population.
    """
    n_tracts = coarsening.n_destination_tracts
    tract = coarsening.tract_of_point[eliminated]
    population = np.zeros(n_tracts, dtype=np.int64)
    np.add.at(population, tract, coarsening.support_population[eliminated])
    weight = np.where(population[tract] > 0, coarsening.support_population[eliminated], 1)
    total = np.bincount(tract, weight, n_tracts)
    weighted = np.bincount(tract, weight * coarsening.support_distance_mi[eliminated], n_tracts)
    return weighted / np.maximum(total, 1.0), population
