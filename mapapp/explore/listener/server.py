"""A waitress server that limits its clients, as :mod:`mapapp.explore.listener.limits` describes."""

from __future__ import annotations

import atexit
import contextlib
import logging
import socket
import sys
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import MultiSocketServer, TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from mapapp.explore.listener.channel import Channel, Sockets
from mapapp.explore.listener.connections import Connection
from mapapp.explore.listener.gate import Gate
from mapapp.explore.listener.limits import affordable_connections

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

MAX_HEAD_BYTES: Final = 96 << 10  # holds the address of the longest view, percent-encoded
_ACCEPTED_AT_ONCE: Final = 64
_CHECK_S: Final = 1.0
_LAST_REQUESTS_S: Final = 60  # more than any request may take
_BUSY: Final = (  # no Content-Length: the response ends with the connection
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nCache-Control: no-store\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\n\r\n503 Service Unavailable: too many connections; try again\n"
)


class FairQueue:
    """A queue of requests for a thread. Clients take turns, and none gets more than its share of the threads.

    Parameters
    ----------
    most_threads : int
        Requests of one client in progress at once.
    """

    def __init__(self, most_threads: int) -> None:
        self._most = most_threads
        self._lines: OrderedDict[str, deque[Connection]] = OrderedDict()
        self._n_working: Counter[str] = Counter()
        self._lock = threading.Lock()

    def append(self, channel: Connection) -> None:
        """Add a connection whose next request is complete."""
        with self._lock:
            key = channel.requests[0].key if channel.requests else channel.key
            self._lines.setdefault(key, deque()).append(channel)

    def popleft(self) -> Turn:
        """Take the next connection of the next client that has less than its share of threads."""
        with self._lock:
            key = next(key for key in self._lines if self._n_working[key] < self._most)
            line = self._lines.pop(key)
            channel = line.popleft()
            if line:
                self._lines[key] = line  # at the end
            self._n_working[key] += 1
        return Turn(channel, lambda: self._end(key))

    def _end(self, key: str) -> None:
        with self._lock:
            self._n_working[key] -= 1
            if not self._n_working[key]:
                del self._n_working[key]

    def __len__(self) -> int:
        """Requests that a thread could take now."""
        with self._lock:
            return sum(min(len(line), self._most - self._n_working[key]) for key, line in self._lines.items())


class Turn:
    """A thread's work on one request. Afterwards the thread checks the queue again, so no request is forgotten."""

    def __init__(self, channel: Connection, end: Callable[[], None]) -> None:
        self.channel = channel
        self._end = end

    def service(self) -> None:
        """Answer the request."""
        try:
            self.channel.service()
        finally:
            self._end()

    def cancel(self) -> None:
        """Drop all requests of the connection."""
        self.channel.cancel()


class Server(TcpWSGIServer):  # type: ignore[misc]  # waitress has no types
    """One listening socket."""

    channel_class = Channel

    def __init__(self, *given: object, gate: Gate, **options: object) -> None:
        self.gate = gate
        super().__init__(*given, **options)

    def readable(self) -> bool:
        """Whether to accept connections."""
        return bool(self.accepting)

    def run(self) -> None:
        """Serve until interrupted or closed."""
        try:
            _watch(self._map, self.gate, [self])
        except (SystemExit, KeyboardInterrupt):
            self.task_dispatcher.shutdown()
            wasyncore.close_all(self._map, ignore_all=True)  # a client that connects now would get no answer

    def handle_accept(self) -> None:
        """Accept new connections; those above a limit get a refusal."""
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted = self.accept()
                if accepted is None:
                    return
                sock, address = accepted
                self.set_socket_options(sock)
            except OSError as error:  # no file descriptors left, or the client has already disconnected
                self.logger.debug("a connection could not be accepted: %s", error)
                return
            if self.gate.has_room(address[0]):
                self.channel_class(self, sock, self.fix_addr(address), self.adj, map=self._map)
            else:
                _turn_away(sock)

    def add_task(self, task: Channel) -> None:
        """Have a thread serve a connection's next request, unless it was refused."""
        if not task.takes_refusal():
            super().add_task(task)

    def maintenance(self, now: float) -> None:
        """End requests that clients do not finish in time."""
        for channel in list(self.active_channels.values()):
            channel.end_if_late(now, self.gate.limits)


class SeveralSockets(MultiSocketServer):  # type: ignore[misc]  # waitress has no types
    """A server for a host name with several addresses."""

    def __init__(self, servers: list[Server], *given: object) -> None:
        super().__init__(*given)
        self._servers = servers

    def run(self) -> None:
        """Serve until interrupted or closed."""
        try:
            _watch(self.map, self._servers[0].gate, self._servers)
        except (SystemExit, KeyboardInterrupt):
            self.close()


AnyServer: TypeAlias = Server | SeveralSockets


def _watch(sockets: Sockets, gate: Gate, servers: list[Server]) -> None:
    """Handle events until no socket is left.

    Connections are closed only before a poll. Otherwise a pending event could reach a new connection with the same file
    number.
    """
    next_check = 0.0
    gate.watching_thread = threading.get_ident()
    while sockets:
        now = time.time()
        if now >= next_check:
            next_check = now + _CHECK_S
            for server in servers:
                server.maintenance(now)
        for channel in gate.unsent.in_the_way():
            gate.close(channel)
        while gate.to_close:
            with contextlib.suppress(OSError):
                gate.to_close.pop().handle_close()
        wasyncore.poll2(_CHECK_S, sockets)


def _turn_away(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.setblocking(False)
        sock.send(_BUSY)
    with contextlib.suppress(OSError):
        sock.close()


def create_server(
    application: WSGIApplication, gate: Gate, *, host: str, port: int, threads: int
) -> AnyServer:
    """Bind to a host and port (0 for any free port); returns a server with waitress's `run` and `close`.

    Raises
    ------
    OSError
        If the port is taken or not allowed.
    """
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it logs every waiting request
    limits = gate.limits
    gate.most_connections = affordable_connections(limits.connections)
    adjustments = Adjustments(
        host=host,
        port=port,
        threads=threads,
        ident=None,
        max_request_header_size=MAX_HEAD_BYTES,
        max_request_body_size=sys.maxsize,  # the gate knows the limit of each path
        inbuf_overflow=limits.small_body_bytes + 1,
        connection_limit=sys.maxsize,  # the gate refuses or makes room, and the listening socket stays open
        channel_request_lookahead=1,  # lets us end work for a client that has disconnected
        log_socket_errors=False,
    )
    dispatcher = ThreadedTaskDispatcher()
    dispatcher.queue = FairQueue(max(1, threads // 2))
    dispatcher.set_thread_count(threads)
    atexit.register(
        dispatcher.shutdown, timeout=_LAST_REQUESTS_S
    )  # otherwise Python would cut requests off in native code
    sockets: Sockets = {}
    try:
        servers = [
            Server(application, sockets, gate=gate, dispatcher=dispatcher, adj=adjustments, sockinfo=place)
            for place in adjustments.listen
        ]
    except OSError:
        dispatcher.shutdown()
        raise
    if len(servers) == 1:
        return servers[0]
    places = [(server.effective_host, server.effective_port) for server in servers]
    return SeveralSockets(servers, sockets, adjustments, places, dispatcher, servers[-1].log_info)
