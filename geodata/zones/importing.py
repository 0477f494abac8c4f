"""Importing zones and flows of any country: from two files to the tables of a dataset or of published counts."""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from geodata.errors import SourceFileError
from geodata.geography.area_files import read_area_file
from geodata.importing.importing import READING, Imported, checked_title
from geodata.json_objects import JsonObject
from geodata.progress import Progress, silent
from geodata.sources.reading import LARGEST, TextTable
from geodata.store.residents_only import RESIDENTS_ONLY
from geodata.store.schema import JOBS
from geodata.store.shown_margins import SEGMENTS_BY
from geodata.store.zones import REGION, ZONE, ZONES
from geodata.zones.columns import FileColumns, guess_flow_columns, guess_zone_columns, read_columns
from geodata.zones.flows import UNKNOWN, Flows, check_flows
from geodata.zones.geography import ZoneGeography, parent_codes, zone_geography
from geodata.zones.reading import RawZones, read_flows, read_zones
from geodata.zones.zones import Zones, check_zones

ZONE_LABEL: Final = "Zone"
_SHOWN: Final = 5
_MOST_NAMED: Final = 20
_COUNTED: Final = "S000"
"""Name of the total in certificates of published counts, as LODES calls its column of all jobs."""
_MOST_TEXTS: Final = 200_000
"""Distinct texts of a column that are looked at to guess whether they are codes of zones."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneFiles:
    """What is imported.

    Attributes
    ----------
    zones, flows : Path
    schema : Path, optional
        What their columns mean; by default guessed.
    outline : Path, optional
        An area that the cells of points are cut to.
    """

    zones: Path
    flows: Path
    schema: Path | None = None
    outline: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedZones:
    """The result of an import, in memory.

    Attributes
    ----------
    imported : Imported
        Tables and facts, as of any import.
    columns : FileColumns
        What the columns were taken for.
    counted : tuple of str
        What the flows lack or have too much, with counts: confidential, unless the flows are published.
    """

    imported: Imported
    columns: FileColumns
    counted: tuple[str, ...]


def explain_columns(files: ZoneFiles) -> FileColumns:
    """Return what the columns of both files are taken for.

    Raises
    ------
    SourceFileError, SourceRowError, GeometryError
        A file cannot be read, or the columns cannot be guessed.
    """
    return _columns(files, read_zones(files.zones), read_flows(files.flows))


def import_zones(
    files: ZoneFiles,
    *,
    place: str,
    title: str | None = None,
    year: int | None = None,
    count: tuple[str, str] = ("commuter", "commuters"),
    is_published: bool = False,
    rounded: bool = False,
    commitment_key: str | None = None,
    progress: Progress = silent,
) -> ImportedZones:
    """Read zones and flows, and assemble the tables of a dataset.

    Parameters
    ----------
    files : ZoneFiles
    place : str
        Name of the whole region, for readers.
    title : str, optional
        By default the place.
    year : int, optional
        Of the flows.
    count : tuple of str
        What is counted, singular and plural, for readers.
    is_published : bool
        The flows are public already.
    rounded : bool
        Round counts that are not whole; of published flows only.
    commitment_key : str, optional
        64 hexadecimal digits; by default from the operating system's secure source.
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    SourceFileError, SourceRowError, GeometryError
        The message names the file, what is wrong, and the remedy.
    """
    shown_title = checked_title(title) or place
    progress(READING, 0, 2)
    raw = read_zones(files.zones)
    text = read_flows(files.flows)
    progress(READING, 1, 2)
    columns = _columns(files, raw, text)
    zones = check_zones(raw, columns.zones)
    flows = check_flows(text, columns.flows, zones.code, rounded=rounded, quoted=is_published)
    progress(READING, 2, 2)
    outline = None if files.outline is None else read_area_file(files.outline).area
    geography = zone_geography(zones, place, outline)
    jobs = _jobs(files.flows, flows, geography)
    n_jobs = int(jobs["count"].sum())
    facts = {
        "title": shown_title,
        "year": year,
        "job_type": None,
        "vintage": {},
        "destination_states": [REGION],
        RESIDENTS_ONLY: [],
        "segments": "joint",
        SEGMENTS_BY: [],
        ZONES: {"place": place, "count": list(count)},
        "n_jobs": n_jobs,
        "sources": [
            {"file": raw.path.name, "role": "zones", "sha256": raw.sha256, "rows": len(raw.frame)},
            {"file": text.path.name, "role": "flows", "sha256": text.sha256, "rows": text.rows},
        ],
        "layers": _layer_facts(zones, geography),
        "elsewhere": {},
        "outflow": {},
        "notes": [*columns.lines(), *_unread_lines(columns, raw, text), *geography.notes],
        "commitment_key": commitment_key or secrets.token_hex(32),
    }
    tables = geography.tables | {"jobs": jobs, "prior": _no_prior()}
    imported = Imported(tables=tables, facts=facts, totals={text.path.name: {_COUNTED: n_jobs}})
    return ImportedZones(imported=imported, columns=columns, counted=_counted_lines(zones, flows))


def _columns(files: ZoneFiles, raw: RawZones, text: TextTable) -> FileColumns:
    if files.schema is not None:
        return read_columns(files.schema)
    values = {
        name: [str(value).strip() for value in text.column(name).dictionary.slice(0, _MOST_TEXTS).to_pylist()]
        for name in text.table.column_names
    }
    zones = guess_zone_columns(raw.path, raw.frame, values, points=raw.geometry is None)
    flows = guess_flow_columns(text.path, values, frozenset(raw.frame[zones.code]))
    return FileColumns(zones=zones, flows=flows)


def _unread_lines(columns: FileColumns, raw: RawZones, text: TextTable) -> list[str]:
    """Columns that nothing is made of: modes, for example, would be lost in silence."""
    zones, flows = columns.zones, columns.flows
    read = {zones.code, zones.name, zones.population, zones.longitude, zones.latitude}
    read |= {name for parent in zones.parents for name in (parent.code, parent.name)}
    ends = {flows.origin, flows.destination, flows.count}
    unread = {
        "zones": [str(name) for name in raw.frame if name not in read],
        "flows": [] if flows.matrix else [name for name in text.table.column_names if name not in ends],
    }
    return [
        f"{what}: not read: {', '.join(names[:_MOST_NAMED])}{', …' if len(names) > _MOST_NAMED else ''}"
        for what, names in unread.items()
        if names
    ]


def _jobs(path: Path, flows: Flows, geography: ZoneGeography) -> pandas.DataFrame:
    """Flows as the table `jobs`: trips to places without a zone are left out, and others have all a row of `blocks`."""
    kept = flows.destination != UNKNOWN
    destination = geography.block_of_zone[flows.destination[kept]]
    known = flows.origin[kept]
    origin = np.where(known == UNKNOWN, geography.elsewhere, geography.block_of_zone[known])
    n_blocks = len(geography.tables["blocks"])
    key, place = np.unique(destination * n_blocks + origin, return_inverse=True)
    count = np.zeros(key.size, dtype=np.int64)
    np.add.at(count, place, flows.count[kept])
    if not key.size:
        raise SourceFileError(f"{path}: no trip ends in a zone; check the codes of both files")
    if count.max() > LARGEST:
        raise SourceFileError(f"{path}: more than {LARGEST:,} trips between two zones; check the counts")
    table = {"destination_index": key // n_blocks, "origin_index": key % n_blocks}
    table |= {name: np.ones(key.size) for name in ("age", "earnings", "industry")} | {"count": count}
    return pandas.DataFrame(table).astype(JOBS.columns)


def _no_prior() -> pandas.DataFrame:
    return pandas.DataFrame(
        {
            "destination_tract_index": np.empty(0, dtype=np.int32),
            "origin_tract_index": np.empty(0, dtype=np.int32),
            "weight": np.empty(0, dtype=np.float64),
        }
    )


def _layer_facts(zones: Zones, geography: ZoneGeography) -> list[JsonObject]:
    n_units = geography.tables["layers"]["layer"].value_counts()
    labels = {ZONE: ZONE_LABEL}
    labels |= dict(zip(parent_codes(zones.parents), (parent.label for parent in zones.parents), strict=True))
    return [
        {"layer": code, "label": label, "column": f"layer_{code}", "n_units": int(n_units[code])}
        for code, label in labels.items()
        if code in n_units.index
    ]


def _counted_lines(zones: Zones, flows: Flows) -> tuple[str, ...]:
    """What does not fit between zones and flows, with the largest."""
    lines = []
    for ends, unknown, follows in (
        ("from", flows.unknown_origins, "come from elsewhere"),
        ("to", flows.unknown_destinations, "are left out"),
    ):
        if unknown:
            lines.append(
                f"{unknown.total():,} trips {ends} {len(unknown):,} places without a zone {follows}: "
                f"{_largest(unknown)}"
            )
    used = np.zeros(len(zones.code), dtype=np.bool_)
    for rows in (flows.origin, flows.destination):
        used[rows[rows != UNKNOWN]] = True
    without = [zones.code[row] for row in np.flatnonzero(~used).tolist()]
    if without:
        more = ", …" if len(without) > _SHOWN else ""
        lines.append(f"{len(without):,} zones without trips: {', '.join(without[:_SHOWN])}{more}")
    if flows.n_rounded:
        lines.append(f"{flows.n_rounded:,} counts were rounded")
    return tuple(lines)


def _largest(trips: Counter[str]) -> str:
    largest = trips.most_common(_SHOWN)
    more = ", …" if len(trips) > _SHOWN else ""
    return ", ".join(f"{code} {n:,}" for code, n in largest) + more
