"""The origin of a request: the peer itself, or the client that a trusted proxy names.

Forwarded headers are removed from every request, so that no other code can trust them by mistake.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mapapp.base.errors import UsageError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_FORWARDED: Final = ("FORWARDED", "X_REAL_IP")
_WITH_PORT: Final = re.compile(r"(\d+(?:\.\d+){3}):\d+|\[(.+)\](?::\d+)?")
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+(?::\d{1,5})?|\[[0-9A-Fa-f:.]+\](?::\d{1,5})?")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request comes from.

    Attributes
    ----------
    client : str
        Address of the client.
    is_forwarded : bool
        Whether a trusted proxy named the client; otherwise the client is the peer itself.
    scheme, host, prefix : str or None
        What the client requested, according to the proxy.
    """

    client: str
    is_forwarded: bool = False
    scheme: str | None = None
    host: str | None = None
    prefix: str | None = None


class TrustedProxies:
    """The proxies whose forwarded headers we trust.

    Parameters
    ----------
    addresses : iterable of str
        IP addresses and networks, such as 127.0.0.1 or 10.0.0.0/8.

    Raises
    ------
    UsageError
        If one is neither.
    """

    def __init__(self, addresses: Iterable[str] = ()) -> None:
        self._networks = [_network(text) for text in addresses]

    def __contains__(self, address: str) -> bool:
        ip_address = parse_address(address)
        return ip_address is not None and any(ip_address in network for network in self._networks)

    def origin(self, peer: str, headers: dict[str, str]) -> Origin:
        """Origin of a request; removes the forwarded headers from `headers` (upper case, with underscores)."""
        given = {
            name: headers.pop(name)
            for name in list(headers)
            if name.startswith("X_FORWARDED_") or name in _FORWARDED
        }
        if peer not in self:
            return Origin(peer)
        client = self._client(given.get("X_FORWARDED_FOR", ""))
        scheme = given.get("X_FORWARDED_PROTO", "").lower()
        host = given.get("X_FORWARDED_HOST", "")
        return Origin(
            client=client or peer,
            is_forwarded=client is not None,
            scheme=scheme if scheme in ("http", "https") else None,
            host=host if _HOST.fullmatch(host) else None,
            prefix=given.get("X_FORWARDED_PREFIX"),
        )

    def _client(self, forwarded_for: str) -> str | None:
        """The last address that is not a trusted proxy's; a client can forge anything before it."""
        client = None
        for text in reversed(forwarded_for.split(",")):
            address = parse_address(text)
            if address is None:
                break
            client = str(address)
            if client not in self:
                break
        return client


def parse_address(text: str) -> Address | None:
    """Parse an IP address with or without a port; an IPv4-mapped IPv6 address becomes IPv4. None for other text."""
    text = text.strip()
    with_port = _WITH_PORT.fullmatch(text)
    bare = (with_port[1] or with_port[2]) if with_port else text
    try:
        address = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def client_key(address: str) -> str:
    """The key that a client is counted under: its IPv4 address, or its IPv6 /64 network."""
    ip_address = parse_address(address)
    if isinstance(ip_address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((ip_address, 64), strict=False))
    return address if ip_address is None else str(ip_address)


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        raise UsageError(
            f"trusted proxy {text!r} is neither an IP address nor a network; write 127.0.0.1 or 10.0.0.0/8"
        ) from None
