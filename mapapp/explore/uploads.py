"""Areas from uploaded files. The server reads one file at a time, never in a thread that serves requests.

A file waits in a short queue, and another process reads it. The page polls with the file's token. When the page stops
polling, the server drops the file and its area.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition
from typing import Final

from geodata.errors import GeodataError
from geodata.geography.area_files import AreaFile, read_area_upload
from mapapp.base import memory_limits
from mapapp.base.errors import UsageError
from mapapp.base.watch import Refused
from mapapp.explore.background import run_in_background

MAX_WAITING: Final = 8
MAX_PER_CLIENT: Final = 2
MAX_KEPT: Final = 32
GONE_S: Final = 60.0
"""A file and its area are dropped when the page has not polled for this long.

Longer than a request may wait for a place (`heavy_requests.PATIENCE_S`): the page stops polling when the area is there,
and the request that chooses the area may have to wait. A slow phone can also be busy with the map for many seconds.
"""
_BUSY: Final = "Other files are being read right now. Try again in a few seconds."
_EXPIRED: Final = "the server no longer has this file; choose it again"

Reader = Callable[[str, bytes, Callable[[], bool]], AreaFile]


@dataclass(eq=False, slots=True)
class _Upload:
    """One uploaded file: its bytes until it is read, then its area or an error."""

    client: str
    name: str
    content: bytes
    polled_at: float
    is_done: bool = False
    area: AreaFile | None = None
    error: str = ""


class Uploads:
    """The uploaded files of one server; safe to use from several threads.

    Parameters
    ----------
    read : callable
        Reads a file, given its name, its bytes and a function that says whether to stop. Returns its content, or
        raises GeodataError.
    clock : callable
        Seconds.
    """

    def __init__(self, read: Reader | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read or (
            lambda name, content, stop: read_area_upload(name, content, stop, with_lines=True)
        )
        self._clock = clock
        self._changed = Condition()
        self._uploads: dict[str, _Upload] = {}
        self._waiting: list[str] = []
        self._reading = ""
        self._has_started = self._has_ended = False

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of files that wait, that are being read, and that are kept in all."""
        with self._changed:
            return len(self._waiting), int(bool(self._reading)), len(self._uploads)

    def check_room(self, client: str, n_bytes: int) -> None:
        """Raise Refused if a client's file would be one too many; called before its bytes are read."""
        with self._changed:
            self._forget()
            open_ones = [self._uploads[token] for token in (*self._waiting, self._reading) if token]
            if (
                len(self._waiting) >= MAX_WAITING
                or sum(len(upload.content) for upload in open_ones) + n_bytes > memory_limits.UPLOADS_BYTES
                or sum(upload.client == client for upload in open_ones) >= MAX_PER_CLIENT
            ):
                raise Refused(503, _BUSY)

    def add(self, client: str, name: str, content: bytes) -> str:
        """Add a file to the queue and return its token; raises the same errors as :meth:`check_room`."""
        with self._changed:
            self.check_room(client, len(content))
            token = secrets.token_urlsafe(16)
            self._uploads[token] = _Upload(client, name, content, self._clock())
            self._waiting.append(token)
            if not self._has_started:
                self._has_started = True
                run_in_background(self._work, stop=self._end)
            self._changed.notify_all()
        return token

    def progress(self, token: str) -> dict[str, object]:
        """Progress of a file: `state` ("waiting", "reading", "done", "failed", "gone"), and `before` or `said`."""
        with self._changed:
            self._forget()
            upload = self._uploads.get(token)
            if upload is None:
                return {"state": "gone", "said": _EXPIRED}
            upload.polled_at = self._clock()
            if token in self._waiting:
                return {"state": "waiting", "before": self._waiting.index(token) + bool(self._reading)}
            if not upload.is_done:
                return {"state": "reading"}
            return {"state": "failed", "said": upload.error} if upload.error else {"state": "done"}

    def area(self, token: object) -> AreaFile:
        """The content of a file; UsageError if the file was not read or is gone."""
        with self._changed:
            upload = self._uploads.get(token) if isinstance(token, str) else None
            if upload is None or not upload.is_done:
                raise UsageError(_EXPIRED)
            if upload.area is None:
                raise UsageError(upload.error)
            return upload.area

    def _forget(self) -> None:
        """Drop files that no page polls, and the oldest if there are too many."""
        now = self._clock()
        done = [token for token, upload in self._uploads.items() if upload.is_done]
        for token, upload in list(self._uploads.items()):
            is_late = now - upload.polled_at > GONE_S
            if token != self._reading and (is_late or token in done[: max(len(done) - MAX_KEPT, 0)]):
                del self._uploads[token]
                if token in self._waiting:
                    self._waiting.remove(token)

    def _end(self) -> None:
        """Stop reading because the process ends."""
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._forget()
                while not (self._waiting or self._has_ended):
                    self._changed.wait()
                    self._forget()
                if self._has_ended:
                    return
                self._reading = token = self._waiting.pop(0)
                upload = self._uploads[token]
            area, error = self._outcome(upload)
            with self._changed:
                upload.area, upload.error, upload.content, upload.is_done = area, error, b"", True
                self._reading = ""
                self._changed.notify_all()

    def _outcome(self, upload: _Upload) -> tuple[AreaFile | None, str]:
        def is_gone() -> bool:
            return self._has_ended or self._clock() - upload.polled_at > GONE_S

        try:
            return self._read(upload.name, upload.content, is_gone), ""
        except GeodataError as error:
            return None, str(error)
        except Exception:  # the next file must still be read
            return None, "this file could not be read; save it again, or use another format"
