"""Plausible seeds counted by one look-up: how many seeds share the kept attributes of a candidate.

A candidate's chance given a seed is 0 unless the two agree on the kept attributes, and then does not depend on the
seed. So its plausible seeds are the seeds of one group, whatever the similarity (docs/theory/synthetic-records.md,
"The chance does not contain the seed").

Source: docs/theory/synthetic-records.md, "Counting".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.records.kernels.candidates import GroupArrays

__all__ = ["MOST_DENSE", "GroupTable", "Seeds", "prefix_codes"]

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Prefixes = npt.NDArray[np.int32] | npt.NDArray[np.int64]

MOST_DENSE = 1 << 24
"""Combinations of kept values up to which the table is an array with one count for each."""
_MOST_CODES = 1 << 62
_MOST_SHORT = 1 << 31
_COUNTED_AT_ONCE = 1 << 24


def prefix_codes(codes: npt.NDArray[np.integer], domain: npt.ArrayLike) -> Ints:
    """One whole number for each row's combination of values, in the order of the attributes: int64[n].

    Parameters
    ----------
    codes : int[n, p]
        The kept attributes.
    domain : int[p]
        Number of values of each.

    Raises
    ------
    ParameterError
        There are more combinations than 2^62, or a code is outside its domain.
    """
    sizes = np.asarray(domain, dtype=np.int64)
    if codes.ndim != 2 or codes.shape[1] != sizes.size:
        raise ParameterError(f"codes are {codes.shape} for {sizes.size} domains: give a column for each")
    if math.prod(sizes.tolist()) > _MOST_CODES:
        raise ParameterError("the kept attributes have more than 2^62 combinations: keep fewer")
    if codes.size and (codes.min() < 0 or (codes.max(axis=0) >= sizes).any()):
        raise ParameterError("a code is outside its attribute's domain: correct the input")
    numbers = np.zeros(codes.shape[0], dtype=np.int64)
    for column, size in enumerate(sizes.tolist()):
        numbers *= size
        numbers += codes[:, column]
    return numbers


@dataclass(frozen=True, slots=True)
class GroupTable:
    """How many seeds have each combination of kept values.

    Parameters
    ----------
    radix : int64[p]
        Numbers of values of the kept attributes.
    code : int64[G]
        Combinations that occur, rising; empty if the table is dense.
    size : int64[G]
        Seeds of each; in a dense table at the position of the combination.
    """

    radix: Ints
    code: Ints
    size: Ints

    @classmethod
    def of(cls, codes: npt.NDArray[np.integer], domain: npt.ArrayLike) -> GroupTable:
        """Count the seeds; ParameterError as for :func:`prefix_codes`.

        Parameters
        ----------
        codes : int[n, p]
            Kept attributes of all seeds; p may be 0, then all are one group.
        domain : int[p]
        """
        return cls.of_prefixes(prefix_codes(codes, domain), domain)

    @classmethod
    def of_prefixes(cls, prefixes: Prefixes, domain: npt.ArrayLike) -> GroupTable:
        """Count the seeds by the numbers of their combinations: int32[n] or int64[n], see :func:`prefix_codes`."""
        sizes = np.array(domain, dtype=np.int64)
        n_codes = math.prod(sizes.tolist())
        if n_codes <= MOST_DENSE:
            counts = np.zeros(n_codes, dtype=np.int64)
            for first in range(0, prefixes.size, _COUNTED_AT_ONCE):
                counts += np.bincount(prefixes[first : first + _COUNTED_AT_ONCE], minlength=n_codes)
            return cls(sizes, np.zeros(0, dtype=np.int64), counts)
        code, size = np.unique(prefixes, return_counts=True)
        return cls(sizes, code.astype(np.int64), size.astype(np.int64))

    @property
    def n_seeds(self) -> int:
        """All seeds."""
        return int(self.size.sum())

    @property
    def arrays(self) -> GroupArrays:
        """The table as kernels take it."""
        return GroupArrays(self.radix, self.code, self.size)

    def sizes(self, codes: npt.NDArray[np.integer]) -> Ints:
        """Seeds that agree with each row on the kept attributes: int64[n].

        Parameters
        ----------
        codes : int[n, p]
            Kept attributes of candidates.
        """
        wanted = prefix_codes(codes, self.radix)
        if self.code.size == 0:
            return self.size[wanted]
        at = np.minimum(np.searchsorted(self.code, wanted), self.code.size - 1)
        return np.where(self.code[at] == wanted, self.size[at], 0)


class Seeds:
    """The seeds in their order, filled part by part; of each only its kept attributes, as one number: confidential.

    A number takes four bytes if there are at most 2^31 combinations, and eight otherwise.

    Parameters
    ----------
    domain : int[p]
        Number of values of each kept attribute.
    """

    def __init__(self, domain: Sequence[int]) -> None:
        self.domain = tuple(domain)
        self._is_short = math.prod(self.domain) <= _MOST_SHORT
        self._parts: list[Prefixes] = []

    def add(self, codes: npt.NDArray[np.integer]) -> None:
        """Add seeds after those that are there: int[n, p]; ParameterError as for :func:`prefix_codes`."""
        numbers = prefix_codes(codes, self.domain)
        self._parts.append(numbers.astype(np.int32) if self._is_short else numbers)

    @property
    def prefixes(self) -> Prefixes:
        """The number of each seed: int32[n] or int64[n]."""
        if len(self._parts) != 1:
            none = np.zeros(0, dtype=np.int32 if self._is_short else np.int64)
            self._parts = [np.concatenate([none, *self._parts])]
        return self._parts[0]

    def groups(self) -> GroupTable:
        """How many seeds have each combination."""
        return GroupTable.of_prefixes(self.prefixes, self.domain)
