"""The prior sample: what public data say about where workers live, as exact integer weights.

Everything here comes from public data: tract flows, last year's release, or the built-in gravity prior
(:mod:`engine.gravity`).
"""

import numpy as np
import numpy.typing as npt

from engine._arrays import BoolArray, FloatArray, IntArray, as_amounts, as_int
from engine._kernels.coarsening import sum_over_points
from engine.coarsening import Coarsening
from engine.errors import ParameterError, SupportError
from engine.gravity import GravityDecay, fit_gravity_decay, gravity_mass

__all__ = [
    "SHARE_BITS",
    "WEIGHT_BITS",
    "WEIGHT_ONE",
    "GravityDecay",
    "fill_missing_mass",
    "fit_gravity_decay",
    "flow_mass",
    "gravity_mass",
    "prior_share",
    "prior_weight",
    "quantise_weight_up",
    "redraw_weight",
    "support_mass",
    "uniform_share",
]

WEIGHT_BITS = 20
WEIGHT_ONE = 1 << WEIGHT_BITS
SHARE_BITS = 40

_LARGEST_ALPHA = 2.0**40


def flow_mass(
    destination_tract: IntArray, origin_tract: IntArray, weight: npt.ArrayLike, *, shape: tuple[int, int]
) -> FloatArray:
    """Prior mass from a sparse table of public tract-to-tract flows: float64[T, n_tracts].

    Parameters
    ----------
    destination_tract, origin_tract : int[F]
        Position of the destination tract in the batch, and index of the origin tract; pairs that occur
        more than once add up.
    weight : float[F]
        Flow, at least 0.
    shape : (T, n_tracts)

    Raises
    ------
    ParameterError
        If an index is outside ``shape`` or a weight is negative or missing.

    Source: METHOD section 4.
    """
    n_destinations, n_tracts = shape
    row = as_int("destination_tract", destination_tract, high=n_destinations - 1)
    column = as_int("origin_tract", origin_tract, high=n_tracts - 1)
    flow = as_amounts("weight", weight)
    if not row.size == column.size == flow.size:
        raise ParameterError(
            f"{row.size} destinations, {column.size} origins and {flow.size} weights: give one each per flow"
        )
    total = np.bincount(row * n_tracts + column, flow, n_destinations * n_tracts)
    # With no flows at all bincount answers in integers.
    return total.reshape(shape).astype(np.float64)


def fill_missing_mass(mass: FloatArray, fallback_mass: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Use the fallback (gravity) mass for destination tracts that have none of their own.

    Returns
    -------
    mass : float64[T, n_tracts]
    fell_back : bool[T]
        True where the fallback was used; the certificate should say how often.
    """
    if mass.shape != fallback_mass.shape:
        raise ParameterError(f"fallback_mass is {fallback_mass.shape}: it must be {mass.shape}, as mass is")
    fell_back: BoolArray = ~np.any(mass, axis=1)
    return np.where(fell_back[:, None], fallback_mass, mass), fell_back


def support_mass(coarsening: Coarsening, mass: FloatArray) -> FloatArray:
    """Sum tract mass over support points: float64[K]. Mass in dropped tracts (-1) is left out."""
    tract_mass = as_amounts("mass", mass, ndim=2)
    if tract_mass.shape != coarsening.point_of_tract.shape:
        raise ParameterError(
            f"mass is {tract_mass.shape}: it must be {coarsening.point_of_tract.shape}, destination tracts "
            "by origin tracts"
        )
    total = np.zeros(coarsening.support_level.size)
    sum_over_points(coarsening.support_ptr, coarsening.point_of_tract, tract_mass, total)
    return total


def prior_share(coarsening: Coarsening, mass: FloatArray) -> FloatArray:
    """Share of each support point in its destination tract's prior mass: float64[K], sums to 1 per tract.

    Raises
    ------
    SupportError
        If a destination tract has no mass; use :func:`fill_missing_mass` first.
    """
    point_mass = support_mass(coarsening, mass)
    tract = coarsening.tract_of_point
    total = np.bincount(tract, point_mass, coarsening.n_destination_tracts)
    without = np.flatnonzero(total <= 0)
    if without.size:
        raise SupportError(
            f"destination tract at position {without[0]} has no prior mass: "
            "fill it with fill_missing_mass first"
        )
    return point_mass / total[tract]


def uniform_share(coarsening: Coarsening) -> FloatArray:
    """Equal share for every support point of a destination tract: float64[K]."""
    return np.repeat(1.0 / coarsening.n_support, coarsening.n_support)


def quantise_weight_up(alpha: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Prior weights in integer units of 2^-20, rounded up (exactly: no alpha becomes smaller).

    Raises
    ------
    ParameterError
        If a weight is negative, missing or above 2^40.
    """
    weight = np.asarray(alpha, dtype=np.float64)
    if weight.size and not (weight.min() >= 0 and weight.max() <= _LARGEST_ALPHA):
        raise ParameterError(
            f"prior weights run from {weight.min()} to {weight.max()}: allowed are 0 to 2^40"
        )
    # Scaling by a power of two is exact, so the ceiling is that of the given number itself.
    return np.ceil(weight * WEIGHT_ONE).astype(np.int64)


def prior_weight(share: FloatArray, *, strength: float) -> npt.NDArray[np.int64]:
    """Base prior weight ``strength × share`` in units of 2^-20, rounded up: int64[K].

    The sampler uses max(this, the synthesizer's least weight): alpha_i = max(min_alpha, strength × share_i).

    Source: METHOD section 4.
    """
    if not strength >= 0:
        raise ParameterError(f"strength = {strength}: give at least 0")
    return quantise_weight_up(strength * as_amounts("share", share))


def redraw_weight(share: FloatArray) -> npt.NDArray[np.int64]:
    """Prior shares as integer weights in units of 2^-40, rounded up: int64[K], for ``redraw_remainder``.

    Source: METHOD section 3.
    """
    return np.ceil(as_amounts("share", share) * 2.0**SHARE_BITS).astype(np.int64)
