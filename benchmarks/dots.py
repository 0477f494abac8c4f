"""What a map of many dots takes: `python -m benchmarks.dots --dots 5000000`.

Places around 300 towns are generated, sorted for pictures, and drawn as the tiles of a desktop's map (6 by 4 of 256 CSS
pixels) around the largest town at several zoom levels: processor seconds, which other work on the machine hardly
touches, and bytes. `--with-datashader` draws the same windows with datashader, which is no dependency of ours.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import time
from collections.abc import Sequence

import numpy

from mapapp.answers.commutes.pick import Places
from mapapp.show.content.dot_map import TILE_PIXELS, DotGroup, DotMap
from mapapp.show.content.dots import DotLayer, mercator_fractions, sorted_dots
from mapapp.show.content.palette import COLOR_SCHEMES

SMALLEST = ("--dots", "5000")
_TOWNS = 300
_COLUMNS, _ROWS = 6, 4
_ZOOMS = (7, 9, 11, 13, 15)


def argument_parser() -> argparse.ArgumentParser:
    """Options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dots", type=int, default=5_000_000)
    parser.add_argument("--with-datashader", action="store_true")
    return parser


def generate_places(n_dots: int) -> tuple[Places, tuple[float, float]]:
    """Places of workers around towns of very different sizes, and the middle of the largest town, degrees."""
    random = numpy.random.default_rng(1)
    middles = random.normal(size=(_TOWNS, 2)) * [0.8, 0.5] + [-74.0, 41.5]
    sizes = random.pareto(1.1, _TOWNS)
    town = random.choice(_TOWNS, n_dots, p=sizes / sizes.sum())
    lon, lat = (middles[town] + random.normal(size=(n_dots, 2)) * [0.08, 0.06]).T
    segment = random.integers(0, 27, n_dots).astype(numpy.int8)
    places: Places = {
        "lon_deg": lon.astype(numpy.float32),
        "lat_deg": lat.astype(numpy.float32),
        "segment": segment,
    }
    return places, tuple(middles[sizes.argmax()])


def draw_view(dots: DotMap, middle: tuple[float, float], zoom: int, ratio: int) -> tuple[float, int]:
    """Draw a desktop's map; returns processor seconds and bytes."""
    x, y = (int(part[0]) / 2.0**32 for part in mercator_fractions(*numpy.array([middle]).T))
    level, n_bytes, start = zoom + 1, 0, time.process_time()
    for right in range(_COLUMNS):
        for down in range(_ROWS):
            column, row = int(x * 2**level) + right - _COLUMNS // 2, int(y * 2**level) + down - _ROWS // 2
            n_bytes += len(dots.tile(level, column, row, ratio))
    return time.process_time() - start, n_bytes


def draw_with_datashader(places: Places, middle: tuple[float, float], zoom: int) -> float:
    """Count the same dots by group with datashader, as one picture; returns processor seconds of the second time."""
    shader, pandas = (importlib.import_module(name) for name in ("datashader", "pandas"))
    x, y = mercator_fractions(places["lon_deg"], places["lat_deg"])
    frame = pandas.DataFrame({"x": x / 2.0**32, "y": y / 2.0**32})
    frame["group"] = pandas.Categorical(places["segment"] % 3)
    at = [int(part[0]) / 2.0**32 for part in mercator_fractions(*numpy.array([middle]).T)]
    half = [n / 2 / 2 ** (zoom + 1) for n in (_COLUMNS, _ROWS)]
    canvas = shader.Canvas(
        _COLUMNS * TILE_PIXELS,
        _ROWS * TILE_PIXELS,
        x_range=(at[0] - half[0], at[0] + half[0]),
        y_range=(at[1] - half[1], at[1] + half[1]),
    )
    for _ in range(2):  # the first time compiles
        start = time.process_time()
        counts = canvas.points(frame, "x", "y", shader.by("group", shader.count()))
        picture = shader.transfer_functions.shade(
            counts, color_key=list(COLOR_SCHEMES["light"].dots.industry)
        )
        shader.transfer_functions.spread(picture, px=1).to_pil()
    return time.process_time() - start


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table."""
    given = argument_parser().parse_args(arguments)
    places, middle = generate_places(given.dots)
    start = time.process_time()
    dots = sorted_dots(places)
    print("| what | processor s | MB | at ratio 2, processor s | MB | datashader, processor s |")
    print("|---|---|---|---|---|---|")
    print(f"| sorting | {time.process_time() - start:.2f} | {dots.nbytes / 1e6:.0f} | | | |")
    groups = tuple(DotGroup("", color, 0) for color in COLOR_SCHEMES["light"].dots.industry)
    drawn = DotMap((DotLayer(dots, numpy.arange(27) % 3),), groups, "")
    for zoom in _ZOOMS:
        once, twice = (draw_view(drawn, middle, zoom, ratio) for ratio in (1, 2))
        shader = f"{draw_with_datashader(places, middle, zoom):.2f}" if given.with_datashader else ""
        figures = [f"{seconds:.2f} | {n_bytes / 1e6:.1f}" for seconds, n_bytes in (once, twice)]
        print(f"| zoom {zoom} | {' | '.join(figures)} | {shader} |")
    print(
        f"| memory at most | | {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6:,.0f} | | | |"
    )


if __name__ == "__main__":
    main()
