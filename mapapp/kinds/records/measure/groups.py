"""How many workers share the first attributes of their records, and what share of candidates would pass for that.

CONFIDENTIAL: group sizes are counts of real workers.

Source: docs/theory/synthetic-records.md, "Who passes" and "The chance does not contain the seed".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.records.acceptance import Acceptance

__all__ = ["GroupSizes", "group_sizes"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSizes:
    """Sizes of the groups of workers who agree on the first attributes.

    Attributes
    ----------
    kept : int
        Number of first attributes; with 0 all workers are one group.
    size : int64[D]
        Sizes that occur, rising.
    n_workers : int64[D]
        Workers in groups of each size.
    """

    kept: int
    size: Ints
    n_workers: Ints

    @property
    def n_groups(self) -> int:
        """Groups that hold anybody."""
        return int((self.n_workers // self.size).sum())

    def share_in(self, least: npt.ArrayLike) -> Floats:
        """Share of all workers who are in groups of at least these sizes."""
        above = np.append(np.cumsum(self.n_workers[::-1])[::-1], 0)
        return np.asarray(above[np.searchsorted(self.size, least)] / max(int(self.n_workers.sum()), 1))

    def pass_rate(self, acceptance: Acceptance) -> float:
        """Share of candidates that pass, if these are the groups of the seeds.

        Each try takes a seed at random, and its plausible seeds are its group. Where nothing is kept there is no seed
        and no test, so every record passes.
        """
        if self.kept == 0:
            return 1.0
        return float(self.n_workers @ acceptance.chances(self.size) / max(int(self.n_workers.sum()), 1))


def group_sizes(codes: Codes, domain: tuple[int, ...]) -> tuple[GroupSizes, ...]:
    """Sizes of the groups of the first 0, 1, ..., m attributes.

    Parameters
    ----------
    codes : int32[n, m]
        At least one row, columns in the order in which attributes are kept.
    domain : tuple of int
        Values of each attribute.
    """
    group = np.zeros(codes.shape[0], dtype=np.int64)
    sizes = [_sizes(0, np.array([codes.shape[0]]))]
    for column, size in enumerate(domain):
        # Numbers of the groups so far are below the number of workers, so this stays far below 2^63.
        _, group, counts = np.unique(group * size + codes[:, column], return_inverse=True, return_counts=True)
        sizes.append(_sizes(column + 1, counts))
    return tuple(sizes)


def _sizes(kept: int, counts: Ints) -> GroupSizes:
    size, n_groups = np.unique(counts, return_counts=True)
    return GroupSizes(kept=kept, size=size, n_workers=size * n_groups)
