"""The layer that rows, clicks and matrices have unless another is chosen: units that people name, and not too many.

County subdivisions are what people name in the twelve states where towns govern, places elsewhere. A layer gives a
readable answer if it has at least 8 units in view, and at most 60 of them hold two thirds of the people in view. If the
towns or places of a large region are too many, counties are used, and states if the counties are too many as well. If
one place holds most of the people, as in a question about one city, ZIP areas are used. Places are not used where two
thirds of the people live outside any of them. If no layer is readable, the one that comes closest is used. Census
tracts are used only if they are chosen.

A release of zones of any country has only their layers: the zones themselves are what people name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from geodata.store.zones import ZONE
from mapapp.answers.areas.selection import Selected
from mapapp.answers.areas.units import ReleaseUnits
from mapapp.answers.commutes.pick import Blocks
from mapapp.base import memory_limits
from mapapp.base.result_cache import ResultCache
from mapapp.question.area_text import Everything
from mapapp.question.fields import USUAL, Side, Values
from mapapp.question.question import OTHER_END, Question, SettledQuestion, area_of

Floats = npt.NDArray[np.float64]
TOWN_STATES: Final = ("09", "23", "25", "26", "27", "33", "34", "36", "42", "44", "50", "55")
"""Connecticut, Maine, Massachusetts, Michigan, Minnesota, New Hampshire, New Jersey, New York, Pennsylvania, Rhode
Island, Vermont, and Wisconsin, where county subdivisions are governments that cover the whole state."""
FEWEST, MOST = 8, 60
MOST_PEOPLE: Final = 2 / 3
NEAR_MI: Final = 25.0
"""The other ends of an area's commutes are those within this distance of the area."""
_MI_PER_DEG: Final = 69.0


class UsualLayers:
    """The usual layers of one release; safe to use from several threads.

    Parameters
    ----------
    units : ReleaseUnits
    select : callable
        Finds the blocks of an area that is given as text.
    """

    def __init__(self, units: ReleaseUnits, select: Callable[[str], Selected]) -> None:
        self._units = units
        self._select = select
        self._found: ResultCache[str] = ResultCache(max_entries=memory_limits.USUAL_LAYERS)

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

    def settle(self, question: Question) -> SettledQuestion:
        """Return a question with the usual layer in place of each layer that it leaves open."""
        if USUAL not in (question.layer, question.home_layer, question.work_layer):
            return SettledQuestion(question)
        # If the analysis has no side, workplaces decide, even if an earlier analysis left a side behind.
        asked = question if "side" in question.entry.fields else replace(question, side="work")
        sides = ((asked.side, asked.areas), (OTHER_END[asked.side], asked.shown_others))
        chosen: dict[Side, Selected | None] = {
            end: self._select(area_of(steps)) if steps else None for end, steps in sides
        }
        ends: dict[str, Side] = {"layer": asked.shown_end, "home_layer": "home", "work_layer": "work"}
        layers: Values = {
            name: self.of(end, chosen[end], chosen[OTHER_END[end]])
            for name, end in ends.items()
            if getattr(question, name) == USUAL and (name == "layer" or name in question.entry.fields)
        }
        return SettledQuestion(replace(question, **layers))

    @property
    def named(self) -> str:
        """The layer that people name, however many units it has: towns or places, or else counties."""
        return self._choose_layer(_View(self._units, self._covered_blocks()))

    def _of(self, end: Side, here: Selected | None, there: Selected | None) -> str:
        view = _View(self._units, self._blocks_in_view(end, here, there))
        # The first of those that fit equally well.
        return min(self._candidates(view), key=lambda layer: _misfit(view.people_of(layer)))

    def _candidates(self, view: _View) -> Iterator[str]:
        """Yield layers, those that people prefer first: of zones of any country, the smallest first."""
        if ZONE in self._units.columns:
            yield from self._units.columns
            return
        named = self._choose_layer(view)
        people, counties = (view.people_of(layer) for layer in (named, "county"))
        if people.sum() > (1 - MOST_PEOPLE) * counties.sum():
            yield named
            if _n_main(people) == 1 and "zcta" in self._units.columns:
                yield "zcta"
        yield "county"
        if len(counties) > MOST:
            yield "state"

    def _choose_layer(self, view: _View) -> str:
        if ZONE in self._units.columns:
            return ZONE
        states, people = view.units_of("state")
        ids = self._units.units("state").ids
        towns = people[[ids[row] in TOWN_STATES for row in states]]
        wanted = "ctycsub" if 2 * towns.sum() >= people.sum() else "stplc"
        is_there = wanted in self._units.columns and view.people_of(wanted).size > 0
        return wanted if is_there else "county"

    def _blocks_in_view(self, end: Side, here: Selected | None, there: Selected | None) -> Blocks:
        blocks = None
        if here is not None:
            blocks = here.blocks
        elif there is not None and there.blocks is not None:
            blocks = self._blocks_near(there.blocks)
        if blocks is not None:
            blocks = blocks[~self._units.place_columns[2][blocks]]
            if end == "work":
                blocks = self._units.keep_workplaces(blocks)
        return self._covered_blocks() if blocks is None or not blocks.size else blocks

    def _covered_blocks(self) -> Blocks:
        covered = self._units.keep_workplaces(np.arange(len(self._units.places), dtype=np.int32))
        assert covered is not None, "some blocks are given"
        return covered

    def _blocks_near(self, blocks: Blocks) -> Blocks:
        """Return the blocks in the box that extends `NEAR_MI` beyond some blocks, ignoring those outside the area."""
        lon, lat, elsewhere = self._units.place_columns
        inside = blocks[~elsewhere[blocks]]
        if not inside.size:
            return inside
        west, south, east, north = (
            float(edge)
            for edge in (lon[inside].min(), lat[inside].min(), lon[inside].max(), lat[inside].max())
        )
        up = NEAR_MI / _MI_PER_DEG
        wide = up / max(math.cos(math.radians((south + north) / 2)), 0.1)
        box = (west - wide, south - up, east + wide, north + up)
        return self._units.place_index.find_meeting(box).astype(np.int32)


class _View:
    """Some blocks, and the units of a layer that have any of them."""

    def __init__(self, units: ReleaseUnits, blocks: Blocks) -> None:
        self._units, self._blocks = units, blocks
        people = units.population[blocks].astype(np.float64)
        # One person a block if the release does not count people.
        self._people = people if people.any() else np.ones_like(people)
        self._found: dict[str, tuple[npt.NDArray[np.integer], Floats]] = {}

    def units_of(self, layer: str) -> tuple[npt.NDArray[np.integer], Floats]:
        """Return the rows of units that have blocks here, and their people, including units without people."""
        if layer not in self._found:
            units = self._units.units(layer)
            code = units.code[self._blocks]
            people = np.bincount(code, self._people, len(units.rows)).astype(np.float64, copy=False)
            n_blocks = np.bincount(code, minlength=len(units.rows))
            rows = np.flatnonzero((n_blocks > 0) & units.is_unit)
            self._found[layer] = rows, people[rows]
        return self._found[layer]

    def people_of(self, layer: str) -> Floats:
        """Return the people of each unit that has blocks here."""
        return self.units_of(layer)[1]


def _is_everything(chosen: Selected | None) -> bool:
    return chosen is not None and all(isinstance(step.part, Everything) for step in chosen.steps)


def _n_main(people: Floats) -> int:
    """Return how many of the largest units hold two thirds of the people."""
    sums = np.cumsum(np.sort(people)[::-1])
    return int(np.searchsorted(sums, MOST_PEOPLE * sums[-1])) + 1 if sums.size else 0


def _misfit(people: Floats) -> float:
    """Return how far a layer is from being readable; 0 if it is readable."""
    few, many = len(people), _n_main(people)
    if not few:
        return math.inf
    return max(math.log(FEWEST / few), math.log(many / MOST), 0.0)
