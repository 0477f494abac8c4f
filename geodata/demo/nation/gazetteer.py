"""Identifiers shaped like the Census Bureau's, and names, for the units of the nation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geodata.demo.grouping import Ints
from geodata.demo.names import Names, postal_codes
from geodata.demo.nation.units import NationUnits

Texts = list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NationGazetteer:
    """Identifiers, which ascend, and names by position.

    Attributes
    ----------
    ids, names : dict of str to list of str
        By level: state, superpuma, puma, county, tract.
    elsewhere : str
        Name of the one state beyond.
    country : str
        Name of the nation.
    """

    ids: dict[str, Texts]
    names: dict[str, Texts]
    elsewhere: str
    country: str


def make_gazetteer(units: NationUnits, rng: np.random.Generator) -> NationGazetteer:
    """Number and name every unit."""
    names = Names(rng)
    country, *state_name = [names.state() for _ in range(len(units.box["state"]) + 2)]
    postal = postal_codes(state_name)
    state_id = [f"{number + 1:02d}" for number in range(len(state_name) - 1)]
    above = units.state_of
    county_id = _numbered(above["county"], lambda n: f"{n + 1:03d}", state_id)
    county_name = _county_names(above["county"], rng)
    tract_number = _place_in(units.county)
    first_county = {level: _first(getattr(units, level), units.county) for level in ("puma", "superpuma")}
    number = _place_in(first_county["puma"]).tolist()
    return NationGazetteer(
        ids={
            "state": state_id,
            "superpuma": _numbered(above["superpuma"], lambda n: f"S{n + 1:03d}", state_id),
            "puma": _numbered(above["puma"], lambda n: f"{100 * (n + 1):05d}", state_id),
            "county": county_id,
            "tract": _numbered(units.county, lambda n: f"{n + 1:04d}00", county_id),
        },
        names={
            "state": state_name[:-1],
            "superpuma": [
                f"Greater {county_name[county]}, {postal[state]}"
                for county, state in zip(first_county["superpuma"], above["superpuma"], strict=True)
            ],
            "puma": [
                f"{county_name[county]} {n + 1}, {postal[state]}"
                for county, n, state in zip(first_county["puma"], number, above["puma"], strict=True)
            ],
            "county": [f"{name} County" for name in county_name],
            "tract": [
                f"Tract {n + 1}, {county_name[county]} County, {postal[state]}"
                for n, county, state in zip(tract_number.tolist(), units.county, units.state, strict=True)
            ],
        },
        elsewhere=state_name[-1],
        country=country,
    )


def _county_names(state: Ints, rng: np.random.Generator) -> Texts:
    """Names, unique within each state."""
    result: Texts = []
    for n_counties in np.bincount(state):
        names = Names(rng)
        result += [names.town(coast=False) for _ in range(n_counties)]
    return result


def _numbered(group: Ints, text: Callable[[int], str], group_id: Texts) -> Texts:
    return [group_id[g] + text(n) for g, n in zip(group.tolist(), _place_in(group).tolist(), strict=True)]


def _place_in(group: Ints) -> Ints:
    """Number of each unit among those of its group, from 0; groups ascend."""
    return np.arange(group.size) - np.searchsorted(group, group)


def _first(group: Ints, value: Ints) -> Ints:
    """Value of the first member of every group; groups ascend."""
    return value[np.searchsorted(group, np.arange(int(group[-1]) + 1))]
