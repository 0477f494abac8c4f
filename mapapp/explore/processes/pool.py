"""The processes that compute answers: which one gets a request, and what happens when one ends."""

from __future__ import annotations

import atexit
import hashlib
import logging
import subprocess
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from threading import Condition, Event
from typing import Final

from mapapp.base.errors import UsageError
from mapapp.base.watch import LEFT, Refused
from mapapp.explore.background import run_in_background
from mapapp.explore.processes.member import Member, how_it_ended
from mapapp.explore.processes.messages import Asked, Response, Setup, receive_response

PATIENCE_S: Final = 20.0
"""How long a request waits while no process takes requests."""
BUSY: Final = "The server is busy. Try again in a few seconds."
LOST: Final = "The work on this was interrupted. Try again in a few seconds."
_POLL_S: Final = 0.25
_LEAD: Final = 3  # requests more than another process has, after which it gets the next one
_MOST_HOMES: Final = 4_096
"""Keys whose process is remembered; the least recently used are forgotten first."""
_END_S: Final = 30.0  # a process that has not ended by itself is killed
_LIVED_S: Final = 60.0  # one that ends earlier is started again after a pause
_MOST_PAUSE_S: Final = 60.0


class Pool:
    """Some processes that compute answers; safe to use from several threads.

    Requests about the same areas go to the same process, which keeps what it computed about them: the one that had
    least to do when the first of them came. If it has much more to do than another, the other one helps.

    Parameters
    ----------
    setup : Setup
        What they serve.
    n_requests : int
        Most requests at once, for all processes together.
    """

    def __init__(self, setup: Setup, n_requests: int) -> None:
        self._setup = setup
        self._n_requests = n_requests
        self._members: list[Member] = []
        self._homes: OrderedDict[bytes, int] = OrderedDict()
        self._changed = Condition()
        self._stopping = Event()

    @property
    def process_ids(self) -> list[int]:
        """Process numbers of those that take requests."""
        with self._changed:
            return [member.process.pid for member in self._members if member.is_ready]

    @property
    def n_busy(self) -> int:
        """Requests in progress."""
        with self._changed:
            return sum(member.n_busy for member in self._members)

    def start(self) -> None:
        """Start the processes, and wait until they have opened the publications.

        Raises
        ------
        UsageError
            If one cannot.
        """
        atexit.register(self.stop)
        self._members = [self._start_member(number) for number in range(self._setup.n_processes)]
        try:
            for member in self._members:
                member.wait_until_ready()
                member.is_ready = True
        except UsageError:
            self.stop()
            raise
        for number in range(self._setup.n_processes):
            self._follow(number)

    def ask(self, asked: Asked, key: str, has_left: Callable[[], bool]) -> Response:
        """Let a process answer a request.

        Parameters
        ----------
        asked : Asked
        key : str
            Requests with the same key need the same intermediate results.
        has_left : callable
            Whether the client has closed the connection.

        Raises
        ------
        Refused
            If no process is there in time, the process ended in the middle, or the visitor has left while waiting.
        """
        member, connection = self._take(key, has_left)
        is_whole = False
        try:
            connection.send(asked)
            response = receive_response(connection, has_left)
            is_whole = True
            return response
        except (EOFError, OSError) as error:
            raise Refused(503, LOST) from error
        finally:
            self._give_back(member, connection, is_whole=is_whole)

    def stop(self) -> None:
        """End all processes: their work stops at its next step. One that does not end in time is killed."""
        self._stopping.set()
        with self._changed:
            for member in self._members:
                if member.is_ready:
                    member.leave()
                elif member.process.stdin is not None:  # whoever waits for it closes its connections
                    member.process.stdin.close()
            self._changed.notify_all()
        until = time.monotonic() + _END_S
        for member in self._members:
            try:
                member.process.wait(timeout=max(until - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                member.process.kill()
                member.process.wait()

    # Requests

    def _take(self, key: str, has_left: Callable[[], bool]) -> tuple[Member, Connection]:
        until = time.monotonic() + PATIENCE_S
        with self._changed:
            while (member := self._choose_member(key)) is None:
                if self._stopping.is_set() or time.monotonic() >= until:
                    raise Refused(503, BUSY)
                if has_left():
                    raise Refused(LEFT, "The visitor has left.")
                self._changed.wait(_POLL_S)
            member.n_busy += 1
            return member, member.idle.pop()

    def _choose_member(self, key: str) -> Member | None:
        able = [member for member in self._members if member.is_ready and member.idle]
        if not able:
            return None
        least = min(able, key=lambda member: member.n_busy)
        digest = hashlib.blake2b(key.encode(), digest_size=16).digest()
        if digest not in self._homes:
            idle = [member for member in able if member.n_busy == least.n_busy]
            chosen = idle[int.from_bytes(digest, "big") % len(idle)]
            self._homes[digest] = self._members.index(chosen)
            if len(self._homes) > _MOST_HOMES:
                self._homes.popitem(last=False)
        self._homes.move_to_end(digest)
        home = self._members[self._homes[digest]]
        return home if home in able and home.n_busy < least.n_busy + _LEAD else least

    def _give_back(self, member: Member, connection: Connection, *, is_whole: bool) -> None:
        """Make a connection available again; a process whose response was cut off is started anew."""
        with self._changed:
            member.n_busy -= 1
            if is_whole and member.is_ready:
                member.idle.append(connection)
            else:
                connection.close()
            self._changed.notify_all()
        if not is_whole:
            member.process.kill()

    # Processes

    def _start_member(self, number: int) -> Member:
        return Member(replace(self._setup, number=number), self._n_requests)

    def _follow(self, number: int) -> None:
        """Start a process again whenever it ends, on a thread of its own."""

        def follow() -> None:
            pause_s = 0.0
            while not self._stopping.is_set():
                began, member = time.monotonic(), self._members[number]
                code = member.process.wait()
                with self._changed:
                    member.leave()
                if self._stopping.is_set():
                    return
                pause_s = 0.0 if time.monotonic() - began >= _LIVED_S else min(2 * pause_s + 1, _MOST_PAUSE_S)
                _log(f"a process that computes answers {how_it_ended(code)}; another one is started")
                if not self._stopping.wait(pause_s):
                    self._replace(number)

        run_in_background(follow, stop=self.stop)

    def _replace(self, number: int) -> None:
        """Start a process in place of one that has ended; if it cannot start, it ends, too, and is tried again."""
        with self._changed:
            if self._stopping.is_set():
                return
            self._members[number] = member = self._start_member(number)
        try:
            member.wait_until_ready()
        except UsageError as error:
            _log(str(error))
            return
        with self._changed:
            if self._stopping.is_set():
                member.leave()
            else:
                member.is_ready = True
            self._changed.notify_all()


def _log(line: str) -> None:
    logging.getLogger("commutemap").error("%s", line)
