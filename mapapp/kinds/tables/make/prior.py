"""The prior of a table: for each cell, the chance that one of its people is counted, from earlier or other data.

The prior must not be fitted to the jobs of the table: a table is private only for people whose values are independent
of the prior. So a release of the same dataset is refused; it is recognized by the keyed hash in its certificate, and
if the dataset was imported twice, or with more or fewer places, by the numbers of workers of its blocks.

Rates are exact fractions. Counted ones are smoothed by 5 pseudo-workers with the rate of the whole column (flows: with
the share of the home unit in all workers), (v + 5 c) / (b + 5), where c is rounded to a multiple of 1 / `units` so that
denominators stay below 2^31.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import pandas

from engine.errors import ParameterError
from engine.suppression.rates import LARGEST_DENOMINATOR, Rates
from geodata.json_objects import JsonObject
from geodata.store.manifest import read_manifest
from geodata.store.store import Store, open_store, store_digest
from mapapp.answers.tables.certificate import PriorClaim
from mapapp.base.errors import UsageError
from mapapp.kinds.base.certificate import FOR_RELEASE, keyed_file_hash
from mapapp.kinds.tables.make.counts import Ground, count_people, count_values, read_ground
from mapapp.kinds.tables.make.prior_file import PriorFile, read_prior_file
from mapapp.kinds.tables.make.spec import TableSpec

__all__ = ["PSEUDO_WORKERS", "Planned", "Prior", "open_prior", "plan_table"]

Ints = npt.NDArray[np.int64]
Value = TypeVar("Value")

PSEUDO_WORKERS: Final = 5
_MOST_UNITS: Final = 1 << 20
_MOST_TRIED: Final = 60
"""Home units tried in a row of flows; only those of which more than half a worker is expected are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """Where the rates come from.

    Attributes
    ----------
    source : Store or PriorFile
        An earlier release, or a file.
    facts : PriorClaim
        For the certificate, but `smoothing`.
    is_for_release : bool
        False if the source is a release that may not be published.
    """

    source: Store | PriorFile
    facts: PriorClaim
    is_for_release: bool

    def of_table(self, table: int, is_alone: bool) -> Prior:
        """Return the prior of one of several tables.

        Parameters
        ----------
        table : int
            Its position.
        is_alone : bool
            Whether no other table has a prior of its own.

        Raises
        ------
        UsageError
            The file does not say which of several tables its lines are about.
        """
        if not isinstance(self.source, PriorFile):
            return self
        return replace(self, source=self.source.of_table(table, is_alone))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Planned:
    """The cells of a table in the order of decision, from public inputs alone.

    Attributes
    ----------
    spec : TableSpec
    ground : Ground
    row, column : int64[C]
        Of each cell: row by row, columns in order; of flows, the home units with the largest shares first.
    people : int64[C]
        Workers of each cell; of flows, of its row.
    rates : Rates
        [C]
    smoothing : dict or None
        For the certificate; None where rates are used as declared.
    """

    spec: TableSpec
    ground: Ground
    row: Ints
    column: Ints
    people: Ints
    rates: Rates
    smoothing: JsonObject | None

    @property
    def n_cells(self) -> int:
        """Number of cells, C."""
        return self.row.size

    @property
    def rows_present(self) -> Ints:
        """Rows that have cells, ascending."""
        return np.unique(self.row)

    @property
    def row_ptr(self) -> Ints:
        """Offsets of the cells of each row that has cells: int64[R + 1]."""
        first = np.unique(self.row, return_index=True)[1]
        return np.append(first, self.row.size).astype(np.int64)

    @property
    def n_people(self) -> int:
        """Number of people in all cells; of flows, in all rows."""
        return int((self.people[self.row_ptr[:-1]] if self.spec.flows else self.people).sum())


def open_prior(path: Path, dataset: Store) -> Prior:
    """Open the source of a prior: an earlier release, or a CSV file.

    Raises
    ------
    UsageError
        It is a dataset, was made from the jobs of this dataset, or has another geography.
    StoreError, SourceFileError
        It cannot be read.
    """
    if path.is_file():
        declared = read_prior_file(path)
        facts = PriorClaim(origin="declared by the publisher", sha256=declared.sha256, smoothing=None)
        return Prior(source=declared, facts=facts, is_for_release=True)
    if not path.exists():
        raise UsageError(f"--prior {path}: no such directory or file; check the path")
    if read_manifest(path).get("kind") == "dataset":
        raise UsageError(
            f"--prior {path}: this is a dataset; its confidential counts would enter a public prior; give a release "
            "that was made from an earlier year, or a CSV file"
        )
    release = open_store(path, "release")
    certificate = release.document("certificate.json")
    _refuse_same_jobs(release, certificate, dataset)
    _refuse_other_vintage(release, dataset)
    facts = PriorClaim(
        origin="release",
        digest=store_digest(path),
        title=release.manifest.get("title"),
        year=release.manifest.get("year"),
        status=str(certificate.get("status")),
        smoothing=None,
    )
    return Prior(source=release, facts=facts, is_for_release=certificate.get("status") == FOR_RELEASE)


def plan_table(spec: TableSpec, ground: Ground, people: Ints, prior: Prior) -> Planned:
    """List the cells of a table in the order of decision, with their people and rates.

    Parameters
    ----------
    spec : TableSpec
    ground : Ground
        Of the dataset.
    people : int64[rows, columns]
        From `count_people`.
    prior : Prior

    Raises
    ------
    UsageError
        The prior lacks a unit or a cell, or a rate is 0 or 1.
    """
    if not people.any():
        which = "" if spec.jobs.are_all else f" (only {spec.jobs.in_words})"
        raise UsageError(
            f"--rows {spec.rows}: no worker{which} has a workplace in a unit of this layer; choose another"
        )
    if isinstance(prior.source, PriorFile):
        declared = prior.source
        if declared.rates:
            row, column, fractions = _declared_rates(declared, spec, ground, people)
            numerator = np.array([fraction.numerator for fraction in fractions], dtype=np.int64)
            denominator = np.array([fraction.denominator for fraction in fractions], dtype=np.int64)
            return _make_plan(spec, ground, people, (row, column), (numerator, denominator), None)
        earlier_people, earlier_values = _declared_counts(declared, spec, ground, people)
    else:
        earlier_people, earlier_values = _release_counts(prior.source, spec, ground, people)
    return _smooth_rates(spec, ground, people, earlier_people, earlier_values)


def _smooth_rates(
    spec: TableSpec, ground: Ground, people: Ints, earlier_people: Ints, earlier_values: Ints
) -> Planned:
    units = min(_MOST_UNITS, LARGEST_DENOMINATOR // (int(earlier_people.max(initial=0)) + PSEUDO_WORKERS))
    toward = np.maximum(_column_units(spec, earlier_people, earlier_values, units), 0)
    numerator = units * earlier_values + PSEUDO_WORKERS * toward
    denominator = np.broadcast_to(units * (earlier_people + PSEUDO_WORKERS), numerator.shape)
    row, column = _choose_cells(spec, people, numerator, denominator)
    smoothing = {
        "pseudo_workers": PSEUDO_WORKERS,
        "toward": "share of the home unit in all workers" if spec.flows else "column rate",
        "units": units,
    }
    rates = (numerator[row, column], denominator[row, column])
    return _make_plan(spec, ground, people, (row, column), rates, smoothing)


def _column_units(spec: TableSpec, people: Ints, values: Ints, units: int) -> Ints:
    """Rate of each column in units; of flows, the share of each home unit.

    Shares add up to less than 1, so that a home unit that nobody had before keeps a chance.
    """
    totals = [int(total) for total in values.sum(axis=0)]
    if spec.flows:
        everybody = max(int(people.sum()), 1)
        return np.array([(units - 1) * total // everybody for total in totals], dtype=np.int64)
    of = [int(total) for total in people.sum(axis=0)]
    overall = Fraction(sum(totals), max(sum(of), 1))
    rates = [Fraction(v, b) if b else overall for v, b in zip(totals, of, strict=True)]
    return np.array([min(max(round(units * rate), 1), units - 1) for rate in rates], dtype=np.int64)


def _choose_cells(spec: TableSpec, people: Ints, numerator: Ints, denominator: Ints) -> tuple[Ints, Ints]:
    """Rows and columns of the cells to decide, in order."""
    if not spec.flows:
        row, column = np.nonzero(people)
        return row.astype(np.int64), column.astype(np.int64)
    rows, columns = [], []
    for place in np.flatnonzero(people[:, 0]).tolist():
        expected = 2 * int(people[place, 0]) * numerator[place]
        order = np.argsort(-numerator[place], kind="stable")[:_MOST_TRIED]
        chosen = order[expected[order] > denominator[place][order]]
        rows.append(np.full(chosen.size, place, dtype=np.int64))
        columns.append(chosen.astype(np.int64))
    return np.concatenate(rows), np.concatenate(columns)


def _make_plan(
    spec: TableSpec,
    ground: Ground,
    people: Ints,
    cells: tuple[Ints, Ints],
    rates: tuple[Ints, Ints],
    smoothing: JsonObject | None,
) -> Planned:
    row, column = cells
    certain = np.flatnonzero((rates[0] <= 0) | (rates[0] >= rates[1]))
    if certain.size:
        at = int(certain[0])
        what = f"{ground.row_names[row[at]]}, {ground.column_names[column[at]]}"
        raise UsageError(
            f"the prior of {what} is {Fraction(int(rates[0][at]), int(rates[1][at]))}, but any number of its people "
            "can be counted; give a rate above 0 and below 1, or people and value to smooth"
        )
    try:
        exact = Rates(numerator=rates[0], denominator=rates[1])
    except ParameterError as error:
        raise UsageError(f"the prior cannot be used: {error}") from None
    return Planned(
        spec=spec,
        ground=ground,
        row=row,
        column=column,
        people=people[row, 0] if spec.flows else people[row, column],
        rates=exact,
        smoothing=smoothing,
    )


def _release_counts(release: Store, spec: TableSpec, ground: Ground, people: Ints) -> tuple[Ints, Ints]:
    """People and values of the dataset's cells, in an earlier release."""
    theirs = read_ground(release, spec)
    their_people, their_values = count_people(release, spec, theirs), count_values(release, spec, theirs)
    row_of = _positions(theirs.row_ids, ground.row_ids)
    missing = np.flatnonzero((row_of < 0) & (people.sum(axis=1) > 0))
    if missing.size:
        at = int(missing[0])
        raise UsageError(
            f"--prior {release.path}: has no {spec.rows} {ground.row_ids[at]} ({ground.row_names[at]}), so that unit "
            "has no prior; give a release of the same places"
        )
    column_of = _positions(theirs.column_ids, ground.column_ids)
    values = _taken(_taken(their_values, row_of).T, column_of).T
    return _taken(their_people, row_of), values


def _taken(table: Ints, positions: Ints) -> Ints:
    """Rows of a table by position; zeros for -1."""
    if not table.size:
        return np.zeros((positions.size, table.shape[1]), dtype=np.int64)
    return np.where((positions >= 0)[:, None], table[np.maximum(positions, 0)], 0)


def _positions(known: tuple[str, ...], wanted: tuple[str, ...]) -> Ints:
    place = {unit_id: number for number, unit_id in enumerate(known)}
    return np.array([place.get(unit_id, -1) for unit_id in wanted], dtype=np.int64)


def _declared_counts(declared: PriorFile, spec: TableSpec, ground: Ground, people: Ints) -> tuple[Ints, Ints]:
    n_rows, n_columns = ground.shape
    earlier = np.zeros((n_rows, people.shape[1]), dtype=np.int64)
    values = np.zeros((n_rows, n_columns), dtype=np.int64)
    for (row, column), (b, v) in _place_declared(declared.counts, ground).items():
        values[row, column] = v
        earlier[row, 0 if spec.flows else column] = b
    wanted = people.sum(axis=1, keepdims=True) if spec.flows else people
    listed = earlier if spec.flows else _mark_declared(declared.counts, ground)
    _refuse_missing(declared, spec, ground, (wanted > 0) & (listed == 0))
    if spec.flows and (values.sum(axis=1) > earlier[:, 0]).any():
        at = int(np.flatnonzero(values.sum(axis=1) > earlier[:, 0])[0])
        raise UsageError(
            f"{declared.path}: the values of {ground.row_names[at]} add up to more than its people; correct the file"
        )
    return earlier, values


def _declared_rates(
    declared: PriorFile, spec: TableSpec, ground: Ground, people: Ints
) -> tuple[Ints, Ints, list[Fraction]]:
    by_place = _place_declared(declared.rates, ground)
    if not spec.flows:
        _refuse_missing(declared, spec, ground, (people > 0) & (_mark_declared(declared.rates, ground) == 0))
        row, column = np.nonzero(people)
        rates = [by_place[at] for at in zip(row.tolist(), column.tolist(), strict=True)]
        return row.astype(np.int64), column.astype(np.int64), rates
    of_row: dict[int, list[tuple[Fraction, int]]] = {}
    for (at, home), share in by_place.items():
        of_row.setdefault(at, []).append((-share, home))
    rows, columns, rates = [], [], []
    for at in np.flatnonzero(people[:, 0]).tolist():
        if at not in of_row:
            _refuse_missing(declared, spec, ground, (people > 0) & (np.arange(len(people))[:, None] == at))
        shares = [-share for share, _home in of_row[at]]
        if sum(shares) > 1:
            raise UsageError(
                f"{declared.path}: the rates of {ground.row_names[at]} add up to more than 1; correct the file"
            )
        if sum(shares) == 1 and sum(share > 0 for share in shares) < ground.shape[1]:
            raise UsageError(
                f"{declared.path}: the rates of {ground.row_names[at]} add up to 1, which leaves 0 for the homes "
                "without a rate, but any worker can live there; lower the rates"
            )
        tried = [
            (s, h) for s, h in sorted(of_row[at])[:_MOST_TRIED] if -s * int(people[at, 0]) > Fraction(1, 2)
        ]
        rows += [at] * len(tried)
        columns += [home for _share, home in tried]
        rates += [-share for share, _home in tried]
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64), rates


def _place_declared(
    declared: Mapping[tuple[str, str], Value], ground: Ground
) -> dict[tuple[int, int], Value]:
    """What a file declares of the table's cells, by row and column; other lines are left out."""
    row_of = {unit_id: number for number, unit_id in enumerate(ground.row_ids)}
    column_of = {unit_id: number for number, unit_id in enumerate(ground.column_ids)}
    return {
        (row_of[row], column_of[column]): value
        for (row, column), value in declared.items()
        if row in row_of and column in column_of
    }


def _mark_declared(declared: Mapping[tuple[str, str], object], ground: Ground) -> Ints:
    marks = np.zeros(ground.shape, dtype=np.int64)
    for at in _place_declared(declared, ground):
        marks[at] = 1
    return marks


def _refuse_missing(
    declared: PriorFile, spec: TableSpec, ground: Ground, missing: npt.NDArray[np.bool_]
) -> None:
    if not missing.any():
        return
    row, column = (int(places[0]) for places in np.nonzero(missing))
    what = "" if spec.flows else f", {ground.column_names[column]} (column_id {ground.column_ids[column]})"
    raise UsageError(
        f"{declared.path}: no prior for {ground.row_names[row]} (row_id {ground.row_ids[row]}){what}; add a line"
    )


def _refuse_same_jobs(release: Store, certificate: JsonObject, dataset: Store) -> None:
    """Refuse a release made from the jobs of the table, by keyed hash or by the workers of blocks."""
    own = keyed_file_hash(bytes.fromhex(dataset.manifest["commitment_key"]), dataset.file("jobs"))
    stated = certificate.get("confidential_inputs")
    same = isinstance(stated, dict) and stated.get("jobs") == own
    if same or _have_same_workers(_workers_of_blocks(release), _workers_of_blocks(dataset)):
        raise UsageError(
            f"--prior {release.path}: this release was made from the jobs that the table counts, which voids "
            "the promise; give a release of an earlier year or of another dataset, or a CSV file"
        )


def _have_same_workers(first: pandas.Series, second: pandas.Series) -> bool:
    """Whether two stores have the same workers where both, or the smaller of them, have any."""
    common = first.index.intersection(second.index)
    return len(common) in {len(first), len(second)} - {0} and bool((first[common] == second[common]).all())


def _workers_of_blocks(store: Store) -> pandas.Series:
    """Workers of the blocks that have any, by block_id: an import with other places beside has other numbers."""
    blocks = store.table("blocks", ["block_id"])["block_id"]
    workers = np.zeros(len(blocks), dtype=np.int64)
    for part in store.batches("jobs", ["destination_index", "count"]):
        counts = np.bincount(
            part["destination_index"].to_numpy(), part["count"].to_numpy(), minlength=workers.size
        )
        workers += counts.astype(np.int64)
    return pandas.Series(workers, index=blocks.astype(str))[workers > 0]


def _refuse_other_vintage(release: Store, dataset: Store) -> None:
    theirs, own = (store.manifest.get("vintage") for store in (release, dataset))
    if theirs != own:
        raise UsageError(
            f"--prior {release.path}: its areas are those of {_vintage(theirs)}, and those of {dataset.path} of "
            f"{_vintage(own)}; give a release with the same areas"
        )


def _vintage(vintage: object) -> str:
    if not isinstance(vintage, dict) or not vintage:
        return "an unknown vintage"
    return ", ".join(f"{name} {value}" for name, value in vintage.items())
