"""What the gate and the queue use of a connection and of its request; `mapapp.explore.listener.channel` has both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Request(Protocol):
    """A request whose head is complete.

    Attributes
    ----------
    peer, client : str
        Addresses at the other end of the connection, and of the client behind trusted proxies.
    key : str
        The key that its client's requests are counted under.
    held_bytes : int
        Bytes of the body that count toward the limit on incomplete bodies.
    """

    peer: str
    client: str
    key: str
    headers: dict[str, str]
    url_scheme: str
    command: str
    path: str
    content_length: int
    chunked: bool
    held_bytes: int
    is_counted: bool
    is_upload: bool
    is_ended: bool

    def close(self) -> None:
        """Drop the body and stop counting the request."""


class Connection(Protocol):
    """A connection of a client.

    Attributes
    ----------
    key : str
        The key that its client is counted under.
    will_close : bool
        Whether it is about to be closed.
    """

    key: str
    will_close: bool

    @property
    def addr(self) -> tuple[str, int]:
        """Address and port of the other end."""

    @property
    def request(self) -> Request | None:
        """The request that has not arrived in full."""

    @property
    def requests(self) -> Sequence[Request]:
        """Requests to answer, in order."""

    @property
    def is_sending_body(self) -> bool:
        """Whether the client is in the middle of a body."""

    def waiting_rank(self) -> tuple[int, float] | None:
        """Rank among connections that wait for their clients; None if it is not waiting."""

    def handle_close(self) -> None:
        """Close the connection."""

    def service(self) -> None:
        """Answer the next request."""

    def cancel(self) -> None:
        """Drop all requests."""
