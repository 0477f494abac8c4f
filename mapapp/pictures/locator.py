"""A small map of where an area lies in the region of its release."""

from __future__ import annotations

from typing import Final

import numpy

from mapapp import asked, drawn, layers
from mapapp.figures import camera
from mapapp.figures.palette import GROUNDS
from mapapp.pages import words
from mapapp.pictures import ground as base
from mapapp.pictures.paper import Form, Sheet, check, drawing, encoded
from mapapp.queries.release import ServedRelease
from mapapp.url_state import Side, ViewState

SIZE_IN: Final = (2.4, 2.4)


def locator_picture(
    release: ServedRelease,
    state: ViewState,
    *,
    form: Form = "png",
    scale: int = 1,
    size_in: tuple[float, float] = SIZE_IN,
) -> bytes:
    """Draw where the areas of a state lie among the states that the release covers.

    Parameters
    ----------
    release, state, form, scale, size_in
        As :func:`mapapp.pictures.map_picture` takes them.

    Raises
    ------
    UsageError
        For a form, scale or size that cannot be.
    """
    check(form, scale, size_in)
    ground = GROUNDS[state.theme]
    with drawing():
        sheet = Sheet(size_in, ground)
        axes = sheet.axes(0.02, 0.02, sheet.width - 0.04, sheet.height - 0.04)
        sides: dict[Side, str] = {"home": ground.home, "work": ground.work}
        areas = [(state.areas, sides[state.side]), (drawn.others_of(state), sides[asked.OTHER[state.side]])]
        boxes = [layers.bounds(release, steps) for steps, _ in areas if steps]
        held = camera.union([layers.home_bounds(release), *(box for box in boxes if box is not None)])
        frame = base.frame_of(held, sheet.width - 0.04, sheet.height - 0.04, 0.06)
        base.draw_land(axes, release, frame, ground)
        for steps, colour in areas:
            found = list(layers.shapes(release, steps).values()) if steps else []
            if not found:
                continue
            shapes = base.mercator(numpy.array([*found, None], dtype=object)[:-1])
            base.fill(axes, base.outline(shapes, frame), colour, alpha=0.85, zorder=3)
            base.draw_ring(axes, shapes, frame, colour)
        base.draw_borders(axes, release, frame, ground, tracts=False)
        base.draw_frame(sheet, 0.02, 0.02, sheet.width - 0.04, sheet.height - 0.04)
        place = words.place_name(release, state) if state.areas else release.title
        return encoded(sheet, form, scale, f"Where {place} lies", f"A small map of where {place} lies.")
