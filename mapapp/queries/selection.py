"""The blocks of an area made of several steps.

A block belongs to a drawn shape when its internal point does, and to a unit when the release says so; it is in or out
as a whole. Blocks whose cell a border cuts are counted where the cut can matter: where the area would have the block
or not, depending on which side of a step's border it is put.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import shapely

from geodata import drawn
from geodata.distance import distance_mi
from mapapp.queries.area_text import Box, Circle, Everything, Part, Shape, Step, Unit, area_text
from mapapp.queries.flows import Blocks

if TYPE_CHECKING:
    from mapapp.queries.areas import Areas

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Selected:
    """An area and its blocks.

    Attributes
    ----------
    steps : tuple of Step
        How it is made.
    text, name : str
        The same as text, and in words.
    blocks : int32 array or None
        Positions in `blocks`, ascending; None for everything.
    n_blocks : int
        How many.
    n_edge_blocks : int
        Blocks whose cell is cut by a drawn border, so that their people may live or work on its other side.
    drawn : polygon or None
        Union of the drawn shapes among the steps, for the picture.
    """

    steps: tuple[Step, ...]
    text: str
    name: str
    blocks: Blocks | None
    n_blocks: int
    n_edge_blocks: int
    drawn: Any


class _Members(NamedTuple):
    """Blocks that are in a part of an area, and those that its border cuts."""

    within: Mask
    cut: Mask


class Selection:
    """Turns steps into blocks, for one release."""

    def __init__(self, areas: Areas) -> None:
        self._areas = areas

    def of(self, steps: Sequence[Step]) -> Selected:
        """Take the steps from left to right; errors as `Areas.select`."""
        n_blocks = len(self._areas.places)
        start = steps[0].sign != "+"
        # `surely` and `maybe` bracket what the area would hold if cut blocks were put on either side.
        within, surely, maybe = (np.full(n_blocks, start) for _ in range(3))
        shapes: list[Any] = []
        for step in steps:
            part = self._members(step.part, shapes)
            least, most = part.within & ~part.cut, part.within | part.cut
            if step.sign == "+":
                within, surely, maybe = within | part.within, surely | least, maybe | most
            elif step.sign == "-":
                within, surely, maybe = within & ~part.within, surely & ~most, maybe & ~least
            else:
                within, surely, maybe = within & part.within, surely & least, maybe & most
        count = int(within.sum())
        return Selected(
            steps=tuple(steps),
            text=area_text(steps),
            name=self._name(steps),
            blocks=None if count == n_blocks else np.flatnonzero(within).astype(np.int32),
            n_blocks=count,
            n_edge_blocks=int((maybe & ~surely).sum()),
            drawn=shapely.union_all(shapes) if shapes else None,
        )

    def _members(self, part: Part, shapes: list[Any]) -> _Members:
        places = self._areas.places
        nothing = np.zeros(len(places), dtype=bool)
        if isinstance(part, Everything):
            return _Members(~nothing, nothing)
        if isinstance(part, Unit):
            within = nothing.copy()
            within[self._areas.members(part)] = True
            return _Members(within, nothing)
        lon, lat = places["lon_deg"].to_numpy(), places["lat_deg"].to_numpy()
        if isinstance(part, Circle):
            away = distance_mi(part.lon_deg, part.lat_deg, lon, lat)
            within = (away <= part.outer_mi) & ((away > part.inner_mi) | (part.inner_mi == 0))
        else:
            polygon = polygon_of(part)
            shapely.prepare(polygon)
            within = np.asarray(shapely.intersects_xy(polygon, lon, lat))
        # A state outside the area is one unit: a shape cannot take the place that stands for it.
        within &= ~places["elsewhere"].to_numpy()
        shapes.append(polygon_of(part))
        cut = nothing.copy()
        cut[self._areas.cells.cut_by(shapes[-1])] = True
        return _Members(within, cut)

    def _name(self, steps: Sequence[Step]) -> str:
        words = {"+": " and ", "-": " without ", "&": " within "}
        shown = steps[:4]
        text = "".join(
            (words[step.sign] if place else {"-": "everything without "}.get(step.sign, ""))
            + self._part_name(step.part)
            for place, step in enumerate(shown)
        )
        return f"{text} and {len(steps) - len(shown)} more steps" if len(steps) > len(shown) else text

    def _part_name(self, part: Part) -> str:
        if isinstance(part, Unit):
            return self._areas.unit_name(part)
        if isinstance(part, Circle):
            radii = f"{part.inner_mi:g} to {part.outer_mi:g}" if part.inner_mi else f"{part.outer_mi:g}"
            return f"{radii} mi around {part.lat_deg:.3f}, {part.lon_deg:.3f}"
        return {Box: "a drawn box", Shape: "a drawn shape", Everything: "everything"}[type(part)]


def polygon_of(part: Circle | Box | Shape) -> Any:
    """Outline of a drawn part, degrees."""
    if isinstance(part, Shape):
        return part.polygon
    if isinstance(part, Box):
        return drawn.box(part.west_deg, part.south_deg, part.east_deg, part.north_deg)
    outer = drawn.circle(part.lon_deg, part.lat_deg, part.outer_mi)
    if not part.inner_mi:
        return outer
    return shapely.difference(outer, drawn.circle(part.lon_deg, part.lat_deg, part.inner_mi))
