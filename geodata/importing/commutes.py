"""Who works where, from OD files or from worker records: what an import needs besides geography."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from geodata.errors import FaultyRecordsError, SourceFileError
from geodata.geography.elsewhere import UNKNOWN_HOME, postal_code, postal_in_file_names, states
from geodata.geography.hierarchy import Hierarchy, elsewhere_rows
from geodata.importing.assigned_segments import AssignedSegments
from geodata.json_objects import JsonObject
from geodata.progress import Progress, yield_in_order
from geodata.sources.crosswalk import Crosswalk
from geodata.sources.lodes import COUNTS, OD_NAME, BlockLookup, OdFile, check_together, place_jobs
from geodata.sources.placed_jobs import jobs_table
from geodata.store.store import sha256_of
from geodata.workers.coding import CodedBatch, code_batch
from geodata.workers.columns import WorkerColumns
from geodata.workers.edits import EDIT_RULES, Editing, EditReport
from geodata.workers.file import WorkerBatch, WorkerFile
from geodata.workers.persons import PersonJobs
from geodata.workers.places import HOMES_BY_TRACT, WORKPLACES_BY_TRACT, Places
from geodata.workers.spool import WorkerSource, WorkerSpool

PLACING: Final = "placing jobs"
READING_WORKERS: Final = "reading workers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commutes:
    """The jobs of an import.

    Attributes
    ----------
    jobs : DataFrame, optional
        The table of the schema; None if there are worker records, from which it is counted.
    workers : WorkerSource, optional
        The worker records.
    n_jobs : int
    destination_states : list of str
        Codes of the states whose workplaces are imported, ascending.
    elsewhere, outflow : dict of str to int
        Jobs of residents of states that are not imported, and jobs of imported residents at workplaces that are not,
        by state code. Confidential.
    year : int, optional
    job_type : str, optional
    notes : list of str
    sources : list of dict
        What was read, as the manifest lists it.
    residents_only : list of str
        Codes of the states of work whose workers who live elsewhere are left out.
    totals : dict of str to dict of str to int
        Jobs of each OD file by column.
    facts : dict
        Further facts for the manifest.
    edits : EditReport, optional
        Of worker records: what is wrong with them. Confidential.
    """

    jobs: pandas.DataFrame | None = None
    workers: WorkerSource | None = None
    n_jobs: int
    destination_states: list[str]
    elsewhere: dict[str, int]
    outflow: dict[str, int]
    year: int | None
    job_type: str | None
    notes: list[str]
    sources: list[JsonObject]
    residents_only: list[str] = field(default_factory=list)
    totals: dict[str, dict[str, int]] = field(default_factory=dict)
    facts: JsonObject = field(default_factory=dict)
    edits: EditReport | None = None


@dataclass(frozen=True, slots=True)
class OdCommutes:
    """OD files that go together, without their rows, and those that are imported, until they are placed."""

    files: Sequence[OdFile]
    imported: list[OdFile]
    outflow: Counter[str]
    residents_only: list[str]
    year: int | None
    job_type: str | None
    is_published: bool = False

    @classmethod
    def of(
        cls,
        files: Sequence[OdFile],
        state_ids: Sequence[str],
        *,
        residents_only: bool = False,
        is_published: bool = False,
    ) -> OdCommutes:
        """Check that files go together.

        The result alone should then hold their rows: it gives them back file by file as it places them.

        Without its main file the public total of a workplace is not known, so nothing could be released for it. The
        other files count the jobs of imported homes by state of work.

        Raises
        ------
        SourceFileError
            They differ in year or job type, two are the same, a main file's state is not among those with a crosswalk
            (`state_ids`), or the workers who live in other states are left out and this was not allowed
            (`residents_only`), or is so in one of several states. Of published counts, nothing is drawn, so they may
            be left out.
        """
        year, job_type = check_together(files)
        main = {file.state_id: file for file in files if file.main}
        lacking = sorted(set(main) - set(state_ids))
        if lacking:
            raise SourceFileError(
                f"{main[lacking[0]].text.path}: no crosswalk of state {lacking[0]} among the files; "
                f"add {_crosswalk_name(lacking[0])}"
            )
        inside = sorted(set(main) - {file.state_id for file in files if file.counts_commuters})
        if inside and not is_published:
            _check_residents_only(main[inside[0]], inside[0], residents_only, sorted(main))
        numbers = [int(state) for state in main]
        outflow: Counter[str] = Counter()
        for file in files:
            if file.state_id not in main:
                outflow[file.state_id] += int(file.by_home_state[numbers].sum())
        imported = [file for file in files if file.state_id in main]
        if is_published:
            for file in files:
                _check_name(file)
        rest = [file.drop_rows() for file in files]
        return cls(rest, imported, outflow, inside, year, job_type, is_published)

    def place(self, blocks: pandas.DataFrame, vintage: int) -> Commutes:
        """Put every job into its row of `blocks`; once only, because the rows of each file are then given back."""
        destination_states = sorted({file.state_id for file in self.imported})
        lookup = BlockLookup.of(blocks, vintage)
        outside = elsewhere_rows(blocks)
        units = {int(code): row for code, row in outside.items()}
        parts = []
        while self.imported:
            parts.append(place_jobs(self.imported.pop(0), lookup, units))
        del lookup
        jobs = jobs_table(parts, len(blocks))
        elsewhere = _elsewhere_jobs(jobs, outside)
        return Commutes(
            jobs=jobs,
            n_jobs=int(jobs["count"].sum()),
            destination_states=destination_states,
            elsewhere=elsewhere,
            outflow=_sum_by_state(self.outflow),
            year=self.year,
            job_type=self.job_type,
            notes=[
                *_residents_only_notes(self.residents_only, for_release=self.is_published),
                *_lost_zeros_notes(self.files),
                *self._outflow_notes(),
            ],
            sources=[_text_fact(file) for file in self.files],
            residents_only=self.residents_only,
            totals={
                file.text.path.name: dict(zip(COUNTS, file.totals.tolist(), strict=True))
                for file in self.files
                if file.state_id in destination_states
            },
            facts={
                "segments": "assigned",
                "assigned_segments": AssignedSegments.add_up(
                    file.assigned for file in self.files if file.state_id in destination_states
                )._asdict(),
            },
        )

    def _outflow_notes(self) -> list[str]:
        homes = " and ".join(sorted(postal_code(file.state_id) for file in self.files if file.main))
        return [
            f"outflow: jobs of {homes} residents in {postal_code(state)} are not imported; "
            f"add {postal_in_file_names(state)}_od_main to import that state's workplaces"
            for state in sorted(self.outflow)
            if state in states()
        ]


@dataclass(frozen=True, slots=True)
class WorkerCommutes:
    """Files of worker records whose columns have been found, and what their columns mean."""

    files: Sequence[WorkerFile]
    columns: WorkerColumns
    scratch: Path | None
    threads: int
    residents_only: bool
    editing: Editing

    @classmethod
    def of(
        cls,
        files: Sequence[Path],
        columns: WorkerColumns,
        *,
        scratch: Path | None,
        threads: int,
        residents_only: bool = False,
        editing: Editing | None = None,
    ) -> WorkerCommutes:
        """Find the columns of the schema in every file.

        Parameters
        ----------
        files : sequence of Path
        columns : WorkerColumns
        scratch : Path, optional
            Folder of the temporary file in which the records wait; by default the system's.
        threads : int
            Threads that read and sort.
        residents_only : bool
            Allow records of a state into which nobody commutes.
        editing : Editing, optional
            What becomes of faulty rows; by default they are refused, and no report is written.

        Raises
        ------
        SourceFileError
            A file cannot be read, or lacks a column.
        """
        worker_files = [WorkerFile.of(path, columns.columns) for path in files]
        return cls(worker_files, columns, scratch, max(threads, 1), residents_only, editing or Editing())

    def place(self, hierarchy: Hierarchy, crosswalk: Crosswalk, progress: Progress) -> Commutes:
        """Put every worker into blocks.

        Raises
        ------
        FaultyRecordsError
            A cell is not what the schema says, and faulty rows are not to be left out. Everything was read, and the
            edit report is written.
        SourceFileError
            A file is damaged, no workplace is imported, or nobody commutes into a state of work and this was not
            allowed.
        """
        places = Places.of(hierarchy.tables, hierarchy.elsewhere, crosswalk.vintage)
        wanted = self._work_states(places)
        domains = self.columns.schema.stored
        spool = WorkerSpool(self.scratch, len(hierarchy.tables["blocks"]), domains, threads=self.threads)
        counted, edits = _Counted(), EditReport(self.editing.report)
        person_jobs = None if self.columns.person is None else PersonJobs()

        def code(batch: WorkerBatch) -> tuple[WorkerBatch, CodedBatch]:
            return batch, code_batch(batch, self.columns, places, wanted, person_jobs)

        with ThreadPoolExecutor(max_workers=self.threads) as pool:
            digests = pool.map(sha256_of, [file.path for file in self.files])
            for done, file in enumerate(self.files):
                progress(READING_WORKERS, done, len(self.files))
                for batch, coded in yield_in_order(pool, code, file.batches(), ahead=1):
                    spool.add(coded.columns)
                    if person_jobs is not None and coded.persons is not None:
                        person_jobs.add(coded.persons, coded.columns)
                    counted.add(batch, coded)
                    edits.add(file.path, coded.faults)
                    edits.n_left_out += coded.n_left_out
                    edits.n_dropped += coded.n_dropped
            hashed = list(digests)
        progress(READING_WORKERS, len(self.files), len(self.files))
        edits.write()
        if edits.has_faults and not self.editing.drop_faulty:
            raise FaultyRecordsError(
                f"{self.files[0].path}: the worker records have faults;{edits.where()} correct them, or leave them out "
                "with --drop-faulty",
                edits.lines(),
                edits.to_dict(),
            )
        if not counted.n_jobs:
            shown = ", ".join(postal_code(f"{state:02d}") for state in np.flatnonzero(wanted).tolist())
            raise SourceFileError(
                f"{self.files[0].path}: no workplace in {shown}; add the crosswalk of the state where people work"
            )
        if person_jobs is not None:
            spool.number_jobs(person_jobs.numbers())
        made = self._commutes(spool, counted, hashed, np.flatnonzero(wanted).tolist())
        return replace(made, edits=edits)

    def _work_states(self, places: Places) -> npt.NDArray[np.bool_]:
        """States whose workplaces are imported, by number: bool[100]."""
        if self.columns.work_states is None:
            return places.states
        lacking = [state for state in self.columns.work_states if not places.states[int(state)]]
        if lacking:
            raise SourceFileError(
                f"{self.columns.path}: workplace.states lists {lacking[0]}, but no crosswalk of that state is among "
                f"the files; add {_crosswalk_name(lacking[0])}"
            )
        wanted = np.zeros(places.states.size, dtype=bool)
        wanted[[int(state) for state in self.columns.work_states]] = True
        return wanted

    def _commutes(
        self, spool: WorkerSpool, counted: _Counted, hashed: Sequence[str], destinations: Sequence[int]
    ) -> Commutes:
        # All states whose workplaces are imported, not those where somebody works: publications show the list, so it
        # must not reveal that a single worker works there.
        elsewhere = _list_states_with(counted.n_elsewhere)
        outflow = counted.outflow(destinations)
        residents_only = counted.residents_only(destinations)
        if residents_only and not self.residents_only:
            raise SourceFileError(
                _why_not_public(self.files[0].path, residents_only[0], "those who commute in")
            )
        columns = self.columns
        schema_fact = {
            "file": columns.path.name,
            "role": "worker_schema",
            "sha256": columns.sha256,
            "rows": columns.n_lines,
        }
        return Commutes(
            workers=spool,
            n_jobs=counted.n_jobs,
            destination_states=[f"{state:02d}" for state in destinations],
            elsewhere=elsewhere,
            outflow=outflow,
            year=columns.year,
            job_type=columns.job_type,
            notes=[
                *_residents_only_notes(residents_only),
                *self._place_notes(),
                *_skipped_notes(outflow),
            ],
            sources=[
                *(
                    {
                        "file": file.path.name,
                        "role": "workers",
                        "sha256": digest,
                        "rows": counted.rows[file.path],
                    }
                    for file, digest in zip(self.files, hashed, strict=True)
                ),
                schema_fact,
            ],
            residents_only=residents_only,
            facts={
                "segments": "joint",
                EDIT_RULES: self.editing.rules(columns.home),
                **columns.schema.as_facts(),
            },
        )

    def _place_notes(self) -> list[str]:
        by_tract = {
            WORKPLACES_BY_TRACT: self.columns.workplace.unit == "tract",
            HOMES_BY_TRACT: self.columns.home.unit == "tract",
        }
        return [note for note, holds in by_tract.items() if holds]


class _Counted:
    """What is counted while workers are read."""

    def __init__(self) -> None:
        self.n_jobs = 0
        self.rows: Counter[Path] = Counter()
        self.n_elsewhere = np.zeros(100, np.int64)
        self.n_between = np.zeros((100, 100), np.int64)

    def add(self, batch: WorkerBatch, coded: CodedBatch) -> None:
        self.n_jobs += coded.columns["destination_index"].size
        self.rows[batch.file.path] += batch.n_rows
        self.n_elsewhere += coded.n_elsewhere
        self.n_between += coded.n_between

    def outflow(self, destinations: Sequence[int]) -> dict[str, int]:
        """Workers who live in these states and work in others, by state of work."""
        between = self.n_between.copy()
        between[destinations] = 0
        return _list_states_with(between[:, destinations].sum(axis=1))

    def residents_only(self, destinations: Sequence[int]) -> list[str]:
        """Which of these states somebody works in, but nobody commutes into; unknown homes say nothing about it."""
        between = self.n_between.copy()
        between[:, int(UNKNOWN_HOME)] = 0
        n_workers, n_residents = between.sum(axis=1), between.diagonal()
        return [f"{state:02d}" for state in destinations if 0 < n_workers[state] == n_residents[state]]


def _list_states_with(count: npt.NDArray[np.int64]) -> dict[str, int]:
    return {f"{state:02d}": int(count[state]) for state in np.flatnonzero(count).tolist()}


def _text_fact(file: OdFile) -> JsonObject:
    text = file.text
    return {"file": text.path.name, "role": "od", "sha256": text.sha256, "rows": text.rows}


def _check_residents_only(file: OdFile, state: str, allowed: bool, main: Sequence[str]) -> None:
    """Refuse a state of work without the workers who live elsewhere, unless it is meant and the only state."""
    name = file.text.path.name
    aux = re.sub("_main_", "_aux_", name, count=1, flags=re.IGNORECASE)
    aux = aux if aux != name else f"{postal_code(state).lower()}_od_aux_JT00_YEAR.csv.gz"
    if not allowed:
        remedy = f"{aux} (a header without rows says that nobody commutes in)"
        raise SourceFileError(_why_not_public(file.text.path, state, remedy))
    if len(main) > 1:
        raise SourceFileError(
            f"{file.text.path}: all homes are in {postal_code(state)}, but workplaces in {len(main)} states are "
            f"imported; with --residents-only, import one state at a time, or add {aux}"
        )


def _check_name(file: OdFile) -> None:
    """Refuse a file whose name says another state or part than its jobs."""
    match = OD_NAME.match(file.text.path.name)
    if match is None or not file.text.rows:
        return
    part = "main" if file.main else "aux"
    if match["postal"].upper() != postal_code(file.state_id) or match["part"].lower() != part:
        raise SourceFileError(
            f"{file.text.path}: its jobs are those of an OD {part} file of {postal_code(file.state_id)}; rename it, or "
            "download it again"
        )


def _why_not_public(path: Path, state: str, missing: str) -> str:
    return (
        f"{path}: all homes are in {postal_code(state)}, so the numbers of workers, which a release publishes, would "
        f"say who lives in the state; add {missing}, or give --residents-only for a dataset that is never for release"
    )


def check_border(path: Path, crosswalk: Crosswalk) -> None:
    """Refuse to import residents only, of a file of jobs, with more than one crosswalk: nobody lives outside."""
    if len(crosswalk.state_ids) > 1:
        raise SourceFileError(
            f"{path}: with --residents-only nobody may be placed outside the state of work; give only its crosswalk, "
            "with --xwalk"
        )


def _residents_only_notes(residents_only: Sequence[str], *, for_release: bool = False) -> list[str]:
    never = "" if for_release else "; never for release"
    return [
        f"residents only: workers in {postal_code(state)} who live in other states are left out{never}"
        for state in residents_only
    ]


def _lost_zeros_notes(files: Sequence[OdFile]) -> list[str]:
    return [
        f"{file.text.path.name}: block codes had lost the zero of their state, as in a spreadsheet; it was put back"
        for file in files
        if file.lost_zeros
    ]


def _crosswalk_name(state: str) -> str:
    return f"{postal_in_file_names(state)}_xwalk.csv.gz"


def _elsewhere_jobs(jobs: pandas.DataFrame, elsewhere: dict[str, int]) -> dict[str, int]:
    code = {row: state for state, row in elsewhere.items()}
    away = jobs[jobs["origin_index"].isin(code)]
    by_row = away.groupby("origin_index")["count"].sum()
    rows = by_row.index.to_numpy(np.int64).tolist()
    return _sum_by_state(Counter({code[row]: int(n) for row, n in zip(rows, by_row, strict=True)}))


def _sum_by_state(jobs: Counter[str]) -> dict[str, int]:
    return {state: jobs[state] for state in sorted(jobs)}


def _skipped_notes(outflow: dict[str, int]) -> list[str]:
    return [
        f"outflow: jobs of imported residents in {postal_code(state)} are not imported; add {_crosswalk_name(state)} "
        "and that state's workers"
        for state in outflow
    ]
