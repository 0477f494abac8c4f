"""Table stores made by hand: invented counts over the geography of another store, and a certificate for them."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy
import pandas

from geodata.store.manifest import read_manifest
from geodata.store.schema import (
    AGE_BANDS,
    BASE_TABLES,
    EARNINGS_BANDS,
    GEOGRAPHY,
    INDUSTRY_GROUPS,
    TABLE_CELLS,
    TABLE_PRIOR,
    TABLES,
    Table,
)
from geodata.store.store import Store, open_store, write_store
from mapapp.answers.publication import bind_publication, public_facts
from mapapp.kinds.tables.make.counts import count_people, count_values, read_ground
from mapapp.kinds.tables.make.spec import TableSpec

EPSILON, DELTA = Fraction(1, 2), Fraction(1, 100)
LABELS = {"age": AGE_BANDS, "earnings": EARNINGS_BANDS, "industry": INDUSTRY_GROUPS}
SAME_UNIT = {"kind": "same-unit", "miles": None, "in_words": "workers who live in the unit where they work"}
FLOWS = {"kind": "flows", "miles": None, "in_words": "workers by the unit where they live"}
COLUMNS = ("industry", "earnings")


def write_table(path: Path, source: Path, *, rows: str = "county", flows: str = "", seed: int = 3) -> Path:
    """Write a table of the counties (or of another layer) of a dataset or release.

    Parameters
    ----------
    path : Path
    source : Path
        The store whose geography is copied.
    rows : str
        Layer of the rows.
    flows : str, optional
        A layer: a second table holds the workers by the unit of this layer where they live.
    seed : int
        Of the invented numbers.
    """
    kind = read_manifest(source)["kind"]
    store = open_store(source, kind, verify=False)
    random = numpy.random.default_rng(seed)
    made = [_counts(store, rows, random)] + ([_flows(store, rows, flows, random)] if flows else [])
    cells, prior = (
        pandas.concat([part[end].assign(table=place) for place, part in enumerate(made)]) for end in (0, 1)
    )
    facts = public_facts(store.manifest)
    with write_store(path, "table") as writer:
        for table in (*GEOGRAPHY, *(table for table in BASE_TABLES if store.has_table(table.name))):
            writer.copy_table(store, table.name)
        writer.table("table_cells", cells)
        writer.table("table_prior", prior)
        writer.facts(**facts)
        claims = certificate(rows, flows, n_decisions=max(len(cells), 1))
        writer.document("certificate.json", bind_publication(claims, facts, writer.list_files()))
    return path


def certificate(rows: str, flows: str, *, n_decisions: int) -> dict[str, Any]:
    """Claims about the invented tables."""
    row = {"layer": rows, "label": rows.title()}
    tables: list[dict[str, Any]] = [
        {"title": "Lives in the same unit", "rows": row, "columns": list(COLUMNS)}
        | {"counts": SAME_UNIT, "totals": "none"}
    ]
    if flows:
        tables.append(
            {"title": "Homes", "rows": row, "columns": {"flows": flows}, "counts": FLOWS, "totals": "none"}
        )
    return {
        "schema_version": 1,
        "kind": "table",
        "status": "for release",
        "status_reasons": [],
        "promise": {
            "name": "epsilon_semantic_privacy",
            "epsilon": {"value": float(EPSILON), "exact": str(EPSILON)},
            "delta": {"value": float(DELTA), "exact": str(DELTA)},
            "decide": "exact",
            "in_words": "What the table shows changes no belief about one worker by more than half of it.",
        },
        "decisions": n_decisions,
        "decision_delta": {"value": float(DELTA / n_decisions), "exact": str(DELTA / n_decisions)},
        "remainders": True,
        "tables": tables,
        "prior": {"origin": "release", "digest": "0" * 64, "year": 2018, "smoothing": None},
        "breach": None,
        "does_not_promise": ["It is not differential privacy.", "It is void if the prior is wrong."],
        "public_inputs": {},
        "confidential_inputs": {"jobs": "0" * 64},
        "versions": {},
        "beside": [],
        "beside_in_words": "",
    }


def _counts(
    store: Store, rows: str, random: numpy.random.Generator
) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    cells, prior = [], []
    for unit_id, name in units_of(store, rows):
        starred_people = 0
        for first in (1, 2, 3):
            for second in (1, 2, 3):
                people = int(random.choice([0, 3, 40, 400, 4000]))
                rate = Fraction(int(random.integers(10, 60)), 100)
                low, high = interval(people, rate)
                value = int(random.binomial(people, float(rate)))
                released = (people >= 400 and low <= value <= high) or not people
                column_id = f"{first}.{second}"
                label = ", ".join(
                    LABELS[each][code - 1] for each, code in zip(COLUMNS, (first, second), strict=True)
                )
                cells.append(
                    _cell(
                        "cell", unit_id, name, column_id, label, people, value if released else -1, low, high
                    )
                )
                prior.append(_prior(unit_id, column_id, people, rate))
                starred_people += 0 if released else people
        if starred_people:
            cells.append(_cell("remainder", unit_id, name, "", "", starred_people, -1, 1, 0))
    return _frame(TABLE_CELLS, cells), _frame(TABLE_PRIOR, prior)


def _flows(
    store: Store, rows: str, homes: str, random: numpy.random.Generator
) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    cells, prior = [], []
    for unit_id, name in units_of(store, rows):
        people = int(random.integers(500, 5000))
        origins = units_of(store, homes)[:6]
        for place, (home_id, home) in enumerate(origins):
            rate = Fraction(1, 3 + place * place)  # the shares of a row add up to less than 1
            low, high = interval(people, rate)
            value = round(people * rate)
            released = low <= value <= high and place < 4
            cells.append(
                _cell("cell", unit_id, name, home_id, home, people, value if released else -1, low, high)
            )
            prior.append(_prior(unit_id, home_id, people, rate))
    return _frame(TABLE_CELLS, cells), _frame(TABLE_PRIOR, prior)


def _frame(table: Table, rows: list[dict[str, Any]]) -> pandas.DataFrame:
    return pandas.DataFrame(rows, columns=list(table.columns)).fillna({"table": 0}).astype(table.columns)


def units_of(store: Store, layer: str) -> list[tuple[str, str]]:
    """Identifiers and names of the units of a layer that hold blocks inside the area."""
    if layer in ("tract", "puma", "superpuma", "county", "state"):
        plural = "counties" if layer == "county" else f"{layer}s"
        frame = store.table(plural, [f"{layer}_id", "name", "elsewhere"])
        frame = frame[~frame["elsewhere"]]
        return list(zip(frame[f"{layer}_id"], frame["name"], strict=True))
    names = store.table("layers")
    names = names[names["layer"] == layer]
    return list(zip(names["unit_id"], names["name"], strict=True))


def interval(people: int, rate: Fraction) -> tuple[int, int]:
    """Safe interval of the value of one cell; docs/theory/suppressed-tables.md."""
    low = max(people * rate * (1 - EPSILON), people - people * (1 - rate) * (1 + EPSILON))
    high = min(people * rate * (1 + EPSILON), people - people * (1 - rate) * (1 - EPSILON))
    return max(math.ceil(low), 0), math.floor(high)


def _cell(
    kind: str,
    row_id: str,
    row: str,
    column_id: str,
    column: str,
    people: int,
    value: int,
    low: int,
    high: int,
) -> dict[str, Any]:
    state = "suppressed" if value < 0 else "released"
    return {
        "kind": kind,
        "row_id": row_id,
        "row": row,
        "column_id": column_id,
        "column": column,
        "people": people,
        "value": value,
        "state": state,
        "low": low,
        "high": high,
    }


def _prior(row_id: str, column_id: str, people: int, rate: Fraction) -> dict[str, Any]:
    return {
        "row_id": row_id,
        "column_id": column_id,
        "people": people,
        "numerator": rate.numerator,
        "denominator": rate.denominator,
    }


def write_later_jobs(path: Path, source: Path, *, keep: float = 0.9, seed: int = 1) -> Path:
    """Write a dataset like another one, with some of the jobs gone: as of another year, by workplace and by home."""
    store = open_store(source, "dataset", verify=False)
    jobs = store.table("jobs")
    count = numpy.random.default_rng(seed).binomial(jobs["count"].to_numpy(), keep)
    kept = {name: value for name, value in store.manifest.items() if name not in _WRITTEN}
    with write_store(path, "dataset") as writer:
        for table in TABLES["dataset"]:
            if table.name == "jobs":
                writer.table("jobs", jobs.assign(count=count)[count > 0])
            else:
                writer.copy_table(store, table.name)
        writer.facts(**kept, commitment_key="0" * 63 + str(seed), year=store.manifest["year"] + seed)
    return path


_WRITTEN = ("schema_version", "kind", "files", "year", "commitment_key", "budget", "n_jobs")


def write_prior(
    path: Path, source: Path, spec: TableSpec, *, as_rates: bool = False, drop: int | None = None
) -> Path:
    """Write the counts of a dataset as a CSV file for a prior; of `as_rates`, smoothed by one half."""
    store = open_store(source, "dataset", verify=False)
    ground = read_ground(store, spec)
    people, values = count_people(store, spec, ground), count_values(store, spec, ground)
    lines = ["row_id,column_id,rate" if as_rates else "row_id,column_id,people,value"]
    for row, column in zip(*numpy.nonzero(numpy.broadcast_to(people, values.shape)), strict=True):
        here, value = int(people[row, 0 if spec.flows else column]), int(values[row, column])
        numbers = f"{2 * value + 1}/{2 * here + 2}" if as_rates else f"{here},{value}"
        if value or not spec.flows:
            lines.append(f"{ground.row_ids[row]},{ground.column_ids[column]},{numbers}")
    if drop is not None:
        del lines[drop]
    path.write_text("\n".join(lines) + "\n")
    return path
