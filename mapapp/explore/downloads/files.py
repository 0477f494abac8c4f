"""The files that a page offers, and how to make each of them."""

from __future__ import annotations

import math
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast
from urllib.parse import parse_qsl, quote, urlencode

import flask
import pandas

from geodata.errors import GeodataError
from mapapp.answers import served_answers
from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.analyses.results import Change, Result
from mapapp.answers.release import Release
from mapapp.base import watch
from mapapp.base.errors import UsageError
from mapapp.base.watch import Refused, Watch
from mapapp.explore.admission import Admission
from mapapp.explore.callbacks.views import Views
from mapapp.explore.downloads.bounds import MAX_REPORT_ROWS, MAX_ROWS, TOO_MUCH_MEMORY, FileWatch, file_places
from mapapp.explore.heavy_requests import departure, refusal
from mapapp.explore.listener.proxies import client_key
from mapapp.explore.page_heads import picture_stem
from mapapp.question import setup_file
from mapapp.question.address import MAX_QUERY_LENGTH, Address
from mapapp.question.view import Bounds
from mapapp.show.exports.answers import SHAPED, write_answers
from mapapp.show.exports.layer import safe_name
from mapapp.show.exports.provenance import Provenance
from mapapp.show.files import answers

ROWS_AT_ONCE: Final = 5_000
_SUFFIX_OF_SHAPES: Final = {"shapes.zip": "shp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRequest:
    """A request for a file.

    Attributes
    ----------
    views : Views
    address : Address
        The view, with the name of its release.
    scale : int
        Scale of a picture, 1 to 4.
    bounds : tuple of float or None
        West, south, east and north of the map, degrees.
    paper : {"a4", "letter"} or None
        Paper size of a PDF report; None for the usual one.
    every : bool
        Whether the tables of a report have every row.
    """

    views: Views
    address: Address
    scale: int = 1
    bounds: Bounds | None = None
    paper: Literal["a4", "letter"] | None = None
    every: bool = False

    @property
    def release(self) -> Release:
        """The requested release."""
        return self.views.release(self.address)

    @property
    def before(self) -> Release | None:
        """The earlier release to compare with, or None."""
        return self.views.before(self.address)


Maker = Callable[[FileRequest, Path, Watch], None]


@dataclass(frozen=True, slots=True)
class File:
    """A downloadable file: its media type, and the function that writes it."""

    mimetype: str
    make: Maker


def answer(wanted: FileRequest) -> Result:
    """The answer that the page shows, with the same expected errors."""
    before, question = wanted.before, wanted.views.settle(wanted.address)
    if before is not None:
        return served_answers.compare_releases(before, wanted.release, question)
    ask = served_answers.with_errors if question.is_complete else served_answers.result
    return ask(wanted.release, question)


def file_name(wanted: FileRequest, name: str, *, several: bool = False) -> str:
    """Name of the downloaded file, in ASCII letters, digits and dashes; pictures are named by what they show.

    `several` says that several charts were packed into a zip file.
    """
    stem, _, suffix = name.partition(".")
    stem, suffix = ("charts", "zip") if several else (stem, suffix)
    if stem in ("map", "chart", "charts"):
        shown = picture_stem(
            wanted.release, wanted.address, wanted.views.releases.get(wanted.address.against)
        )
        return f"{safe_name(shown, most=120)}{'' if stem == 'map' else f'-{stem}'}.{suffix}"
    question = wanted.address.question
    areas = wanted.release.areas
    known = [areas[step].name for step in question.areas[:1] if step in areas]
    about = "-".join([question.analysis, *known]) if stem != "setup" else "setup"
    extra = "-report" if stem == "report" else ""
    return f"{safe_name(f'{wanted.release.title} {about}', most=120)}{extra}.{suffix}"


def _table_csv(wanted: FileRequest, file: Path, watch: Watch) -> None:
    file_answer = answer(wanted)
    table = answers.table_of(file_answer, answers.main_table(file_answer))
    _check_n_rows(len(table))
    table = table.assign(**_source_columns(wanted))

    def parts() -> Iterator[pandas.DataFrame]:
        for start in range(0, max(len(table), 1), ROWS_AT_ONCE):
            watch("writing", start, len(table))
            yield table.iloc[start : start + ROWS_AT_ONCE]

    with file.open("w", encoding="utf-8", newline="") as stream:
        answers.write_csv(parts(), stream)


def _matrix_csv(wanted: FileRequest, file: Path, watch: Watch) -> None:
    if wanted.before is not None:
        raise Refused(
            400, "A comparison has no matrix. Set “Compare with” to nothing, or download the table."
        )
    file_answer = answer(wanted)
    if entry_of(file_answer).grid is None:
        raise Refused(
            400,
            "Only a profile, a cross table, and a flow matrix have a wide table. Download the table instead.",
        )
    with file.open("w", encoding="utf-8", newline="") as stream:
        answers.write_csv(answers.wide_tables([file_answer]), stream)
    watch()


def _source_columns(wanted: FileRequest) -> dict[str, str | float | None]:
    """Columns that say where a table comes from; CSV has no other place for this."""
    source, before = Provenance.of(wanted.release.store), wanted.before
    return {
        "workers_kept": wanted.release.attributes.words(wanted.address.question.filters) or "all",
        "vintage_blocks": source.vintage_blocks,
        "epsilon_final": source.epsilon_final,
        "delta": source.delta,
        "certificate_sha256": source.certificate_sha256,
        "release_sha256": source.release_sha256,
    } | ({} if before is None else {"earlier_release_sha256": Provenance.of(before.store).release_sha256})


def _table_xlsx(wanted: FileRequest, file: Path, watch: Watch) -> None:
    file_answer = answer(wanted)
    _check_n_rows(max((len(table) for table in file_answer.tables().values()), default=0))
    releases = [release for release in (wanted.before, wanted.release) if release is not None]
    with file.open("wb") as stream:
        answers.write_xlsx([file_answer], stream, [Provenance.of(release.store) for release in releases])
    watch()


def _shapes(wanted: FileRequest, file: Path, watch: Watch) -> None:
    file_answer = answer(wanted)
    if isinstance(file_answer, Change):
        raise Refused(
            400, "A comparison has no shapes. Download the table, or set “Compare with” to nothing."
        )
    _check_n_rows(len(next(iter(file_answer.tables().values()), ())))
    form = _SUFFIX_OF_SHAPES.get(file.name, file.suffix.removeprefix("."))
    assert form in SHAPED
    write_answers(wanted.release, [file_answer], form, file, report=watch)


def _map(wanted: FileRequest, file: Path, watch: Watch) -> None:
    from mapapp.show.paper import map_picture

    form = cast(Literal["png", "svg"], file.suffix.removeprefix("."))
    shown = wanted.views.map_content(wanted.address, wanted.address.view)
    file.write_bytes(map_picture(shown, form=form, scale=wanted.scale, bounds=wanted.bounds))
    watch()


def _chart(wanted: FileRequest, file: Path, watch: Watch) -> None:
    from mapapp.show.paper import chart_pictures

    form = cast(Literal["png", "svg"], file.suffix.removeprefix("."))
    pictures = chart_pictures(
        wanted.release, answer(wanted), theme=wanted.address.view.theme, form=form, scale=wanted.scale
    )
    watch()
    if not pictures:
        raise Refused(400, "This answer has no chart. Choose an area with workers.")
    if len(pictures) == 1:
        file.write_bytes(pictures[0][2])
        return
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for number, (title, _, content) in enumerate(pictures, 1):
            info = zipfile.ZipInfo(f"{number}-{safe_name(title, 'chart')}.{form}")
            info.external_attr, info.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            packed.writestr(info, content)


def _report(wanted: FileRequest, file: Path, watch: Watch) -> None:
    from mapapp.show.reports import PRINTED_ROWS, Part, write_report

    if not wanted.address.question.is_complete:
        raise Refused(400, "A report needs an area. Choose one first.")
    _check_n_rows(sum(len(table) for table in answer(wanted).tables().values()), MAX_REPORT_ROWS)
    form = cast(Literal["html", "pdf", "xlsx"], file.suffix.removeprefix("."))
    releases = [release for release in (wanted.before, wanted.release) if release is not None]
    with file.open("wb") as stream:
        write_report(
            releases,
            [Part(wanted.address.question, wanted.address.view.show)],
            form,
            stream,
            paper=wanted.paper,
            rows=None if wanted.every else PRINTED_ROWS,
            progress=watch,
        )
    watch()


def _setup(wanted: FileRequest, file: Path, watch: Watch) -> None:
    against = wanted.views.releases.get(wanted.address.against)
    content = setup_file.save(
        wanted.release,
        wanted.address,
        name=wanted.release.slug,
        against=against,
        bounds_deg=wanted.bounds,
    )
    file.write_bytes(content)
    watch()


def _check_n_rows(n_rows: int, most: int = MAX_ROWS) -> None:
    if n_rows > most:
        raise Refused(
            413,
            f"This file would have {n_rows:,} rows; the limit is {most:,}. Choose a smaller area or larger units, or "
            "use the command line.",
        )


_XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
FILES: Final = {
    "report.html": File("text/html", _report),
    "report.pdf": File("application/pdf", _report),
    "report.xlsx": File(_XLSX, _report),
    "table.csv": File("text/csv", _table_csv),
    "matrix.csv": File("text/csv", _matrix_csv),
    "table.xlsx": File(_XLSX, _table_xlsx),
    "shapes.geojson": File("application/geo+json", _shapes),
    "shapes.gpkg": File("application/geopackage+sqlite3", _shapes),
    "shapes.zip": File("application/zip", _shapes),
    "shapes.kml": File("application/vnd.google-earth.kml+xml", _shapes),
    "map.png": File("image/png", _map),
    "map.svg": File("image/svg+xml", _map),
    "chart.png": File("image/png", _chart),
    "chart.svg": File("image/svg+xml", _chart),
    "setup.json": File("application/json", _setup),
}
"""Every downloadable file, by the last part of its address."""


# The addresses of downloadable files. Each contains a view, which is not trusted.

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
        with watch.watch_work(watching):
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
