"""The prior sample: what public data say about where workers live, as exact integer weights.

Everything here comes from public data: tract flows, last year's release, or the built-in gravity prior
(:mod:`engine.support.gravity`).
"""

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray, FloatArray, IntArray, as_amounts
from engine.errors import ParameterError, SupportError
from engine.kernels.units import WEIGHT_UNITS
from engine.support.coarsening import Coarsening

__all__ = [
    "SHARE_BITS",
    "fill_missing_mass",
    "flow_mass",
    "prior_share",
    "prior_weight",
    "quantise_weight_up",
    "redraw_weight",
    "uniform_share",
]

SHARE_BITS = 40

_LARGEST_ALPHA = 2.0**40


def flow_mass(
    coarsening: Coarsening, position: IntArray, origin_tract: IntArray, weight: npt.ArrayLike
) -> FloatArray:
    """Prior mass of every support point from a sparse table of public tract-to-tract flows: float64[K].

    Parameters
    ----------
    coarsening : Coarsening
        Before domain editing.
    position, origin_tract : int[F]
        Position of the destination tract in the batch, and index of the origin tract; pairs that occur
        more than once add up.
    weight : float[F]
        Flow, at least 0.

    Raises
    ------
    ParameterError
        If an index is out of range or a weight is negative or missing.

    Source: docs/theory/method.md, section 3.
    """
    flow = as_amounts("weight", weight)
    if flow.size != position.size:
        raise ParameterError(
            f"{position.size} destinations, {origin_tract.size} origins and {flow.size} weights: give one each"
            " per flow"
        )
    point = coarsening.find(position, origin_tract)
    at = coarsening.support_ptr[position] + point
    total = np.bincount(at[point >= 0], flow[point >= 0], coarsening.support_level.size)
    # With no flows at all bincount answers in integers.
    return total.astype(np.float64)


def fill_missing_mass(
    coarsening: Coarsening, mass: FloatArray, fallback_mass: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Use the fallback (gravity) mass for destination tracts without mass of their own.

    Parameters
    ----------
    coarsening : Coarsening
    mass, fallback_mass : float64[K]

    Returns
    -------
    mass : float64[K]
    fell_back : bool[T]
        True where the fallback was used; the certificate should say how often.
    """
    tract = coarsening.tract_of_point
    if not mass.size == fallback_mass.size == tract.size:
        raise ParameterError(
            f"mass and fallback_mass have {mass.size} and {fallback_mass.size} values: give {tract.size}, "
            "one per support point"
        )
    fell_back: BoolArray = np.bincount(tract, mass, coarsening.n_destination_tracts) <= 0
    return np.where(fell_back[tract], fallback_mass, mass), fell_back


def prior_share(coarsening: Coarsening, mass: FloatArray) -> FloatArray:
    """Share of each support point in its destination tract's prior mass: float64[K], sums to 1 per tract.

    Parameters
    ----------
    coarsening : Coarsening
    mass : float64[K]
        Prior mass of each point.

    Raises
    ------
    ParameterError
        If a mass is negative or missing, or there is not one for each point.
    SupportError
        If a destination tract has no mass; use :func:`fill_missing_mass` first.
    """
    point_mass = as_amounts("mass", mass)
    tract = coarsening.tract_of_point
    if point_mass.size != tract.size:
        raise ParameterError(f"{point_mass.size} masses for {tract.size} support points: give one each")
    total = np.bincount(tract, point_mass, coarsening.n_destination_tracts)
    without = np.flatnonzero(total <= 0)
    if without.size:
        raise SupportError(
            f"destination tract at position {without[0]} has no prior mass: "
            "fill it with fill_missing_mass first"
        )
    share = np.repeat(total, coarsening.n_support)
    return np.divide(point_mass, share, out=share)  # in place: a nation has 135 million points


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
    return np.ceil(weight * WEIGHT_UNITS).astype(np.int64)


def prior_weight(share: FloatArray, *, strength: float) -> npt.NDArray[np.int64]:
    """Base prior weight ``strength × share`` in units of 2^-20, rounded up: int64[K].

    The sampler uses max(this, the synthesizer's least weight): alpha_i = max(min_alpha, strength × share_i).

    Source: docs/theory/method.md, section 3.
    """
    if not strength >= 0:
        raise ParameterError(f"strength = {strength}: give at least 0")
    return quantise_weight_up(strength * as_amounts("share", share))


def redraw_weight(share: FloatArray) -> npt.NDArray[np.int64]:
    """Prior shares as integer weights in units of 2^-40, rounded up: int64[K], for ``redraw_remainder``.

    Source: docs/theory/method.md, section 4.
    """
    return np.ceil(as_amounts("share", share) * 2.0**SHARE_BITS).astype(np.int64)
