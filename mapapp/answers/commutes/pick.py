"""What a query about commutes picks, and the types of what queries return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from geodata.store.schema import N_SEGMENTS
from mapapp.base.errors import UsageError
from mapapp.question.fields import Side
from mapapp.question.filters import Filters, check_filters

Ints = npt.NDArray[np.int64]
Blocks = npt.NDArray[np.int32]
"""Positions in `blocks`, ascending, without duplicates."""
Degrees = npt.NDArray[np.float32]
Segments = npt.NDArray[np.int8]
"""The joint segment 0..26 of each worker."""


class Places(TypedDict):
    """One end of the commute of each worker, in any order."""

    lon_deg: Degrees
    lat_deg: Degrees
    segment: Segments


class Ends(NamedTuple):
    """Both ends of the commute of each worker, in any order; without homes outside the area."""

    home_lon_deg: Degrees
    home_lat_deg: Degrees
    work_lon_deg: Degrees
    work_lat_deg: Degrees
    segment: Segments


ENDS: Final[tuple[Side, Side]] = ("work", "home")
MEAN_LIMIT_MI: Final = 100
"""Means cover only shorter commutes; longer ones are few, and the prior draws too many of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """A selection of commutes by workplace, home and characteristics.

    Attributes
    ----------
    work, home : int32 array or None
        Blocks that must contain the workplace and the home; None for anywhere.
    filters : Filters
        Which workers.
    """

    work: Blocks | None = None
    home: Blocks | None = None
    filters: Filters = field(default_factory=Filters)

    def __post_init__(self) -> None:
        check_filters(self.filters)

    @classmethod
    def at(cls, side: Side, blocks: Blocks | None, filters: Filters) -> Pick:
        """Select the commutes whose `side` end is in `blocks`; UsageError if the side does not exist."""
        if side not in ENDS:
            raise UsageError(f"side {side!r}: choose {' or '.join(ENDS)}")
        return cls(work=blocks, filters=filters) if side == "work" else cls(home=blocks, filters=filters)

    def is_same(self, pick: Pick) -> bool:
        """Return whether another pick has the very same blocks and equal filters, without comparing blocks."""
        return self.work is pick.work and self.home is pick.home and self.filters == pick.filters

    @property
    def sorted_side(self) -> Side:
        """The copy to read: the one sorted by the end with fewer blocks."""
        if self.work is None or (self.home is not None and self.home.size < self.work.size):
            return "work" if self.home is None else "home"
        return "work"


class Distances(NamedTuple):
    """Sums over the commutes of a pick.

    Attributes
    ----------
    workers : int64[bands, 9]
        By distance band and direction; the last column is for commutes between blocks at the same place.
    n_near : int
        Workers whose commute is under 100 miles.
    near_mi : float
        Total miles of these workers.
    median_mi : float or None
        Median distance of all workers; None without workers.
    """

    workers: Ints
    n_near: int
    near_mi: float
    median_mi: float | None

    @property
    def mean_near_mi(self) -> float | None:
        """Mean of the commutes under 100 miles; None without such commutes."""
        return self.near_mi / self.n_near if self.n_near else None


def mark_blocks(blocks: Blocks, n_blocks: int) -> npt.NDArray[np.bool_]:
    """Return whether each block is one of some: bool[n_blocks]."""
    marks = np.zeros(n_blocks, dtype=np.bool_)
    marks[blocks] = True
    return marks


def all_others(blocks: Blocks, n_blocks: int) -> Blocks:
    """Return all other blocks."""
    return np.flatnonzero(~mark_blocks(blocks, n_blocks)).astype(np.int32)


def is_kept(filters: Filters) -> Ints:
    """Return 1 for each joint segment that filters keep, and 0 for others: int64[27]."""
    marks = np.zeros(N_SEGMENTS, dtype=np.int64)
    marks[list(filters.segments)] = 1
    return marks
