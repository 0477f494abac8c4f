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

from mapapp.answers import served_answers
from mapapp.answers.analyses.entries import ENTRIES
from mapapp.answers.release import Release
from mapapp.question.analyses import ANALYSES
from mapapp.question.question import Question
from mapapp.question.view import View
from mapapp.show.content.map_content import MapContent
from mapapp.show.paper import chart_pictures, locator_picture, map_picture

SMALLEST = ("{release}", "--area", "county:81011", "--maps", "1", "--out", "{folder}")


def views(area: str) -> dict[str, tuple[Question, View]]:
    """Every way to draw a map of an area."""
    plain = Question(areas=(area,))
    found = {f"destinations, {show}": (plain, View(show=show)) for show in plain.entry.shows}
    found["inflow and outflow"] = replace(plain, analysis="inflow-outflow"), View()
    found["paired areas"] = replace(plain, analysis="paired", others=(area,)), View()
    found["flow matrix"] = Question(analysis="flow-matrix"), View()
    found["everything, by tract"] = Question(), View(show="areas")
    return found


def content_of(release: Release, question: Question, view: View) -> MapContent:
    return MapContent(release, release.areas.usual.settle(question), view)


def timed(make: Callable[[], bytes]) -> tuple[float, bytes]:
    start = time.process_time()
    content = make()
    return time.process_time() - start, content


def measure(release: Release, name: str, shown: tuple[Question, View], out: Path | None) -> None:
    first, _ = timed(lambda: map_picture(content_of(release, *shown), scale=2))
    png_s, png = timed(lambda: map_picture(content_of(release, *shown), scale=2))
    svg_s, svg = timed(lambda: map_picture(content_of(release, *shown), form="svg"))
    print(
        f"| {name} | {first:.2f} | {png_s:.2f} | {len(png) / 1e3:,.0f} | {svg_s:.2f} | {len(svg) / 1e3:,.0f} |"
    )
    if out is not None:
        stem = name.replace(", ", "-").replace(" ", "-")
        (out / f"{stem}.png").write_bytes(png)
        (out / f"{stem}.svg").write_bytes(svg)


def charts(release: Release, area: str) -> None:
    asked = [each for each in ANALYSES if not ENTRIES[each].is_published]  # no release has files to copy from
    questions = [Question(areas=(area,), others=(area,), analysis=each) for each in asked]
    answers = [served_answers.result(release, release.areas.usual.settle(question)) for question in questions]
    start, count = time.process_time(), 0
    for answer in answers:
        count += len(chart_pictures(release, answer, scale=2))
    print(f"{count} charts of {len(questions)} analyses: {time.process_time() - start:.2f} s")


def each(release: Release, layer: str, within: str) -> None:
    rows = release.areas.units(layer).rows
    units = [unit for unit in rows.loc[rows["kind"] == "unit", "unit_id"] if unit.startswith(within)]
    start, clock, count = time.process_time(), time.perf_counter(), 0
    for unit in units:
        for analysis in ("destinations", "inflow-outflow"):
            question = Question(areas=(f"{layer}:{unit}",), analysis=analysis)
            settled = release.areas.usual.settle(question)
            map_picture(MapContent(release, settled, View()), scale=2)
            count += 1 + len(chart_pictures(release, served_answers.result(release, settled), scale=2))
        locator_picture(release, question, scale=2)
        count += 1
    spent = (
        f"{time.process_time() - start:.1f} s of processor, {time.perf_counter() - clock:.1f} s by the clock"
    )
    print(f"{count} pictures of {len(units)} units of {layer}, questions included: {spent}")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path)
    parser.add_argument("--area", required=True)
    parser.add_argument("--maps", type=int, help="how many ways to draw a map to measure")
    parser.add_argument("--each", default="")
    parser.add_argument("--within", default="")
    parser.add_argument("--out", type=Path)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    options = argument_parser().parse_args(arguments)
    release = Release.open(options.release, "release")
    print("| map | first, s | PNG 2×, s | kB | SVG, s | kB |\n|---|---|---|---|---|---|")
    for name, shown in list(views(options.area).items())[: options.maps]:
        measure(release, name, shown, options.out)
    charts(release, options.area)
    if options.each:
        each(release, options.each, options.within)


if __name__ == "__main__":
    main()
