"""A server on the loopback interface with the Census Bureau's paths; tests can make it misbehave."""

from __future__ import annotations

import gzip
import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

VERSION = "State: {postal}\nData vintage: 20251202\nFormat version: 8.4\n"


def described(files: dict[str, bytes], *, suffix: str = "") -> dict[str, bytes]:
    """The files, and for each state of LODES its version file and its list of checksums.

    The list is the bureau's: of the decompressed text, under names without `.gz`; with a suffix of ".gz", one of the
    compressed files.
    """
    listed: dict[str, list[str]] = {}
    for path, content in sorted(files.items()):
        _, _, of_state = path.partition("/data/lodes/")
        if of_state and path.endswith(".gz"):
            folder = "/".join(path.split("/")[:5])
            text = content if suffix else gzip.decompress(content)
            name = path.rpartition("/")[2].removesuffix(".gz") + suffix
            listed.setdefault(folder, []).append(f"{hashlib.sha256(text).hexdigest()}  {name}\n")
    lists = {
        f"{folder}/lodes_{folder[-2:]}.sha256sum": "".join(lines).encode() for folder, lines in listed.items()
    }
    versions = {f"{folder}/version.txt": VERSION.format(postal=folder[-2:]).encode() for folder in listed}
    return files | lists | versions


def index_page(path: str, files: dict[str, bytes]) -> bytes:
    """The page that Apache makes of a folder without an index of its own."""
    names = sorted({file.removeprefix(path).partition("/")[0] for file in files if file.startswith(path)})
    rows = "".join(
        f'<tr><td><a href="{name}">{name}</a></td><td align="right">2025-12-02 10:00  </td></tr>\n'
        for name in names
    )
    return (
        f"<html><head><title>Index of {path}</title></head><body><h1>Index of {path}</h1><table>"
        f'<tr><th><a href="?C=N;O=D">Name</a></th></tr><tr><td><a href="/">Parent Directory</a></td></tr>\n'
        f"{rows}</table></body></html>"
    ).encode()


@dataclass
class Site:
    """What the server has, and how it behaves.

    `broken` maps a path to the bytes after which its next answer breaks off; `errors` to the status codes of
    its next answers; `redirects` to where it sends; `headers` to headers that its answers carry instead of the
    right ones; `parts` limits the bytes with which it answers a range; `crawl` to seconds between bytes;
    `unasked` makes it answer 206 to who has not asked for a part; `indexes` makes it list its folders.
    """

    files: dict[str, bytes]
    base: str = ""
    ranges: bool = True
    indexes: bool = True
    broken: dict[str, int] = field(default_factory=dict)
    errors: dict[str, list[int]] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)
    crawl: dict[str, float] = field(default_factory=dict)
    unasked: set[str] = field(default_factory=set)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def paths(self) -> list[str]:
        """Paths asked for, in order."""
        return [path for path, _ in self.asked]


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent."""

    def do_GET(self) -> None:
        site, path = self.site, self.path
        site.asked.append((path, self.headers.get("Range", "")))
        if path in site.redirects:
            self._head(302, 0, {"Location": site.redirects[path]})
        elif site.errors.get(path):
            self._head(site.errors[path].pop(0), 0, {"Retry-After": "0"})
        elif path.endswith("/") and site.indexes and any(file.startswith(path) for file in site.files):
            self._send(index_page(path, site.files))
        elif path not in site.files:
            self._head(404, 0, {})
        else:
            self._send(site.files[path])

    def _send(self, content: bytes) -> None:
        etag = f'"{hashlib.md5(content).hexdigest()}"'
        start, asked = 0, self.headers.get("Range", "")
        if self.site.ranges and asked and self.headers.get("If-Range") == etag:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
        if start and start >= len(content):
            self._head(416, 0, {})
            return
        partial = bool(start) or self.path in self.site.unasked
        end = (
            min(len(content), start + self.site.parts.get(self.path, len(content))) if start else len(content)
        )
        span = {"Content-Range": f"bytes {start}-{end - 1}/{len(content)}"} if partial else {}
        wrong = self.site.headers.get(self.path, {})
        self._head(206 if partial else 200, end - start, {"ETag": etag, **span, **wrong})
        stop = self.site.broken.pop(self.path, None)
        if self.path in self.site.crawl:
            self._crawl(content)
        else:
            self.wfile.write(content[start : end if stop is None else stop])
        if stop is not None or "Content-Length" in wrong:
            self.close_connection = True

    def _crawl(self, content: bytes) -> None:
        self.close_connection = True
        with suppress(OSError):  # the client has left
            for position in range(200):
                self.wfile.write(content[position : position + 1])
                self.wfile.flush()
                time.sleep(self.site.crawl[self.path])

    def _head(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(length)} | headers).items():
            self.send_header(name, value)
        self.end_headers()


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Site]:
    """Serve the files at their paths until the block ends."""
    site = Site(files)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"site": site}))
    site.base = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
