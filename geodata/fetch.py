"""Fetching the published files of one state and year into a directory, each verified by its sha256.

`sources.json` in the directory lists them: address, sha256, and whether that was published beside the file or
recorded when it first came. A file that is there and as recorded costs no connection.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from geodata.downloading import NotThere, Partial, Retry, download, read_text
from geodata.errors import SourceFileError
from geodata.progress import Progress, silent
from geodata.sources_catalog import PLAN, Source, sources_of
from geodata.store import sha256_of

_BASE: Final = re.compile(r"^https?://([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?(/[!-~]*)?$", re.ASCII)
_HEX: Final = frozenset("0123456789abcdef")

Status = Literal["downloaded", "present", "missing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What became of one file.

    Attributes
    ----------
    file : Path
        Where it is.
    url : str
        Where it came from.
    role : str
        What it is.
    status : {"downloaded", "present", "missing"}
        "missing" only where an import can do without it.
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
    blocks: bool = False,
    job_type: str = "JT00",
    base: str | None = None,
    retry: Retry | None = None,
    progress: Progress = silent,
) -> list[Fetched]:
    """Download what an import of one state and year needs.

    Downloads go to a hidden `.part` beside their place and are renamed when verified; a broken one is resumed
    by the next run. Nothing is written outside `directory`.

    Parameters
    ----------
    directory : Path
        Made when it is not there. One directory holds one state, year and LODES version.
    state, year, origin_states, lodes, blocks, job_type, base
        As `sources_catalog.sources_of`.
    retry : Retry, optional
        Attempts and waiting.
    progress : callable
        Called with (stage, done, total) in bytes.

    Returns
    -------
    list of Fetched
        In the order of the catalog.

    Raises
    ------
    SourceFileError
        One line: address or file, what is wrong, what to do. A file with a wrong sha256 is removed.
    """
    if base is not None and not _BASE.match(base):
        raise SourceFileError(f"base {base!r}: must be http:// or https:// and a host; correct it")
    wanted = sources_of(
        state, year, origin_states=origin_states, lodes=lodes, blocks=blocks, job_type=job_type, base=base
    )
    asked = {"state": state.strip().lower(), "year": year, "lodes": lodes, "job_type": job_type}
    plan = _Plan.opened(Path(directory), asked, wanted)
    work = _Work(plan, retry or Retry(), progress)
    return [work.fetched(source) for source in wanted]


class _Plan:
    """The list in the directory: what is wanted, and the sha256 of what has come."""

    def __init__(self, directory: Path, asked: dict[str, Any], files: dict[str, dict[str, Any]]) -> None:
        self.directory = directory
        self.asked = asked
        self.files = files

    @classmethod
    def opened(cls, directory: Path, asked: dict[str, Any], wanted: list[Source]) -> _Plan:
        """Read the list, or begin one; files that are new to it are added."""
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceFileError(
                f"{directory}: cannot be made ({error.strerror}); name another directory"
            ) from error
        plan = cls(directory, asked, _recorded(directory / PLAN, asked))
        for source in wanted:
            entry = plan.files.setdefault(source.file, {})
            if entry.get("url") not in (None, source.url):
                entry.pop("validator", None)  # another server's mark says nothing about this one's bytes
            entry.update(url=source.url, role=source.role)
        plan.save()
        return plan

    def save(self) -> None:
        """Write the list, whole or not at all."""
        file, partial = self.directory / PLAN, self.directory / f".{PLAN}.part"
        text = json.dumps(self.asked | {"files": self.files}, indent=1) + "\n"
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
        """Make sure of one file."""
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

    def _verify_present(self, source: Source, file: Path, entry: dict[str, Any]) -> None:
        found = sha256_of(file)
        if "sha256" not in entry:
            # Put there by someone, or a run that was killed before it wrote the list.
            expected = self._published_sha256(source)
            entry.update(sha256=expected or found, published=expected is not None)
        if found != entry["sha256"]:
            _remove_wrong(file, source, found, self._plan, entry)
        self._plan.save()

    def _download(self, source: Source, file: Path, entry: dict[str, Any]) -> None:
        expected = self._published_sha256(source) or (
            entry.get("sha256") if not entry.get("published", False) else None
        )
        partial = Partial(file.with_name(f".{file.name}.part"), entry.get("validator", ""))

        def started(now: Partial) -> None:
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
            # Two connections may have brought parts of two versions: once more, from the start.
            partial.path.unlink()
        entry.pop("validator", None)
        _check_content(partial.path, source)
        entry.update(sha256=found, published=self._published_sha256(source) is not None)
        os.replace(partial.path, file)
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
    file: Path, source: Source, found: str, plan: _Plan, entry: dict[str, Any], expected: str | None = None
) -> None:
    expected = expected or str(entry["sha256"])
    file.unlink()
    for name in ("sha256", "published", "validator"):
        entry.pop(name, None)
    plan.save()
    raise SourceFileError(
        f"{plan.directory / source.file}: its sha256 is {found[:12]}…, expected {expected[:12]}…; "
        f"it was removed, run again to fetch it from {source.url}"
    )


def _check_content(file: Path, source: Source) -> None:
    """Remove what the name of the file belies: a page that a server sends in its place, half an archive."""
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
            f"{source.url}: the server sent {wrong} in place of {source.file}; it was removed, run again later"
        )


def _recorded(file: Path, asked: dict[str, Any]) -> dict[str, dict[str, Any]]:
    if not file.exists():
        return {}
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        files = {str(name): dict(entry) for name, entry in content["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceFileError(
            f"{file}: not a list of sources; remove it, or name another directory"
        ) from error
    before = {name: content.get(name) for name in asked}
    if before != asked:
        told = [" ".join(str(part[name]) for name in asked) for part in (before, asked)]
        raise SourceFileError(
            f"{file}: this directory is for {told[0]} (state, year, LODES version, job type), not {told[1]}; "
            "name another directory"
        )
    return files
