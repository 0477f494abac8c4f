"""Making a table: dataset and prior → cells → decisions → table store.

The order matters: everything public comes first (cells, prior, what to expect); then the ledger; only then are homes
read. The values stay sealed until a cell is released.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pandas

from engine.precompile import TABLE_STAGES, ensure_compiled
from engine.streams import SecretKey
from engine.suppression.suppressed import share_delta
from geodata.errors import GeodataError
from geodata.json_objects import JsonObject
from geodata.store.schema import GEOGRAPHY
from geodata.store.store import Store, StoreWriter, refuse_existing, store_digest, write_store
from mapapp.answers.areas.areas import Areas
from mapapp.answers.claims import BesideClaim, as_json
from mapapp.answers.publication import CERTIFICATE, PUBLISH_DIGEST_NOTE, bind_publication, public_facts
from mapapp.answers.tables.certificate import Decide
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.certificate import is_charged, new_run_id
from mapapp.kinds.base.geography import copy_public_tables
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.base.ledger_entry import LedgerEntry, LedgerError
from mapapp.kinds.base.overlapping_publications import confidential_hashes, publications_beside
from mapapp.kinds.base.public_counts import reasons_of_facts
from mapapp.kinds.base.residents_only import open_dataset
from mapapp.kinds.base.zones import require_attributes
from mapapp.kinds.tables.make.certificate import TEST_KEY_REASON, Promise, make_table_certificate
from mapapp.kinds.tables.make.counts import Ground, count_people, count_values, read_ground
from mapapp.kinds.tables.make.decide import Rule, require_decidable
from mapapp.kinds.tables.make.expected import ExpectedForest, expected_forest
from mapapp.kinds.tables.make.forest import Forest, decide_forest, forest_of
from mapapp.kinds.tables.make.frames import rows_of_all
from mapapp.kinds.tables.make.nodes import Nodes, entry_name
from mapapp.kinds.tables.make.prior import Planned, Prior, open_prior, plan_table
from mapapp.kinds.tables.make.spec import TableSpec

Ints = npt.NDArray[np.int64]

__all__ = ["Choice", "TableOutcome", "dry_run", "make_table"]

_MOST_TWO_WAY_ROWS: Final = 3
_SMALLEST: Final = ("tract", "bgrp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the analyst chose.

    Attributes
    ----------
    specs : tuple of TableSpec
        Tables that are decided together: each refines another over the same jobs, or has no job in common with it.
    prior : Path
        An earlier release, or a CSV file.
    epsilon, delta : Fraction
    decide : {"exact", "sampled"}
    remainders : bool
        Decide the union of each row's suppressed cells, too, of jobs that have one table, without totals.
    anyway : bool
        Make a table even if it releases next to nothing.
    beside : sequence of Path
        Releases of the same jobs that it is published beside on purpose.
    test_key : bool
        Mark the table not for release; its prior may then be a release that is not for release, and coins are not
        secret.
    """

    specs: tuple[TableSpec, ...]
    prior: Path
    epsilon: Fraction
    delta: Fraction
    decide: Decide = "exact"
    remainders: bool = True
    anyway: bool = False
    beside: Sequence[Path] = ()
    test_key: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOutcome:
    """What a run reports to the analyst; all of it is in the table.

    Attributes
    ----------
    table : Path
    digest : str
    certificate : dict
        As in the table.
    n_cells, n_released : int
    people, people_released : int
        Of the cells of the finest tables; of flows, workers of the rows, and workers in released flows.
    """

    table: Path
    digest: str
    certificate: JsonObject
    n_cells: int
    n_released: int
    people: int
    people_released: int

    @property
    def breach(self) -> str | None:
        """Where the table stopped, in words."""
        breach = self.certificate["breach"]
        return None if breach is None else str(breach["in_words"])

    def to_dict(self) -> dict[str, object]:
        """Plain values for `--json`."""
        return {
            "table": str(self.table),
            "table_digest": self.digest,
            "status": self.certificate["status"],
            "cells": self.n_cells,
            "released": self.n_released,
            "people": self.people,
            "people_released": self.people_released,
            "decisions": self.certificate["decisions"],
            "breach": self.certificate["breach"],
        }

    def lines(self) -> list[str]:
        """Sentences for a person."""
        promise = self.certificate["promise"]
        return [
            *(f"{self.table}: {claim['title']}" for claim in self.certificate["tables"]),
            f"  promise          epsilon-semantic privacy, epsilon {promise['epsilon']['value']:g}, delta "
            f"{promise['delta']['value']:g} ({promise['decide']}); it is not differential privacy",
            f"  released         {self.n_released:,} of {self.n_cells:,} cells "
            f"({self.n_released / self.n_cells:.1%}), {self.people_released / max(self.people, 1):.1%} of "
            f"{self.people:,} people",
            f"  prior            {_prior_line(self.certificate['prior'])}",
            f"  status           {self.certificate['status']}",
            f"  table digest     {self.digest}",
            f"                   {PUBLISH_DIGEST_NOTE}",
        ]


def dry_run(dataset_path: Path, choice: Choice, *, report: Report = silent) -> ExpectedForest:
    """Return what a table would release, from public inputs alone; nothing is spent, and no home is read."""
    report("reading the dataset", 0, 0)
    dataset = open_dataset(dataset_path)
    return _expect_forest(_plan_forest(dataset, choice, report)[0], choice, report)


def make_table(
    dataset_path: Path, table_path: Path, choice: Choice, *, report: Report = silent
) -> TableOutcome:
    """Make a table from a dataset.

    Raises
    ------
    EngineError, GeodataError, LedgerError, UsageError
        Nothing is left at `table_path`.
    """
    refuse_existing(table_path)
    ensure_compiled(lambda: report("compiling the kernels of tables (once)", 0, 0), TABLE_STAGES)
    with (
        _give_back_unseen(dataset_path, table_path) as entered,
        write_store(table_path, "table") as writer,
    ):
        report("reading the dataset", 0, 0)
        dataset = open_dataset(dataset_path)
        forest, prior = _plan_forest(dataset, choice, report)
        rule = _rule(forest, choice)
        for nodes in forest.trees:
            require_decidable(nodes, rule)
        _refuse_hopeless(forest, choice, report)
        reasons = [*([TEST_KEY_REASON] if choice.test_key else []), *reasons_of_facts(dataset.manifest)]
        run_id = new_run_id(is_test=choice.test_key)
        beside = _enter(dataset, table_path, choice, reasons, run_id, entered)
        counted = [_values_of(dataset, nodes.plan, report) for nodes in forest.trees]
        report("deciding", 0, 0)
        decided, values = zip(*decide_forest(forest, counted, rule, report), strict=True)
        certificate = make_table_certificate(
            dataset,
            forest,
            decided,
            promise=Promise(choice.epsilon, choice.delta, choice.decide),
            prior=prior.facts,
            reasons=reasons,
            confidential_inputs=confidential_hashes(dataset),
            beside=beside,
        )
        claims = as_json(msgspec.structs.replace(certificate, run_id=run_id))
        report("writing the table", 0, 0)
        _write(writer, dataset, *rows_of_all(forest.trees, decided, values), claims)
    return _outcome(table_path, forest, values, claims)


@contextmanager
def _give_back_unseen(dataset: Path, table: Path) -> Iterator[list[LedgerEntry]]:
    """Take back a table's line in the ledger if the run stops before anybody can have seen what was decided.

    Only for reasons that do not come from the values: an interrupt, a full disk, too little memory. If a decision
    itself fails, the line stays.
    """
    entered: list[LedgerEntry] = []
    try:
        yield entered
    except (GeodataError, KeyboardInterrupt, MemoryError, OSError) as error:
        if entered and not os.path.lexists(table):
            reason = f"stopped before anything of it could be seen ({type(error).__name__})"
            with suppress(LedgerError, OSError):  # what stopped the run is the error to report
                Ledger(dataset).give_back(entered[0], reason=reason)
        raise


def _values_of(dataset: Store, plan: Planned, report: Report) -> Ints:
    """Confidential values of the cells."""
    return count_values(dataset, plan.spec, plan.ground, report)[plan.row, plan.column]


def _outcome(table: Path, forest: Forest, values: Sequence[Ints], claims: JsonObject) -> TableOutcome:
    n_released, people_released = 0, 0
    for nodes, shown in zip(forest.trees, values, strict=True):
        plan, of_cells = nodes.plan, shown[nodes.cells]
        n_released += int((of_cells >= 0).sum())
        people_released += int((of_cells if plan.spec.flows else plan.people)[of_cells >= 0].sum())
    return TableOutcome(
        table=table,
        digest=store_digest(table),
        certificate=claims,
        n_cells=sum(nodes.plan.n_cells for nodes in forest.trees),
        n_released=n_released,
        people=sum(nodes.plan.n_people for nodes in forest.trees),
        people_released=people_released,
    )


def _plan_forest(dataset: Store, choice: Choice, report: Report) -> tuple[Forest, Prior]:
    """Everything that is to be decided, and its prior, from public inputs alone."""
    if any(spec.columns for spec in choice.specs):
        require_attributes(dataset, "columns of a table are")
    prior = open_prior(choice.prior, dataset)
    if not prior.is_for_release and not choice.test_key:
        raise UsageError(
            f"--prior {choice.prior}: its certificate says {prior.facts.status!r}, so a table made from it would "
            "not be for release either; give a release that may be published, or add --test-key"
        )
    report("counting people", 0, 0)
    areas = Areas(dataset)
    specs = [spec.locate(areas) for spec in choice.specs]
    grounds = [read_ground(dataset, spec, areas) for spec in specs]

    def plan_of(table: int, is_alone: bool) -> Planned:
        spec, ground = specs[table], grounds[table]
        plan = plan_table(spec, ground, count_people(dataset, spec, ground), prior.of_table(table, is_alone))
        _refuse_two_way(plan)
        return plan

    forest = forest_of(specs, grounds, plan_of, remainders=choice.remainders and choice.decide == "exact")
    for nodes in forest.trees:
        _require_same_people(dataset, nodes, specs, grounds)
    if choice.decide == "sampled" and not (len(forest.trees) == 1 and forest.trees[0].is_flat):
        raise UsageError(
            "--decide sampled decides cells and flows, not sums; leave out --totals and other tables, or decide exactly"
        )
    return forest, prior


def _refuse_two_way(plan: Planned) -> None:
    n_rows = plan.rows_present.size
    if plan.spec.totals == "both" and n_rows > _MOST_TWO_WAY_ROWS:
        raise UsageError(
            f"--totals both with {n_rows:,} rows: with totals of both directions, at most {_MOST_TWO_WAY_ROWS} rows "
            "can be decided exactly; give --totals rows or --totals columns, whose sums form a tree"
        )


def _require_same_people(
    dataset: Store, nodes: Nodes, specs: Sequence[TableSpec], grounds: Sequence[Ground]
) -> None:
    """Refuse a coarser table that counts people whom the finest one leaves out: they would have no prior."""
    people = nodes.sum_cells(nodes.plan.people)
    for sums, start in zip(nodes.before, nodes.starts(), strict=False):
        if sums.table == nodes.table:
            continue
        spec, ground = specs[sums.table], grounds[sums.table]
        theirs = count_people(dataset, spec, ground)
        counted = theirs[sums.row, sums.column]
        if int(theirs.sum()) != int(counted.sum()) or (counted != people[start : start + counted.size]).any():
            raise UsageError(
                f"{entry_name(specs, sums.table)} counts people who work in no row of "
                f"{entry_name(specs, nodes.table)}; choose layers that nest, such as county and tract"
            )


def _rule(forest: Forest, choice: Choice) -> Rule:
    key = None
    if choice.decide == "sampled":
        key = SecretKey.for_tests() if choice.test_key else SecretKey.fresh()
    return Rule(choice.epsilon, share_delta(choice.delta, len(forest)), key)


def _expect_forest(forest: Forest, choice: Choice, report: Report) -> ExpectedForest:
    report("expecting", 0, 0)
    return expected_forest(forest, choice.epsilon, choice.delta, report)


def _refuse_hopeless(forest: Forest, choice: Choice, report: Report) -> None:
    """Refuse flows between units that are too small on both ends, with the expected share."""
    specs = [nodes.plan.spec for nodes in forest.trees]
    hopeless = [place for place, spec in enumerate(specs) if {spec.rows, spec.flows} <= set(_SMALLEST)]
    if choice.anyway or not hopeless:
        return
    spec, expected = specs[hopeless[0]], _expect_forest(forest, choice, report).parts[hopeless[0]]
    raise UsageError(
        f"--rows {spec.rows} --flows {spec.flows}: {expected.share_of_cells:.1%} of {expected.plan.n_cells:,} flows, "
        f"with {expected.share_of_people:.1%} of the people, can be expected to be released; `commutemap synthesize` "
        "shows such flows; choose larger units, or add --anyway"
    )


def _enter(
    dataset: Store,
    table: Path,
    choice: Choice,
    reasons: Sequence[str],
    run_id: str,
    entered: list[LedgerEntry],
) -> list[BesideClaim]:
    """Enter the table in the dataset's ledger, note the line if it counts, and return what is beside it."""
    ledger, beside = Ledger(dataset.path), list[BesideClaim]()

    def others(entries: tuple[LedgerEntry, ...]) -> tuple[str, ...]:
        beside[:] = publications_beside(
            dataset, "table", entries if is_charged(reasons) else (), choice.beside
        )
        return tuple(claim.digest or claim.name for claim in beside)

    others(ledger.entries())  # a table that is refused must not create a ledger
    line = ledger.enter_table(
        table.name, reasons=tuple(reasons), run_id=run_id, beside=others, check=dataset.require_unchanged
    )
    entered += [line] * line.counts
    return beside


def _write(
    writer: StoreWriter,
    dataset: Store,
    cells: pandas.DataFrame,
    prior: pandas.DataFrame,
    claims: JsonObject,
) -> None:
    copy_public_tables(dataset, writer, GEOGRAPHY)
    writer.table("table_cells", cells)
    writer.table("table_prior", prior)
    dataset.require_unchanged(digests=False)
    facts = public_facts(dataset.manifest)
    writer.document(CERTIFICATE, bind_publication(claims, facts, writer.list_files()))
    writer.facts(**facts)


def _prior_line(prior: JsonObject) -> str:
    if prior["origin"] != "release":
        return "declared by the publisher in a CSV file; where it comes from cannot be checked"
    return f"{prior['title'] or 'a release'}, {prior['year']} ({prior['digest'][:12]})"
