"""Admission to expensive work: a few places, a short queue, and a refusal when the queue is full.

A request that waits holds a thread of the server. Places and queue together are smaller than the number of threads, so
the server can always send files that need no work. The next free place goes to the client whose recent work took the
least time, so a client with many requests waits behind the others.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Final

from mapapp.base.watch import LEFT, Refused

_POLL_S: Final = 0.25
_FORGET_S: Final = 30.0
_MOST_CLIENTS: Final = 1_000


@dataclass(eq=False, slots=True)
class Ticket:
    """One piece of work, waiting or running."""

    client: str
    began: float = 0.0
    is_refused: bool = False
    called: Event = field(default_factory=Event)


class Admission:
    """Limits the expensive work of a server.

    Parameters
    ----------
    n_places : int
        How many pieces of work may run at once.
    n_waiting : int
        How many more may wait.
    patience_s : float
        How long a piece of work waits before it is refused.
    busy : str
        One line for a visitor whose request is refused.
    n_places_each, n_waiting_each : int, optional
        How many pieces of work of one client may run and wait; by default the same as for all clients together.
    clock : callable
        Seconds.
    """

    def __init__(
        self,
        n_places: int,
        n_waiting: int,
        patience_s: float,
        busy: str,
        *,
        n_places_each: int | None = None,
        n_waiting_each: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._n_places = n_places
        self._n_waiting = n_waiting
        self._n_places_each = n_places if n_places_each is None else n_places_each
        self._n_waiting_each = n_waiting if n_waiting_each is None else n_waiting_each
        self._patience_s = patience_s
        self._busy = busy
        self._clock = clock
        self._lock = Lock()
        self._waiting: list[Ticket] = []
        self._working: list[Ticket] = []
        self._used: dict[str, tuple[float, float]] = {}

    @property
    def counts(self) -> tuple[int, int]:
        """Numbers of pieces of work that run and that wait."""
        with self._lock:
            return len(self._working), len(self._waiting)

    @contextmanager
    def place(self, client: str = "", has_left: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Hold a place; raises the same errors as :meth:`enter`."""
        ticket = self.enter(client, has_left)
        try:
            yield
        finally:
            self.leave(ticket)

    def enter(self, client: str = "", has_left: Callable[[], bool] = lambda: False) -> Ticket:
        """Wait for a place; give it back with :meth:`leave`.

        Raises
        ------
        Refused
            If too many wait, no place became free in time, or the visitor has left.
        """
        ticket = Ticket(client)
        with self._lock:
            if self._may_start(client):  # anyone in the queue who could start would have started already
                self._start(ticket)
                return ticket
            self._make_room(client)
            self._waiting.append(ticket)
        until = time.monotonic() + self._patience_s
        while not ticket.called.wait(min(_POLL_S, max(until - time.monotonic(), 0.0))):
            left = has_left()
            if left or time.monotonic() >= until:
                with self._lock:
                    if ticket in self._waiting:
                        self._waiting.remove(ticket)
                        raise Refused(LEFT, "The visitor has left.") if left else Refused(503, self._busy)
        if ticket.is_refused:
            raise Refused(503, self._busy)
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Pass a place on to the next piece of work."""
        with self._lock:
            self._working.remove(ticket)
            self._used[ticket.client] = (
                self._use_of(ticket.client) + self._clock() - ticket.began,
                self._clock(),
            )
            if len(self._used) > _MOST_CLIENTS:
                most = sorted(self._used, key=self._use_of)[_MOST_CLIENTS // 2 :]
                self._used = {client: self._used[client] for client in most}
            while able := [
                waiting_ticket for waiting_ticket in self._waiting if self._may_start(waiting_ticket.client)
            ]:
                use = {
                    able_ticket.client: self._use_of(able_ticket.client, at_work=True) for able_ticket in able
                }
                following = min(
                    able, key=lambda able_ticket: use[able_ticket.client]
                )  # the client's oldest request
                self._waiting.remove(following)
                self._start(following)

    def _may_start(self, client: str) -> bool:
        n_working = sum(ticket.client == client for ticket in self._working)
        return len(self._working) < self._n_places and n_working < self._n_places_each

    def _start(self, ticket: Ticket) -> None:
        ticket.began = self._clock()
        self._working.append(ticket)
        ticket.called.set()

    def _make_room(self, client: str) -> None:
        """If the queue is full, refuse the newest request of the client with the most waiting, or else this one."""
        n_of = Counter(ticket.client for ticket in self._waiting)
        if n_of[client] >= self._n_waiting_each:
            raise Refused(503, self._busy)
        if len(self._waiting) < self._n_waiting:
            return
        greediest = max(n_of, key=lambda waiting_client: n_of[waiting_client], default=client)
        if n_of[greediest] <= n_of[client] + 1:
            raise Refused(503, self._busy)
        newest = next(ticket for ticket in reversed(self._waiting) if ticket.client == greediest)
        self._waiting.remove(newest)
        newest.is_refused = True
        newest.called.set()

    def _use_of(self, client: str, *, at_work: bool = False) -> float:
        """Seconds of recent work of a client; the weight of older work decays."""
        seconds, at = self._used.get(client, (0.0, 0.0))
        now = self._clock()
        running = (
            sum(now - ticket.began for ticket in self._working if ticket.client == client) if at_work else 0.0
        )
        return seconds * math.exp((at - now) / _FORGET_S) + running
