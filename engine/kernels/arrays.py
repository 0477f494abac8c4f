"""Array types of the kernels, and the groups of arrays that several kernels take together."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Addresses", "Bools", "Floats", "Indices", "Ints", "PointLists", "Support", "Words"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class Addresses(NamedTuple):
    """Position of each synthesizer's tract, and the two numbers that address its random streams; each [S]."""

    tract: Indices
    destination: Ints
    segment: Ints


class PointLists(NamedTuple):
    """CSR lists of local support points, such as those of each synthesizer's workers: offsets and points."""

    ptr: Ints
    point: Indices


class Support(NamedTuple):
    """Support points of each destination tract: CSR offsets [T + 1], prior weights [K], retentions [K]."""

    ptr: Ints
    prior_weight: Ints
    retention: Ints
