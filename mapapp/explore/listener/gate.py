"""Decides which connections a listening server keeps open, and which requests it reads."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Final

from mapapp.explore.listener.connections import Connection, Request
from mapapp.explore.listener.limits import Limits
from mapapp.explore.listener.proxies import TrustedProxies, client_key

# Responses that clients have not taken yet: how many bytes they are together, and who waits to add more.

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


_SETTLING_S: Final = 1.0


class Refusal:
    """A refused request, in the form waitress expects for errors.

    Parameters
    ----------
    code : int
        HTTP status.
    text : str
        One line for the client.
    """

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        self.reason = HTTPStatus(code).phrase
        self.body = text


def _body_bytes(channel: Connection) -> int:
    """Bytes held of the body that a client is sending."""
    return 0 if channel.request is None else channel.request.held_bytes


class Gate:
    """Counts and limits connections, requests and bytes by client; all sockets of a server share one gate.

    Connections are counted in the thread that accepts them. Requests end in any thread, so a lock guards their counts.

    Parameters
    ----------
    limits : Limits
    bodies : mapping of str to int
        Paths that accept a POST body, and the largest body for each, in bytes.
    prefix : str
        Path at which the app is mounted, with slashes at both ends.
    host_names : iterable of str
        Host names that requests may use; any if empty.
    proxies : TrustedProxies
    """

    def __init__(
        self,
        limits: Limits,
        *,
        bodies: Mapping[str, int] | None = None,
        prefix: str = "/",
        host_names: Iterable[str] = (),
        proxies: TrustedProxies | None = None,
    ) -> None:
        self.limits = limits
        self.most_connections = limits.connections
        self.bodies = dict(bodies or {})
        self.prefix = prefix
        self.host_names = frozenset(name.lower().rstrip(".") for name in host_names)
        self.proxies = proxies or TrustedProxies()
        self.to_close: list[Connection] = []
        self.unsent = UnsentBytes(limits.unsent_bytes)
        self.watching_thread = 0  # the one that looks at the sockets
        self.settling_s = _SETTLING_S  # a connection this young is not closed in favor of a newer one
        self._channels: dict[str, dict[Connection, None]] = {}
        self._settled_at: dict[str, float] = {}
        self._lock = threading.Lock()
        self._requests: Counter[str] = Counter()
        self._uploads: Counter[str] = Counter()
        self._unfinished_bytes = 0

    # Connections

    @property
    def n_connections(self) -> int:
        """Open connections, without those about to be closed."""
        return sum(len(channels) for channels in self._channels.values())

    def has_room(self, peer: str) -> bool:
        """Whether to accept a connection from an address; this may close another connection to make room.

        An address at its own limit loses the connection that has waited longest for it. When the server is full, the
        address with the most connections loses one in favor of those with fewer.
        """
        key = client_key(peer)
        n_open = len(self._channels.get(key, ()))
        if peer not in self.proxies and n_open >= self.limits.connections_per_address:
            return self._close_waiting(key)
        if self.n_connections < self.most_connections:
            return True
        largest = max(self._channels, key=lambda key: len(self._channels[key]))
        if len(self._channels[largest]) <= n_open + 1:
            return n_open > 0 and self._close_waiting(key)
        return self._close_any(largest)

    def opened(self, channel: Connection) -> None:
        """Count a connection."""
        self._channels.setdefault(channel.key, {})[channel] = None

    def closed(self, channel: Connection) -> None:
        """Stop counting a connection."""
        channels = self._channels.get(channel.key, {})
        channels.pop(channel, None)
        if not channels:
            self._channels.pop(channel.key, None)
            self._settled_at.pop(channel.key, None)

    def _close_waiting(self, key: str) -> bool:
        """Close a client's connection that has waited longest; returns whether there was one."""
        now = time.time()
        if now < self._settled_at.get(key, 0):
            return False  # no need to look at all connections again
        ranked = [(rank, channel) for channel in self._channels[key] if (rank := channel.waiting_rank())]
        if not ranked:
            self._settled_at[key] = now + self.settling_s
            return False
        (_, since), channel = min(ranked, key=lambda ranked_channel: ranked_channel[0])
        if now - since < self.settling_s:
            self._settled_at[key] = since + self.settling_s
            return False
        self.close(channel)
        return True

    def _close_any(self, key: str) -> bool:
        """Close a connection of a client even if it is in use, unless a trusted proxy uses it."""
        channels = self._channels[key]
        ranked = [(rank, channel) for channel in channels if (rank := channel.waiting_rank())]
        if ranked:
            self.close(min(ranked, key=lambda ranked_channel: ranked_channel[0])[1])
            return True
        oldest = next(iter(channels))
        if oldest.addr[0] in self.proxies:
            return False
        self.close(oldest)
        return True

    def close(self, channel: Connection) -> None:
        """Schedule a connection to be closed before the next poll, when no event of it is pending."""
        channel.will_close = True
        self.closed(channel)
        self.to_close.append(channel)

    # Requests

    def refusal(self, request: Request) -> Refusal | None:
        """The reason to refuse a request whose head is complete; None to accept it."""
        origin = self.proxies.origin(request.peer, request.headers)
        request.client, request.key = origin.client, client_key(origin.client)
        request.url_scheme = origin.scheme or request.url_scheme
        if origin.host:
            request.headers["HOST"] = origin.host
        request.path = self._path(request.path, origin.prefix)
        if not self._is_our_name(request.headers.get("HOST", "")):
            return Refusal(421, "this server does not serve that host name")
        return self._body_refusal(request) or self._crowd_refusal(request, forwarded=origin.is_forwarded)

    def _path(self, path: str, forwarded_prefix: str | None) -> str:
        """Path of a request, with the prefix that its proxy has removed."""
        path = "/" + path.lstrip("/") if path.startswith("/") else path
        stripped = forwarded_prefix is not None and f"/{forwarded_prefix.strip('/')}/" == self.prefix
        if stripped and not path.startswith(self.prefix):
            return self.prefix + path.removeprefix("/")
        return path

    def _is_our_name(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        return not self.host_names or name.lower().rstrip(".") in self.host_names

    def _body_refusal(self, request: Request) -> Refusal | None:
        if not request.content_length and not request.chunked:
            return None
        most = self.bodies.get(request.path) if request.command == "POST" else None
        if most is None:
            return Refusal(413, "this address accepts no request body")
        if request.chunked:
            return Refusal(411, "a request body needs a Content-Length header")
        if request.content_length > most:
            return Refusal(413, f"this address accepts at most {most:,} bytes")
        return None

    def _crowd_refusal(self, request: Request, *, forwarded: bool) -> Refusal | None:
        """Count a request, or refuse it if its client or the server has too many."""
        limits, key = self.limits, request.key
        is_upload = request.content_length > limits.small_body_bytes
        with self._lock:
            if forwarded and self._requests[key] >= limits.connections_per_address:
                return Refusal(429, "too many requests at once from this address; try again in a moment")
            if is_upload and (
                self._uploads.total() >= limits.uploads or self._uploads[key] >= limits.uploads_per_address
            ):
                return Refusal(503, "other files are being uploaded; try again in a moment")
            self._requests[key] += 1
            self._uploads[key] += is_upload
            request.is_counted, request.is_upload = True, is_upload
        return None

    def hold(self, request: Request, n_bytes: int) -> bool:
        """Count received bytes of a body; returns whether all incomplete bodies together are within their limit."""
        if request.is_upload:  # limited by number
            return True
        with self._lock:
            if request.is_ended:
                return True
            request.held_bytes += n_bytes
            self._unfinished_bytes += n_bytes
            return self._unfinished_bytes <= self.limits.unfinished_bytes

    def largest_body(self) -> Connection | None:
        """The largest incomplete body's connection, of the client whose incomplete bodies are largest in total."""
        senders = [
            [channel for channel in channels if channel.is_sending_body]
            for channels in self._channels.values()
        ]
        of_client = max(
            senders, key=lambda client_channels: sum(map(_body_bytes, client_channels)), default=[]
        )
        return max(of_client, key=_body_bytes, default=None)

    def end(self, request: Request) -> None:
        """Stop counting a request and its bytes; safe to call again."""
        with self._lock:
            self._unfinished_bytes -= request.held_bytes
            request.held_bytes, request.is_ended = 0, True
            if not request.is_counted:
                return
            request.is_counted = False
            for counter, n in ((self._requests, 1), (self._uploads, int(request.is_upload))):
                counter[request.key] -= n
                if not counter[request.key]:
                    del counter[request.key]

    @property
    def counts(self) -> dict[str, int]:
        """Open connections, requests and uploads in progress, and bytes of bodies held in memory."""
        with self._lock:
            return {
                "connections": self.n_connections,
                "requests": self._requests.total(),
                "uploads": self._uploads.total(),
                "unfinished_bytes": self._unfinished_bytes,
            }
