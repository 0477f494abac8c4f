"""What we use of Dask's objects: its own classes leave the types of most of these methods open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol


class Addressed(Protocol):
    """A scheduler or a worker."""

    @property
    def address(self) -> str:
        """Where it listens, such as ``tcp://10.0.0.2:8786``."""


class Security(Protocol):
    """Dask's TLS settings."""

    def get_connection_args(self, role: str) -> Mapping[str, object]:
        """Arguments for a connection of ``client``; ``ssl_context`` is None without certificates."""


class Future(Protocol):
    """A task on the cluster."""

    def result(self, timeout: float) -> object:
        """Its result, or its error; TimeoutError if it has not ended."""

    def cancelled(self) -> bool:
        """Whether it was given up."""

    def add_done_callback(self, function: Callable[[Future], None]) -> None:
        """Call a function once it has ended."""


class Calls(Protocol):
    """A worker's own calls."""

    def run(self, *, function: bytes, args: bytes) -> Awaitable[Mapping[str, object]]:
        """Call a pickled function there."""


class Client(Protocol):
    """A connection to a scheduler and its workers."""

    @property
    def scheduler(self) -> Addressed:
        """The scheduler."""

    @property
    def status(self) -> str:
        """``running`` while it is connected."""

    def run_on_scheduler(self, function: Callable[..., object], *arguments: object) -> object:
        """Call a function on the scheduler."""

    def wait_for_workers(self, n_workers: int, timeout: float) -> object:
        """Wait until there are workers."""

    def submit(self, task: Callable[..., object], *arguments: object, key: str, pure: bool) -> Future:
        """Start a task."""

    def cancel(self, futures: list[Future], *, asynchronous: bool, force: bool) -> Awaitable[None]:
        """Give up tasks."""

    def sync(self, function: Callable[[], Awaitable[object]], *, callback_timeout: float) -> object:
        """Wait for what a function of Dask's event loop returns."""

    def nthreads(self, *, callback_timeout: float | None) -> Mapping[str, int]:
        """Threads of each worker, by its address."""

    def rpc(self, worker: str) -> Calls:
        """The calls of one worker."""

    def close(self, *, timeout: float) -> None:
        """End the connection."""
