"""Counting queries over windows of the attribute space, and how far a scheme's answers are from the true counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray, FloatArray
from engine.audit.decomposition import Decomposition
from engine.errors import ParameterError

__all__ = ["TRIES", "Workload", "median_relative_error", "window_workload"]

TRIES = 100
"""How often each query of a workload is drawn anew while its true count is 0."""


class Workload(NamedTuple):
    """Queries whose true count is above 0.

    Attributes
    ----------
    lo, hi : int64[Q, d]
        First and last code of each query in each attribute, both inclusive.
    values : bool[Q, V] or None
        Sensitive values that each query counts; None counts all.
    true_count : float64[Q]
        People that each query should count.
    """

    lo: npt.NDArray[np.int64]
    hi: npt.NDArray[np.int64]
    values: BoolArray | None
    true_count: FloatArray


def window_workload(
    people: Decomposition,
    n_queries: int,
    *,
    window: float = 0.5,
    free: npt.ArrayLike | None = None,
    value_window: float | None = None,
    rng: np.random.Generator,
) -> Workload:
    """Draw windows at uniform places until each has someone in it.

    Parameters
    ----------
    people : Decomposition
        The true people, from ``Decomposition.from_records``.
    n_queries : int
        At least 1.
    window : float
        Share of each attribute's codes that a query covers, rounded down, at least one code; above 0, at most 1.
    free : bool[d], optional
        Attributes that no query restricts. By default those of two codes: half of two codes is a single one.
    value_window : float, optional
        The same share for the codes of the sensitive attribute; by default every query counts all values.
    rng : numpy.random.Generator
        Draws the places.

    Raises
    ------
    ParameterError
        A parameter is out of range, or a query still counts no one after a hundred tries.

    Source: C13, section III: windows of half the domain. With the attributes of two codes free, the median share of
    people in a query is that of C13's Adult data; with windows on all attributes, it is a fifth of it.
    """
    if n_queries < 1:
        raise ParameterError(f"n_queries = {n_queries}: give at least 1")
    width = _widths("window", window, people.sizes)
    width = np.where(_is_free(people.sizes, free), people.sizes, width)
    n_values = np.array([people.n_values])
    value_width = None if value_window is None else _widths("value_window", value_window, n_values)
    lo = np.empty((n_queries, width.size), dtype=np.int64)
    values = None if value_width is None else np.empty((n_queries, people.n_values), dtype=np.bool_)
    count = np.zeros(n_queries)
    missing = np.arange(n_queries)
    for _ in range(TRIES):
        lo[missing] = rng.integers(0, people.sizes - width + 1, (missing.size, width.size))
        if values is not None and value_width is not None:
            first = rng.integers(0, n_values - value_width + 1, (missing.size, 1))
            code = np.arange(people.n_values)
            values[missing] = (code >= first) & (code < first + value_width)
        wanted = None if values is None else values[missing]
        count[missing] = people.answer(lo[missing], lo[missing] + width - 1, wanted)
        missing = np.flatnonzero(count <= 0)
        if missing.size == 0:
            return Workload(lo, lo + width - 1, values, count)
    raise ParameterError(
        f"{missing.size:,} of {n_queries:,} queries count no one after {TRIES} tries each: "
        f"give a window wider than {window:g}, or leave attributes free"
    )


def median_relative_error(true_count: npt.ArrayLike, answered: npt.ArrayLike) -> float:
    """Median of |answer - true count| / true count over a workload; C13 calls it alpha.

    Raises
    ------
    ParameterError
        There are no queries, a true count is not above 0, or the arrays differ in length.

    Source: C13, Definition 2.
    """
    truth, answers = np.asarray(true_count, dtype=np.float64), np.asarray(answered, dtype=np.float64)
    if truth.shape != answers.shape or truth.ndim != 1 or truth.size == 0:
        raise ParameterError(
            f"{answers.shape} answers to {truth.shape} queries: give one answer to each, at least one"
        )
    if not np.all(truth > 0):
        raise ParameterError(
            f"a query has a true count of {truth.min():g}: its relative error is not defined"
        )
    return float(np.median(np.abs(answers - truth) / truth))


def _widths(name: str, window: float, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    if not 0 < window <= 1:
        raise ParameterError(f"{name} = {window}: give a share of the codes above 0, at most 1")
    return np.maximum((sizes * window).astype(np.int64), 1)


def _is_free(sizes: npt.NDArray[np.int64], free: npt.ArrayLike | None) -> BoolArray:
    is_free = sizes == 2 if free is None else np.asarray(free, dtype=np.bool_)
    if is_free.shape != sizes.shape:
        raise ParameterError(
            f"free has shape {is_free.shape}: give one entry for each of {sizes.size} attributes"
        )
    return is_free
