"""A published table with suppressed cells, opened for reading."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple, Self

import msgspec
import numpy
import numpy.typing as npt
import pandas

from geodata.errors import StoreError
from geodata.json_objects import JsonObject
from geodata.progress import Progress, silent
from geodata.store.store import Store, store_digest
from mapapp.answers.areas.areas import open_areas
from mapapp.answers.publication import CERTIFICATE, open_publication, title_of
from mapapp.answers.tables.certificate import (
    Counted,
    FlowsClaim,
    TableCertificate,
    TableClaim,
    read_table_certificate,
)

CellKind = Literal["cell", "row_total", "column_total", "grand_total", "remainder"]
Reason = Literal["", "too-small", "not-shown-safe", "stopped"]
"""Why a cell is suppressed: no count of it would be safe; it could not be shown to be safe; or the table had stopped.

Each is a function of public numbers: of the people, the prior, and the counts printed before.
"""


class Cell(NamedTuple):
    """One cell, total, or remainder; see `OneTable.cells`."""

    people: int
    value: int
    low: int
    high: int
    rate: float
    state: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePromise:
    """What the certificate of a table promises.

    Attributes
    ----------
    epsilon, delta : Fraction
        The promise: epsilon-semantic privacy, broken with a probability of at most delta if the prior is right.
    decide : str
        `exact`, or `sampled` for the algorithm as printed in the paper.
    n_decisions : int
    decision_delta : Fraction
        Highest unsafe probability at which a cell is released.
    """

    epsilon: Fraction
    delta: Fraction
    decide: str
    n_decisions: int
    decision_delta: Fraction


@dataclass(frozen=True, kw_only=True)
class OneTable:
    """One of the tables that were published together.

    Attributes
    ----------
    position : int
        From 0, in the certificate.
    title : str
    row_layer, row_label : str
        The layer of the row units, and what one of them is called.
    columns : tuple of str
        The characteristics of the columns, such as `industry`; empty for flows.
    home_layer : str
        The layer of the homes of flows; empty for other tables.
    counts : Counted
    totals : str
        `rows`, `columns`, `both` or `none`: which sums were decided, too.
    jobs : str
        Which jobs it is about, in words; empty for all.
    cells : pandas.DataFrame
        One row for each cell, total, and remainder, in the order of decision: `kind`, `row_id`, `row`, `column_id`,
        `column`, `people`, `value` (-1 where suppressed), `state`, `low`, `high` (the safe interval when it was
        decided), `rate` (the prior share, NaN for sums), and `reason` (a `Reason`; empty unless suppressed).
    """

    position: int
    title: str
    row_layer: str
    row_label: str
    columns: tuple[str, ...]
    home_layer: str
    counts: Counted
    totals: str
    jobs: str = ""
    cells: pandas.DataFrame

    @property
    def is_flows(self) -> bool:
        """Whether the columns are the places where the workers live."""
        return bool(self.home_layer)

    def of_kind(self, kind: CellKind) -> pandas.DataFrame:
        """Return the rows of `cells` of one kind."""
        return self.cells[self.cells["kind"] == kind]

    def cell(self, position: int) -> Cell:
        """Return one row of `cells`."""
        people, value, low, high, rate, state, reason = (column[position] for column in self._columns)
        return Cell(int(people), int(value), int(low), int(high), float(rate), str(state), str(reason))

    @cached_property
    def _columns(self) -> list[npt.NDArray[numpy.generic]]:
        """The columns of a `Cell`, because one row of a frame takes long to read."""
        return [self.cells[name].to_numpy() for name in Cell._fields]

    @cached_property
    def rows(self) -> dict[str, str]:
        """Names of the row units by identifier, in the published order."""
        cells = self.of_kind("cell").drop_duplicates("row_id")
        return dict(zip(cells["row_id"], cells["row"], strict=True))

    @cached_property
    def column_labels(self) -> dict[str, str]:
        """Labels of the columns by identifier, in the published order."""
        cells = self.of_kind("cell").drop_duplicates("column_id")
        return dict(zip(cells["column_id"], cells["column"], strict=True))

    @property
    def n_cells(self) -> int:
        """Number of cells with people, without sums."""
        return int((self.of_kind("cell")["people"] > 0).sum())

    @property
    def n_released(self) -> int:
        """Number of those cells whose count is printed."""
        cells = self.of_kind("cell")
        return int(((cells["people"] > 0) & (cells["value"] >= 0)).sum())

    @property
    def released_share(self) -> float:
        """Share of the people in cells whose count is printed, or of the workers in printed flows; NaN without any."""
        cells = self.of_kind("cell")
        printed = cells["value"] >= 0
        if self.is_flows:
            inside = int(cells.loc[printed, "value"].sum())
            total = int(cells.drop_duplicates("row_id")["people"].sum())
        else:
            inside, total = int(cells.loc[printed, "people"].sum()), int(cells["people"].sum())
        return inside / total if total else float("nan")


class PublishedTable:
    """A verified table store: one table, or several of the same jobs; safe to use from several threads.

    Parameters
    ----------
    store : Store
        The store; :meth:`open` opens it.
    report : callable
        Called with (stage, done, total) while its geography is prepared, once per machine.

    Raises
    ------
    StoreError
        If its certificate cannot be interpreted.
    """

    def __init__(self, store: Store, *, report: Progress = silent) -> None:
        self.store = store
        self.facts: JsonObject = store.manifest
        self.certificate: JsonObject = store.document(CERTIFICATE)
        self.claims = read_table_certificate(store)
        self.digest = store_digest(store.path)
        self.version = self.digest[:12]
        try:
            self.tables = _tables(store, self.claims)
        except ValueError as error:
            raise StoreError(
                f"{store.path / CERTIFICATE}: does not go with its tables ({str(error)[:80]}); do not use this table"
            ) from error
        self.promise = _promise(self.claims)
        self.areas = open_areas(store, report=report)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, report: Progress = silent) -> Self:
        """Open a published table and verify it.

        Parameters
        ----------
        path : str or path
            Directory of the table; a dataset or a release is refused.
        report : callable
            Called with (stage, done, total).

        Raises
        ------
        StoreError
            If it is not a complete, unaltered table.
        UsageError
            If the path is not a path.
        """
        return cls(open_publication(path, "table"), report=report)

    @property
    def breach(self) -> str:
        """Where the table stopped, in words; empty if it did not."""
        return "" if self.claims.breach is None else self.claims.breach.in_words

    @property
    def title(self) -> str:
        """Title of the publication for readers, with the year."""
        return title_of(self.facts, self.store.path.name)

    @property
    def year(self) -> str:
        """Year of the jobs; empty if it is not stated."""
        return str(self.facts.get("year") or "")


def _promise(claims: TableCertificate) -> TablePromise:
    return TablePromise(
        epsilon=claims.promise.epsilon.fraction,
        delta=claims.promise.delta.fraction,
        decide=claims.promise.decide,
        n_decisions=claims.decisions,
        decision_delta=claims.decision_delta.fraction,
    )


def _tables(store: Store, claims: TableCertificate) -> tuple[OneTable, ...]:
    cells = add_reasons(store.table("table_cells"), stops=claims.breach is not None)
    prior = store.table("table_prior")
    if int(cells["table"].max()) >= len(claims.tables):
        raise ValueError("it does not describe every table")
    return tuple(
        _one_table(position, claim, cells[cells["table"] == position], prior[prior["table"] == position])
        for position, claim in enumerate(claims.tables)
    )


def add_reasons(cells: pandas.DataFrame, *, stops: bool) -> pandas.DataFrame:
    """Add the reason of every star.

    A table with a breach stopped at its first printed count outside its safe interval. Not every decision has a row, so
    the row is found by its numbers, not by the number of the decision in the certificate.
    """
    value, low, high = (cells[name].to_numpy() for name in ("value", "low", "high"))
    is_outside = (cells["state"] == "released").to_numpy() & (cells["people"] > 0).to_numpy()
    is_outside &= (value < low) | (value > high)
    after = (numpy.cumsum(is_outside) > 0) & stops
    starred = value < 0
    reason = numpy.select([~starred, after, low > high], ["", "stopped", "too-small"], "not-shown-safe")
    return cells.assign(reason=reason)


def _one_table(
    position: int, claim: TableClaim, cells: pandas.DataFrame, prior: pandas.DataFrame
) -> OneTable:
    columns = claim.columns
    rates = prior.assign(rate=prior["numerator"] / prior["denominator"])
    keys = ["row_id", "column_id"]
    cells = cells.merge(rates[[*keys, "rate"]], on=keys, how="left", validate="many_to_one").drop(
        columns="table"
    )
    cells.loc[cells["kind"] != "cell", "rate"] = numpy.nan
    return OneTable(
        position=position,
        title=claim.title,
        row_layer=claim.rows.layer,
        row_label=claim.rows.label,
        columns=() if isinstance(columns, FlowsClaim) else columns,
        home_layer=columns.flows if isinstance(columns, FlowsClaim) else "",
        counts=claim.counts,
        totals=claim.totals,
        jobs="" if claim.jobs is msgspec.UNSET else claim.jobs.in_words,
        cells=cells.reset_index(drop=True),
    )
