"""Downloading one file: an interrupted download is resumed, and a failed attempt is repeated.

This module uses the standard library's urllib: a few plain downloads need neither sessions nor pools, and every
dependency of the two commands that use the network would be one more thing to trust.
"""

from __future__ import annotations

import http.client
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Final
from urllib.parse import urlsplit

from geodata.errors import SourceFileError

_CHUNK: Final = 1 << 18  # bytes
_LEAST_GAIN: Final = 1 << 16  # bytes that an attempt must add not to count as failed
_LEAST_RATE: Final = 1 << 10  # bytes that must arrive within the timeout
_BROKEN: Final = (urllib.error.URLError, http.client.HTTPException, OSError)
_NUMBER: Final = re.compile(r"^[0-9]{1,15}$")
_RANGE: Final = re.compile(r"^bytes (?P<first>[0-9]{1,15})-(?P<last>[0-9]{1,15})/(?P<whole>[0-9]{1,15})$")
_LONGEST_WAIT_S: Final = 60.0  # that a server can ask for


class NotThere(SourceFileError):
    """The server has no such file."""


class NoConnection(SourceFileError):
    """The server cannot be reached, as without a network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How to continue when a download breaks off.

    Attributes
    ----------
    attempts : int
        Attempts in a row, each of which gained next to nothing, before giving up.
    pause_s : float
        Pause before the second attempt; doubled for each further one.
    timeout_s : float
        Limit for connecting, for every read, and for each further kilobyte.
    """

    attempts: int = 5
    pause_s: float = 1.0
    timeout_s: float = 60.0


@dataclass(slots=True)
class PartialDownload:
    """A download that is under way.

    Attributes
    ----------
    path : Path
        File that holds the bytes received so far.
    validator : str
        ETag or Last-Modified of the server's file; without one a download cannot be resumed safely.
    resumed : bool
        Whether part of the file came from an earlier connection.
    """

    path: Path
    validator: str = ""
    resumed: bool = False

    @property
    def size(self) -> int:
        """Number of bytes received."""
        return self.path.stat().st_size if self.path.exists() else 0


def download(
    url: str,
    partial: PartialDownload,
    *,
    retry: Retry,
    started: Callable[[PartialDownload], None],
    progress: Callable[[int, int], None],
) -> None:
    """Download a file, continuing a partial download if there is one.

    Parameters
    ----------
    url : str
        Address of the file.
    partial : PartialDownload
        Where to write it; `validator` is updated.
    retry : Retry
        Number of attempts, and pauses between them.
    started : callable
        Called with `partial` when the server has replied and before any byte is written.
    progress : callable
        Called with the bytes received and the total (0 if the server does not say).

    Raises
    ------
    NotThere
        The server has no such file (404, 410).
    NoConnection
        The server cannot be reached.
    SourceFileError
        The server refuses, or no attempt succeeds; the bytes received are kept.
    """
    failures, furthest = 0, partial.size
    kind: type[SourceFileError]
    while True:
        try:
            _attempt(url, partial, retry, started, progress)
            return
        except urllib.error.HTTPError as error:
            error.close()
            _refuse_final(url, error)
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                partial.validator = ""  # the partial file is longer than the server's: start over
            reason, wait_s, kind = f"HTTP {error.code} {error.reason}", _retry_after_s(error), SourceFileError
        except _BROKEN as error:
            reason, wait_s, kind = _reason_of(error), 0.0, _kind_of(error)
        failures = 1 if partial.size >= furthest + _LEAST_GAIN else failures + 1
        furthest = max(furthest, partial.size)
        if failures >= retry.attempts:
            raise kind(
                f"{url}: {reason}; gave up after {failures} attempts; what has arrived is kept: run again to continue"
            )
        sleep(max(wait_s, retry.pause_s * 2 ** (failures - 1)))


def read_text(url: str, *, retry: Retry) -> str:
    """Download a small text, such as the page that lists a folder.

    Raises
    ------
    NotThere, NoConnection, SourceFileError
        As `download`.
    """
    kind: type[SourceFileError]
    for failures in range(1, retry.attempts + 1):
        try:
            with _open(url, {}, retry) as response:
                return b"".join(_pieces(response, retry, limit=1 << 24)).decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            error.close()
            _refuse_final(url, error)
            reason, wait_s, kind = f"HTTP {error.code} {error.reason}", _retry_after_s(error), SourceFileError
        except _BROKEN as error:
            reason, wait_s, kind = _reason_of(error), 0.0, _kind_of(error)
        if failures < retry.attempts:
            sleep(max(wait_s, retry.pause_s * 2 ** (failures - 1)))
    raise kind(f"{url}: {reason}; gave up after {retry.attempts} attempts; run again later")


def _reason_of(error: Exception) -> str:
    return str(getattr(error, "reason", error)) or type(error).__name__


def _kind_of(error: Exception) -> type[SourceFileError]:
    # Only opening a connection raises URLError; what breaks off later is another error.
    return NoConnection if isinstance(error, urllib.error.URLError) else SourceFileError


def _attempt(
    url: str,
    partial: PartialDownload,
    retry: Retry,
    started: Callable[[PartialDownload], None],
    progress: Callable[[int, int], None],
) -> None:
    start = partial.size if partial.validator else 0
    headers = {"Range": f"bytes={start}-", "If-Range": partial.validator} if start else {}
    with _open(url, headers, retry) as response:
        resumed = response.status == http.client.PARTIAL_CONTENT
        whole = _whole_length(response, start) if resumed else 0
        if resumed and not whole:
            partial.validator = ""
            raise http.client.HTTPException("the server sent a different part than requested")
        start = start if resumed else 0
        partial.resumed = resumed
        partial.validator = _validator(response)
        started(partial)
        total = whole or _length(response)
        with _open_partial(partial.path, resumed) as stream:
            arrived = _copy(_pieces(response, retry), stream, partial.path, start, total, progress)
    if total and arrived < total:
        raise http.client.HTTPException(f"the connection broke off at {arrived:,} of {total:,} bytes")


def _pieces(response: http.client.HTTPResponse, retry: Retry, *, limit: int | None = None) -> Iterator[bytes]:
    """Yield the content as it arrives; give up on a server that sends too slowly."""
    arrived, marked, mark_s = 0, 0, monotonic()
    while piece := response.read1(_CHUNK):
        yield piece
        arrived += len(piece)
        if limit is not None and arrived > limit:
            raise http.client.HTTPException(f"more than {limit:,} bytes")
        if arrived - marked >= _LEAST_RATE:
            marked, mark_s = arrived, monotonic()
        elif monotonic() - mark_s > retry.timeout_s:
            raise http.client.HTTPException(f"less than {_LEAST_RATE:,} bytes in {retry.timeout_s:g} s")


def _copy(
    pieces: Iterator[bytes],
    stream: IO[bytes],
    path: Path,
    arrived: int,
    total: int,
    progress: Callable[[int, int], None],
) -> int:
    progress(arrived, total)
    for chunk in pieces:
        try:
            stream.write(chunk)
        except OSError as error:
            raise _cannot_write(path, error) from error
        arrived += len(chunk)
        progress(arrived, total)
    return arrived


def _open_partial(path: Path, resumed: bool) -> IO[bytes]:
    # If the partial file is a link it is not followed, so that nothing is written outside the directory.
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | (os.O_APPEND if resumed else os.O_TRUNC)
    try:
        return os.fdopen(os.open(path, flags, 0o644), "wb", buffering=0)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> SourceFileError:
    return SourceFileError(
        f"{path}: cannot write here ({error.strerror or error}); make room or name another place"
    )


def _open(url: str, headers: dict[str, str], retry: Retry) -> http.client.HTTPResponse:
    request = urllib.request.Request(url, headers={"User-Agent": "commutemap", **headers})
    response: http.client.HTTPResponse = urllib.request.build_opener(_SameHost).open(
        request, timeout=retry.timeout_s
    )
    return response


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to the same host, and never from https to http."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        requested, target = urlsplit(req.full_url), urlsplit(newurl)
        if target.netloc != requested.netloc or (requested.scheme == "https" and target.scheme != "https"):
            fp.close()
            raise SourceFileError(
                f"{req.full_url}: redirects to {target.scheme}://{target.netloc}, which is not followed; "
                "check the address, or name a mirror"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _refuse_final(url: str, error: urllib.error.HTTPError) -> None:
    """Raise for a reply that another attempt would not change."""
    if error.code in (404, 410):
        raise NotThere(
            f"{url}: not found (HTTP {error.code}); check that state and year are published"
        ) from error
    if error.code < 500 and error.code not in (408, 416, 425, 429):
        reason = " ".join(str(error.reason).split())
        raise SourceFileError(f"{url}: refused (HTTP {error.code} {reason}); check the address") from error


def _retry_after_s(error: urllib.error.HTTPError) -> float:
    text = error.headers.get("Retry-After", "") if error.headers else ""
    return min(float(text), _LONGEST_WAIT_S) if _NUMBER.match(text) else 0.0


def _whole_length(response: http.client.HTTPResponse, start: int) -> int:
    """Bytes of the whole file if the reply is the rest of it from `start`, else 0."""
    part = _RANGE.match(str(response.headers.get("Content-Range", "")))
    if (
        part is None
        or start == 0
        or int(part["first"]) != start
        or int(part["last"]) + 1 != int(part["whole"])
    ):
        return 0
    return int(part["whole"])


def _length(response: http.client.HTTPResponse) -> int:
    text = str(response.headers.get("Content-Length", ""))
    return int(text) if _NUMBER.match(text) else 0


def _validator(response: http.client.HTTPResponse) -> str:
    etag = str(response.headers.get("ETag", ""))
    # A weak ETag does not identify bytes, so it cannot tell whether two parts belong to one file.
    return etag if etag and not etag.startswith("W/") else str(response.headers.get("Last-Modified", ""))
