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

from geodata import area_shapes
from geodata.distance import distance_mi
from mapapp.answers import watch
from mapapp.answers.box_index import Bounds
from mapapp.answers.flows import Blocks
from mapapp.question.area_text import Box, Circle, Everything, Part, Shape, Step, Unit, area_text

if TYPE_CHECKING:
    from mapapp.answers.areas import Areas

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
    """

    steps: tuple[Step, ...]
    text: str
    name: str
    blocks: Blocks | None
    n_blocks: int
    n_edge_blocks: int


class _Members(NamedTuple):
    """Blocks that are in a part of an area, and those that its border cuts: positions, each once."""

    within: Blocks
    cut: Blocks


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
        for step in steps:
            watch.check()
            part = self._members(step.part)
            most = np.concatenate([part.within, part.cut])
            if step.sign == "&":
                within, surely, maybe = (
                    _kept(before, mine)
                    for before, mine in (
                        (within, part.within),
                        (surely, _without(part.within, part.cut)),
                        (maybe, most),
                    )
                )
                continue
            least = _without(part.within, part.cut)
            is_added = step.sign == "+"
            within[part.within] = is_added
            surely[least if is_added else most] = is_added
            maybe[most if is_added else least] = is_added
        count = int(within.sum())
        return Selected(
            steps=tuple(steps),
            text=area_text(steps),
            name=self._name(steps),
            blocks=None if count == n_blocks else np.flatnonzero(within).astype(np.int32),
            n_blocks=count,
            n_edge_blocks=int((maybe & ~surely).sum()),
        )

    def _members(self, part: Part) -> _Members:
        """Blocks of a part; those far from it are not looked at."""
        nothing = np.empty(0, dtype=np.int32)
        if isinstance(part, Everything):
            return _Members(np.arange(len(self._areas.places), dtype=np.int32), nothing)
        if isinstance(part, Unit):
            return _Members(self._areas.members(part), nothing)
        lon, lat, elsewhere = self._areas.place_columns
        polygon = polygon_of(part)
        near = self._areas.place_index.meeting(_around(part, polygon))
        # A state outside the area is one unit: a shape cannot take the place that stands for it.
        near = near[~elsewhere[near]]
        if isinstance(part, Circle):
            away = distance_mi(part.lon_deg, part.lat_deg, lon[near], lat[near])
            inside = (away <= part.outer_mi) & ((away > part.inner_mi) | (part.inner_mi == 0))
        else:
            shapely.prepare(polygon)
            inside = np.asarray(shapely.intersects_xy(polygon, lon[near], lat[near]))
        return _Members(near[inside].astype(np.int32), self._areas.cells.cut_by(polygon))

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


def _without(blocks: Blocks, left_out: Blocks) -> Blocks:
    return blocks[~np.isin(blocks, left_out)] if left_out.size else blocks


def _kept(mask: Mask, blocks: Blocks) -> Mask:
    """The mask without what lies outside some blocks."""
    kept = np.zeros_like(mask)
    kept[blocks] = mask[blocks]
    return kept


def _around(part: Circle | Box | Shape, polygon: Any) -> Bounds:
    """A rectangle that holds a part: west, south, east and north, degrees.

    A circle bulges beyond its outline, which is a polygon; where it reaches the 180th meridian it lies on both sides.
    """
    west, south, east, north = (float(edge) for edge in shapely.bounds(polygon))
    if not isinstance(part, Circle):
        return west, south, east, north
    margin = 1e-3 * max(east - west, north - south)  # 180 vertices: the arcs bulge by 0.015 % of the radius
    if west - margin < -180 or east + margin > 180:
        return -180.0, south - margin, 180.0, north + margin
    return west - margin, south - margin, east + margin, north + margin


def polygon_of(part: Circle | Box | Shape) -> Any:
    """Outline of a drawn part, degrees."""
    if isinstance(part, Shape):
        return part.polygon
    if isinstance(part, Box):
        return area_shapes.box(part.west_deg, part.south_deg, part.east_deg, part.north_deg)
    outer = area_shapes.circle(part.lon_deg, part.lat_deg, part.outer_mi)
    if not part.inner_mi:
        return outer
    return shapely.difference(outer, area_shapes.circle(part.lon_deg, part.lat_deg, part.inner_mi))
