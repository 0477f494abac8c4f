"""Kinds of area files that people have: each is made here, and each reads as the same two squares."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
import shapely

from geodata.errors import GeometryError, SourceFileError
from geodata.geography import area_files, area_reader, area_shapes
from geodata.geography.area_files import read_area_file, read_area_upload

ONE, TWO = shapely.box(-71, 42, -70.9, 42.1), shapely.box(-70.8, 42, -70.7, 42.1)
BOTH = shapely.union(ONE, TWO)
GARMIN = "http://www.garmin.com/xmlschemas/GpxExtensions/v3"


def squares() -> Any:
    return geopandas.GeoDataFrame({"name": ["One", "Two"]}, geometry=[ONE, TWO], crs=4326)


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def features() -> list[dict[str, Any]]:
    return list(json.loads(squares().to_json())["features"])


def collection() -> bytes:
    return json.dumps({"type": "FeatureCollection", "features": features()}).encode()


def shapefiles(folder: Path, *names: str) -> dict[str, bytes]:
    for place, name in enumerate(names):
        squares().iloc[[place]].to_file(folder / f"{name}.shp")
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def saved(folder: Path, driver: str, suffix: str) -> bytes:
    squares().to_file(folder / f"a.{suffix}", driver=driver)
    return (folder / f"a.{suffix}").read_bytes()


def topojson(_: Path) -> bytes:
    arcs = [
        [[place * 200, 0], [100, 0], [0, 100], [-100, 0], [0, -100]] for place in (0, 1)
    ]  # differences, in thousandths
    shapes = [
        {"type": "Polygon", "arcs": [[place]], "properties": {"name": name}}
        for place, name in enumerate(("One", "Two"))
    ]
    return json.dumps(
        {
            "type": "Topology",
            "transform": {"scale": [0.001, 0.001], "translate": [-71, 42]},
            "objects": {"squares": {"type": "GeometryCollection", "geometries": shapes}},
            "arcs": arcs,
        }
    ).encode()


def esri_json(_: Path) -> bytes:
    shapes = [
        {
            "attributes": {"name": name},
            "geometry": {"rings": [[list(place) for place in shape.exterior.reverse().coords]]},
        }
        for name, shape in (("One", ONE), ("Two", TWO))
    ]
    return json.dumps(
        {
            "geometryType": "esriGeometryPolygon",
            "spatialReference": {"wkid": 4326},
            "fields": [{"name": "name", "type": "esriFieldTypeString"}],
            "features": shapes,
        }
    ).encode()


def geodatabase(folder: Path) -> bytes:
    squares().to_file(folder / "a.gdb", driver="OpenFileGDB")
    return zipped({f"deep/a.gdb/{file.name}": file.read_bytes() for file in (folder / "a.gdb").iterdir()})


def parquet(folder: Path) -> bytes:
    squares().to_crs(26919).to_parquet(folder / "a.parquet")
    return (folder / "a.parquet").read_bytes()


KINDS: list[tuple[str, Callable[[Path], bytes]]] = [
    ("a.topojson", topojson),
    ("a.json", esri_json),
    ("a.ndjson", lambda _: "\n".join(map(json.dumps, features())).encode()),
    ("a.geojsons", lambda _: "".join(f"\x1e{json.dumps(item)}\n" for item in features()).encode()),
    ("a.json.gz", lambda _: gzip.compress(collection())),
    ("a.gdb.zip", geodatabase),
    ("a.parquet", parquet),
    ("a.fgb", lambda folder: saved(folder, "FlatGeobuf", "fgb")),
    ("inside.zip", lambda folder: zipped({"notes.txt": b"x", "a.fgb": saved(folder, "FlatGeobuf", "fgb")})),
    ("utf-16.geojson", lambda _: collection().decode().encode("utf-16")),
    ("utf-16-be.geojson", lambda _: collection().decode().encode("utf-16-be")),
    (
        "utf-16.kml",
        lambda folder: saved(folder, "KML", "kml").decode().replace("utf-8", "UTF-16").encode("utf-16"),
    ),
    (
        "above.zip",
        lambda folder: zipped(
            {f"../{name}": part for name, part in shapefiles(folder, "a").items()} | {"../x": b""}
        ),
    ),
]


@pytest.mark.parametrize(("name", "make"), KINDS, ids=[name for name, _ in KINDS])
def test_a_kind_of_file_reads_as_its_squares(
    name: str, make: Callable[[Path], bytes], tmp_path: Path
) -> None:
    """Finds a kind that is not recognized, or that is read in another place or without its names."""
    area_file = read_area_upload(name, make(tmp_path))
    shapes = (ONE,) if name == "above.zip" else (ONE, TWO)
    names = sorted(title for title, _ in area_file.shapes)  # FlatGeobuf sorts by place
    assert names == ["One", "Two"][: len(shapes)]
    assert shapely.area(shapely.symmetric_difference(area_file.area, shapely.union_all(shapes))) < 1e-8


@pytest.mark.parametrize(
    "text",
    [
        f"{ONE.wkt}\n{TWO.wkt}\n".encode(),
        f"SRID=4326;{BOTH.wkt}".encode(),
        BOTH.wkt.replace(", ", ",\n").encode(),
        shapely.to_wkb(BOTH, hex=True).encode(),
        shapely.to_wkb(shapely.set_srid(BOTH, 4326), hex=True, include_srid=True).encode(),
        shapely.to_wkb(BOTH),
        shapely.to_wkb(BOTH, byte_order=0),
    ],
    ids=["lines", "srid", "wrapped", "hex", "hex with srid", "binary", "big endian"],
)
def test_text_of_shapes_reads(text: bytes) -> None:
    """Finds a form of WKT or WKB that is refused, or a reference system that is ignored."""
    assert shapely.equals(read_area_upload("a.wkt", text).area, BOTH)


def test_a_bare_shapefile_and_a_geodatabase_are_read_where_they_lie(tmp_path: Path) -> None:
    """Finds a .shp that is read without the files beside it."""
    parts = shapefiles(tmp_path, "a[1]", "b")
    assert shapely.equals(read_area_file(tmp_path / "a[1].shp").area, ONE)
    (tmp_path / "b.prj").unlink()
    with pytest.raises(GeometryError, match=r"b\.shp: no coordinate reference system"):
        read_area_file(tmp_path / "b.shp")
    with pytest.raises(SourceFileError, match=r"a \.shp alone"):
        read_area_upload("b.shp", parts["b.shp"])
    squares().to_file(tmp_path / "c.gdb", driver="OpenFileGDB", layer="squares")
    area = read_area_file(tmp_path / "c.gdb!squares").area
    assert shapely.area(shapely.symmetric_difference(area, BOTH)) < 1e-8  # a geodatabase rounds coordinates


def test_one_of_several_shapefiles_or_layers_is_named(tmp_path: Path) -> None:
    """Finds a zip of several shapefiles that cannot be read, or of which the wrong one is."""
    (tmp_path / "parts").mkdir()
    both = tmp_path / "both.zip"
    both.write_bytes(zipped(shapefiles(tmp_path / "parts", "north", "south")))
    assert shapely.equals(read_area_file(tmp_path / "both.zip!south").area, TWO)
    with pytest.raises(SourceFileError, match=r"\(north, south\).* such as both\.zip!north"):
        read_area_file(both)
    with pytest.raises(SourceFileError, match=r"\(north, south\)"):
        read_area_file(tmp_path / "both.zip!east")
    for layer, place in (("north", 0), ("south", 1)):
        squares().iloc[[place]].to_file(tmp_path / "a.gpkg", layer=layer)
    assert shapely.equals(read_area_file(tmp_path / "a.gpkg!north").area, ONE)
    with pytest.raises(GeometryError, match="no layer 'east' in it; it has north, south"):
        read_area_file(tmp_path / "a.gpkg!east")


def gpx() -> bytes:
    fields = (
        "<cmt>c</cmt><desc>d</desc><src>s</src>"
        '<link href="http://a.example"><text>t</text><type>y</type></link><link href="http://b.example"/>'
        "<number>3</number><type>running</type>"
    )
    more = (
        "<extensions><gpxx:TrackExtension><gpxx:DisplayColor>Red</gpxx:DisplayColor></gpxx:TrackExtension>"
        "<other>5</other></extensions>"
    )
    point = (
        "<ele>3.5</ele><time>2020-01-01T00:00:00.123Z</time><magvar>1</magvar><geoidheight>2</geoidheight>"
    )
    point += (
        "<name>p</name><sym>Flag</sym><fix>3d</fix><sat>9</sat><hdop>1</hdop><ageofdgpsdata>1</ageofdgpsdata>"
    )
    track = "".join(
        f'<trkpt lat="{lat}" lon="{lon}">{point}<dgpsid>1</dgpsid>{more}</trkpt>'
        for lon, lat in shapely.get_coordinates(ONE)
    )
    return (
        f'<?xml version="1.0"?><gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1" '
        f'xmlns:gpxx="{GARMIN}"><metadata><name>m</name><author><email id="a" domain="b.example"/></author>'
        f'<bounds minlat="1" minlon="1" maxlat="2" maxlon="2"/></metadata><wpt lat="42" lon="-71">{point}{more}</wpt>'
        f"<trk><name>One</name>{fields}{more}<trkseg>{track}</trkseg></trk></gpx>"
    ).encode()


def test_a_track_with_every_field_and_extensions_of_makers() -> None:
    """Finds a field of a track that ends the reading, though only its name is needed."""
    area_file = read_area_upload("run.gpx", gpx())
    assert [title for title, _ in area_file.shapes] == ["One"]
    assert shapely.equals(area_file.area, ONE)


def polygon_file(*rings: list[list[float]]) -> bytes:
    return json.dumps({"type": "Polygon", "coordinates": rings}).encode()


def test_a_ring_that_is_not_closed_is_closed() -> None:
    """Finds a ring left open that ends the reading, in GeoJSON and as WKB."""
    ring = [list(place) for place in ONE.exterior.coords[:-1]]
    assert shapely.equals(read_area_upload("a.geojson", polygon_file(ring)).area, ONE)
    counts = {"open": 0}
    wkb = bytearray(shapely.to_wkb(ONE))
    wkb[9:13] = (4).to_bytes(4, "little")
    (shape,) = area_reader._from_wkb([bytes(wkb[:-16])], counts)
    assert shapely.equals(shape, ONE)
    assert counts == {"open": 1}


def test_longitudes_to_360_are_west_of_greenwich() -> None:
    """Finds Alaska off the globe, or an area at the 180th meridian put together wrongly."""
    east = shapely.transform(BOTH, lambda places: places + np.array([360, 0]))
    area_file = read_area_upload("a.wkt", east.wkt.encode())
    assert shapely.area(shapely.symmetric_difference(area_file.area, BOTH)) < 1e-9
    assert area_file.notes == ("1 shapes had longitudes beyond 180, which were taken as west of Greenwich.",)
    across = read_area_upload("a.wkt", shapely.box(172, 51, 190, 53).wkt.encode()).area
    assert (
        shapely.area(
            shapely.symmetric_difference(
                across, shapely.union(shapely.box(172, 51, 180, 53), shapely.box(-180, 51, -170, 53))
            )
        )
        < 1e-9
    )


def test_latitude_given_first_is_named_where_it_is_off_the_globe() -> None:
    """Finds exchanged axes that are called other than degrees."""
    swapped = shapely.transform(shapely.box(-122, 37, -121, 38), lambda places: places[:, ::-1])
    with pytest.raises(GeometryError, match="latitude of -122 is off the globe; latitude and longitude seem"):
        read_area_upload("a.wkt", swapped.wkt.encode())


def jagged(n: int) -> Any:
    turn = np.linspace(0, 2 * np.pi, n, endpoint=False)
    radius = 0.5 + 0.05 * np.sin(40 * turn) + np.random.default_rng(1).normal(0, 2e-6, n)
    return shapely.Polygon(np.column_stack([-71 + radius * np.cos(turn), 42 + radius * np.sin(turn)]))


def test_many_vertices_are_simplified_and_hold_the_same_places() -> None:
    """Finds a shape of many vertices that is refused, or one that loses or gains places off its edge."""
    shape = jagged(60_000)
    area_file = read_area_upload("a.wkb", shapely.to_wkb(shape))
    corners = shapely.get_num_coordinates(area_file.area)
    assert corners <= 50_000
    assert area_file.notes == (f"Simplified to {corners:,} corners; its lines moved by at most 1 m.",)
    places = shapely.points(np.random.default_rng(2).uniform([-71.6, 41.4], [-70.4, 42.6], (5_000, 2)))
    far = shapely.distance(shape.exterior, places) > 2e-5
    shapely.prepare([shape, area_file.area])
    assert (shapely.contains(shape, places) == shapely.contains(area_file.area, places))[far].all()


def test_no_part_is_lost_when_corners_are_dropped() -> None:
    """Finds a part beyond a narrow neck that disappears, and a ring of a few centimeters that ends the reading."""
    hourglass = shapely.Polygon([(0, 0), (1, 0), (0.5, 0.5), (1, 1), (0, 1), (0.5 - 1e-8, 0.5)])
    line = shapely.LineString([(0, 0), (0.5, 1e-7), (1, 0)])
    features = [hourglass, None, shapely.box(0, 0, 1e-6, 1e-6), shapely.GeometryCollection([ONE, line])]
    simple = area_reader._with_fewer_corners(np.array(features, dtype=object), 1e-5)
    assert shapely.area(area_shapes.mend_polygon(simple[0])) == pytest.approx(0.5)
    assert [shapely.is_empty(shape) for shape in simple] == [False, True, True, False]
    assert shapely.get_num_coordinates(simple[3]) == 5 + 2


def test_too_many_vertices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finds shapes that stay too detailed and are passed on."""
    monkeypatch.setattr(area_reader, "MAX_VERTICES", 100)
    with pytest.raises(
        GeometryError, match="more than 100 vertices, also when its lines are simplified by 9 m"
    ):
        area_reader._simpler(np.array([jagged(5_000)], dtype=object))


REFUSED: list[tuple[str, bytes, str]] = [
    ("a.pdf", b"%PDF-1.4", "a PDF has no places"),
    ("a.rar", b"Rar!\x1a\x07", "a RAR archive; unpack it, and zip it"),
    ("a.dwg", b"AC1027", "an AutoCAD drawing; open it in QGIS"),
    ("a.mif", b"Version 300\n", "a MapInfo file; open it in QGIS"),
    ("a.gml", b'<a xmlns:gml="http://www.opengis.net/gml">', "GML, which is not supported; open it in QGIS"),
    ("a.osm", b"<osm version='0.6'>", "OpenStreetMap's own XML"),
    ("a.csv", b"x,y\n1,2\n", "format is not supported; .* or open it in QGIS"),
    ("a.zip", zipped({"a.json": gzip.compress(b"{}")}), "an archive in an archive"),
    ("a.gz", gzip.compress(gzip.compress(b"{}")), "an archive in an archive"),
    ("a.gz", gzip.compress(bytes(101 << 20)), "unpacks to more than 100 MiB"),
    ("a.gz", gzip.compress(b"{}" * 100)[:-20], "cannot be read as gzip"),
    ("a.wkt", b"POLYGON ((1 2, 3", "cannot be read as WKT"),
    ("a.parquet", b"PAR1" + bytes(100), "cannot be read as Parquet"),
]


@pytest.mark.parametrize(("name", "content", "said"), REFUSED)
def test_a_refused_format_says_what_would_open_it(name: str, content: bytes, said: str) -> None:
    """Finds a refusal that leaves the visitor without a next step."""
    with pytest.raises((SourceFileError, GeometryError), match=said) as refusal:
        read_area_upload(name, content)
    assert "\n" not in str(refusal.value)


def test_a_parquet_file_without_shapes_is_refused(tmp_path: Path) -> None:
    """Finds a table without geometry that ends the reader."""
    squares().drop(columns="geometry").to_parquet(tmp_path / "a.parquet")
    with pytest.raises(GeometryError, match="without the metadata of GeoParquet"):
        read_area_file(tmp_path / "a.parquet")
    squares().to_parquet(tmp_path / "b.parquet", geometry_encoding="geoarrow")
    with pytest.raises(GeometryError, match="not stored as WKB"):
        read_area_file(tmp_path / "b.parquet")


def test_a_reader_that_ends_without_an_answer_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finds a limit of time that is reported as a damaged file."""
    for status, said in (
        (-9, "took more than 15 seconds"),
        (1, r"the reader ended with status 1\); try again"),
    ):
        monkeypatch.setattr(area_files, "_output", lambda *_, status=status: (status, b""))
        with pytest.raises(SourceFileError, match=said):
            read_area_upload("a.geojson", collection())
