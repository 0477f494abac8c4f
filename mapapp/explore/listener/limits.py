"""The limits of a listening server, and how many connections the machine allows."""

from __future__ import annotations

import contextlib
import resource
from dataclasses import dataclass, fields
from typing import Final

from mapapp.base import memory_limits
from mapapp.base.errors import UsageError

_FILES_PER_CONNECTION: Final = 2  # its socket, and a temporary file for a long response
_OTHER_FILES: Final = 256  # releases, libraries, uploads


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits for one server and for each client address.

    An IPv6 client is counted by its /64 network, because one machine commonly has all of it.

    Attributes
    ----------
    connections_per_address : int
        Open connections of a client address. Behind a trusted proxy: requests in progress of a forwarded address.
    connections : int
        Open connections in all.
    idle_s, head_s, body_s, upload_s : float
        Seconds until the server ends an idle connection, an incomplete request head, an incomplete body and an
        incomplete upload. An occasional byte does not extend them.
    stalled_s, stalled_bytes : float, int
        A client that takes less than `stalled_bytes` of its response in `stalled_s` seconds is disconnected.
    small_body_bytes : int
        Larger bodies are uploads. Smaller ones are held in memory.
    uploads, uploads_per_address : int
        Uploads at once.
    unfinished_bytes : int
        Incomplete bodies in all, not counting uploads.
    unsent_bytes : int
        Unsent responses in all.

    Raises
    ------
    UsageError
        If a limit is not positive.
    """

    connections_per_address: int = 400
    connections: int = 2_000
    idle_s: float = 30
    head_s: float = 10
    body_s: float = 20
    upload_s: float = 120
    stalled_s: float = 30
    stalled_bytes: int = 128 << 10
    small_body_bytes: int = 1 << 20
    uploads: int = 4
    uploads_per_address: int = 2
    unfinished_bytes: int = memory_limits.UNFINISHED_BYTES
    unsent_bytes: int = memory_limits.UNSENT_BYTES

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise UsageError(f"limit {field.name} is {value}; it must be more than 0")


DEFAULT_LIMITS: Final = Limits()


def affordable_connections(wanted: int) -> int:
    """Connections that the open-file limit allows, at most `wanted`; raises the soft limit if the system permits."""
    needed = wanted * _FILES_PER_CONNECTION + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        target = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with contextlib.suppress(OSError, ValueError):  # if the system refuses, we allow fewer connections
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    return max(16, (soft - _OTHER_FILES) // _FILES_PER_CONNECTION)
