"""What the public prior says of units of origin tracts, such as counties: a support point is spread by population."""

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray, as_ptr
from engine.audit.kernels.lookup import spread_shares
from engine.errors import ParameterError

__all__ = ["unit_shares"]

Ints = npt.NDArray[np.int64]


def unit_shares(
    support_ptr: Ints,
    share: FloatArray,
    point_of_tract: npt.NDArray[np.int32],
    population: Ints,
    unit: Ints,
) -> FloatArray:
    """Share of every unit around every destination tract.

    T destination tracts, n origin tracts, K support points, U units.

    Parameters
    ----------
    support_ptr : int64[T + 1]
        CSR offsets of the support points of each destination tract.
    share : float64[K]
        Public share of each; those of one destination tract sum to 1.
    point_of_tract : int32[T, n]
        Local support point of every origin tract, -1 for none.
    population : int64[n]
        At least 1.
    unit : int64[n]
        Unit of each origin tract, from 0.

    Returns
    -------
    float64[T U]
        Unit by unit of each destination tract.

    Raises
    ------
    ParameterError
        The arrays do not agree.
    """
    ptr = as_ptr("support_ptr", support_ptr, total=share.size)
    n_tracts, n_units = ptr.size - 1, int(unit.max(initial=0)) + 1
    if point_of_tract.shape != (n_tracts, population.size) or unit.shape != population.shape:
        raise ParameterError(
            f"points of {point_of_tract.shape}, {population.size} populations and {unit.size} units: give "
            f"({n_tracts}, n), n and n"
        )
    if n_tracts and np.any(point_of_tract.max(axis=1, initial=-1) >= np.diff(ptr)):
        raise ParameterError("an origin tract is in a support point that its destination tract does not have")
    shares = np.zeros((n_tracts, n_units))
    spread_shares(ptr, share, np.ascontiguousarray(point_of_tract), population, unit, shares)
    return shares.ravel()
