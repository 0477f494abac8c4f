"""Importing: from the files that the Census Bureau publishes to the tables of a dataset."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas

from geodata.errors import SourceFileError
from geodata.geography.base_map import read_base_map
from geodata.geography.elsewhere import states
from geodata.geography.hierarchy import arrange, assemble
from geodata.importing.commutes import PLACING, Commutes, OdCommutes, WorkerCommutes, check_border
from geodata.importing.published_totals import imported_states, read_published_counts
from geodata.json_objects import JsonObject
from geodata.progress import Progress, silent
from geodata.sources.base_files import BaseFile
from geodata.sources.boundaries import Boundaries, read_boundaries
from geodata.sources.crosswalk import Crosswalk, layer_facts, read_crosswalks
from geodata.sources.flows import Flows, prior_table, read_flows
from geodata.sources.lodes import OdFile, read_od
from geodata.sources.population import Residents, read_population
from geodata.sources.pumas import Pumas, read_pumas
from geodata.sources.reading import TextTable
from geodata.sources.recognize import Sources
from geodata.sources.vintage import keep_table_vintage
from geodata.store.residents_only import RESIDENTS_ONLY
from geodata.store.schema import COPIED_TABLES, TABLES
from geodata.store.store import StoreWriter, write_store
from geodata.text import is_utf8
from geodata.workers.columns import read_worker_columns
from geodata.workers.edits import Editing, EditReport
from geodata.workers.spool import WorkerSource, count_jobs

_KEY = re.compile(r"^[0-9a-f]{64}$")
_LONGEST_TITLE = 200
READING = "reading files"
WRITING = "writing tables"
_WRITING_THREADS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The result of an import, in memory.

    Attributes
    ----------
    tables : dict of str to DataFrame or GeoDataFrame
        Every table of a dataset (`schema.TABLES["dataset"]`) by name, and those of the base map that there are.
    facts : dict
        For the manifest: title, year, job_type, vintage, destination_states, n_jobs, sources, layers,
        elsewhere and outflow (jobs by state code), notes, commitment_key. Elsewhere, outflow and notes count
        homes and are confidential.
    workers : WorkerSource, optional
        Worker records. `tables` then lacks `jobs`, which is counted from them as they are written.
    edits : EditReport, optional
        What is wrong with them. Confidential.
    totals : dict of str to dict of str to int
        Jobs of each OD file by column.
    """

    tables: dict[str, pandas.DataFrame]
    facts: JsonObject
    workers: WorkerSource | None = None
    edits: EditReport | None = None
    totals: dict[str, dict[str, int]] = field(default_factory=dict)


def import_dataset(
    sources: Sources,
    *,
    title: str | None = None,
    commitment_key: str | None = None,
    public_characteristics: bool = False,
    residents_only: bool = False,
    is_published: bool = False,
    threads: int = 2,
    scratch: Path | None = None,
    editing: Editing | None = None,
    progress: Progress = silent,
) -> Imported:
    """Read the files and assemble the tables of a dataset.

    Parameters
    ----------
    sources : Sources
        Files by role, from `recognize.sources_in(directory)` or named one by one.
    title : str, optional
        By default made of states and year.
    commitment_key : str, optional
        64 hexadecimal digits; by default from the operating system's secure source.
    public_characteristics : bool
        Read the files of characteristics, because they are published. By default they are left alone: an agency's own
        file of residence characteristics counts real homes.
    residents_only : bool
        Import a state of work whose workers who live in other states are left out. Nothing made from it is for release.
    is_published : bool
        The counts are public already, and nothing is drawn from them: workers who live in other states may be left out
        of any state.
    threads : int
        Threads that read and cut; the result is the same for any number.
    scratch : Path, optional
        Folder of the temporary file in which worker records wait; by default the system's.
    editing : Editing, optional
        What becomes of faulty rows of worker records; by default they are refused.
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    SourceFileError, SourceRowError, GeometryError
        The message names the file, the row or key, what was expected, and the remedy.
    """
    key = secrets.token_hex(32) if commitment_key is None else commitment_key
    if not _KEY.match(key):
        raise ValueError("the commitment key must be 64 hexadecimal digits in lower case")
    title = checked_title(title)
    workers = _worker_files(sources, scratch, threads, residents_only, editing) if sources.workers else None
    read = _read(sources, threads, progress, is_published=is_published)
    planned = (
        None
        if workers
        else OdCommutes.of(
            read.od, read.crosswalk.state_ids, residents_only=residents_only, is_published=is_published
        )
    )
    is_part = residents_only if planned is None else bool(planned.residents_only) and not is_published
    if is_part:
        check_border((*sources.workers, *sources.od)[0], read.crosswalk)
    arranged = arrange(
        read.crosswalk,
        read.residents,
        read.pumas,
        residents_only=is_part,
        unknown_homes=workers is not None,
    )
    read = read.drop_rows()
    with ThreadPoolExecutor(max_workers=1) as beside:
        # Who works where needs no polygons, which take most of the time.
        flows_placed = beside.submit(prior_table, read.flows, arranged.tract_names, arranged.elsewhere_tracts)
        jobs_placed = (
            None if planned is None else beside.submit(planned.place, arranged.blocks, read.crosswalk.vintage)
        )
        hierarchy = assemble(
            arranged,
            read.crosswalk,
            read.pumas,
            read.tracts,
            read.blocks,
            threads=threads,
            progress=progress,
        )
        base, base_files = read_base_map(sources.base_map, hierarchy.tables)
        if jobs_placed is not None:
            progress(PLACING, 0, 1)
            commutes = jobs_placed.result()
            progress(PLACING, 1, 1)
    if workers is not None:
        commutes = workers.place(hierarchy, read.crosswalk, progress)
    described = read_published_counts(
        sources.characteristics if public_characteristics else (),
        hierarchy.tables["blocks"],
        read.crosswalk.vintage,
        commutes,
        progress,
    )
    prior, unmatched = flows_placed.result()
    flows = [f"prior flows: {unmatched:,} of {len(read.flows.table):,} are between tracts not imported"]
    facts = {
        "title": title or _title(commutes),
        "year": commutes.year,
        "job_type": commutes.job_type,
        "vintage": {"blocks": read.crosswalk.vintage, "pumas": read.pumas.vintage},
        "destination_states": commutes.destination_states,
        RESIDENTS_ONLY: commutes.residents_only,
        "n_jobs": commutes.n_jobs,
        "sources": [*commutes.sources, *_source_facts(read), *_base_source_facts(base_files)],
        "layers": layer_facts(read.crosswalk),
        "elsewhere": commutes.elsewhere,
        "outflow": commutes.outflow,
        "notes": [
            *hierarchy.notes,
            *commutes.notes,
            *described.notes,
            *(flows if unmatched else []),
            *_repair_notes(read),
            *_water_notes(base, base_files),
        ],
        "commitment_key": key,
        **commutes.facts,
        **described.facts,
    }
    counted = {} if commutes.jobs is None else {"jobs": commutes.jobs}
    return Imported(
        tables=hierarchy.tables | base | counted | described.tables | {"prior": prior},
        facts=facts,
        workers=commutes.workers,
        edits=commutes.edits,
        totals=commutes.totals,
    )


def checked_title(title: str | None) -> str | None:
    """Return a title that somebody gave, if pages can show it.

    Raises
    ------
    SourceFileError
        It is not UTF-8, not printable, or too long.
    """
    if title is not None and not is_utf8(title):
        raise SourceFileError("the title is not UTF-8; write it in UTF-8")
    if title is not None and (not title.isprintable() or len(title) > _LONGEST_TITLE):
        raise SourceFileError(f"the title: give one printable line of at most {_LONGEST_TITLE} characters")
    return title


def import_jobs(
    sources: Sources, blocks: pandas.DataFrame, vintage: int, progress: Progress = silent
) -> Imported:
    """Read the jobs and characteristics of another year of published counts, whose geography has been imported.

    Parameters
    ----------
    sources : Sources
        Of which only OD files and characteristics are read.
    blocks : DataFrame
        The table of the geography.
    vintage : int
        Census year of the blocks.
    progress : callable
        Called with (stage, done, total).

    Returns
    -------
    Imported
        With the tables `jobs` and, where there are files, `characteristic_counts`.

    Raises
    ------
    SourceFileError, SourceRowError
        As :func:`import_dataset`.
    """
    progress(READING, 0, len(sources.od))
    files = []
    for done, path in enumerate(sorted(sources.od), 1):
        files.append(read_od(path, is_published=True))
        progress(READING, done, len(sources.od))
    planned = OdCommutes.of(files, imported_states(blocks), is_published=True)
    commutes = planned.place(blocks, vintage)
    described = read_published_counts(sources.characteristics, blocks, vintage, commutes, progress)
    assert commutes.jobs is not None, "OD files have jobs"
    return Imported(
        tables={"jobs": commutes.jobs} | described.tables,
        facts={
            "title": _title(commutes),
            "year": commutes.year,
            "job_type": commutes.job_type,
            "destination_states": commutes.destination_states,
            RESIDENTS_ONLY: commutes.residents_only,
            "n_jobs": commutes.n_jobs,
            "sources": commutes.sources,
            "notes": [*commutes.notes, *described.notes],
            **commutes.facts,
            **described.facts,
        },
        totals=commutes.totals,
    )


def write_dataset(
    path: Path,
    imported: Imported,
    *,
    finish: Callable[[Path], None] | None = None,
    progress: Progress = silent,
) -> None:
    """Write an import as a dataset, atomically.

    Parameters
    ----------
    path : Path
        Where there is nothing yet.
    imported : Imported
        From `import_dataset`.
    finish : callable, optional
        Called with the directory before it becomes visible, so that a dataset with a budget begins with its ledger.
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    StoreError
        When the place is taken or cannot be written.
    """
    with write_store(path, "dataset") as writer, ThreadPoolExecutor(max_workers=_WRITING_THREADS) as pool:
        tables = [*TABLES["dataset"], *(table for table in COPIED_TABLES if table.name in imported.tables)]
        writer.facts(**imported.facts)
        # Cells take as long as all others together.
        names = sorted(
            (t.name for t in tables if t.name in imported.tables), key=lambda name: name != "cells"
        )
        written = [pool.submit(writer.table, name, imported.tables[name]) for name in names]
        for done, future in enumerate(written):
            progress(WRITING, done, len(tables))
            future.result()
        if imported.workers is not None:
            _write_workers(writer, imported.workers)
        if finish is not None:
            finish(writer.directory)
    progress(WRITING, len(tables), len(tables))


def _write_workers(writer: StoreWriter, workers: WorkerSource) -> None:
    with writer.stream("workers") as rows, writer.stream("jobs") as jobs:
        for part in workers.parts():
            rows.write(part)
            jobs.write(count_jobs(part))


@dataclass(frozen=True, slots=True)
class _Read:
    od: list[OdFile]
    crosswalk: Crosswalk
    residents: Residents
    pumas: Pumas
    flows: Flows
    tracts: Boundaries
    blocks: Boundaries

    def drop_rows(self) -> _Read:
        """The same without what has been arranged: memory is given back before cells are cut."""
        return replace(
            self, od=[], crosswalk=self.crosswalk.drop_blocks(), residents=self.residents.drop_people()
        )


def _read(sources: Sources, threads: int, progress: Progress, *, is_published: bool = False) -> _Read:
    if not sources.od and not sources.workers:
        raise SourceFileError(
            "no OD file given; add STATE_od_main_JT00_YEAR.csv.gz, or worker records with --workers"
        )
    total = (0 if sources.workers else len(sources.od)) + 6
    progress(READING, 0, total)
    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        crosswalk = pool.submit(read_crosswalks, sources.crosswalks, threads=threads)
        od_paths = [] if sources.workers else sorted(sources.od)
        od = [pool.submit(read_od, path, is_published=is_published) for path in od_paths]
        flows = pool.submit(read_flows, sources.prior_flows)
        places = crosswalk.result()
        year = places.vintage
        people = keep_table_vintage(sources.population, year, "centers of population")
        residents = pool.submit(read_population, people)
        tracts = pool.submit(read_boundaries, sources.tracts, "tracts", vintage=year, threads=threads)
        blocks = pool.submit(read_boundaries, sources.blocks, "blocks", vintage=year, threads=threads)
        pumas = pool.submit(read_pumas, sources.tract_puma, sources.puma_names, year)
        others: list[Future[Residents] | Future[Flows] | Future[Boundaries] | Future[Pumas]] = [
            residents,
            flows,
            tracts,
            blocks,
            pumas,
        ]
        for done, future in enumerate([*od, *others]):
            progress(READING, done + 1, total)
            future.result()
        progress(READING, total, total)
        return _Read(
            [future.result() for future in od],
            places,
            residents.result(),
            pumas.result(),
            flows.result(),
            tracts.result(),
            blocks.result(),
        )


def _worker_files(
    sources: Sources, scratch: Path | None, threads: int, residents_only: bool, editing: Editing | None
) -> WorkerCommutes:
    """Check the schema and the columns of worker records before the geography is read, which takes longer."""
    if len(sources.worker_schema) != 1:
        raise SourceFileError(
            f"{sources.workers[0]}: worker records need one schema, which says what their columns mean; "
            "name it with --schema"
        )
    columns = read_worker_columns(sources.worker_schema[0])
    return WorkerCommutes.of(
        sources.workers,
        columns,
        scratch=scratch,
        threads=threads,
        residents_only=residents_only,
        editing=editing,
    )


def _repair_notes(read: _Read) -> list[str]:
    n = read.tracts.repaired + read.blocks.repaired
    return [f"{n:,} published polygons were not valid and were repaired"] if n else []


def _water_notes(base: dict[str, pandas.DataFrame], files: Sequence[BaseFile]) -> list[str]:
    if "water" not in base or any(file.layer == "water" for file in files):
        return []
    return [
        "water on the map is made of the cells of water blocks, without names; add AREAWATER files for better"
    ]


def _title(commutes: Commutes) -> str:
    known = states()
    names = " and ".join(
        known[state].name if state in known else state for state in commutes.destination_states
    )
    whole = f"{names}, {commutes.year}" if commutes.year else names
    return f"{whole}, residents only" if commutes.residents_only else whole


def _source_facts(read: _Read) -> list[dict[str, object]]:
    texts: dict[str, Sequence[TextTable]] = {
        "crosswalks": read.crosswalk.files,
        "tract_puma": read.pumas.files,
        "puma_names": read.pumas.name_files,
        "population": read.residents.files,
        "prior_flows": read.flows.files,
    }
    facts = [
        {"file": text.path.name, "role": role, "sha256": text.sha256, "rows": text.rows}
        for role, group in texts.items()
        for text in group
    ]
    for role, boundaries in (("tracts", read.tracts), ("blocks", read.blocks)):
        facts += [
            {"file": path.name, "role": role, "sha256": digest, "rows": rows}
            for path, digest, rows in boundaries.files
        ]
    return facts


def _base_source_facts(files: Sequence[BaseFile]) -> list[dict[str, object]]:
    return [
        {"file": file.path.name, "role": file.layer, "sha256": file.sha256, "rows": file.rows}
        for file in files
    ]
