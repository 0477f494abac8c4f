"""Answers of one analysis as a layer: units as outlines, flows as lines between centers, or the area itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, cast

import numpy as np
import pandas
import shapely

from geodata.progress import Progress, silent
from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.analyses.results import NUMBERS, Change, FlowMatrix, Result
from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.show.exports.layer import NOTHING, Geometry, Layer, Part, fields_of, in_parts
from mapapp.show.exports.provenance import Origin, Provenance
from mapapp.show.files.answers import main_table, table_of

SHAPED: Final = ("geojson", "gpkg", "shp", "kml", "geoparquet")
"""Formats with geometries."""

SUFFIXES: Final = {
    "geojson": ".geojson",
    "gpkg": ".gpkg",
    "shp": ".zip",
    "kml": ".kml",
    "geoparquet": ".geoparquet",
}


def answer_layer(release: Release, results: Iterable[Result]) -> Layer:
    """Answers of one analysis as one layer, whose rows can be iterated only once.

    Rows without a place, such as “all others” or a state outside the map, have no geometry.

    Raises
    ------
    UsageError
        If the answers are changes, which belong to two releases.
    """
    answers = iter(results)
    first = next(answers, None)
    if first is None:
        raise UsageError(NOTHING)
    if isinstance(first, Change):
        raise UsageError("a change has no shapes; write csv, xlsx or json instead")
    parts = chain(_parts(release, first), (part for answer in answers for part in _parts(release, answer)))
    head = next(parts)
    geometry: Geometry = "LineString" if entry_of(first).pairs else "MultiPolygon"
    about = first.about
    return Layer(
        name=about.analysis.replace("-", "_"),
        title=f"{about.title}, {about.release}",
        geometry=geometry,
        fields=fields_of(head.frame),
        n_rows=0,
        parts=lambda: chain([head], parts),
    )


def write_answers(
    release: Release, results: Iterable[Result], form: str, file: Path, *, report: Progress = silent
) -> None:
    """Write answers of one analysis to a file in one of the formats of `SHAPED`.

    Raises
    ------
    UsageError
        As `answer_layer`; also if there are more rows than the format holds.
    """
    from mapapp.show.exports import gdal_files, text_files

    layer, provenance = answer_layer(release, results), Provenance.of(release.store)
    if form == "gpkg":
        gdal_files.write_gpkg([layer], provenance, file, report=report)
    elif form == "shp":
        text = readme(provenance, [layer.title])
        gdal_files.write_shapefiles([layer], provenance, file, readme=text, report=report)
    elif form == "geoparquet":
        from mapapp.show.exports.arrow_files import write_geoparquet

        write_geoparquet(layer, provenance, file, report=report)
    else:
        with file.open("w", encoding="utf-8") as stream:
            if form == "kml":
                text_files.write_kml([layer], provenance, stream, report=report)
            else:
                text_files.write_geojson(layer, provenance, stream, report=report)


def readme(provenance: Origin, notes: Iterable[str]) -> str:
    """The text of a README for formats that cannot store their origin."""
    lines = [*provenance.lines(), "", *(f"- {note}" for note in notes)]
    return "\n".join([f"Exported from {provenance.publication}.", "", *lines]) + "\n"


def sidecar(provenance: Origin, notes: Iterable[str] = ()) -> str:
    """The same content as JSON."""
    document = provenance.to_dict() | ({"notes": list(notes)} if notes else {})
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def shapes_of(release: Release, result: Result) -> tuple[str, Sequence[shapely.Geometry | None]]:
    """Name of the table whose rows have places, and the shape of each row in degrees, or None."""
    if pairs := entry_of(result).pairs:
        return pairs, _lines(cast(FlowMatrix, result), pairs)
    layer = getattr(result, "layer", None)
    if layer is None:
        return NUMBERS, [_outline(release, result)]
    name = main_table(result)
    return name, unit_shapes(release, layer, result.tables()[name])


def unit_shapes(release: Release, layer: str, rows: pandas.DataFrame) -> list[shapely.Geometry | None]:
    """The outline of each row's unit; None for rows that are not units."""
    outlines = release.outlines.of_layer(layer)
    units = zip(rows["unit_id"], rows["kind"], strict=True)
    return [outlines.get(unit_id) if kind == "unit" else None for unit_id, kind in units]


def _parts(release: Release, result: Result) -> Iterator[Part]:
    name, shapes = shapes_of(release, result)
    yield from in_parts(table_of(result, name), shapes)


def _outline(release: Release, result: Result) -> shapely.Geometry | None:
    """Outline of the area of an answer; None if the answer has two areas."""
    text = result.about.area_text
    if "|" in text:
        return None
    return release.outlines.of_blocks(release.areas.select(text).blocks)


def _lines(result: FlowMatrix, pairs: str) -> list[shapely.Geometry | None]:
    places = {
        end: {
            (row["kind"], row["unit_id"]): (row["lon_deg"], row["lat_deg"])
            for row in margin.to_dict("records")
            if not pandas.isna(row["lon_deg"])
        }
        for end, margin in (("home", result.homes), ("work", result.works))
    }
    flows = getattr(result, pairs)
    shapes = np.empty(len(flows), dtype=object)
    for at, row in enumerate(flows.itertuples()):
        home = places["home"].get((row.home_kind, row.home_id))
        work = places["work"].get((row.work_kind, row.work_id))
        shapes[at] = None if home is None or work is None else shapely.LineString([home, work])
    return list(shapes)
