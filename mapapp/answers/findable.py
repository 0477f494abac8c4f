"""The areas and landmarks that a search can find, and how likely people are to mean each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from geodata.elsewhere import states
from geodata.store import Store
from mapapp.answers.area import Area
from mapapp.answers.area_search import Entry
from mapapp.answers.levels import LANDMARK, NAMED
from mapapp.answers.release_units import ReleaseUnits
from mapapp.question.area_text import MAX_LABEL, Circle, Step

LANDMARK_MI: Final = 0.5
"""Radius of the circle that represents a landmark."""
_GUESSED: Final = (*NAMED, "county", "cbsa", LANDMARK)
_BY_PEOPLE: Final = (*NAMED, "county", "cbsa", "zcta")
"""Layers whose larger units come first."""
_LATER: Final = ("state", "puma", "zcta", LANDMARK, "tract")
_WITHOUT_STATE: Final = ("zcta", "cbsa", "necta", "trib", "tsub", "mil", "state")
"""Layers whose identifiers do not begin with a state."""


def landmarks_of(store: Store) -> Iterator[Area]:
    """Yield the landmarks of a store; each is a named circle around its location."""
    if not store.has_table("landmarks"):
        return
    counties: dict[str, str] = dict(store.table("counties", ["county_id", "name"]).itertuples(index=False))
    columns = ["name", "county_id", "lon_deg", "lat_deg"]
    for name, county_id, lon_deg, lat_deg in store.table("landmarks", columns).itertuples(index=False):
        step = Step("+", Circle(lon_deg, lat_deg, 0.0, LANDMARK_MI), name[:MAX_LABEL])
        county = counties.get(county_id, "")
        shown = f"{name} ({county})" if county else name
        yield Area(str(step).removeprefix("+"), LANDMARK, county_id, shown)


Rank = tuple[bool, int]


@dataclass(frozen=True, slots=True)
class Findable:
    """An area that can be found by its name.

    Attributes
    ----------
    area : Area
    rank : (bool, int)
        How likely people are to mean it: whether the release lacks its jobs, and its layer in the order of
        `_levels_in_order`. The least rank is the most likely.
    people : float
        How many people live there, as far as it matters for the order of names; otherwise 0.
    """

    area: Area
    rank: Rank
    people: float = 0.0


def findable_areas(units: ReleaseUnits, usual: str, listed: Iterable[Area]) -> list[Findable]:
    """Return areas in search order: those with jobs in the release come before others, cities and towns before
    larger and smaller units, and then the larger ones first. `usual` is the layer that people name.
    """
    order = {level: rank for rank, level in enumerate(_levels_in_order(usual))}
    people: dict[str, dict[str, tuple[bool, float]]] = {
        level: _people_of(units, level) for level in (*_BY_PEOPLE, "state") if level in units.columns
    }

    def findable(area: Area) -> Findable:
        in_state, _ = people.get("state", {}).get(state_of(area), (True, 0.0))
        has_jobs, n = people.get(area.level, {}).get(area.unit_id, (in_state, 0.0))
        return Findable(area, (not has_jobs, order.get(area.level, len(order))), n)

    return sorted(map(findable, listed), key=lambda each: (each.rank, -each.people, each.area.name))


def _levels_in_order(usual: str) -> list[str]:
    """Return the layers that people name, most likely first."""
    return [usual, *(level for level in (*NAMED, "county", "cbsa") if level != usual), *_LATER]


def entry_of_area(area: Area) -> Entry:
    """Return what is searched of an area: its full name."""
    code = "" if area.level == LANDMARK else area.unit_id
    state = states().get(area.unit_id) if area.level == "state" else None
    other = landmark_name(area) if area.level == LANDMARK else state.postal if state else ""
    return Entry(area.names[0], code, state_of(area), is_guessed=area.level in _GUESSED, other_name=other)


def landmark_name(area: Area) -> str:
    """Return the name of a landmark without the county that :func:`landmarks_of` appends."""
    return area.name.rpartition(" (")[0] if area.unit_id and area.name.endswith(")") else area.name


def state_of(area: Area) -> str:
    """Return the FIPS code of the state that an area is in; empty if the layer crosses states."""
    return "" if area.level in _WITHOUT_STATE else area.unit_id[:2]


def _people_of(release: ReleaseUnits, level: str) -> dict[str, tuple[bool, float]]:
    """Return for each unit whether the release has its jobs, and how many people live there."""
    units = release.units(level)
    weights = release.places["population"].to_numpy(np.float64)
    people = np.bincount(units.code, weights=weights, minlength=len(units.rows))
    covered = release.with_workplaces(np.arange(len(weights), dtype=np.int32))
    jobs = np.bincount(units.code if covered is None else units.code[covered], minlength=len(units.rows))
    return dict(zip(units.rows["unit_id"], zip(jobs > 0, people.tolist(), strict=True), strict=True))
