"""Making worker records: dataset → plan → ledger → model and seeds → records store.

The order matters: everything public comes first (attributes, structure, promise); then the ledger; only then are
workers read and records drawn. A run that is interrupted stays charged and leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from threading import Event
from typing import Final

import msgspec

from engine.precompile import RECORD_STAGES, ensure_compiled
from engine.streams import SecretKey
from geodata.errors import StoreError
from geodata.json_objects import JsonMapping, JsonObject
from geodata.store.schema import COPIED_TABLES, PUBLIC_TABLES
from geodata.store.store import Store, StoreWriter, refuse_existing, store_digest, write_store
from geodata.workers.schema import never_in_words
from mapapp.answers.claims import BesideClaim, as_json
from mapapp.answers.publication import CERTIFICATE, PUBLISH_DIGEST_NOTE, bind_publication, public_facts
from mapapp.answers.records.claims import ErrorTerm
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.certificate import TEST_KEY_REASON, keyed_file_hash, new_run_id
from mapapp.kinds.base.geography import copy_public_tables
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.base.ledger_entry import LedgerEntry, promised_amounts, running_total
from mapapp.kinds.base.overlapping_publications import confidential_hashes, publications_beside
from mapapp.kinds.base.private_files import PARTS, parts_folder
from mapapp.kinds.base.residents_only import open_dataset, reasons_of_homes
from mapapp.kinds.base.zones import require_attributes
from mapapp.kinds.cluster.client import cluster_client
from mapapp.kinds.cluster.dask_types import Client
from mapapp.kinds.records.make.attributes import read_attributes
from mapapp.kinds.records.make.certificate import Made, make_records_certificate, spent_by
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.drawing import RecordSource, error_terms, fit
from mapapp.kinds.records.make.paper import PAPER_REASON
from mapapp.kinds.records.make.plan import Plan, plan_records
from mapapp.kinds.records.make.runner import RecordRunner, ThreadRecordRunner, draw_parts, sorted_rows
from mapapp.kinds.records.make.tasks import RowsOfRange
from mapapp.kinds.records.make.workers import (
    WORKERS,
    check_workers,
    count_first_jobs,
    count_workers,
    has_workers,
)

# What is checked before records are charged, so that a run that is charged can hardly fail.
#
# The files of the dataset have been compared with their digests when it was opened, and the place of the records is
# held by the run. What can still fail after the charge is named in docs/records.md, "A run that fails".

_BYTES_OF_RECORD: Final = 40
_BYTES_OF_CODE: Final = 4
"""What a record takes on the disk at most, finished and unfinished together; and each attribute of it."""


def require_ready(dataset: Store, plan: Plan, folder: Path) -> None:
    """Refuse a dataset whose workers cannot be read, or a disk without room for the records.

    Parameters
    ----------
    dataset : Store
        Verified.
    plan : Plan
    folder : Path
        Where the records are written.

    Raises
    ------
    StoreError
        Nothing was spent.
    """
    tables = {f"{table.name}.parquet" for table in (*PUBLIC_TABLES, *COPIED_TABLES)}
    copied = sum(facts["bytes"] for name, facts in dataset.manifest["files"].items() if name in tables)
    of_record = _BYTES_OF_RECORD + _BYTES_OF_CODE * len(plan.attributes.names)
    needed, free = copied + plan.n_total * of_record, shutil.disk_usage(folder).free
    if needed > free:
        raise StoreError(
            f"{folder.parent}: {plan.n_total:,} records need up to {needed / 1e6:,.0f} MB while they are made, and "
            f"{free / 1e6:,.0f} MB are free; make room, or write elsewhere; nothing was spent"
        )
    check_workers(dataset, plan.attributes)
    if plan.seeds is not None and plan.jobs_per_person is not None:
        _refuse_few_jobs(dataset, plan, plan.jobs_per_person)


def _refuse_few_jobs(dataset: Store, plan: Plan, jobs_per_person: int) -> None:
    """Refuse more records than jobs are left to be seeds: the analyst sees it, before anything is spent or written."""
    if count_first_jobs(dataset, jobs_per_person) < plan.n_total:
        raise UsageError(
            f"--records {plan.n_total:,}: fewer jobs are left with at most {jobs_per_person} of a person, so the seeds "
            "would be too few; give fewer records; nothing was spent"
        )


# What a certificate of records says, as lines for a person.


def record_lines(certificate: JsonMapping) -> list[str]:
    """Return lines about the promise, the seeds, the model, and the numbers of records."""
    promise, seeds = certificate["promise"], certificate["seeds"]
    alone, replaced = promise["add_remove"], promise["replace_one"]
    grounds = "" if seeds is None else f" ({certificate['accountant']} accountant)"
    lines = [
        f"  promise          {_describe_reading(alone)} with or without one worker{grounds}",
        f"  charged          {_describe_reading(replaced)} with one worker replaced by another, as in the ledger",
    ]
    if "person" in promise:
        lines.append(f"  persons          {promise['person']['in_words']}")
    if seeds is None:
        lines.append("  seeds            none: every record is drawn from the model")
    else:
        lines.append(
            f"  seeds            k {seeds['min_plausible_seeds']:,}, threshold epsilon "
            f"{_value(seeds['threshold_epsilon'])}, forced failure {_value(seeds['forced_fail'])}; kept: "
            f"{', '.join(seeds['kept'])}"
        )
    model, counts = certificate["model"], certificate["records"]
    lines.append(
        f"  model            epsilon {model['epsilon']['value']:g}, {model['structure']} structure, "
        f"{sum(model['cells'].values()):,} cells"
    )
    lines += _describe_dropped(model)
    lines += [f"  dropped          {name}: the dataset has none" for name in model["missing_attributes"]]
    lines += [
        f"  never            {never_in_words(never)}: no record has it" for never in model.get("never", ())
    ]
    if seeds is not None and seeds["passed"] is not None:
        lines.append(
            f"  records          {counts['n_passed']:,} of {counts['n_tried']:,} tries passed; {counts['topped_up']:,} "
            "more were drawn from the model"
        )
        if not seeds["passed"]:
            lines.append("  note             no candidate passed: all records were drawn from the model")
    if certificate["whole_record"] is not True:
        lines.append(f"  protects         {certificate['unit_of_protection']}")
    return lines


def _describe_dropped(model: JsonMapping) -> list[str]:
    """One line for all parents that the records are too few for."""
    by_child: dict[str, list[str]] = {}
    for dropped in model["dropped_parents"]:
        by_child.setdefault(str(dropped["attribute"]), []).append(str(dropped["parent"]))
    if not by_child:
        return []
    listed = "; ".join(f"{child} on {' and '.join(parents)}" for child, parents in by_child.items())
    return [f"  dropped          dependence of {listed}: too few records for so many cells"]


def _describe_reading(amounts: JsonMapping) -> str:
    return f"epsilon {amounts['epsilon']['value']:.6g}, delta {amounts['delta']['value']:g}"


def _value(exact: str) -> str:
    numerator, _, denominator = exact.partition("/")
    return f"{int(numerator) / int(denominator or 1):g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsOutcome:
    """What a run reports to the analyst; all of it is in the records.

    Attributes
    ----------
    records : Path
    digest : str
    certificate : dict
        As in the records.
    spent : tuple of Fraction
        Epsilon and delta that the ledger counts after it, with those of runs that were interrupted.
    """

    records: Path
    digest: str
    certificate: JsonObject
    spent: tuple[Fraction, Fraction]

    def to_dict(self) -> dict[str, object]:
        """Plain values for `--json`."""
        names = (
            "status",
            "accountant",
            "promise",
            "seeds",
            "model",
            "records",
            "resampling_order",
            "whole_record",
        )
        return {
            "records_path": str(self.records),
            "records_digest": self.digest,
            "spent": {"epsilon": str(self.spent[0]), "delta": str(self.spent[1])},
            **{name: self.certificate[name] for name in names},
        }

    def lines(self) -> list[str]:
        """Sentences for a person."""
        counts = self.certificate["records"]
        return [
            f"{self.records}: {counts['n_total']:,} synthetic worker records",
            *record_lines(self.certificate),
            f"  status           {self.certificate['status']}",
            f"  records digest   {self.digest}",
            f"                   {PUBLISH_DIGEST_NOTE}",
            f"{running_total(self.spent)}, one worker replaced",
        ]


def read_plan(dataset: Store, choice: Choice) -> Plan:
    """Fix what can be fixed from the public part of a dataset and the number of its workers; UsageError as its plan."""
    return plan_records(read_attributes(dataset), count_workers(dataset), choice)


def make_records(
    dataset_path: Path,
    records_path: Path,
    choice: Choice,
    *,
    threads: int | None = None,
    scheduler: str | None = None,
    report: Report = silent,
) -> RecordsOutcome:
    """Make synthetic worker records from a dataset.

    Parameters
    ----------
    dataset_path, records_path : Path
    choice : Choice
    threads : int, optional
        Number of threads, by default one for each processor; the records do not depend on it.
    scheduler : str, optional
        Address of a Dask scheduler whose workers draw the records and see both paths. The records do not depend on it.
    report : callable
        Called with (stage, done, total).

    Raises
    ------
    EngineError, GeodataError, LedgerError, UsageError
        Nothing is left at `records_path`.
    """
    refuse_existing(records_path)
    ensure_compiled(lambda: report("compiling the kernels of records (once)", 0, 0), RECORD_STAGES)
    key = SecretKey.for_tests() if choice.test_key else SecretKey.fresh()
    n_threads = threads or os.cpu_count() or 1
    # The place is claimed, and a cluster asked, before anything is spent.
    with write_store(records_path, "records") as writer, cluster_client(scheduler, key) as client:
        report("reading the dataset", 0, 0)
        dataset = open_dataset(dataset_path)
        require_attributes(dataset, "records are made of")
        plan = read_plan(dataset, choice)
        report("checking the workers", 0, 0)
        require_ready(dataset, plan, writer.directory)
        reasons = reasons_against(choice, dataset.manifest)
        run_id = new_run_id(is_test=choice.test_key)
        with _runner(client, dataset, writer.directory, key, n_threads, report) as runner:
            beside, spent = _enter(dataset, records_path, plan, reasons, run_id)
            fitted = fit(dataset, plan, key, threads=n_threads, report=report)
            runner.begin(fitted, key)
            with _expect_errors(fitted.source, n_threads) as errors:
                drawn = draw_parts(runner, fitted.source)
                _write(writer, sorted_rows(runner, drawn, plan.attributes.geography.n_blocks))
                report("expecting errors", 0, 0)
                expected = errors.result()
        made = Made(
            structure=fitted.source.model.structure,
            n_passed=drawn.n_passed,
            n_total=drawn.n_total,
            # None of them holds where candidates that failed are missing: small groups then lack more than large ones.
            expected_error=expected if drawn.n_total == plan.n_total else [],
            fewest_records=fitted.fewest_records,
        )
        certified = make_records_certificate(
            dataset,
            plan,
            made,
            reasons=reasons,
            confidential_inputs=worker_hashes(dataset),
            beside=beside,
            characteristics=dataset.manifest.get("characteristics", ()),
        )
        copy_public_tables(dataset, writer)
        dataset.require_unchanged(digests=False)
        facts = public_facts(dataset.manifest)
        claims = as_json(msgspec.structs.replace(certified, run_id=run_id))
        certificate = bind_publication(claims, facts, writer.list_files())
        writer.document(CERTIFICATE, certificate)
        writer.facts(**facts)
    return RecordsOutcome(
        records=records_path,
        digest=store_digest(records_path),
        certificate=certificate,
        spent=spent,
    )


@contextmanager
def _runner(
    client: Client | None, dataset: Store, directory: Path, key: SecretKey, threads: int, report: Report
) -> Iterator[RecordRunner]:
    """The runner that draws: this machine's threads, or a cluster. Nothing is left of the parts afterwards."""
    if client is None:
        with parts_folder(directory / PARTS) as folder:
            yield ThreadRecordRunner(folder, threads=threads, report=report)
        return
    from mapapp.kinds.cluster.records_runner import cluster_record_runner

    with cluster_record_runner(client, dataset, directory, secret=not key.is_test, report=report) as runner:
        yield runner


class _Ended(Exception):
    """The run has failed or was interrupted, so nobody needs the errors any more."""


@contextmanager
def _expect_errors(source: RecordSource, threads: int) -> Iterator[Future[list[ErrorTerm]]]:
    """Expect errors while records are drawn: they follow from the model alone. An interrupt ends both."""
    ended = Event()

    def check() -> None:
        if ended.is_set():
            raise _Ended

    with ThreadPoolExecutor(max_workers=1) as beside_drawing:
        try:
            yield beside_drawing.submit(error_terms, source, threads=threads, check=check)
        except BaseException:
            ended.set()
            raise


def reasons_against(choice: Choice, facts: Mapping[str, object]) -> list[str]:
    """Return why records of a dataset with these facts are not for release."""
    reasons = [TEST_KEY_REASON] if choice.test_key else []
    reasons += [PAPER_REASON] if choice.accountant == "paper" else []
    return [*reasons, *reasons_of_homes(facts)]


def worker_hashes(dataset: Store) -> dict[str, str]:
    """Keyed hashes of the confidential tables that records are made from."""
    hashes = confidential_hashes(dataset)
    if has_workers(dataset):
        key = bytes.fromhex(dataset.manifest["commitment_key"])
        hashes[WORKERS] = keyed_file_hash(key, dataset.file(WORKERS))
    return hashes


def _enter(
    dataset: Store, records: Path, plan: Plan, reasons: Sequence[str], run_id: str
) -> tuple[list[BesideClaim], tuple[Fraction, Fraction]]:
    """Enter the promise in the dataset's ledger; return the publications beside the records, and what is spent."""
    ledger, beside = Ledger(dataset.path), list[BesideClaim]()

    def others(entries: tuple[LedgerEntry, ...]) -> tuple[str, ...]:
        beside[:] = publications_beside(
            dataset,
            "records",
            () if reasons else entries,
            plan.choice.beside,
            on_purpose=plan.choice.given_segments,
        )
        return tuple(claim.digest or claim.name for claim in beside)

    others(ledger.entries())  # records that are refused must not create a ledger
    claims = make_records_certificate(
        dataset, plan, None, reasons=reasons, confidential_inputs={}, beside=[], characteristics=[]
    )
    ledger.spend(
        **promised_amounts(as_json(msgspec.structs.replace(claims, run_id=run_id))),
        release=records.name,
        records=spent_by(plan),
        beside=others,
        check=dataset.require_unchanged,
    )
    return beside, ledger.spent()


def _write(writer: StoreWriter, rows: Iterator[RowsOfRange]) -> None:
    """Write the three tables as their rows come."""
    with ExitStack() as open_tables:
        streams = [open_tables.enter_context(writer.stream(name)) for name in RowsOfRange._fields]
        for of_range in rows:
            for stream, columns in zip(streams, of_range, strict=True):
                stream.write(columns)
