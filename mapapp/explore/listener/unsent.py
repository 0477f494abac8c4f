"""Responses that clients have not taken yet: how many bytes they are together, and who waits to add more."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Final

from mapapp.explore.listener.connections import Connection

_LOOK_S: Final = 0.5  # a connection may end without giving anything back


class UnsentBytes:
    """Counts the bytes that wait for clients, before they are added; used from several threads.

    Parameters
    ----------
    most_bytes : int
        Of all connections together.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._held: Counter[Connection] = Counter()
        self._total = 0
        self._wanted: dict[Connection, int] = {}  # bytes for which connections wait
        self._changed = threading.Condition()

    @property
    def total(self) -> int:
        """Bytes of all connections."""
        with self._changed:
            return self._total

    def take(self, channel: Connection, n_bytes: int) -> bool:
        """Count bytes that a connection is about to hold; returns whether there was room for them."""
        with self._changed:
            if self._total + n_bytes > self.most_bytes:
                if n_bytes <= self.most_bytes:
                    self._wanted[channel] = n_bytes
                return False
            self._wanted.pop(channel, None)
            self._add(channel, n_bytes)
            return True

    def take_anyway(self, channel: Connection, n_bytes: int) -> None:
        """Count bytes that cannot wait for room."""
        with self._changed:
            self._add(channel, n_bytes)

    def give(self, channel: Connection, n_bytes: int | None = None) -> None:
        """Stop counting bytes of a connection that were sent or dropped; all of them if no number is given."""
        with self._changed:
            held = self._held[channel]
            given = held if n_bytes is None else min(n_bytes, held)
            self._add(channel, -given)
            self._changed.notify_all()

    def stop_waiting(self, channel: Connection) -> None:
        """Make no more room for a connection."""
        with self._changed:
            self._wanted.pop(channel, None)

    def wait(self) -> None:
        """Wait until some bytes are given back, or for a moment."""
        with self._changed:
            self._changed.wait(_LOOK_S)

    def in_the_way(self) -> list[Connection]:
        """Return the connections to close so that the part of a response that waits has room, the largest first."""
        with self._changed:
            wanted = max(self._wanted.values(), default=0)
            missing = self._total + wanted - self.most_bytes if wanted else 0
            chosen = []
            for channel, held in self._held.most_common():
                if missing <= 0:
                    break
                missing -= held
                chosen.append(channel)
            return chosen

    def _add(self, channel: Connection, n_bytes: int) -> None:
        self._total += n_bytes
        self._held[channel] += n_bytes
        if not self._held[channel]:
            del self._held[channel]
