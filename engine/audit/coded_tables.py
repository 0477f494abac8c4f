"""Checks of coded tables: quasi-identifiers, the sensitive attribute, and the numbers of their codes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray, as_int
from engine.errors import ParameterError

_MOST_KEYS = 1 << 62
"""Rows are compared by a single number of less than this."""


def as_sizes(sizes: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Numbers of codes of the attributes, int64[d], each at least 1 (ParameterError)."""
    checked = as_int("sizes", sizes, low=1, high=1 << 31)
    if checked.size == 0:
        raise ParameterError("there are no quasi-identifiers: give at least one attribute")
    return checked


def as_codes(name: str, codes: npt.ArrayLike, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Codes int64[N, d], each from 0 to below the size of its attribute (ParameterError)."""
    array = np.asarray(codes)
    if array.ndim != 2 or array.shape[1] != sizes.size or array.dtype.kind not in "iu":
        raise ParameterError(
            f"{name} is {array.dtype} of shape {array.shape}: give whole numbers in {sizes.size} columns"
        )
    outside = (
        np.flatnonzero((array.min(axis=0) < 0) | (array.max(axis=0) >= sizes)) if array.size else array[:0, 0]
    )
    if outside.size:
        first = outside[0]
        raise ParameterError(
            f"column {first} of {name} runs from {array[:, first].min()} to {array[:, first].max()}: "
            f"allowed are 0 to {sizes[first] - 1}"
        )
    return np.require(array, np.int64, ["C", "W"])


def as_n_values(n_values: int) -> int:
    """Number of values of the sensitive attribute, at least 1 (ParameterError)."""
    if n_values < 1:
        raise ParameterError(f"n_values = {n_values}: a sensitive attribute has at least 1 value")
    return n_values


def as_values(
    name: str, values: npt.ArrayLike, n_values: int, *, n_rows: int | None = None
) -> npt.NDArray[np.int64]:
    """Codes int64[N] of a sensitive attribute with ``n_values`` values, one for each of ``n_rows`` (ParameterError)."""
    array = as_int(name, values, high=as_n_values(n_values) - 1)
    if n_rows is not None and array.size != n_rows:
        raise ParameterError(f"{name} has {array.size} values for {n_rows} rows: give one for each row")
    return array


def distinct_rows(
    codes: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Distinct rows of codes in ascending order, int64[M, d], and which of them each row is, int64[N]."""
    key, span = np.zeros(codes.shape[0], dtype=np.int64), 1
    for attribute, size in enumerate(sizes.tolist()):
        if span * size > _MOST_KEYS:
            key, span = np.unique(key, return_inverse=True)[1], codes.shape[0]
        key, span = key * size + codes[:, attribute], span * size
    order = np.argsort(key)
    rows = codes[order]
    begins = np.ones(order.size, dtype=np.bool_)
    begins[1:] = np.any(rows[1:] != rows[:-1], axis=1)
    row_of = np.empty(order.size, dtype=np.int64)
    row_of[order] = np.cumsum(begins) - 1
    return np.ascontiguousarray(rows[begins]), row_of


# What an attacker predicts for each worker, and how firmly.


class Predictions(NamedTuple):
    """One predicted value of the sensitive attribute for each victim.

    Attributes
    ----------
    value : int64[N]
        The value that the attacker believes in most. Ties go to the value of greater prior, then to the lower code.
    belief : float64[N]
        The attacker's belief in that value, from 0 to 1.
    """

    value: npt.NDArray[np.int64]
    belief: FloatArray
