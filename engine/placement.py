"""Placement: from a drawn support point to a home block, by public population (post-processing)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from engine._arrays import IntArray
from engine.coarsening import Coarsening
from engine.streams import SecretKey
from engine.synthesis import SyntheticPoints, Synthesizers

__all__ = ["BlockTable", "PlacementMode", "place_blocks"]

PlacementMode = Literal["population", "representative"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTable:
    """Public blocks of the origin tracts, sorted by tract.

    Attributes
    ----------
    block_ptr : int64[n_tracts + 1]
        The blocks of origin tract o are ``block_ptr[o]`` up to ``block_ptr[o + 1]``.
    block_population : int64[B]
        Public population of each block.
    """

    block_ptr: npt.NDArray[np.int64]
    block_population: npt.NDArray[np.int64]


def place_blocks(
    key: SecretKey,
    synthesizers: Synthesizers,
    drawn: SyntheticPoints,
    coarsening: Coarsening,
    blocks: BlockTable,
    destination_tract: IntArray,
    *,
    mode: PlacementMode = "population",
    threads: int = 1,
) -> npt.NDArray[np.int64]:
    """Give every synthetic worker a home block inside the part of the unit its support point stands for.

    Parameters
    ----------
    key : SecretKey
    synthesizers : Synthesizers
    drawn : SyntheticPoints
        After :func:`engine.synthesis.redraw_remainder`.
    coarsening : Coarsening
        The edited support points; ``point_of_tract`` says which tracts make up a point.
    blocks : BlockTable
    destination_tract : int[T]
        Global number of each destination tract (addresses the streams of ``representative``).
    mode : {"population", "representative"}
        ``population``: each worker's block by public population within the point's tracts, all blocks
        alike where nobody lives there; stage PLACE, addressed by (destination, segment).
        ``representative``: one block for each (destination tract, support point), drawn the same way;
        stage REPRESENTATIVE, addressed by (destination tract number, support point).
    threads : int
        Threads to use; the result does not depend on it. Fastest when synthesizers are sorted by tract.

    Returns
    -------
    int64[sum(m)]
        Index into ``blocks`` for each synthetic worker.

    Raises
    ------
    SupportError
        If a worker stands in a remainder point, or in a point whose tracts have no blocks.

    Source: P08 section V-B; P10 (representative block); METHOD section 8.
    """
    raise NotImplementedError
