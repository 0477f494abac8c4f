"""Select the blocks of an area that consists of several steps.

A block is in a drawn shape if its internal point is, and in a unit if the release says so. It is always in or out as a
whole. Blocks whose cell is cut by a border are counted if the cut matters: if the area would contain the block with the
block on one side of the border but not with it on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import shapely

from geodata.geography import corridors
from geodata.geography.distance import EARTH_RADIUS_MI, distance_mi, place_on_sphere
from geodata.text import list_names
from mapapp.answers.areas.box_index import Bounds
from mapapp.answers.areas.outlines import Outlines
from mapapp.answers.areas.units import ReleaseUnits
from mapapp.answers.commutes.pick import Blocks
from mapapp.base import memory_limits, watch
from mapapp.base.errors import UsageError
from mapapp.base.result_cache import ResultCache
from mapapp.question.area_text import (
    Box,
    Circle,
    Corridor,
    Everything,
    Line,
    Part,
    Shape,
    Step,
    Unit,
    Units,
    area_text,
    polygon_of,
)

_PLACES_AT_ONCE: Final = 20_000
_NEAR: Final = "the area within "
_ROUNDING: Final = 1e-13
"""Of cosines of angles and of the distances that these stand for, both a few units in the last place."""
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Selected:
    """An area and its blocks.

    Attributes
    ----------
    steps : tuple of Step
        The steps of the area.
    text, name : str
        The steps as text and in words.
    blocks : int32 array or None
        Positions in `blocks`, ascending; None for everything.
    n_blocks : int
        Number of blocks.
    n_edge_blocks : int
        Number of blocks whose cell a drawn border cuts, so that some people may be on the other side.
    """

    steps: tuple[Step, ...]
    text: str
    name: str
    blocks: Blocks | None
    n_blocks: int
    n_edge_blocks: int


class _Members(NamedTuple):
    """Blocks in a part of an area, and blocks that its border cuts: positions without duplicates."""

    within: Blocks
    cut: Blocks


class Selection:
    """Selects the blocks of steps, for one release; `outlines` returns its outlines, which only corridors need."""

    def __init__(self, units: ReleaseUnits, outlines: Callable[[], Outlines]) -> None:
        self._units = units
        self._outlines = outlines
        self._found: ResultCache[_Members] = ResultCache(
            max_entries=memory_limits.AREA_PARTS,
            max_size=memory_limits.AREA_PARTS_BYTES,
            size_of=lambda part: part.within.nbytes + part.cut.nbytes,
        )

    def forget(self) -> None:
        """Drop the cached parts."""
        self._found.clear()

    def of(self, steps: Sequence[Step]) -> Selected:
        """Apply the steps from left to right; raises the errors of `Areas.select`."""
        n_blocks = len(self._units.places)
        start = steps[0].sign != "+"
        # `surely` and `maybe` bound the area if cut blocks were on either side of the border.
        within, surely, maybe = (np.full(n_blocks, start) for _ in range(3))
        for step in steps:
            watch.check()
            part = self._members(step.part)
            most = np.concatenate([part.within, part.cut])
            if step.sign == "&":
                within, surely, maybe = (
                    _restrict_mask(before, members)
                    for before, members in (
                        (within, part.within),
                        (surely, _leave_out(part.within, part.cut)),
                        (maybe, most),
                    )
                )
                continue
            least = _leave_out(part.within, part.cut)
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
        """Return the blocks of a part; blocks far away are not tested."""
        nothing = np.empty(0, dtype=np.int32)
        if isinstance(part, Everything):
            return _Members(np.arange(len(self._units.places), dtype=np.int32), nothing)
        if isinstance(part, Unit):
            return _Members(self._units.members(part), nothing)
        if isinstance(part, Units):
            return _Members(self._members_of_units(part), nothing)
        # Found once: one question often has a part at both ends, or inside one end and outside the other.
        return self._found.get_or_make(part, lambda: self._drawn_members(part))

    def _members_of_units(self, part: Unit | Units) -> Blocks:
        return np.unique(np.concatenate([self._units.members(unit) for unit in part.units]))

    def _drawn_members(self, part: Corridor | Circle | Box | Shape) -> _Members:
        if isinstance(part, Corridor):
            return self._within_corridor(part)
        lon, lat, elsewhere = self._units.place_columns
        polygon = polygon_of(part)
        near = self._units.place_index.find_meeting(_around(part, polygon))
        # A state outside the area is one unit; a shape must not select its single representative point.
        near = near[~elsewhere[near]]
        if isinstance(part, Circle):
            inside = self._within_circle(part, near)
        else:
            shapely.prepare(polygon)
            inside = np.asarray(shapely.intersects_xy(polygon, lon[near], lat[near]))
        return _Members(near[inside].astype(np.int32), self._units.cells.cut_by(polygon))

    def _within_circle(self, part: Circle, near: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """Return which of some blocks are within a circle or ring.

        The cosine of the angle between two places says so in a third of the time, except within its rounding of a rim.
        """
        lon, lat, _ = self._units.place_columns
        middle = place_on_sphere(part.lon_deg, part.lat_deg)
        x, y, z = (along[near] * at for along, at in zip(self._units.places_on_sphere, middle, strict=True))
        cosine = x + y + z
        limits = np.cos(np.array([part.outer_mi, part.inner_mi]) / EARTH_RADIUS_MI)
        inside = cosine >= limits[0]
        inside &= (cosine < limits[1]) | (part.inner_mi == 0)
        close = np.flatnonzero((np.abs(cosine - limits[:, None]) < _ROUNDING).any(axis=0))
        away = distance_mi(part.lon_deg, part.lat_deg, lon[near[close]], lat[near[close]])
        inside[close] = (away <= part.outer_mi) & ((away > part.inner_mi) | (part.inner_mi == 0))
        return np.asarray(inside)

    def _within_corridor(self, part: Corridor) -> _Members:
        """Return the blocks within a corridor; the blocks of its own unit are always among them."""
        lon, lat, elsewhere = self._units.place_columns
        edges, own = part.edges, np.empty(0, dtype=np.int32)
        if isinstance(part.of, Unit | Units):
            own = self._members_of_units(part.of)
            is_known = all(map(self._units.has_outline, part.of.units))
            edges = self._outlines().of_blocks(own) if is_known else None
            if edges is None:
                raise UsageError(
                    f"area {part}: this release has no outline of {self._part_name(part.of)}; "
                    "choose a unit inside the release's area"
                )
        reach = corridors.Reach(edges, part.miles)
        boxes = reach.search_boxes()
        mark = np.zeros(len(lon), dtype=np.bool_)
        for box in boxes:
            mark[self._units.place_index.find_meeting(box)] = True
        near = np.flatnonzero(mark & ~elsewhere)
        inside: list[npt.NDArray[np.integer]] = [own]
        for some in np.array_split(near, near.size // _PLACES_AT_ONCE + 1):
            watch.check()
            inside.append(some[reach.holds(lon[some], lat[some])])
        cut = self._units.cells.cut_where(boxes, reach.cuts)
        return _Members(np.unique(np.concatenate(inside)).astype(np.int32), _leave_out(cut, own))

    def _name(self, steps: Sequence[Step]) -> str:
        words = {"+": " and ", "-": " without ", "&": " within "}
        shown = steps[:4]
        if len(shown) > 1 and (rings := _ring_names(shown)):
            return rings
        text = "".join(
            (words[step.sign] if place else {"-": "everything without "}.get(step.sign, ""))
            + (step.label or self._part_name(step.part))
            for place, step in enumerate(shown)
        ).replace(f" within {_NEAR}", " within ")
        return f"{text} and {len(steps) - len(shown)} more steps" if len(steps) > len(shown) else text

    def _part_name(self, part: Part) -> str:
        if isinstance(part, Unit):
            return self._units.unit_name(part)
        if isinstance(part, Units):
            return f"{len(part.units)} units, from {self._units.unit_name(part.units[0])}"
        if isinstance(part, Circle):
            return f"{_radii(part)} mi around {part.lat_deg:.3f}, {part.lon_deg:.3f}"
        if isinstance(part, Corridor):
            of = "a drawn line" if isinstance(part.of, Line) else self._part_name(part.of)
            return f"{_NEAR}{part.miles:g} mile{'s' * (part.miles != 1)} of {of}"
        return {Box: "a drawn box", Shape: "a drawn shape", Everything: "everything"}[type(part)]


def _radii(part: Circle) -> str:
    return f"{part.inner_mi:g} to {part.outer_mi:g}" if part.inner_mi else f"{part.outer_mi:g}"


def _ring_names(steps: Sequence[Step]) -> str:
    """Return the name of rings around one place, which it names once; empty for other steps."""
    rings = [
        step.part for step in steps if step.sign == "+" and not step.label and isinstance(step.part, Circle)
    ]
    if len(rings) < len(steps) or len({(part.lon_deg, part.lat_deg) for part in rings}) > 1:
        return ""
    return f"{list_names([*map(_radii, rings)])} mi around {rings[0].lat_deg:.3f}, {rings[0].lon_deg:.3f}"


def _leave_out(blocks: Blocks, left_out: Blocks) -> Blocks:
    return blocks[~np.isin(blocks, left_out)] if left_out.size else blocks


def _restrict_mask(mask: Mask, blocks: Blocks) -> Mask:
    """Return the mask restricted to some blocks."""
    kept = np.zeros_like(mask)
    kept[blocks] = mask[blocks]
    return kept


def _around(part: Circle | Box | Shape, polygon: shapely.Geometry) -> Bounds:
    """Return a rectangle that contains a part: west, south, east and north, degrees.

    A circle extends slightly beyond its outline, which is a polygon; at the 180th meridian it continues on the other
    side.
    """
    west, south, east, north = (float(edge) for edge in shapely.bounds(polygon))
    if not isinstance(part, Circle):
        return west, south, east, north
    margin = 1e-3 * max(east - west, north - south)  # 180 vertices: the arcs bulge by 0.015% of the radius
    if west - margin < -180 or east + margin > 180:
        return -180.0, south - margin, 180.0, north + margin
    return west - margin, south - margin, east + margin, north + margin
