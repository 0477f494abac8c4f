"""The layer that rows, clicks and matrices have unless another is chosen: units that people name, and not too many.

County subdivisions are what people name in the twelve states where towns govern, places elsewhere. A layer gives a
readable answer if it has at least 8 units in view, and at most 60 of them hold two thirds of the people in view. If the
towns or places of a large region are too many, counties are used, and states if the counties are too many as well. If
one place holds most of the people, as in a question about one city, ZIP areas are used. Places are not used where two
thirds of the people live outside any of them. If no layer is readable, the one that comes closest is used. Census
tracts are used only if they are chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from mapapp.answers.flows import Blocks
from mapapp.answers.result_cache import ResultCache
from mapapp.question.area_text import Everything
from mapapp.question.fields import USUAL, Side, Values
from mapapp.question.question import OTHER_END, Question, area_of

if TYPE_CHECKING:
    from mapapp.answers.areas import Areas
    from mapapp.answers.selection import Selected

TOWN_STATES: Final = ("09", "23", "25", "26", "27", "33", "34", "36", "42", "44", "50", "55")
"""Connecticut, Maine, Massachusetts, Michigan, Minnesota, New Hampshire, New Jersey, New York, Pennsylvania, Rhode
Island, Vermont, and Wisconsin, where county subdivisions are governments that cover the whole state."""
NAMED: Final = ("stplc", "ctycsub")
"""Layers whose units people call by a name alone."""
FEWEST, MOST = 8, 60
MOST_PEOPLE: Final = 2 / 3
NEAR_MI: Final = 25.0
"""The other ends of an area's commutes are those within this distance of the area."""
_MI_PER_DEG: Final = 69.0
_KEPT: Final = 500


class UsualLayers:
    """The usual layers of one release; safe to use from several threads.

    Parameters
    ----------
    areas : Areas
    """

    def __init__(self, areas: Areas) -> None:
        self._areas = areas
        self._found: ResultCache[str] = ResultCache(max_entries=_KEPT)

    def of(self, end: Side, here: Selected | None = None, there: Selected | None = None) -> str:
        """Return the usual layer for one end of commutes.

        Parameters
        ----------
        end : {"work", "home"}
            The end whose units are counted.
        here, there : Selected, optional
            The area chosen at that end, and the area chosen at the other end. Without `here`, the units near `there`
            are in view; without both, those of the states whose workplaces the release covers.
        """
        here, there = (None if _is_everything(chosen) else chosen for chosen in (here, there))
        key = (end, *(None if chosen is None else chosen.text for chosen in (here, there)))
        return self._found.get_or_make(key, lambda: self._of(end, here, there))

    def settled(self, question: Question) -> Question:
        """Return a question with the usual layer in place of each layer that it leaves open."""
        if USUAL not in (question.layer, question.home_layer, question.work_layer):
            return question
        # If the analysis has no side, workplaces decide, even if an earlier analysis left a side behind.
        asked = question if "side" in question.entry.fields else replace(question, side="work")
        sides = ((asked.side, asked.areas), (OTHER_END[asked.side], asked.shown_others))
        chosen: dict[Side, Selected | None] = {
            end: self._areas.select(area_of(steps)) if steps else None for end, steps in sides
        }
        ends: dict[str, Side] = {"layer": asked.shown_end, "home_layer": "home", "work_layer": "work"}
        found: Values = {
            name: self.of(end, chosen[end], chosen[OTHER_END[end]])
            for name, end in ends.items()
            if getattr(question, name) == USUAL and (name == "layer" or name in question.entry.fields)
        }
        return replace(question, **found)

    @property
    def named(self) -> str:
        """The layer that people name, however many units it has: towns or places, or else counties."""
        return self._named(self._covered())

    def _of(self, end: Side, here: Selected | None, there: Selected | None) -> str:
        blocks = self._in_view(end, here, there)
        layers = {layer: self._people_of(layer, blocks) for layer in self._candidates(blocks)}
        return min(
            layers, key=lambda layer: _misfit(layers[layer])
        )  # the first of those that fit equally well

    def _candidates(self, blocks: Blocks) -> Iterator[str]:
        """Yield layers, those that people prefer first."""
        named = self._named(blocks)
        people, counties = (self._people_of(layer, blocks) for layer in (named, "county"))
        if sum(people.values()) > (1 - MOST_PEOPLE) * sum(counties.values()):
            yield named
            if _n_main(people) == 1 and "zcta" in self._areas.columns:
                yield "zcta"
        yield "county"
        if len(counties) > MOST:
            yield "state"

    def _named(self, blocks: Blocks) -> str:
        states = self._people_of("state", blocks)
        towns = sum(people for state, people in states.items() if state in TOWN_STATES)
        wanted = "ctycsub" if 2 * towns >= sum(states.values()) else "stplc"
        is_there = wanted in self._areas.columns and bool(self._people_of(wanted, blocks))
        return wanted if is_there else "county"

    def _people_of(self, layer: str, blocks: Blocks) -> dict[str, float]:
        """Return the people of each unit that has blocks in view, including units without people."""
        units = self._areas.units(layer)
        code = units.code[blocks]
        people = np.bincount(code, weights=self._people(blocks), minlength=len(units.rows))
        n_blocks = np.bincount(code, minlength=len(units.rows))
        mine = np.flatnonzero((n_blocks > 0) & (units.rows["kind"] == "unit").to_numpy())
        return dict(zip(units.rows["unit_id"].to_numpy()[mine], people[mine].tolist(), strict=True))

    def _people(self, blocks: Blocks) -> npt.NDArray[np.float64]:
        """Return the people of some blocks, or one for each if the release does not count people."""
        people = self._areas.places["population"].to_numpy()[blocks].astype(np.float64)
        return people if people.any() else np.ones_like(people)

    def _in_view(self, end: Side, here: Selected | None, there: Selected | None) -> Blocks:
        found = None
        if here is not None:
            found = here.blocks
        elif there is not None and there.blocks is not None:
            found = self._near(there.blocks)
        if found is not None:
            found = found[~self._areas.place_columns[2][found]]
            if end == "work":
                found = self._areas.with_workplaces(found)
        return self._covered() if found is None or not found.size else found

    def _covered(self) -> Blocks:
        covered = self._areas.with_workplaces(np.arange(len(self._areas.places), dtype=np.int32))
        assert covered is not None, "some blocks are given"
        return covered

    def _near(self, blocks: Blocks) -> Blocks:
        """Return the blocks in the box that extends `NEAR_MI` beyond some blocks, ignoring those outside the area."""
        lon, lat, elsewhere = self._areas.place_columns
        mine = blocks[~elsewhere[blocks]]
        if not mine.size:
            return mine
        west, south, east, north = (
            float(edge) for edge in (lon[mine].min(), lat[mine].min(), lon[mine].max(), lat[mine].max())
        )
        up = NEAR_MI / _MI_PER_DEG
        wide = up / max(math.cos(math.radians((south + north) / 2)), 0.1)
        box = (west - wide, south - up, east + wide, north + up)
        return self._areas.place_index.meeting(box).astype(np.int32)


def _is_everything(chosen: Selected | None) -> bool:
    return chosen is not None and all(isinstance(step.part, Everything) for step in chosen.steps)


def _n_main(people: dict[str, float]) -> int:
    """Return how many of the largest units hold two thirds of the people."""
    sums = np.cumsum(sorted(people.values(), reverse=True))
    return int(np.searchsorted(sums, MOST_PEOPLE * sums[-1])) + 1 if sums.size else 0


def _misfit(people: dict[str, float]) -> float:
    """Return how far a layer is from being readable; 0 if it is readable."""
    few, many = len(people), _n_main(people)
    if not few:
        return math.inf
    return max(math.log(FEWEST / few), math.log(many / MOST), 0.0)
