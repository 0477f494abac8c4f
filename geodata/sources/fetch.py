"""Fetching the published files of one state and year into a directory, each verified by its sha256.

`sources.json` in the directory lists the files: address, sha256, and whether the sha256 was published with the file
or recorded at the first download. A file that is present and unchanged is not downloaded again.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from geodata.errors import SourceFileError
from geodata.json_objects import JsonObject
from geodata.progress import Progress, silent
from geodata.sources.crosswalk import counties_of
from geodata.sources.downloading import NotThere, PartialDownload, Retry, download, read_text
from geodata.sources.sources_catalog import PLAN, Source, base_map_sources_of, sources_of
from geodata.store.atomic_writes import keep_place
from geodata.store.store import sha256_of

_BASE: Final = re.compile(r"^https?://([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?(/[!-~]*)?$", re.ASCII)
_HEX: Final = frozenset("0123456789abcdef")

Also = Literal["blocks", "basemap"]
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
    status: Status
    sha256: str
    n_bytes: int
    published: bool


def fetch(
    directory: Path,
    *,
    state: str,
    year: int,
    origin_states: tuple[str, ...] = (),
    lodes: int = 8,
    also: Collection[Also] = (),
    job_type: str = "JT00",
    base: str | None = None,
    retry: Retry | None = None,
    progress: Progress = silent,
) -> list[Fetched]:
    """Download what an import of one state and year needs.

    Each download goes to a hidden `.part` file and is renamed when verified; the next run resumes an interrupted
    one. Nothing is written outside `directory`.

    Parameters
    ----------
    directory : Path
        Created if missing. One directory holds one state, year and LODES version.
    state, year, origin_states, lodes, job_type, base
        As `sources_catalog.sources_of`.
    also : collection of {"blocks", "basemap"}
        What else to download: the block polygons, which are large; boundaries that end at the shore, water of every
        county in the crosswalks, main roads, and rails.
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
        The message names the address or file, the error and the remedy. A file with a wrong sha256 is removed.
    """
    if base is not None and not _BASE.match(base):
        raise SourceFileError(f"base {base!r}: must be http:// or https:// and a host; correct it")
    wanted = sources_of(
        state,
        year,
        origin_states=origin_states,
        lodes=lodes,
        blocks="blocks" in also,
        job_type=job_type,
        base=base,
    )
    selection = {"state": state.strip().lower(), "year": year, "lodes": lodes, "job_type": job_type}
    plan = _Plan.opened(Path(directory), selection, wanted)
    work = _Work(plan, retry or Retry(), progress)
    found = [work.fetched(source) for source in wanted]
    if "basemap" in also:
        counties = counties_of([file.file for file in found if file.role == "crosswalk"])
        more = base_map_sources_of(counties, lodes=lodes, base=base)
        plan.add(more)
        found += [work.fetched(source) for source in more]
    return found


class _Plan:
    """The list in the directory: the files to fetch, and the sha256 of those fetched."""

    def __init__(self, directory: Path, selection: dict[str, object], files: dict[str, JsonObject]) -> None:
        self.directory = directory
        self.selection = selection
        self.files = files

    @classmethod
    def opened(cls, directory: Path, selection: dict[str, object], wanted: list[Source]) -> _Plan:
        """Read the list, or create it; add the files that are not yet in it."""
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceFileError(
                f"{directory}: cannot be made ({error.strerror}); name another directory"
            ) from error
        plan = cls(directory, selection, _recorded(directory / PLAN, selection))
        plan.add(wanted)
        return plan

    def add(self, wanted: list[Source]) -> None:
        """Add files that are not yet in the list, and write it."""
        for source in wanted:
            entry = self.files.setdefault(source.file, {})
            if entry.get("url") not in (None, source.url):
                entry.pop("validator", None)  # a validator of another server does not apply to this one
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
    """One run: the plan, and the published checksums that it has read so far."""

    def __init__(self, plan: _Plan, retry: Retry, progress: Progress) -> None:
        self._plan = plan
        self._retry = retry
        self._progress = progress
        self._published: dict[str, dict[str, str]] = {}

    def fetched(self, source: Source) -> Fetched:
        """Verify one file if it is present, else download it."""
        file, entry = self._plan.directory / source.file, self._plan.files[source.file]
        status: Status = "present"
        if file.is_file():
            self._verify_present(source, file, entry)
        else:
            try:
                self._download(source, file, entry)
            except NotThere:
                if not source.optional:
                    raise
                return self._result(source, "missing")
            status = "downloaded"
        return self._result(source, status)

    def _result(self, source: Source, status: Status) -> Fetched:
        file, entry = self._plan.directory / source.file, self._plan.files[source.file]
        missing = status == "missing"
        return Fetched(
            file=file,
            url=source.url,
            role=source.role,
            status=status,
            sha256="" if missing else entry["sha256"],
            n_bytes=0 if missing else file.stat().st_size,
            published=bool(entry.get("published", False)) and not missing,
        )

    def _verify_present(self, source: Source, file: Path, entry: JsonObject) -> None:
        found = sha256_of(file)
        if "sha256" not in entry:
            # Put there by hand, or by a run that was killed before it wrote the list.
            expected = self._published_sha256(source)
            entry.update(sha256=expected or found, published=expected is not None)
        if found != entry["sha256"]:
            _remove_wrong(file, source, found, self._plan, entry)
        self._plan.save()

    def _download(self, source: Source, file: Path, entry: JsonObject) -> None:
        expected = self._published_sha256(source) or (
            entry.get("sha256") if not entry.get("published", False) else None
        )
        partial = PartialDownload(file.with_name(f".{file.name}.part"), entry.get("validator", ""))

        def started(now: PartialDownload) -> None:
            entry["validator"] = now.validator
            self._plan.save()

        def shown(done: int, total: int) -> None:
            self._progress(f"Fetching {source.file}", done, total)

        while True:
            download(source.url, partial, retry=self._retry, started=started, progress=shown)
            found = sha256_of(partial.path)
            if expected in (None, found):
                break
            if not partial.resumed:
                _remove_wrong(partial.path, source, found, self._plan, entry, expected)
            # The parts may come from two versions of the file: download it once more, from the start.
            partial.path.unlink()
        entry.pop("validator", None)
        _check_content(partial.path, source)
        entry.update(sha256=found, published=self._published_sha256(source) is not None)
        os.replace(partial.path, file)
        keep_place(file)
        self._plan.save()

    def _published_sha256(self, source: Source) -> str | None:
        url = source.checksums_url
        if url is None:
            return None
        if url not in self._published:
            try:
                self._published[url] = parse_checksums(read_text(url, retry=self._retry))
            except NotThere:
                self._published[url] = {}
        return self._published[url].get(source.file)


def parse_checksums(text: str) -> dict[str, str]:
    """Read what `sha256sum` writes: file name (without directories) to hexadecimal sha256."""
    found = {}
    for line in text.splitlines():
        digest, _, name = line.strip().partition(" ")
        if len(digest) == 64 and set(digest.lower()) <= _HEX:
            found[name.strip().lstrip("*").rpartition("/")[2]] = digest.lower()
    return found


def _remove_wrong(
    file: Path, source: Source, found: str, plan: _Plan, entry: JsonObject, expected: str | None = None
) -> None:
    expected = expected or str(entry["sha256"])
    file.unlink()
    for name in ("sha256", "published", "validator"):
        entry.pop(name, None)
    plan.save()
    raise SourceFileError(
        f"{plan.directory / source.file}: its sha256 is {found[:12]}…, expected {expected[:12]}…; "
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


def _recorded(file: Path, selection: dict[str, object]) -> dict[str, JsonObject]:
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
