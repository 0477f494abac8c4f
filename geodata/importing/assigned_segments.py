"""What assigning joint segments from margins lets a home change: confidential, for the analyst who imports.

LODES has only the margins of each pair of workplace and home block, and `segments.joint_counts` assigns joint segments.
So where one worker lives can change the segment of a colleague, and with it the number of workers of a workplace and
segment, which releases publish. No promise covers that step. Here it is measured.

Source: docs/privacy-promise.md, "What is not promised".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from geodata.sources.segments import Ints, joint_counts
from geodata.store.schema import N_SEGMENTS

__all__ = ["AssignedSegments", "Margins", "measure_assigned"]

_MOST_ROWS: Final = 100_000
"""Ambiguous pairs that are looked at; of more, evenly spaced ones."""
_COLLEAGUES: Final = 20_000
"""Pairs of colleagues that are drawn."""
_SEED: Final = 20190  # any number: the same sample in every run
_ONE: Final = np.eye(N_SEGMENTS, dtype=np.int64)
_MARGINS_OF_ONE: Final = np.concatenate(
    [_ONE.reshape(-1, 3, 3, 3).sum(axis=axes) for axes in ((2, 3), (1, 3), (1, 2))], axis=1
)
"""Margins of one job in each segment: age, earnings, industry, three columns each."""


class Margins(NamedTuple):
    """Pairs of blocks as a source has them.

    Attributes
    ----------
    work : int64[R]
        Number of the workplace block.
    turn : int64[R]
        Decides ties, as for `joint_counts`.
    counts : int[R, 9]
        Jobs by age, earnings, and industry, three columns each.
    """

    work: Ints
    turn: Ints
    counts: npt.NDArray[np.integer]

    def rows(self, chosen: Ints | npt.NDArray[np.bool_]) -> Margins:
        """Some of the pairs."""
        return Margins(self.work[chosen], self.turn[chosen], self.counts[chosen])

    @property
    def n_jobs(self) -> Ints:
        """Jobs of each pair: int64[R]."""
        return np.asarray(self.counts[:, :3].sum(axis=1, dtype=np.int64))


class AssignedSegments(NamedTuple):
    """How far assigned segments let a home change published numbers: counts of jobs, confidential.

    Attributes
    ----------
    jobs : int
        All jobs.
    assigned : int
        Jobs of pairs whose margins leave the joint segments open.
    looked_at, changing : int
        Assigned jobs that were looked at, and those of them without which a colleague with the same workplace and home
        would be assigned another segment.
    colleagues, ruled_out : int
        Pairs of colleagues that were drawn, and those where a published number would change if one lived in the
        other's block: this home is ruled out with certainty.
    """

    jobs: int
    assigned: int
    looked_at: int
    changing: int
    colleagues: int
    ruled_out: int

    @classmethod
    def add_up(cls, parts: Iterable[AssignedSegments]) -> AssignedSegments:
        """Those of several files together."""
        return cls(*(sum(column) for column in zip(*parts, strict=True)))


def measure_assigned(margins: Margins) -> AssignedSegments:
    """Measure what one worker's home changes for colleagues, among the pairs of one file.

    Parameters
    ----------
    margins : Margins
    """
    n_bands = (margins.counts.reshape(-1, 3, 3) > 0).sum(axis=2)
    is_open = (n_bands > 1).sum(axis=1) > 1
    n_jobs = margins.n_jobs
    rows = np.flatnonzero(is_open)
    looked_at, changing = _count_changing_jobs(margins.rows(rows[:: max(1, -(-rows.size // _MOST_ROWS))]))
    colleagues, ruled_out = _count_ruled_out_pairs(margins, n_jobs)
    return AssignedSegments(
        int(n_jobs.sum()), int(n_jobs[rows].sum()), looked_at, changing, colleagues, ruled_out
    )


def _joint(counts: npt.NDArray[np.integer], turn: Ints) -> Ints:
    """Joint segments assigned from margins: int64[R, 27]."""
    wide = counts.astype(np.int64)
    return joint_counts(wide[:, :3], wide[:, 3:6], wide[:, 6:], turn).reshape(-1, N_SEGMENTS)


def _count_changing_jobs(margins: Margins) -> tuple[int, int]:
    """Jobs of some pairs, and those of them without which another job of the pair would change its segment."""
    joint = _joint(margins.counts, margins.turn)
    row, segment = np.nonzero(joint)
    left = _joint(margins.counts[row] - _MARGINS_OF_ONE[segment], margins.turn[row])
    changes = (left != joint[row] - _ONE[segment]).any(axis=1)
    jobs = joint[row, segment]
    return int(jobs.sum()), int(jobs[changes].sum())


def _count_ruled_out_pairs(margins: Margins, n_jobs: Ints) -> tuple[int, int]:
    """Pairs of colleagues with two homes, and those where one in the other's home would change a published number."""
    if not n_jobs.any():
        return 0, 0
    order = np.argsort(margins.work, kind="stable")
    ends = np.cumsum(n_jobs[order])
    first_row = np.searchsorted(margins.work[order], margins.work[order])
    last_row = np.searchsorted(margins.work[order], margins.work[order], side="right")
    draw = np.random.default_rng(_SEED)
    worker = np.searchsorted(ends, draw.integers(int(ends[-1]), size=_COLLEAGUES), side="right")
    begins, stops = (ends - n_jobs[order])[first_row[worker]], ends[last_row[worker] - 1]
    colleague = np.searchsorted(
        ends, begins + (draw.random(worker.size) * (stops - begins)).astype(np.int64), "right"
    )
    apart = worker != colleague
    here, there = (margins.rows(order[rows[apart]]) for rows in (worker, colleague))
    joint_here, joint_there = (_joint(pairs.counts, pairs.turn) for pairs in (here, there))
    below = np.cumsum(joint_here, axis=1)
    segment = (below <= (draw.random(below.shape[0]) * below[:, -1])[:, None]).sum(axis=1)
    margins_of_one = _MARGINS_OF_ONE[segment]
    moved = _joint(here.counts - margins_of_one, here.turn) + _joint(
        there.counts + margins_of_one, there.turn
    )
    return int(apart.sum()), int((moved != joint_here + joint_there).any(axis=1).sum())
