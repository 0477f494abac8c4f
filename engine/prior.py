"""The prior sample: what public data say about where workers live, as exact integer weights.

Everything here comes from public data: tract flows, last year's release, or the built-in gravity prior.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine._arrays import BoolArray, FloatArray, IntArray
from engine.coarsening import Coarsening

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

    Returns
    -------
    GravityDecay
        Parameters to six significant digits, with the percentiles achieved.

    Raises
    ------
    ParameterError
        If shapes do not agree, percentiles are out of order, or nothing has weight.

    Source: METHOD section 4.
    """
    raise NotImplementedError


def gravity_mass(distance_mi: npt.ArrayLike, population: IntArray, decay: GravityDecay) -> FloatArray:
    """Prior mass population × decay(distance) of each (destination tract, origin tract): float64[T, n_tracts].

    A populated tract has positive mass at every distance.

    Source: METHOD section 4.
    """
    raise NotImplementedError


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
    raise NotImplementedError


def fill_missing_mass(mass: FloatArray, fallback_mass: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Use the fallback (gravity) mass for destination tracts that have none of their own.

    Returns
    -------
    mass : float64[T, n_tracts]
    fell_back : bool[T]
        True where the fallback was used; the certificate should say how often.
    """
    raise NotImplementedError


def support_mass(coarsening: Coarsening, mass: FloatArray) -> FloatArray:
    """Sum tract mass over support points: float64[K]. Mass in dropped tracts (-1) is left out."""
    raise NotImplementedError


def prior_share(coarsening: Coarsening, mass: FloatArray) -> FloatArray:
    """Share of each support point in its destination tract's prior mass: float64[K], sums to 1 per tract.

    Raises
    ------
    SupportError
        If a destination tract has no mass; use :func:`fill_missing_mass` first.
    """
    raise NotImplementedError


def uniform_share(coarsening: Coarsening) -> FloatArray:
    """Equal share for every support point of a destination tract: float64[K]."""
    raise NotImplementedError


def quantise_weight_up(alpha: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Prior weights in integer units of 2^-20, rounded up (exactly: no alpha becomes smaller).

    Raises
    ------
    ParameterError
        If a weight is negative, missing or above 2^40.
    """
    raise NotImplementedError


def prior_weight(share: FloatArray, *, strength: float) -> npt.NDArray[np.int64]:
    """Base prior weight ``strength × share`` in units of 2^-20, rounded up: int64[K].

    The sampler uses max(this, the synthesizer's least weight): alpha_i = max(min_alpha, strength × share_i).

    Source: METHOD section 4.
    """
    raise NotImplementedError


def redraw_weight(share: FloatArray) -> npt.NDArray[np.int64]:
    """Prior shares as integer weights in units of 2^-40, rounded up: int64[K], for ``redraw_remainder``.

    Source: METHOD section 3.
    """
    raise NotImplementedError
