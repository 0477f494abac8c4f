"""Published characteristics of jobs made by hand: WAC and RAC counts that agree with a table of jobs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
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
from geodata.store.schema import CHARACTERISTIC_CODES, CHARACTERISTIC_COUNTS, CHARACTERISTICS
from geodata.store.table_stream import TableStream

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


def replace_counts(path: Path, table: Any, files: Sequence[dict[str, Any]], *, dense: bool = False) -> Path:
    """Give a release other published counts, by hand: those of a table, of an earlier version's table, or none."""
    manifest = json.loads((path / "manifest.json").read_text())
    for each in (CHARACTERISTIC_COUNTS, CHARACTERISTICS):
        manifest["files"].pop(f"{each.name}.parquet", None)
        (path / f"{each.name}.parquet").unlink(missing_ok=True)
    manifest.pop("characteristics", None)
    if files:
        schema = CHARACTERISTICS if dense else CHARACTERISTIC_COUNTS
        file = path / f"{schema.name}.parquet"
        with ThreadPoolExecutor(max_workers=1) as disk:
            stream = TableStream(file, schema, disk)
            stream.write(dense_of(table) if dense else table)
            stream.close()
        content = file.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        manifest["files"][file.name] = {"sha256": digest, "bytes": len(content), "rows": stream.rows}
        manifest["characteristics"] = list(files)
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def dense_of(table: Any) -> Any:
    """The counts of all workers as earlier versions wrote them: a column for each code, with zeros."""
    rows = table[table["segment"] == 0]
    wide = rows.pivot_table(index=["end", "block_index"], columns="code", values="count", fill_value=0)
    wide = wide.reindex(columns=range(len(CHARACTERISTIC_CODES)), fill_value=0)
    wide = wide.set_axis(list(CHARACTERISTIC_CODES), axis="columns").reset_index()
    return wide.assign(end=wide["end"].map(dict(enumerate(ENDS)))).astype(CHARACTERISTICS.columns)
