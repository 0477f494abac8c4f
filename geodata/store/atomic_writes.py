"""Atomic writes: new files and folders appear complete or not at all, and only one run at a time writes each.

To write PLACE, a run first locks the hidden file `.PLACE.lock` beside it and holds the lock to the end. The system
releases the lock whenever and however a run ends, so two runs never write one place, whatever their process numbers.
The run writes into a hidden folder, `.PLACE.partial-HOST-BOOT-TOKEN`: the machine's name, eight digits of the number
that its kernel drew at startup, and 64 random bits. The folder is renamed to PLACE when it is complete.

A run that holds the lock knows that any other such folder of PLACE was left by a run that has ended, and removes it.
The lock proves nothing about a folder that another machine made, because some shared file systems do not forward
locks. In that case the new run is refused, with the name of that folder, until nothing in it has changed for a day.
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
from geodata.store.table_stream import sync
from geodata.text import escape_to_utf8, is_utf8

# What this process has finished that stays although it ends early: places written, and charges of ledgers.
#
# A command that is stopped, fails, or cannot print its result says it from here. Only the first few places are named: a
# server writes files without end.

_MOST_NAMED: Final = 3

_places: list[str] = []
_charges: list[str] = []
_unnamed: list[int] = [0]


def keep_place(path: Path) -> None:
    """Note a file or folder that is complete."""
    if len(_places) < _MOST_NAMED:
        _places.append(_shorten_path(path))
    else:
        _unnamed[0] += 1


def keep_charge(words: str) -> None:
    """Note what a ledger was charged, in words that follow "the ledger of"."""
    _charges.append(words)


def forget_kept() -> None:
    """Begin again, as a new command does."""
    _places.clear()
    _charges.clear()
    _unnamed[0] = 0


def kept_places() -> str:
    """Places that are complete, in words; empty if there are none."""
    more = [f"{_unnamed[0]:,} more"] if _unnamed[0] else []
    return " and ".join([*_places, *more])


def kept_charges() -> str:
    """What ledgers were charged, as clauses that end a sentence; empty if nothing was."""
    return "".join(f"; the ledger of {charge}" for charge in _charges)


def _shorten_path(path: Path) -> str:
    """A path as a user would type it: relative if it is below the current folder."""
    try:
        return str(path.relative_to(os.getcwd()))
    except (OSError, ValueError):
        return str(path)


ABANDONED_S: Final = 24 * 3600.0
"""After this many seconds without a change, another machine's folder is taken to be left by a run that has ended."""

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_NO_BOOT: Final = "0" * 8
_PARTIAL: Final = re.compile(
    r"\.(?P<name>.+)\.partial-(?P<host>.+)-(?P<boot>[0-9a-f]{8})-[0-9a-f]{16}", re.DOTALL
)
_LONGEST_HOST: Final = 40


class Partial:
    """A hidden folder that becomes a file or folder when it is complete.

    Parameters
    ----------
    path : Path
        What it is to become.
    mode : int
        Permissions of the folder before the umask.
    replace : bool
        Whether it replaces what is there.

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
    def write_file(self, name: str, mode: int = 0o666) -> Iterator[Path]:
        """Create a file that only this run writes, and yield its path; the file must not change after the block.

        Raises
        ------
        FileExistsError
            Another process made a file of that name.
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
        state = _state_of(self.folder / name)
        if state is None or not os.path.samestat(state, made):
            raise self._mixed_error(name)
        self._files[name] = state

    def link(self, name: str, source: Path) -> bool:
        """Let a file of this folder be the same as another on the disk; False if the disk cannot do that."""
        try:
            os.link(source, self.folder / name, follow_symlinks=False)
        except OSError:
            return False
        self._files[name] = os.lstat(self.folder / name)
        return True

    def require_own(self, *, also: tuple[str, ...] = ()) -> None:
        """Refuse a folder that holds anything this run did not write.

        Parameters
        ----------
        also : tuple of str
            Files that may be there without having been written by `write_file`.

        Raises
        ------
        StoreError
            Another process wrote into the folder, or replaced it.
        """
        self._require_folder()
        names = {entry.name for entry in self.folder.iterdir()}
        for name in sorted(names ^ set(self._files)):
            if name not in also:
                raise self._mixed_error(name)
        for name, wanted in self._files.items():
            if not _is_same(_state_of(self.folder / name), wanted):
                raise self._mixed_error(name)

    def put_in_place(self, made: Path | None = None) -> None:
        """Rename the folder, or one file in it, to its final name.

        Parameters
        ----------
        made : Path, optional
            The file; the folder itself if it is not given.

        Raises
        ------
        StoreError
            The name exists already, or the folder is not the one that this run made.
        """
        self._require_folder()
        if self._replace:
            _remove(self.path)
        refuse_taken(self.path)
        os.rename(made or self.folder, self.path)
        if not self._replace:
            keep_place(self.path)
        sync(self.path.parent)

    def _require_folder(self) -> None:
        state = _state_of(self.folder)
        if state is None or not os.path.samestat(state, self._made):
            raise self._mixed_error("")

    def _mixed_error(self, name: str) -> StoreError:
        return StoreError(
            f"{self.path}: another process changed {self.folder / name} while it was written; nothing was saved; "
            "run again"
        )


@contextmanager
def write_beside(path: Path, *, mode: int = 0o777, replace: bool = False) -> Iterator[Partial]:
    """Lock a place and yield a hidden folder beside it; the folder is removed at the end unless it was renamed.

    Parameters
    ----------
    path : Path
        In a folder that exists.
    mode : int
        Permissions of the hidden folder before the umask.
    replace : bool
        Wait for any run that writes the place, and replace what is there; otherwise both are errors.

    Raises
    ------
    StoreError
        The place exists, another run writes it, or it cannot be written, for example because the disk is full.
    """
    path = Path(os.path.abspath(path))
    with name_failed_place(path), claim_place(path, wait=replace):
        if not replace:
            refuse_taken(path)
        partial = Partial(path, mode=mode, replace=replace)
        try:
            # Only after our folder exists: two machines that do not share locks still see each other's folders.
            _remove_abandoned(path, partial.folder)
            yield partial
        finally:
            shutil.rmtree(partial.folder, ignore_errors=True)


@contextmanager
def claim_place(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock on a place, so that no other run writes it.

    Raises
    ------
    StoreError
        Another run holds it, and `wait` is false.
    """
    path = Path(os.path.abspath(path))
    lock = _lock_of(path)
    file = _lock_file(path, lock, wait=wait)
    try:
        os.ftruncate(file, 0)
        os.pwrite(file, _signature().encode(), 0)
        yield
    finally:
        with suppress(OSError):  # the lock ends with the open file, whether or not the name is removed
            os.unlink(lock)
        os.close(file)


@contextmanager
def name_failed_place(path: Path) -> Iterator[None]:
    """Add the place that could not be written to the system's error: that of a full disk names no file.

    Raises
    ------
    StoreError
        Instead of an OSError, unless that error names a file elsewhere.
    """
    try:
        yield
    except BrokenPipeError:  # the terminal's, not the place's
        raise
    except OSError as error:
        named = "" if error.filename is None else os.fsdecode(error.filename)
        if named and not str(path).startswith(named) and not named.startswith(f"{path.parent}/.{path.name}."):
            raise
        raise StoreError(
            f"{path}: cannot write here ({error.strerror or error}); nothing was kept"
        ) from error


def clear_abandoned(folder: Path) -> None:
    """Remove all unfinished files and folders that ended runs left in a folder, whatever their final names."""
    names = {match["name"] for entry in folder.iterdir() if (match := _PARTIAL.fullmatch(entry.name))}
    for name in names:
        with suppress(StoreError, OSError), claim_place(folder / name):
            _remove_abandoned(folder / name)


def refuse_taken(path: Path) -> None:
    """Raise StoreError if the path exists, as no command overwrites anything, or if its name is not UTF-8."""
    if not is_utf8(str(path)):
        raise StoreError(
            f"{escape_to_utf8(path)}: not UTF-8, which files that name it must be; name another place"
        )
    if os.path.lexists(path):
        raise StoreError(f"{path}: already exists; name another place, or remove it first")


def partial_name(path: Path) -> Path:
    """A new hidden name beside `path`, unique to this run, for the folder that will become `path`."""
    host, boot = _machine()
    return path.parent / f".{path.name}.partial-{host}-{boot}-{secrets.token_hex(8)}"


def name_of_partial(entry: Path) -> str | None:
    """The final name of an unfinished file or folder; None for any other."""
    match = _PARTIAL.fullmatch(entry.name)
    return None if match is None else match["name"]


def _lock_of(path: Path) -> Path:
    return path.parent / f".{path.name}.lock"


def _lock_file(path: Path, lock: Path, *, wait: bool) -> int:
    """Open the lock file and lock it. If it was removed in the meantime, its run has ended: open a new one."""
    while True:
        file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(file, lock):
                return file
        except BlockingIOError:
            holder = _signature_in(file)
            os.close(file)
            raise StoreError(f"{path}: already being written{holder}; wait, or name another place") from None
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _is_at(file: int, path: Path) -> bool:
    state = _state_of(path)
    return state is not None and os.path.samestat(os.fstat(file), state)


def _signature() -> str:
    return (
        f"process {os.getpid()} on {_machine()[0]}, since {datetime.now(UTC).isoformat(timespec='seconds')}\n"
    )


def _signature_in(file: int) -> str:
    """The run that holds a lock, as part of a sentence; empty if it has not written its name yet."""
    text = os.pread(file, 200, 0).decode("utf-8", "replace").strip()
    return f" by {text}" if text and text.isprintable() else ""


def _machine() -> tuple[str, str]:
    """This machine's name, and a number that distinguishes its kernel from those of machines with the same name."""
    host = re.sub(r"[^A-Za-z0-9.-]", "_", socket.gethostname())[:_LONGEST_HOST] or "unnamed"
    try:
        return host, _BOOT_ID.read_text(encoding="ascii")[:8]
    except (OSError, ValueError):  # not Linux
        return host, _NO_BOOT


def _remove_abandoned(path: Path, own: Path | None = None) -> None:
    """Remove what ended runs left beside a place whose lock we hold; StoreError if a run may not have ended."""
    host, boot = _machine()
    # Taking the lock has just written this file, so its time is by the file system's clock, as the other times are.
    now = os.lstat(_lock_of(path)).st_mtime
    for entry in sorted(path.parent.iterdir()):
        match = _PARTIAL.fullmatch(entry.name)
        if match is None or match["name"] != path.name or entry == own:
            continue
        # A kernel knows all its locks, in any container; no run of a machine survives its restart.
        here = match["host"] == host or match["boot"] == boot != _NO_BOOT
        if not here and now - _changed_at(entry) < ABANDONED_S:
            raise StoreError(
                f"{path}: already being written by a run on {match['host']}, in {entry}; wait, or remove that "
                "folder if the run has ended"
            )
        _remove(entry)


def _changed_at(folder: Path) -> float:
    """When anything in a folder was last written, in seconds."""
    states = (_state_of(entry) for entry in (folder, *folder.rglob("*")))
    return max((state.st_mtime for state in states if state is not None), default=0.0)


def _remove(path: Path) -> None:
    """Remove a file, a link, or a folder with everything in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _state_of(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _is_same(state: os.stat_result | None, wanted: os.stat_result) -> bool:
    """Whether a file is the same one, and has not been written since."""
    return (
        state is not None
        and os.path.samestat(state, wanted)
        and (state.st_size, state.st_mtime_ns) == (wanted.st_size, wanted.st_mtime_ns)
    )
