"""The picture in the README, taken anew: `python -m benchmarks.readme_picture [--release DIR] [--output FILE]`.

Serves the demo release (made if missing) on this machine, opens the workers of its centre in Chromium, and
keeps the page as a PNG of few colours. Needs Playwright and a Chromium, as the browser tests do.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks import chromium
from mapapp.answers import served_answers
from mapapp.answers.release import Release
from mapapp.base.paths import data_home
from mapapp.base.progress import show_progress
from mapapp.explore.server import create_app, listen
from mapapp.kinds.release.make.demo import Demo
from mapapp.kinds.release.make.options import DEFAULT_PRESET
from mapapp.question.question import Question
from tests.running_server import running

SIZE = (1440, 900)
N_COLOURS = 256
MAX_BYTES = 300 * 1024
AT_REST = """() => {
  const plot = document.querySelector("#map .js-plotly-plot");
  const map = plot && plot._fullLayout && plot._fullLayout.map && plot._fullLayout.map._subplot.map;
  const named = [...document.querySelectorAll(".furniture .name")].some((one) => one.style.visibility === "visible");
  return named && map.loaded() && !map.isMoving() && !document.querySelector(".busy.on");
}"""
SMALLEST = ("--release", "{release}", "--output", "{folder}/explore.png")


def busiest_tract(release: Path) -> str:
    """The tract with most workers, as an address names it."""
    served = Release.open(release, "demo")
    rows = served_answers.units(served, served.areas.usual.settle(Question(layer="tract")))
    return f"tract:{rows['unit_id'].iloc[0]}"


def photographed(browser: Any, address: str, at_rest: str = AT_REST) -> bytes:
    """The page at an address as a PNG, once its map is at rest."""
    page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
    page.goto(address)
    page.wait_for_function(at_rest, timeout=chromium.PATIENCE_MS)
    page.wait_for_timeout(2_000)  # the last tiles fade in
    picture = page.screenshot()
    page.close()
    return bytes(picture)


def slimmed(png: bytes) -> bytes:
    """The same picture with a palette."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    few = picture.quantize(N_COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True)
    return out.getvalue()


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", type=Path, help="a release of the demo; made if not given")
    images = Path(__file__).parents[1] / "docs" / "images"
    parser.add_argument("--output", type=Path, default=images / "explore.png")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    if chosen.release is None:
        with show_progress() as report:
            chosen.release = Demo(data_home()).make(DEFAULT_PRESET, report)
    area = busiest_tract(chosen.release)
    server = listen(create_app([chosen.release]), port=0)
    with running(*server) as address, chromium.browsing() as browser:
        picture = slimmed(photographed(browser, f"{address}/?area={area}"))
    if len(picture) > MAX_BYTES:
        sys.exit(f"the picture has {len(picture):,} bytes; {MAX_BYTES:,} are the most")
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_bytes(picture)
    print(f"{chosen.output}: {len(picture):,} bytes")


if __name__ == "__main__":
    main()
