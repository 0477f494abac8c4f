"""Placement: from a drawn support point to a home block, by public population (post-processing)."""

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from engine.arrays import as_int, as_ptr
from engine.errors import ParameterError, SupportError
from engine.kernels.arrays import Addresses, PointLists
from engine.kernels.chacha import LANE_WORDS, WINDOW_WORDS
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.placement.kernels.placement import (
    MOST_TOGETHER,
    DrawnPlaces,
    Geography,
    KnownParts,
    PlacementSpace,
    TractBlocks,
    TractList,
    UnitLists,
    check_drawn,
    fill_guide,
    place_range,
)
from engine.streams import SecretKey, new_stream
from engine.support.coarsening import Coarsening
from engine.threads import run_ranges

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
    block_sum : int64[B + 1]
        Running population: that of all blocks before each one, and in the last entry that of all blocks.
    by_tract : TractBlocks
        The same as the kernel reads it, with the guide by which it finds a block; made when first asked for.
    """

    block_ptr: npt.NDArray[np.int64]
    block_population: npt.NDArray[np.int64]
    block_sum: npt.NDArray[np.int64] = field(init=False)
    _by_tract: list[TractBlocks] = field(init=False, repr=False, compare=False, default_factory=list)

    def __post_init__(self) -> None:
        population = as_int("block_population", self.block_population, high=1 << 40)
        if population.size >= 1 << 31:
            raise ParameterError(f"{population.size} blocks: at most 2^31 can be numbered")
        object.__setattr__(self, "block_population", population)
        object.__setattr__(self, "block_ptr", as_ptr("block_ptr", self.block_ptr, total=population.size))
        running = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(population)))
        object.__setattr__(self, "block_sum", running)

    @property
    def tract_population(self) -> npt.NDArray[np.int64]:
        """Population of the blocks of each origin tract: int64[n_tracts]."""
        return np.diff(self.block_sum[self.block_ptr])

    @property
    def by_tract(self) -> TractBlocks:
        """Blocks by tract as the kernel reads them."""
        if not self._by_tract:
            first, before = self.block_ptr[:-1], self.block_sum[self.block_ptr[:-1]]
            tracts = np.stack((first, np.diff(self.block_ptr), self.tract_population, before), axis=1)
            guide = np.empty(self.block_population.size, dtype=np.int32)
            fill_guide(tracts, self.block_sum, guide)
            self._by_tract.append(TractBlocks(tracts, self.block_sum, guide))
        return self._by_tract[0]


def place_blocks(
    key: SecretKey,
    synthesizers: Synthesizers,
    drawn: SyntheticPoints,
    coarsening: Coarsening,
    blocks: BlockTable,
    *,
    mode: PlacementMode = "population",
    threads: int = 1,
) -> npt.NDArray[np.int32]:
    """Give every synthetic worker a home block inside the part of the unit that its support point represents.

    Parameters
    ----------
    key : SecretKey
    synthesizers : Synthesizers
    drawn : SyntheticPoints
        After :func:`engine.mechanisms.dirichlet_multinomial.redraw_remainder`.
    coarsening : Coarsening
        The edited support points.
    blocks : BlockTable
    mode : {"population", "representative"}
        ``population``: each worker's block is drawn by public population within the point's tracts, or with equal
        chances if they have no population; stage PLACE, addressed by (destination, segment).
        ``representative``: one block for each (destination tract, support point), drawn the same way;
        stage REPRESENTATIVE, addressed by (destination tract number, support point).
    threads : int
        Threads to use; the result does not depend on it. Fastest when synthesizers are sorted by tract.

    Returns
    -------
    int32[sum(m)]
        Index into ``blocks`` for each synthetic worker.

    Raises
    ------
    SupportError
        If a worker is in a remainder point, or in a point whose tracts have no blocks.

    Source: P08 section V-B; P10 (representative block); docs/theory/method.md, section 8.
    """
    if mode not in get_args(PlacementMode):
        raise ParameterError(f"placement mode {mode!r}: allowed are {', '.join(get_args(PlacementMode))}")
    tracts = coarsening.tracts
    if blocks.block_ptr.size - 1 != tracts.n_tracts:
        raise ParameterError(
            f"blocks cover {blocks.block_ptr.size - 1} origin tracts: the coarsening has {tracts.n_tracts}"
        )
    _check_drawn(synthesizers, drawn, coarsening)
    placed = np.empty(drawn.synthetic_point.size, dtype=np.int32)
    if placed.size == 0:
        return placed
    addresses = Addresses(synthesizers.tract, synthesizers.destination, synthesizers.segment)
    workers = PointLists(drawn.synthetic_ptr, drawn.synthetic_point)
    public_blocks = blocks.by_tract
    geography = _geography(coarsening, public_blocks.people)
    most_points = int(coarsening.n_support.max())
    # As many workers as have their first blocks made together, or one synthesizer.
    most_workers = int(np.diff(drawn.synthetic_ptr).max()) + MOST_TOGETHER

    def place(start: int, stop: int) -> int:
        return place_range(
            (start, stop),
            workers,
            addresses,
            coarsening.located_points,
            geography,
            public_blocks,
            mode == "representative",
            key.words,
            _space(most_points, most_workers, tracts.n_tracts),
            placed,
        )

    failed = max(run_ranges(place, np.diff(drawn.synthetic_ptr), threads), default=-1)
    if failed >= 0:
        raise SupportError(
            f"destination {synthesizers.destination[failed]} has a worker in a support point whose tracts "
            "have no blocks: give every origin tract at least one block"
        )
    return placed


def _geography(coarsening: Coarsening, people: npt.NDArray[np.int64]) -> Geography:
    """The units, with the running population of their tracts."""
    tracts = coarsening.tracts
    pumas, superpumas = (
        UnitLists(ptr, member, np.cumsum(people[member]), tracts.superpuma_reach)
        for ptr, member in (tracts.puma_members, tracts.superpuma_members)
    )
    return Geography(pumas, superpumas, tracts.place, *coarsening.square_limits)


def _space(most_points: int, most_workers: int, n_tracts: int) -> PlacementSpace:
    """Arrays that one thread works in."""
    return PlacementSpace(
        known=KnownParts(*np.zeros((6, most_points), dtype=np.int64)),
        listed=TractList(np.empty(n_tracts, dtype=np.int32), np.empty(n_tracts, dtype=np.int64)),
        places=DrawnPlaces(*np.empty((5, most_workers), dtype=np.int64)),
        lanes=np.zeros(LANE_WORDS, dtype=np.uint32),
        window=np.empty(WINDOW_WORDS, dtype=np.uint32),
        stream=new_stream(),
    )


def _check_drawn(synthesizers: Synthesizers, drawn: SyntheticPoints, coarsening: Coarsening) -> None:
    """Check that every drawn point belongs to its destination tract and is not a remainder."""
    if drawn.synthetic_ptr.size != synthesizers.tract.size + 1:
        raise ParameterError("drawn and synthesizers differ in number: give what was drawn for them")
    if drawn.synthetic_point.size == 0:
        return
    n_outside, n_remainder = len(drawn.synthetic_point), 0
    if int(synthesizers.tract.max()) < coarsening.n_destination_tracts:
        n_outside, n_remainder = check_drawn(
            synthesizers.tract,
            drawn.synthetic_ptr,
            drawn.synthetic_point,
            coarsening.support_ptr,
            coarsening.support_level,
        )
    if n_outside:
        raise ParameterError(
            "a drawn point is not in its destination tract's support: give its own coarsening"
        )
    if n_remainder:
        raise SupportError("a worker is in a remainder point: call redraw_remainder before place_blocks")
