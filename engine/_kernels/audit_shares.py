"""The public share of every unit of origin tracts around every destination tract."""

import numpy as np
import numpy.typing as npt

from engine._jit import jit
from engine._kernels.arrays import Floats, Ints

__all__ = ["spread_shares"]


@jit
def spread_shares(
    support_ptr: Ints,
    share: Floats,
    point_of_tract: npt.NDArray[np.int32],
    population: Ints,
    unit: Ints,
    of_unit: Floats,
) -> None:
    """Add the share [K] of every support point to the units [n] of its tracts by population: ``of_unit`` [T, U].

    Symbols: T destination tracts with points from ``support_ptr`` [T + 1], n origin tracts, U units.
    """
    people = np.empty(share.size)
    for tract in range(support_ptr.size - 1):
        first = support_ptr[tract]
        people[first : support_ptr[tract + 1]] = 0.0
        for origin in range(population.size):
            point = point_of_tract[tract, origin]
            if point >= 0:
                people[first + point] += population[origin]
        for origin in range(population.size):
            point = point_of_tract[tract, origin]
            if point >= 0:
                at = first + point
                of_unit[tract, unit[origin]] += share[at] * population[origin] / people[at]
