"""How long-running work reports its progress: by a plain callable, so that nothing here depends on a terminal."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import TypeVar

Progress = Callable[[str, int, int], None]
"""Called with the stage's name, the steps done and the total number of steps."""


def silent(_stage: str, _done: int, _total: int) -> None:
    """Report nothing."""


# Work in threads whose results are wanted in order.

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def yield_in_order(
    pool: Executor, work: Callable[[_Item], _Result], items: Iterable[_Item], ahead: int = 3
) -> Iterator[_Result]:
    """Work on items in threads and yield the results in order, no more than a few ahead of the caller."""
    waiting: deque[Future[_Result]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def work_in_order(
    work: Callable[[_Item], _Result], items: Iterable[_Item], threads: int
) -> Iterator[_Result]:
    """Results in the order of their items, computed by threads a little ahead of the caller."""
    with ThreadPoolExecutor(max_workers=threads) as pool:
        # As many ahead as keep the threads busy, and no more: a batch of workers is some hundred megabytes.
        yield from yield_in_order(pool, work, items, ahead=threads)
