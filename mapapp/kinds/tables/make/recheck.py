"""Checking a table from the table alone: its files, its facts, and every decision made again.

Decisions are functions of people, prior, epsilon, delta, and of values that were released before them; a table holds
all of these. So they are made again, bit for bit, from the published values alone. Taken on trust remain: that the
values count the jobs behind the keyed hash, and that the prior was not fitted to them (`--prior-release` makes the
prior again from the release that it came from).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pandas

from engine.streams import SecretKey
from engine.suppression.rates import Rates
from engine.suppression.sum_tree import DecidedTree
from engine.suppression.suppressed import share_delta
from geodata.json_objects import JsonObject
from geodata.store.schema import CELL_KINDS, CELL_STATES
from geodata.store.store import Store, open_store, store_digest
from mapapp.answers.areas.areas import Areas
from mapapp.answers.claims import as_json, refusal
from mapapp.answers.publication import CERTIFICATE
from mapapp.answers.tables.certificate import (
    PriorClaim,
    PromiseClaim,
    TableCertificate,
    read_table_certificate,
)
from mapapp.kinds.base.certificate import UNREADABLE, CertificateCheck
from mapapp.kinds.base.certificate_comparison import compare_again
from mapapp.kinds.base.overlapping_publications import check_beside
from mapapp.kinds.base.public_counts import reasons_of_facts
from mapapp.kinds.base.publication_check import (
    check_facts,
    check_files,
    check_geography,
    check_publication,
    check_schema,
    check_sizes,
)
from mapapp.kinds.tables.make.certificate import TEST_KEY_REASON, Promise, make_table_certificate
from mapapp.kinds.tables.make.counts import Ground, read_ground
from mapapp.kinds.tables.make.decide import (
    Rule,
    Sealed,
    decide,
    decide_as_stated,
    published_values,
    same_decisions,
)
from mapapp.kinds.tables.make.forest import Forest, decide_nothing, forest_of
from mapapp.kinds.tables.make.frames import rows_of_all
from mapapp.kinds.tables.make.nodes import Nodes, fill_in
from mapapp.kinds.tables.make.prior import Planned, Prior, plan_table
from mapapp.kinds.tables.make.spec import TableSpec

__all__ = ["check_prior", "check_table"]

Ints = npt.NDArray[np.int64]

_NO_BLOCKS: Final = np.zeros(0, dtype=np.int64)
_NOT_COMPARED: Final = ("schema_version", "versions", "beside", "beside_in_words")


def check_table(path: Path) -> list[CertificateCheck]:
    """Check a table from the table alone.

    Returns
    -------
    list of CertificateCheck
        Every claim, whether it holds, and the numbers.

    Raises
    ------
    StoreError
        It is no table, its files are not those of its manifest, or its certificate cannot be read.
    """
    table = open_store(path, "table")
    certificate = table.document(CERTIFICATE)
    checks = [check_files(table), check_sizes(table)]
    try:
        stated = msgspec.convert(certificate, TableCertificate)
    except msgspec.ValidationError as error:
        checks.append(CertificateCheck("schema", False, refusal(error)))
    if not all(check.ok for check in checks):
        return checks
    checks += [
        *check_publication(table, stated.publication),
        check_facts(table, _NO_BLOCKS),
        *check_geography(table),
    ]
    try:
        checks += _claims(table, stated, certificate)
    except UNREADABLE as error:
        checks.append(
            CertificateCheck("certificate", False, f"cannot be interpreted ({type(error).__name__})")
        )
    return checks


def check_prior(path: Path, release: Path) -> CertificateCheck:
    """Make the rates of a table again from the release that they came from, and compare.

    Raises
    ------
    StoreError, UsageError
        One of the two is no table or release.
    """
    table, earlier = open_store(path, "table"), open_store(release, "release")
    stated = read_table_certificate(table)
    prior = table.table("table_prior")
    name = f"prior from {release}"
    if stated.prior.digest != store_digest(release):
        return CertificateCheck(name, False, "the certificate names another release, or a file")
    again = [_prior_again(nodes.plan, earlier) for nodes in _forest(table, stated, prior).trees]
    same = all(again)
    return CertificateCheck(name, same, f"{len(prior):,} rates {'made again' if same else 'differ'}")


def _prior_again(plan: Planned, earlier: Store) -> bool:
    """Whether the rates of a table's cells are those that a release gives."""
    people = np.zeros((plan.ground.shape[0], 1 if plan.spec.flows else plan.ground.shape[1]), dtype=np.int64)
    people[plan.row, 0 if plan.spec.flows else plan.column] = plan.people
    source = Prior(source=earlier, facts=PriorClaim(origin="release", smoothing=None), is_for_release=True)
    again = plan_table(plan.spec, plan.ground, people, source)
    rates = (again.rates.numerator, again.rates.denominator), (plan.rates.numerator, plan.rates.denominator)
    same = again.smoothing == plan.smoothing and all(map(np.array_equal, *rates))
    return bool(same and np.array_equal(again.row, plan.row) and np.array_equal(again.column, plan.column))


def _claims(table: Store, stated: TableCertificate, certificate: JsonObject) -> list[CertificateCheck]:
    cells, prior = table.table("table_cells"), table.table("table_prior")
    checks = [*check_schema(stated, certificate), _check_cells(cells, prior)]
    if not all(check.ok for check in checks):
        return checks
    forest = _forest(table, stated, prior)
    values = [_released_values(nodes, part) for nodes, part in _parts(forest, cells)]
    decided = _decide_again(forest, stated, values)
    checks.append(_check_decisions(forest, decided, values, stated.promise))
    checks.append(_check_rows(forest, cells, prior, decided, values))
    checks.append(_check_claims(table, forest, decided, stated, certificate))
    checks.append(check_beside(stated.beside, stated.beside_in_words, "table"))
    return checks


def _check_cells(cells: pandas.DataFrame, prior: pandas.DataFrame) -> CertificateCheck:
    """States and values go together, no cell counts more than its people, and each has one prior."""
    starred = (cells["state"] == "suppressed").to_numpy()
    value, people = cells["value"].to_numpy(), cells["people"].to_numpy()
    faults = {
        "kinds": not cells["kind"].isin(CELL_KINDS).all(),
        "states": not cells["state"].isin(CELL_STATES).all(),
        "a star with a value, or a value without one": bool(((value < 0) != starred).any()),
        "a value above its people": bool((value > people).any()),
        "cells": not len(cells) or bool(cells.duplicated(["table", "kind", "row_id", "column_id"]).any()),
        "prior": not len(prior),
    }
    wrong = [name for name, is_wrong in faults.items() if is_wrong]
    detail = (
        f"wrong: {', '.join(wrong)}"
        if wrong
        else f"{len(cells):,} with sums and remainders, {int(starred.sum()):,} suppressed"
    )
    return CertificateCheck("cells", not wrong, detail)


def _forest(table: Store, stated: TableCertificate, prior: pandas.DataFrame) -> Forest:
    """Everything that was decided, as the table states it, over its own geography."""
    areas = Areas(table)
    specs = [TableSpec.from_claim(claim).locate(areas) for claim in stated.tables]
    grounds = [read_ground(table, spec, areas) for spec in specs]
    smoothed = stated.prior.smoothing
    smoothing = list(smoothed) if isinstance(smoothed, list) else [smoothed]

    def plan_of(place: int, _is_alone: bool) -> Planned:
        return _plan(specs[place], grounds[place], prior[prior["table"] == place], smoothing.pop(0))

    return forest_of(specs, grounds, plan_of, remainders=stated.remainders)


def _plan(spec: TableSpec, ground: Ground, prior: pandas.DataFrame, smoothing: JsonObject | None) -> Planned:
    place = {unit_id: number for number, unit_id in enumerate(ground.row_ids)}
    column = {unit_id: number for number, unit_id in enumerate(ground.column_ids)}
    return Planned(
        spec=spec,
        ground=ground,
        row=np.array([place[unit_id] for unit_id in prior["row_id"]], dtype=np.int64),
        column=np.array([column[column_id] for column_id in prior["column_id"]], dtype=np.int64),
        people=prior["people"].to_numpy(np.int64),
        rates=Rates(
            numerator=prior["numerator"].to_numpy(np.int64),
            denominator=prior["denominator"].to_numpy(np.int64),
        ),
        smoothing=smoothing,
    )


def _parts(forest: Forest, cells: pandas.DataFrame) -> Iterator[tuple[Nodes, pandas.DataFrame]]:
    """The rows of each set of jobs, in the order of the file."""
    for nodes in forest.trees:
        tables = {nodes.table, *(sums.table for sums in (*nodes.before, *nodes.after))}
        yield nodes, cells[cells["table"].isin(tables)]


def _released_values(nodes: Nodes, cells: pandas.DataFrame) -> Ints:
    """Released values of all decisions, -1 for all others; of a remainder, the total of its row."""
    kept = cells if not nodes.plan.spec.flows else cells[cells["kind"] != "remainder"]
    value = np.where(kept["state"] == "released", kept["value"], -1).astype(np.int64)
    ahead = value[: nodes.cells.stop]
    values = [ahead]
    rest = kept.iloc[nodes.cells.stop :]
    stated = dict(zip(rest["row_id"], value[nodes.cells.stop :].tolist(), strict=True))
    of_cells = ahead[nodes.cells]
    for sums in nodes.after:
        totals = np.full(sums.row.size, -1, dtype=np.int64)
        for number, row in enumerate(sums.row.tolist()):
            row_values = of_cells[sums.of_cell == number]
            remainder = stated.get(nodes.plan.ground.row_ids[row], -1 if (row_values < 0).any() else 0)
            if remainder >= 0:
                totals[number] = remainder + int(row_values[row_values >= 0].sum())
        values.append(totals)
    return np.concatenate(values)


def _decide_again(forest: Forest, stated: TableCertificate, values: Sequence[Ints]) -> list[DecidedTree]:
    """Every decision again, from public inputs and the published values alone."""
    key, epsilon = None, stated.promise.epsilon.fraction
    if stated.promise.decide == "sampled":
        if TEST_KEY_REASON not in stated.status_reasons:  # nobody can repeat secret coins
            return [
                decide_as_stated(nodes, shown, epsilon)
                for nodes, shown in zip(forest.trees, values, strict=True)
            ]
        key = SecretKey.for_tests()
    rule = Rule(epsilon, share_delta(stated.promise.delta.fraction, len(forest)), key)
    again: list[DecidedTree] = []
    for nodes, shown in zip(forest.trees, values, strict=True):
        has_stopped = any(decided.breach >= 0 for decided in again)
        consistent = np.maximum(shown, 0) if nodes.is_flat else fill_in(nodes, shown >= 0, shown)
        again.append(
            decide_nothing(nodes) if has_stopped else decide(nodes, Sealed(consistent[nodes.cells]), rule)
        )
    return again


def _check_decisions(
    forest: Forest, decided: Sequence[DecidedTree], values: Sequence[Ints], promise: PromiseClaim
) -> CertificateCheck:
    n, differing, as_stated = len(forest), 0, promise.decide == "sampled"
    for nodes, again, shown in zip(forest.trees, decided, values, strict=True):
        differing += int((again.released != (shown >= 0)).sum())
        as_stated = as_stated and same_decisions(
            again, decide_as_stated(nodes, shown, promise.epsilon.fraction)
        )
    if as_stated:
        return CertificateCheck(
            "decisions", True, "sampled: coins cannot be repeated unless they are the published ones"
        )
    detail = (
        f"{differing:,} of {n:,} differ when made again"
        if differing
        else f"all {n:,} made again, with the same result"
    )
    return CertificateCheck("decisions", not differing, detail)


def _check_rows(
    forest: Forest,
    cells: pandas.DataFrame,
    prior: pandas.DataFrame,
    decided: Sequence[DecidedTree],
    values: Sequence[Ints],
) -> CertificateCheck:
    """Write the rows again: names, people, intervals, and what is derived."""
    if not all(_is_in_order(nodes.plan) for nodes in forest.trees):
        return CertificateCheck("rows", False, "not in the order of decision")
    shown = [published_values(*tree)[0] for tree in zip(forest.trees, decided, values, strict=True)]
    cells_again, prior_again = rows_of_all(forest.trees, decided, shown)
    same = cells_again.equals(cells) and prior_again.equals(prior)
    return CertificateCheck(
        "rows", bool(same), f"{len(cells):,} written again" if same else "differ from those written again"
    )


def _is_in_order(plan: Planned) -> bool:
    """Whether cells come row by row, and in a row by column; of flows, the largest shares first."""
    later = np.diff(plan.column) > 0
    if plan.spec.flows:
        numerator, denominator = plan.rates.numerator, plan.rates.denominator
        falls = numerator[:-1] * denominator[1:] - numerator[1:] * denominator[:-1]
        later = (falls > 0) | ((falls == 0) & later)
    next_row = np.diff(plan.row)
    return bool(((next_row > 0) | ((next_row == 0) & later)).all())


def _check_claims(
    table: Store,
    forest: Forest,
    decided: Sequence[DecidedTree],
    stated: TableCertificate,
    certificate: JsonObject,
) -> CertificateCheck:
    """Write the certificate again from the table, and compare it field by field."""
    promise = stated.promise
    again = make_table_certificate(
        table,
        forest,
        decided,
        promise=Promise(promise.epsilon.fraction, promise.delta.fraction, promise.decide),
        prior=stated.prior,
        reasons=[
            *([TEST_KEY_REASON] if TEST_KEY_REASON in stated.status_reasons else []),
            *reasons_of_facts(table.manifest),
        ],
        confidential_inputs=as_json(stated.confidential_inputs),
        beside=stated.beside,
    )
    return compare_again(as_json(again), certificate, "the table", skipped=_NOT_COMPARED)
