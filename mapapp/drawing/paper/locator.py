"""A small map that shows where an area lies in its release's region."""

from __future__ import annotations

from typing import Final

import numpy

from mapapp.answers import words
from mapapp.answers.release import Release
from mapapp.drawing import camera, map_layers
from mapapp.drawing.palette import COLOR_SCHEMES
from mapapp.drawing.paper import base_map
from mapapp.drawing.paper.paper import Form, Sheet, check, drawing, encoded
from mapapp.question.fields import Side, Theme
from mapapp.question.question import OTHER_END, Question

SIZE_IN: Final = (2.4, 2.4)


def locator_picture(
    release: Release,
    question: Question,
    *,
    theme: Theme = "light",
    form: Form = "png",
    scale: int = 1,
    size_in: tuple[float, float] = SIZE_IN,
) -> bytes:
    """Draw where the areas of a question lie within the states that the release covers.

    Parameters
    ----------
    release, question, theme, form, scale, size_in
        As for :func:`mapapp.drawing.paper.map_picture`.

    Raises
    ------
    UsageError
        For an invalid form, scale or size.
    """
    check(form, scale, size_in)
    scheme = COLOR_SCHEMES[theme]
    with drawing():
        sheet = Sheet(size_in, scheme)
        axes = sheet.axes(0.02, 0.02, sheet.width - 0.04, sheet.height - 0.04)
        sides: dict[Side, str] = {"home": scheme.home, "work": scheme.work}
        areas = [
            (question.areas, sides[question.side]),
            (question.shown_others, sides[OTHER_END[question.side]]),
        ]
        boxes = [map_layers.bounds(release, steps) for steps, _ in areas if steps]
        held = camera.union([map_layers.home_bounds(release), *(box for box in boxes if box is not None)])
        frame = base_map.frame_of(held, sheet.width - 0.04, sheet.height - 0.04, 0.06)
        base_map.draw_land(axes, release, frame, scheme)
        for steps, color in areas:
            found = list(map_layers.shapes(release, steps).values()) if steps else []
            if not found:
                continue
            shapes = base_map.mercator(numpy.array([*found, None], dtype=object)[:-1])
            base_map.fill(axes, base_map.outline(shapes, frame), color, alpha=0.85, zorder=3)
            base_map.draw_ring(axes, shapes, frame, color)
        base_map.draw_borders(axes, release, frame, scheme)
        base_map.draw_ground(axes, release, frame, scheme)
        base_map.draw_frame(sheet, 0.02, 0.02, sheet.width - 0.04, sheet.height - 0.04)
        place = words.place_name(release, question) if question.areas else release.title
        return encoded(
            sheet, form, scale, f"Location of {place}", f"A small map that shows where {place} is."
        )
