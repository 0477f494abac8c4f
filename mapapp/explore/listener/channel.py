"""Waitress's connections and requests, with our limits.

These classes depend on waitress's internals, so pyproject.toml bounds its version and a test checks what they use.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from functools import partial
from typing import Final, TypeAlias

from waitress.adjustments import Adjustments
from waitress.buffers import ReadOnlyFileBasedBuffer
from waitress.channel import ClientDisconnected, HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask, WSGITask
from waitress.wasyncore import dispatcher

from mapapp.explore.listener.gate import Gate, Refusal
from mapapp.explore.listener.limits import Limits
from mapapp.explore.listener.proxies import client_key

Sockets: TypeAlias = dict[int, dispatcher]
"""The sockets that a server watches, by file number."""

_DRAIN_S: Final = 2.0
_DRAINED_BYTES: Final = 4 << 20
_RETRY_S: Final = {429: "1", 503: "5"}


class RequestParser(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types
    """A request that can be refused as soon as its head is complete, before any of its body is stored.

    Attributes
    ----------
    client, key : str
        The client's address, and the key that its requests are counted under.
    begun_at, head_at : float
        Times of the first byte and of the end of the head, in seconds as from `time.time`.
    held_bytes : int
        Bytes of the body that count toward the limit on incomplete bodies.
    """

    path = ""
    error: ParsingError | Refusal | None
    completed: bool

    def __init__(self, adj: Adjustments, gate: Gate, peer: str) -> None:
        super().__init__(adj)
        self.gate = gate
        self.peer = self.client = peer
        self.key = client_key(peer)
        self.begun_at = self.head_at = time.time()
        self.held_bytes = 0
        self.is_checked = self.is_counted = self.is_upload = self.is_ended = False

    def received(self, data: bytes) -> int:
        """Take bytes of the head or body, and return how many."""
        if self.is_ended:  # its connection is being closed
            return len(data)
        before = self.body_bytes_received
        consumed: int = super().received(data)
        if self.headers_finished and not self.is_checked and not self.empty:
            self.is_checked, self.head_at = True, time.time()
            self.error = self.error or self.gate.refusal(self)
            self.completed = self.completed or self.error is not None
        if self.completed:
            self.expect_continue = False  # otherwise waitress would invite the body we refused
        arrived = self.body_bytes_received - before
        if arrived and not self.gate.hold(self, arrived):
            self._make_room()
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the head.

        Raises
        ------
        ParsingError
            If it is malformed.
        """
        try:
            super().parse_header(header_plus)
        except ValueError as error:  # a length of thousands of digits
            raise ParsingError("Content-Length is invalid") from error

    def _make_room(self) -> None:
        largest = self.gate.largest_body()
        if largest is None or largest.request is None or largest.request is self:
            self.error, self.completed = Refusal(503, "too many requests are being sent; try again"), True
        else:
            self.gate.close(largest)
            largest.request.close()

    def close(self) -> None:
        """Drop the body and stop counting the request."""
        super().close()
        self.gate.end(self)


class Task(WSGITask):  # type: ignore[misc]  # waitress has no types
    """A request to the app, with the client's address in place of the proxy's."""

    def get_environment(self) -> dict[str, object]:
        """Environment of the request."""
        environ: dict[str, object] = super().get_environment()
        environ["REMOTE_ADDR"] = environ["REMOTE_HOST"] = self.request.client
        environ["PATH_INFO"] = self.request.path
        return environ

    def finish(self) -> None:
        """End the response; the connection is idle from now on, before it stops counting as busy."""
        super().finish()
        self.channel.free_since = time.time()


class RefusalTask(ErrorTask):  # type: ignore[misc]  # waitress has no types
    """A one-line refusal; the connection is closed after it."""

    def execute(self) -> None:
        """Send the line."""
        error = self.request.error
        self.status = f"{error.code} {error.reason}"
        body = " ".join(f"{self.status}: {error.body}".split())[:300].encode() + b"\n"
        self.response_headers += [
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        if error.code in _RETRY_S:
            self.response_headers.append(("Retry-After", _RETRY_S[error.code]))
        self.channel.lingers = True
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


class Channel(HTTPChannel):  # type: ignore[misc]  # waitress has no types
    """A connection that we close if its client takes too long.

    Attributes
    ----------
    key : str
        The key that its client is counted under.
    free_since : float
        When the connection became idle: when it was accepted, or after its last response.
    lingers : bool
        Whether a request was refused. For a moment we then read and discard what the client still sends: closing the
        connection with unread bytes could make the client lose the refusal before reading it.
    """

    request: RequestParser | None = None
    requests: list[RequestParser]
    close_when_flushed: bool
    lingers = False
    _drain_until = 0.0
    _n_drained = 0
    task_class = Task
    error_task_class = RefusalTask

    def __init__(
        self,
        server: TcpWSGIServer,
        sock: socket.socket,
        addr: tuple[str, int],
        adj: Adjustments,
        map: Sockets | None = None,
    ) -> None:
        self.key = client_key(addr[0])
        self._reader = 0
        self._refuses_now = False
        self._sent = self._sent_before = 0
        super().__init__(server, sock, addr, adj, map=map)
        self.parser_class = partial(RequestParser, gate=server.gate, peer=addr[0])
        self.free_since = self._watched_since = self.creation_time
        server.gate.opened(self)

    # In the thread that watches the sockets

    def readable(self) -> bool:
        """Whether to wait for bytes from the client."""
        return bool(self._drain_until or super().readable())

    def handle_read(self) -> None:
        """Read what has arrived."""
        if not self._drain_until:
            super().handle_read()
            return
        try:
            self._n_drained += len(self.recv(_DRAINED_BYTES))  # closes the connection at its end
        except OSError:
            self.handle_close()
        if self._n_drained >= _DRAINED_BYTES and self.socket is not None:
            self.server.gate.close(self)

    def handle_write(self) -> None:
        """Send pending bytes; after a refusal, shut down our side, and close when the client does."""
        if not (self.lingers and self.close_when_flushed):
            super().handle_write()
            return
        self._flush_exception(self._flush_some)
        if self.will_close or self.socket is None:
            self.handle_close()
        elif not self.total_outbufs_len:
            self.close_when_flushed = False
            self._drain_until = time.time() + _DRAIN_S
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)

    def received(self, data: bytes) -> bool:
        """Take bytes; send a refusal at once, without waiting for a free thread."""
        self._reader, self._refuses_now = threading.get_ident(), False
        taken = bool(super().received(data))
        self._reader = 0
        if self._refuses_now:
            self.service()
        return taken

    def takes_refusal(self) -> bool:
        """Whether the next request is refused, in which case :meth:`received` sends the refusal itself."""
        if self._reader != threading.get_ident() or self.requests[0].error is None:
            return False
        if self.total_outbufs_len:  # then writing could wait for this very thread
            return False
        self._refuses_now = True
        return True

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Send as many bytes as the socket takes, and return how many."""
        sent: int = super().send(data, do_close=do_close)
        self._sent += sent
        self.server.gate.unsent.give(self, sent)
        return sent

    def handle_close(self) -> None:
        """Close the connection and drop an incomplete request."""
        if self.request is not None:
            self.request.close()
        super().handle_close()
        self.server.gate.unsent.give(self)

    def close(self) -> None:
        """Close the connection when the server ends, with its temporary files."""
        self.handle_close()

    def del_channel(self, map: Sockets | None = None) -> None:
        """Stop watching and counting."""
        super().del_channel(map)
        self.server.gate.closed(self)

    @property
    def is_sending_body(self) -> bool:
        """Whether the client is in the middle of a body."""
        return self.request is not None and bool(self.request.headers_finished)

    @property
    def _awaits_client(self) -> bool:
        return not (self.requests or self.total_outbufs_len or self.will_close or self.close_when_flushed)

    def waiting_rank(self) -> tuple[int, float] | None:
        """Rank among connections that wait for their clients, lowest to be closed first; None if it is not waiting.

        Idle connections come first, then incomplete heads, then incomplete bodies; within each, the longest wait.
        """
        if not self._awaits_client:
            return None
        if self.request is None or self._drain_until:
            return 0, self.free_since
        return 1 + self.request.headers_finished, max(self.request.begun_at, self.free_since)

    def end_if_late(self, now: float, limits: Limits) -> None:
        """Close the connection, or refuse its request, if the client has taken too long."""
        if self.total_outbufs_len:
            if now - self._watched_since >= limits.stalled_s:
                if self._sent - self._sent_before < limits.stalled_bytes:
                    self.server.gate.close(self)
                self._watched_since, self._sent_before = now, self._sent
            return
        self._watched_since, self._sent_before = now, self._sent
        if not self._awaits_client:
            return
        request = self.request
        if self._drain_until:
            if now > self._drain_until:
                self.server.gate.close(self)
        elif request is None:
            if now - self.free_since > limits.idle_s:
                self.server.gate.close(self)
        elif now - max(request.head_at, self.free_since) > _allowed_s(request, limits):
            self._refuse_late(request)

    def _refuse_late(self, request: RequestParser) -> None:
        with self.requests_lock:
            self.request = None
            request.error = Refusal(408, "the request did not arrive in time")
            request.completed = True
            self.requests.append(request)
        self.service()

    # In a thread of its own

    def write_soon(self, data: bytes | ReadOnlyFileBasedBuffer) -> int:
        """Queue a part of a response, once there is room for it beside what other clients have not taken yet.

        Raises
        ------
        ClientDisconnected
            If the connection was closed, perhaps to make room for others, or the part alone is above the limit.
        """
        unsent, n_bytes = self.server.gate.unsent, len(data) if data else 0
        if threading.get_ident() == self.server.gate.watching_thread:
            unsent.take_anyway(self, n_bytes)  # a refusal: waiting would stop the thread that makes room
        else:
            while not unsent.take(self, n_bytes):
                if not self.connected or n_bytes > unsent.most_bytes:
                    unsent.stop_waiting(self)
                    raise ClientDisconnected
                self.server.pull_trigger()
                unsent.wait()
        try:
            return int(super().write_soon(data))
        except ClientDisconnected:
            unsent.give(self)
            raise


def _allowed_s(request: RequestParser, limits: Limits) -> float:
    if not request.headers_finished:
        return limits.head_s
    return limits.upload_s if request.is_upload else limits.body_s
