"""The pictures in docs/explore.md, taken anew: `python -m benchmarks.explore_pictures --release DIR [--output FOLDER]`.

Of a release of the demo country (`commutemap demo metro.dataset --size metro`). Needs Playwright and a Chromium, as the
browser tests do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import chromium
from benchmarks.readme_picture import photographed, slimmed
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
SMALLEST = ("--release", "{release}", "--output", "{folder}", "--only", "explore-flow-matrix")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", type=Path, required=True, help="a release of the demo country")
    parser.add_argument("--output", type=Path, default=Path(__file__).parents[1] / "docs" / "images")
    parser.add_argument("--only", nargs="+", choices=VIEWS, help="take these pictures alone")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    chosen_views = {name: query for name, query in VIEWS.items() if name in (chosen.only or VIEWS)}
    chosen.output.mkdir(parents=True, exist_ok=True)
    server = listen(create_app([chosen.release]), port=0)
    with running(*server) as address, chromium.browsing() as browser:
        for name, query in chosen_views.items():
            picture = slimmed(photographed(browser, f"{address}/?{query}"))
            if len(picture) > MAX_BYTES:
                sys.exit(f"{name} has {len(picture):,} bytes; {MAX_BYTES:,} are the most")
            (chosen.output / f"{name}.png").write_bytes(picture)
            print(f"{name}: {len(picture):,} bytes")


if __name__ == "__main__":
    main()
