"""Published characteristics of jobs made by hand: WAC and RAC counts that agree with a table of jobs."""

from __future__ import annotations

from typing import Any, Final

import numpy
import pandas

from geodata.store.characteristic_groups import (
    ALL_WORKERS,
    BANDS,
    ENDS,
    FILE_KINDS,
    GROUPS,
    SECTORS_OF_INDUSTRY,
    SEGMENTS,
    TOTAL,
    End,
)
from geodata.store.schema import CHARACTERISTIC_CODES, CHARACTERISTIC_COUNTS

_POSITION: Final[dict[End, str]] = {"work": "destination_index", "home": "origin_index"}
_PLACE: Final = {code: place for place, code in enumerate(CHARACTERISTIC_CODES)}


def workers_of(jobs: Any, seed: int = 1) -> dict[str, Any]:
    """One entry for each job: workplace, home, bands, and the place of its code in each group; -1 for none."""
    n = jobs["count"].to_numpy()
    found = {str(name): jobs[name].to_numpy().repeat(n) for name in jobs if name != "count"}
    rng = numpy.random.default_rng([seed, 1])
    size = int(n.sum())
    for group in GROUPS:
        codes = numpy.array([_PLACE[code] for code in group.codes])
        found[f"code {group.name}"] = rng.choice(codes, size)
    for name in ("age", "earnings"):
        found[f"code {name}"] = _PLACE[f"C{name[0].upper()}01"] + found[name] - 1
    for band, sectors in enumerate(SECTORS_OF_INDUSTRY, 1):
        mine = found["industry"] == band
        found["code sector"][mine] = rng.choice([_PLACE[code] for code in sectors], int(mine.sum()))
    found["code education"][found["age"] == 1] = -1
    return found


def counts_of(
    jobs: Any,
    states: Any,
    kept: dict[End, list[str]],
    *,
    year: int = 2019,
    job_type: str = "JT00",
) -> tuple[Any, list[dict[str, Any]]]:
    """The table `characteristic_counts` and the list of its files.

    Parameters
    ----------
    jobs, states : DataFrame and Series
        The table of the schema, and the state of each block.
    kept : dict of str to list of str
        States that have files, by end.
    year, job_type : int and str
        Of the files, which decide what they have.
    """
    workers, parts, files = workers_of(jobs), [], []
    for end in ENDS:
        groups = [group.name for group in GROUPS if not group.why_not_published(end, year, job_type)]
        block = workers[_POSITION[end]]
        here = states.isin(kept[end]).to_numpy()[block]
        for place, segment in enumerate(SEGMENTS):
            mine = here.copy()
            if segment != ALL_WORKERS:
                mine &= workers[BANDS[segment].characteristic] == BANDS[segment].band
            for name in ("", *groups):
                code = workers[f"code {name}"][mine] if name else numpy.full(mine.sum(), _PLACE[TOTAL])
                keys = numpy.column_stack(
                    [numpy.full_like(code, ENDS.index(end)), numpy.full_like(code, place), code, block[mine]]
                )
                parts.append(keys[code >= 0])
            files += [_file(end, state, segment, job_type, year) for state in kept[end]]
    sizes = (len(ENDS), len(SEGMENTS), len(CHARACTERISTIC_CODES), len(states))
    key, count = numpy.unique(
        numpy.ravel_multi_index(tuple(numpy.concatenate(parts).T), sizes), return_counts=True
    )
    columns = zip(CHARACTERISTIC_COUNTS.columns, [*numpy.unravel_index(key, sizes), count], strict=True)
    return pandas.DataFrame(dict(columns)).astype(CHARACTERISTIC_COUNTS.columns), files


def _file(end: End, state: str, segment: str, job_type: str, year: int) -> dict[str, Any]:
    return {
        "end": end,
        "file": f"s{state}_{FILE_KINDS[end].lower()}_{segment}_{job_type}_{year}.csv",
        "job_type": job_type,
        "segment": segment,
        "sha256": "ab" * 32,
        "state": state,
        "year": year,
    }
