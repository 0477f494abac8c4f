"""A listening server around a few bytes of application, and clients that speak HTTP by hand."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mapapp.explore.listener.gate import Gate
from mapapp.explore.listener.limits import Limits
from mapapp.explore.listener.server import create_server
from tests.running_server import running

PATIENCE_S = 30
GET = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
OTHER_CLIENT = "127.0.0.2"  # Linux has all of 127.0.0.0/8


@dataclass
class Listening:
    """A running server.

    Attributes
    ----------
    gate : Gate
    port : int
    asked : list of dict
        What the application was asked: each request's environment.
    """

    gate: Gate
    port: int
    asked: list[dict[str, Any]]

    def connect(self, client: str = "127.0.0.1", receive_bytes: int = 0) -> socket.socket:
        """Connect from a loopback address."""
        sock = socket.socket()
        sock.settimeout(PATIENCE_S)
        if receive_bytes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        try:
            sock.bind((client, 0))
        except OSError:
            pytest.skip(f"this system has no address {client}")
        sock.connect(("127.0.0.1", self.port))
        return sock

    def send(self, request: bytes, client: str = "127.0.0.1") -> bytes:
        """All that comes back for some bytes, until the server closes."""
        with self.connect(client) as sock:
            sock.sendall(request)
            return read_all(sock)

    def wait_for(self, name: str, value: int) -> None:
        """Wait until a count of the gate has a value."""
        wait_until(
            lambda: self.gate.counts[name] == value, lambda: f"{name} == {value}, not {self.gate.counts}"
        )


def wait_until(condition: Callable[[], bool], what: str | Callable[[], str]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.01)


def read_all(sock: socket.socket) -> bytes:
    """Everything until the other side closes or breaks the connection."""
    parts = []
    try:
        while part := sock.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def read_answer(sock: socket.socket) -> tuple[int, bytes]:
    """Status and body of one answer with a length."""
    held = b""
    while b"\r\n\r\n" not in held:
        part = sock.recv(65536)
        assert part, f"closed after {held!r}"
        held += part
    head, _, body = held.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    length = int(next(line.split(b":")[1] for line in lines if line.lower().startswith(b"content-length")))
    while len(body) < length:
        body += sock.recv(65536)
    return int(lines[0].split()[1]), body


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def is_closed(sock: socket.socket) -> bool:
    """Whether the server has closed a connection on which nothing else is expected."""
    sock.setblocking(False)
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
    finally:
        sock.settimeout(PATIENCE_S)


def temporary_bytes() -> int:
    """Bytes of deleted files that this process holds open, as unfinished uploads are."""
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("this system does not list open files")
    total = 0
    for entry in folder.iterdir():
        try:
            if os.readlink(entry).endswith("(deleted)"):
                total += entry.stat().st_size
        except OSError:
            continue
    return total


@contextmanager
def listening(
    *, application: Any = None, limits: dict[str, Any] | None = None, threads: int = 2, **options: Any
) -> Iterator[Listening]:
    """Run a server with these limits and options of the gate; it echoes each request's environment as JSON."""
    asked: list[dict[str, Any]] = []

    def echo(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        body = environ["wsgi.input"].read()
        texts = {name: value for name, value in environ.items() if isinstance(value, str)}
        asked.append(texts | {"body": len(body)})
        answer = json.dumps(asked[-1]).encode()
        start_response("200 OK", [("Content-Length", str(len(answer)))])
        return [answer]

    gate = Gate(Limits(**(limits or {})), **({"bodies": {"/upload": 32 << 20}} | options))
    server = create_server(application or echo, gate, host="127.0.0.1", port=0, threads=threads)
    with running(server, ""):
        yield Listening(gate, int(server.effective_port), asked)
