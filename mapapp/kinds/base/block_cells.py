"""The cells of blocks, cut into triangles from which points are drawn."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.placement.points import CellTriangles
from geodata.geography.points import cut_cells
from geodata.store.store import Store

__all__ = ["read_cells"]


def read_cells(store: Store, used: npt.NDArray[np.bool_], *, threads: int = 1) -> CellTriangles:
    """Cut the cells of the blocks that are `used` (bool[blocks]) into triangles."""
    cut = cut_cells(store.batches("cells"), used=used, threads=threads)
    return CellTriangles(triangle_ptr=cut.ptr, triangle=cut.triangle)
