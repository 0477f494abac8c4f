"""The blocks of a release, and the units that they make up: identifiers, names, and places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from threading import RLock

import numpy
import numpy.typing as npt
import pandas

from geodata.geography.distance import place_on_sphere
from geodata.store.store import Store
from geodata.store.zones import is_of_zones
from mapapp.answers.areas.area import Area
from mapapp.answers.areas.box_index import BoxIndex
from mapapp.answers.areas.cells import Cells
from mapapp.answers.areas.layer_units import TABLES, LayerUnits, layer_units
from mapapp.answers.areas.levels import LEVEL_LABELS, NAMED, level_label
from mapapp.answers.areas.unit_names import readable_names
from mapapp.answers.commutes.pick import Blocks
from mapapp.base.errors import UsageError
from mapapp.question.area_text import BLOCK, Unit
from mapapp.question.fields import USUAL


class ReleaseUnits:
    """The blocks and units of one release; safe to use from several threads.

    Parameters
    ----------
    store : Store
    cells : Cells, optional
        Without them, drawn areas cannot be selected.
    """

    def __init__(self, store: Store, cells: Cells | None = None) -> None:
        self._store = store
        self._units_of: dict[str, LayerUnits] = {}
        self._lock = RLock()
        self.columns = _columns(store)
        self._cells = cells

    @property
    def cells(self) -> Cells:
        """The cells of the blocks."""
        if self._cells is None:
            raise AssertionError("these areas were made without cells")
        return self._cells

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
            if level not in self.columns:
                continue
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

    def named(self) -> Iterable[Area]:
        """Every area that has a name."""
        return self._named.values()

    def has_units(self, level: str) -> bool:
        """Return whether the release has any unit of a level."""
        return level in self._levels

    @cached_property
    def _levels(self) -> frozenset[str]:
        return frozenset(area.level for area in self._named.values())

    def require_layer(self, level: str) -> None:
        """Refuse a layer that readers do not see; UsageError says which there are."""
        if level not in self.columns and level not in (BLOCK, USUAL):
            raise self._unknown_layer(level)

    def _unknown_layer(self, level: str) -> UsageError:
        known = ", ".join(self.columns if is_of_zones(self._store.manifest) else [*self.columns, BLOCK])
        return UsageError(f"layer {level[:40]!r} does not exist; this release has {known}")

    def units(self, level: str) -> LayerUnits:
        """Return the units of a layer, or single blocks, as rows of tables."""
        with self._lock:
            if level not in self._units_of:
                self._units_of[level] = self._make_units(level)
            return self._units_of[level]

    def _make_units(self, level: str) -> LayerUnits:
        if level == BLOCK:
            return layer_units(self._store, level, "block_id", {}, LEVEL_LABELS[BLOCK])
        column = self.columns.get(level) or (f"{level}_id" if level in TABLES else None)
        if column is None:
            raise self._unknown_layer(level)
        names = {area.unit_id: area.name for area in self._named.values() if area.level == level}
        return layer_units(self._store, level, column, names, level_label(level))

    @cached_property
    def places(self) -> pandas.DataFrame:
        """Internal points of the blocks: ``lon_deg``, ``lat_deg``, ``elsewhere``; and their ``population``."""
        columns = ["lon_deg", "lat_deg", "elsewhere", "population"]
        places: pandas.DataFrame = self._store.table("blocks", columns)
        return places

    def keep_workplaces(self, blocks: npt.NDArray[numpy.int32] | None) -> npt.NDArray[numpy.int32] | None:
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
        return place_on_sphere(lon_deg, lat_deg)

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
            raise UsageError(
                f"area {unit}: this release has no {level_label(unit.level)} {unit.unit_id}; look it up by name"
            )
        return units.blocks_of(row)

    def has_outline(self, unit: Unit) -> bool:
        """Return whether a unit is inside the imported area, so that places can be near it."""
        return str(unit) in self._named and self.units(unit.level).row_of(unit.unit_id) is not None

    def unit_name(self, unit: Unit) -> str:
        """Return the name of a unit."""
        named = self._named.get(str(unit))
        return named.name if named is not None else f"{level_label(unit.level)} {unit.unit_id}"


def tract_name(name: str) -> str:
    """Return a tract's own name: starting with a word, and without the county that sources append."""
    bare = name.split(" (")[0].split(", ")[0]
    return bare if "tract" in bare.lower() else f"Tract {bare}"


def _columns(store: Store) -> dict[str, str]:
    """Return the column of `blocks` that has each block's unit, by level that readers see.

    Of zones of any country these are only the layers: blocks, tracts, and the other levels are what zones stand for.
    """
    import pyarrow.parquet

    names = pyarrow.parquet.read_schema(store.file("blocks")).names
    layers = {name.removeprefix("layer_"): name for name in names if name.startswith("layer_")}
    return layers if is_of_zones(store.manifest) else {level: f"{level}_id" for level in TABLES} | layers
