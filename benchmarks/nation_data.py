"""A made-up nation to measure: `python -m benchmarks.nation_data DATASET [--millions 140]`.

As many tracts, blocks, workplaces, and workers as a real nation has, and units that nest; nothing has a name. Fewer
millions of workers give a part of it that is as densely settled. Tracts are rectangles in the order of their division,
and every unit is a run of tracts. Homes follow gravity, with a tail over the whole nation.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Final

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import pyarrow
import pyarrow.compute
import shapely
from scipy.spatial import cKDTree

from geodata.geography.distance import EARTH_RADIUS_MI, KM_PER_MI, place_on_sphere
from geodata.progress import work_in_order
from geodata.store.schema import CRS, LAYER_LABELS, N_SEGMENTS
from geodata.store.store import StoreWriter, open_store, refuse_existing, write_store
from geodata.store.table_stream import Column, Columns

SMALLEST: Final = ("{folder}/nation.dataset", "--millions", "0.01")
MILLIONS: Final = 140.0
ELSEWHERE: Final = "99"
"""The one state outside the nation."""

_ELSEWHERE_DEG: Final = (-60.0, 50.0)
_EXTENT_DEG: Final = (52.0, 20.0)  # of the whole nation
_MIDDLE_DEG: Final = (-96.0, 38.0)
_LEAST_DEG: Final = 1.2  # of less land no city would be away from its border
_KM_PER_DEG: Final = 111.2
_TRACTS, _CITIES, _STATES = 72_000, 900, 50
_TRACT_PEOPLE, _TRACT_BLOCKS, _MOST_BLOCKS, _MOST_ROWS = 4_583, 111, 888, 60
_SUPERPUMA_PEOPLE, _PUMA_PEOPLE, _COUNTY_PEOPLE, _GROUP_PEOPLE = 440_000, 130_000, 80_000, 1_500
_URBAN: Final = 0.84  # of people
_URBAN_COUNTY: Final = 0.4  # of SuperPUMAs, the densest, which are a county each
_INHABITED, _WITH_JOBS, _ELSEWHERE_SHARE = 0.6, 0.175, 0.0006
_NEAR_TRACTS, _SCALE_MI, _ANYWHERE = 400, 9.0, 0.03  # where workers live: by gravity, but for a share
_AGES, _EARNINGS = np.array([0.24, 0.53, 0.23]), np.array([0.24, 0.32, 0.44])
_INDUSTRY: Final = np.array([-0.5, 0.1, 0.7])  # log weights
_TRACTS_AT_ONCE, _JOBS_AT_ONCE = 1_000, 1_000_000
_LEVELS: Final = {
    "tract": ("tracts", ("puma", "superpuma", "county", "state")),
    "puma": ("pumas", ("superpuma", "state")),
    "superpuma": ("superpumas", ("state",)),
    "county": ("counties", ("state",)),
    "state": ("states", ()),
}
"""The table of each level, and the levels above that it names."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Land:
    """The tracts in order.

    Attributes
    ----------
    box : float64[tracts, 4]
        West, south, east, and north.
    people : int64[tracts]
    unit : dict of str to int64[tracts]
        Unit of each tract, by level; units are numbered in order.
    ids : dict of str to list of str
        Identifiers of the units, by level, shaped like the Census Bureau's.
    """

    box: Floats
    people: Ints
    unit: dict[str, Ints]
    ids: dict[str, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Blocks of some tracts.

    Attributes
    ----------
    tract : int64[blocks]
    number : int64[blocks]
        Serial number, after that of the block group, in the tract.
    box : float64[blocks, 4]
    people : int64[blocks]
    job_weight : float64[blocks]
        Weight as a workplace; 0 for most.
    """

    tract: Ints
    number: Ints
    box: Floats
    people: Ints
    job_weight: Floats

    @property
    def place_deg(self) -> Floats:
        """Longitude and latitude of the middles."""
        return (self.box[:, :2] + self.box[:, 2:]) / 2


def write_nation(path: Path, *, millions: float = MILLIONS, seed: int = 1) -> None:
    """Write a nation with so many million workers as a dataset, the same for the same seed."""
    refuse_existing(path)
    land = make_land(millions / MILLIONS, np.random.default_rng(seed))
    n_jobs = round(millions * 1e6)
    with write_store(path, "dataset") as writer:
        blocks = _write_blocks(writer, land, seed)
        n_groups = _write_units(writer, land, blocks)
        n_elsewhere = _write_jobs(writer, land, blocks, n_jobs, seed)
        with writer.stream("prior"):
            pass  # there are no public flows, so the gravity prior is used
        writer.facts(
            title=f"A made-up nation of {millions:g} million workers",
            year=2023,
            job_type="JT00",
            vintage={"blocks": "generated", "pumas": "generated"},
            destination_states=land.ids["state"],
            residents_only=[],
            segments="joint",
            sources=[],
            layers=[
                {"layer": "bgrp", "label": LAYER_LABELS["bgrp"], "column": "layer_bgrp", "n_units": n_groups}
            ],
            n_jobs=n_jobs,
            elsewhere={ELSEWHERE: n_elsewhere},
            outflow={},
            notes=["Generated by `python -m benchmarks.nation_data`: nothing in it is real."],
            # Nothing is secret, and a key made from the seed makes files repeatable.
            commitment_key=sha256(f"nation_data {millions} {seed}".encode()).hexdigest(),
        )


def make_land(share: float, rng: np.random.Generator) -> Land:
    """Settle a share of the nation's land, and divide it into tracts and these into units."""
    n_tracts = max(round(_TRACTS * share), 40)
    size = np.maximum(np.array(_EXTENT_DEG) * np.sqrt(share), _LEAST_DEG)
    low = np.array(_MIDDLE_DEG) - size / 2
    place = low + (_settled(n_tracts, max(round(_CITIES * share), 3), size, rng) - low) % size
    box = _divided(place, np.concatenate([low, low + size]))
    people = np.rint(_TRACT_PEOPLE * rng.lognormal(-0.04, 0.28, n_tracts)).astype(np.int64)
    total = int(people.sum())
    n_states = max(round(_STATES * share), 2)
    weight = rng.permutation(np.arange(1, n_states + 1) ** -0.75)
    edges = np.cumsum(weight / weight.sum())[:-1]
    state = np.searchsorted(edges, (np.cumsum(people) - people / 2) / total)
    superpuma = _runs(state, people, min(_SUPERPUMA_PEOPLE, total // 8))
    puma = _runs(superpuma, people, min(_PUMA_PEOPLE, total // 32))
    density = np.bincount(superpuma, people) / np.bincount(superpuma, _area_mi2(box))
    urban = density > np.quantile(density, 1 - _URBAN_COUNTY)
    county = _runs(superpuma, people, np.where(urban, total, min(_COUNTY_PEOPLE, total // 32)))
    unit = {"state": state, "superpuma": superpuma, "puma": puma, "county": county}
    return Land(box=box, people=people, unit=unit | {"tract": np.arange(n_tracts)}, ids=_identifiers(unit))


def _area_mi2(box: Floats) -> Floats:
    west, south, east, north = box.T
    km2 = (east - west) * (north - south) * np.cos(np.radians((south + north) / 2)) * _KM_PER_DEG**2
    return np.asarray(km2 / KM_PER_MI**2)


def _settled(n: int, n_cities: int, size: Floats, rng: np.random.Generator) -> Floats:
    """Places of tracts: cities whose sizes follow Zipf's law, and the country between them."""
    share = np.arange(1, n_cities + 1) ** -0.95
    share = np.append(_URBAN * share / share.sum(), 1 - _URBAN)
    middle = np.array(_MIDDLE_DEG) + rng.uniform(-0.5, 0.5, (n_cities, 2)) * size
    city = rng.choice(n_cities + 1, n, p=share)
    reach_km = 3.0 * (share * n * _TRACT_PEOPLE / 1e6) ** 0.36  # larger cities are denser as well as wider
    away_deg = rng.gamma(2.0, reach_km[city]) / _KM_PER_DEG
    angle = rng.uniform(0, 2 * np.pi, n)
    rural = np.array(_MIDDLE_DEG) + rng.uniform(-0.5, 0.5, (n, 2)) * size
    urban = middle[np.minimum(city, n_cities - 1)] + away_deg[:, None] * np.column_stack(
        [np.cos(angle) / np.cos(np.radians(_MIDDLE_DEG[1])), np.sin(angle)]
    )
    return np.where((city == n_cities)[:, None], rural, urban)


def _divided(place: Floats, box: Floats) -> Floats:
    """Cut the land in two across its longer side, again and again, until each place has a rectangle of its own."""
    boxes = []
    waiting = [(np.arange(len(place)), box)]
    while waiting:
        rows, box = waiting.pop()
        if rows.size == 1:
            boxes.append(box)
            continue
        west, south, east, north = box
        across = 0 if (east - west) * np.cos(np.radians((south + north) / 2)) >= north - south else 1
        rows = rows[np.argsort(place[rows, across])]
        half = rows.size // 2
        low, high = box.copy(), box.copy()
        low[2 + across] = high[across] = place[rows[half - 1 : half + 1], across].mean()
        waiting += [(rows[half:], high), (rows[:half], low)]
    return np.array(boxes)


def _runs(above: Ints, people: Ints, wanted: int | Ints) -> Ints:
    """Cut each unit above into runs of tracts with about equally many people, at least `wanted` if it has so many."""
    total = np.bincount(above, people)
    n_parts = np.maximum(total // wanted, 1)
    before = np.cumsum(people) - people / 2 - (np.cumsum(total) - total)[above]
    part = (before / total[above] * n_parts[above]).astype(np.int64)
    return np.cumsum((np.diff(above, prepend=0) != 0) | (np.diff(part, prepend=0) != 0))


def _identifiers(unit: dict[str, Ints]) -> dict[str, list[str]]:
    states = [f"{number + 1:02d}" for number in range(unit["state"][-1] + 1)]
    forms = {"superpuma": "S{:03d}", "puma": "{:03d}00", "county": "{:03d}"}
    ids = {"state": states}
    for level, form in forms.items():
        state = unit["state"][np.searchsorted(unit[level], np.arange(unit[level][-1] + 1))]
        ids[level] = [states[s] + form.format(n) for s, n in zip(state, _place_in(state), strict=True)]
    county = unit["county"]
    ids["tract"] = [f"{ids['county'][c]}{n:04d}00" for c, n in zip(county, _place_in(county), strict=True)]
    return ids


def _place_in(group: Ints) -> Ints:
    """Number of each member in its group, from 1; groups ascend."""
    return np.arange(1, group.size + 1) - np.searchsorted(group, group)


def make_blocks(land: Land, first: int, end: int, rng: np.random.Generator) -> Blocks:
    """Divide some tracts into grids of blocks."""
    n_tracts, box, people = end - first, land.box[first:end], land.people[first:end]
    width, height = box[:, 2] - box[:, 0], box[:, 3] - box[:, 1]
    wanted = np.minimum(_TRACT_BLOCKS * rng.lognormal(-0.32, 0.8, n_tracts), _MOST_BLOCKS)
    n_rows = np.clip(np.rint(np.sqrt(wanted * height / (0.8 * width))), 1, _MOST_ROWS).astype(np.int64)
    n_columns = np.clip(np.rint(wanted / n_rows), 1, _MOST_BLOCKS // n_rows).astype(np.int64)
    size = n_rows * n_columns
    tract = np.repeat(np.arange(n_tracts), size)
    serial = np.arange(tract.size) - np.repeat(np.cumsum(size) - size, size)
    row, column = np.divmod(serial, n_columns[tract])
    n_groups = np.minimum(np.clip(np.rint(people / _GROUP_PEOPLE), 1, 6).astype(np.int64), n_rows)
    group = 1 + row * n_groups[tract] // n_rows[tract]
    step = np.column_stack([width / n_columns, height / n_rows])[tract]
    low = box[tract, :2] + np.column_stack([column, row]) * step
    weight = rng.lognormal(0.0, 1.0, tract.size) * (rng.random(tract.size) < _INHABITED) + 1e-9
    weight *= (people / np.bincount(tract, weight))[tract]
    of_tract = rng.lognormal(0.0, 0.7, n_tracts)
    job_weight = np.minimum(of_tract[tract] * rng.lognormal(0.0, 1.7, tract.size), 2_000.0)
    return Blocks(
        tract=first + tract,
        number=1_000 * group + serial,
        box=np.column_stack([low, low + step]),
        people=np.rint(weight).astype(np.int64),
        job_weight=job_weight * (rng.random(tract.size) < _WITH_JOBS),
    )


def _write_blocks(writer: StoreWriter, land: Land, seed: int) -> Blocks:
    """Write `blocks` and `cells`; return the blocks of all tracts."""
    tract_number = np.array(land.ids["tract"]).astype(np.int64)

    def make(first: int) -> tuple[Blocks, Columns, pyarrow.Array]:
        end = min(first + _TRACTS_AT_ONCE, land.people.size)
        made = make_blocks(land, first, end, np.random.default_rng([seed, 1, first]))
        number = tract_number[made.tract] * 10_000 + made.number
        columns: dict[str, Column] = {
            "block_id": _digits(number, 15),
            "layer_bgrp": _digits(number // 1_000, 12),
            "tract_index": made.tract.astype(np.int32),
            "lon_deg": made.place_deg[:, 0].copy(),
            "lat_deg": made.place_deg[:, 1].copy(),
            "population": made.people,
            "elsewhere": np.zeros(made.tract.size, np.bool_),
        }
        for level, unit in land.unit.items():
            ids = pyarrow.array(land.ids[level], pyarrow.large_string())
            columns[f"{level}_id"] = ids.take(pyarrow.array(unit[made.tract]))
        return made, columns, pyarrow.array(shapely.to_wkb(shapely.box(*made.box.T)))

    parts, n_blocks = [], 0
    starts = range(0, land.people.size, _TRACTS_AT_ONCE)
    with writer.stream("blocks") as blocks, writer.stream("cells") as cells:
        for made, columns, outline in work_in_order(make, starts, os.cpu_count() or 1):
            blocks.write(columns)
            index = np.arange(n_blocks, n_blocks + len(outline), dtype=np.int32)
            cells.write({"block_index": index, "geometry": outline})
            parts.append(made)
            n_blocks += len(outline)
        blocks.write(_elsewhere_block(land))
    fields = ("tract", "number", "box", "people", "job_weight")
    return Blocks(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in fields})


def _digits(number: Ints, width: int) -> pyarrow.Array:
    text = pyarrow.compute.utf8_lpad(pyarrow.array(number).cast(pyarrow.string()), width, "0")
    return text.cast(pyarrow.large_string())


def _elsewhere_block(land: Land) -> Columns:
    texts = {f"{level}_id": [ELSEWHERE] for level in ("block", *_LEVELS)} | {"layer_bgrp": [""]}
    return {name: pyarrow.array(text, pyarrow.large_string()) for name, text in texts.items()} | {
        "tract_index": np.array([land.people.size], np.int32),
        "lon_deg": np.array([_ELSEWHERE_DEG[0]]),
        "lat_deg": np.array([_ELSEWHERE_DEG[1]]),
        "population": np.array([3_400_000]),
        "elsewhere": np.array([True]),
    }


def _write_units(writer: StoreWriter, land: Land, blocks: Blocks) -> int:
    """Write the tables of units and of the names of block groups; return how many groups there are."""
    people = np.bincount(blocks.tract, blocks.people)
    middle = [np.bincount(blocks.tract, blocks.people * axis) / people for axis in blocks.place_deg.T]
    boxes = shapely.box(*land.box.T)
    for level, (name, above) in _LEVELS.items():
        unit = land.unit[level]
        first = np.searchsorted(unit, np.arange(unit[-1] + 2))
        of_units = np.bincount(unit, people)
        columns: dict[str, object] = {f"{level}_id": land.ids[level]}
        columns |= {f"{other}_id": np.array(land.ids[other])[land.unit[other][first[:-1]]] for other in above}
        columns |= {
            "name": [f"{level.capitalize()} {each}" for each in land.ids[level]],
            "population": of_units.astype(np.int64),
            "lon_deg": np.bincount(unit, people * middle[0]) / of_units,
            "lat_deg": np.bincount(unit, people * middle[1]) / of_units,
            "elsewhere": False,
        }
        far = {f"{other}_id": ELSEWHERE for other in (level, *above)} | {
            "name": "Elsewhere",
            "population": 3_400_000,
            "lon_deg": _ELSEWHERE_DEG[0],
            "lat_deg": _ELSEWHERE_DEG[1],
            "elsewhere": True,
        }
        frame = pandas.concat([pandas.DataFrame(columns), pandas.DataFrame([far])], ignore_index=True)
        if level == "tract":
            for other in ("puma", "superpuma"):
                last = len(land.ids[other])
                frame[f"{other}_index"] = np.append(land.unit[other], last).astype(np.int32)
            frame["derived"] = ~frame["elsewhere"]
        outline = [shapely.union_all(boxes[a:b]) for a, b in pairwise(first)]
        writer.table(name, geopandas.GeoDataFrame(frame, geometry=[*outline, None], crs=CRS))
    groups = np.unique(blocks.tract * 10 + blocks.number // 1_000)
    ids = [f"{land.ids['tract'][group // 10]}{group % 10}" for group in groups.tolist()]
    writer.table("layers", pandas.DataFrame({"layer": "bgrp", "unit_id": ids, "name": ids}))
    return len(ids)


def _write_jobs(writer: StoreWriter, land: Land, blocks: Blocks, n_jobs: int, seed: int) -> int:
    """Write `jobs`; return how many workers live elsewhere."""
    work = np.flatnonzero(blocks.job_weight)
    weight = blocks.job_weight[work] / blocks.job_weight[work].sum()
    count = 1 + np.random.default_rng([seed, 2]).multinomial(n_jobs - work.size, weight)
    reached, n_blocks = np.cumsum(blocks.people), blocks.people.size
    people = np.bincount(blocks.tract, blocks.people).astype(np.int64)
    within_mi = 0.45 * np.sqrt(_area_mi2(land.box))
    tree = cKDTree(place_on_sphere(*((land.box[:, :2] + land.box[:, 2:]) / 2).T).T)
    cuts = np.searchsorted(np.cumsum(count), np.arange(0, n_jobs, _JOBS_AT_ONCE))
    cuts = np.unique(np.append(cuts, work.size))

    def draw(part: int) -> Columns:
        rows = slice(cuts[part], cuts[part + 1])
        rng = np.random.default_rng([seed, 3, part])
        industry = np.exp(_INDUSTRY + rng.normal(0.0, 0.8, (count[rows].size, 3)))
        share = (_AGES[:, None, None] * _EARNINGS[:, None])[None] * industry[:, None, None]
        share = share.reshape(-1, N_SEGMENTS)
        drawn = rng.multinomial(count[rows], share / share.sum(axis=1, keepdims=True))
        synthesizer = np.repeat(np.arange(drawn.size), drawn.ravel())
        place, segment = np.divmod(synthesizer, N_SEGMENTS)
        at = _drawn_residents(tree, within_mi, people, blocks.tract[work[rows]], place, rng)
        anywhere = rng.random(at.size) < _ANYWHERE
        at[anywhere] = rng.integers(reached[-1], size=int(anywhere.sum()))
        home = np.searchsorted(reached, at, side="right")
        home[rng.random(home.size) < _ELSEWHERE_SHARE] = n_blocks
        key = np.sort(synthesizer * (n_blocks + 1) + home)
        start = np.flatnonzero(np.diff(key, prepend=-1))
        synthesizer, home = np.divmod(key[start], n_blocks + 1)
        place, segment = np.divmod(synthesizer, N_SEGMENTS)
        return {
            "destination_index": work[rows][place].astype(np.int32),
            "origin_index": home.astype(np.int32),
            "age": (segment // 9 + 1).astype(np.int8),
            "earnings": (segment // 3 % 3 + 1).astype(np.int8),
            "industry": (segment % 3 + 1).astype(np.int8),
            "count": np.diff(start, append=key.size).astype(np.int32),
        }

    n_elsewhere = 0
    with writer.stream("jobs") as jobs:
        for columns in work_in_order(draw, range(len(cuts) - 1), os.cpu_count() or 1):
            jobs.write(columns)
            n_elsewhere += int(columns["count"][columns["origin_index"] == n_blocks].sum())
    return n_elsewhere


def _drawn_residents(
    tree: cKDTree, within_mi: Floats, people: Ints, work_tract: Ints, place: Ints, rng: np.random.Generator
) -> Ints:
    """Numbers of the residents who hold the jobs at some places; gravity chooses their tracts.

    Parameters
    ----------
    tree : cKDTree
        Middles of tracts, on the unit sphere.
    within_mi : float64[tracts]
        Distance between two places of a tract.
    people : int64[tracts]
    work_tract : int64[places]
        Tracts of the places, ascending.
    place : int64[jobs]
        Place of each job.
    """
    tract, row = np.unique(work_tract, return_inverse=True)
    away, near = tree.query(tree.data[tract], k=np.arange(1, min(_NEAR_TRACTS, tree.n) + 1))
    away_mi = np.maximum(EARTH_RADIUS_MI * away, within_mi[tract, None])
    running = np.cumsum(people[near] * np.exp(-((away_mi / _SCALE_MI) ** 1.15)), axis=1)
    # Row r takes up the numbers from r to r + 1.
    running = running / running[:, -1:] + np.arange(tract.size)[:, None]
    chosen = np.searchsorted(running.ravel(), row[place] + rng.random(place.size), side="right")
    home = near.ravel()[np.minimum(chosen, running.size - 1)]
    first = np.cumsum(people) - people
    return np.asarray(first[home] + (rng.random(place.size) * people[home]).astype(np.int64))


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--millions", type=float, default=MILLIONS, help="of workers")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    write_nation(chosen.dataset, millions=chosen.millions)
    files = open_store(chosen.dataset, "dataset", verify=False).manifest["files"]
    print("| table | rows |\n|---|---|")
    for name in (*(name for name, _ in _LEVELS.values()), "blocks", "layers", "jobs"):
        print(f"| {name} | {files[f'{name}.parquet']['rows']:,} |")


if __name__ == "__main__":
    main()
