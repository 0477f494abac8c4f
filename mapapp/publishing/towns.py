"""The town of every tract, from the public layers of a store: what people call places, for counting flows."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas

from engine.tracts import OriginTracts
from geodata.schema import LAYER_LABELS
from geodata.store import Store
from mapapp.publishing.geography import Ints

__all__ = ["Towns", "read_towns"]

_LAYERS: Final = ("ctycsub", "stplc")
"""Layers that may hold towns, preferred first."""

_PUMA: Final = "PUMA"


class Towns(NamedTuple):
    """Towns of tracts.

    Attributes
    ----------
    of_tract : int64[n_tracts]
        Number of each tract's town, from 0.
    kinds : tuple of str
        What the towns are, the most frequent kind first.
    """

    of_tract: Ints
    kinds: tuple[str, ...]

    @classmethod
    def of_pumas(cls, tracts: OriginTracts) -> Towns:
        """PUMAs in place of towns."""
        return cls(tracts.puma.astype(np.int64), (_PUMA,))


def read_towns(store: Store) -> Towns:
    """Return the county subdivision of each tract, or else its place, or else its PUMA.

    A tract belongs to the unit in which most of its people live, or to none if most live outside all of them.
    """
    tracts = store.table("tracts", ["puma_id", "elsewhere"])
    puma, is_open = tracts["puma_id"].to_numpy(str), ~tracts["elsewhere"].to_numpy(np.bool_)
    kind, unit = np.full(puma.size, _PUMA, dtype=object), puma.astype(object)
    known = store.columns("blocks")
    for layer in _LAYERS:
        if is_open.any() and f"layer_{layer}" in known:
            tract, name = _most_people(store, f"layer_{layer}")
            mine = is_open[tract]
            kind[tract[mine]], unit[tract[mine]] = LAYER_LABELS[layer], name[mine]
            is_open[tract] = False
    _, of_tract = np.unique([f"{a}:{b}" for a, b in zip(kind, unit, strict=True)], return_inverse=True)
    frequent = pandas.Series(kind).value_counts()
    return Towns(of_tract.astype(np.int64), tuple(str(name) for name in frequent.index))


def _most_people(store: Store, column: str) -> tuple[Ints, npt.NDArray[np.object_]]:
    """Rows of the tracts that have a unit of a layer, and the unit of each in which most people live."""
    parts = []
    for part in store.batches("blocks", ["tract_index", "population", column]):
        unit = part.column(column).combine_chunks().dictionary_encode()
        names = np.asarray(unit.dictionary.to_pylist(), dtype=object)
        pair = part.column("tract_index").to_numpy().astype(np.int64) * names.size + unit.indices.to_numpy()
        # Where nobody lives, every block counts a little. Blocks come by tract, so most pairs follow each other.
        people = part.column("population").to_numpy() + 1e-6
        first = np.flatnonzero(np.diff(pair, prepend=-1))
        distinct = pair[first]
        found = {
            "tract": distinct // names.size,
            "unit": names[distinct % names.size],
            "people": np.add.reduceat(people, first),
        }
        parts.append(pandas.DataFrame(found))
    people_of = pandas.concat(parts).groupby(["tract", "unit"])["people"].sum().reset_index()
    most = people_of.sort_values("people", ascending=False, kind="stable").drop_duplicates("tract")
    most = most[most["unit"] != ""]
    return most["tract"].to_numpy(np.int64), most["unit"].to_numpy()
