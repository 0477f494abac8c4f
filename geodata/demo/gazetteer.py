"""Identifiers shaped like the Census Bureau's, and names, for every unit of a generated country."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Final

import numpy as np
import numpy.typing as npt

from geodata.demo.blocks import Blocks
from geodata.demo.curves import Floats
from geodata.demo.grouping import Ints
from geodata.demo.sizes import ELSEWHERE_STATES
from geodata.demo.towns import STATES, Towns
from geodata.demo.units import Units

# Readable invented names.

_STEMS: Final = (
    "Alder Amber Ash Aspen Barley Birch Bracken Bram Briar Calder Carrow Cinder Clover Cobble Copper Corrin "
    "Curlew Dapple Dray Dunlin Elder Ember Fallow Fen Fern Finch Flint Gannet Garnet Gorse Grebe Harrow "
    "Hazel Heron Hollin Hornbeam Ibis Ivory Juniper Keld Kestrel Lantern Larch Lark Linden Linnet Lorrin "
    "Mallow Marrow Merlin Mistle Moss Nettle Oriel Osprey Otter Pebble Pell Perrin Petrel Plover Quarrel "
    "Quill Raven Reed Rowan Rush Sable Sedge Sorrel Sparrow Stern Swallow Tamsin Tansy Tarn Teasel Teal "
    "Thistle Thrush Tolliver Umber Vale Verrin Wander Willow Winter Wren Yarrow Yew"
)
_COAST: Final = "haven mouth port bay quay sound strand head"
_LAND: Final = (
    "ford bury field ton ham wick bridge dale stead stoke combe brook mere well worth thorpe gate hill"
)
_STATE: Final = "land mark moor shire mere fell holm reach"
_PLAIN: Final = "Lower Upper North South East West New Old Great Little"


class Names:
    """Generates names, each only once.

    Parameters
    ----------
    rng : Generator
        Source of the names' randomness.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._stems = [str(stem) for stem in rng.permutation(_STEMS.split())]
        self._next = 0
        self._used: set[str] = set()

    def stem(self) -> str:
        """Return the next stem: all of them once, then again from the first."""
        stem = self._stems[self._next % len(self._stems)]
        self._next += 1
        return stem

    def state(self) -> str:
        """Name a state."""
        return self._make_name(_STATE)

    def county(self) -> str:
        """Name a county, without the word."""
        return self._make_name("")

    def town(self, *, coast: bool) -> str:
        """Name a town, on the coast or not."""
        return self._make_name(_COAST if coast else _LAND)

    def landmark(self) -> str:
        """Name a river, a lake, or another landmark, without the word for what it is."""
        stem = self.stem()
        if stem in self._used:  # all stems are
            return self._make_name(_LAND)
        self._used.add(stem)
        return stem

    def name_neighbor(self, name: str) -> str:
        """Name a neighbor of `name`: the same with a word in front."""
        for word in self._rng.permutation(_PLAIN.split()):
            if f"{word} {name}" not in self._used:
                self._used.add(f"{word} {name}")
                return f"{word} {name}"
        return self.town(coast=False)

    def _make_name(self, endings: str) -> str:
        while True:
            stem, ending = self.stem(), str(self._rng.choice(endings.split() or [""]))
            name = join_stem(stem, ending)
            if name not in self._used:
                self._used.add(name)
                return name


def join_stem(stem: str, ending: str) -> str:
    """Join stem and ending without a letter three times or a syllable twice: Moss + stead is Mosstead."""
    if not ending:
        return stem
    if stem[-1] == ending[0]:
        return stem + ending[1:]
    return stem + ending


def postal_codes(names: list[str]) -> list[str]:
    """Two capitals for each name, all different: the first letter, and the first other letter still available."""
    codes: list[str] = []
    for name in names:
        letters = [letter.upper() for letter in name if letter.isalpha()]
        wanted = [letters[0] + second for second in [*letters[1:], *"XYZ", *ascii_uppercase]]
        codes.append(next(code for code in wanted if code not in codes))
    return codes


Texts = npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gazetteer:
    """Identifier and name by number of the unit; where a unit can be missing, -1 is the last entry, "".

    Attributes
    ----------
    state, county, puma, superpuma, tract : tuple of (identifiers, names)
        Arrays of text; states include the elsewhere ones, last.
    layer : dict of str to (identifiers, names)
        By code: `cbsa`, `ctycsub`, `stplc`, `zcta`.
    town : list of str
        Names of the rows of `Towns`, without "city" or "town".
    country : str
        Name of the nation.
    """

    state: tuple[Texts, Texts]
    county: tuple[Texts, Texts]
    puma: tuple[Texts, Texts]
    superpuma: tuple[Texts, Texts]
    tract: tuple[Texts, Texts]
    layer: dict[str, tuple[Texts, Texts]]
    town: list[str]
    country: str


def make_gazetteer(blocks: Blocks, units: Units, towns: Towns, rng: np.random.Generator) -> Gazetteer:
    """Number and name all units."""
    names = Names(rng)
    country = names.state()
    state_names = [names.state() for _ in (*STATES, *ELSEWHERE_STATES)]
    postal = postal_codes(state_names)
    town = [names.town(coast=bool(coast)) for coast in towns.coast_km < 3.0]
    people = np.bincount(units.tract, weights=blocks.people).astype(np.float64)
    county_state = _take_last_value(units.county, units.state)
    county_id = _make_texts(county_state, lambda state, n: f"{STATES[state]}{2 * n + 1:03d}")
    county_name = [names.county() for _ in county_state]
    tract_id, tract_number = _tract_ids(units, county_id, towns)
    near = _nearest_towns(units, people, towns, town)
    return Gazetteer(
        country=country,
        town=town,
        state=(_texts([*STATES, *ELSEWHERE_STATES]), _texts(state_names)),
        county=(_texts(county_id), _texts([f"{name} County" for name in county_name])),
        puma=_pumas(units, near, postal),
        superpuma=_superpumas(units, near, postal),
        tract=(
            _texts(tract_id),
            _texts(
                [
                    f"Tract {number}, {county_name[county]} County, {postal[state]}"
                    for number, county, state in zip(tract_number, units.county, units.state, strict=True)
                ]
            ),
        ),
        layer={
            "cbsa": _metros(units, town, towns, postal),
            "ctycsub": _subdivisions(units, near, county_id, county_name, postal, names),
            "stplc": _places(towns, town, postal),
            "zcta": _zips(blocks, units, towns, town),
        },
    )


def _texts(values: list[str]) -> Texts:
    return np.array(values, dtype=object)


def _take_last_value(group: Ints, value: Ints) -> Ints:
    result = np.zeros(int(group.max()) + 1, np.int64)
    result[group] = value
    return result


def _make_texts(group: Ints, make: Callable[[int, int], str]) -> list[str]:
    """Text for each of a list of units, given its group and its number within the group."""
    seen: dict[int, int] = {}
    texts = []
    for number in group.tolist():
        texts.append(make(number, seen.get(number, 0)))
        seen[number] = seen.get(number, 0) + 1
    return texts


def _tract_ids(units: Units, county_id: list[str], towns: Towns) -> tuple[list[str], list[str]]:
    city = towns.place_km[np.flatnonzero(towns.is_city)[units.state]]
    outwards = np.hypot(*(units.centre_km - city).T)
    ids, numbers = [""] * units.state.size, [""] * units.state.size
    for county in range(len(county_id)):
        here = np.flatnonzero(units.county == county)
        whole, half = 1, 0
        for step, tract in enumerate(here[np.argsort(outwards[here], kind="stable")]):
            # Some numbers are those of tracts that were split as they grew.
            half = 1 if step % 5 == 3 else 2 if half == 1 else 0
            ids[tract] = f"{county_id[county]}{whole:04d}{half:02d}"
            numbers[tract] = f"{whole}.{half:02d}" if half else str(whole)
            whole += half != 1
    return ids, numbers


def _nearest_towns(units: Units, people: Floats, towns: Towns, names: list[str]) -> Callable[..., list[str]]:
    """Return a function that names a set of tracts after the towns nearest to its people."""

    def near(tracts: Ints, count: int = 1) -> list[str]:
        centre = np.average(units.centre_km[tracts], axis=0, weights=people[tracts] + 1.0)
        away = np.hypot(*(towns.place_km - centre).T) / (0.5 + towns.weight)
        away[towns.state != units.state[tracts[0]]] = np.inf
        return [names[town] for town in np.argsort(away, kind="stable")[:count]]

    return near


def _pumas(units: Units, near: Callable[..., list[str]], postal: list[str]) -> tuple[Texts, Texts]:
    state = _take_last_value(units.puma, units.state)
    ids = _make_texts(state, lambda s, n: f"{STATES[s]}{100 * (n + 1):05d}")
    names = _number_repeats(
        [" & ".join(near(np.flatnonzero(units.puma == puma), 2)) for puma in range(state.size)]
    )
    return _texts(ids), _texts([f"{name}, {postal[s]}" for name, s in zip(names, state, strict=True)])


def _superpumas(units: Units, near: Callable[..., list[str]], postal: list[str]) -> tuple[Texts, Texts]:
    state = _take_last_value(units.superpuma, units.state)
    ids = _make_texts(state, lambda s, n: f"{STATES[s]}S{n + 1:02d}")
    names = _number_repeats([near(np.flatnonzero(units.superpuma == unit))[0] for unit in range(state.size)])
    return _texts(ids), _texts([f"Greater {name}, {postal[s]}" for name, s in zip(names, state, strict=True)])


def _number_repeats(names: list[str]) -> list[str]:
    numbers = _make_texts(
        np.unique(names, return_inverse=True)[1], lambda _g, n: f" ({'I' * (n + 1)})" if n else ""
    )
    return [name + number for name, number in zip(names, numbers, strict=True)]


def _metros(units: Units, town: list[str], towns: Towns, postal: list[str]) -> tuple[Texts, Texts]:
    city = np.flatnonzero(towns.is_city)
    ids = [f"{STATES[state]}100" for state in range(len(STATES))]
    names = [f"{town[city[state]]}, {postal[state]}" for state in range(len(STATES))]
    names[0] = f"{town[city[0]]}–{town[city[1]]}, {postal[0]}–{postal[1]}"
    return _texts([*ids, ""]), _texts([*names, ""])


def _subdivisions(
    units: Units,
    near: Callable[..., list[str]],
    county_id: list[str],
    county: list[str],
    postal: list[str],
    names: Names,
) -> tuple[Texts, Texts]:
    of_county = _take_last_value(units.subdivision, units.county)
    ids = _make_texts(of_county, lambda c, n: f"{county_id[c]}{5 * (n + 1):05d}")
    used: set[str] = set()
    texts = []
    for unit, home in enumerate(of_county.tolist()):
        tracts = np.flatnonzero(units.subdivision == unit)
        name = near(tracts)[0]
        name = names.name_neighbor(name) if name in used else name
        used.add(name)
        texts.append(f"{name} town ({county[home]}, {postal[units.state[tracts[0]]]})")
    return _texts(ids), _texts(texts)


def _places(towns: Towns, town: list[str], postal: list[str]) -> tuple[Texts, Texts]:
    ids = _make_texts(towns.state, lambda s, n: f"{STATES[s]}{1000 + 350 * n:05d}")
    kinds = np.where(towns.is_city, "city", np.where(towns.weight > 0.3, "city", "town"))
    names = [f"{n} {k}, {postal[s]}" for n, k, s in zip(town, kinds, towns.state, strict=True)]
    return _texts([*ids, ""]), _texts([*names, ""])


def _zips(blocks: Blocks, units: Units, towns: Towns, town: list[str]) -> tuple[Texts, Texts]:
    state = _take_last_value(units.zip_area, blocks.state)
    ids = _make_texts(state, lambda s, n: f"{STATES[s]}{n + 1:03d}")
    names = []
    for unit, text in enumerate(ids):
        centre = blocks.place_km[units.zip_area == unit].mean(axis=0)
        away = np.hypot(*(towns.place_km - centre).T)
        away[towns.state != state[unit]] = np.inf
        names.append(f"{text} {town[int(np.argmin(away))]}")
    return _texts(ids), _texts(names)
