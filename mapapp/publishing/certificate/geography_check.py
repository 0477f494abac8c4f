"""Checks of a publication's geography against itself: units, populations, places, and published characteristics.

Nothing here shows that the geography is that of a real place. It shows that its tables do not contradict each other.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas
import shapely

from geodata.schema import CHARACTERISTICS, IDENTIFIER
from geodata.store import Store
from mapapp.publishing.certificate.terms import CertificateCheck

__all__ = ["check_geography"]

_LARGER: Final = {table: column for table, column in IDENTIFIER.items() if table not in ("blocks", "tracts")}
_MOST_OUTSIDE: Final = 0.01
"""Share of internal points that may lie outside their tract's polygon."""
_NEAR_DEG: Final = 0.001
"""A point at most this far from the polygon, about 100 m, counts as inside: published files disagree a little."""


def check_geography(store: Store) -> list[CertificateCheck]:
    """Check that the tables of a publication's geography agree with each other."""
    units = ["tract_id", *_LARGER.values()]
    blocks = store.table("blocks", [*units, "tract_index", "population", "lon_deg", "lat_deg"])
    tracts = store.table("tracts", [*units, "population", "geometry"])
    checks = [_check_populations(store, blocks, tracts, units), _check_points(blocks, tracts)]
    if store.has_table(CHARACTERISTICS.name) or store.manifest.get(CHARACTERISTICS.name):
        checks.append(_check_characteristics(store))
    return checks


def _check_populations(
    store: Store, blocks: pandas.DataFrame, tracts: pandas.DataFrame, units: list[str]
) -> CertificateCheck:
    """Check that blocks are in the units of their tract, and that people add up from blocks to states."""
    at = blocks["tract_index"].to_numpy()
    wrong = [name for name in units if (blocks[name].to_numpy() != tracts[name].to_numpy()[at]).any()]
    people = np.zeros(len(tracts), dtype=np.int64)
    np.add.at(people, at, blocks["population"].to_numpy())
    if not np.array_equal(people, tracts["population"]):
        wrong.append("tracts: other people than in their blocks")
    for table, column in _LARGER.items():
        stated = store.table(table, [column, "population"]).set_index(column)["population"]
        found = tracts.groupby(column)["population"].sum().reindex(stated.index, fill_value=0)
        if not np.array_equal(found, stated):
            wrong.append(f"{table}: other people than in their tracts")
    detail = f"do not agree: {'; '.join(wrong)}" if wrong else "people add up from blocks to states"
    return CertificateCheck("populations", not wrong, detail)


def _check_points(blocks: pandas.DataFrame, tracts: pandas.DataFrame) -> CertificateCheck:
    """Check that nearly all internal points lie in or near the polygon of their tract, where it has one."""
    polygon = tracts["geometry"].to_numpy()
    shapely.prepare(polygon)
    of_block = polygon[blocks["tract_index"].to_numpy()]
    lon, lat = blocks["lon_deg"].to_numpy(), blocks["lat_deg"].to_numpy()
    compared = ~shapely.is_missing(of_block)
    outside = np.flatnonzero(compared & ~shapely.intersects_xy(of_block, lon, lat))
    near = shapely.dwithin(of_block[outside], shapely.points(lon[outside], lat[outside]), _NEAR_DEG)
    n_compared, n_outside = int(np.count_nonzero(compared)), int(np.count_nonzero(~near))
    detail = (
        f"{n_outside:,} of {n_compared:,} are more than {_NEAR_DEG:g} degrees outside their tract's polygon"
    )
    return CertificateCheck("internal points", n_outside <= _MOST_OUTSIDE * n_compared, detail)


def _check_characteristics(store: Store) -> CertificateCheck:
    """Check that the manifest lists files of characteristics if there is a table of them, for each end in it."""
    name, has_table = CHARACTERISTICS.name, store.has_table(CHARACTERISTICS.name)
    ends = set(store.table(name, ["end"])["end"]) if has_table else set()
    files = store.manifest.get(name) or []
    listed = {file.get("end") for file in files if isinstance(file, dict)}
    good = has_table and bool(files) and ends <= listed
    if not has_table:
        detail = "listed, but there is no table of them"
    else:
        detail = (
            f"{len(files)} files listed" if good else "the manifest does not list the files they are from"
        )
    return CertificateCheck("characteristics", good, detail)
