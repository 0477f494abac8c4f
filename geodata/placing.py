"""New files and folders that appear whole or not at all, and belong to one run while they are written.

A run that is to write PLACE first takes a lock on the hidden file `.PLACE.lock` beside it and holds it to the end. So
two runs never write one place, whatever their process numbers: the system lets go of the lock when a run ends, however
it ends. What the run writes goes to a hidden folder, `.PLACE.partial-HOST-BOOT-TOKEN`: the machine's name, eight
digits of the number that its kernel drew when it started, and 64 random bits. It takes its name when it is whole.

A run that holds the lock knows that a run that is over left every other such folder of PLACE, and removes them. The
lock proves nothing about a folder that another machine made, because some shared file systems do not pass locks on.
Then the new run is refused, with the name of that folder, until nothing in the folder has changed for a day.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from geodata.errors import StoreError
from geodata.table_stream import sync

ABANDONED_S: Final = 24 * 3600.0
"""Another machine's folder in which nothing has changed for so long was left by a run that is over, in seconds."""

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_NO_BOOT: Final = "0" * 8
_PARTIAL: Final = re.compile(
    r"\.(?P<name>.+)\.partial-(?P<host>.+)-(?P<boot>[0-9a-f]{8})-[0-9a-f]{16}", re.DOTALL
)
_LONGEST_HOST: Final = 40


class Partial:
    """A hidden folder that becomes a file or folder when it is whole.

    Parameters
    ----------
    path : Path
        What it is to become.
    mode : int
        Permissions of the folder before the umask.
    replace : bool
        Whether it takes the place of what is there.

    Attributes
    ----------
    folder : Path
        Where to write.
    """

    def __init__(self, path: Path, *, mode: int, replace: bool) -> None:
        self.path = path
        self._replace = replace
        self.folder = partial_name(path)
        self._files: dict[str, os.stat_result] = {}
        self.folder.mkdir(mode=mode)
        self._made = os.lstat(self.folder)

    @contextmanager
    def writing(self, name: str, mode: int = 0o666) -> Iterator[Path]:
        """Make a file that only this run writes, and yield its path; after the block the file must not change.

        Raises
        ------
        FileExistsError
            Something else made one of that name.
        StoreError
            Another file took its place.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(self.folder / name, flags, mode)
        try:
            made = self._files[name] = os.fstat(file)
        finally:
            os.close(file)
        yield self.folder / name
        found = _state_of(self.folder / name)
        if found is None or not os.path.samestat(found, made):
            raise self._mixed(name)
        self._files[name] = found

    def require_own(self, *, also: tuple[str, ...] = ()) -> None:
        """Refuse a folder in which anything is not as this run wrote it.

        Parameters
        ----------
        also : tuple of str
            Files that may be there without having been written by `writing`.

        Raises
        ------
        StoreError
            Another process wrote into the folder, or put another in its place.
        """
        self._require_folder()
        found = {entry.name for entry in self.folder.iterdir()}
        for name in sorted(found ^ set(self._files)):
            if name not in also:
                raise self._mixed(name)
        for name, wanted in self._files.items():
            if not _is_same(_state_of(self.folder / name), wanted):
                raise self._mixed(name)

    def put_in_place(self, made: Path | None = None) -> None:
        """Give the folder, or one file in it, the name that it was written for.

        Parameters
        ----------
        made : Path, optional
            The file; the folder itself if it is not given.

        Raises
        ------
        StoreError
            The name is taken, or the folder is not the one that this run made.
        """
        self._require_folder()
        if self._replace:
            _remove(self.path)
        refuse_taken(self.path)
        os.rename(made or self.folder, self.path)
        sync(self.path.parent)

    def _require_folder(self) -> None:
        found = _state_of(self.folder)
        if found is None or not os.path.samestat(found, self._made):
            raise self._mixed("")

    def _mixed(self, name: str) -> StoreError:
        return StoreError(
            f"{self.path}: another process changed {self.folder / name} while it was written; nothing was kept, run "
            "again"
        )


@contextmanager
def writing_beside(path: Path, *, mode: int = 0o777, replace: bool = False) -> Iterator[Partial]:
    """Claim a place and yield a hidden folder beside it; what has not been put in its place is removed at the end.

    Parameters
    ----------
    path : Path
        In a folder that is there.
    mode : int
        Permissions of the hidden folder before the umask.
    replace : bool
        Wait for a run that writes the place, and replace what is there; else either is an error.

    Raises
    ------
    StoreError
        Something is there, another run writes it, or it cannot be written (a full disk included).
    """
    path = Path(os.path.abspath(path))
    with naming(path), claimed(path, wait=replace):
        if not replace:
            refuse_taken(path)
        partial = Partial(path, mode=mode, replace=replace)
        try:
            # After ours is there: two machines that do not see each other's locks see each other's folders.
            _remove_abandoned(path, partial.folder)
            yield partial
        finally:
            shutil.rmtree(partial.folder, ignore_errors=True)


@contextmanager
def claimed(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock on a place, so that no other run writes it meanwhile.

    Raises
    ------
    StoreError
        Another run holds it, and `wait` is false.
    """
    path = Path(os.path.abspath(path))
    lock = _lock_of(path)
    file = _locked(path, lock, wait=wait)
    try:
        os.ftruncate(file, 0)
        os.pwrite(file, _signature().encode(), 0)
        yield
    finally:
        with suppress(OSError):  # the lock goes with the file, whether or not its name does
            os.unlink(lock)
        os.close(file)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Have an error of the system name the place that could not be written: a full disk says no name by itself.

    Raises
    ------
    StoreError
        In place of an OSError, unless that one names a file elsewhere.
    """
    try:
        yield
    except BrokenPipeError:  # of the terminal, not of the place
        raise
    except OSError as error:
        named = "" if error.filename is None else os.fsdecode(error.filename)
        if named and not str(path).startswith(named) and not named.startswith(f"{path.parent}/.{path.name}."):
            raise
        raise StoreError(
            f"{path}: cannot write here ({error.strerror or error}); nothing was kept"
        ) from error


def clear_abandoned(folder: Path) -> None:
    """Remove what runs that are over left half-written in a folder, whatever it was to be called."""
    names = {found["name"] for entry in folder.iterdir() if (found := _PARTIAL.fullmatch(entry.name))}
    for name in names:
        with suppress(StoreError, OSError), claimed(folder / name):
            _remove_abandoned(folder / name)


def refuse_taken(path: Path) -> None:
    """Raise StoreError where there is something already: no command overwrites."""
    if os.path.lexists(path):
        raise StoreError(f"{path}: already exists; name another place, or remove it first")


def partial_name(path: Path) -> Path:
    """A new name beside `path` for what is to become `path`; no other run has it."""
    host, boot = _machine()
    return path.parent / f".{path.name}.partial-{host}-{boot}-{secrets.token_hex(8)}"


def name_of_partial(entry: Path) -> str | None:
    """What a half-written file or folder was to be called; None for any other."""
    found = _PARTIAL.fullmatch(entry.name)
    return None if found is None else found["name"]


def _lock_of(path: Path) -> Path:
    return path.parent / f".{path.name}.lock"


def _locked(path: Path, lock: Path, *, wait: bool) -> int:
    """Open the lock file and lock it. One that was removed meanwhile belonged to a run that is over: open another."""
    while True:
        file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(file, lock):
                return file
        except BlockingIOError:
            holder = _signature_in(file)
            os.close(file)
            raise StoreError(
                f"{path}: is being written already{holder}; wait, or name another place"
            ) from None
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _is_at(file: int, path: Path) -> bool:
    found = _state_of(path)
    return found is not None and os.path.samestat(os.fstat(file), found)


def _signature() -> str:
    return (
        f"process {os.getpid()} on {_machine()[0]}, since {datetime.now(UTC).isoformat(timespec='seconds')}\n"
    )


def _signature_in(file: int) -> str:
    """Who holds a lock, as a part of a sentence; nothing if they did not say yet."""
    text = os.pread(file, 200, 0).decode("utf-8", "replace").strip()
    return f" by {text}" if text and text.isprintable() else ""


def _machine() -> tuple[str, str]:
    """This machine's name, and what tells its kernel from those of other machines with the same name."""
    host = re.sub(r"[^A-Za-z0-9.-]", "_", socket.gethostname())[:_LONGEST_HOST] or "unnamed"
    try:
        return host, _BOOT_ID.read_text(encoding="ascii")[:8]
    except (OSError, ValueError):  # not Linux
        return host, _NO_BOOT


def _remove_abandoned(path: Path, own: Path | None = None) -> None:
    """Remove what runs that are over left beside a place whose lock we hold; StoreError where that is not certain."""
    host, boot = _machine()
    # The claim has just written it: by the clock of the file system, which wrote the other times, too.
    now = os.lstat(_lock_of(path)).st_mtime
    for entry in sorted(path.parent.iterdir()):
        found = _PARTIAL.fullmatch(entry.name)
        if found is None or found["name"] != path.name or entry == own:
            continue
        # One kernel knows all its locks, in whatever container, and a machine those of its runs before it started anew.
        here = found["host"] == host or found["boot"] == boot != _NO_BOOT
        if not here and now - _changed_at(entry) < ABANDONED_S:
            raise StoreError(
                f"{path}: is being written already, by a run on {found['host']}, in {entry}; wait, or remove that "
                "folder if the run is over"
            )
        _remove(entry)


def _changed_at(folder: Path) -> float:
    """When anything in a folder was last written, in seconds."""
    states = (_state_of(entry) for entry in (folder, *folder.rglob("*")))
    return max((state.st_mtime for state in states if state is not None), default=0.0)


def _remove(path: Path) -> None:
    """Remove a file, a link, or a folder with all in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _state_of(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _is_same(found: os.stat_result | None, wanted: os.stat_result) -> bool:
    """Whether a file is the very one, and has not been written since."""
    return (
        found is not None
        and os.path.samestat(found, wanted)
        and (found.st_size, found.st_mtime_ns) == (wanted.st_size, wanted.st_mtime_ns)
    )
