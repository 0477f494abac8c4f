"""A run whose batches are worked on by an existing Dask cluster: what the run itself does.

Through the scheduler go public facts only: names, paths, certified weights. Rows go from worker to run as Parquet files
on the shared path. The key goes straight to each worker, which holds it in memory
(`mapapp.publishing.cluster.cluster_worker`). A worker that is new or was restarted asks for the key.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import os
import pickle
import secrets
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from types import ModuleType
from typing import Final, cast
from urllib.parse import urlsplit

import numpy as np

from engine.streams import SecretKey
from geodata.store import store_digest
from mapapp.errors import UsageError
from mapapp.progress import Report, silent
from mapapp.publishing.batch import SynthesisSource
from mapapp.publishing.batch_workers import Columns
from mapapp.publishing.cluster import cluster_worker
from mapapp.publishing.cluster.cluster_worker import (
    LEASE_S,
    SOURCE,
    USED,
    Answer,
    Certified,
    Job,
    program_versions,
    read_part,
    write_part,
)
from mapapp.publishing.cluster.dask_types import Client, Future, Security
from mapapp.publishing.promise import CertifiedBatch

_CONNECT_S: Final = 5.0
_CLOSE_S: Final = 5.0  # for each step of the clean-up, whether the scheduler answers or not
_CALL_S: Final = 60.0  # a worker may be busy, or have to import everything first
_SHORT_CALL_S: Final = 20.0
_LEAVE_S: Final = 10.0  # the scheduler may notice later than the run that a worker is gone
_NO_WORKER_S: Final = 120.0
_PARTS: Final = "parts"
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
def connected(address: str, *, secret: bool) -> Iterator[Client]:
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
                timeout=_CONNECT_S,
                security=security,
                set_as_default=False,
                direct_to_workers=True,
                name="commutemap",
            )
    except Exception as error:  # of many kinds, where something else than Dask answers
        raise UsageError(
            f"--scheduler {address}: no Dask scheduler answers there ({_reason(error)}); check that it runs, and for "
            "tls:// that both sides have certificates of one authority"
        ) from error
    try:
        yield client
    finally:
        # Best effort: the run is over, and a scheduler that does not answer changes nothing of how it went.
        with suppress(Exception):
            client.close(timeout=_CLOSE_S)


async def _greet(address: str, security: Security) -> None:
    """See whether something at an address talks as Dask does; its client would wait for ever where nothing talks."""
    connect = import_module("distributed.comm").connect
    comm = await asyncio.wait_for(
        connect(address, timeout=_CONNECT_S, **security.get_connection_args("client")), _CONNECT_S
    )
    comm.abort()


def _security(distributed: ModuleType, address: str) -> Security:
    """TLS settings of Dask's configuration; UsageError if the address needs them and the configuration lacks them."""
    try:
        security: Security = distributed.Security()
        found = security.get_connection_args("client").get("ssl_context")
    except OSError as error:
        raise UsageError(
            f"the certificates that Dask's configuration names cannot be read ({_reason(error)}); see "
            "distributed.comm.tls there"
        ) from error
    if found is None and address.startswith("tls:"):
        raise UsageError(
            f"--scheduler {address}: Dask's configuration names no certificates; set distributed.comm.tls.ca-file, "
            "client.cert and client.key, or DASK_DISTRIBUTED__COMM__TLS__CA_FILE and so on"
        )
    return security


class ClusterRunner:
    """The workers of a Dask cluster, working on the batches of one run.

    Parameters
    ----------
    client : distributed.Client
    source : SynthesisSource
        The workers read the same one.
    directory : Path
        Of the release while it is written, on the shared path.
    secret : bool
        Whether the key will be a secret one.
    report : callable
        Progress.

    Attributes
    ----------
    n_edited_out : int
        Of the batches drawn so far.
    """

    def __init__(
        self,
        client: Client,
        source: SynthesisSource,
        directory: Path,
        *,
        secret: bool,
        report: Report = silent,
    ) -> None:
        self.n_edited_out = 0
        self._client = client
        self._n_blocks = source.geography.n_blocks
        self._n_batches = source.workplaces.n_batches
        self._secret = secret
        self._report = report
        self._key: SecretKey | None = None
        self._certified: list[Certified] = []
        self._futures: dict[int, Future] = {}
        self._n_submitted = 0
        self._admitted: set[str] = set()
        self._tended_at = self._last_seen_at = time.monotonic()
        self._job = _open_job(source, directory / _PARTS)

    def start(self) -> None:
        """Wait for a first worker, and admit all there are.

        Raises
        ------
        UsageError
            There is no worker, or a worker or the scheduler cannot take part.
        """
        try:
            self._client.run_on_scheduler(repr, self._job)  # it reads the tasks that it passes on
        except Exception as error:
            raise UsageError(_unable("scheduler", self._client.scheduler.address, error)) from error
        try:
            self._client.wait_for_workers(1, timeout=_CONNECT_S)
        except TimeoutError as error:
            raise UsageError(
                f"the Dask cluster at {self._client.scheduler.address} has no worker; start some with `dask worker`"
            ) from error
        self._admit(self._workers(), needed=True)

    def certify(self) -> list[CertifiedBatch]:
        """Prepare and certify every batch."""
        found = self._stage("certifying prior weights", cluster_worker.certify_part, lambda batch: ())
        self._certified = list(cast(Iterator[Certified], found))
        return [certified.batch for certified in self._certified]

    def jobs(self, key: SecretKey) -> Iterator[Columns]:
        """Draw every batch: columns of `jobs`, in the order of the batches."""
        self._key = key
        self._give_key(self._workers(), needed=False)  # a worker that misses it here asks for it
        used = np.zeros(self._n_blocks, dtype=np.bool_)
        done = self._stage(
            "drawing synthetic workers",
            cluster_worker.draw_part,
            # The rest of it is for the certificate, and under the paper accountant large.
            lambda batch: (_without_rows(self._certified[batch]),),
        )
        for batch, _ in enumerate(done):
            rows, n_edited_out = read_part(self._job.jobs_part(batch))
            self.n_edited_out += n_edited_out
            used[rows["origin_index"]] = True
            used[rows["destination_index"]] = True
            yield rows
        write_part(self._job.parts / USED, {"used": used})

    def points(self, key: SecretKey) -> Iterator[Columns]:
        """Draw the points of every batch, after `jobs`: columns of `points`, in the order of the batches."""
        self._key = key
        done = self._stage("drawing points", cluster_worker.place_part, lambda batch: ())
        for batch, _ in enumerate(done):
            file = self._job.points_part(batch)
            rows, _ = read_part(file)
            file.unlink()
            yield rows

    def finish(self) -> None:
        """Stop what still runs, have the workers forget the run, and remove all parts.

        Best effort, never raises, and takes a bounded time whether or not anybody answers: a worker that does not
        forgets the run when its lease ends.
        """
        self._key = None
        if self._client.status == "running":
            futures = list(self._futures.values())
            with suppress(Exception):
                self._client.sync(
                    lambda: self._client.cancel(futures, asynchronous=True, force=True),
                    callback_timeout=_CLOSE_S,
                )
            workers = list(self._admitted)
            with suppress(Exception):
                workers = self._workers(wait_s=_CLOSE_S)
            with suppress(Exception):
                self._call(workers, cluster_worker.forget, self._job.run, wait_s=_SHORT_CALL_S)
        _remove(self._job.parts)

    def _stage(
        self, name: str, task: Callable[..., Answer], extra: Callable[[int], tuple[object, ...]]
    ) -> Iterator[object]:
        """Run one task a batch; yield their values in the order of the batches."""
        done: SimpleQueue[int] = SimpleQueue()

        def submit(batch: int) -> None:
            self._n_submitted += 1
            future = self._client.submit(
                task,
                self._job,
                batch,
                *extra(batch),
                key=f"{self._job.run}-{task.__name__}-{batch}-{self._n_submitted}",
                pure=False,
            )
            self._futures[batch] = future
            future.add_done_callback(lambda _: done.put(batch))

        self._report(name, 0, self._n_batches)
        for batch in range(self._n_batches):
            submit(batch)
        ready: dict[int, object] = {}
        n_done = 0
        for wanted in range(self._n_batches):
            while wanted not in ready:
                batch = self._next(done)
                answer = self._answer(self._futures[batch])
                del self._futures[batch]
                if answer.needs_key:
                    self._give_key([answer.worker], needed=True)
                    submit(batch)
                else:
                    ready[batch] = answer.value
                    n_done += 1
                    self._report(name, n_done, self._n_batches)
            yield ready.pop(wanted)

    def _next(self, done: SimpleQueue[int]) -> int:
        """Wait for a task."""
        while True:
            self._tend()
            with suppress(Empty):
                return done.get(timeout=LEASE_S / 8)

    def _answer(self, future: Future) -> Answer:
        """Wait for the answer of a task: no time, unless its worker was lost after it and another works it out."""
        while True:
            self._tend()
            with suppress(TimeoutError):
                return _result(future)

    def _tend(self) -> None:
        """From time to time, let the workers know that the run is alive, and look whether there are any."""
        if time.monotonic() - self._tended_at < LEASE_S / 4:
            return
        self._tended_at = time.monotonic()
        workers = self._workers()
        if workers:
            self._last_seen_at = self._tended_at
        elif self._tended_at - self._last_seen_at > _NO_WORKER_S:
            raise UsageError("all workers of the Dask cluster are gone; start some and run again")
        admitted = [worker for worker in workers if worker in self._admitted]
        self._call(admitted, cluster_worker.keep, self._job.run, wait_s=_SHORT_CALL_S)

    def _workers(self, *, wait_s: float | None = None) -> list[str]:
        """Those that the scheduler knows; it may take any time, or UsageError after `wait_s`."""
        try:
            return list(self._client.nthreads(callback_timeout=wait_s))
        except (OSError, RuntimeError) as error:
            raise UsageError(_LOST) from error

    def _admit(self, workers: Sequence[str], *, needed: bool) -> None:
        """Refuse workers that cannot take part, by name. `needed` as in `_unreached`."""
        for worker in workers:
            require_safe_address(worker, secret=self._secret)
        new = [worker for worker in workers if worker not in self._admitted]
        found = self._call(new, cluster_worker.admit, self._job, self._secret)
        for worker, refusal in found.items():
            if isinstance(refusal, Exception):
                self._unreached(worker, refusal, needed=needed)
            elif refusal:
                raise UsageError(f"worker {worker}: {refusal}")
            else:
                self._find_mark(worker)
                self._admitted.add(worker)

    def _unreached(self, worker: str, error: Exception, *, needed: bool) -> None:
        """Pass over a worker that is gone; UsageError where one is `needed`, stays, and cannot be called."""
        end = time.monotonic() + _LEAVE_S
        while needed and worker in self._workers():
            if time.monotonic() > end:
                raise UsageError(_unable("worker", worker, error)) from None
            time.sleep(0.1)

    def _find_mark(self, worker: str) -> None:
        mark = self._job.mark_of(worker)
        if not mark.exists():
            raise UsageError(
                f"worker {worker} sees another directory at {self._job.parts}; the release must be on a path that all "
                "workers share"
            )
        mark.unlink()

    def _give_key(self, workers: Sequence[str], *, needed: bool) -> None:
        """Hand the key to some workers, directly. `needed` as in `_unreached`."""
        assert self._key is not None
        self._admit(workers, needed=needed)
        admitted = [worker for worker in workers if worker in self._admitted]
        with self._key.handed_over() as parcel:
            found = self._call(admitted, cluster_worker.take_key, self._job, parcel)
        for worker, error in found.items():
            if isinstance(error, Exception):
                self._unreached(worker, error, needed=needed)

    def _call(
        self,
        workers: Sequence[str],
        function: Callable[..., object],
        *arguments: object,
        wait_s: float = _CALL_S,
    ) -> dict[str, object]:
        """Call a function on some workers, not by way of the scheduler: its result, or the error, by worker."""
        message = {"function": pickle.dumps(function), "args": pickle.dumps(arguments)}

        async def one(worker: str) -> object:
            answer = await asyncio.wait_for(self._client.rpc(worker).run(**message), wait_s)
            if answer["status"] != "OK":
                raise RuntimeError(answer.get("exception_text", answer["status"]))
            return answer["result"]

        async def all_at_once() -> list[object]:
            return await asyncio.gather(*map(one, workers), return_exceptions=True)

        try:
            # Limited here too: a call that is given up first closes its connection, and that may never end.
            found = cast(list[object], self._client.sync(all_at_once, callback_timeout=wait_s + _CLOSE_S))
        except TimeoutError as error:
            found = [error] * len(workers)
        return dict(zip(workers, found, strict=True))


@contextmanager
def cluster_runner(
    client: Client, source: SynthesisSource, directory: Path, *, secret: bool, report: Report = silent
) -> Iterator[ClusterRunner]:
    """Yield the workers of a cluster, ready; whatever happens, nothing of the run is left with them afterwards."""
    runner = ClusterRunner(client, source, directory, secret=secret, report=report)
    try:
        runner.start()
        yield runner
    finally:
        runner.finish()


_LOST: Final = "the connection to the Dask scheduler is lost; nothing was kept"


def _open_job(source: SynthesisSource, parts: Path) -> Job:
    """Leave for the workers what they share, on the shared path and for its owner alone."""
    parts.mkdir(mode=0o700)
    # Every machine uses the same numbers, whatever it would have fitted itself. The manifest holds a secret of the
    # dataset, and no batch needs more of it than the list of files.
    dataset = Path(os.path.abspath(source.store.path))
    listed = {"files": source.store.manifest["files"]}
    content = pickle.dumps(replace(source, store=replace(source.store, path=dataset, manifest=listed)))
    with os.fdopen(os.open(parts / SOURCE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(content)
    return Job(
        run=f"commutemap-{secrets.token_hex(8)}",
        dataset=dataset,
        manifest_sha256=store_digest(dataset),
        source_sha256=hashlib.sha256(content).hexdigest(),
        parts=parts,
        versions=program_versions(),
    )


def _without_rows(certified: Certified) -> Certified:
    return replace(certified, batch=replace(certified.batch, rows=[], tails=None))


def _result(future: Future) -> Answer:
    """The answer of a finished task; the errors left are Dask's own."""
    try:
        answer = future.result(timeout=LEASE_S / 8)
    except TimeoutError:
        raise
    except Exception as error:
        name = type(error).__name__
        if name == "KilledWorker":
            raise UsageError(
                "a batch was given up after several workers died of it; give workers more memory, or fewer threads"
            ) from error
        if future.cancelled() or name in ("CancelledError", "FutureCancelledError"):
            raise UsageError(_LOST) from error
        raise
    assert isinstance(answer, Answer)
    if answer.refusal:
        raise UsageError(answer.refusal)
    if answer.bug:
        raise RuntimeError(
            f"{answer.bug} on worker {answer.worker}; COMMUTEMAP_DEBUG=1 there shows the details"
        )
    return answer


def _unable(role: str, address: str, error: Exception) -> str:
    if isinstance(error, ImportError | AttributeError):
        return f"{role} {address} cannot run this program ({_reason(error)}); install the same commutemap everywhere"
    return f"{role} {address} cannot be called from here ({_reason(error)}); the run must reach all of the cluster"


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


def _remove(directory: Path) -> None:
    """Remove the parts; a task that was running may still be writing one, until the directory is gone."""
    for _ in range(50):
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return
        time.sleep(0.1)
