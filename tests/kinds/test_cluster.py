"""A run on a Dask cluster: a real scheduler and real workers, each a process of its own on the loopback address."""

from __future__ import annotations

import copy
import hashlib
import importlib.util
import json
import logging
import os
import pickle
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pytest

from engine.streams import SecretKey, Stage, stream_words
from geodata.store.manifest import MANIFEST
from geodata.store.store import open_store, sha256_of
from mapapp.base.errors import UsageError
from mapapp.kinds.cluster import worker as cluster_worker
from mapapp.kinds.cluster.connection import connect_client, require_safe_address
from mapapp.kinds.cluster.worker import Job
from mapapp.kinds.release.make.batch import Columns
from tests.commands.running import commutemap, run_here

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # longer than each wait within, which says more
needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None,
    reason="the extra 'cluster' is not installed: pip install 'commutemap[cluster]'",
)

SMALL_BATCHES = 100
WAIT_S = 240.0  # for what takes seconds on a machine that does nothing else
KNOWN_KEY = hashlib.sha256(b"a key that only this test uses").digest()

# Runs the command; stops at a stage until the test tells it to go on.
CODE = """
import json, os, signal, sys, time
# Background jobs of a shell ignore this signal, and so do the processes that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
from contextlib import contextmanager
from pathlib import Path
import mapapp.base.progress as progress
from engine.streams import SecretKey
from mapapp.kinds.base import geography
from mapapp.kinds.cluster import connection, coordinator
plan = json.loads(sys.argv[1])
directory = Path(plan["signs"])
geography._FEWEST_WORKERS = plan["batch"]
if plan["command"] == "records":
    from mapapp.kinds.records.make import runner
    runner._MOST_AT_ONCE = plan["batch"]
connection.CONNECT_S = 60.0  # on a busy machine a scheduler takes more than some seconds to answer
if "key" in plan:
    SecretKey.fresh = classmethod(lambda cls: cls._from_bytes(bytes.fromhex(plan["key"]), is_test=False))
if "wait_s" in plan:
    coordinator._SHORT_CALL_S = plan["wait_s"]
if "versions" in plan:
    real = coordinator.program_versions
    coordinator.program_versions = lambda: real() | plan["versions"]
def report(stage, done, total):
    sign = f"{stage.split()[1]}-{'last' if 0 < done == total else done}"
    if sign in plan["stops"]:
        (directory / f"at-{sign}").write_text(str(total))
        while not (directory / f"go-{sign}").exists():
            time.sleep(0.01)
@contextmanager
def shown(*, quiet=False):
    yield report
progress.show_progress = shown
from mapapp.commands.cli import main
del sys.argv[1]
main()
"""

# Asked by lines of an address and a file: writes there what Dask shows of itself; prints which runs workers still hold.
LOOK = """
import json, sys
from pathlib import Path
from distributed import Client
for line in sys.stdin:
    address, file = json.loads(line)
    with Client(address, set_as_default=False) as client:
        state = client.sync(client.scheduler.get_cluster_state, exclude=())
        Path(file).write_text(repr(state))
        held = client.run(lambda dask_worker: list(vars(dask_worker).get("commutemap_runs", {})))
        print(sorted(run for runs in held.values() for run in runs), flush=True)
"""


class Cluster:
    """A scheduler and its workers; each is ended by its own process."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self._file = directory / "scheduler.json"
        self.scheduler = self._start(
            "dask_scheduler",
            "--port",
            "0",
            "--dashboard-address",
            "127.0.0.1:0",
            "--scheduler-file",
            self._file,
        )

    @property
    def address(self) -> str:
        wait_until(self._file.exists)
        wait_until(lambda: self._file.read_text().endswith("}"))
        return str(json.loads(self._file.read_text())["address"])

    @cached_property
    def looker(self) -> subprocess.Popen[str]:
        """The process that asks Dask what it shows; one for all looks, because it takes a second to start."""
        return subprocess.Popen(
            [sys.executable, "-c", LOOK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def add_worker(self) -> None:
        """Start one, and wait until it takes part."""
        name = f"worker-{len(self.workers)}"
        options = ("--no-nanny", "--nthreads", "1", "--local-directory", self.directory / name)
        self.workers.append(
            self._start(
                "dask_worker", "--scheduler-file", self._file, "--dashboard-address", "127.0.0.1:0", *options
            )
        )
        log = self.directory / f"dask_worker-{len(self.processes) - 1}.log"
        wait_until(lambda: "Registered to:" in log.read_text())

    def stop(self) -> None:
        if "looker" in vars(self):
            self.looker.kill()
            self.looker.communicate()
        for process in self.processes:
            process.kill()
        for process in self.processes:
            kill(process)

    def _start(self, program: str, *options: object) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            f"distributed.cli.{program}",
            "--host",
            "127.0.0.1",
            "--no-dashboard",
        ]
        with (self.directory / f"{program}-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen([*command, *map(str, options)], stdout=log, stderr=subprocess.STDOUT)
        self.processes.append(process)
        return process


@contextmanager
def two_workers(directory: Path) -> Iterator[Cluster]:
    """A cluster of two workers, which is stopped afterwards."""
    started = Cluster(directory)
    try:
        started.add_worker()
        started.add_worker()
        yield started
    finally:
        started.stop()


def kill(process: subprocess.Popen[Any]) -> None:
    """End one process, without a chance to say goodbye."""
    process.kill()
    process.wait(WAIT_S)


class Running:
    """A `synthesize`, or `records`, that stops where it is asked to."""

    def __init__(
        self,
        dataset: Path,
        release: Path,
        address: str,
        *options: str,
        command: str = "synthesize",
        **plan: Any,
    ) -> None:
        self.signs = release.parent / f"signs-{release.name}"
        self.signs.mkdir()
        plan = {"signs": str(self.signs), "batch": SMALL_BATCHES, "stops": [], "command": command, **plan}
        arguments = [command, str(dataset), str(release), "--scheduler", address, "-q", *options]
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-c", CODE, json.dumps(plan), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_at(self, sign: str, meanwhile: Callable[[], object] = lambda: None) -> int:
        """Wait until the command stops at a sign; return the total number of batches."""

        def there() -> bool:
            meanwhile()
            assert self.process.poll() is None, self.process.stderr and self.process.stderr.read()
            return bool((self.signs / f"at-{sign}").exists() and (self.signs / f"at-{sign}").read_text())

        try:
            wait_until(there)
        except TimeoutError:
            self.fail()
        return int((self.signs / f"at-{sign}").read_text())

    def go_on(self, sign: str) -> None:
        (self.signs / f"go-{sign}").touch()

    def interrupt(self) -> None:
        """What ctrl-C does."""
        self.process.send_signal(signal.SIGINT)

    def end(self) -> tuple[int, str]:
        try:
            _, errors = self.process.communicate(timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            self.fail()
        return self.process.returncode, errors

    def fail(self) -> NoReturn:
        """Show the stack of every thread."""
        self.process.send_signal(signal.SIGABRT)
        _, errors = self.process.communicate(timeout=WAIT_S)
        pytest.fail(f"the run took too long:\n{errors}")


Start = Callable[..., Running]


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError("waited too long")
        time.sleep(0.03)


def files_of(release: Path) -> dict[str, str]:
    return {file.name: sha256_of(file) for file in release.iterdir()}


def nothing_left(dataset: Path) -> None:
    left = {entry.name for entry in dataset.parent.iterdir() if not entry.name.startswith("signs-")}
    assert left == {dataset.name}


def look(cluster_: Cluster, file: Path) -> str:
    """Write Dask's dump of its whole state; return the runs that workers still hold."""
    asked, answered = cluster_.looker.stdin, cluster_.looker.stdout
    assert asked
    assert answered
    asked.write(json.dumps([cluster_.address, str(file)]) + "\n")
    asked.flush()
    ready, _, _ = select.select([answered], [], [], WAIT_S)
    assert ready, "Dask shows nothing of itself"
    answer = answered.readline().strip()
    assert answer.startswith("["), "the process that looks has ended"
    return answer


OPTIONS = [
    "--test-key",
    "--mechanism",
    "exponential",
    "--epsilon-final",
    "6",
    "--far-state-miles",
    "100",
    "--clean",
]


@pytest.fixture(scope="module")
def local_files(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Digests of the release that this machine makes alone, of the same dataset with the same options."""
    path = tmp_path_factory.mktemp("local")
    dataset = Path(shutil.copytree(demo_dataset, path / "d"))
    assert run_here("synthesize", dataset, path / "r", *OPTIONS).code == 0
    return files_of(path / "r")


@pytest.fixture(scope="module")
def running_cluster(
    tmp_path_factory: pytest.TempPathFactory, local_files: dict[str, str]
) -> Iterator[Cluster]:
    """Two workers; after the local run, so that they find every kernel compiled."""
    with two_workers(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture
def dataset(demo_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path / "d"))


@pytest.fixture
def start(dataset: Path) -> Iterator[Start]:
    """Start a `synthesize` of the dataset to `r` beside it; it has ended when the test has, however that went."""
    started: list[Running] = []

    def start_one(address: str, *options: str, **plan: Any) -> Running:
        started.append(Running(dataset, dataset.parent / "r", address, *options, **plan))
        return started[-1]

    yield start_one
    for running in started:
        running.process.kill()
        running.process.communicate()


@needs_dask
def test_the_key_is_nowhere_but_in_memory(running_cluster: Cluster, dataset: Path, start: Start) -> None:
    """Not in a file of the workers or of the shared path, nor in a log, nor in what Dask shows of its state."""
    signs: tuple[bytes, ...] = (KNOWN_KEY, KNOWN_KEY.hex().encode(), KNOWN_KEY[:16], KNOWN_KEY[16:])
    signs += tuple(repr(KNOWN_KEY[start : start + 8])[2:-1].encode() for start in range(0, 32, 8))
    signs += (
        ", ".join(map(str, KNOWN_KEY[:6])).encode(),
        str(int.from_bytes(KNOWN_KEY[:4], "little")).encode(),
    )
    seen: set[str] = set()
    states: dict[Path, tuple[int, ...]] = {}

    def search(*, all_files: bool = True) -> list[Path]:
        """Files with the key: of all, or of those that changed since the last search."""
        found = []
        for root in (dataset.parent, running_cluster.directory):
            for file in root.rglob("*"):
                try:
                    facts = file.stat()
                    state = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
                    if states.get(file) == state and not all_files:
                        continue
                    content = file.read_bytes() if file.is_file() else b""
                except FileNotFoundError:
                    continue  # a part came and went
                states[file] = state
                seen.add(file.name)
                found += [file] if any(sign in content for sign in signs) else []
        return found

    control = dataset.parent / "control"
    control.write_bytes(b"..." + KNOWN_KEY + b"...")
    assert search() == [control], "the search finds what is there"
    control.unlink()

    release = dataset.parent / "r"
    stops = ["synthetic-1", "points-2"]
    running = start(running_cluster.address, key=KNOWN_KEY.hex(), stops=stops)
    found: list[Path] = []

    def search_on() -> None:
        found.extend(search(all_files=False))

    for sign in stops:
        running.wait_at(sign, meanwhile=search_on)
        assert look(running_cluster, running_cluster.directory / f"during-{sign}") != "[]"
        (parts,) = dataset.parent.glob(".r.partial-*/parts")
        assert parts.stat().st_mode & 0o777 == 0o700
        assert {file.stat().st_mode & 0o777 for file in parts.iterdir()} <= {0o600}
        found += search()
        running.go_on(sign)
    code, errors = running.end()
    assert code == 0, errors
    assert look(running_cluster, running_cluster.directory / "after") == "[]", (
        "workers have forgotten the run"
    )
    found += search()
    assert not found
    assert {"source.pickle", "during-points-2", "dask_worker-1.log"} <= seen
    assert any(name.endswith("-jobs-000000.parquet") for name in seen)
    assert open_store(release, "release").document("certificate.json")["status"] == "for release"


@needs_dask
def test_a_cluster_draws_the_units_that_one_machine_draws(
    running_cluster: Cluster, demo_dataset: Path, dataset: Path, tmp_path: Path, start: Start
) -> None:
    options = ("--mechanism", "exponential", "--unit", "tract", "--test-key")
    alone = shutil.copytree(demo_dataset, tmp_path / "one")
    assert run_here("synthesize", alone, tmp_path / "local", "-q", *options).code == 0
    assert start(running_cluster.address, *options).end() == (0, "")
    assert files_of(dataset.parent / "r") == files_of(tmp_path / "local")


@needs_dask
def test_another_version_is_refused(running_cluster: Cluster, dataset: Path, start: Start) -> None:
    code, errors = start(running_cluster.address, "--test-key", versions={"numba": "0.1"}).end()
    assert code == 2
    (line,) = errors.splitlines()
    assert "it has numba" in line
    assert "the run has 0.1; install the same versions" in line
    nothing_left(dataset)
    assert not (dataset / "ledger.jsonl").exists(), "nothing was drawn, nothing is spent"


def assert_stopped(running: Running) -> None:
    code, errors = running.end()
    assert (code, errors.strip()) == (130, "commutemap: stopped; nothing was kept")


@needs_dask
@pytest.mark.parametrize("stage", ["prior-0", "synthetic-1", "points-2"])
def test_stopping_leaves_nothing(running_cluster: Cluster, dataset: Path, start: Start, stage: str) -> None:
    running = start(running_cluster.address, "--test-key", stops=[stage])
    running.wait_at(stage)
    running.interrupt()
    assert_stopped(running)
    nothing_left(dataset)
    assert look(running_cluster, running_cluster.directory / "stopped") == "[]"


@needs_dask
def test_stopping_again_and_again_leaves_nothing(
    running_cluster: Cluster, dataset: Path, start: Start
) -> None:
    """A second interrupt does not cut the cleaning up short."""
    running = start(running_cluster.address, "--test-key", stops=["synthetic-1"])
    running.wait_at("synthetic-1")

    def has_ended() -> bool:
        running.interrupt()
        return running.process.poll() is not None

    wait_until(has_ended)
    assert_stopped(running)
    nothing_left(dataset)
    assert look(running_cluster, running_cluster.directory / "stopped-again") == "[]"


@needs_dask
def test_stopping_does_not_wait_for_who_does_not_answer(
    dataset: Path, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        own.add_worker()
        running = start(own.address, "--test-key", stops=["synthetic-1"], wait_s=0.5)
        running.wait_at("synthetic-1")
        for process in own.processes:
            process.send_signal(signal.SIGSTOP)
        running.interrupt()
        assert_stopped(running)
    finally:
        own.stop()
    nothing_left(dataset)


@needs_dask
def test_lost_and_new_workers_change_nothing(
    running_cluster: Cluster, dataset: Path, start: Start, local_files: dict[str, str]
) -> None:
    """One worker is killed just before it is given the key, then the other, and a late one does the rest."""
    release = dataset.parent / "r"
    stops = ["prior-last", "synthetic-1", "synthetic-4"]
    running = start(running_cluster.address, *OPTIONS, stops=stops)
    assert running.wait_at("prior-last") > 8
    kill(running_cluster.workers[0])
    running.go_on("prior-last")
    running.wait_at("synthetic-1")
    running_cluster.add_worker()
    running.go_on("synthetic-1")
    running.wait_at("synthetic-4")
    kill(running_cluster.workers[1])
    running.go_on("synthetic-4")
    assert running.end() == (0, "")
    assert files_of(release) == local_files


@needs_dask
def test_a_lost_scheduler_ends_the_run(
    dataset: Path, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        own.add_worker()
        running = start(own.address, "--test-key", stops=["synthetic-1"])
        running.wait_at("synthetic-1")
        kill(own.scheduler)
        running.go_on("synthetic-1")
        code, errors = running.end()
    finally:
        own.stop()
    assert (code, errors.strip()) == (
        2,
        "commutemap: the connection to the Dask scheduler is lost; nothing was kept",
    )
    nothing_left(dataset)


@needs_dask
def test_an_address_where_nobody_answers(dataset: Path) -> None:
    done = commutemap(
        "synthesize", dataset, dataset.parent / "r", "--test-key", "--scheduler", "tcp://127.0.0.1:9"
    )
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert "tcp://127.0.0.1:9: no Dask scheduler answers there" in line
    nothing_left(dataset)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(UsageError, match=r"pip install 'commutemap\[cluster\]'"),
        connect_client("127.0.0.1:8786", secret=False),
    ):
        pass


def test_a_local_run_does_not_import_dask() -> None:
    loaded = "mapapp.kinds.release.make.run, mapapp.commands.cli"
    code = f"import sys, {loaded}; print({{'distributed', 'dask'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    "address",
    ["tls://10.0.0.5:8786", "127.0.0.1:8786", "tcp://127.0.0.9:1", "tcp://[::1]:1"],
)
def test_where_a_key_may_go(address: str) -> None:
    require_safe_address(address, secret=True)


@pytest.mark.parametrize("address", ["tcp://10.0.0.5:8786", "scheduler:8786", "tcp://0.0.0.0:1"])
def test_where_a_key_may_not_go(address: str) -> None:
    with pytest.raises(UsageError, match="tls:// or within one machine only"):
        require_safe_address(address, secret=True)
    require_safe_address(address, secret=False)


@pytest.mark.parametrize(
    "address", ["", "scheduler", "ws://10.0.0.5:1", "tcp://x:port", "tls://x", "tcp://[:1"]
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(UsageError, match="not an address"):
        require_safe_address(address, secret=False)


def test_a_key_travels_only_in_an_open_parcel() -> None:
    key = SecretKey._from_bytes(KNOWN_KEY, is_test=False)
    with key.hand_over() as parcel:
        assert repr(parcel) == "KeyParcel(hidden)"
        arrived = pickle.loads(pickle.dumps(parcel))
    assert isinstance(arrived, SecretKey)
    assert repr(arrived) == "SecretKey(hidden)"
    assert not arrived.is_test
    own, its = (
        stream_words(k, Stage.POINT, np.array([5]), np.array([1]), np.array([9]))[1] for k in (key, arrived)
    )
    assert np.array_equal(own, its)
    for closed in (parcel, key, arrived):
        with pytest.raises(TypeError):
            pickle.dumps(closed)
        with pytest.raises(TypeError):
            copy.deepcopy(closed)


@pytest.fixture
def job(demo_dataset: Path, tmp_path: Path) -> Job:
    return Job(
        run="r",
        dataset=demo_dataset,
        manifest_sha256=sha256_of(demo_dataset / MANIFEST),
        source_sha256="",
        parts=tmp_path,
        versions=cluster_worker.program_versions(),
    )


def test_a_worker_that_would_log_the_key_is_not_given_it(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    worker: Any = SimpleNamespace(address="tcp://127.0.0.1:1")
    with caplog.at_level(logging.INFO, "distributed.core"):
        assert cluster_worker.admit(job, True, worker) == ""
    assert job.mark_of(worker.address).exists()
    with caplog.at_level(logging.DEBUG, "distributed.core"):
        assert "set to DEBUG" in cluster_worker.admit(job, True, worker)
        assert cluster_worker.admit(job, False, worker) == ""


def test_a_worker_with_another_dataset_is_refused(job: Job, tmp_path: Path) -> None:
    worker: Any = SimpleNamespace(address="tcp://127.0.0.1:1")
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(job.dataset / MANIFEST, tmp_path / "elsewhere")
    with (tmp_path / "elsewhere" / MANIFEST).open("a") as manifest:
        manifest.write("\n")
    for dataset, said in (
        ("elsewhere", "another dataset is at"),
        ("nowhere", "on a path that all workers share"),
    ):
        changed = Job(
            **{name: getattr(job, name) for name in Job.__slots__} | {"dataset": tmp_path / dataset}
        )
        assert said in cluster_worker.admit(changed, False, worker)


def test_a_worker_forgets_a_run_that_it_hears_nothing_of(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    worker: Any = SimpleNamespace()
    monkeypatch.setattr(cluster_worker, "LEASE_S", 60.0)
    cluster_worker.take_key(job, SecretKey.for_tests(), worker)
    held = worker.commutemap_runs["r"]
    assert held.key is not None
    monkeypatch.setattr(cluster_worker, "LEASE_S", 0.05)
    cluster_worker.keep("r", worker)
    wait_until(lambda: held.key is None)
    assert worker.commutemap_runs == {}
    cluster_worker.keep("r", worker)
    assert worker.commutemap_runs == {}, "news of a forgotten run does not bring it back"
    cluster_worker.take_key(job, SecretKey.for_tests(), worker)
    assert worker.commutemap_runs["r"].key is not None, "but it can be given the key again"


def test_a_late_task_does_not_bring_a_finished_run_back(job: Job) -> None:
    worker: Any = SimpleNamespace()
    cluster_worker.take_key(job, SecretKey.for_tests(), worker)
    held = worker.commutemap_runs["r"]
    cluster_worker.forget("r", worker)
    assert held.key is None
    with pytest.raises(UsageError, match="the run is over"):
        cluster_worker.take_key(job, SecretKey.for_tests(), worker)
    assert worker.commutemap_runs == {}


def test_a_part_is_whole_or_not_there(tmp_path: Path) -> None:
    file = tmp_path / "part.parquet"
    columns: Columns = {
        "a": np.arange(5, dtype=np.int32),
        "b": np.array([1, np.nan, 3, 4, 5], dtype=np.float32),
    }
    assert cluster_worker.write_part(file, columns) == 5
    found = cluster_worker.read_part(file)
    assert all(np.array_equal(found[name], columns[name], equal_nan=True) for name in columns)
    assert all(found[name].dtype == columns[name].dtype for name in columns)
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileNotFoundError):
        cluster_worker.write_part(tmp_path / "gone" / "part.parquet", columns)
    assert os.listdir(tmp_path) == ["part.parquet"]


def test_a_late_task_of_an_earlier_run_leaves_the_parts_of_this_one_alone(job: Job) -> None:
    """A killed run may have had the same directory: same RELEASE, same process number, as in a container."""
    earlier = Job(**{name: getattr(job, name) for name in Job.__slots__} | {"run": "earlier"})
    for place in (Job.jobs_part, Job.points_part):
        cluster_worker.write_part(place(job, 3), {"a": np.array([1])})
        cluster_worker.write_part(place(earlier, 3), {"a": np.array([2])})
        assert cluster_worker.read_part(place(job, 3))["a"].tolist() == [1]


def test_a_worker_is_known_by_the_program_that_it_began_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is installed while it runs does not change what it computes."""
    began_with = cluster_worker.program_versions()
    monkeypatch.setattr(Path, "read_bytes", lambda file: b"the next version")
    monkeypatch.setattr(cluster_worker, "version", lambda name: "9")
    assert cluster_worker.program_versions() == began_with
