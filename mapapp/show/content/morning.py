"""A morning: some of an answer's workers with both ends of their commutes, for a map on which they move to work.

The sample is the same each time: the workers whose places have the smallest hashes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

import numpy
import numpy.typing as npt

from geodata.store.schema import N_SEGMENTS
from mapapp.answers import served_answers, words
from mapapp.answers.analyses.results import InflowOutflow
from mapapp.answers.commutes.pick import Ends
from mapapp.answers.publication import is_published
from mapapp.answers.release import Release
from mapapp.question.question import SettledQuestion
from mapapp.question.view import View
from mapapp.show.content.dot_map import bands_of_segments
from mapapp.show.content.dots import mercator_fractions
from mapapp.show.content.palette import ColorScheme

MOST_MOVING: Final = 20_000
"""Dots that a desktop's browser moves 30 times a second."""
STEPS: Final = 65_535
"""Steps of a place within the box of all."""
_WORLD: Final = 2.0**32
_HASH: Final = tuple(map(numpy.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)))

Fractions = npt.NDArray[numpy.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class Morning:
    """Workers that move.

    Attributes
    ----------
    box : tuple of float
        West, north, east, and south of all their places, as fractions of the Web Mercator square.
    steps : uint16[workers, 4]
        Column and row of the home, then of the workplace: 65,535 steps from west to east and from north to south.
    group : uint8[workers]
        Position in `colors`.
    colors : tuple of (str, str)
        The color of each group at home and at work.
    night, day, note : str
        What is counted at both ends, and what moves.
    """

    box: tuple[float, float, float, float]
    steps: npt.NDArray[numpy.uint16]
    group: npt.NDArray[numpy.uint8]
    colors: tuple[tuple[str, str], ...]
    night: str
    day: str
    note: str

    def as_json(self) -> bytes:
        """Return the workers for the page's script (`assets/morning.js`)."""
        document = {
            "box": self.box,
            "steps": base64.b64encode(self.steps.astype("<u2").tobytes()).decode(),
            "group": base64.b64encode(self.group.tobytes()).decode(),
            "colors": self.colors,
            "night": self.night,
            "day": self.day,
            "note": self.note,
        }
        return json.dumps(document, separators=(",", ":")).encode()


def morning(
    release: Release, question: SettledQuestion, view: View, scheme: ColorScheme, most: int = MOST_MOVING
) -> Morning:
    """Return at most so many of an answer's workers, with the colors of its dots."""
    ends = served_answers.ends(release, question)
    n_workers = len(ends.segment)
    home = mercator_fractions(ends.home_lon_deg, ends.home_lat_deg)
    work = mercator_fractions(ends.work_lon_deg, ends.work_lat_deg)
    chosen = sample_of((*home, *work), ends, most)
    places = numpy.column_stack([part[chosen] for part in (*home, *work)]) / _WORLD
    box, steps = _steps(places)
    bands, colors = _colors(view, scheme)
    group = bands[ends.segment[chosen]].astype(numpy.uint8)
    night, day = _counts(release, question, n_workers)
    return Morning(box, steps, group, colors, night, day, _note(release, len(chosen), n_workers))


def _colors(view: View, scheme: ColorScheme) -> tuple[npt.NDArray[numpy.int64], tuple[tuple[str, str], ...]]:
    """Return the group of each joint segment, and the colors of each group at home and at work."""
    if view.color == "plain":  # a dot changes from the color of homes to that of workplaces
        return numpy.zeros(N_SEGMENTS, dtype=numpy.int64), ((scheme.home, scheme.work),)
    return bands_of_segments(view.color), tuple((color, color) for color in getattr(scheme.dots, view.color))


def sample_of(places: Sequence[Fractions], ends: Ends, most: int) -> npt.NDArray[numpy.int64]:
    """Return positions of at most so many workers: those whose places have the smallest hashes, in this order."""
    mixed = ends.segment.astype(numpy.uint64)
    for part in places:
        mixed = (mixed ^ part) * _HASH[0]
        mixed = (mixed ^ mixed >> numpy.uint64(30)) * _HASH[1]
        mixed = (mixed ^ mixed >> numpy.uint64(27)) * _HASH[2]
        mixed ^= mixed >> numpy.uint64(31)
    near = numpy.argpartition(mixed, most)[:most] if len(mixed) > most else numpy.arange(len(mixed))
    return near[numpy.argsort(mixed[near], kind="stable")]


def _steps(
    places: npt.NDArray[numpy.float64],
) -> tuple[tuple[float, float, float, float], npt.NDArray[numpy.uint16]]:
    """Return the box of some places, and each place as steps within it."""
    if not len(places):
        return (0.0, 0.0, 1.0, 1.0), numpy.empty((0, 4), dtype=numpy.uint16)
    x, y = places[:, ::2], places[:, 1::2]
    west, north = float(x.min()), float(y.min())
    east, south = max(float(x.max()), west + 1e-9), max(float(y.max()), north + 1e-9)
    share = (places - [west, north] * 2) / ([east - west, south - north] * 2)
    return (west, north, east, south), (share * STEPS).round().astype(numpy.uint16)


def _counts(release: Release, question: SettledQuestion, n_workers: int) -> tuple[str, str]:
    """Return what is counted at night and by day."""
    if not question.areas:
        return f"{n_workers:,} at home", f"{n_workers:,} at work"
    where = words.place_name(release, question)
    if question.entry.n_areas == 2:
        return f"{n_workers:,} at home", f"{n_workers:,} at work"
    both = replace(question, analysis="inflow-outflow")
    n_stay = cast(InflowOutflow, served_answers.result(release, both)).stay.value
    n_all = served_answers.n_places(release, question)
    here = {question.side: n_all}
    return (
        f"{here.get('home', n_stay):,} of {n_all:,} live in {where}",
        f"{here.get('work', n_stay):,} of {n_all:,} work in {where}",
    )


def _note(release: Release, n_moving: int, n_workers: int) -> str:
    """Return a sentence on what moves: not people, and not along roads."""
    is_counts = is_published(release.certificate)
    what = "jobs, placed at random within their blocks" if is_counts else "synthetic workers"
    of = f"{n_moving:,} of {n_workers:,}" if n_moving < n_workers else f"All {n_workers:,}"
    return f"{of} {what}, in straight lines. Not people and not roads."
