"""The pictures of an answer: locator, map, and charts."""

from __future__ import annotations

from typing import Final

from mapapp.answers.release import Release
from mapapp.answers.results import Result
from mapapp.drawing.map_content import MapContent
from mapapp.drawing.paper import chart_pictures, locator_picture, map_picture, map_words
from mapapp.files.reports.content import Picture
from mapapp.files.reports.part import Part, SettledPart

_MAP_IN: Final = (7.5, 6.3)  # as wide as a page, and short enough for the first page
_SCALE: Final = 2  # 192 pixels per inch


def locator_of(release: Release, part: Part, name: str) -> Picture:
    """A small map that shows where the area is."""
    return Picture(
        name=f"{name}-locator",
        title="Location",
        words="A small map that shows where the area lies within its region.",
        content=locator_picture(release, part.question, form="png", scale=_SCALE),
        form="png",
    )


def map_of(release: Release, part: SettledPart, name: str, before: Release | None = None) -> Picture:
    """The answer as a map. It is a PNG, because a map of points as SVG has several megabytes and takes seconds."""
    shown = MapContent(release, part.question, part.view, before)
    return Picture(
        name=f"{name}-map",
        title="",
        words=map_words(shown, size_in=_MAP_IN),
        content=map_picture(shown, form="png", scale=_SCALE, size_in=_MAP_IN),
        form="png",
    )


def charts_of(release: Release, result: Result, name: str) -> tuple[Picture, ...]:
    """The charts of an answer, as PNG, because PDF viewers draw letters unevenly as paths; empty without workers."""
    made = chart_pictures(release, result, form="png", scale=_SCALE)
    return tuple(
        Picture(name=f"{name}-chart-{place + 1}", title="", words=said, content=content, form="png")
        for place, (_, said, content) in enumerate(made)
    )
