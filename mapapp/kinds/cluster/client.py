"""The client of a cluster, where a run has one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from engine.streams import SecretKey
from mapapp.kinds.cluster.dask_types import Client

__all__ = ["cluster_client"]


def cluster_client(scheduler: str | None, key: SecretKey) -> AbstractContextManager[Client | None]:
    """A cluster's client; None on this machine alone, which needs no Dask."""
    if scheduler is None:
        return nullcontext()
    from mapapp.kinds.cluster.connection import connect_client

    return connect_client(scheduler, secret=not key.is_test)
