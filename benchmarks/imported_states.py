"""The imported states alone: units beyond them, and workers who live there, are left out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas

from engine.support.tracts import OriginTracts
from geodata.store.store import Store
from mapapp.kinds.base.geography import Geography


def tracts_elsewhere(store: Store) -> npt.NDArray[np.bool_]:
    """Which tracts stand for other states."""
    return np.asarray(store.table("tracts", ["elsewhere"])["elsewhere"].to_numpy(bool))


def jobs_without(store: Store, geography: Geography, left_out: npt.NDArray[np.bool_]) -> pandas.DataFrame:
    """The jobs whose homes are in tracts that stay."""
    jobs: pandas.DataFrame = store.table("jobs")
    return jobs[~left_out[geography.tract_of_block[jobs["origin_index"]]]].reset_index(drop=True)


def geography_without(geography: Geography, left_out: npt.NDArray[np.bool_]) -> Geography:
    """The geography with some tracts left out, the others numbered anew; their blocks then mean tract 0."""
    row = np.cumsum(~left_out) - 1
    ends = ["destination_tract_index", "origin_tract_index"]
    flows = geography.flows
    if flows is not None:
        stays = np.asarray(~left_out[flows[ends]].any(axis=1))
        flows = flows.loc[stays].copy()
        flows[ends] = row[flows[ends]]
    tracts = geography.tracts
    return Geography(
        tracts=OriginTracts(
            lon_deg=tracts.lon_deg[~left_out],
            lat_deg=tracts.lat_deg[~left_out],
            puma=tracts.puma[~left_out],
            superpuma=tracts.superpuma[~left_out],
            population=tracts.population[~left_out],
        ),
        tract_of_block=np.where(left_out, 0, row)[geography.tract_of_block].astype(np.int32),
        blocks=geography.blocks,
        flows=flows,
    )
