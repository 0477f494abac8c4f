"""The dots of an answer: which ends of the commutes they show, in which colors, and how many of each color."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy
import numpy.typing as npt

from geodata.store.schema import N_SEGMENTS
from mapapp.answers import served_answers
from mapapp.answers.commutes.attributes import TITLES
from mapapp.answers.opened_publication import DOTS
from mapapp.answers.release import Release
from mapapp.question.fields import DotColor, Side
from mapapp.question.filters import CHARACTERISTICS, bands_of
from mapapp.question.question import Question
from mapapp.question.view import View
from mapapp.show.content.dots import DotLayer, Dots, Pixels, Window, draw_dots, sorted_dots, tile_window
from mapapp.show.content.palette import ColorScheme

END_NAMES: Final[dict[Side, str]] = {"home": "Homes", "work": "Workplaces"}
_ACROSS: Final = "inflow-outflow"
_ACROSS_NAMES: Final[dict[Side, str]] = {
    "home": "Homes of those who come in",
    "work": "Workplaces of those who go out",
}
FINEST_TILE: Final = 22
"""The largest zoom level of tiles, beyond which maps enlarge them."""
TILE_PIXELS: Final = 256
"""CSS pixels along each side of a tile, which the page's map assumes."""


class DotGroup(NamedTuple):
    """Dots of one color: what they are, their `#rrggbb` color, and how many there are."""

    name: str
    color: str
    n_dots: int


class DotMap(NamedTuple):
    """The dots of an answer; `title` says what the colors show, empty if that is one end alone."""

    layers: tuple[DotLayer, ...]
    groups: tuple[DotGroup, ...]
    title: str

    @property
    def n_dots(self) -> int:
        """Number of dots in the picture."""
        return sum(group.n_dots for group in self.groups)

    def picture(self, window: Window, zoom: float, ratio: float) -> Pixels:
        """Return the dots in a window; arguments as for :func:`mapapp.show.content.dots.draw_dots`."""
        return draw_dots(self.layers, [group.color for group in self.groups], window, zoom, ratio)

    def tile(self, z: int, x: int, y: int, ratio: int) -> bytes:
        """Return a tile of a Web Mercator map as a PNG, with `ratio` pixels per CSS pixel."""
        window = tile_window(z, x, y, TILE_PIXELS * ratio)
        # A tile of 256 pixels at level z is a quarter of what MapLibre shows of the world at zoom level z.
        return png_of(self.picture(window, z - 1, ratio))


def png_of(picture: Pixels) -> bytes:
    """Return a picture as a PNG file, quickly rather than small.

    Pillow tries five filters for each row, which takes longer than to compress the rows and makes larger files of dots.
    """
    n_rows, n_columns, _ = picture.shape
    rows = numpy.zeros((n_rows, 1 + 4 * n_columns), dtype=numpy.uint8)  # each begins with its filter: none
    rows[:, 1:] = picture.reshape(n_rows, -1)
    head = struct.pack(
        ">IIBBBBB", n_columns, n_rows, 8, 6, 0, 0, 0
    )  # eight bits each of red, green, blue, and opacity
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.data, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def dot_map(release: Release, question: Question, view: View, scheme: ColorScheme) -> DotMap:
    """Return the dots of an answer; without an area, those of all workers."""
    ends, color = shown_ends(question, view), view.color if can_move(question) else "plain"
    layers = [dots_of(release, question, end) for end in ends]
    if color != "plain":
        bands, names, colors = bands_of_segments(color), CHARACTERISTICS[color], getattr(scheme.dots, color)
        counts = sum(
            numpy.bincount(bands, numpy.pad(dots.n_by_segment, (0, N_SEGMENTS - len(dots.n_by_segment))), 3)
            for dots in layers
        )
        title = f"{END_NAMES[ends[0]]} by {TITLES[color].lower()}" if len(ends) == 1 else TITLES[color]
        groups = _groups(names, colors, numpy.asarray(counts).astype(int).tolist())
        return DotMap(tuple(DotLayer(dots, bands) for dots in layers), groups, title)
    end_colors: dict[Side, str] = {"home": scheme.home, "work": scheme.work}
    of_end = [DotLayer(dots, numpy.full(N_SEGMENTS, number)) for number, dots in enumerate(layers)]
    counts_of_end = [int(dots.n_by_segment.sum()) for dots in layers]
    name_of = END_NAMES if can_move(question) else _ACROSS_NAMES
    groups = _groups([name_of[end] for end in ends], [end_colors[end] for end in ends], counts_of_end)
    return DotMap(tuple(of_end), groups, "")


def _groups(names: Sequence[str], colors: Sequence[str], counts: Sequence[int]) -> tuple[DotGroup, ...]:
    return tuple(DotGroup(*parts) for parts in zip(names, colors, counts, strict=True))


def shown_ends(question: Question, view: View) -> tuple[Side, ...]:
    """Return the ends of the commutes that have dots.

    Both have some for a pair of areas, and where no area is chosen; then a color for an attribute is that of jobs.
    """
    if question.entry.own_drawing == "points" and question.is_complete:
        return ("home", "work")
    if question.areas:
        return (question.shown_end,)
    return ("home", "work") if view.color == "plain" else ("work",)


def dots_of(release: Release, question: Question, end: Side) -> Dots:
    """Return the places of the workers of an answer at one end of their commutes, sorted for pictures."""
    # Of a question, only these decide where the dots are: several analyses of an area have the same ones.
    ends, crosses = question.ends, question.analysis == _ACROSS

    def make() -> Dots:
        if crosses:
            pick = served_answers.picks_across(release, question)[end]
            return sorted_dots(release.flows.places(pick, end))
        return sorted_dots(served_answers.places(release, question, end))

    return release.once((DOTS, ends["work"], ends["home"], question.filters, end, crosses), make)


def bands_of_segments(color: DotColor) -> npt.NDArray[numpy.int64]:
    """Return the position of the band of an attribute in each joint segment: 0, 1, or 2."""
    at = list(CHARACTERISTICS).index(color)
    return numpy.array([bands_of(segment)[at] - 1 for segment in range(N_SEGMENTS)], dtype=numpy.int64)


def can_move(question: Question) -> bool:
    """Return whether the dots of an answer have a morning: those across a border are at one end each."""
    return question.analysis != _ACROSS
