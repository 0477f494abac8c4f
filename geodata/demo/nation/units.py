"""States, SuperPUMAs, PUMAs, counties and tracts of the nation: rectangles within rectangles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from geodata.demo.curves import Floats
from geodata.demo.grouping import Ints
from geodata.demo.nation.division import Areas, divided
from geodata.demo.nation.settlement import KM_PER_DEG, settled_places
from geodata.demo.nation.sizes import NationScale

_SPARE: Final = 1.03  # cuts miss the wanted share by a place or two
_STATE_POWER: Final = 0.75
_STATE_LEAST: Final = 1.3  # people of the smallest state, relative to the fewest of a SuperPUMA
_FEWER_PUMAS: Final = 0.9  # of SuperPUMAs, which have one PUMA less than they could
_URBAN_COUNTY: Final = 0.4  # of SuperPUMAs, the densest, which are a county each
_COUNTIES_OF_PUMA: Final = (0.3, 0.45, 0.25)  # elsewhere a PUMA has one, two or three counties
_TRACT_SPREAD: Final = 0.28  # log standard deviation of the people of a tract

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class NationUnits:
    """Membership by position; every kind of unit is numbered along the same walk over the land.

    Attributes
    ----------
    box : dict of str to float64[n, 4]
        West, south, east and north of the units of each level.
    state_of : dict of str to int64[n]
        State of the units of each level.
    superpuma_of_puma : int64[pumas]
    puma, superpuma, county, state : int64[tracts]
        Of each tract, ascending.
    people : int64[tracts]
        Residents.
    """

    box: dict[str, Floats]
    state_of: dict[str, Ints]
    superpuma_of_puma: Ints
    puma: Ints
    superpuma: Ints
    county: Ints
    state: Ints
    people: Ints

    @property
    def n_tracts(self) -> int:
        """Tracts of all states."""
        return self.people.size


def make_units(scale: NationScale, rng: np.random.Generator) -> NationUnits:
    """Settle the land and divide it into units; each nests in those above it."""
    land = Areas(
        place=settled_places(scale, rng),
        ptr=np.array([0, scale.n_places]),
        box=np.array([scale.extent_deg]),
    )
    states = divided(land, np.array([scale.n_states]), _state_weights(scale, rng))
    wanted = _fitting(states, scale, scale.superpuma_people)
    state_of_superpuma = np.repeat(np.arange(scale.n_states), wanted)
    superpumas = divided(states, wanted, np.ones(wanted.sum()))
    wanted = _fitting(superpumas, scale, scale.puma_people)
    wanted = np.maximum(wanted - (rng.random(wanted.size) < _FEWER_PUMAS), 1)
    superpuma_of_puma = np.repeat(np.arange(wanted.size), wanted)
    pumas = divided(superpumas, wanted, np.ones(wanted.sum()))
    urban = _densest(superpumas, _URBAN_COUNTY)
    wanted = np.where(urban[superpuma_of_puma], 1, 1 + rng.choice(3, wanted.sum(), p=_COUNTIES_OF_PUMA))
    puma_of_part = np.repeat(np.arange(wanted.size), wanted)
    parts = divided(pumas, wanted, rng.uniform(0.5, 1.5, wanted.sum()))
    county_of_part, county_box = _counties(urban, superpumas, superpuma_of_puma[puma_of_part], parts)
    wanted = np.maximum(np.rint(parts.n_places * scale.people_per_place / scale.tract_people), 1)
    part_of_tract = np.repeat(np.arange(wanted.size), wanted.astype(np.int64))
    tracts = divided(parts, wanted.astype(np.int64), rng.lognormal(0.0, _TRACT_SPREAD, part_of_tract.size))
    puma = puma_of_part[part_of_tract]
    superpuma = superpuma_of_puma[puma]
    county = county_of_part[part_of_tract]
    state = state_of_superpuma[superpuma]
    state_of_county = np.zeros(len(county_box), np.int64)
    state_of_county[county] = state
    return NationUnits(
        box={
            "state": states.box,
            "superpuma": superpumas.box,
            "puma": pumas.box,
            "county": county_box,
            "tract": tracts.box,
        },
        state_of={
            "state": np.arange(scale.n_states),
            "superpuma": state_of_superpuma,
            "puma": state_of_superpuma[superpuma_of_puma],
            "county": state_of_county,
            "tract": state,
        },
        superpuma_of_puma=superpuma_of_puma,
        puma=puma,
        superpuma=superpuma,
        county=county,
        state=state,
        people=tracts.n_places * scale.people_per_place,
    )


def _state_weights(scale: NationScale, rng: np.random.Generator) -> Floats:
    """People of each state, in no particular order; none has fewer than a SuperPUMA needs."""
    share = np.arange(1, scale.n_states + 1) ** -_STATE_POWER
    least = _STATE_LEAST * scale.superpuma_people
    weight = least + share / share.sum() * (scale.n_people - least * scale.n_states)
    return rng.permutation(weight)


def _fitting(areas: Areas, scale: NationScale, fewest: int) -> Ints:
    """Number of units with at least `fewest` people that fit into each area."""
    people = areas.n_places * scale.people_per_place
    return np.maximum(np.floor(people / (fewest * _SPARE)), 1).astype(np.int64)


def _densest(areas: Areas, share: float) -> Flags:
    west, south, east, north = areas.box.T
    area = (east - west) * (north - south) * np.cos(np.radians((south + north) / 2)) * KM_PER_DEG**2
    density = areas.n_places / area
    return np.asarray(density > np.quantile(density, 1.0 - share), dtype=np.bool_)


def _counties(urban: Flags, superpumas: Areas, superpuma: Ints, parts: Areas) -> tuple[Ints, Floats]:
    """County of every part of a PUMA, and every county's rectangle: an urban SuperPUMA, or the part itself."""
    own = ~urban[superpuma]
    begins = own | (np.diff(superpuma, prepend=-1) != 0)
    county = np.cumsum(begins) - 1
    box = np.where(own[begins, None], parts.box[begins], superpumas.box[superpuma[begins]])
    return county, box
