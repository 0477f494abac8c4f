"""The addresses of downloadable files. Each contains a view, which is not trusted."""

from __future__ import annotations

import math
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, cast
from urllib.parse import parse_qsl, quote, urlencode

import flask

from geodata.errors import GeodataError
from mapapp.answers import watch
from mapapp.answers.release import Release
from mapapp.answers.watch import Refused
from mapapp.base.errors import UsageError
from mapapp.explore.admission import Admission
from mapapp.explore.callbacks.views import Views
from mapapp.explore.downloads.bounds import TOO_MUCH_MEMORY, FileWatch, file_places
from mapapp.explore.downloads.files import FILES, FileRequest, file_name
from mapapp.explore.heavy_requests import departure, refusal
from mapapp.explore.listener.proxies import client_key
from mapapp.question.address import MAX_QUERY_LENGTH
from mapapp.question.view import Bounds

PATH: Final = "take/"
MAX_SCALE: Final = 4
PAPERS: Final = ("a4", "letter")
_OWN: Final = ("scale", "bounds", "paper", "rows")
_KEPT: Final = "private, max-age=600"  # the release's version is in the address


def file_address(views: Views, release: Release, name: str, query: str, **more: str) -> str:
    """Address of a file of a view; `query` as `mapapp.question.address.to_query` writes it."""
    extra = urlencode(more, quote_via=quote)
    joined = "&".join(part for part in (query.removeprefix("?"), extra) if part)
    return f"{views.prefix}{PATH}{release.slug}/{release.version}/{name}" + (f"?{joined}" if joined else "")


def register(
    server: flask.Flask,
    views: Views,
    admission: Admission | None = None,
    elsewhere: Callable[[str], flask.Response | None] = lambda _: None,
) -> None:
    """Serve the addresses of files; `elsewhere` makes some of them, by name, in another process."""
    places = admission or file_places()

    @server.get(f"{views.prefix}{PATH}<slug>/<version>/<name>")
    def take(slug: str, version: str, name: str) -> flask.Response:
        release = views.releases.get(slug)
        if release is None or release.version != version or name not in FILES:
            return refusal(
                404, "This file does not exist. The release may have been replaced; reload the page."
            )
        try:
            wanted = file_request_of(views, release, flask.request.query_string.decode("ascii", "replace"))
            client = client_key(flask.request.remote_addr or "")
            with places.place(client, departure(flask.request)):
                return elsewhere(name) or _made(wanted, name)
        except Refused as refused:
            return refusal(refused.status, refused.text)
        except (UsageError, GeodataError) as error:
            return refusal(400, f"{error}.")
        except MemoryError:
            return refusal(413, TOO_MUCH_MEMORY)
        except Exception as error:
            views.log.error("a file could not be made", details=error)
            return refusal(500, "This file could not be made. The rest of the page still works.")


def file_request_of(views: Views, release: Release, query: str) -> FileRequest:
    """The file that a query requests.

    Raises
    ------
    Refused
        If any part of the query is unknown. A page leaves such parts out; a file must not.
    """
    if len(query) > MAX_QUERY_LENGTH:
        raise Refused(400, "The address is too long.")
    pairs = parse_qsl(query, keep_blank_values=True, errors="replace")
    own = {name: value for name, value in pairs if name in _OWN}
    rest = [(name, value) for name, value in pairs if name not in (*_OWN, "release")]
    text = urlencode([*rest, ("release", release.slug)], quote_via=quote)
    address, notes = views.parse(text)
    if notes:
        raise Refused(400, " ".join(notes[0].split()))
    paper, rows = own.get("paper"), own.get("rows")
    if rows not in (None, "all"):
        raise Refused(400, f"Unknown rows {rows[:20]!r}; use all, or leave it out.")
    if paper is not None and paper not in PAPERS:
        raise Refused(400, f"Unknown paper size {paper[:20]!r}; use a4 or letter.")
    return FileRequest(
        views=views,
        address=address,
        scale=_scale(own.get("scale", "1")),
        bounds=_bounds(own["bounds"]) if "bounds" in own else None,
        paper=cast(Literal["a4", "letter"] | None, paper),
        every=rows == "all",
    )


def _scale(text: str) -> int:
    if text not in [str(scale) for scale in range(1, MAX_SCALE + 1)]:
        raise Refused(400, f"Unknown scale {text[:20]!r}; use 1 to {MAX_SCALE}.")
    return int(text)


def _bounds(text: str) -> Bounds:
    try:
        west, south, east, north = (float(part) for part in text.split(","))
    except ValueError:
        west = south = east = north = math.nan
    if not (-180 <= west < east <= 180 and -90 <= south < north <= 90):
        raise Refused(400, f"Unknown bounds {text[:60]!r}; use west, south, east, and north in degrees.")
    return west, south, east, north


def _made(wanted: FileRequest, name: str) -> flask.Response:
    with tempfile.TemporaryDirectory(prefix="commutemap-") as folder:
        file = Path(folder) / name
        watching = FileWatch(Path(folder), departure(flask.request))
        with watch.watching(watching):
            FILES[name].make(wanted, file, watching)
        several = file.suffix != ".zip" and zipfile.is_zipfile(file) and name.startswith("chart.")
        size = file.stat().st_size
        stream = file.open("rb")  # stays readable after the folder is removed
    response = flask.send_file(
        stream,
        mimetype="application/zip" if several else FILES[name].mimetype,
        as_attachment=True,
        download_name=file_name(wanted, name, several=several),
        max_age=0,
    )
    response.content_length = size
    response.headers["Cache-Control"] = _KEPT
    return response
