"""Worker records measured against the dataset they were made from: distances of tables, and the measures of releases.

CONFIDENTIAL, all of it, like every measure of validity. The distance of two tables is their total variation distance:
half the sum of absolute differences of shares, which is the share of workers who would have to change cells. Its noise
floor is the distance of a resample of the real workers, with replacement and of as many workers as there are records:
what chance alone gives without any privacy.

`summary`
    attributes, pairs, and the same with `_noise_floor`: means of the distances; attributes_largest, pairs_largest.
    distance_blocks_real_mi, distance_blocks_drawn_mi: average commutes between blocks.

`tables`
    attributes: attribute, title, n_values, distance, noise_floor.
    pairs: first, second, n_cells, distance, noise_floor.
    combinations: attributes, n_cells, distance, noise_floor.
    flows, top_areas, in_out: as of a release.

Source: P17 (Bindschaedler, Shokri and Gunter 2017), Figures 3 and 4: distances of single attributes and of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from geodata.store.store import Store, open_store
from mapapp.analyst.validity.drawn import require_same_geography
from mapapp.answers.records.certificate import read_records_certificate
from mapapp.answers.records.claims import RecordsCertificate
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.compared_homes import Commutes, Places, compare_commutes
from mapapp.kinds.base.plain_measures import average_commutes, plain_tables
from mapapp.kinds.records.make.attributes import RecordAttribute, RecordAttributes, read_attributes
from mapapp.kinds.records.make.run import worker_hashes
from mapapp.kinds.records.make.workers import read_codes, workers_file
from mapapp.kinds.records.measure.validity_result import RecordsFacts, RecordsValidity

__all__ = [
    "COMBINATIONS",
    "TableDistances",
    "distance_tables",
    "measure_records",
    "measure_tables",
    "require_records_of",
]

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

COMBINATIONS: Final = (
    ("work_puma", "home_puma"),
    ("home_puma", "earnings"),
    ("distance_band", "industry"),
    ("work_tract",),
    ("work_puma", "home_puma", "industry", "earnings"),
)
"""Combinations that are always measured, if the records have their attributes or ones that derive them."""
_SEED: Final = 2017  # of the resample: equal records give equal answers
_DENSE: Final = 1 << 22  # cells: a larger table is counted by sorting


class TableDistances:
    """Total variation distances between tables of real workers and of records.

    Parameters
    ----------
    attributes : sequence of RecordAttribute
    real, drawn : int32[n, m], int32[r, m]
        Codes of the real workers and of the records, one column per attribute; both have rows.
    """

    def __init__(self, attributes: Sequence[RecordAttribute], real: Codes, drawn: Codes) -> None:
        self._columns: dict[str, tuple[int, Codes, Codes]] = {}
        for place, attribute in enumerate(attributes):
            column = (np.ascontiguousarray(real[:, place]), np.ascontiguousarray(drawn[:, place]))
            self._columns[attribute.name] = (len(attribute.codes), *column)
            for name, groups in attribute.derives.items():
                group = np.array(groups, dtype=np.int32) - 1
                self._columns[name] = (int(group.max()) + 1, group[column[0]], group[column[1]])
        random = np.random.default_rng(_SEED)
        self._resampled = np.bincount(random.integers(0, len(real), len(drawn)), minlength=len(real))

    def has(self, names: Sequence[str]) -> bool:
        """Whether all attributes are there, or derived by one that is."""
        return all(name in self._columns for name in names)

    def n_cells(self, names: Sequence[str]) -> int:
        """Number of cells of the table of some attributes."""
        return math.prod(self._columns[name][0] for name in names)

    def of(self, names: Sequence[str]) -> tuple[float, float]:
        """Return the distance of the records, and that of the resample of the real workers."""
        real, drawn = self._cells(names)
        n_cells = self.n_cells(names)
        if n_cells > _DENSE:
            used, at = np.unique(np.concatenate((real, drawn)), return_inverse=True)
            (real, drawn), n_cells = np.split(at, [real.size]), used.size
        share = np.bincount(real, minlength=n_cells) / real.size
        others = (
            np.bincount(drawn, minlength=n_cells),
            np.bincount(real, self._resampled, minlength=n_cells),
        )
        distances = [float(np.abs(counts / drawn.size - share).sum() / 2) for counts in others]
        return distances[0], distances[1]

    def _cells(self, names: Sequence[str]) -> tuple[Ints, Ints]:
        """Cell of each real worker and of each record."""
        real, drawn = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for name in names:
            size, of_real, of_drawn = self._columns[name]
            real, drawn = real * size + of_real, drawn * size + of_drawn
        return real, drawn


def measure_records(dataset_path: Path, path: Path, *, report: Report = silent) -> RecordsValidity:
    """Measure worker records against the dataset they were made from.

    Parameters
    ----------
    dataset_path, path : Path
    report : callable
        Called with (stage, done, total) before every part; what it raises cancels.

    Raises
    ------
    StoreError
        They are no dataset and no records, or the certificate cannot be read.
    UsageError
        The records have another geography, year, kind of jobs, or other attributes than the dataset, or no rows.
    """
    dataset = open_store(dataset_path, "dataset")
    report("opening the records", 0, 0)
    store = open_store(path, "records")
    require_same_geography(store, dataset)
    attributes = read_attributes(dataset)
    certificate = read_records_certificate(store)
    require_records_of(store, dataset, certificate, attributes)
    report("reading the workers", 0, 0)
    real, drawn = (np.concatenate(list(read_codes(source, attributes))) for source in (dataset, store))
    tables = distance_tables(
        attributes.attributes, TableDistances(attributes.attributes, real, drawn), report
    )
    report("comparing commutes", 0, 0)
    compared = [
        compare_commutes(_commutes(dataset), _commutes(store), attributes.geography, Places.read(dataset))
    ]
    real_mi, drawn_mi = average_commutes(compared)
    return RecordsValidity(
        facts=_facts(store, dataset, certificate, len(real), len(drawn)),
        summary=_summary(tables) | {"distance_blocks_real_mi": real_mi, "distance_blocks_drawn_mi": drawn_mi},
        tables=tables | plain_tables(compared, is_sample=False),
    )


def require_records_of(
    store: Store, dataset: Store, certificate: RecordsCertificate, attributes: RecordAttributes
) -> None:
    """Refuse records of other jobs than a dataset's, as far as public facts show it, and records without rows."""
    for fact in ("year", "job_type"):
        stated, own = store.manifest.get(fact), dataset.manifest.get(fact)
        if stated != own:
            raise UsageError(
                f"{store.path} has {fact} {stated}, but {dataset.path} has {own}: give the dataset that the records "
                "were made from"
            )
    own_values = {attribute.name: list(attribute.codes) for attribute in attributes.attributes}
    values = {
        attribute.name: [value.code for value in attribute.values] for attribute in certificate.attributes
    }
    differ = [name for name in {**own_values, **values} if own_values.get(name) != values.get(name)]
    if differ:
        raise UsageError(
            f"{store.path} has other attributes, or other values of them, than {dataset.path} ({', '.join(differ)}): "
            "give the dataset that the records were made from"
        )
    if not store.manifest["files"]["records.parquet"]["rows"]:
        raise UsageError(f"{store.path} holds no records: there is nothing to measure")


def _commutes(store: Store) -> Commutes:
    """Blocks of work and home of every worker of a dataset, or of every record."""
    table = workers_file(store)
    names = ["destination_index", "origin_index"]
    rows = store.table(table, [*names, *(["count"] if table == "jobs" else [])])
    work, home = (rows[name].to_numpy(np.int32) for name in names)
    if "count" not in rows:
        return Commutes(work, home)
    count = rows["count"].to_numpy()
    return Commutes(np.repeat(work, count), np.repeat(home, count))


def distance_tables(
    attributes: Sequence[RecordAttribute], distances: TableDistances, report: Report = silent
) -> dict[str, pandas.DataFrame]:
    """Return the tables `attributes`, `pairs`, and `combinations` that the head of this module describes."""
    titles = {attribute.name: attribute.title for attribute in attributes}
    names = list(titles)
    singles = [(name,) for name in names]
    pairs = list(combinations(names, 2))
    listed = [combination for combination in COMBINATIONS if distances.has(combination)]
    measured = list(measure_tables([*singles, *pairs, *listed], distances, report))
    n = len(singles)
    return {
        "attributes": pandas.DataFrame(
            [
                {"attribute": name, "title": titles[name], "n_values": cells, **both}
                for ((name,), cells, both) in measured[:n]
            ]
        ),
        "pairs": pandas.DataFrame(
            [
                {"first": table[0], "second": table[1], "n_cells": cells, **both}
                for (table, cells, both) in measured[n : n + len(pairs)]
            ]
        ),
        "combinations": pandas.DataFrame(
            [
                {"attributes": " x ".join(table), "n_cells": cells, **both}
                for (table, cells, both) in measured[n + len(pairs) :]
            ]
        ),
    }


def measure_tables(
    tables: Sequence[tuple[str, ...]], distances: TableDistances, report: Report = silent
) -> Iterator[tuple[tuple[str, ...], int, dict[str, float]]]:
    """Yield the attributes, the cells, and the distances of each table."""
    for done, names in enumerate(tables):
        report("measuring tables", done, len(tables))
        distance, noise_floor = distances.of(names)
        yield names, distances.n_cells(names), {"distance": distance, "noise_floor": noise_floor}
    report("measuring tables", len(tables), len(tables))


def _summary(tables: dict[str, pandas.DataFrame]) -> dict[str, float]:
    summary = {}
    for name in ("attributes", "pairs"):
        summary[name] = float(tables[name]["distance"].mean())
        summary[f"{name}_noise_floor"] = float(tables[name]["noise_floor"].mean())
        summary[f"{name}_largest"] = float(tables[name]["distance"].max())
    return summary


def _facts(
    store: Store, dataset: Store, certificate: RecordsCertificate, n_workers: int, n_records: int
) -> RecordsFacts:
    alone, replaced = certificate.promise.add_remove, certificate.promise.replace_one
    return {
        "scope": {"workers": n_workers, "records": n_records},
        "promise": {
            "epsilon_add_remove": alone.epsilon.value,
            "delta_add_remove": alone.delta.value,
            "epsilon_replace_one": replaced.epsilon.value,
            "delta_replace_one": replaced.delta.value,
        },
        "records": {
            "path": str(store.path),
            "status": certificate.status,
            "is_of_these_workers": certificate.confidential_inputs == worker_hashes(dataset),
        },
    }
