"""The built-in gravity prior: population times a distance decay, fitted to public percentiles.

Source: docs/theory/method.md, sections 2 and 3.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray, IntArray, as_amounts, as_int
from engine.errors import ParameterError
from engine.threads import run_ranges

__all__ = ["GravityDecay", "decay_at", "fit_gravity_decay"]

# exp(-600) is about 1e-261: still positive, so that distance alone never makes prior mass zero.
_LARGEST_EXPONENT = 600.0
_N_BINS = 512
_NEAREST_MI = 0.05
_SCALES_MI = (0.05, 0.2, 0.7, 2.0, 5.0, 12.0, 30.0, 100.0)
_SHAPES = (0.25, 0.4, 0.6, 0.8, 1.0, 1.5, 2.5)
_SCALE_LIMITS_MI = (1e-3, 1e4)
_SHAPE_LIMITS = (0.15, 6.0)
_FIRST_STEP = 0.05  # of each coordinate
_FIRST_STEP_FROM_0 = 0.00025
_MOST_STEPS = 1000
_POINT_TOLERANCE = 1e-7  # of the logarithms of scale and shape
_MISFIT_TOLERANCE = 1e-12

_Corner: TypeAlias = tuple[float, FloatArray]
"""Misfit at a point, and the point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GravityDecay:
    """Distance decay exp(-(distance / scale_mi) ** shape) of the gravity prior.

    Attributes
    ----------
    scale_mi : float
        Miles at which the decay has fallen to 1/e.
    shape : float
        1 is exponential; less gives a longer tail.
    percentiles_mi : tuple of (probability, wanted_mi, achieved_mi)
        The public percentiles fitted to, and those of the fitted model itself.
    """

    scale_mi: float
    shape: float
    percentiles_mi: tuple[tuple[float, float, float], ...] = ()


def fit_gravity_decay(
    distance_mi: npt.ArrayLike,
    population: IntArray,
    destination_weight: npt.ArrayLike,
    *,
    percentiles_mi: Sequence[tuple[float, float]],
    threads: int = 1,
) -> GravityDecay:
    """Fit the distance decay to public percentiles of commute distance.

    The model: a worker of destination tract t lives in origin tract o with probability proportional to
    population_o × decay(distance_to). Its distances, over destination tracts weighted by
    ``destination_weight``, are given the wanted percentiles as closely as two parameters allow.

    Parameters
    ----------
    distance_mi : float[T, n_tracts]
        Great-circle distances, miles; a sample of the destination tracts is enough.
    population : int[n_tracts]
        Public population of the origin tracts.
    destination_weight : float[T]
        Public job count (or population) of the destination tracts.
    percentiles_mi : sequence of (probability, miles)
        For example ``((0.5, 6.23), (0.9, 21.54))``.
    threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    GravityDecay
        Parameters to six significant digits, with the percentiles achieved.

    Raises
    ------
    ParameterError
        If shapes do not agree, percentiles are out of order, or nothing has weight.

    Source: docs/theory/method.md, section 3.
    """
    distance = as_amounts("distance_mi", distance_mi, ndim=2)
    people = as_int("population", population)
    weight = as_amounts("destination_weight", destination_weight)
    if distance.shape != (weight.size, people.size):
        raise ParameterError(
            f"distance_mi is {distance.shape}: {weight.size} destination weights and {people.size} "
            f"populations need {(weight.size, people.size)}"
        )
    if not (weight.any() and people.any()):
        raise ParameterError("population or destination_weight is zero everywhere: nothing to fit to")
    wanted = _check_percentiles(percentiles_mi)
    model = _DistanceModel(distance, people, weight, threads)

    def misfit(point: FloatArray) -> float:
        achieved = model.percentiles(_clip_to_limits(point), wanted[:, 0])
        return float(np.square(np.log(np.maximum(achieved, _NEAREST_MI) / wanted[:, 1])).sum())

    starts = [np.log((scale, shape)) for scale in _SCALES_MI for shape in _SHAPES]
    best = min(starts, key=misfit)
    fitted = _simplex_minimum(misfit, best)
    # Six digits: enough for a prior, and the same on machines whose last bits differ.
    scale, shape = (float(f"{value:.6g}") for value in _clip_to_limits(fitted))
    achieved = model.percentiles((scale, shape), wanted[:, 0])
    percentiles = tuple(
        (float(probability), float(target), float(reached))
        for (probability, target), reached in zip(wanted, achieved, strict=True)
    )
    return GravityDecay(scale_mi=scale, shape=shape, percentiles_mi=percentiles)


def _check_percentiles(percentiles_mi: Sequence[tuple[float, float]]) -> FloatArray:
    """Percentiles as float64[P, 2], rising in both columns."""
    wanted = np.array(sorted(percentiles_mi), dtype=np.float64).reshape(-1, 2)
    inside = (wanted[:, 0] > 0) & (wanted[:, 0] < 1) & (wanted[:, 1] > 0) & np.isfinite(wanted[:, 1])
    if wanted.size == 0 or not inside.all() or np.any(np.diff(wanted, axis=0) <= 0):
        raise ParameterError(
            f"percentiles_mi = {tuple(percentiles_mi)}: give (probability, miles) pairs, probabilities "
            "between 0 and 1, miles above 0 and rising with them"
        )
    return wanted


def _clip_to_limits(point: FloatArray) -> tuple[float, float]:
    """Scale and shape from their logarithms, held inside what makes numerical sense."""
    scale = float(np.clip(np.exp(point[0]), *_SCALE_LIMITS_MI))
    return scale, float(np.clip(np.exp(point[1]), *_SHAPE_LIMITS))


def _simplex_minimum(misfit: Callable[[FloatArray], float], start: FloatArray) -> FloatArray:
    """Return the point near `start` at which `misfit` is least, by the simplex method.

    It takes the same steps as SciPy's, which takes longer to import than the rest of a fit takes.

    Source: Nelder and Mead, "A simplex method for function minimization", The Computer Journal 7 (1965), 308-313.
    """
    steps = np.diag(np.where(start != 0.0, _FIRST_STEP * start, _FIRST_STEP_FROM_0))
    corners = _sort_by_misfit([(misfit(point), point) for point in (start, *(start + steps))])
    for _ in range(_MOST_STEPS):
        (least, best), (most, _) = corners[0], corners[-1]
        width = max(float(np.abs(point - best).max()) for _, point in corners)
        if width <= _POINT_TOLERANCE and most - least <= _MISFIT_TOLERANCE:
            break
        corners = _sort_by_misfit(_next_simplex(misfit, corners))
    return corners[0][1]


def _next_simplex(misfit: Callable[[FloatArray], float], corners: list[_Corner]) -> list[_Corner]:
    """Replace the worst of the corners, or move all others halfway to the best one."""
    *others, (most, worst) = corners
    least, best = corners[0]
    middle = np.mean([point for _, point in others], axis=0)

    def move_beyond_middle(steps: float) -> _Corner:
        point = (1.0 + steps) * middle - steps * worst
        return misfit(point), point

    reflected = move_beyond_middle(1.0)
    if reflected[0] < least:
        return [*others, min(move_beyond_middle(2.0), reflected, key=_misfit_of)]
    if reflected[0] < others[-1][0]:
        return [*others, reflected]
    if reflected[0] < most:
        contracted, limit = move_beyond_middle(0.5), reflected[0]
    else:
        contracted, limit = move_beyond_middle(-0.5), most
    if contracted[0] < limit:
        return [*others, contracted]
    halved = [best + 0.5 * (point - best) for _, point in corners[1:]]
    return [corners[0], *((misfit(point), point) for point in halved)]


def _sort_by_misfit(corners: list[_Corner]) -> list[_Corner]:
    return sorted(corners, key=_misfit_of)


def _misfit_of(corner: _Corner) -> float:
    return corner[0]


def decay_at(distance_mi: FloatArray, decay: GravityDecay) -> FloatArray:
    """Distance decay of the gravity prior at given distances, miles: positive everywhere, 1 at none."""
    return _decay(distance_mi, decay.scale_mi, decay.shape)


def _decay(distance_mi: FloatArray, scale_mi: float, shape: float) -> FloatArray:
    return np.exp(-np.minimum((distance_mi / scale_mi) ** shape, _LARGEST_EXPONENT))


class _DistanceModel:
    """Commute distances the gravity model predicts, from one pass over the distances.

    Population is gathered into narrow distance bins per destination tract, so that each trial of the fit
    costs T × bins rather than T × n_tracts.
    """

    def __init__(
        self, distance_mi: FloatArray, population: npt.NDArray[np.int64], weight: FloatArray, threads: int = 1
    ) -> None:
        farthest = max(float(distance_mi.max()), 2 * _NEAREST_MI) * 1.000001
        self._edges = np.concatenate(([0.0], np.geomspace(_NEAREST_MI, farthest, _N_BINS)))
        per_bin = np.log(farthest / _NEAREST_MI) / (_N_BINS - 1)
        self._population = np.zeros((weight.size, _N_BINS))
        distance_of_tract = np.zeros((weight.size, _N_BINS))

        def fill(start: int, stop: int) -> int:
            for tract in range(start, stop):
                distances = distance_mi[tract]
                steps = np.log(np.maximum(distances, _NEAREST_MI / 2) / _NEAREST_MI) / per_bin
                bins = np.clip(steps + 1.0, 0, _N_BINS - 1).astype(np.int64)
                self._population[tract] = np.bincount(bins, population, _N_BINS)
                distance_of_tract[tract] = np.bincount(bins, population * distances, _N_BINS)
            return 0

        run_ranges(fill, np.ones(weight.size, dtype=np.int64), threads)
        total_distance = np.zeros(_N_BINS)
        for of_tract in distance_of_tract:  # one after the other, whatever the threads
            total_distance += of_tract
        in_bin = self._population.sum(axis=0)
        middle = (self._edges[1:] + self._edges[:-1]) / 2
        self._distance = np.divide(total_distance, in_bin, out=middle, where=in_bin > 0)
        self._weight = weight

    def percentiles(self, parameters: tuple[float, float], probability: FloatArray) -> FloatArray:
        """Distances below which the given shares of the model's commutes fall, miles."""
        decay = _decay(self._distance, *parameters)
        attraction = self._population @ decay
        per_attraction = np.divide(
            self._weight, attraction, out=np.zeros_like(self._weight), where=attraction > 0
        )
        below = np.concatenate(([0.0], np.cumsum((per_attraction @ self._population) * decay)))
        miles: FloatArray = np.interp(probability * below[-1], below, self._edges)
        return miles
