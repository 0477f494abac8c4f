"""One cache for results that are expensive to compute and safe to keep: bounded, and each result computed once.

Callers of several threads ask for the same result at the same moment (a page asks for its area several times), so a
cache here must let one of them compute while the others wait, must let a waiting caller give up when its visitor has
left, and must let a computation ask for other results meanwhile. `cachetools` keeps entries by number and size, too,
but callers of its `cached` decorator wait without end, and for results of every key together.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import RLock
from typing import Generic, TypeVar

from mapapp.answers import watch

Value = TypeVar("Value")


@dataclass(slots=True)
class _Turn:
    """The lock of whoever computes a result, and how many callers hold it or wait for it."""

    lock: RLock = field(default_factory=RLock)
    n_callers: int = 0


class ResultCache(Generic[Value]):
    """Results by key; the least recently used are evicted first. Safe to use from several threads.

    Parameters
    ----------
    max_entries : int, optional
        Results kept at most; any number by default.
    max_size : int, optional
        Sum of the sizes of the results kept; any size by default. The newest result stays, however large.
    size_of : callable, optional
        Size of a result, in the unit of `max_size`.
    """

    def __init__(
        self,
        *,
        max_entries: int | None = None,
        max_size: int | None = None,
        size_of: Callable[[Value], int] | None = None,
    ) -> None:
        self._max_entries = max_entries
        self._max_size = max_size
        self._size_of = size_of
        self._entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._turns: dict[Hashable, _Turn] = {}
        self._size = 0
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._entries

    def get(self, key: Hashable) -> Value | None:
        """The result of a key; None if there is none."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def put(self, key: Hashable, value: Value) -> None:
        """Keep a result, and evict the least recently used while there are too many or they are too large."""
        size = 0 if self._size_of is None else self._size_of(value)
        with self._lock:
            self._remove(key)
            self._entries[key] = value, size
            self._size += size
            while len(self._entries) > 1 and self._is_full():
                self._remove(next(iter(self._entries)))

    def get_or_make(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The result of a key: kept, or made by this caller while others with the same key wait.

        If `make` raises, nothing is kept, the caller gets the exception, and one of those that wait tries next.

        Raises
        ------
        Refused
            The caller's visitor left while it waited; see :mod:`mapapp.answers.watch`.
        """
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]
            turn = self._turns.setdefault(key, _Turn())
            turn.n_callers += 1
        try:
            with watch.held(turn.lock):
                return self._made(key, make)
        finally:
            with self._lock:
                turn.n_callers -= 1
                if not turn.n_callers:
                    del self._turns[key]

    def clear(self) -> None:
        """Drop every result."""
        with self._lock:
            self._entries.clear()
            self._size = 0

    def _made(self, key: Hashable, make: Callable[[], Value]) -> Value:
        with self._lock:
            if key in self._entries:  # another caller made it while this one waited
                return self._entries[key][0]
        value = make()
        self.put(key, value)
        return value

    def _remove(self, key: Hashable) -> None:
        if key in self._entries:
            self._size -= self._entries.pop(key)[1]

    def _is_full(self) -> bool:
        too_many = self._max_entries is not None and len(self._entries) > self._max_entries
        return too_many or (self._max_size is not None and self._size > self._max_size)
