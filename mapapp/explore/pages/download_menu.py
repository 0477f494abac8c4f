"""The download menu of a view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from mapapp.answers.words import PART, Attributes, aria
from mapapp.explore.pages.frame import share

Address = Callable[..., str]
"""Returns the address of a file, given its name and options."""


class OptionMenu(NamedTuple):
    """A menu of the values of an option of files; the first is the usual one."""

    option: str
    label: str
    choices: dict[str, str]


_SIZES: Final = OptionMenu(
    "scale",
    "Size of the PNG",
    {"2": "2× size", "1": "1× size", "3": "3× size", "4": "4× size"},
)
_PAPERS: Final = OptionMenu(
    "paper", "Paper of the PDF", {"": "Usual paper", "letter": "US Letter", "a4": "A4"}
)
_ROWS: Final = OptionMenu("rows", "Rows of the PDF", {"": "First rows", "all": "Every row"})
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
    rows = [
        _row(
            "Report",
            [
                ("PDF", address("report.pdf"), "report as PDF"),
                ("HTML", address("report.html"), "report as one HTML file"),
                ("XLSX", address("report.xlsx"), "report as XLSX"),
            ]
            * ready,
            menus=(_PAPERS, _ROWS),
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
            "Map as shown",
            [
                ("PNG", address("map.png", scale="2"), "map as PNG"),
                ("SVG", address("map.svg"), "map as SVG"),
            ],
            menus=(_SIZES,),
            view=True,
        ),
        _row(
            "Charts",
            [
                ("PNG", address("chart.png", scale="2"), "charts as PNG"),
                ("SVG", address("chart.svg"), "charts as SVG"),
            ]
            * ready,
            menus=(_SIZES,),
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


def _row(
    title: str,
    files: list[tuple[str, str, str]],
    *,
    menus: Sequence[OptionMenu] = (),
    view: bool = False,
) -> Component | None:
    if not files:
        return None
    name = f"take-{title.split()[0].strip(',:').lower()}"
    return html.Div(
        [
            html.Div(
                [html.Span(title, id=name), *(_menu(menu) for menu in menus)],
                className="take-title",
            ),
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


def _menu(menu: OptionMenu) -> Component:
    """A menu whose value the page's script adds to the addresses of its row (`assets/take.js`)."""
    option: Attributes = {"data-option": menu.option}
    return html.Label(
        [
            html.Span(menu.label, className="unseen"),
            html.Select(
                [html.Option(text, value=value) for value, text in menu.choices.items()],
                className="take-option",
                **option,
            ),
        ]
    )
