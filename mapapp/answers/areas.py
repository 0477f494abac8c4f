"""The areas of a release: their names, their layers, and the blocks they contain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Final

import numpy
import numpy.typing as npt
import pandas

from geodata.distance import on_sphere
from geodata.schema import LAYER_LABELS
from geodata.store import Store
from mapapp.answers.area import Area
from mapapp.answers.area_names import AreaNames
from mapapp.answers.box_index import BoxIndex
from mapapp.answers.cells import Cells
from mapapp.answers.commute_pick import Blocks
from mapapp.answers.findable import LANDMARK, findable_areas, landmarks_of
from mapapp.answers.layer_units import TABLES, LayerUnits, layer_units
from mapapp.answers.outlines import Outlines
from mapapp.answers.result_cache import ResultCache
from mapapp.answers.selection import Selected, Selection
from mapapp.answers.unit_names import base_name, name_parts, readable_names
from mapapp.answers.usual_layers import NAMED, UsualLayers
from mapapp.errors import UsageError
from mapapp.question.area_text import BLOCK, Step, Unit, area_text, parse_area
from mapapp.question.question import EVERYTHING

LEVEL_LABELS: Final = {
    "state": "State",
    "county": "County",
    "stplc": "Place (city or town)",
    "ctycsub": "Town (county subdivision)",
    "cbsa": "Metropolitan or micropolitan area",
    "zcta": "ZIP code area",
    "puma": "Public-use microdata area (PUMA)",
    "tract": "Census tract",
    "superpuma": "SuperPUMA",
    **{code: label for code, label in LAYER_LABELS.items() if code not in ("bgrp", "ctycsub")},
    "bgrp": LAYER_LABELS["bgrp"],
    BLOCK: "Census block",
    LANDMARK: "Landmark",
}
LEVEL_WORDS: Final = {
    "county": ("parish",),
    "stplc": ("place", "city"),
    "ctycsub": ("county subdivision", "town", "township", "cousub"),
    "cbsa": ("metro", "metro area", "metropolitan area"),
    "zcta": ("zip", "zip code", "zip area", "zip code area"),
    "tract": ("census tract",),
    "bgrp": ("block group",),
    "stcd": ("congressional district",),
    "stsldl": ("state house district",),
    "stsldu": ("state senate district",),
    "stschool": ("school district",),
    "trib": ("tribal area",),
    "mil": ("military installation", "military base"),
    "stwib": ("workforce board area",),
    BLOCK: ("census block",),
}
"""Everyday words for a layer; commands and Python also accept their plurals."""
_KEPT_AREAS: Final = 200
_SHOWN: Final = 5


class Areas:
    """Every area of one release; safe to use from several threads.

    Parameters
    ----------
    store : Store
    cells : Cells, optional
        Without them, drawn areas cannot be selected.
    folder : Path, optional
        Folder for the outlines of layers, needed along with the cells.
    """

    def __init__(self, store: Store, cells: Cells | None = None, folder: Path | None = None) -> None:
        self._store = store
        self._units_of: dict[str, LayerUnits] = {}
        self._selected: ResultCache[Selected] = ResultCache(max_entries=_KEPT_AREAS)
        self._lock = RLock()
        self.columns = _columns(store)
        self._cells = cells
        self._outlines = Outlines(store, self, folder) if folder is not None else None
        self._selection = Selection(self)
        self.usual = UsualLayers(self)

    @property
    def cells(self) -> Cells:
        """The cells of the blocks."""
        if self._cells is None:
            raise AssertionError("these areas were made without cells")
        return self._cells

    @property
    def outlines(self) -> Outlines:
        """The outlines of areas."""
        if self._outlines is None:
            raise AssertionError("these areas were made without a folder for outlines")
        return self._outlines

    @cached_property
    def tracts(self) -> pandas.DataFrame:
        """Tracts in order, with `tract_id`, `name`, `county_id`, `county`, `state_id`, `drawn`, …"""
        columns = ["tract_id", "county_id", "state_id", "name", "lon_deg", "lat_deg", "elsewhere", "geometry"]
        tracts = self._store.table("tracts", columns)
        counties = self._store.table("counties", ["county_id", "name"]).set_index("county_id")["name"]
        frame = pandas.DataFrame(tracts.drop(columns="geometry"))
        frame["drawn"] = ~(tracts.geometry.isna() | tracts.geometry.is_empty).to_numpy()
        frame["name"] = [
            name if outside else tract_name(name)
            for name, outside in zip(frame["name"].tolist(), frame["elsewhere"].tolist(), strict=True)
        ]
        frame["county"] = counties.reindex(frame["county_id"]).to_numpy()
        return frame

    @cached_property
    def _named(self) -> dict[str, Area]:
        named = [*self._units(), *self._layer_units()]
        return {area.key: area for area in named}

    def _units(self) -> Iterator[Area]:
        for level, table in TABLES.items():
            if level == "tract":
                frame = self.tracts
                names = [
                    f"{name}, {county}"
                    for name, county in zip(frame["name"].tolist(), frame["county"].tolist(), strict=True)
                ]
            else:
                frame = self._store.table(table, [f"{level}_id", "name", "elsewhere"])
                names = frame["name"].tolist()
            unit_ids, is_outside = frame[f"{level}_id"].tolist(), frame["elsewhere"].tolist()
            for unit_id, name, outside in zip(unit_ids, names, is_outside, strict=True):
                if not outside:
                    yield Area(f"{level}:{unit_id}", level, unit_id, name)
                elif level == "state":
                    yield Area(f"{level}:{unit_id}", level, unit_id, f"{name} (outside the area)")

    def _layer_units(self) -> Iterator[Area]:
        for layer, units in self._store.table("layers").groupby("layer", sort=False):
            code = str(layer).removeprefix("layer_")
            if code not in self.columns:
                continue
            unit_ids = units["unit_id"].tolist()  # a column of text is slow to go through
            names = [name or unit_id for unit_id, name in zip(unit_ids, units["name"].tolist(), strict=True)]
            shown = readable_names(names) if code in NAMED else names
            for unit_id, name, full_name in zip(unit_ids, shown, names, strict=True):
                yield Area(f"{code}:{unit_id}", code, unit_id, name, full_name)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._named

    def __getitem__(self, key: str) -> Area:
        """Return the area with a key such as `county:44007`, or with a name.

        Raises
        ------
        UsageError
            If there is no such area; the message has the nearest names.
        """
        found = self._named.get(key)
        if found is not None:
            return found
        if not isinstance(key, str) or _is_written(key):
            raise self._unknown(str(key), str(key).rpartition(":")[2])
        return self._unit_named(key)

    def named(self) -> Iterable[Area]:
        """Every area that has a name."""
        return self._named.values()

    def search(self, text: str | int, limit: int = 12, *, near: bool = False) -> list[Area]:
        """Find areas and landmarks whose name or identifier has every word of `text`, best matches first.

        If nothing matches and `near` is true, find what may be meant; :meth:`search_or_guess` says whether it did.
        """
        return self.search_or_guess(text, limit, near=near)[0]

    def search_or_guess(
        self, text: str | int, limit: int = 12, *, near: bool = True
    ) -> tuple[list[Area], bool]:
        """Find areas as :meth:`search` does; also return whether they are a guess at what is meant."""
        return self.names.search(str(text), limit, near=near)

    @cached_property
    def names(self) -> AreaNames:
        """The index of everything that can be found by name; it is made on first use."""
        return AreaNames(findable_areas(self, [*self._named.values(), *landmarks_of(self._store)]))

    def blocks(self, keys: Iterable[str]) -> Blocks | None:
        """Return positions of the blocks in an area: int32, ascending; None for everything, or without steps.

        A key is one step, written as in `mapapp.question.area_text`; a plain `level:identifier` adds that unit.
        """
        text = " ".join(keys)
        return self.select(text).blocks if text else None

    def has_units(self, level: str) -> bool:
        """Return whether the release has any unit of a level."""
        return level in self._levels

    @cached_property
    def _levels(self) -> frozenset[str]:
        return frozenset(area.level for area in self._named.values())

    def units(self, level: str) -> LayerUnits:
        """Return the units of a layer, or single blocks, as rows of tables."""
        with self._lock:
            if level not in self._units_of:
                self._units_of[level] = self._make_units(level)
            return self._units_of[level]

    def _make_units(self, level: str) -> LayerUnits:
        if level == BLOCK:
            return layer_units(self._store, level, "block_id", {}, LEVEL_LABELS[BLOCK])
        if level not in self.columns:
            known = ", ".join([*self.columns, BLOCK])
            raise UsageError(f"layer {level[:40]!r} does not exist; this release has {known}")
        names = {area.unit_id: area.name for area in self._named.values() if area.level == level}
        return layer_units(self._store, level, self.columns[level], names, LEVEL_LABELS.get(level, level))

    def select(self, area: str | Sequence[Step]) -> Selected:
        """Find the blocks of an area.

        Parameters
        ----------
        area : str or sequence of Step
            As `mapapp.question.area_text` writes it.

        Raises
        ------
        UsageError, GeometryError
            If it is not an area, or names a unit that this release does not have.
        """
        if isinstance(area, str) and (known := self._selected.get(area)) is not None:
            return known
        steps = parse_area(area) if isinstance(area, str) else tuple(area)
        text = area_text(steps)
        found = self._selected.get_or_make(text, lambda: self._selection.of(steps))
        if isinstance(area, str) and area != text:
            self._selected.put(area, found)  # so that it need not be parsed again
        return found

    def forget(self) -> None:
        """Drop the cached selections; they are computed again on request."""
        self._selected.clear()
        self._selection.forget()

    def find(self, text: str) -> str:
        """Return an area as text; `text` is such a text already, or the name of one unit.

        A full name comes first, then a shorter one, such as "Providence" for "Providence city, RI". Of several areas
        with one name, those whose jobs the release has come first; then the layer that people name (towns in states
        where towns govern, places elsewhere), then the other one of these two, counties, and all other layers.

        Raises
        ------
        UsageError
            If no unit has that name; the message lists the nearest names. Also if several units have it; the message
            lists some of them.
        """
        return text if _is_written(text) else self._unit_named(text).key

    def note_on_name(self, text: str) -> str:
        """Return one line that lists other units with the same name; empty without such units.

        Raises
        ------
        UsageError
            As raised by :meth:`find`.
        """
        if _is_written(text):
            return ""
        chosen, wanted = self._unit_named(text), _folded(text)
        others = [area for area in self._whole_search(text) if _folded(base_name(area.names[0])) == wanted]
        rest = [area for area in others if area != chosen]
        if not rest:
            return ""
        more = f"; and {len(rest) - _SHOWN} more" if len(rest) > _SHOWN else ""
        return f"area {text[:60]!r}: using {_listed([chosen])}; other areas with that name: {_listed(rest)}{more}"

    def _unit_named(self, text: str) -> Area:
        wanted, found = _folded(text), self._whole_search(text)
        full = [area for area in found if wanted in map(_folded, _long_names(area))]
        # "Providence city" is not the "Providence City" of another layer.
        exact = [area for area in full if text.strip() in _long_names(area)]
        same = exact or full or self.names.meant_by(text)
        if len(same) == 1 or (len(found) == 1 and wanted):
            return (same or found)[0]
        if found:
            many = same or found
            raise UsageError(
                f"area {text[:60]!r}: {len(many):,} units have that name, such as {_listed(many)}; give one of them"
            )
        raise self._unknown(text, text)

    def _unknown(self, text: str, words: str) -> UsageError:
        """Return the error about an area that is not here, with the names nearest to some words."""
        near = self.search(words, near=True) if words else []
        remedy = (
            f"the nearest {'names are' if len(near) > 1 else 'name is'} {_listed(near)}"
            if near
            else "give level:identifier, such as county:44007"
        )
        return UsageError(f"area {text[:60]!r}: no area has that name; {remedy}")

    def _whole_search(self, text: str) -> list[Area]:
        return self.search(text, limit=len(self.names.areas))

    @cached_property
    def places(self) -> pandas.DataFrame:
        """Internal points of the blocks: ``lon_deg``, ``lat_deg``, ``elsewhere``; and their ``population``."""
        columns = ["lon_deg", "lat_deg", "elsewhere", "population"]
        places: pandas.DataFrame = self._store.table("blocks", columns)
        return places

    def with_workplaces(self, blocks: npt.NDArray[numpy.int32] | None) -> npt.NDArray[numpy.int32] | None:
        """Of some blocks, those whose jobs the release has; None for all blocks, as an argument and as the answer.

        States outside the imported area have none, and neither have states whose workplaces the release does not cover.
        """
        known = self._has_workplaces
        if blocks is not None:
            return blocks[known[blocks]]
        return None if known.all() else numpy.flatnonzero(known).astype(numpy.int32)

    @cached_property
    def _has_workplaces(self) -> npt.NDArray[numpy.bool_]:
        blocks = self._store.table("blocks", ["state_id", "elsewhere"])
        covered = self._store.manifest.get("destination_states")
        inside = ~blocks["elsewhere"].to_numpy()
        if not isinstance(covered, list):
            return inside
        return inside & blocks["state_id"].isin([str(state) for state in covered]).to_numpy()

    @cached_property
    def place_columns(
        self,
    ) -> tuple[npt.NDArray[numpy.float64], npt.NDArray[numpy.float64], npt.NDArray[numpy.bool_]]:
        """Longitude and latitude, degrees, of each block's internal point, and whether it is outside the area."""
        places = self.places
        lon_deg, lat_deg, elsewhere = (
            places[name].to_numpy() for name in ("lon_deg", "lat_deg", "elsewhere")
        )
        return lon_deg, lat_deg, elsewhere

    @cached_property
    def places_on_sphere(self) -> npt.NDArray[numpy.float64]:
        """Each block's internal point on the unit sphere: float64[3, blocks]."""
        lon_deg, lat_deg, _ = self.place_columns
        return on_sphere(lon_deg, lat_deg)

    @cached_property
    def population(self) -> npt.NDArray[numpy.integer]:
        """People of each block."""
        return self.places["population"].to_numpy()

    @cached_property
    def place_index(self) -> BoxIndex:
        """Index of the blocks' internal points, to search by rectangle."""
        lon_lat = numpy.stack(self.place_columns[:2]).astype(numpy.float64)
        return BoxIndex(numpy.concatenate([lon_lat, lon_lat]))

    def members(self, unit: Unit) -> Blocks:
        """Return positions of the blocks of a unit: int32, ascending; UsageError if the release does not have it."""
        units = self.units(unit.level)
        row = units.row_of(unit.unit_id)
        if row is None and unit.level == "state":
            row = units.row_of(unit.unit_id, "elsewhere")
        if row is None:
            label = LEVEL_LABELS.get(unit.level, unit.level)
            raise UsageError(f"area {unit}: this release has no {label} {unit.unit_id}; look it up by name")
        return units.blocks_of(row)

    def has_outline(self, unit: Unit) -> bool:
        """Return whether a unit is inside the imported area, so that places can be near it."""
        return str(unit) in self._named and self.units(unit.level).row_of(unit.unit_id) is not None

    def unit_name(self, unit: Unit) -> str:
        """Return the name of a unit."""
        named = self._named.get(str(unit))
        return (
            named.name if named is not None else f"{LEVEL_LABELS.get(unit.level, unit.level)} {unit.unit_id}"
        )


def level_named(name: str) -> str:
    """Return the key of a layer from its key or a word of `LEVEL_WORDS`; any other text unchanged."""
    text = " ".join(re.split(r"[\s_-]+", name.strip().lower()))
    singular = f"{text[:-3]}y" if text.endswith("ies") else text.removesuffix("s")
    return next((_LEVELS[each] for each in (text, singular) if each in _LEVELS), name)


_LEVELS: Final = {level: level for level in LEVEL_LABELS} | {
    word: level for level, words in LEVEL_WORDS.items() for word in words
}


def _is_written(text: str) -> bool:
    """Return whether a text is an area rather than a name."""
    return ":" in text or text.strip() == EVERYTHING


def _folded(text: str) -> str:
    """Return a text in lower case with single spaces."""
    return " ".join(text.lower().split())


def _listed(areas: list[Area]) -> str:
    return "; ".join(f"{area.key} ({area.names[0]})" for area in areas[:_SHOWN])


def _long_names(area: Area) -> tuple[str, str]:
    """Return the full name of an area, with and without its state."""
    return area.names[0], name_parts(area.names[0])[0]


def tract_name(name: str) -> str:
    """Return a tract's own name: starting with a word, and without the county that sources append."""
    bare = name.split(" (")[0].split(", ")[0]
    return bare if "tract" in bare.lower() else f"Tract {bare}"


def _columns(store: Store) -> dict[str, str]:
    """Return the column of `blocks` that has each block's unit, by level."""
    import pyarrow.parquet

    names = pyarrow.parquet.read_schema(store.file("blocks")).names
    layers = {name.removeprefix("layer_"): name for name in names if name.startswith("layer_")}
    return {level: f"{level}_id" for level in TABLES} | layers
