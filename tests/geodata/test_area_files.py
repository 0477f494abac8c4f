"""Areas from files: every format, what is repaired or refused and why, and files that are made to hurt."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import geopandas
import pytest
import shapely

from geodata.errors import GeodataError, GeometryError, SourceFileError
from geodata.geography import area_files, area_reader
from geodata.geography.area_files import AreaFile, read_area_file, read_area_upload
from mapapp.question.area_text import geometries_of

ONE, TWO = shapely.box(-71, 42, -70.9, 42.1), shapely.box(-70.8, 42, -70.7, 42.1)
TRACK = "".join(f'<trkpt lat="{lat}" lon="{lon}"/>' for lon, lat in ((-71, 42), (-70.9, 42), (-70.9, 42.1)))
GPX = f'<?xml version="1.0"?><gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>Run</name><trkseg>{TRACK}</trkseg></trk></gpx>'


@pytest.fixture
def frame() -> Any:
    return geopandas.GeoDataFrame({"name": ["One", "Two"]}, geometry=[ONE, TWO], crs=4326)


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def shapefile(frame: Any, folder: Path, prefix: str = "") -> dict[str, bytes]:
    frame.to_file(folder / "a.shp")
    return {f"{prefix}{file.name}": file.read_bytes() for file in sorted(folder.glob("a.*"))}


def geojson(geometry: Any, **more: Any) -> bytes:
    feature = {"type": "Feature", "properties": {}, "geometry": geometry}
    return json.dumps({"type": "FeatureCollection", "features": [feature], **more}).encode()


def check(found: AreaFile) -> None:
    assert [name for name, _ in found.shapes] == ["One", "Two"]
    assert shapely.area(shapely.symmetric_difference(found.area, shapely.union(ONE, TWO))) < 1e-9


def test_geojson_and_geopackage(frame: Any, tmp_path: Path) -> None:
    frame.to_file(tmp_path / "a.geojson")
    check(read_area_file(tmp_path / "a.geojson"))
    frame.to_crs(26919).to_file(tmp_path / "a.gpkg")
    check(read_area_file(tmp_path / "a.gpkg"))


def test_a_zipped_shapefile_wherever_it_says_it_lies(frame: Any, tmp_path: Path) -> None:
    parts = shapefile(frame.to_crs(2263), tmp_path, prefix="../../../../tmp/evil/")
    check(read_area_upload("a.zip", zipped({"__MACOSX/._a.shp": b"x", **parts})))
    assert not Path("/tmp/evil").exists()


def test_kml_plain_and_zipped(frame: Any, tmp_path: Path) -> None:
    frame.to_file(tmp_path / "a.kml", driver="KML")
    content = (tmp_path / "a.kml").read_bytes()
    check(read_area_upload("a.kmz", zipped({"doc.kml": content})))


def test_a_track_is_closed_to_an_area() -> None:
    found = read_area_upload("run.gpx", GPX.encode())
    assert [name for name, _ in found.shapes] == ["Run"]
    assert shapely.area(found.area) == pytest.approx(0.005)
    assert found.notes == ("1 tracks or routes were closed to areas.",)


LINE = shapely.LineString([(-71, 42), (-70.95, 42.03), (-70.9, 42.0)])


@pytest.mark.parametrize("form", ["geojson", "gpkg", "kml", "zip", "gpx"])
def test_lines_are_read_where_they_are_wanted(tmp_path: Path, form: str) -> None:
    frame = geopandas.GeoDataFrame({"name": ["One", "Two"]}, geometry=[LINE, LINE.reverse()], crs=4326)
    if form == "zip":
        content = zipped(shapefile(frame, tmp_path))
    elif form == "gpx":
        content = GPX.encode()
    else:
        frame.to_file(tmp_path / f"a.{form}", driver={"kml": "KML"}.get(form))
        content = (tmp_path / f"a.{form}").read_bytes()
    found = read_area_upload(f"a.{form}", content, with_lines=True)
    assert found.lines is not None
    if form == "gpx":
        assert found.is_closed
        assert shapely.length(found.lines) == pytest.approx(0.2)
        return
    assert found.area is None
    assert shapely.length(found.lines) == pytest.approx(2 * shapely.length(LINE))
    with pytest.raises(GeometryError, match="a distance in miles to make a corridor around its lines"):
        read_area_upload(f"a.{form}", content)


def test_a_file_has_lines_beside_its_polygons() -> None:
    both = {
        "type": "GeometryCollection",
        "geometries": [json.loads(shapely.to_geojson(each)) for each in (ONE, LINE)],
    }
    found = read_area_upload("both.geojson", geojson(both))
    assert found.area is not None
    assert found.lines is not None
    assert shapely.equals(found.area, ONE)
    assert [part.geom_type for part in geometries_of(found, 1)] == ["Polygon", "MultiLineString"]
    assert [part.geom_type for part in geometries_of(found)] == ["Polygon"]


def test_bad_shapes_are_repaired_and_others_left_out() -> None:
    bow = {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]}
    mixed = {"type": "GeometryCollection", "geometries": [bow, {"type": "Point", "coordinates": [5, 5]}]}
    found = read_area_upload("bow.geojson", geojson(mixed))
    assert shapely.area(found.area) == pytest.approx(0.5)
    assert found.notes == ("1 shapes were not valid and were repaired.",)


def without_prj(frame: Any, folder: Path) -> bytes:
    parts = shapefile(frame, folder)
    del parts["a.prj"]
    return zipped(parts)


def geopackage(frame: Any, folder: Path, *statements: str) -> bytes:
    frame.to_file(folder / "a.gpkg")
    with sqlite3.connect(folder / "a.gpkg") as base:
        for statement in statements:
            base.execute(statement)
    base.close()
    return (folder / "a.gpkg").read_bytes()


REFUSED: list[tuple[str, Any, type[GeodataError], str]] = [
    ("no.zip", without_prj, GeometryError, "put the shapefile's .prj beside"),
    (
        "cut.zip",
        lambda frame, folder: zipped(shapefile(frame, folder))[:-200],
        SourceFileError,
        "cannot be read as a zip",
    ),
    (
        "two.zip",
        lambda *_: zipped({"a.shp": b"", "b.shp": b""}),
        SourceFileError,
        "2 files of areas in the zip \\(a, b\\)",
    ),
    ("none.zip", lambda *_: zipped({"a.txt": b""}), SourceFileError, "no shapefile, geodatabase"),
    (
        "many.zip",
        lambda *_: zipped({f"{n}": b"" for n in range(1_100)}),
        SourceFileError,
        "1,100 files in it",
    ),
    (
        "bomb.zip",
        lambda *_: zipped({"a.shp": bytes(120 << 20), "a.shx": b"", "a.prj": b""}),
        SourceFileError,
        "unpacks to more than 100 MiB",
    ),
    ("big.geojson", lambda *_: bytes((20 << 20) + 1), SourceFileError, "more than 20 MiB"),
    ("text.geojson", lambda *_: b"hello", SourceFileError, "format is not supported"),
    ("", lambda *_: b"", SourceFileError, "format is not supported"),
    ("half.geojson", lambda *_: b'{"type": "FeatureCollection", "feat', SourceFileError, "cannot be read"),
    ("deep.geojson", lambda *_: b'{"a":' * 100_000, SourceFileError, "cannot be read"),
    (
        "point.geojson",
        lambda *_: geojson({"type": "Point", "coordinates": [0, 0]}),
        GeometryError,
        "points and lines have no area",
    ),
    (
        "metres.geojson",
        lambda *_: geojson(
            {"type": "Polygon", "coordinates": [[[3e5, 4e6], [4e5, 4e6], [4e5, 5e6], [3e5, 4e6]]]}
        ),
        GeometryError,
        "are not degrees",
    ),
    (
        "vrt.geojson",
        lambda *_: (
            b'<OGRVRTDataSource><OGRVRTLayer name="x"><SrcDataSource>/etc/passwd</SrcDataSource>'
            b"</OGRVRTLayer></OGRVRTDataSource>"
        ),
        SourceFileError,
        "neither KML nor GPX",
    ),
    (
        "vrt.kml",
        lambda *_: (
            b"<OGRVRTDataSource><!-- <kml --><OGRVRTLayer name='x'><SrcDataSource>/etc/passwd</SrcDataSource>"
            b"</OGRVRTLayer></OGRVRTDataSource>"
        ),
        SourceFileError,
        "cannot be read as KML",
    ),
    (
        "laughs.kml",
        lambda *_: b'<!DOCTYPE kml [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><kml>&b;</kml>',
        SourceFileError,
        "document type",
    ),
    (
        "entity.gpx",
        lambda *_: b'<?xml version="1.0"?><!doctype gpx SYSTEM "file:///etc/passwd"><gpx/>',
        SourceFileError,
        "document type",
    ),
    ("wide.kml", lambda *_: "<kml></kml>".encode("utf-16"), GeometryError, "it holds no polygons"),
    ("page.html", lambda *_: b"<html><body>404</body></html>", SourceFileError, "neither KML nor GPX"),
    (
        "noplace.gpkg",
        lambda frame, folder: geopackage(frame.set_crs(None, allow_override=True), folder),
        GeometryError,
        "coordinate reference system",
    ),
    (
        "empty.gpkg",
        lambda frame, folder: geopackage(frame, folder, "DELETE FROM a"),
        GeometryError,
        "it holds no polygons",
    ),
]


@pytest.mark.parametrize(("name", "make", "kind", "said"), REFUSED, ids=[name for name, *_ in REFUSED])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_cannot_be_taken_is_refused_in_one_line(
    frame: Any, tmp_path: Path, name: str, make: Any, kind: type[GeodataError], said: str
) -> None:
    with pytest.raises(kind, match=said) as caught:
        read_area_upload(name, make(frame, tmp_path))
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 300
    assert "passwd" not in text
    assert str(tmp_path) not in text


def test_a_file_that_takes_for_ever_is_given_up(
    frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(area_files, "SECONDS", 3)
    endless = (
        "CREATE VIEW b AS WITH RECURSIVE n(fid) AS (SELECT 1 UNION ALL SELECT fid + 1 FROM n) "
        "SELECT fid, geom FROM n, a"
    )
    listed = (
        "INSERT INTO gpkg_contents SELECT 'b', data_type, 'b', description, last_change, min_x, min_y, max_x, max_y, "
        "srs_id FROM gpkg_contents"
    )
    column = (
        "INSERT INTO gpkg_geometry_columns SELECT 'b', column_name, geometry_type_name, srs_id, z, m "
        "FROM gpkg_geometry_columns"
    )
    content = geopackage(frame, tmp_path, "DELETE FROM a", endless, listed, column)
    with pytest.raises(SourceFileError, match=r"took more than 3 seconds|cannot be read as GPKG"):
        read_area_upload("endless.gpkg", content)


def test_names_of_files_are_shown_short_and_plain() -> None:
    with pytest.raises(SourceFileError) as caught:
        read_area_upload("../../" + "x" * 500 + "\x1b[31m.zip", b"nothing")
    assert str(caught.value).startswith("xx")
    assert "\x1b" not in str(caught.value)
    with pytest.raises(SourceFileError, match="no such file"):
        read_area_file(Path("/nowhere/at/all.geojson"))


def grid_of_bars(n: int) -> bytes:
    """Bars across bars: few corners, and the square of their number of crossings."""
    at = [-71 + 1.6 * place / n for place in range(n)]
    wide = [shapely.box(west, 41, west + 0.4 / n, 42) for west in at]
    high = [shapely.box(-71, 41 + 0.9 * place / n, -69, 41 + 0.9 * place / n + 0.4 / n) for place in range(n)]
    features = [
        {"type": "Feature", "properties": {}, "geometry": shapely.geometry.mapping(shape)}
        for shape in wide + high
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


def test_overlaps_are_joined_while_they_are_few() -> None:
    found = read_area_upload("bars.geojson", grid_of_bars(20))
    assert len(found.shapes) == 40
    assert shapely.is_valid(found.area)


def test_overlaps_are_counted_before_they_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapely, "union_all", None)
    shapes = [
        shapely.geometry.shape(feature["geometry"]) for feature in json.loads(grid_of_bars(2_000))["features"]
    ]
    with pytest.raises(GeometryError, match="overlap or cross in too many places"):
        area_reader.join_polygons(shapes)


def test_rings_and_vertices_of_all_layers_together_are_counted_before_they_are_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holes = [shapely.box(-71 + n / 1e4, 42, -71 + n / 1e4 + 5e-5, 42.001).exterior for n in range(100)]
    frame = geopandas.GeoDataFrame(
        geometry=[shapely.Polygon(shapely.box(-72, 41, -70, 43).exterior, holes)], crs=4326
    )
    for layer in ("one", "two"):
        frame.to_file(tmp_path / "a.gpkg", layer=layer)
    monkeypatch.setattr(area_reader, "mend_polygon", None)
    for name, most, said in (("MAX_RINGS", 150, "rings"), ("MAX_READ_VERTICES", 600, "vertices")):
        with monkeypatch.context() as patch:
            patch.setattr(area_reader, name, most)
            patch.setattr(area_reader, "_polygon", lambda *_, **__: None)
            with pytest.raises(GeometryError, match=f"more than {most} {said}"):
                area_reader.read_shapes(str(tmp_path / "a.gpkg"), "GPKG")


def test_reading_ends_when_nobody_waits_for_it() -> None:
    with pytest.raises(SourceFileError):
        read_area_upload("bars.geojson", grid_of_bars(20), lambda: True)
