"""Settings measured by several threads, some of them before they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

__all__ = ["MeasuredAhead"]

_Setting = TypeVar("_Setting")
_Found = TypeVar("_Found")


class MeasuredAhead(Generic[_Setting, _Found]):
    """Measures settings one after the other, as a search asks for them, and those that it will probably ask for next.

    What is found does not depend on the threads. A search sees only what it asked for.

    Parameters
    ----------
    measure : callable
        Takes a setting. Safe to call from several threads at once, if there are several.
    threads : int
        With one, nothing is measured ahead.
    """

    def __init__(self, measure: Callable[[_Setting], _Found], threads: int) -> None:
        self._measure = measure
        self._threads = threads
        self._pool = ThreadPoolExecutor(max_workers=threads) if threads > 1 else None
        self._started: dict[_Setting, Future[_Found]] = {}
        self._expected: list[_Setting] = []

    def close(self) -> None:
        """Stop measuring ahead; what is running ends by itself."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def expect(self, settings: Iterable[_Setting]) -> None:
        """Say which settings will probably be asked for next, the likeliest first."""
        self._expected = list(settings)

    def result(self, setting: _Setting) -> _Found:
        """Measure a setting, or wait until it is measured; an error of the measure is raised here."""
        if self._pool is None:
            return self._measure(setting)
        for candidate in (setting, *self._expected):
            running = sum(not future.done() for future in self._started.values())
            if candidate not in self._started and (candidate == setting or running < self._threads):
                self._started[candidate] = self._pool.submit(self._measure, candidate)
        return self._started[setting].result()
