"""Which user of this machine a request comes from: loopback is open to all of them, the workbench to one.

Linux lists its connections with their owners. Where that list is missing, or has nothing to say, nothing is known.
"""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import Final

_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_WORD: Final = 4


def is_stranger(address: str | None, port: str | int | None) -> bool:
    """Whether a connection on loopback is known to belong to another user, the superuser excepted.

    Parameters
    ----------
    address : str or None
        Where it comes from.
    port : str, int or None
        From which port.
    """
    owner = owner_of(address, int(port) if port is not None and str(port).isdigit() else None)
    return owner is not None and owner not in (0, os.getuid())


def owner_of(address: str | None, port: int | None, tables: tuple[Path, ...] = _TABLES) -> int | None:
    """User who holds a connection's other end on this machine; None where that is not known."""
    if not address or not port:
        return None
    try:
        wanted = ipaddress.ip_address(address)
    except ValueError:
        return None
    if not wanted.is_loopback:
        return None
    for table in tables:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except (OSError, UnicodeDecodeError):
            continue
        for line in lines:
            fields = line.split()
            if len(fields) > 7 and _place(fields[1]) == (wanted, port):
                return int(fields[7])
    return None


def _place(text: str) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int] | None:
    """Address and port as the kernel writes them: words in the machine's own order, in hexadecimal."""
    digits, _, port = text.partition(":")
    raw = bytes.fromhex(digits)
    words = [raw[at : at + _WORD] for at in range(0, len(raw), _WORD)]
    found = ipaddress.ip_address(b"".join(word[::-1] for word in words))
    mapped = getattr(found, "ipv4_mapped", None)
    return mapped or found, int(port, 16)
