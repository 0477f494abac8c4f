"""A bounded cache for expensive results, each computed only once.

Several threads often need the same result at the same time, because a page requests its area several times. So one
thread must compute while the others wait; a waiting thread must be able to give up when its visitor has left; and a
computation must be able to request other results. `cachetools` also limits entries by number and size, but its `cached`
decorator makes callers wait without a limit, and for the results of all keys together.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import RLock
from typing import Generic, TypeVar

from mapapp.base import watch

Value = TypeVar("Value")


@dataclass(slots=True)
class _Turn:
    """The lock held while a result is computed, and the number of callers that hold it or wait for it."""

    lock: RLock = field(default_factory=RLock)
    n_callers: int = 0


class ResultCache(Generic[Value]):
    """Results by key; the least recently used are evicted first. Safe to use from several threads.

    Parameters
    ----------
    max_entries : int, optional
        Maximum number of results; unlimited by default.
    max_size : int, optional
        Maximum total size of the results; unlimited by default. The newest result is kept even if it is larger.
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
        """Return the result of a key; None if it is not cached."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def put(self, key: Hashable, value: Value) -> None:
        """Store a result, and evict the least recently used ones until the limits hold."""
        size = 0 if self._size_of is None else self._size_of(value)
        with self._lock:
            self._remove(key)
            self._entries[key] = value, size
            self._size += size
            while len(self._entries) > 1 and self._is_full():
                self._remove(next(iter(self._entries)))

    def get_or_make(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the result of a key; if it is not cached, compute it while other callers with that key wait.

        If `make` raises, nothing is stored, the caller gets the exception, and one of the waiting callers tries next.

        Raises
        ------
        Refused
            If the caller's visitor left while it waited; see :mod:`mapapp.base.watch`.
        """
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]
            turn = self._turns.setdefault(key, _Turn())
            turn.n_callers += 1
        try:
            with watch.hold_lock(turn.lock):
                return self._make_result(key, make)
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

    def _make_result(self, key: Hashable, make: Callable[[], Value]) -> Value:
        with self._lock:
            if key in self._entries:  # another caller computed it while this one waited
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
