"""The areas of a release that can be chosen: their names, what they are, and which blocks they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy
import pandas

from geodata.schema import LAYER_LABELS
from geodata.store import Store

_TABLES: Final = {
    "state": "states",
    "county": "counties",
    "puma": "pumas",
    "superpuma": "superpumas",
    "tract": "tracts",
}
LEVEL_LABELS: Final = {
    "state": "State",
    "county": "County",
    "stplc": "Place (city or town)",
    "ctycsub": "County subdivision",
    "cbsa": "Metropolitan or micropolitan area",
    "zcta": "ZIP code area",
    "puma": "Public-use microdata area (PUMA)",
    "tract": "Census tract",
    "superpuma": "SuperPUMA",
    **{code: label for code, label in LAYER_LABELS.items() if code != "bgrp"},
    "bgrp": LAYER_LABELS["bgrp"],
}
_ORDER: Final = {level: position for position, level in enumerate(LEVEL_LABELS)}


@dataclass(frozen=True, slots=True)
class Area:
    """One area that can be chosen.

    Attributes
    ----------
    key : str
        `level:identifier`, as it stands in the address.
    level : str
        A key of `LEVEL_LABELS`.
    unit_id : str
        Identifier within the level.
    name : str
        As people call it.
    """

    key: str
    level: str
    unit_id: str
    name: str


class Areas:
    """Every area of one release."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._blocks: dict[str, tuple[Any, dict[str, int]]] = {}
        self.columns = _columns(store)

    @cached_property
    def tracts(self) -> Any:
        """Tracts in order, with `tract_id`, `name`, `county_id`, `county`, `state_id`, `drawn`, …"""
        columns = ["tract_id", "county_id", "state_id", "name", "lon_deg", "lat_deg", "elsewhere", "geometry"]
        tracts = self._store.table("tracts", columns)
        counties = self._store.table("counties", ["county_id", "name"]).set_index("county_id")["name"]
        frame = pandas.DataFrame(tracts.drop(columns="geometry"))
        frame["drawn"] = ~(tracts.geometry.isna() | tracts.geometry.is_empty).to_numpy()
        frame["name"] = [
            name if outside else tract_name(name)
            for name, outside in zip(frame["name"], frame["elsewhere"], strict=True)
        ]
        frame["county"] = counties.reindex(frame["county_id"]).to_numpy()
        return frame

    @cached_property
    def _named(self) -> dict[str, Area]:
        named = [*self._units(), *self._layer_units()]
        return {area.key: area for area in named}

    def _units(self) -> Iterator[Area]:
        for level, table in _TABLES.items():
            if level == "tract":
                frame = self.tracts
                names = [
                    f"{name}, {county}" for name, county in zip(frame["name"], frame["county"], strict=True)
                ]
            else:
                frame = self._store.table(table, [f"{level}_id", "name", "elsewhere"])
                names = list(frame["name"])
            for unit_id, name, outside in zip(frame[f"{level}_id"], names, frame["elsewhere"], strict=True):
                if not outside:
                    yield Area(f"{level}:{unit_id}", level, unit_id, name)
                elif level == "state":
                    yield Area(f"{level}:{unit_id}", level, unit_id, f"{name} (outside the area)")

    def _layer_units(self) -> Iterator[Area]:
        for layer, unit_id, name in self._store.table("layers").itertuples(index=False):
            code = layer.removeprefix("layer_")
            if code in self.columns:
                yield Area(f"{code}:{unit_id}", code, unit_id, name or unit_id)

    @cached_property
    def _haystack(self) -> list[tuple[str, int, Area]]:
        entries = [
            (f"{area.name} {area.unit_id}".lower(), _ORDER.get(area.level, 99), area)
            for area in self._named.values()
        ]
        return sorted(entries, key=lambda entry: (entry[1], entry[0]))

    def __contains__(self, key: object) -> bool:
        return key in self._named

    def __getitem__(self, key: str) -> Area:
        return self._named[key]

    def search(self, text: str, limit: int = 12) -> list[Area]:
        """Areas whose name or identifier has every word of `text`; a name that begins with it comes first."""
        words = text.lower().replace(",", " ").split()
        found = [
            (entry, order, area)
            for entry, order, area in self._haystack
            if all(word in entry for word in words)
        ]
        begin = " ".join(words)
        found.sort(key=lambda hit: (not hit[0].startswith(begin), hit[1]))
        return [area for _, _, area in found[:limit]]

    def blocks(self, keys: Iterable[str]) -> Any:
        """Positions of the blocks in any of the areas: int32, ascending, each once; None without areas."""
        parts = [self._members(key) for key in keys]
        return numpy.unique(numpy.concatenate(parts)).astype(numpy.int32) if parts else None

    def _members(self, key: str) -> Any:
        level, _, unit_id = key.partition(":")
        if level not in self._blocks:
            column = self._store.table("blocks", [self.columns[level]])[self.columns[level]]
            codes, values = pandas.factorize(column)
            self._blocks[level] = codes, {value: code for code, value in enumerate(values)}
        codes, code_of = self._blocks[level]
        return numpy.flatnonzero(codes == code_of.get(unit_id, -2))


def tract_name(name: str) -> str:
    """A tract's own name: the word in front, and no county, which sources put behind a comma or in brackets."""
    bare = name.split(" (")[0].split(", ")[0]
    return bare if "tract" in bare.lower() else f"Tract {bare}"


def _columns(store: Store) -> dict[str, str]:
    """Level to the column of `blocks` that says which unit a block is in."""
    import pyarrow.parquet

    names = pyarrow.parquet.read_schema(store.file("blocks")).names
    layers = {name.removeprefix("layer_"): name for name in names if name.startswith("layer_")}
    return {level: f"{level}_id" for level in _TABLES} | layers
