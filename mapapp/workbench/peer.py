"""Which user of this machine a request comes from: loopback is open to all of them, the workbench to one.

Linux lists its connections with their owners. Where that list is missing, or has nothing to say, nothing is known.
"""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import Final

_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_UID, _INODE = 7, 9  # a closed end is listed for a while, without inode and as if it were the superuser's
_WORD: Final = 4
_LOOKS: Final = 2  # the list is read in pieces, and changes meanwhile
NOBODY: Final = -1


def is_stranger(address: str | None, port: str | int | None, tables: tuple[Path, ...] = _TABLES) -> bool:
    """Whether a connection on loopback is not known to be held by this user or the superuser, where that can be known.

    Whoever closes a connection at once reads no answer, and is in no list any more by the time somebody looks; what
    was asked would be done all the same. So a connection that nobody holds is a stranger's.

    Parameters
    ----------
    address : str or None
        Where it comes from.
    port : str, int or None
        From which port.
    tables : tuple of Path, optional
        The system's lists.
    """
    number = int(port) if port is not None and str(port).isdigit() else None
    for _ in range(_LOOKS):
        owner = owner_of(address, number, tables)
        if owner is None or owner in (0, os.getuid()):
            return False
        if owner != NOBODY:
            return True
    return True


def owner_of(address: str | None, port: int | None, tables: tuple[Path, ...] = _TABLES) -> int | None:
    """User who holds a connection's other end on this machine; `NOBODY` once it is closed, None where not known."""
    if not address or not port:
        return None
    try:
        wanted = ipaddress.ip_address(address)
    except ValueError:
        return None
    if not wanted.is_loopback:
        return None
    listed = False
    for table in tables:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except (OSError, UnicodeDecodeError):
            continue
        for line in lines:
            fields = line.split()
            if len(fields) <= _INODE:
                continue
            listed = True
            if fields[_INODE] != "0" and _place(fields[1]) == (wanted, port):
                return int(fields[_UID])
    return NOBODY if listed else None


def _place(text: str) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int] | None:
    """Address and port as the kernel writes them: words in the machine's own order, in hexadecimal."""
    digits, _, port = text.partition(":")
    raw = bytes.fromhex(digits)
    words = [raw[at : at + _WORD] for at in range(0, len(raw), _WORD)]
    found = ipaddress.ip_address(b"".join(word[::-1] for word in words))
    mapped = getattr(found, "ipv4_mapped", None)
    return mapped or found, int(port, 16)
