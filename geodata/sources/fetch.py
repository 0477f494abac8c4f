"""Fetching the published files of state-years into a folder, each verified by its sha256.

A folder holds one state-year, for an import, or is a cache: the files of any states and years of one version of LODES,
where national files, crosswalks, and polygons are kept once for all of them.

`sources.json` in the folder lists the files: address, sha256, and whether the sha256 was published with the file or
recorded at the first download. A file that is present and unchanged is not downloaded again.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from geodata.errors import SourceFileError
from geodata.json_objects import JsonObject
from geodata.progress import Progress, silent
from geodata.sources.availability import LAST_YEAR, Availability, Unpublished, refusal_of, require_crosswalks
from geodata.sources.checksums import agrees, listed_sha256, parse_checksums
from geodata.sources.crosswalk import counties_of
from geodata.sources.downloading import NoConnection, NotThere, PartialDownload, Retry, download
from geodata.sources.sources_catalog import PLAN, Source, Wanted, base_map_sources_of, sources_of
from geodata.store.atomic_writes import claim_place, keep_place
from geodata.store.store import sha256_of

_BASE: Final = re.compile(r"^https?://([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?(/[!-~]*)?$", re.ASCII)
_LISTS: Final = ("checksums", "version")  # roles of what describes the other files of a state
_NAMES: Final = ("puma_names",)
_MOST_NAMED: Final = 12
_ONCE: Final = Retry(attempts=1)

Status = Literal["downloaded", "present", "missing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The result for one file.

    Attributes
    ----------
    file : Path
        Where it is.
    url : str
        Where it came from.
    role : str
        Its role in an import.
    year : int, optional
        Of its jobs, if it has any.
    status : {"downloaded", "present", "missing"}
        "missing" is possible only for files that an import does not need.
    sha256 : str
        Hexadecimal; empty when missing.
    n_bytes : int
        Its size.
    published : bool
        Whether the sha256 was compared with a published one, rather than only recorded.
    """

    file: Path
    url: str
    role: str
    year: int | None
    status: Status
    sha256: str
    n_bytes: int
    published: bool


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known before a fetch.

    Attributes
    ----------
    unpublished : list of Unpublished
        State-years whose files are neither in the folder nor published.
    no_connection : NoConnection, optional
        Why the server cannot be reached, if a file is missing and it cannot.
    """

    unpublished: list[Unpublished]
    no_connection: NoConnection | None = None


def look_ahead(directory: Path, wanted: Wanted) -> Outlook:
    """Find out which state-years are not published, before anything is fetched or written.

    Only state-years of which a file is missing in the folder are looked for on the server.

    Raises
    ------
    SourceFileError
        The base is not an address, or LODES has no crosswalk of a state of homes.
    """
    if wanted.base is not None and not _BASE.match(wanted.base):
        raise SourceFileError(f"base {wanted.base!r}: must be http:// or https:// and a host; correct it")
    require_crosswalks(wanted)
    missing: dict[str, dict[int, None]] = {}
    for source in sources_of(wanted):
        if source.year is not None and not (directory / source.file).is_file():
            missing.setdefault(source.state, {})[source.year] = None
    availability = Availability(wanted)
    unpublished = [
        state_year
        for state, years in missing.items()
        for state_year in availability.list_unpublished(state, years)
    ]
    return Outlook(unpublished, availability.no_connection)


def fetch(
    directory: Path,
    wanted: Wanted,
    *,
    cache: bool = False,
    outlook: Outlook | None = None,
    refresh: bool = False,
    retry: Retry | None = None,
    progress: Progress = silent,
) -> list[Fetched]:
    """Download what an import of some state-years needs.

    Each download goes to a hidden `.part` file and is renamed when verified; the next run resumes an interrupted
    one. Nothing is written outside `directory`.

    Parameters
    ----------
    directory : Path
        Created if missing.
    wanted : Wanted
        The state-years, and what to have with them.
    cache : bool
        Whether the folder holds any states and years of a version of LODES; otherwise it is for one state, year,
        version, and job type.
    outlook : Outlook, optional
        From `look_ahead` with the same arguments, or with more years.
    refresh : bool
        Whether to read the lists of checksums anew although nothing is missing, and to look again for files that
        were not there. Files that were published anew are then downloaded.
    retry : Retry, optional
        Number of attempts, and pauses between them.
    progress : callable
        Called with (stage, done, total) in bytes.

    Returns
    -------
    list of Fetched
        In the order of the catalog.

    Raises
    ------
    SourceFileError
        The message names the address or file, the error and the remedy. A file with a wrong sha256 is removed. If the
        server cannot be reached, it says which files to put where.
    StoreError
        Another run is writing into the folder.
    """
    directory = Path(directory)
    if outlook is None:
        outlook = look_ahead(directory, wanted)
        if outlook.unpublished:
            raise SourceFileError(refusal_of(outlook.unpublished))
    selection: dict[str, object] = {"lodes": wanted.lodes}
    if not cache:
        selection = {
            "state": wanted.states[0],
            "year": wanted.years[0],
            **selection,
            "job_type": wanted.job_type,
        }
    sources = sources_of(wanted)
    with _claimed_folder(directory):
        plan = _Plan.open(directory, selection, sources)
        try:
            if outlook.no_connection is not None:
                raise outlook.no_connection
            work = _Work(plan, refresh, retry or Retry(), progress)
            files = work.fetch_files(sources)
            if wanted.base_map:
                counties = counties_of([entry.file for entry in files if entry.role == "crosswalk"])
                more = base_map_sources_of(wanted, counties)
                plan.add(more)
                sources += more
                files += work.fetch_files(more)
        except NoConnection as error:
            raise SourceFileError(_where_to_put(plan, sources, error)) from error
        except NotThere as error:
            raise SourceFileError(f"{error}{_last_known(wanted)}") from error
    return files


def _last_known(wanted: Wanted) -> str:
    last = LAST_YEAR[wanted.lodes]
    return f"; the last year known to be published is {last}" if max(wanted.years) > last else ""


def _where_to_put(plan: _Plan, sources: Sequence[Source], error: NoConnection) -> str:
    """Say in one line which files to get in another way, and where to put them."""
    place, _, reason = str(error).partition(": ")
    names = [
        source.file
        for source in sources
        if source.role not in _LISTS
        and not (plan.directory / source.file).is_file()
        and not plan.files[source.file].get("absent")
    ]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return (
        f"{urlsplit(place).netloc or place}: cannot be reached ({reason.partition(';')[0]}); run again with a "
        f"network, or put these files into {plan.directory} ({PLAN} in it has their addresses): "
        f"{', '.join(names[:_MOST_NAMED])}{more}"
    )


@contextmanager
def _claimed_folder(directory: Path) -> Iterator[None]:
    """Make a folder and hold the lock on its list: two runs would append to the same partial files."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SourceFileError(
            f"{directory}: cannot be made ({error.strerror}); name another directory"
        ) from error
    with claim_place(directory / PLAN):
        yield


class _Plan:
    """The list in the directory: the files to fetch, and the sha256 of those fetched."""

    def __init__(self, directory: Path, selection: dict[str, object], files: dict[str, JsonObject]) -> None:
        self.directory = directory
        self.selection = selection
        self.files = files

    @classmethod
    def open(cls, directory: Path, selection: dict[str, object], wanted: Sequence[Source]) -> _Plan:
        """Read the list, or create it; add the files that are not yet in it."""
        plan = cls(directory, selection, _read_entries(directory / PLAN, selection))
        plan.add(wanted)
        return plan

    def add(self, wanted: Sequence[Source]) -> None:
        """Add files that are not yet in the list, and write it."""
        for source in wanted:
            entry = self.files.setdefault(source.file, {})
            if entry.get("url") not in (None, source.url):
                # What is known of another server's file does not apply to this one.
                entry.pop("validator", None)
                entry.pop("absent", None)
            entry.update(url=source.url, role=source.role)
        self.save()

    def save(self) -> None:
        """Write the list atomically."""
        file, partial = self.directory / PLAN, self.directory / f".{PLAN}.part"
        text = json.dumps(self.selection | {"files": self.files}, indent=1) + "\n"
        try:
            partial.unlink(missing_ok=True)
            partial.write_text(text, encoding="utf-8")
            os.replace(partial, file)
        except OSError as error:
            raise SourceFileError(
                f"{file}: cannot write here ({error.strerror}); make room or name another directory"
            ) from error


class _Work:
    """One run: the plan, and the lists of checksums that it has read so far."""

    def __init__(self, plan: _Plan, refresh: bool, retry: Retry, progress: Progress) -> None:
        self._plan = plan
        self._refresh = refresh
        self._retry = retry
        self._progress = progress
        self._lists: dict[str, dict[str, str]] = {}
        self._downloaded = False
        self._unreachable = False

    def fetch_files(self, sources: Sequence[Source]) -> list[Fetched]:
        """Verify the files that are present, and download the others."""
        incomplete = {
            source.state
            for source in sources
            if self._refresh
            or (source.role not in _LISTS and not (self._plan.directory / source.file).is_file())
        }
        # Lists first, as the other files are compared with them; what can be done without last.
        in_order = sorted(sources, key=lambda source: (source.role not in _LISTS, source.optional))
        fetched_by_file = {
            source.file: self._fetch_list(source, renew=source.state in incomplete)
            if source.role in _LISTS
            else self._fetch_file(source)
            for source in in_order
        }
        return [fetched_by_file[source.file] for source in sources]

    def _fetch_list(self, source: Source, *, renew: bool) -> Fetched:
        """Fetch a list, anew if files that it may describe are to be downloaded; they can do without it."""
        file, entry = self._file_of(source)
        if not renew and (file.is_file() or entry.get("absent")):
            return self._fetch_file(source)
        try:
            if renew or not self._unreachable:
                self._download(source, file, entry, retry=self._retry if renew else _ONCE)
                return self._result(source, "downloaded")
        except NotThere:
            self._note_absent(entry)
        except NoConnection:
            if renew:
                raise
            self._unreachable = True
        present = file.is_file() and self._is_current(source, file, entry)
        return self._result(source, "present" if present else "missing")

    def _fetch_file(self, source: Source) -> Fetched:
        file, entry = self._file_of(source)
        if file.is_file() and self._is_current(source, file, entry):
            return self._result(source, "present")
        if source.optional and entry.get("absent") and not self._refresh:
            return self._result(source, "missing")
        # A folder that was filled without a network may lack names. A base map is asked for, and must be complete.
        may_lack = source.role in _NAMES and not self._downloaded
        try:
            self._download(source, file, entry, retry=_ONCE if may_lack else self._retry)
        except NotThere:
            if not source.optional:
                raise
            self._note_absent(entry)
            return self._result(source, "missing")
        except NoConnection:
            if not may_lack:
                raise
            return self._result(source, "missing")
        return self._result(source, "downloaded")

    def _file_of(self, source: Source) -> tuple[Path, JsonObject]:
        return self._plan.directory / source.file, self._plan.files[source.file]

    def _note_absent(self, entry: JsonObject) -> None:
        entry["absent"] = True
        self._plan.save()

    def _result(self, source: Source, status: Status) -> Fetched:
        file, entry = self._file_of(source)
        missing = status == "missing"
        return Fetched(
            file=file,
            url=source.url,
            role=source.role,
            year=source.year,
            status=status,
            sha256="" if missing else entry["sha256"],
            n_bytes=0 if missing else file.stat().st_size,
            published="listed" in entry and not missing,
        )

    def _is_current(self, source: Source, file: Path, entry: JsonObject) -> bool:
        """Verify a file that is present; False if the list describes a later version of it."""
        sha256, listed = sha256_of(file), self._look_up_sha256(source)
        if sha256 != entry.get("sha256", sha256):
            _remove_wrong(file, source, sha256, self._plan, entry)
        if listed is not None and listed != entry.get("listed"):
            if not agrees(file, listed):
                if "sha256" not in entry:
                    # Put there by hand, or by a run that was killed before it wrote the list.
                    _remove_wrong(file, source, sha256, self._plan, entry, listed)
                return False
            entry["listed"] = listed
        entry["sha256"] = sha256
        self._plan.save()
        return True

    def _download(self, source: Source, file: Path, entry: JsonObject, *, retry: Retry) -> None:
        listed = self._look_up_sha256(source)
        recorded = None if "listed" in entry or source.role in _LISTS else entry.get("sha256")
        file.parent.mkdir(exist_ok=True)
        partial = PartialDownload(file.with_name(f".{file.name}.part"), entry.get("validator", ""))

        def note_start(now: PartialDownload) -> None:
            entry["validator"] = now.validator
            self._plan.save()

        def show_progress(done: int, total: int) -> None:
            self._progress(f"Fetching {source.file}", done, total)

        while True:
            try:
                download(source.url, partial, retry=retry, started=note_start, progress=show_progress)
            except KeyboardInterrupt:
                if partial.size:
                    keep_place(partial.path)  # the next run goes on from it
                raise
            sha256 = sha256_of(partial.path)
            if _is_expected(partial.path, sha256, listed, recorded):
                break
            if not partial.resumed:
                _check_content(partial.path, source)
                _remove_wrong(partial.path, source, sha256, self._plan, entry, listed or recorded)
            # The parts may come from two versions of the file: download it once more, from the start.
            partial.path.unlink()
        for name in ("validator", "absent", "listed"):
            entry.pop(name, None)
        _check_content(partial.path, source)
        entry["sha256"] = sha256
        if listed is not None:
            entry["listed"] = listed
        os.replace(partial.path, file)
        self._downloaded = True
        keep_place(file)
        self._plan.save()

    def _look_up_sha256(self, source: Source) -> str | None:
        """Return the sha256 that the list of the file's state states, if there is one."""
        if source.checksums is None:
            return None
        if source.checksums not in self._lists:
            place = self._plan.directory / source.checksums
            text = place.read_text(encoding="utf-8", errors="replace") if place.is_file() else ""
            self._lists[source.checksums] = parse_checksums(text)
        return listed_sha256(self._lists[source.checksums], source.file)


def _is_expected(file: Path, sha256: str, listed: str | None, recorded: str | None) -> bool:
    if listed is None:
        return recorded in (None, sha256)
    try:
        return agrees(file, listed)
    except SourceFileError:  # damaged gzip
        return False


def _remove_wrong(
    file: Path, source: Source, sha256: str, plan: _Plan, entry: JsonObject, expected: str | None = None
) -> None:
    expected = expected or str(entry["sha256"])
    file.unlink()
    for name in ("sha256", "listed", "validator"):
        entry.pop(name, None)
    plan.save()
    raise SourceFileError(
        f"{plan.directory / source.file}: its sha256 is {sha256[:12]}…, expected {expected[:12]}…; "
        f"it was removed; run again to fetch it from {source.url}"
    )


def _check_content(file: Path, source: Source) -> None:
    """Remove a file whose content does not match its name, such as a web page or half an archive."""
    with file.open("rb") as stream:
        start = stream.read(512)
    name, wrong = source.file.lower(), ""
    if not start:
        wrong = "nothing"
    elif start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        wrong = "a web page"
    elif name.endswith(".zip") and not zipfile.is_zipfile(file):
        wrong = "not a whole zip file"
    elif name.endswith(".gz") and not start.startswith(b"\x1f\x8b"):
        wrong = "not a gzip file"
    if wrong:
        file.unlink()
        raise SourceFileError(
            f"{source.url}: the server sent {wrong} instead of {source.file}; it was removed; run again later"
        )


def _read_entries(file: Path, selection: dict[str, object]) -> dict[str, JsonObject]:
    if not file.exists():
        return {}
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        files = {str(name): dict(entry) for name, entry in content["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceFileError(
            f"{file}: not a list of sources; remove it, or name another directory"
        ) from error
    before = {name: content.get(name) for name in selection}
    if before != selection:
        earlier, wanted = (" ".join(str(part[name]) for name in selection) for part in (before, selection))
        raise SourceFileError(
            f"{file}: this directory is for {earlier} (state, year, LODES version, job type), not {wanted}; "
            "name another directory"
        )
    return files
