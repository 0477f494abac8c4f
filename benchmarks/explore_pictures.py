"""The pictures in docs/explore.md, taken anew: `python -m benchmarks.explore_pictures --release DIR [--output FOLDER]`.

Of a release of the demo country (`commutemap demo metro.dataset --size metro`). With `--table DIR` instead, the picture
of the page of a table in docs/tables.md, which has the commands that make it. Needs Playwright and a Chromium, as the
browser tests do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import chromium
from benchmarks.readme_picture import AT_REST, photographed, slimmed
from mapapp.explore.server import create_app, listen
from tests.running_server import running

MAX_BYTES = 200 * 1024
CITY = "county:81011"
VIEWS = {
    "explore-destination": f"area={CITY}&side=home&show=areas",
    "explore-inflow-outflow": f"area={CITY}&analysis=inflow-outflow",
    "explore-paired-area": f"area={CITY}&other=county:82001&analysis=paired",
    "explore-flow-matrix": "analysis=flow-matrix&theme=dark",
}
TABLE = "table-page"
"""The picture of a table with suppressed cells."""
TABLE_AT_REST = AT_REST.replace("#map ", "#counts-map ")
SMALLEST = ("--release", "{release}", "--output", "{folder}", "--only", "explore-flow-matrix")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    shown = parser.add_mutually_exclusive_group(required=True)
    shown.add_argument("--release", type=Path, help="a release of the demo country")
    shown.add_argument("--table", type=Path, help="the first table of docs/tables.md")
    parser.add_argument("--output", type=Path, default=Path(__file__).parents[1] / "docs" / "images")
    parser.add_argument("--only", nargs="+", choices=VIEWS, help="take these pictures alone")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    views = {name: f"?{query}" for name, query in VIEWS.items() if name in (chosen.only or VIEWS)}
    at_rest = AT_REST
    if chosen.table is not None:
        views, at_rest = {TABLE: "tables"}, TABLE_AT_REST
    chosen.output.mkdir(parents=True, exist_ok=True)
    server = listen(create_app([chosen.table or chosen.release]), port=0)
    with running(*server) as address, chromium.browsing() as browser:
        for name, place in views.items():
            picture = slimmed(photographed(browser, f"{address}/{place}", at_rest))
            if len(picture) > MAX_BYTES:
                sys.exit(f"{name} has {len(picture):,} bytes; {MAX_BYTES:,} are the most")
            (chosen.output / f"{name}.png").write_bytes(picture)
            print(f"{name}: {len(picture):,} bytes")


if __name__ == "__main__":
    main()
