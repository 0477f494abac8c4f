"""Candidates from seeds: which record is the seed, how many seeds share its kept attributes, and whether it passes.

Each candidate has streams of its own, addressed by its number, so that nothing depends on threads or chunks. A
candidate whose test is undecided after the given digits raises ``short[0]``, as :mod:`engine.kernels.noise` says.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.jit import jit, lean_jit
from engine.kernels.arrays import Bools, Indices, Ints, Words
from engine.kernels.chacha import (
    STAGE_RECORD_PASS,
    STAGE_RECORD_SEED,
    STREAM_FIELDS,
    below,
    has_run_out,
    open_stream,
)
from engine.kernels.noise import discrete_laplace, happens
from engine.records.kernels.model import RECORDS_AT_ONCE, ModelTables, draw_attributes, fill_prefix

__all__ = ["AcceptanceArrays", "GroupArrays", "candidates_range", "group_size", "size_of_code"]


Prefixes = npt.NDArray[np.int32] | npt.NDArray[np.int64]


class GroupArrays(NamedTuple):
    """Numbers of values of the kept attributes [p]; combinations [G], empty if all are listed; seeds of each [G]."""

    radix: Ints
    code: Ints
    size: Ints


class AcceptanceArrays(NamedTuple):
    """k, and the least number of plausible seeds that may pass; digits of two chances.

    Those of a forced failure are empty if it is 0; those of the noise have no rows if there is none.
    """

    min_plausible_seeds: int
    least_passing: int
    forced_fail: Ints
    noise: Ints


@lean_jit
def size_of_code(groups: GroupArrays, code: int) -> int:
    """Seeds that have this combination of kept values."""
    if groups.code.size == 0:
        return groups.size[code]  # type: ignore[no-any-return]  # NumPy types an element as Any
    low, high = 0, groups.code.size
    while low < high:
        middle = (low + high) >> 1
        if groups.code[middle] < code:
            low = middle + 1
        else:
            high = middle
    if low < groups.code.size and groups.code[low] == code:
        return groups.size[low]  # type: ignore[no-any-return]  # NumPy types an element as Any
    return 0


@lean_jit
def group_size(groups: GroupArrays, prefix: Indices) -> int:
    """Seeds that agree with a record on the kept attributes, its first ones."""
    code = 0
    for position in range(groups.radix.size):
        code = code * groups.radix[position] + prefix[position]
    return size_of_code(groups, code)


@jit
def _passes(key: Words, stream: Ints, acceptance: AcceptanceArrays, n_plausible: int, short: Ints) -> bool:
    """Whether a candidate with so many plausible seeds passes."""
    if acceptance.forced_fail.size > 0 and happens(key, stream, acceptance.forced_fail, short):
        return False
    threshold = acceptance.min_plausible_seeds
    if acceptance.noise.shape[0] > 0:
        threshold += discrete_laplace(key, stream, acceptance.noise, short)
    return threshold <= n_plausible and n_plausible >= acceptance.least_passing


@jit
def candidates_range(
    bounds: tuple[int, int],
    first: int,
    seeds: Prefixes,
    groups: GroupArrays,
    acceptance: AcceptanceArrays,
    model: ModelTables,
    key: Words,
    short: Ints,
    passed: Bools,
    codes: Indices,
) -> int:
    """Try the candidates of blocks ``bounds``; candidate ``first`` + i goes to row i, if it passes.

    ``passed`` is bool[n], ``codes`` int32[n, m], and ``seeds`` int[n_seeds] the number of each seed's combination of
    kept values. Whether a candidate passes depends on these alone, so its other attributes are drawn afterwards.
    Returns the first whose stream ran out, or -1.
    """
    stream, test_stream = np.zeros(STREAM_FIELDS, dtype=np.int64), np.zeros(STREAM_FIELDS, dtype=np.int64)
    kept = groups.radix.size
    for at in range(bounds[0] * RECORDS_AT_ONCE, min(bounds[1] * RECORDS_AT_ONCE, passed.size)):
        low, high = (first + at) & 0xFFFFFFFF, (first + at) >> 32
        open_stream(STAGE_RECORD_SEED, low, high, stream)
        seed = int(seeds[below(key, stream, seeds.size)])
        open_stream(STAGE_RECORD_PASS, low, high, test_stream)
        passed[at] = _passes(key, test_stream, acceptance, size_of_code(groups, seed), short)
        if passed[at]:
            fill_prefix(seed, kept, model.families.sizes, codes[at])
            draw_attributes(key, stream, model, kept, codes[at])
        if has_run_out(stream) or has_run_out(test_stream):
            return at
    return -1
