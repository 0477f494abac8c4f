"""Spatial decompositions: boxes that divide the attribute space, each with counts of the sensitive values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray, FloatArray, as_ptr
from engine.audit.coded_tables import as_codes, as_sizes, as_values, distinct_rows
from engine.audit.kernels.boxes import Boxes, Entries, answer_queries
from engine.errors import ParameterError

MOST_COUNTS = 50_000_000
"""The most counts that a table of boxes times values may have: 400 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposition:
    """Disjoint boxes with the counts of a sensitive attribute, which is all that the scheme's reader sees.

    Only counts other than 0 are kept: box ``b`` has ``entry_count[e]`` people of ``entry_value[e]``, for e from
    ``entry_ptr[b]`` to ``entry_ptr[b + 1]``.

    Attributes
    ----------
    lo, hi : int64[L, d]
        First and last code of each box in each attribute, both inclusive.
    sizes : int64[d]
        Number of codes of each attribute.
    n_values : int
        Number of values of the sensitive attribute.
    entry_ptr : int64[L + 1]
        CSR offsets of each box's entries.
    entry_value : int64[E]
        Codes of the sensitive attribute.
    entry_count : float64[E]
        People; noisy counts may be negative.

    Raises
    ------
    ParameterError
        Shapes do not agree, or a box leaves the attribute space.

    Source: C13, section II.
    """

    lo: npt.NDArray[np.int64]
    hi: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    n_values: int
    entry_ptr: npt.NDArray[np.int64]
    entry_value: npt.NDArray[np.int64]
    entry_count: FloatArray

    def __post_init__(self) -> None:
        sizes = as_sizes(self.sizes)
        lo, hi = as_codes("lo", self.lo, sizes), as_codes("hi", self.hi, sizes)
        if lo.shape != hi.shape or np.any(lo > hi):
            raise ParameterError("a box ends before it begins: give lo <= hi in every attribute")
        value = as_values("entry_value", self.entry_value, self.n_values)
        count = np.require(self.entry_count, np.float64, ["C", "W"])
        if count.shape != value.shape or not np.isfinite(count).all():
            raise ParameterError(
                f"entry_count has shape {count.shape}: give one finite count for each of {value.size} values"
            )
        ptr = as_ptr("entry_ptr", self.entry_ptr, total=value.size)
        if ptr.size != lo.shape[0] + 1:
            raise ParameterError(
                f"entry_ptr has {ptr.size} offsets: give {lo.shape[0] + 1}, one more than boxes"
            )
        checked = {
            "lo": lo,
            "hi": hi,
            "sizes": sizes,
            "entry_ptr": ptr,
            "entry_value": value,
            "entry_count": count,
        }
        for name, array in checked.items():
            object.__setattr__(self, name, array)

    @classmethod
    def of_histogram(
        cls, lo: npt.ArrayLike, hi: npt.ArrayLike, histogram: npt.ArrayLike, sizes: npt.ArrayLike
    ) -> Decomposition:
        """Boxes with a table of counts ``histogram`` [L, V].

        Raises
        ------
        ParameterError
            Shapes do not agree, or a box leaves the attribute space.
        """
        counts = np.asarray(histogram, dtype=np.float64)
        if counts.ndim != 2:
            raise ParameterError(f"histogram has {counts.ndim} dimensions: give boxes times values")
        kept, values = counts != 0, np.arange(counts.shape[1])
        return cls(
            lo=np.asarray(lo),
            hi=np.asarray(hi),
            sizes=np.asarray(sizes),
            n_values=counts.shape[1],
            entry_ptr=np.concatenate(([0], np.cumsum(kept.sum(axis=1)))),
            entry_value=np.broadcast_to(values, counts.shape)[kept],
            entry_count=counts[kept],
        )

    @classmethod
    def of_members(
        cls,
        lo: npt.ArrayLike,
        hi: npt.ArrayLike,
        sizes: npt.ArrayLike,
        leaf_of: npt.NDArray[np.int64],
        sensitive: npt.NDArray[np.int64],
        n_values: int,
    ) -> Decomposition:
        """Boxes with exact counts of the people in each, whose boxes are ``leaf_of`` [N].

        Raises
        ------
        ParameterError
            Shapes do not agree, or a box leaves the attribute space.
        """
        n_boxes = np.asarray(lo).shape[0]
        pair, count = np.unique(leaf_of * n_values + sensitive, return_counts=True)
        return cls(
            lo=np.asarray(lo),
            hi=np.asarray(hi),
            sizes=np.asarray(sizes),
            n_values=n_values,
            entry_ptr=_offsets(pair // n_values, n_boxes),
            entry_value=pair % n_values,
            entry_count=count.astype(np.float64),
        )

    @classmethod
    def from_records(
        cls, codes: npt.ArrayLike, sensitive: npt.ArrayLike, sizes: npt.ArrayLike, n_values: int
    ) -> Decomposition:
        """Records as boxes of a single cell, equal cells merged.

        Parameters
        ----------
        codes : int[N, d]
            Codes of the quasi-identifiers of each record.
        sensitive : int[N]
            Code of the sensitive attribute of each record.
        sizes : int[d]
            Number of codes of each attribute.
        n_values : int
            Number of values of the sensitive attribute.

        Raises
        ------
        ParameterError
            A code is out of range, or shapes do not agree.
        """
        checked = as_sizes(sizes)
        table = as_codes("codes", codes, checked)
        values = as_values("sensitive", sensitive, n_values, n_rows=table.shape[0])
        cells, cell_of = distinct_rows(table, checked)
        return cls.of_members(cells, cells, checked, cell_of, values, n_values)

    @property
    def n_boxes(self) -> int:
        """Number of boxes."""
        return int(self.lo.shape[0])

    @property
    def histogram(self) -> FloatArray:
        """Counts as a table float64[L, V].

        Raises
        ------
        ParameterError
            The table would have more than ``MOST_COUNTS`` counts.
        """
        if self.n_boxes * self.n_values > MOST_COUNTS:
            raise ParameterError(
                f"a table of {self.n_boxes:,} boxes times {self.n_values:,} values is too large: "
                f"at most {MOST_COUNTS:,} counts; use entry_value and entry_count"
            )
        counts = np.zeros((self.n_boxes, self.n_values))
        counts[self.box_of_entry, self.entry_value] = self.entry_count
        return counts

    @property
    def box_of_entry(self) -> npt.NDArray[np.int64]:
        """Box of each entry, int64[E]."""
        return np.repeat(np.arange(self.n_boxes), np.diff(self.entry_ptr))

    @property
    def entries(self) -> Entries:
        """Counts for kernels."""
        return Entries(self.entry_ptr, self.entry_value, self.entry_count)

    def answer(
        self, query_lo: npt.ArrayLike, query_hi: npt.ArrayLike, values: BoolArray | None = None
    ) -> FloatArray:
        """Count the people in ranges, as if each box's people were spread evenly over it.

        Parameters
        ----------
        query_lo, query_hi : int[Q, d]
            First and last code of each range, both inclusive.
        values : bool[Q, V], optional
            Which sensitive values each query counts; by default all.

        Returns
        -------
        float64[Q]
            Expected people. Negative noisy counts are used as they are, so answers may be negative.

        Raises
        ------
        ParameterError
            Shapes do not agree, or a code is out of range.

        Source: C13, section III.
        """
        queries = Boxes(
            as_codes("query_lo", query_lo, self.sizes), as_codes("query_hi", query_hi, self.sizes)
        )
        n_queries = queries.lo.shape[0]
        wanted = (
            np.zeros((n_queries, 0), dtype=np.bool_)
            if values is None
            else np.require(values, np.bool_, ["C", "W"])
        )
        if queries.hi.shape != queries.lo.shape or wanted.shape not in {
            (n_queries, 0),
            (n_queries, self.n_values),
        }:
            raise ParameterError(
                f"query_hi has shape {queries.hi.shape} and values {wanted.shape}: give "
                f"{queries.lo.shape} and ({n_queries}, {self.n_values})"
            )
        answers = np.zeros(n_queries)
        answer_queries(Boxes(self.lo, self.hi), self.entries, queries, wanted, answers)
        return answers


def _offsets(box: npt.NDArray[np.int64], n_boxes: int) -> npt.NDArray[np.int64]:
    """CSR offsets of entries that are sorted by box."""
    return np.concatenate(([0], np.cumsum(np.bincount(box, minlength=n_boxes))))


# What a tree of boxes is, however it was grown.


class Tree(NamedTuple):
    """A grown tree.

    Attributes
    ----------
    decomposition : Decomposition
        The leaves, which cover the attribute space; all that the scheme's reader sees.
    leaf_of : int64[N]
        Leaf of each person. The attacker can compute it for anyone whose quasi-identifiers are known.
    meets_rule : bool
        False if not even the whole table meets the rule; then the tree is a single leaf. A private tree has no rule
        and meets it.
    """

    decomposition: Decomposition
    leaf_of: npt.NDArray[np.int64]
    meets_rule: bool = True
