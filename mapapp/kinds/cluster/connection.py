"""The connection of a run to an existing Dask cluster: which addresses are safe, and what is said if none answers."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import Final
from urllib.parse import urlsplit

from mapapp.base.errors import UsageError
from mapapp.kinds.cluster.dask_types import Client, Security

__all__ = ["CLOSE_S", "CONNECT_S", "connect_client", "reason_of", "require_safe_address"]

CONNECT_S: Final = 5.0
CLOSE_S: Final = 5.0
"""For each step of the clean-up, whether the scheduler answers or not."""
_SCHEMES: Final = ("tcp", "tls")


def require_safe_address(address: str, *, secret: bool) -> None:
    """Refuse an address over which a secret key must not be sent: an eavesdropper or impostor would get the key.

    Raises
    ------
    UsageError
        The address is not valid, or `secret` is true and it is neither tls:// nor on this machine.
    """
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        known = parts.scheme in _SCHEMES and parts.port is not None
    except ValueError:
        known = False
    if not known:
        raise UsageError(f"--scheduler {address}: not an address; write tls://HOST:PORT or tcp://HOST:PORT")
    if secret and not _is_safe(parts.scheme, parts.hostname or ""):
        raise UsageError(
            f"{address}: a secret key goes over tls:// or within one machine only; give scheduler and workers "
            "certificates (Dask's TLS settings), or use --test-key to try things out"
        )


def _is_safe(scheme: str, host: str) -> bool:
    if scheme == "tls" or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def connect_client(address: str, *, secret: bool) -> Iterator[Client]:
    """Connect to a scheduler: yields Dask's client.

    Raises
    ------
    UsageError
        Dask is not installed, the address may not be used, or nothing answers there.
    """
    require_safe_address(address, secret=secret)
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise UsageError(
            f"--scheduler needs the package distributed ({error}); pip install 'commutemap[cluster]'"
        ) from error
    # What goes wrong is said in one line of ours.
    for name in (
        *("distributed", "distributed.client", "distributed.core", "distributed.comm"),
        "tornado.application",  # Dask's event loop: a call stopped by ctrl-C before it began is an error to it
    ):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    security = _security(distributed, address)
    try:
        asyncio.run(_greet(address, security))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other versions: refused below, by what matters here
            client = distributed.Client(
                address,
                timeout=CONNECT_S,
                security=security,
                set_as_default=False,
                direct_to_workers=True,
                name="commutemap",
            )
    except Exception as error:  # of many kinds, where something else than Dask answers
        raise UsageError(
            f"--scheduler {address}: no Dask scheduler answers there ({reason_of(error)}); check that it runs, and for "
            "tls:// that both sides have certificates of one authority"
        ) from error
    try:
        yield client
    finally:
        # Best effort: the run is over, and a scheduler that does not answer changes nothing of how it went.
        with suppress(Exception):
            client.close(timeout=CLOSE_S)


async def _greet(address: str, security: Security) -> None:
    """See whether something at an address talks as Dask does; its client would wait for ever where nothing talks."""
    connect = import_module("distributed.comm").connect
    comm = await asyncio.wait_for(
        connect(address, timeout=CONNECT_S, **security.get_connection_args("client")), CONNECT_S
    )
    comm.abort()


def _security(distributed: ModuleType, address: str) -> Security:
    """TLS settings of Dask's configuration; UsageError if the address needs them and the configuration lacks them."""
    try:
        security: Security = distributed.Security()
        context = security.get_connection_args("client").get("ssl_context")
    except OSError as error:
        raise UsageError(
            f"the certificates that Dask's configuration names cannot be read ({reason_of(error)}); see "
            "distributed.comm.tls there"
        ) from error
    if context is None and address.startswith("tls:"):
        raise UsageError(
            f"--scheduler {address}: Dask's configuration names no certificates; set distributed.comm.tls.ca-file, "
            "client.cert and client.key, or DASK_DISTRIBUTED__COMM__TLS__CA_FILE and so on"
        )
    return security


def reason_of(error: Exception) -> str:
    """What an error says, in a short line."""
    return " ".join(str(error).split())[:120] or type(error).__name__
