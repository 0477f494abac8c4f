"""The answers of one analysis as a layer: units with their outlines, flows as lines between centres, else the area."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas
import shapely

from geodata.progress import Progress, silent
from mapapp.answers.analyses import Release
from mapapp.answers.results import Change, FlowMatrix, Result
from mapapp.errors import UsageError
from mapapp.files.answer_files import NUMBERS, main_table, table_of
from mapapp.files.exports.layer import Geometry, Layer, Part, fields_of, in_parts
from mapapp.files.exports.provenance import Provenance

SHAPED: Final = ("geojson", "gpkg", "shp", "kml")
"""Formats with geometries."""

SUFFIXES: Final = {"geojson": ".geojson", "gpkg": ".gpkg", "shp": ".zip", "kml": ".kml"}


def answer_layer(release: Release, results: Iterable[Result]) -> Layer:
    """Answers of one analysis as one layer, whose rows can be made once.

    Rows without a place, such as a rest or a state elsewhere, have no geometry.

    Raises
    ------
    UsageError
        When they are changes, which are of two releases.
    """
    found = iter(results)
    first = next(found, None)
    if first is None:
        raise UsageError("there is no answer to write: no unit of that layer lies in the area")
    if isinstance(first, Change):
        raise UsageError("a change has no shapes; write csv, xlsx or json")
    parts = chain(_parts(release, first), (part for each in found for part in _parts(release, each)))
    head = next(parts)
    geometry: Geometry = "LineString" if isinstance(first, FlowMatrix) else "MultiPolygon"
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
    """Write answers of one analysis to a file of one of the formats `SHAPED`.

    Raises
    ------
    UsageError
        As `answer_layer`; also when there are more rows than the format holds.
    """
    from mapapp.files.exports import gdal_files, text_files

    layer, provenance = answer_layer(release, results), Provenance.of(release.store)
    if form == "gpkg":
        gdal_files.write_gpkg([layer], provenance, file, report=report)
    elif form == "shp":
        text = readme(provenance, [layer.title])
        gdal_files.write_shapefiles([layer], provenance, file, readme=text, report=report)
    else:
        with file.open("w", encoding="utf-8") as stream:
            if form == "kml":
                text_files.write_kml([layer], provenance, stream, report=report)
            else:
                text_files.write_geojson(layer, provenance, stream, report=report)


def readme(provenance: Provenance, notes: Iterable[str]) -> str:
    """The text beside files of a format that has no place for where they come from."""
    lines = [*provenance.lines(), "", *(f"- {note}" for note in notes)]
    return "\n".join(["Exported from a CommuteMap release.", "", *lines]) + "\n"


def sidecar(provenance: Provenance, notes: Iterable[str] = ()) -> str:
    """The same as JSON."""
    document = provenance.to_dict() | ({"notes": list(notes)} if notes else {})
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def shapes_of(release: Release, result: Result) -> tuple[str, Sequence[Any]]:
    """Return the table of an answer whose rows have places, and for each row its shape in degrees or None."""
    if isinstance(result, FlowMatrix):
        return "cells", _lines(result)
    layer = getattr(result, "layer", None)
    if layer is None:
        return NUMBERS, [_outline(release, result)]
    name = main_table(result)
    return name, unit_shapes(release, layer, result.tables()[name])


def unit_shapes(release: Release, layer: str, rows: Any) -> list[Any]:
    """Return the outline of the unit of each row; None for other rows."""
    outlines = release.outlines.of_layer(layer)
    units = zip(rows["unit_id"], rows["kind"], strict=True)
    return [outlines.get(unit_id) if kind == "unit" else None for unit_id, kind in units]


def _parts(release: Release, result: Result) -> Iterator[Part]:
    name, shapes = shapes_of(release, result)
    yield from in_parts(table_of(result, name), shapes)


def _outline(release: Release, result: Result) -> Any:
    """Outline of the area of an answer; None for one about two areas."""
    text = result.about.area_text
    if "|" in text:
        return None
    return release.outlines.of_blocks(release.areas.select(text).blocks)


def _lines(result: FlowMatrix) -> Any:
    places = {
        end: {
            (row.kind, row.unit_id): (row.lon_deg, row.lat_deg)
            for row in margin.itertuples()
            if not pandas.isna(row.lon_deg)
        }
        for end, margin in (("home", result.homes), ("work", result.works))
    }
    shapes = np.empty(len(result.cells), dtype=object)
    for at, row in enumerate(result.cells.itertuples()):
        home = places["home"].get((row.home_kind, row.home_id))
        work = places["work"].get((row.work_kind, row.work_id))
        shapes[at] = None if home is None or work is None else shapely.LineString([home, work])
    return shapes
