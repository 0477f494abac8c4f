"""A run whose tasks are done by an existing Dask cluster: what the run itself does.

Through the scheduler go public facts only: names, paths, certified weights. Rows go from worker to run as Parquet files
on the shared path. The key goes straight to each worker, which holds it in memory
(`mapapp.kinds.cluster.worker`). A worker that is new or was restarted asks for the key.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import pickle
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, TypeVar, cast

from engine.streams import SecretKey
from geodata.store.private_files import write_private
from geodata.store.store import Store, store_digest
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.private_files import PARTS
from mapapp.kinds.cluster import connection
from mapapp.kinds.cluster import worker as cluster_worker
from mapapp.kinds.cluster.connection import CLOSE_S, reason_of, require_safe_address
from mapapp.kinds.cluster.dask_types import Client, Future
from mapapp.kinds.cluster.worker import LEASE_S, SOURCE, Answer, Job, Source, program_versions

_CALL_S: Final = 60.0  # a worker may be busy, or have to import everything first
_SHORT_CALL_S: Final = 20.0
_LEAVE_S: Final = 10.0  # the scheduler may notice later than the run that a worker is gone
_NO_WORKER_S: Final = 120.0
_SHARED_FACTS: Final = ("files", "worker_attributes", "worker_never")


class ClusterRun:
    """The workers of a Dask cluster, doing the tasks of one run.

    Parameters
    ----------
    client : distributed.Client
    dataset : Store
        The workers read the same one.
    directory : Path
        Of the release while it is written, on the shared path.
    secret : bool
        Whether the key will be a secret one.
    report : callable
        Progress.
    """

    def __init__(
        self,
        client: Client,
        dataset: Store,
        directory: Path,
        *,
        secret: bool,
        report: Report = silent,
    ) -> None:
        self._client = client
        self._secret = secret
        self._report = report
        self._key: SecretKey | None = None
        self._futures: dict[int, Future] = {}
        self._n_submitted = 0
        self._admitted: set[str] = set()
        self._tended_at = self._last_seen_at = time.monotonic()
        self._job = _open_job(dataset, directory / PARTS)

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
            self._client.wait_for_workers(1, timeout=connection.CONNECT_S)
        except TimeoutError as error:
            raise UsageError(
                f"the Dask cluster at {self._client.scheduler.address} has no worker; start some with `dask worker`"
            ) from error
        self._admit(self._workers(), needed=True)

    def share(self, source: Source) -> None:
        """Leave for the workers what all tasks are made from, on the shared path and for its owner alone."""
        # Every machine uses the same numbers, whatever it would have fitted itself. The manifest holds a secret of the
        # dataset, and no task needs more of it than these facts.
        facts = {name: fact for name, fact in source.store.manifest.items() if name in _SHARED_FACTS}
        store = replace(source.store, path=self._job.dataset, manifest=facts)
        content = pickle.dumps(replace(source, store=store))
        with write_private(self._job.parts / SOURCE) as stream:
            stream.write(content)
        self._job = replace(self._job, source_sha256=hashlib.sha256(content).hexdigest())

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
                    callback_timeout=CLOSE_S,
                )
            workers = list(self._admitted)
            with suppress(Exception):
                workers = self._workers(wait_s=CLOSE_S)
            with suppress(Exception):
                self._call(workers, cluster_worker.forget, self._job.run, wait_s=_SHORT_CALL_S)
        _remove(self._job.parts)

    def _stage(
        self, name: str, task: Callable[..., Answer], arguments: Sequence[tuple[object, ...]]
    ) -> Iterator[object]:
        """Run one task for each of some arguments; yield their values in this order."""
        done: SimpleQueue[int] = SimpleQueue()

        def submit(number: int) -> None:
            self._n_submitted += 1
            future = self._client.submit(
                task,
                self._job,
                *arguments[number],
                key=f"{self._job.run}-{task.__name__}-{number}-{self._n_submitted}",
                pure=False,
            )
            self._futures[number] = future
            future.add_done_callback(lambda _: done.put(number))

        self._report(name, 0, len(arguments))
        for number in range(len(arguments)):
            submit(number)
        ready: dict[int, object] = {}
        n_done = 0
        for wanted in range(len(arguments)):
            while wanted not in ready:
                number = self._next(done)
                answer = self._answer(self._futures[number])
                del self._futures[number]
                if answer.needs_key:
                    self._give_key([answer.worker], needed=True)
                    submit(number)
                else:
                    ready[number] = answer.value
                    n_done += 1
                    self._report(name, n_done, len(arguments))
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
        """Refuse workers that cannot take part, by name. `needed` as in `_pass_over`."""
        for worker in workers:
            require_safe_address(worker, secret=self._secret)
        new = [worker for worker in workers if worker not in self._admitted]
        refusals = self._call(new, cluster_worker.admit, self._job, self._secret)
        for worker, refusal in refusals.items():
            if isinstance(refusal, Exception):
                self._pass_over(worker, refusal, needed=needed)
            elif refusal:
                raise UsageError(f"worker {worker}: {refusal}")
            else:
                self._find_mark(worker)
                self._admitted.add(worker)

    def _pass_over(self, worker: str, error: Exception, *, needed: bool) -> None:
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
        """Hand the key to some workers, directly. `needed` as in `_pass_over`."""
        assert self._key is not None
        self._admit(workers, needed=needed)
        admitted = [worker for worker in workers if worker in self._admitted]
        with self._key.hand_over() as parcel:
            errors = self._call(admitted, cluster_worker.take_key, self._job, parcel)
        for worker, error in errors.items():
            if isinstance(error, Exception):
                self._pass_over(worker, error, needed=needed)

    def _call(
        self,
        workers: Sequence[str],
        function: Callable[..., object],
        *arguments: object,
        wait_s: float = _CALL_S,
    ) -> dict[str, object]:
        """Call a function on some workers, not by way of the scheduler: its result, or the error, by worker."""
        message = {"function": pickle.dumps(function), "args": pickle.dumps(arguments)}

        async def call_worker(worker: str) -> object:
            answer = await asyncio.wait_for(self._client.rpc(worker).run(**message), wait_s)
            if answer["status"] != "OK":
                raise RuntimeError(answer.get("exception_text", answer["status"]))
            return answer["result"]

        async def all_at_once() -> list[object]:
            return await asyncio.gather(*map(call_worker, workers), return_exceptions=True)

        try:
            # Limited here too: a call that is given up first closes its connection, and that may never end.
            answers = cast(list[object], self._client.sync(all_at_once, callback_timeout=wait_s + CLOSE_S))
        except TimeoutError as error:
            answers = [error] * len(workers)
        return dict(zip(workers, answers, strict=True))


_Run = TypeVar("_Run", bound=ClusterRun)


@contextmanager
def open_run(run: _Run) -> Iterator[_Run]:
    """Yield a run whose workers are ready; whatever happens, nothing of it is left with them afterwards."""
    try:
        run.start()
        yield run
    finally:
        run.finish()


_LOST: Final = "the connection to the Dask scheduler is lost; nothing was kept"


def _open_job(dataset: Store, parts: Path) -> Job:
    """Make a folder for the parts on the shared path, for its owner alone, and describe the run to workers."""
    parts.mkdir(mode=0o700)
    path = Path(os.path.abspath(dataset.path))
    return Job(
        run=f"commutemap-{secrets.token_hex(8)}",
        dataset=path,
        manifest_sha256=store_digest(path),
        source_sha256="",
        parts=parts,
        versions=program_versions(),
    )


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
        return f"{role} {address} cannot run this program ({reason_of(error)}); install the same commutemap everywhere"
    return f"{role} {address} cannot be called from here ({reason_of(error)}); the run must reach all of the cluster"


def _remove(directory: Path) -> None:
    """Remove the parts; a task that was running may still be writing one, until the directory is gone."""
    for _ in range(50):
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return
        time.sleep(0.1)
