"""Areas from uploaded files: read one at a time for the whole server, and never in a thread that serves requests.

A file waits in a short queue and is read by another process. The page asks after it by its token. A file that nobody
asks after any more is given up, and what was read is forgotten.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition
from typing import Any, Final

from geodata.area_files import read_area_upload
from geodata.errors import GeodataError
from mapapp.answers.watch import Refused
from mapapp.errors import UsageError
from mapapp.explore.background import run_in_background

MAX_WAITING: Final = 8
MAX_WAITING_BYTES: Final = 64 << 20
MAX_PER_CLIENT: Final = 2
MAX_KEPT: Final = 32
GONE_S: Final = 15.0
"""A file is given up, and its area forgotten, when nobody has asked after it for so long."""
_BUSY: Final = "Other files are being read at the moment; try again in a few seconds."
_EXPIRED: Final = "the file is no longer here; choose it again"

Reader = Callable[[str, bytes, Callable[[], bool]], Any]


@dataclass(eq=False, slots=True)
class _Upload:
    """One file on its way: its bytes until it is read, then its area or what was wrong with it."""

    client: str
    name: str
    content: bytes
    asked_at: float
    is_done: bool = False
    area: Any = None
    error: str = ""


class Uploads:
    """The uploaded files of one server; may be asked from several threads.

    Parameters
    ----------
    read : callable
        Reads a file, given its name, its bytes and a function that tells whether to stop; returns its polygon, or
        raises GeodataError.
    clock : callable
        Seconds.
    """

    def __init__(self, read: Reader | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read or (lambda name, content, stop: read_area_upload(name, content, stop).area)
        self._clock = clock
        self._changed = Condition()
        self._uploads: dict[str, _Upload] = {}
        self._waiting: list[str] = []
        self._reading = ""
        self._has_started = self._has_ended = False

    @property
    def counts(self) -> tuple[int, int, int]:
        """Files that wait, files being read, and all that are kept."""
        with self._changed:
            return len(self._waiting), int(bool(self._reading)), len(self._uploads)

    def check_room(self, client: str, n_bytes: int) -> None:
        """Raise Refused if a file of a client would be one too many; asked before its bytes are read."""
        with self._changed:
            self._forget()
            open_ones = [self._uploads[token] for token in (*self._waiting, self._reading) if token]
            if (
                len(self._waiting) >= MAX_WAITING
                or sum(len(one.content) for one in open_ones) + n_bytes > MAX_WAITING_BYTES
                or sum(one.client == client for one in open_ones) >= MAX_PER_CLIENT
            ):
                raise Refused(503, _BUSY)

    def add(self, client: str, name: str, content: bytes) -> str:
        """Put a file in the queue; returns its token. Errors as :meth:`check_room`."""
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

    def progress(self, token: str) -> dict[str, Any]:
        """How far a file is: `state` ("waiting", "reading", "done", "failed", "gone"), and `before` or `said`."""
        with self._changed:
            self._forget()
            upload = self._uploads.get(token)
            if upload is None:
                return {"state": "gone", "said": _EXPIRED}
            upload.asked_at = self._clock()
            if token in self._waiting:
                return {"state": "waiting", "before": self._waiting.index(token) + bool(self._reading)}
            if not upload.is_done:
                return {"state": "reading"}
            return {"state": "failed", "said": upload.error} if upload.error else {"state": "done"}

    def area(self, token: Any) -> Any:
        """Polygon of a file that was read; UsageError if there is none."""
        with self._changed:
            upload = self._uploads.get(token) if isinstance(token, str) else None
            if upload is None or not upload.is_done:
                raise UsageError(_EXPIRED)
            if upload.error:
                raise UsageError(upload.error)
            return upload.area

    def _forget(self) -> None:
        """Give up what nobody asks after, and the oldest of too many."""
        now = self._clock()
        done = [token for token, upload in self._uploads.items() if upload.is_done]
        for token, upload in list(self._uploads.items()):
            is_late = now - upload.asked_at > GONE_S
            if token != self._reading and (is_late or token in done[: max(len(done) - MAX_KEPT, 0)]):
                del self._uploads[token]
                if token in self._waiting:
                    self._waiting.remove(token)

    def _end(self) -> None:
        """Stop reading: the process ends."""
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

    def _outcome(self, upload: _Upload) -> tuple[Any, str]:
        def is_gone() -> bool:
            return self._has_ended or self._clock() - upload.asked_at > GONE_S

        try:
            return self._read(upload.name, upload.content, is_gone), ""
        except GeodataError as error:
            return None, str(error)
        except Exception:  # the next file must still be read
            return None, "this file could not be read; save it again, or give another format"
