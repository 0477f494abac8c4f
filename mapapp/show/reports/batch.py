"""Writes many reports into one folder, in several processes, and resumes an interrupted run.

Each report is written to a temporary file and renamed when complete. `reports.json` records the inputs of every file,
so that a complete file from the same inputs is not made again.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import importlib.metadata
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Final, Generic, TypeVar
from urllib.parse import quote

from markupsafe import Markup

from geodata.errors import GeodataError
from geodata.store.atomic_writes import (
    claim_place,
    keep_place,
    name_failed_place,
    name_of_partial,
    partial_name,
)
from geodata.store.store import refuse_within_store
from mapapp.answers.release import Release, open_releases
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report as Progress
from mapapp.base.progress import silent
from mapapp.show.exports.provenance import Provenance
from mapapp.show.reports import DRAWN, Form, build, write
from mapapp.show.reports.batch_file import Job
from mapapp.show.reports.html import write_page

# The index page of a folder of reports.

_INDEX_MARKER: Final = '<p class="kind">CommuteMap reports</p>'
Row = tuple[str, str, Sequence[tuple[str, str]]]


def index_page(releases: Sequence[str], rows: Sequence[Row]) -> bytes:
    """Return a page with a row for each report: its name, its answer in a sentence, and (form, file) of its files."""
    page = BytesIO()
    write_page(
        page,
        "batch_index.html",
        title=f"Reports on {', '.join(releases)}",
        marker=Markup(_INDEX_MARKER),
        forms=list(dict.fromkeys(form for *_, files in rows for form, _ in files)),
        rows=[(name, words, {form: quote(file) for form, file in files}) for name, words, files in rows],
    )
    return page.getvalue()


def is_index(file: Path) -> bool:
    """Whether a file is such a page."""
    try:
        return _INDEX_MARKER.encode() in file.read_bytes()
    except OSError:
        return False


# Work in several processes, which Ctrl-C, an error or a kill ends together without leftovers.

Task = TypeVar("Task")
Done = TypeVar("Done")


def each_done(work: Callable[[Task], Done], tasks: Sequence[Task], *, workers: int) -> Iterator[Done]:
    """Yield the result of `work` for each task as it finishes.

    Parameters
    ----------
    work : callable
        Must be picklable if there are several workers; each process uses one copy for all its tasks.
    tasks : sequence
    workers : int
        Number of processes. This process is one of them, since another one first imports what this one has.

    Raises
    ------
    UsageError, GeodataError
        Errors raised by `work`; they stop the other tasks.
    """
    workers = min(workers, len(tasks))
    if workers <= 1:
        yield from map(work, tasks)
        return
    crew = [_Worker(work) for _ in range(workers - 1)]
    try:
        waiting = list(reversed(tasks))
        _hand_out(waiting, crew)
        while waiting or any(member.n_owed for member in crew):
            if waiting:
                yield work(waiting.pop())
            busy = {member.pipe: member for member in crew if member.n_owed}
            for pipe in wait(list(busy), timeout=0 if waiting else None):
                done = busy[pipe].take()  # type: ignore[index]  # wait() is typed to return sockets, too
                _hand_out(waiting, crew)
                yield done
    finally:
        for member in crew:
            member.stop()


def _hand_out(waiting: list[Task], crew: Sequence[_Worker[Task, Done]]) -> None:
    """Give every process a task, and one ahead while there are many, as results are taken only between own tasks."""
    for n_ahead in (1, 2):
        for member in crew:
            if member.n_owed < n_ahead <= len(waiting):
                member.give(waiting.pop())


class _Worker(Generic[Task, Done]):
    """One worker process."""

    def __init__(self, work: Callable[[Task], Done]) -> None:
        context = multiprocessing.get_context("spawn")  # library threads do not survive a fork
        self.n_owed = 0
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(work, theirs), daemon=True)
        # Only the waiting process handles Ctrl-C; a child process inherits this signal mask.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def give(self, task: Task) -> None:
        """Send a task to the process."""
        self.pipe.send(task)
        self.n_owed += 1

    def take(self) -> Done:
        """Return the result of the process."""
        try:
            failed, outcome = self.pipe.recv()
        except (EOFError, ConnectionError):
            raise UsageError(
                "a worker process was killed, perhaps for lack of memory; run again with fewer --workers to continue"
            ) from None
        self.n_owed -= 1
        if failed:
            raise outcome
        done: Done = outcome
        return done

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.pipe.close()
        self._process.terminate()
        self._process.join()


def _serve(work: Callable[..., object], pipe: Connection) -> None:
    """Work on tasks until the pipe is closed."""
    with suppress(EOFError, ConnectionError):
        while True:
            pipe.send(_try_task(work, pipe.recv()))


def _try_task(work: Callable[..., object], task: object) -> tuple[bool, object]:
    """Whether the task failed, and its result or error."""
    try:
        return False, work(task)
    except (UsageError, GeodataError, OSError, MemoryError) as error:
        return True, error
    except Exception as error:  # a bug, which the waiting process reports as one
        return True, RuntimeError(repr(error))


MANIFEST: Final = "reports.json"
_MARKER: Final = ("reports", 1)
"""Header of the list, with its subject and version, so that no other program's file is mistaken for one."""

INDEX: Final = "index.html"
LAYOUT: Final = 5
"""Version of the report format; changes whenever the same question gives different bytes."""


@dataclass(frozen=True, slots=True)
class Made:
    """A file of a batch, as listed in `reports.json`."""

    inputs: str
    sha256: str
    bytes: int
    title: str
    sentence: str


_PLANNED: Final = Made("", "", 0, "", "")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Numbers of files that a batch made and that already existed."""

    n_made: int
    n_kept: int


@dataclass(frozen=True, slots=True)
class _Task:
    """The missing files of one report: name and input digest, by format."""

    job: Job
    files: dict[Form, tuple[str, str]]


def make_batch(
    paths: Sequence[Path],
    releases: Sequence[Release],
    jobs: Sequence[Job],
    folder: Path,
    *,
    date: datetime.date | None = None,
    workers: int = 1,
    progress: Progress = silent,
) -> Outcome:
    """Make the missing reports of a batch, and an index of all of them.

    Parameters
    ----------
    paths, releases : sequences of Path and of Release
        The same releases; worker processes open their own copies by path.
    jobs : sequence of Job
    folder : Path
        Created if missing; refused if it holds other files.
    date : date, optional
        Date printed on the reports.
    workers : int
        Number of processes, of which this one is the first; the others open the releases for themselves.
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    UsageError
        If the folder cannot be written, or holds other files.
    StoreError
        If another run is writing to the folder, or the folder is inside a dataset or release.
    """
    refuse_within_store(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; choose a writable folder") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{folder}: not writable; choose another folder")
    with name_failed_place(folder), claim_place(folder):
        made = _read_manifest(folder)
        try:
            return _make_missing(
                paths, releases, jobs, folder, made, date=date, workers=workers, progress=progress
            )
        finally:
            _remove_half_written(folder)


def _make_missing(
    paths: Sequence[Path],
    releases: Sequence[Release],
    jobs: Sequence[Job],
    folder: Path,
    made: dict[str, Made],
    *,
    date: datetime.date | None,
    workers: int,
    progress: Progress,
) -> Outcome:
    """Make the missing files, and record them in `made` and in the folder's list."""
    digests = [Provenance.of(release.store).release_sha256 for release in releases]
    if os.path.lexists(folder / INDEX) and not is_index(folder / INDEX):
        raise _foreign(folder / INDEX)
    tasks, n_kept = [], 0
    for job in jobs:
        files = {form: (f"{job.stem}.{form}", _inputs(job, form, digests, date)) for form in job.forms}
        missing = {form: file for form, file in files.items() if not _is_there(folder, *file, made)}
        n_kept += len(files) - len(missing)
        for name, _ in missing.values():
            if name not in made and os.path.lexists(folder / name):
                raise _foreign(folder / name)
        if missing:
            tasks.append(_Task(job, missing))
    # Recorded first: a file that a killed run leaves without a checksum is ours, and we make it again.
    made |= {name: made.get(name, _PLANNED) for task in tasks for name, _ in task.files.values()}
    _replace(folder / MANIFEST, _manifest(made))
    progress("making reports", 0, len(tasks))
    maker = _Maker(tuple(paths), folder, date, list(releases))
    done = each_done(maker, tasks, workers=workers)
    for number, records in enumerate(done, 1):
        made |= records
        _replace(folder / MANIFEST, _manifest(made))
        for name in records:
            keep_place(folder / name)
        progress("making reports", number, len(tasks))
    _replace(folder / INDEX, _index(releases, jobs, made))
    return Outcome(sum(len(task.files) for task in tasks), n_kept)


class _Maker:
    """Makes reports in one process; a copy sent to another process opens the releases for itself."""

    def __init__(
        self,
        paths: tuple[Path, ...],
        folder: Path,
        date: datetime.date | None,
        releases: list[Release] | None,
    ) -> None:
        self._paths = paths
        self._folder = folder
        self._date = date
        self._releases = releases

    def __reduce__(self) -> tuple[type[_Maker], tuple[tuple[Path, ...], Path, datetime.date | None, None]]:
        return _Maker, (self._paths, self._folder, self._date, None)

    def __call__(self, task: _Task) -> dict[str, Made]:
        """Write the files of one report and return their records."""
        if self._releases is None:
            self._releases = list(open_releases(list(self._paths)).values())
        job = task.job
        report = build(
            self._releases,
            job.parts,
            date=self._date,
            error_rows=job.error_rows,
            rows=job.rows,
            pictures=any(form in DRAWN for form in task.files),
            mornings="html" in task.files,
        )
        records = {}
        for form, (name, inputs) in task.files.items():
            stream = BytesIO()
            write(report, form, stream, paper=job.paper)
            content = stream.getvalue()
            _replace(self._folder / name, content)
            records[name] = Made(
                inputs, _sha256(content), len(content), report.title, report.answers[0].sentence
            )
        return records


def _read_manifest(folder: Path) -> dict[str, Made]:
    """Records of an earlier run in a folder; UsageError if the folder does not belong to a batch."""
    manifest = folder / MANIFEST
    if not manifest.exists():
        # A run that was killed at its start leaves an incomplete list and nothing else.
        if any(name_of_partial(entry) != MANIFEST for entry in folder.iterdir()):
            raise UsageError(f"{folder}: contains other files; choose a new or empty folder")
        return {}
    try:
        document = json.loads(manifest.read_text(encoding="utf-8"))
        if (document["commutemap"], document["version"]) != _MARKER:
            raise ValueError("not a list of reports")
        return {name: Made(**fields) for name, fields in document["files"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise UsageError(f"{manifest}: not a readable list of reports; choose another folder") from None


def _foreign(file: Path) -> UsageError:
    return UsageError(f"{file}: already exists and was not made by a batch; choose another folder")


def _remove_half_written(folder: Path) -> None:
    """Remove incomplete files of a stopped run from a folder that holds the list of a batch."""
    with suppress(UsageError):
        ours = {MANIFEST, INDEX, *_read_manifest(folder)}
        for entry in folder.iterdir():
            if name_of_partial(entry) in ours and entry.is_file() and not entry.is_symlink():
                entry.unlink(missing_ok=True)


def _inputs(job: Job, form: Form, digests: Sequence[str], date: datetime.date | None) -> str:
    """SHA-256 of all inputs of a file."""
    parts = {
        "layout": LAYOUT,
        "program": importlib.metadata.version("commutemap"),
        "releases": list(digests),
        "parts": [dataclasses.asdict(part) for part in job.parts],
        "form": form,
        "paper": job.paper if form == "pdf" else "",
        "errors": job.error_rows,
        "rows": job.rows if form in DRAWN else None,
        "date": None if date is None else date.isoformat(),
    }
    return _sha256(json.dumps(parts, sort_keys=True).encode())


def _is_there(folder: Path, name: str, inputs: str, made: dict[str, Made]) -> bool:
    before = made.get(name)
    if before is None or before.inputs != inputs:
        return False
    try:
        return _sha256((folder / name).read_bytes()) == before.sha256
    except OSError:
        return False


def _manifest(made: dict[str, Made]) -> bytes:
    files = {name: dataclasses.asdict(made[name]) for name in sorted(made)}
    document = {"commutemap": _MARKER[0], "version": _MARKER[1], "files": files}
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def _index(releases: Sequence[Release], jobs: Sequence[Job], made: dict[str, Made]) -> bytes:
    rows = []
    for job in jobs:
        files = [(form, f"{job.stem}.{form}") for form in job.forms]
        rows.append((job.name, made[files[0][1]].sentence, files))
    return index_page([release.title for release in releases], rows)


def _replace(path: Path, content: bytes) -> None:
    """Write a file completely, or leave the old one unchanged."""
    partial = partial_name(path)
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
