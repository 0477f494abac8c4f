"""The download menu of a view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from dash import html
from dash.development.base_component import Component

from mapapp.answers.words import PART, aria
from mapapp.explore.pages.frame import share

Address = Callable[..., str]
"""Returns the address of a file, given its name and options."""

_SHAPES: Final = {
    "shapes.geojson": "GeoJSON",
    "shapes.gpkg": "GeoPackage",
    "shapes.zip": "Shapefile",
    "shapes.kml": "KML",
}


def dock(embed_from: Sequence[str] = ()) -> Component:
    """The closed menu below the answer, and the line that reports progress."""
    return html.Div(
        [
            html.Details(
                [
                    html.Summary("Download and share"),
                    html.Div(
                        [share(embed_from), html.Div(id="take-files", className="take-rows", **PART)],
                        className="take-files",
                    ),
                ],
                id="take-home",
            ),
            html.Div(
                [
                    html.Span(id="take-said", role="status"),
                    html.Button("Stop", id="take-stop", className="button", n_clicks=0, hidden=True),
                ],
                className="take-status",
            ),
        ],
        className="take-dock",
    )


def menu(address: Address, *, ready: bool, changes: bool) -> list[Component]:
    """The files offered for a view.

    Parameters
    ----------
    address : callable
    ready : bool
        Whether the view has an answer. Without one there is no report and no chart.
    changes : bool
        Whether the view shows the change between two releases. A change has no shapes.
    """
    sizes = [
        (f"{scale}×", address("map.png", scale=str(scale)), f"map as PNG, {scale} times as large")
        for scale in (1, 2, 3, 4)
    ]
    charts = [
        (f"{scale}×", address("chart.png", scale=str(scale)), f"charts as PNG, {scale} times as large")
        for scale in (1, 2, 4)
    ]
    rows = [
        _row(
            "Report",
            [
                ("PDF", address("report.pdf"), "report as PDF"),
                ("PDF, every row", address("report.pdf", rows="all"), "report as PDF with every row"),
                ("PDF, A4", address("report.pdf", paper="a4"), "report as PDF on A4"),
                ("PDF, Letter", address("report.pdf", paper="letter"), "report as PDF on US Letter"),
                ("HTML", address("report.html"), "report as one HTML file"),
                ("XLSX", address("report.xlsx"), "report as XLSX"),
            ]
            * ready,
        ),
        _row(
            "Table with every row",
            [
                (name.upper(), address(f"table.{name}"), f"table as {name.upper()}")
                for name in ("csv", "xlsx")
            ],
        ),
        _row(
            "Rows with shapes",
            [(text, address(name), f"shapes as {text}") for name, text in _SHAPES.items()] * (not changes),
        ),
        _row(
            "Map as shown: PNG in four sizes, or SVG",
            [*sizes, ("SVG", address("map.svg"), "map as SVG")],
            view=True,
        ),
        _row(
            "Charts: PNG in three sizes, or SVG",
            [*charts, ("SVG", address("chart.svg"), "charts as SVG")] * ready,
        ),
        _row("This view", [("Setup file", address("setup.json"), "setup file")], view=True),
    ]
    said = [
        "Every file names the publication that it is from, and what it promises.",
        *([] if ready else ["For reports and charts, choose an area first."]),
    ]
    return [
        *(row for row in rows if row is not None),
        *(html.P(text, className="quiet small") for text in said),
    ]


def _row(title: str, files: list[tuple[str, str, str]], *, view: bool = False) -> Component | None:
    if not files:
        return None
    name = f"take-{title.split()[0].strip(',:').lower()}"
    return html.Div(
        [
            html.Div(title, className="take-title", id=name),
            html.Ul(
                [
                    html.Li(
                        html.A(
                            text,
                            href=href,
                            className="take view" if view else "take",
                            **aria(label=f"Download {said}"),
                        )
                    )
                    for text, href, said in files
                ],
                **aria(labelledby=name),
            ),
        ],
        className="take-row",
    )
