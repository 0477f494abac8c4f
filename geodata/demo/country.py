"""A generated country as the tables of a dataset."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Final

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import shapely

from geodata.demo.base_map import base_map
from geodata.demo.blocks import Blocks, make_blocks
from geodata.demo.commutes import HomeTracts, draw_homes, home_shares, last_year
from geodata.demo.curves import Floats, make_noise
from geodata.demo.gazetteer import Gazetteer, make_gazetteer
from geodata.demo.grouping import Ints, union_groups, unite_polygons
from geodata.demo.land import Land, make_land
from geodata.demo.sizes import ELSEWHERE_STATES, MAIN_STATES, SCALES, Size
from geodata.demo.towns import Towns, make_towns
from geodata.demo.units import Units, make_units
from geodata.demo.workers import SCHEMA, make_workers
from geodata.demo.workplaces import Workplaces, make_workplaces
from geodata.json_objects import JsonObject
from geodata.progress import Progress, silent
from geodata.store.schema import CRS, LAYER_LABELS, N_SEGMENTS

# The geographic tables: units by identifier, with people, places and polygons.

ELSEWHERE_PEOPLE: Final = (1_900_000, 3_400_000)
_TABLES: Final = {
    "tract": "tracts",
    "puma": "pumas",
    "superpuma": "superpumas",
    "county": "counties",
    "state": "states",
}
_ABOVE: Final = {
    "tract": ("puma", "superpuma", "county", "state"),
    "puma": ("superpuma", "state"),
    "superpuma": ("state",),
    "county": ("state",),
    "state": (),
}


def geography(
    blocks: Blocks, units: Units, gazetteer: Gazetteer, block_id: npt.NDArray[np.object_], far_deg: Floats
) -> dict[str, pandas.DataFrame]:
    """Make the tables `schema.GEOGRAPHY`.

    Parameters
    ----------
    blocks, units, gazetteer
        In the order of their identifiers.
    block_id : str[blocks]
        Fifteen digits.
    far_deg : float64[elsewhere, 2]
        Centres of the elsewhere units, longitude and latitude.
    """
    here = _blocks(blocks, units, gazetteer, block_id)
    far = _make_elsewhere(far_deg, list(here.columns))
    frame = pandas.concat([here, far], ignore_index=True)
    tract_id = np.unique(frame["tract_id"].astype(str))
    frame["tract_index"] = np.searchsorted(tract_id, frame["tract_id"].astype(str)).astype(np.int32)
    tables: dict[str, pandas.DataFrame] = {"blocks": frame}
    for level, name in _TABLES.items():
        unit = getattr(gazetteer, level)[0][_unit_of_tract(units, level)]
        ids, number = np.unique(unit.astype(str), return_inverse=True)
        polygon = units.polygon if level == "tract" else union_groups(units.polygon, number)
        tables[name] = _unit_table(frame, level, gazetteer, dict(zip(ids, polygon, strict=True)))
    _add_positions(tables)
    tables["cells"] = geopandas.GeoDataFrame(
        {"block_index": np.arange(len(here), dtype=np.int32)}, geometry=blocks.polygon, crs=CRS
    )
    tables["layers"] = _layers(here, gazetteer)
    return tables


def _blocks(
    blocks: Blocks, units: Units, gazetteer: Gazetteer, block_id: npt.NDArray[np.object_]
) -> pandas.DataFrame:
    tract = units.tract
    columns = {
        "block_id": block_id,
        "tract_id": gazetteer.tract[0][tract],
        "puma_id": gazetteer.puma[0][units.puma[tract]],
        "superpuma_id": gazetteer.superpuma[0][units.superpuma[tract]],
        "county_id": gazetteer.county[0][units.county[tract]],
        "state_id": gazetteer.state[0][blocks.state],
        "lon_deg": blocks.place_deg[:, 0],
        "lat_deg": blocks.place_deg[:, 1],
        "population": blocks.people,
        "elsewhere": False,
        "layer_bgrp": [text[:12] for text in block_id],
        "layer_cbsa": gazetteer.layer["cbsa"][0][units.metro[tract]],
        "layer_ctycsub": gazetteer.layer["ctycsub"][0][units.subdivision[tract]],
        "layer_stplc": gazetteer.layer["stplc"][0][units.place],
        "layer_zcta": gazetteer.layer["zcta"][0][units.zip_area],
    }
    return pandas.DataFrame(columns)


def _make_elsewhere(far_deg: Floats, columns: list[str]) -> pandas.DataFrame:
    frame = pandas.DataFrame({name: list(ELSEWHERE_STATES) for name in columns if name.endswith("_id")})
    frame["lon_deg"], frame["lat_deg"] = far_deg.T
    frame["population"] = ELSEWHERE_PEOPLE
    frame["elsewhere"] = True
    for name in columns:
        if name.startswith("layer_"):
            frame[name] = ""
    return frame[columns]


def _unit_of_tract(units: Units, level: str) -> Ints:
    return np.arange(units.state.size) if level == "tract" else getattr(units, level)


def _unit_table(
    blocks: pandas.DataFrame, level: str, gazetteer: Gazetteer, polygon: dict[str, shapely.Geometry]
) -> geopandas.GeoDataFrame:
    """One row for each unit: the units above it, its name, its people, the centre of them, its polygon."""
    # A tract without residents has a centre too.
    weight = blocks["population"] + 1e-6
    summed = blocks.assign(weight=weight, x=blocks["lon_deg"] * weight, y=blocks["lat_deg"] * weight)
    grouped = summed.groupby(f"{level}_id", sort=True)
    table = grouped[[*(f"{above}_id" for above in _ABOVE[level]), "elsewhere"]].first()
    total = grouped[["population", "weight", "x", "y"]].sum()
    table["population"] = total["population"]
    table["lon_deg"] = np.round(total["x"] / total["weight"], 6)
    table["lat_deg"] = np.round(total["y"] / total["weight"], 6)
    ids, names = getattr(gazetteer, level)
    name = dict(zip(gazetteer.state[0], gazetteer.state[1], strict=True)) | dict(zip(ids, names, strict=True))
    table["name"] = [name[unit] for unit in table.index]
    shapes = [polygon.get(unit) for unit in table.index]
    return geopandas.GeoDataFrame(table.reset_index(), geometry=shapes, crs=CRS)


def _add_positions(tables: dict[str, pandas.DataFrame]) -> None:
    tracts = tables["tracts"]
    for level in ("puma", "superpuma"):
        ids = tables[_TABLES[level]][f"{level}_id"].to_numpy(str)
        tracts[f"{level}_index"] = np.searchsorted(ids, tracts[f"{level}_id"].to_numpy(str)).astype(np.int32)
    tracts["derived"] = ~tracts["elsewhere"]


def _layers(blocks: pandas.DataFrame, gazetteer: Gazetteer) -> pandas.DataFrame:
    tract_name = dict(zip(*gazetteer.tract, strict=True))
    groups = np.unique(blocks["layer_bgrp"].to_numpy(str))
    rows = [("bgrp", text, f"Block group {text[11]}, {tract_name[text[:11]]}") for text in groups]
    for code, (ids, names) in gazetteer.layer.items():
        used = set(blocks[f"layer_{code}"])
        rows += [(code, i, n) for i, n in zip(ids, names, strict=True) if i and i in used]
    return pandas.DataFrame(rows, columns=["layer", "unit_id", "name"])


_YEAR: Final = 2023
_LAYERS: Final = ("bgrp", "cbsa", "ctycsub", "stplc", "zcta")
_ELSEWHERE_KM: Final = np.array([[300.0, 420.0], [-1150.0, 350.0]])
_KM2_PER_MI2: Final = 2.58999
_OUTFLOW: Final = {
    "83": 0.0062,
    "84": 0.0021,
    "85": 0.0008,
}  # of the main states' jobs, held by their residents

_FEW_JOBS: Final = (
    "About one resident in four of the two states with workplaces has a job here; "
    "in a real country it is nearly one in two."
)


def make_country(
    size: Size, seed: int, progress: Progress = silent
) -> tuple[dict[str, pandas.DataFrame], JsonObject]:
    """Make every table of a dataset, and the facts for its manifest.

    Parameters
    ----------
    size : {"small", "metro", "state"}
        How much of it.
    seed : int
        At least 0; it determines the whole country.
    progress : callable
        Called with (stage, done, total).
    """
    scale = SCALES[size]
    rng = [np.random.default_rng([seed, number]) for number in range(10)]
    progress("Drawing land", 0, 5)
    land = make_land(scale, rng[0])
    towns = make_towns(land, scale, rng[1])
    progress("Drawing blocks", 1, 5)
    blocks = make_blocks(land, towns, scale, rng[2])
    units = make_units(blocks, towns, scale)
    gazetteer = make_gazetteer(blocks, units, towns, rng[3])
    blocks, units, gazetteer, block_id = _sort_units(blocks, units, gazetteer)
    progress("Joining blocks into tracts", 2, 5)
    far_deg = np.round(land.frame.degrees(_ELSEWHERE_KM), 4)
    tables = geography(blocks, units, gazetteer, block_id, far_deg)
    land_deg = unite_polygons(tables["states"].geometry.dropna().to_numpy())
    tables |= base_map(land, towns, blocks, units, gazetteer, land_deg, rng[8])
    progress("Sending people to work", 3, 5)
    workplaces = make_workplaces(blocks, towns, scale, rng[4])
    homes = _homes(land, towns, blocks, units, far_deg, rng[5])
    tables |= _flows(homes, workplaces, blocks, units, rng[6], rng[7])
    progress("Drawing workers", 4, 5)
    tables["workers"] = make_workers(tables, homes, rng[9])
    progress("Drawing workers", 5, 5)
    return tables, _facts(size, seed, gazetteer, tables)


def _sort_units(
    blocks: Blocks, units: Units, gazetteer: Gazetteer
) -> tuple[Blocks, Units, Gazetteer, npt.NDArray[np.object_]]:
    """Put tracts, and blocks within them, in the order of their identifiers."""
    by_id = np.argsort(gazetteer.tract[0].astype(str), kind="stable")
    rank = np.empty(by_id.size, np.int64)
    rank[by_id] = np.arange(by_id.size)
    tract = rank[units.tract]
    order = np.lexsort((-blocks.place_deg[:, 1], units.block_group, tract))
    tract, group = tract[order], units.block_group[order]
    start = np.flatnonzero(np.append(True, (np.diff(tract) != 0) | (np.diff(group) != 0)))
    serial = np.arange(tract.size) - np.repeat(start, np.diff(np.append(start, tract.size)))
    tract_ids = gazetteer.tract[0][by_id]
    block_id = np.array(
        [f"{tract_ids[t]}{g}{n:03d}" for t, g, n in zip(tract, group, serial, strict=True)], dtype=object
    )
    blocks = Blocks(**{name: getattr(blocks, name)[order] for name in Blocks.__slots__})
    of_block = {name: getattr(units, name)[order] for name in ("block_group", "zip_area", "place")}
    of_tract = {
        name: getattr(units, name)[by_id]
        for name in ("state", "county", "puma", "superpuma", "subdivision", "metro", "centre_km", "polygon")
    }
    units = Units(tract=tract, **of_block, **of_tract)
    gazetteer = replace(gazetteer, tract=(tract_ids, gazetteer.tract[1][by_id]))
    return blocks, units, gazetteer, block_id


def _homes(
    land: Land, towns: Towns, blocks: Blocks, units: Units, far_deg: Floats, rng: np.random.Generator
) -> HomeTracts:
    """The tracts as places to live, followed by the elsewhere units."""
    people = np.bincount(units.tract, weights=blocks.people).astype(np.float64)
    area_mi2 = np.bincount(units.tract, weights=blocks.area_km2) / _KM2_PER_MI2
    centre = units.centre_km
    away = np.hypot(*(centre[:, None, :] - towns.place_km[towns.is_city]).transpose(2, 0, 1)).min(axis=1)
    suburb = np.exp(-(((away - 16.0) / 11.0) ** 2))
    wealth = suburb + sum(
        make_noise(axis, rng, amplitude=0.5, wavelength=38.0, octaves=3) for axis in centre.T
    )
    youth = np.exp(-away / 9.0) + rng.normal(0.0, 0.15, away.size)
    none = np.zeros(len(far_deg))
    # Few residents of elsewhere work here, so they count for a fraction of their number.
    return HomeTracts(
        place_deg=np.vstack([land.frame.degrees(centre), far_deg]),
        people=np.append(people, np.array(ELSEWHERE_PEOPLE) * people.sum() / 2.6e6 * 0.12),
        within_mi=np.append(0.45 * np.sqrt(area_mi2), none + 1.0),
        wealth=np.append(_standardize(wealth), none),
        youth=np.append(_standardize(youth), none),
        main=np.append(units.state < len(MAIN_STATES), none > 0),
    )


def _standardize(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / values.std(), dtype=np.float64)


def _flows(
    homes: HomeTracts,
    workplaces: Workplaces,
    blocks: Blocks,
    units: Units,
    rng: np.random.Generator,
    rng_last_year: np.random.Generator,
) -> dict[str, pandas.DataFrame]:
    work_tract, row = np.unique(units.tract[workplaces.block], return_inverse=True)
    jobs = np.zeros((work_tract.size, N_SEGMENTS), np.int64)
    np.add.at(jobs, row, workplaces.jobs)
    n_tracts, n_far = units.state.size, len(ELSEWHERE_STATES)
    block_tract = np.append(units.tract, n_tracts + np.arange(n_far))
    block_people = np.append(blocks.people, np.ones(n_far, np.int64))
    share = home_shares(homes, work_tract, jobs)
    drawn = draw_homes(share, work_tract, workplaces, block_tract, block_people, rng)
    work, home, weight = last_year(homes, work_tract, jobs, rng_last_year)
    prior = {"destination_tract_index": work, "origin_tract_index": home, "weight": weight}
    return {"jobs": _count_commutes(*drawn, block_people.size), "prior": pandas.DataFrame(prior)}


def _count_commutes(destination: Ints, origin: Ints, segment: Ints, n_blocks: int) -> pandas.DataFrame:
    key, count = np.unique((destination * N_SEGMENTS + segment) * n_blocks + origin, return_counts=True)
    synthesizer, origin = np.divmod(key, n_blocks)
    destination, segment = np.divmod(synthesizer, N_SEGMENTS)
    return pandas.DataFrame(
        {
            "destination_index": destination.astype(np.int32),
            "origin_index": origin.astype(np.int32),
            "age": (segment // 9 + 1).astype(np.int8),
            "earnings": (segment // 3 % 3 + 1).astype(np.int8),
            "industry": (segment % 3 + 1).astype(np.int8),
            "count": count.astype(np.int32),
        }
    )


def _facts(size: Size, seed: int, gazetteer: Gazetteer, tables: dict[str, pandas.DataFrame]) -> JsonObject:
    jobs, blocks, scale = tables["jobs"], tables["blocks"], SCALES[size]
    outside = blocks["elsewhere"].to_numpy()[jobs["origin_index"]]
    of_state = (
        jobs[outside].groupby(blocks["state_id"].to_numpy()[jobs["origin_index"][outside]])["count"].sum()
    )
    n_jobs = int(jobs["count"].sum())
    n_units = tables["layers"]["layer"].value_counts()
    return {
        "title": f"{gazetteer.country}, a made-up country ({size}, seed {seed})",
        "year": _YEAR,
        "job_type": "JT00",
        "vintage": {"blocks": "generated", "pumas": "generated"},
        "destination_states": list(MAIN_STATES),
        "residents_only": [],
        "segments": "joint",
        "sources": [],
        "layers": [
            {
                "layer": code,
                "label": LAYER_LABELS[code],
                "column": f"layer_{code}",
                "n_units": int(n_units[code]),
            }
            for code in _LAYERS
        ],
        "n_jobs": n_jobs,
        "elsewhere": {state: int(of_state.get(state, 0)) for state in ELSEWHERE_STATES},
        "outflow": {state: round(share * n_jobs) for state, share in _OUTFLOW.items()},
        "notes": [
            f"Generated by `commutemap demo --size {size} --seed {seed}`: no person, employer or place is real.",
            *([_FEW_JOBS] if n_jobs * 3 < sum(scale.people[state] for state in MAIN_STATES) else []),
            f"PUMAs have at least {scale.puma_people:,} people and SuperPUMAs {scale.superpuma_people:,}; "
            "the Census Bureau's have at least 100,000 and 400,000.",
        ],
        **SCHEMA.as_facts(),
        # Nothing about a generated country is secret, and a key made from the seed makes its files repeatable.
        "commitment_key": sha256(f"commutemap demo {size} {seed}".encode()).hexdigest(),
    }
