"""The units of a layer as rows of tables: the unit of each block, and the name of each unit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import pandas
from pandas.api.extensions import ExtensionArray

from geodata.geography.centers import mean_place_deg
from geodata.geography.elsewhere import UNKNOWN_HOME, UNKNOWN_HOME_NAME
from geodata.store.store import Store
from geodata.store.zones import ELSEWHERE
from mapapp.answers.analyses.results import Kind
from mapapp.answers.commutes.pick import Blocks

Rows = npt.NDArray[np.integer]
KINDS: Final = ("unit", "none", "elsewhere")
"""Kinds of rows of a table of units, in their order."""
TABLES: Final = {
    "state": "states",
    "county": "counties",
    "puma": "pumas",
    "superpuma": "superpumas",
    "tract": "tracts",
}
"""The table that lists a level's units, for levels that have one."""


@dataclass(frozen=True)
class LayerUnits:
    """Every unit of one layer, then the states outside the imported area, then a row for blocks in no unit.

    Attributes
    ----------
    level : str
    code : int32[blocks]
        Row of each block.
    rows : DataFrame
        ``unit_id``, ``name``, ``kind`` ("unit", "elsewhere", "none"), ``lon_deg``, ``lat_deg`` (mean internal point
        of the blocks, weighted by people; NaN for the last row) and ``n_blocks``.
    """

    level: str
    code: Blocks
    rows: pandas.DataFrame

    def of(self, blocks: Blocks, workers: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Sum workers by block to workers by row."""
        return np.bincount(self.code[blocks], weights=workers, minlength=len(self.rows)).astype(np.int64)

    def row_of(self, unit_id: str, kind: Kind = "unit") -> int | None:
        """Return the row of a unit; None if the unit does not exist."""
        return self._row_of.get((kind, unit_id))

    def blocks_of(self, row: int) -> Blocks:
        """Return the blocks of a row, ascending, without scanning the other blocks."""
        order, ptr = self._by_row
        return order[ptr[row] : ptr[row + 1]]

    @cached_property
    def is_unit(self) -> npt.NDArray[np.bool_]:
        """Whether each row is a unit of the layer."""
        return (self.rows["kind"] == "unit").to_numpy(np.bool_)

    @cached_property
    def ids(self) -> list[str]:
        """Identifier of each row."""
        return [str(unit_id) for unit_id in self.rows["unit_id"]]

    @cached_property
    def n_blocks(self) -> npt.NDArray[np.int64]:
        """Number of blocks of each row."""
        return self.rows["n_blocks"].to_numpy(np.int64)

    def table(self, rows: npt.NDArray[np.integer], *columns: str) -> dict[str, ExtensionArray]:
        """Return some columns of some rows, for a table with further columns."""
        return {name: self._columns[name].take(rows) for name in columns}

    def most_first(self, rows: npt.NDArray[np.integer], workers: npt.NDArray[np.int64]) -> Rows:
        """Sort rows by workers, most first, and then by identifier.

        Workers in no unit come after the units, and states outside the area come last.

        Parameters
        ----------
        rows : int array
            Ascending.
        workers : int64[rows]
            Of all rows of the layer.
        """
        # Rows of a kind are in the order of their identifiers, and the sort is stable.
        return rows[np.lexsort((-workers[rows], self._rank[rows]))]

    @cached_property
    def _rank(self) -> npt.NDArray[np.int8]:
        """Place of each row's kind in tables."""
        return np.array([KINDS.index(kind) for kind in self.rows["kind"]], dtype=np.int8)

    @cached_property
    def _columns(self) -> dict[str, ExtensionArray]:
        return {str(name): self.rows[name].array for name in self.rows}

    @cached_property
    def _row_of(self) -> dict[tuple[str, str], int]:
        keys = zip(self.rows["kind"], self.ids, strict=True)
        return {key: row for row, key in enumerate(keys)}

    @cached_property
    def _by_row(self) -> tuple[Blocks, npt.NDArray[np.int64]]:
        """Blocks in the order of their rows, and where each row begins."""
        order = np.argsort(self.code, kind="stable").astype(np.int32)
        return order, np.append(0, np.cumsum(self.n_blocks))


def layer_units(store: Store, level: str, column: str, names: dict[str, str], label: str) -> LayerUnits:
    """Make the rows of a layer.

    Parameters
    ----------
    store : Store
    level, column : str
        The layer, and the column of `blocks` with each block's unit.
    names : dict of str to str
        Name by identifier; a unit without a name is shown by its identifier.
    label : str
        Label of the layer's units.
    """
    columns = list(dict.fromkeys([column, "state_id", "lon_deg", "lat_deg", "population", "elsewhere"]))
    blocks = store.table("blocks", columns)
    elsewhere = blocks["elsewhere"].to_numpy()
    unplaced = ~elsewhere & (blocks[column] == "").to_numpy()
    states: dict[str, str] = dict(store.table("states", ["state_id", "name"]).itertuples(index=False))
    code = np.empty(len(blocks), dtype=np.int32)
    ids: list[str] = []
    kinds: list[Kind] = []
    for kind, is_kind, of in (
        ("unit", ~elsewhere & ~unplaced, column),
        ("elsewhere", elsewhere, "state_id"),
        ("none", unplaced, column),
    ):
        codes, unit_ids = pandas.factorize(blocks.loc[is_kind, of], sort=True)
        code[is_kind] = codes + len(ids)
        ids.extend(map(str, unit_ids))
        kinds.extend([cast(Kind, kind)] * len(unit_ids))
    shown = [_name(unit_id, kind, names, states, label) for unit_id, kind in zip(ids, kinds, strict=True)]
    rows = pandas.DataFrame({"unit_id": ids, "name": shown, "kind": kinds})
    rows["lon_deg"], rows["lat_deg"] = _centers(blocks, code)
    rows.loc[rows["kind"] == "none", ["lon_deg", "lat_deg"]] = np.nan
    rows["n_blocks"] = np.bincount(code, minlength=len(rows))
    return LayerUnits(level, code, rows)


def _name(unit_id: str, kind: Kind, names: dict[str, str], states: dict[str, str], label: str) -> str:
    if kind == "elsewhere" and unit_id == UNKNOWN_HOME:
        return UNKNOWN_HOME_NAME
    if kind == "elsewhere":
        name = states.get(unit_id, unit_id)
        return name if unit_id == ELSEWHERE else f"{name} (outside the area)"
    if kind == "none":
        word = label.split(" (")[0]
        return f"Outside any {word if word.isupper() else word[0].lower() + word[1:]}"
    return names.get(unit_id) or unit_id


def _centers(
    blocks: pandas.DataFrame, code: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    people = blocks["population"].to_numpy(np.float64)
    empty = np.bincount(code, weights=people) == 0
    weight = np.where(empty[code], 1.0, people)
    return mean_place_deg(code, weight, blocks["lon_deg"].to_numpy(), blocks["lat_deg"].to_numpy())
