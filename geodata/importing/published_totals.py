"""Read published characteristics (WAC, RAC), and compare them with the OD files of an import.

Differences are noted, not refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from geodata.geography.elsewhere import postal_code
from geodata.importing.commutes import Commutes
from geodata.json_objects import JsonObject
from geodata.progress import Progress, silent
from geodata.sources.characteristics import (
    CharacteristicsFile,
    check_characteristics_together,
    count_rows,
    counts_table,
    read_characteristics,
)
from geodata.sources.lodes import BlockLookup
from geodata.store.characteristic_counts import FACT
from geodata.store.characteristic_groups import ALL_WORKERS, BANDS, ENDS, FILE_KINDS, SEGMENTS, TOTAL, End
from geodata.store.schema import CHARACTERISTIC_CODES, CHARACTERISTIC_COUNTS

READING_CHARACTERISTICS: Final = "reading characteristics"
_OTHER_VINTAGE: Final = "one of the files is probably of another vintage of LODES"
_POSITION: Final[dict[End, str]] = {"work": "destination_index", "home": "origin_index"}
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OdJobs:
    """The jobs of OD files that published characteristics are compared with.

    Attributes
    ----------
    jobs : DataFrame
        The table of the schema.
    destination_states : sequence of str
        States whose workplaces are imported.
    residents_only : sequence of str
        Those of them whose aux file is left out.
    outflow : int
        Jobs of residents of these states in states whose workplaces are not imported, by the aux files given.
    """

    jobs: pandas.DataFrame
    destination_states: Sequence[str]
    residents_only: Sequence[str]
    outflow: int

    def count_by_block(self, end: End, n_blocks: int) -> Ints:
        """Jobs at each block, or of its residents: int64[blocks]."""
        position = self.jobs[_POSITION[end]].to_numpy()
        return np.bincount(position, weights=self.jobs["count"], minlength=n_blocks).astype(np.int64)


def notes_on_totals(
    table: pandas.DataFrame, files: Sequence[CharacteristicsFile], state_of: pandas.Series, od: OdJobs
) -> list[str]:
    """Return a line for each file whose totals differ from the jobs of the OD files, with the likely reason.

    Parameters
    ----------
    table : DataFrame
        `characteristic_counts`.
    files : sequence of CharacteristicsFile
    state_of : Series
        State of each block.
    od : OdJobs
    """
    notes = []
    for end in ENDS:
        published, counted = _jobs_by_block(table, end, len(state_of)), od.count_by_block(end, len(state_of))
        for file in files:
            if (file.end, file.segment) != (end, ALL_WORKERS) or file.state_id not in od.destination_states:
                continue
            in_state = np.flatnonzero(state_of.to_numpy() == file.state_id)
            note = (_note_on_workplaces if end == "work" else _note_on_residents)(
                file, published[in_state], counted[in_state], od
            )
            notes += [note] if note else []
    return notes


def notes_on_segments(
    table: pandas.DataFrame, files: Sequence[CharacteristicsFile], state_of: pandas.Series
) -> Iterator[str]:
    """Yield a line for each segment file whose total differs from that of the file of all workers."""
    whole = {(file.end, file.state_id) for file in files if file.segment == ALL_WORKERS}
    for file in files:
        if file.segment not in BANDS or (file.end, file.state_id) not in whole:
            continue
        here = table[table["end"] == ENDS.index(file.end)]
        here = here[state_of.to_numpy()[here["block_index"]] == file.state_id]
        in_whole = here[here["segment"] == SEGMENTS.index(ALL_WORKERS)]
        codes = [CHARACTERISTIC_CODES.index(code) for code in BANDS[file.segment].codes]
        wanted = int(in_whole.loc[in_whole["code"].isin(codes), "count"].sum())
        in_segment = here[here["segment"] == SEGMENTS.index(file.segment)]
        n_jobs = int(in_segment.loc[in_segment["code"] == CHARACTERISTIC_CODES.index(TOTAL), "count"].sum())
        if n_jobs != wanted:
            yield (
                f"{file.text.path.name}: {n_jobs:,} jobs, but the file of all workers has {wanted:,} in this segment: "
                f"{_reason(n_jobs)}"
            )


def _jobs_by_block(table: pandas.DataFrame, end: End, n_blocks: int) -> Ints:
    is_total = (
        (table["end"] == ENDS.index(end))
        & (table["segment"] == SEGMENTS.index(ALL_WORKERS))
        & (table["code"] == CHARACTERISTIC_CODES.index(TOTAL))
    )
    rows = table[is_total]
    return np.bincount(rows["block_index"], weights=rows["count"], minlength=n_blocks).astype(np.int64)


def _note_on_workplaces(file: CharacteristicsFile, published: Ints, counted: Ints, od: OdJobs) -> str:
    differing = int(np.count_nonzero(published != counted))
    if not differing:
        return ""
    total, jobs = int(published.sum()), int(counted.sum())
    reason = _reason(total)
    if total and file.state_id in od.residents_only and (published >= counted).all():
        reason = f"{postal_code(file.state_id).lower()}_od_aux is missing, with the workers who live in other states"
    return _text(file, total, jobs, f"at workplaces; they differ in {_blocks(differing)}: {reason}")


def _note_on_residents(file: CharacteristicsFile, published: Ints, counted: Ints, od: OdJobs) -> str:
    total, jobs = int(published.sum()), int(counted.sum())
    fewer = int(np.count_nonzero(published < counted))
    if total and fewer:
        return _text(file, total, jobs, f"of residents, and more in {_blocks(fewer)}: {_OTHER_VINTAGE}")
    known = jobs + (od.outflow if len(od.destination_states) == 1 else 0)
    if total == known:
        return ""
    reason = _reason(total)
    if total > known:
        reason = "residents work in states whose OD files were not given; add the aux files of those states"
    return _text(file, total, known, f"of residents: {reason}")


def _text(file: CharacteristicsFile, total: int, jobs: int, rest: str) -> str:
    return (
        f"{file.text.path.name}: {total:,} jobs in {postal_code(file.state_id)} ({FILE_KINDS[file.end]}), "
        f"but the OD files have {jobs:,} {rest}"
    )


def _blocks(n: int) -> str:
    return f"{n:,} block{'s' * (n != 1)}"


def _reason(total: int) -> str:
    return _OTHER_VINTAGE if total else "the file has a header and no rows"


@dataclass(frozen=True, slots=True)
class PublishedCounts:
    """Public characteristics of places: the table, the facts, and notes; empty without files."""

    tables: dict[str, pandas.DataFrame] = field(default_factory=dict)
    facts: JsonObject = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def imported_states(blocks: pandas.DataFrame) -> list[str]:
    """Codes of the states with a crosswalk."""
    return sorted(set(blocks["state_id"][~blocks["elsewhere"].to_numpy(dtype=bool)]))


def read_published_counts(
    paths: Sequence[Path],
    blocks: pandas.DataFrame,
    vintage: int,
    commutes: Commutes,
    progress: Progress = silent,
) -> PublishedCounts:
    """Read files of characteristics, and compare their totals with the jobs of OD files.

    Parameters
    ----------
    paths : sequence of Path
    blocks : DataFrame
        The table of the schema.
    vintage : int
        Census year of the blocks.
    commutes : Commutes
        The jobs. Those of worker records are not compared.
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    SourceFileError, SourceRowError
        A file does not fit; the message says why in one line.
    """
    if not paths:
        return PublishedCounts()
    progress(READING_CHARACTERISTICS, 0, len(paths))
    lookup, state_ids = BlockLookup.of(blocks, vintage), imported_states(blocks)
    files, parts = [], []
    for done, path in enumerate(sorted(paths)):
        file = read_characteristics(path)
        files.append(file.drop_rows())
        check_characteristics_together(files, state_ids, commutes.year, commutes.job_type)
        parts.append(count_rows(file, lookup))
        progress(READING_CHARACTERISTICS, done + 1, len(paths))
    table = counts_table(parts)
    del parts
    notes = list(notes_on_segments(table, files, blocks["state_id"]))
    if commutes.jobs is not None:
        outflow = sum(commutes.outflow.values())
        od = OdJobs(commutes.jobs, commutes.destination_states, commutes.residents_only, outflow)
        notes = notes_on_totals(table, files, blocks["state_id"], od) + notes
    return PublishedCounts(
        {CHARACTERISTIC_COUNTS.name: table}, {FACT: [file.as_fact() for file in files]}, tuple(notes)
    )
