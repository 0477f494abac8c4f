"""Importing: from the files that the Census Bureau publishes to the tables of a dataset."""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas

from geodata.base_files import BaseFile
from geodata.base_map import read_base_map
from geodata.boundaries import Boundaries, read_boundaries
from geodata.crosswalk import Crosswalk, layer_facts, read_crosswalks
from geodata.elsewhere import states
from geodata.errors import SourceFileError
from geodata.flows import Flows, prior_table, read_flows
from geodata.hierarchy import Hierarchy, assemble
from geodata.json_objects import JsonObject
from geodata.lodes import BlockLookup, OdFile, check_together, jobs_table, place_jobs, read_od
from geodata.population import Residents, read_population
from geodata.progress import Progress, silent
from geodata.pumas import Pumas, read_pumas
from geodata.reading import TextTable
from geodata.recognize import Sources
from geodata.schema import BASE_TABLES, TABLES
from geodata.store import writing_store
from geodata.vintage import of_table_vintage

_KEY = re.compile(r"^[0-9a-f]{64}$")
READING = "reading files"
PLACING = "placing jobs"
WRITING = "writing tables"


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
    """

    tables: dict[str, pandas.DataFrame]
    facts: JsonObject


def import_dataset(
    sources: Sources,
    *,
    title: str | None = None,
    commitment_key: str | None = None,
    threads: int = 2,
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
    threads : int
        Threads that read and cut; the result is the same for any number.
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
    read = _read(sources, threads, progress)
    year, job_type = check_together(read.od)
    inside, outflow = _destinations(read.od, read.crosswalk)
    hierarchy = assemble(
        read.crosswalk,
        read.residents,
        read.pumas,
        read.tracts,
        read.blocks,
        threads=threads,
        progress=progress,
    )
    base, base_files = read_base_map(sources.base_map, hierarchy.tables)
    jobs = _jobs(inside, hierarchy, read.crosswalk, progress)
    prior, unmatched = prior_table(read.flows, hierarchy.tract_names, _elsewhere_tracts(hierarchy))
    elsewhere = _elsewhere_facts(jobs, hierarchy)
    destination_states = sorted({file.state_id for file in inside})
    flows = [f"prior flows: {unmatched:,} of {len(read.flows.table):,} are between tracts not imported"]
    facts = {
        "title": title or _title(destination_states, year),
        "year": year,
        "job_type": job_type,
        "vintage": {"blocks": read.crosswalk.vintage, "pumas": read.pumas.vintage},
        "destination_states": destination_states,
        "n_jobs": int(jobs["count"].sum()),
        "sources": [*_source_facts(read), *_base_source_facts(base_files)],
        "layers": layer_facts(read.crosswalk),
        "elsewhere": elsewhere,
        "outflow": _by_state(outflow),
        "notes": [
            *hierarchy.notes,
            *_elsewhere_notes(elsewhere),
            *_outflow_notes(outflow, read.od),
            *(flows if unmatched else []),
            *_repair_notes(read),
            *_water_notes(base, base_files),
        ],
        "commitment_key": key,
    }
    return Imported(tables=hierarchy.tables | base | {"jobs": jobs, "prior": prior}, facts=facts)


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
    with writing_store(path, "dataset") as writer:
        tables = [*TABLES["dataset"], *(table for table in BASE_TABLES if table.name in imported.tables)]
        for done, table in enumerate(tables):
            progress(WRITING, done, len(tables))
            writer.table(table.name, imported.tables[table.name])
        writer.facts(**imported.facts)
        if finish is not None:
            finish(writer.directory)
    progress(WRITING, len(tables), len(tables))


@dataclass(frozen=True, slots=True)
class _Read:
    od: list[OdFile]
    crosswalk: Crosswalk
    residents: Residents
    pumas: Pumas
    flows: Flows
    tracts: Boundaries
    blocks: Boundaries


def _read(sources: Sources, threads: int, progress: Progress) -> _Read:
    if not sources.od:
        raise SourceFileError("no OD file given; add STATE_od_main_JT00_YEAR.csv.gz")
    total = len(sources.od) + 6
    progress(READING, 0, total)
    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        crosswalk = pool.submit(read_crosswalks, sources.crosswalks)
        od = [pool.submit(read_od, path) for path in sorted(sources.od)]
        flows = pool.submit(read_flows, sources.prior_flows)
        places = crosswalk.result()
        year = places.vintage
        people = of_table_vintage(sources.population, year, "centers of population")
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


def _destinations(files: Sequence[OdFile], crosswalk: Crosswalk) -> tuple[list[OdFile], Counter[str]]:
    """Files whose workplaces are imported; for the other files, the jobs of imported homes by state of work.

    Without its main file the public total of a workplace is not known, so nothing could be released for it.
    """
    main = {file.state_id: file for file in files if file.main}
    lacking = sorted(set(main) - set(crosswalk.state_ids))
    if lacking:
        raise SourceFileError(
            f"{main[lacking[0]].text.path}: no crosswalk of state {lacking[0]} among the files; "
            f"add {states()[lacking[0]].postal.lower() if lacking[0] in states() else 'STATE'}_xwalk.csv.gz"
        )
    numbers = [int(state) for state in main]
    outflow: Counter[str] = Counter()
    for file in files:
        if file.state_id not in main:
            outflow[file.state_id] += int(file.counts[np.isin(file.home_state, numbers), 0].sum())
    return [file for file in files if file.state_id in main], outflow


def _jobs(
    files: Sequence[OdFile], hierarchy: Hierarchy, crosswalk: Crosswalk, progress: Progress
) -> pandas.DataFrame:
    lookup = BlockLookup.of(hierarchy.tables["blocks"], crosswalk.vintage)
    elsewhere = {int(code): row for code, row in hierarchy.elsewhere.items()}
    parts = []
    for done, file in enumerate(files):
        progress(PLACING, done, len(files))
        parts.append(place_jobs(file, lookup, elsewhere))
    progress(PLACING, len(files), len(files))
    return jobs_table(parts)


def _elsewhere_tracts(hierarchy: Hierarchy) -> dict[str, int]:
    tract_index = hierarchy.tables["blocks"]["tract_index"].to_numpy()
    return {code: int(tract_index[row]) for code, row in hierarchy.elsewhere.items()}


def _elsewhere_facts(jobs: pandas.DataFrame, hierarchy: Hierarchy) -> dict[str, int]:
    code = {row: state for state, row in hierarchy.elsewhere.items()}
    away = jobs[jobs["origin_index"].isin(code)]
    by_row = away.groupby("origin_index")["count"].sum()
    rows = by_row.index.to_numpy(np.int64).tolist()
    return _by_state(Counter({code[row]: int(n) for row, n in zip(rows, by_row, strict=True)}))


def _by_state(jobs: Counter[str]) -> dict[str, int]:
    return {state: jobs[state] for state in sorted(jobs)}


def _elsewhere_notes(elsewhere: dict[str, int]) -> list[str]:
    if not elsewhere:
        return []
    return [
        f"elsewhere: {sum(elsewhere.values()):,} jobs of residents of {len(elsewhere)} states whose crosswalk "
        "is not imported are counted by state"
    ]


def _outflow_notes(outflow: Counter[str], files: Sequence[OdFile]) -> list[str]:
    known = states()
    homes = " and ".join(sorted(_postal(file.state_id) for file in files if file.main))
    return [
        f"outflow: {n:,} jobs of {homes} residents in {_postal(state)}: not imported; "
        f"add {known[state].postal.lower()}_od_main to import that state's workplaces"
        for state, n in sorted(outflow.items())
        if state in known
    ]


def _postal(state_id: str) -> str:
    known = states()
    return known[state_id].postal if state_id in known else state_id


def _repair_notes(read: _Read) -> list[str]:
    n = read.tracts.repaired + read.blocks.repaired
    return [f"{n:,} published polygons were not valid and were repaired"] if n else []


def _water_notes(base: dict[str, pandas.DataFrame], files: Sequence[BaseFile]) -> list[str]:
    if "water" not in base or any(file.layer == "water" for file in files):
        return []
    return [
        "water on the map is made of the cells of water blocks, without names; add AREAWATER files for better"
    ]


def _title(destination_states: Sequence[str], year: int | None) -> str:
    known = states()
    names = " and ".join(known[state].name if state in known else state for state in destination_states)
    return f"{names}, {year}" if year else names


def _source_facts(read: _Read) -> list[dict[str, object]]:
    texts: dict[str, Sequence[TextTable]] = {
        "od": [file.text for file in read.od],
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
