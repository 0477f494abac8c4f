"""How long pictures take, and how large they are: `python -m benchmarks.pictures RELEASE --area county:44007`.

Every way to draw a map, once after the first, and the charts of every analysis: processor seconds, which other work on
the machine hardly touches, and bytes, as PNG of twice the size and as SVG. With `--each LAYER` also two maps, a small
map and all charts of every unit of a layer, whose identifiers begin with `--within`: what a folder of reports needs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from mapapp.answers import view_answers
from mapapp.answers.served_release import ServedRelease
from mapapp.drawing.paper import chart_pictures, locator_picture, map_picture
from mapapp.question.address import SHOWN, Analysis, ViewState

SMALLEST = ("{release}", "--area", "county:81011", "--maps", "1", "--out", "{folder}")


def views(area: str) -> dict[str, ViewState]:
    """Every way to draw a map of an area."""
    destination = ViewState(areas=(area,))
    found = {f"destination, {show}": replace(destination, show=show) for show in SHOWN["destination"]}
    found["inflow and outflow"] = replace(destination, analysis="inflow-outflow")
    found["paired area"] = replace(destination, analysis="paired-area", others=(area,))
    found["flow matrix"] = ViewState(analysis="flow-matrix")
    found["everything, by tract"] = ViewState(show="areas")
    return found


def timed(make: Callable[[], bytes]) -> tuple[float, bytes]:
    start = time.process_time()
    content = make()
    return time.process_time() - start, content


def measure(release: ServedRelease, name: str, state: ViewState, out: Path | None) -> None:
    first, _ = timed(lambda: map_picture(release, state, scale=2))
    png_s, png = timed(lambda: map_picture(release, state, scale=2))
    svg_s, svg = timed(lambda: map_picture(release, state, form="svg"))
    print(
        f"| {name} | {first:.2f} | {png_s:.2f} | {len(png) / 1e3:,.0f} | {svg_s:.2f} | {len(svg) / 1e3:,.0f} |"
    )
    if out is not None:
        stem = name.replace(", ", "-").replace(" ", "-")
        (out / f"{stem}.png").write_bytes(png)
        (out / f"{stem}.svg").write_bytes(svg)


def charts(release: ServedRelease, area: str) -> None:
    states = [ViewState(areas=(area,), others=(area,), analysis=each) for each in get_args(Analysis)]
    answers = [(state, view_answers.result(release, state)) for state in states]
    start, count = time.process_time(), 0
    for state, answer in answers:
        count += len(chart_pictures(release, state, answer, scale=2))
    print(f"{count} charts of {len(states)} analyses: {time.process_time() - start:.2f} s")


def each(release: ServedRelease, layer: str, within: str) -> None:
    rows = release.areas.units(layer).rows
    units = [unit for unit in rows.loc[rows["kind"] == "unit", "unit_id"] if unit.startswith(within)]
    start, clock, count = time.process_time(), time.perf_counter(), 0
    for unit in units:
        for analysis in ("destination", "inflow-outflow"):
            state = ViewState(areas=(f"{layer}:{unit}",), analysis=analysis)
            map_picture(release, state, scale=2)
            count += 1 + len(chart_pictures(release, state, view_answers.result(release, state), scale=2))
        locator_picture(release, state, scale=2)
        count += 1
    spent = (
        f"{time.process_time() - start:.1f} s of processor, {time.perf_counter() - clock:.1f} s by the clock"
    )
    print(f"{count} pictures of {len(units)} units of {layer}, questions included: {spent}")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path)
    parser.add_argument("--area", required=True)
    parser.add_argument("--maps", type=int, help="measure only the first so many ways to draw a map")
    parser.add_argument("--each", default="")
    parser.add_argument("--within", default="")
    parser.add_argument("--out", type=Path)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    options = argument_parser().parse_args(arguments)
    release = ServedRelease(options.release, "release")
    print("| map | first, s | PNG 2×, s | kB | SVG, s | kB |\n|---|---|---|---|---|---|")
    for name, state in list(views(options.area).items())[: options.maps]:
        measure(release, name, state, options.out)
    charts(release, options.area)
    if options.each:
        each(release, options.each, options.within)


if __name__ == "__main__":
    main()
