"""What a visitor takes home: every file of every analysis, and nothing for addresses written in bad faith."""

from __future__ import annotations

import csv
import io
import json
import socket
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import openpyxl
import pandas
import pytest

from mapapp.answers.release import Release
from mapapp.base.watch import Refused, Watch
from mapapp.explore.admission import Admission
from mapapp.explore.callbacks.views import Views
from mapapp.explore.downloads import files
from mapapp.explore.downloads import files as routes
from mapapp.explore.downloads.bounds import FileWatch
from mapapp.explore.downloads.files import FILES, File
from mapapp.explore.pages.download_menu import menu
from mapapp.explore.server import create_app, listen
from mapapp.question import setup_file
from mapapp.question.analyses import ANALYSES
from mapapp.show.exports.provenance import Provenance
from tests.releases import write_release
from tests.show import reading

AREA = "area=county:10001"
STARTS = {
    "png": b"\x89PNG",
    "svg": b"<?xml",
    "pdf": b"%PDF",
    "xlsx": b"PK",
    "zip": b"PK",
    "gpkg": b"SQLite format 3",
    "kml": b"<?xml",
    "html": b"<!",
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = tmp_path_factory.mktemp("served")
    first = write_release(home / "squareland", n_pairs=600)
    return create_app([first, write_release(home / "later", n_pairs=500, seed=8)])


@pytest.fixture(scope="module")
def release(app: Any) -> Release:
    views: Views = app.server.extensions["commutemap"]
    return views.releases["squareland"]


@pytest.fixture(scope="module")
def client(app: Any) -> Any:
    return app.server.test_client()


def get(client: Any, release: Release, name: str, query: str = "", **more: Any) -> Any:
    with client.get(f"/take/{release.slug}/{release.version}/{name}?{query}", **more) as answer:
        answer.get_data()
        return answer


def taken(client: Any, release: Release, name: str, query: str = "") -> bytes:
    answer = get(client, release, name, query)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return bytes(answer.get_data())


@pytest.mark.parametrize(
    ("analysis", "name"),
    [("destinations", name) for name in FILES if name != "matrix.csv"]
    + [("profile", "matrix.csv"), ("flow-matrix", "matrix.csv")]
    + [
        (analysis, name)
        for analysis in ANALYSES
        for name in ("table.csv", "shapes.gpkg", "chart.svg", "report.html")
    ],
)
def test_every_file_of_every_analysis(analysis: str, name: str, client: Any, release: Release) -> None:
    other = "&other=county:10003" if analysis == "paired" else ""
    answer = get(client, release, name, f"analysis={analysis}&{AREA}{other}")
    assert answer.status_code == 200, answer.get_data(as_text=True)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    kept = answer.headers["Content-Disposition"]
    about = analysis.partition("-")[0] if name.startswith(("map", "chart")) else "squareland-2019-"
    assert kept.startswith(f"attachment; filename={about}")
    suffix = kept.rpartition(".")[2]
    assert suffix == name.rpartition(".")[2] or (name.startswith("chart") and suffix == "zip")
    assert answer.get_data().startswith(STARTS.get(suffix, b""))
    assert answer.content_length == len(answer.get_data())


def test_only_answers_with_two_sides_have_a_wide_table(client: Any, release: Release) -> None:
    answer = get(client, release, "matrix.csv", f"analysis=destinations&{AREA}")
    assert answer.status_code == 400
    assert "Only a profile, a cross table, and a flow matrix have a wide table." in answer.get_data(
        as_text=True
    )
    rows = list(
        csv.reader(io.StringIO(taken(client, release, "matrix.csv", "analysis=flow-matrix").decode()))
    )
    assert rows[0][-1] == rows[-1][0] == "Total"
    assert rows[-1][-1] == str(int(release.store.table("jobs")["count"].sum()))


def test_tables_have_the_numbers_of_the_query(client: Any, release: Release, tmp_path: Path) -> None:
    wanted = release.destinations("county:10001", layer="tract").units
    text = taken(client, release, "table.csv", f"{AREA}&layer=tract").decode()
    found = pandas.read_csv(io.StringIO(text), dtype={"unit_id": str})
    assert found["unit_id"].tolist() == wanted["unit_id"].tolist()
    assert found["workers"].tolist() == wanted["workers"].tolist()
    source = Provenance.of(release.store)
    assert set(found["release_sha256"]) == {source.release_sha256}
    assert set(found["certificate_sha256"]) == {source.certificate_sha256}
    (tmp_path / "t.xlsx").write_bytes(taken(client, release, "table.xlsx", f"{AREA}&layer=tract"))
    rows = reading.xlsx_rows(tmp_path / "t.xlsx", "units")
    assert [row["workers"] for row in rows] == wanted["workers"].tolist()
    shapes = json.loads(taken(client, release, "shapes.geojson", f"{AREA}&layer=tract"))
    assert [each["properties"]["workers"] for each in shapes["features"]] == wanted["workers"].tolist()
    assert shapes["commutemap"]["release_sha256"] == source.release_sha256
    (tmp_path / "s.zip").write_bytes(taken(client, release, "shapes.zip", f"{AREA}&layer=tract"))
    rows, _ = reading.shapefile_rows(tmp_path / "s.zip", "destinations")
    assert [row["workers"] for row in rows] == wanted["workers"].tolist()


def test_a_change_is_of_two_releases(client: Any, release: Release, tmp_path: Path) -> None:
    query = f"{AREA}&against=later"
    table = list(csv.DictReader(io.StringIO(taken(client, release, "table.csv", query).decode())))
    assert {"before", "after", "change"} <= set(table[0])
    assert table[0]["release_sha256"] != table[0]["earlier_release_sha256"] != ""
    (tmp_path / "t.xlsx").write_bytes(taken(client, release, "table.xlsx", query))
    source = openpyxl.load_workbook(tmp_path / "t.xlsx")["provenance"]
    assert source.max_column == 3, "a column for each release"
    answer = get(client, release, "shapes.kml", query)
    assert (answer.status_code, answer.get_data(as_text=True)[:26]) == (
        400,
        "A comparison has no shapes",
    )
    assert taken(client, release, "report.pdf", query).startswith(b"%PDF")


def test_each_format_of_a_kind_of_file_has_one_button_and_menus_have_the_rest() -> None:
    def address(name: str, **options: str) -> str:
        return f"{name}?{urlencode(options)}"

    said = json.dumps(menu(address, ready=True, changes=False), default=lambda part: part.to_plotly_json())
    assert [said.count(f'"{name}?') for name in ("report.pdf", "map.png", "chart.png")] == [1, 1, 1]
    assert '"report.pdf?"' in said, "by default on the paper of the place"
    assert all(f'"data-option": "{option}"' in said for option in ("paper", "rows", "scale"))


def test_pictures_in_four_sizes_and_of_what_is_seen(client: Any, release: Release) -> None:
    from PIL import Image

    widths = [
        Image.open(io.BytesIO(taken(client, release, "map.png", f"{AREA}&scale={scale}"))).width
        for scale in (1, 2)
    ]
    assert widths[1] == 2 * widths[0]
    near = taken(client, release, "map.png", f"{AREA}&bounds=-70.98,42.01,-70.97,42.02")
    assert near != taken(client, release, "map.png", AREA)
    setup = setup_file.read(taken(client, release, "setup.json", f"{AREA}&bounds=-71,42,-70.5,42.5"))
    assert setup.address.question.areas == ("county:10001",)
    assert setup.bounds_deg == (-71.0, 42.0, -70.5, 42.5)


def test_several_charts_come_as_one_zip(client: Any, release: Release) -> None:
    content = taken(client, release, "chart.png", f"analysis=distance-direction&{AREA}")
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        assert len(packed.namelist()) > 1
        assert all(name.endswith(".png") and "/" not in name for name in packed.namelist())


def test_the_same_view_gives_the_same_bytes(client: Any, release: Release) -> None:
    for name in FILES:
        query = f"{AREA}&analysis=profile" if name == "matrix.csv" else AREA
        assert taken(client, release, name, query) == taken(client, release, name, query), name


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("scale=0", "Unknown scale '0'; use 1 to 4."),
        ("scale=1e9", "Unknown scale '1e9'; use 1 to 4."),
        ("scale=%F0%9F%92%A5", "Unknown scale '💥'; use 1 to 4."),
        ("bounds=1,2,3", "Unknown bounds '1,2,3'; use west, south, east, and north in degrees."),
        ("bounds=nan,nan,nan,nan", "Unknown bounds 'nan,nan,nan,nan'; use west"),
        ("bounds=-inf,-1,inf,1", "Unknown bounds '-inf,-1,inf,1'; use west"),
        ("bounds=1,1,0,0", "Unknown bounds '1,1,0,0'; use west"),
        ("paper=<script>", "Unknown paper size '<script>'; use a4 or letter."),
        ("area=county:99999", "There is no area “county:99999” in this release"),
        ("area=../../etc/passwd", "There is no area"),
        ("area=county:10001%20county:10003", "There is no area"),
        ("layer=blocks;drop", "This release has no layer “blocks;drop”"),
        ("layer=block", "This release has no layer “block”"),
        ("analysis=everything", "There is no analysis"),
        ("age=9", "“9” is not an age band"),
        ("edges=9,8", "Distance bands must be"),
        ("against=nowhere", "There is no release"),
        ("nonsense=%00%0d%0aSet-Cookie:x", "The address has an unknown part"),
        ("area=" + "x" * 70_000, "The address is too long."),
    ],
)
@pytest.mark.parametrize("name", ["table.csv", "map.png", "report.pdf"])
def test_hostile_addresses_are_answered_in_one_line(
    name: str, query: str, said: str, client: Any, release: Release
) -> None:
    answer = get(client, release, name, query)
    text = answer.get_data(as_text=True)
    assert (answer.status_code, answer.mimetype) == (400, "text/plain")
    assert text.startswith(said)
    assert text.count("\n") == 1
    assert len(text) < 200
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"


def test_what_is_not_there_is_not_found(client: Any, release: Release) -> None:
    for address in (
        f"/take/{release.slug}/{release.version}/jobs.parquet",
        f"/take/{release.slug}/000000000000/table.csv",
        f"/take/nobody/{release.version}/table.csv",
    ):
        with client.get(address) as answer:
            assert answer.status_code == 404, address
    named = get(client, release, "table.csv", f"release=later&{AREA}")
    assert named.headers["Content-Disposition"].startswith("attachment; filename=squareland")
    assert "squareland" not in release.title


def test_too_many_rows_and_no_area_are_said(
    client: Any, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_REPORT_ROWS", 5)
    answer = get(client, release, "report.html", f"{AREA}&layer=tract")
    assert answer.status_code == 413
    assert "the limit is 5. Choose a smaller area" in answer.get_data(as_text=True)
    answer = get(client, release, "report.html")
    assert answer.get_data(as_text=True) == "A report needs an area. Choose one first.\n"


def test_an_unforeseen_error_says_nothing_of_itself(
    client: Any, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: Any) -> None:
        raise RuntimeError("inside /secret/place")

    monkeypatch.setitem(FILES, "table.csv", File("text/csv", breaks))
    answer = get(client, release, "table.csv", AREA)
    assert answer.status_code == 500
    assert answer.get_data(as_text=True) == "This file could not be made. The rest of the page still works.\n"


def test_who_comes_when_all_places_are_taken_is_told(release: Release, app: Any) -> None:
    import flask

    from mapapp.explore import web_app

    server, places = flask.Flask("one"), Admission(1, 0, 0.0, "Other files are being made.")
    routes.register(server, app.server.extensions["commutemap"], places)
    web_app.add_headers(server, ())
    client = server.test_client()
    with places.place():
        answer = get(client, release, "table.csv", AREA)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
        assert answer.get_data(as_text=True).startswith("Other files are being made")
    assert get(client, release, "table.csv", AREA).status_code == 200, "the place is free again"
    assert get(client, release, "table.csv", "area=nowhere:1").status_code == 400
    assert get(client, release, "table.csv", AREA).status_code == 200, "a refusal gives its place back"


def test_work_ends_when_its_time_its_size_or_its_visitor_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FileWatch(tmp_path)("writing", 0, 1)
    with pytest.raises(Refused, match="takes too long"):
        FileWatch(tmp_path, seconds=-1)()
    with pytest.raises(Refused, match="has left"):
        FileWatch(tmp_path, lambda: True)()
    monkeypatch.setattr("mapapp.explore.downloads.bounds.MAX_BYTES", 2)
    (tmp_path / "x").write_bytes(b"abc")
    with pytest.raises(Refused, match="too large"):
        FileWatch(tmp_path)()


def test_nothing_stays_on_the_disk(
    client: Any, release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("shapes.zip", "shapes.gpkg", "table.xlsx", "report.pdf"):
        taken(client, release, name, AREA)
    get(client, release, "shapes.kml", f"{AREA}&against=later")
    assert list(tmp_path.iterdir()) == []


def test_names_of_files_are_plain(tmp_path: Path) -> None:
    path = write_release(tmp_path / "x", n_pairs=50)
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    manifest["title"] = 'É"vil\r\nSet-Cookie: a=b; ../../x/\\ 東京 🏙️.exe'
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    app = create_app([path])
    release = app.server.extensions["commutemap"].releases["x"]
    answer = get(app.server.test_client(), release, "table.csv", f"{AREA}&area={quote('-stplc:4460')}")
    name = answer.headers["Content-Disposition"].removeprefix("attachment; filename=")
    assert name.startswith("e-vil-set-cookie-a-b-x-exe-2019-destination")
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")


@pytest.fixture
def address(app: Any) -> Iterator[tuple[str, int]]:
    server, place = listen(app, port=0)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    host, port = place.removeprefix("http://").rstrip("/").split(":")
    yield host, int(port)
    server.close()
    server.task_dispatcher.shutdown()
    thread.join(timeout=5)


def test_a_visitor_who_leaves_ends_the_work(
    address: tuple[str, int], release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = threading.Event(), threading.Event()

    def endless(_wanted: Any, _file: Path, watch: Watch) -> None:
        begun.set()
        try:
            while True:
                watch()
                time.sleep(0.01)
        finally:
            ended.set()

    monkeypatch.setitem(FILES, "table.csv", File("text/csv", endless))
    with socket.create_connection(address) as visitor:
        request = f"GET /take/{release.slug}/{release.version}/table.csv?{AREA} HTTP/1.1\r\nHost: x\r\n\r\n"
        visitor.sendall(request.encode())
        assert begun.wait(30)
        assert not ended.is_set()
    assert ended.wait(30), "the work goes on after the client has left"
