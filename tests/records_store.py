"""Worker records made by hand: invented workers over the geography of another store, and a certificate for them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy
import pandas

from geodata.geography.distance import distance_mi
from geodata.store.manifest import read_manifest
from geodata.store.schema import (
    AGE_BANDS,
    BASE_TABLES,
    COMMUTE_EDGES_MI,
    EARNINGS_BANDS,
    INDUSTRY_GROUPS,
    PUBLIC_TABLES,
    segment_code,
)
from geodata.store.store import Store, open_store, write_store
from mapapp.answers.publication import bind_publication, public_facts

FURTHER: Final[dict[str, tuple[str, ...]]] = {
    "sex": ("Male", "Female"),
    "education": ("Less than high school", "High school", "Some college", "Bachelor's degree or more"),
}
"""Further attributes of the invented workers, and the labels of their values."""
EPSILON, EPSILON_REPLACE = "1", "2"
_SEGMENT_LABELS: Final = {
    "industry": INDUSTRY_GROUPS,
    "earnings": EARNINGS_BANDS,
    "age": AGE_BANDS,
}
_BAND_LABELS: Final = (
    "Under 1 mile",
    *(f"{low} to {high} miles" for low, high in pairwise(COMMUTE_EDGES_MI)),
    "500 miles or more",
)


def write_records(
    path: Path, source: Path, *, n_workers: int = 4_000, seed: int = 5, seeded: bool = False
) -> Path:
    """Write worker records over the geography of a dataset or release.

    Parameters
    ----------
    path : Path
    source : Path
        The store whose geography is copied.
    n_workers : int
    seed : int
        Of the invented workers.
    seeded : bool
        Whether the certificate says that some records were made from seeds.
    """
    kind = read_manifest(source)["kind"]
    store = open_store(source, kind, verify=False)
    facts = public_facts(store.manifest)
    records, points = _workers(store, n_workers, numpy.random.default_rng(seed))
    keys = ["destination_index", "origin_index", "age", "earnings", "industry"]
    with write_store(path, "records") as writer:
        for table in (*PUBLIC_TABLES, *(table for table in BASE_TABLES if store.has_table(table.name))):
            writer.copy_table(store, table.name)
        jobs = records.groupby(keys, as_index=False).size().rename(columns={"size": "count"})
        writer.table("jobs", jobs.sort_values(["destination_index", "age", "earnings", "industry"]))
        writer.table("points", points)
        writer.table("records", records)
        writer.facts(**facts)
        claims = certificate(store, n_workers, seeded=seeded)
        writer.document("certificate.json", bind_publication(claims, facts, writer.list_files()))
    return path


def certificate(store: Store, n_workers: int, *, seeded: bool = False) -> dict[str, Any]:
    """Claims about the invented workers, in the shape of those that `commutemap records` makes."""
    attributes = _attributes(store)
    names = [each["name"] for each in attributes]
    amounts = {"epsilon": _number(EPSILON), "delta": _number("1/1000000" if seeded else "0")}
    replace_one = {"epsilon": _number(EPSILON_REPLACE), "delta": amounts["delta"]}
    seeds = {
        "min_plausible_seeds": 500,
        "similarity": "1",
        "threshold_epsilon": "7/200",
        "forced_fail": "1/50",
        "seed_floor": None,
        "kept": names[:2],
        "n_min": n_workers // 2,
        "tries": n_workers,
        "passed": n_workers // 2,
        "rdp_order": 4.65,
        "records_in_words": "At least 400 other workers share the kept attributes, but for a share of 0.03.",
    }
    return {
        "schema_version": 1,
        "kind": "records",
        "status": "for release",
        "status_reasons": [],
        "accountant": "sound",
        "epsilon": replace_one["epsilon"],
        "delta": replace_one["delta"],
        "epsilon_final": replace_one["epsilon"],
        "readings": {"differential_privacy": {**replace_one, "holds_for": "all records together"}},
        "unit_of_protection": "The whole record of one worker.",
        "promise": {
            "name": "epsilon_delta",
            "add_remove": amounts,
            "replace_one": replace_one,
            "in_words": "Whether one worker is in the data, and what the record says, changes the chance of no "
            "publication by more than a factor of 2.72.",
        },
        "parts": [],
        "seeds": seeds if seeded else None,
        "model": {
            "epsilon": _number(EPSILON),
            "structure": "public",
            "parents": {name: names[max(place - 2, 0) : place] for place, name in enumerate(names)},
            "coarser_parents": [],
            "dropped_parents": [],
            "missing_attributes": [],
            "n_parameters": n_workers,
            "cells": dict.fromkeys(names, 60),
            "learned": None,
        },
        "attributes": attributes,
        "resampling_order": names,
        "split": {
            "seeds": "3/5" if seeded else "0",
            "parameters": "2/5" if seeded else "1",
            "structure": "0",
        },
        "records": {
            "n_tried": n_workers if seeded else 0,
            "n_passed": n_workers // 2 if seeded else 0,
            "topped_up": n_workers - (n_workers // 2 if seeded else 0),
            "n_total": n_workers,
            "wanted": n_workers,
            "top_up": True,
        },
        "expected_error": None,
        "whole_record": True,
        "whole_record_in_words": "The promise is about a worker's whole record.",
        "does_not_promise": ["No row is a person.", "It says nothing about other publications."],
        "characteristics": [],
        "public_inputs": {},
        "confidential_inputs": {},
        "versions": {},
        "beside": [],
        "beside_in_words": "This certificate is about this publication alone.",
    }


def _attributes(store: Store) -> list[dict[str, Any]]:
    """The attributes in resampling order, as a certificate lists them."""
    pumas = store.table("pumas", ["puma_id", "name"])
    tracts = store.table("tracts", ["tract_id", "name", "elsewhere"])
    tracts = tracts[~tracts["elsewhere"]]
    puma_values = [
        {"code": code, "label": name} for code, name in zip(pumas["puma_id"], pumas["name"], strict=True)
    ]
    tract_values = [
        {"code": code, "label": name} for code, name in zip(tracts["tract_id"], tracts["name"], strict=True)
    ]
    return [
        _attribute("work_puma", "PUMA of work", puma_values),
        _attribute("home_puma", "PUMA of home", puma_values),
        *(_attribute(name, name.title(), _coded(labels, 1)) for name, labels in _SEGMENT_LABELS.items()),
        *(_attribute(name, name.title(), _coded(labels, 0)) for name, labels in FURTHER.items()),
        _attribute("work_tract", "Tract of work", tract_values),
        _attribute("distance_band", "Distance from home to work", _coded(_BAND_LABELS, 0)),
    ]


def _attribute(name: str, title: str, values: list[dict[str, str]]) -> dict[str, Any]:
    return {"name": name, "title": title, "values": values, "parents": [], "derives": None}


def _coded(labels: tuple[str, ...], first: int) -> list[dict[str, str]]:
    return [{"code": str(number), "label": label} for number, label in enumerate(labels, first)]


def _number(exact: str) -> dict[str, Any]:
    numerator, _, denominator = exact.partition("/")
    return {"exact": exact, "value": int(numerator) / int(denominator or 1)}


def _workers(
    store: Store, n_workers: int, random: numpy.random.Generator
) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Records and points of invented workers, who mostly live near where they work."""
    blocks = store.table("blocks")
    inside = numpy.flatnonzero(~blocks["elsewhere"].to_numpy())
    states = blocks["state_id"].to_numpy(dtype=str)
    covered = numpy.isin(states[inside], list(map(str, store.manifest["destination_states"])))
    work = numpy.sort(random.choice(inside[covered], n_workers))
    near = numpy.clip(work + random.integers(-40, 41, n_workers), 0, len(blocks) - 1)
    home = numpy.where(random.random(n_workers) < 0.8, near, random.integers(0, len(blocks), n_workers))
    lon, lat = (blocks[name].to_numpy() for name in ("lon_deg", "lat_deg"))
    miles = distance_mi(lon[work], lat[work], lon[home], lat[home])
    age, earnings, industry = random.integers(1, 4, (3, n_workers))
    records = pandas.DataFrame(
        {
            "destination_index": work,
            "origin_index": home,
            "age": age,
            "earnings": earnings,
            "industry": industry,
            "distance_band": numpy.searchsorted(COMMUTE_EDGES_MI, miles, side="right"),
            "sex": random.integers(0, 2, n_workers),
            "education": numpy.clip(earnings + random.integers(-1, 2, n_workers), 0, 3),
        }
    )
    away = blocks["elsewhere"].to_numpy()[home]
    points = pandas.DataFrame(
        {
            "destination_index": work,
            "origin_index": home,
            "segment": segment_code(age, earnings, industry),
            "home_lon_deg": numpy.where(away, numpy.nan, lon[home]),
            "home_lat_deg": numpy.where(away, numpy.nan, lat[home]),
            "work_lon_deg": lon[work],
            "work_lat_deg": lat[work],
        }
    )
    return records, points
