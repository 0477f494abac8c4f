"""Threads over ranges: kernels release the GIL, and no result depends on how the items are divided into ranges."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError

__all__ = ["run_ranges"]

_RANGES_PER_THREAD = 4


def run_ranges(kernel: Callable[[int, int], int], work: npt.NDArray[np.int64], threads: int) -> list[int]:
    """Run ``kernel(start, stop)`` over ranges that together cover every item once.

    Parameters
    ----------
    kernel : callable
        Takes a range of items and returns a status.
    work : int64[S]
        Relative cost of each item; ranges have about equal costs.
    threads : int
        At least 1; 1 runs in the calling thread.

    Returns
    -------
    list of int
        Statuses in the order of the ranges.

    Raises
    ------
    ParameterError
        If ``threads`` is less than 1.
    """
    if threads < 1:
        raise ParameterError(f"threads = {threads}: give at least 1")
    if work.size == 0:
        return []
    if threads == 1:
        return [kernel(0, work.size)]
    finished = np.cumsum(work + 1)
    wanted = finished[-1] * np.arange(1, threads * _RANGES_PER_THREAD) // (threads * _RANGES_PER_THREAD)
    cuts = np.unique(np.concatenate(([0], np.searchsorted(finished, wanted), [work.size]))).tolist()
    with ThreadPoolExecutor(max_workers=threads) as pool:
        return list(pool.map(kernel, cuts[:-1], cuts[1:]))
