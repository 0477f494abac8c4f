"""Kernels without reference counts compute what the same functions compute in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from engine.jit import lean_jit

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Group(NamedTuple):
    """Arrays of all kinds that kernels take together."""

    wide: Ints
    narrow: npt.NDArray[np.int8]
    table: Floats
    flag: npt.NDArray[np.bool_]
    word: npt.NDArray[np.uint32]


def group(step: int = 1) -> Group:
    """Six rows; with a step of 2 no array is contiguous."""
    n = 6 * step
    return Group(
        wide=np.arange(-3, n - 3)[::step],
        narrow=np.arange(n, dtype=np.int8)[::step],
        table=np.arange(2.0 * n * step).reshape(n, -1)[::step, ::step],
        flag=(np.arange(n) % 3 == 0)[::step],
        word=(np.arange(n, dtype=np.uint32) + np.uint32(2**32 - 3))[::step],
    )


@lean_jit
def _halved(value: int) -> int:
    return value // 2


@lean_jit
def elements(given: Group, out: Floats) -> None:
    """Elements at constant, negative, unsigned, and two-dimensional places, read and written."""
    n = given.wide.size
    out[0] = given.wide[0] + given.wide[-1] * 10 + given.narrow[np.uint64(2)]
    out[1] = given.table[1, 0] + given.table[-1, -2] / 3
    out[np.int32(2)] = given.word[1] >> 1
    for row in range(n):
        given.narrow[row] = given.narrow[row] + 1
        given.table[row, -1 - row % 2] += given.wide[-row] - given.narrow[n - 1 - row]
        given.flag[row] = not given.flag[row]
        given.word[row] ^= np.uint32(row)
        out[3 + row] = given.table[row, 1] if given.flag[row] else -given.table[row, 0]
    row_of = given.table[2]
    row_of[0] = 7.5
    out[-1] = given.table[2, 0] + given.table[1:3].shape[0]


@lean_jit
def flows(given: Group, out: Floats) -> None:
    """Variables that are set on one way only, in loops, before and after their use."""
    total = 0
    last = -1
    for row in range(given.wide.size):
        if given.wide[row] < 0:
            sign = -1
        elif given.wide[row] == 0:
            continue
        else:
            sign = 1
        before, last = last, row
        total += sign * (row - before)
        while total > 3:
            total -= 2
            if total == 5:
                break
        out[row] = total
    first, second = out[0], out[1]
    first, second = second, first
    out[0], out[1] = first, second
    out[-2] = last
    out[-1] = total


@lean_jit
def sums(given: Group, out: Floats) -> None:
    """Operators on numbers of several types, with constants and without."""
    for row in range(given.wide.size):
        value, x = given.wide[row], given.table[row, 0] - 4
        out[row] = value // 4 + 10 * (value % 4) + 100 * _halved(value) + min(value, 2) - max(x, 1.5)
        out[row] += x**2 - value**3 + abs(x) / 8 + (value << 3) - (value >> 1) + (value & 6) - (value | 9)
        out[row] -= (1.0 if value > x else 0.0) + int(x) + (x < 1 or value == 2) + (x // 3) + (x % 3)


@pytest.mark.parametrize("kernel", [elements, flows, sums])
@pytest.mark.parametrize("step", [1, 2])
def test_a_lean_kernel_computes_what_python_computes(
    kernel: Callable[[Group, Floats], None], step: int
) -> None:
    plain: Callable[[Group, Floats], None] = getattr(kernel, "py_func", kernel)
    expected, found = np.zeros(12), np.zeros(12)
    of_python, of_kernel = group(step), group(step)
    plain(of_python, expected)
    kernel(of_kernel, found)
    np.testing.assert_array_equal(found, expected)
    for name in Group._fields:
        np.testing.assert_array_equal(getattr(of_kernel, name), getattr(of_python, name), err_msg=name)
