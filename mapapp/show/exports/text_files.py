"""Writes layers as text, row by row: GeoJSON (RFC 7946), KML 2.2 and CSV."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from typing import IO, Final
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import numpy.typing as npt
import shapely

from geodata.progress import Progress, silent
from mapapp.show.exports.layer import Layer, Shapes, records
from mapapp.show.exports.provenance import Provenance
from mapapp.show.exports.spreadsheet import harmless

GRID_DEG: Final = 1e-5  # about 1 m
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_KML_TYPES: Final = {"text": "string", "whole": "int", "number": "double", "flag": "bool"}


def write_geojson(
    layer: Layer, provenance: Provenance, stream: IO[str], *, report: Progress = silent
) -> None:
    """Write a layer as a FeatureCollection; the member `commutemap` has its provenance.

    Source: RFC 7946: WGS 84, rings by the right-hand rule, null geometry for a row without a place.
    """
    about = provenance.to_dict() | {"layer": layer.title}
    head = {"type": "FeatureCollection", "name": layer.name, "commutemap": about}
    stream.write(json.dumps(head, ensure_ascii=False, allow_nan=False)[:-1] + ', "features": [')
    first = True
    for part in layer.report_parts(report):
        shapes = shapely.to_geojson(round_shapes(part.shapes))
        for row, shape in zip(records(layer, part), shapes, strict=True):
            properties = json.dumps(row, ensure_ascii=False, allow_nan=False)
            stream.write("\n" if first else ",\n")
            stream.write(f'{{"type": "Feature", "properties": {properties}, "geometry": {shape or "null"}}}')
            first = False
    stream.write("\n]}\n")


def round_shapes(shapes: Shapes) -> npt.NDArray[np.object_]:
    """Shapes with coordinates rounded to five decimals and outer rings counterclockwise; None for None or empty.

    A shape that rounding would collapse keeps its decimals.
    """
    held = np.asarray(shapes, dtype=object)
    short = shapely.set_precision(held, GRID_DEG)
    lost = shapely.is_empty(short) & ~shapely.is_empty(held)
    short = np.where(lost, held, short)
    short[shapely.is_empty(short)] = None
    return np.asarray(shapely.orient_polygons(short, exterior_cw=False), dtype=object)


def write_kml(
    layers: Sequence[Layer], provenance: Provenance, stream: IO[str], *, report: Progress = silent
) -> None:
    """Write layers as folders of one document, whose description has the provenance."""
    stream.write(
        '<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2">\n<Document>\n'
    )
    stream.write(f"<name>{_text(provenance.title)}</name>\n")
    stream.write(f"<description>{_text(chr(10).join(provenance.lines()))}</description>\n")
    stream.write(
        '<Style id="area"><LineStyle><color>ff4f3014</color><width>1</width></LineStyle>'
        "<PolyStyle><color>66b0763a</color></PolyStyle></Style>\n"
    )
    for layer in layers:
        fields = [
            f'<SimpleField name={quoteattr(name)} type="{_KML_TYPES[kind]}"/>'
            for name, kind in layer.fields.items()
        ]
        stream.write(f'<Schema name="{layer.name}" id="{layer.name}">{"".join(fields)}</Schema>\n')
    for layer in layers:
        stream.write(f"<Folder><name>{_text(layer.title)}</name>\n")
        for part in layer.report_parts(report):
            shapes = round_shapes(part.shapes)
            for row, shape in zip(records(layer, part), shapes, strict=True):
                stream.write(_placemark(layer, row, shape))
        stream.write("</Folder>\n")
    stream.write("</Document>\n</kml>\n")


def _placemark(layer: Layer, row: dict[str, object], shape: shapely.Geometry) -> str:
    values = [
        f"<SimpleData name={quoteattr(name)}>{_text(_said(value))}</SimpleData>"
        for name, value in row.items()
        if value is not None
    ]
    return (
        f"<Placemark><name>{_text(_said(row[layer.label_field]))}</name><styleUrl>#area</styleUrl>"
        f'<ExtendedData><SchemaData schemaUrl="#{layer.name}">{"".join(values)}</SchemaData></ExtendedData>'
        f"{'' if shape is None else _kml_shape(shape)}</Placemark>\n"
    )


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return format(value, ".10g") if isinstance(value, float) else "" if value is None else str(value)


def _text(text: str) -> str:
    """Text as XML; characters that XML does not allow, such as control characters, are replaced."""
    return escape(_NOT_XML.sub("�", text))


def _kml_shape(shape: shapely.Geometry) -> str:
    if shape.geom_type == "Point":
        return f"<Point>{_coordinates(shape)}</Point>"
    if shape.geom_type == "LineString":
        return f"<LineString>{_coordinates(shape)}</LineString>"
    if shape.geom_type == "Polygon":
        holes = [f"<innerBoundaryIs>{_ring(ring)}</innerBoundaryIs>" for ring in shape.interiors]
        return (
            f"<Polygon><outerBoundaryIs>{_ring(shape.exterior)}</outerBoundaryIs>{''.join(holes)}</Polygon>"
        )
    return f"<MultiGeometry>{''.join(_kml_shape(part) for part in shape.geoms)}</MultiGeometry>"


def _ring(ring: shapely.LinearRing) -> str:
    return f"<LinearRing>{_coordinates(ring)}</LinearRing>"


def _coordinates(shape: shapely.Geometry) -> str:
    places = " ".join(f"{lon:.10g},{lat:.10g}" for lon, lat in shapely.get_coordinates(shape).tolist())
    return f"<coordinates>{places}</coordinates>"


def write_csv(layer: Layer, stream: IO[str], *, report: Progress = silent) -> None:
    """Write the fields of a layer; text that a spreadsheet would read as a formula gets an apostrophe."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(layer.fields)
    for part in layer.report_parts(report):
        for row in records(layer, part):
            writer.writerow(
                [_said(value) if not isinstance(value, str) else harmless(value) for value in row.values()]
            )
