"""From state-years of LODES to published counts: the missing files are fetched, and each year is opened as published.

All states that are named are in one publication, one for each year, as an import allows: workers who cross a border
between them then have both ends in blocks. The publications of several years share one geography.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from engine.garbage_collection import no_collection
from geodata.errors import SourceFileError, StoreError
from geodata.sources.availability import left_out_lines, refusal_of, unpublished_groups, year_spans
from geodata.sources.fetch import Fetched, Outlook, fetch, look_ahead
from geodata.sources.recognize import Sources
from geodata.sources.sources_catalog import Wanted
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent

_ROLES: Final = {
    "od": "od",
    "wac": "characteristics",
    "rac": "characteristics",
    "crosswalk": "crosswalks",
    "checksums": "checksums",
    "version": "versions",
    "tracts": "tracts",
    "shore": "tracts",
    "blocks": "blocks",
    "tract_puma": "tract_puma",
    "puma_names": "puma_names",
    "tract_population": "population",
    "block_group_population": "population",
    "water": "base_map",
    "roads": "base_map",
    "rails": "base_map",
}
"""Role of a file in an import, by its role in the catalog."""


@dataclass(frozen=True, slots=True, kw_only=True)
class YearsPlan:
    """What `make_years` will do, found before anything is fetched.

    Attributes
    ----------
    folder : Path
        Folder of the cache.
    wanted : Wanted
        Only with years that all states have.
    left_out : list of str
        What is left out because it was not published, in one line each.
    """

    folder: Path
    wanted: Wanted
    outlook: Outlook
    left_out: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class YearMade:
    """Published counts of one year.

    Attributes
    ----------
    path : Path
    year : int
    is_new : bool
        False if they were there before, made of the same files.
    notes : tuple of str
        What the import noticed.
    """

    path: Path
    year: int
    is_new: bool
    notes: tuple[str, ...] = ()


def years_in(text: str) -> tuple[int, ...]:
    """Return the years of a text such as "2002-2023" or "2019".

    Raises
    ------
    UsageError
        The text is neither, or the first year is after the last.
    """
    first, dash, last = text.replace("–", "-").partition("-")
    if not first.strip().isascii() or not first.strip().isdigit() or (dash and not last.strip().isdigit()):
        raise UsageError(f"--years {text!r}: give a first and a last year, such as 2002-2023")
    start, end = int(first), int(last if dash else first)
    if start > end:
        raise UsageError(f"--years {text}: the first year is after the last; write {end}-{start}")
    if end - start >= 100:
        raise UsageError(f"--years {text}: more than a hundred years; LODES begins in 2002")
    return tuple(range(start, end + 1))


def plan_years(cache: Path, wanted: Wanted, *, every: bool) -> YearsPlan:
    """Find out which of some state-years are published, before anything is fetched or written.

    Parameters
    ----------
    cache : Path
        The cache has a folder in it for each version of LODES.
    wanted : Wanted
    every : bool
        Whether every year must be published. Otherwise years that one of the states lacks are left out: maps of
        different states would not be comparable over years.

    Raises
    ------
    SourceFileError
        No year, or not every year, is published.
    """
    folder = cache / f"lodes{wanted.lodes}"
    outlook = look_ahead(folder, wanted)
    lacking = {state_year.year for state_year in outlook.unpublished}
    years = tuple(year for year in wanted.years if year not in lacking)
    if lacking and (every or not years):
        raise SourceFileError(refusal_of(outlook.unpublished))
    left_out = left_out_lines(outlook.unpublished)
    if len(wanted.states) > 1:
        left_out = [f"{line}, so that year has no map of {' and '.join(wanted.states)}" for line in left_out]
    return YearsPlan(
        folder=folder,
        wanted=replace(wanted, years=years),
        outlook=outlook,
        left_out=left_out + _groups_left_out(wanted, years),
    )


def make_years(
    plan: YearsPlan, output: Path, *, refresh: bool = False, progress: Report = silent
) -> tuple[list[YearMade], list[Fetched]]:
    """Fetch what is missing, and make published counts of each year; return them, and the files.

    A run that is stopped leaves whole files, parts of files that the next run resumes, and whole publications.

    Parameters
    ----------
    plan : YearsPlan
    output : Path
        Folder of the publications; created if missing.
    refresh : bool
        Whether to look for files that were published anew.
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    GeodataError, UsageError
        The message is one line.
    """
    wanted = plan.wanted
    files = fetch(plan.folder, wanted, cache=True, outlook=plan.outlook, refresh=refresh, progress=progress)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{output}: cannot be made ({error.strerror}); name another folder") from error
    place_of = {year: output / _name_of(wanted, year) for year in wanted.years}
    for year, place in place_of.items():
        if place.exists():
            _require_same(place, _of_year(files, year))
    made = {year for year, place in place_of.items() if not place.exists()}
    shared = next((place for year, place in place_of.items() if year not in made), None)
    notes: dict[int, tuple[str, ...]] = {}
    for year in sorted(made):
        notes[year] = _make_year(place_of[year], files, year, shared, progress)
        shared = shared or place_of[year]
    years = [
        YearMade(path=place, year=year, is_new=year in made, notes=notes.get(year, ()))
        for year, place in place_of.items()
    ]
    return years, files


def _make_year(
    place: Path, files: Sequence[Fetched], year: int, shared: Path | None, progress: Report
) -> tuple[str, ...]:
    from mapapp.kinds.published.make.run import import_published

    def report(stage: str, done: int, total: int) -> None:
        progress(f"{year}: {stage}", done, total)

    # Nearly all objects are kept: collecting finds nothing to free among some hundred thousand shapes.
    with no_collection():
        made = import_published(place, sources_of_year(files, year), geography=shared, progress=report)
    return tuple(str(note) for note in made.facts.get("notes", []))


def sources_of_year(files: Sequence[Fetched], year: int) -> Sources:
    """Return the files of one year by their role in an import, with those that all years share."""
    by_role: dict[str, tuple[Path, ...]] = {}
    for file in _of_year(files, year):
        role = _ROLES[file.role]
        by_role[role] = (*by_role.get(role, ()), file.file)
    return Sources(**by_role)


def _of_year(files: Sequence[Fetched], year: int) -> list[Fetched]:
    return [file for file in files if file.year in (None, year) and file.status != "missing"]


def _name_of(wanted: Wanted, year: int) -> str:
    """Name of a publication, from everything that decides what is in it."""
    further = {
        "segments": wanted.segments,
        "characteristics": wanted.characteristics and not wanted.segments,
        "blocks": wanted.blocks,
        "basemap": wanted.base_map,
    }
    homes = [state for state in wanted.origin_states if state not in wanted.states]
    parts = ["-".join(sorted(wanted.states)), str(year), wanted.job_type, f"lodes{wanted.lodes}"]
    parts += [name for name, chosen in further.items() if chosen]
    parts += ["homes", *sorted(homes)] if homes else []
    return f"{'-'.join(parts)}.published"


def _require_same(place: Path, files: Sequence[Fetched]) -> None:
    """Refuse a publication that was made of other files than these: it would be shown as what they are."""
    try:
        claims = json.loads((place / "certificate.json").read_text(encoding="utf-8"))
        stated = {str(source["file"]): str(source["sha256"]) for source in claims["sources"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{place}: not complete published counts; remove it, or name another folder with -o"
        ) from error
    changed = [
        file.file.name
        for file in files
        if stated.get(file.file.name, file.sha256 if file.year is None else "") != file.sha256
    ]
    if changed:
        raise StoreError(
            f"{place}: was made of an earlier {changed[0]}, which was published anew; remove it to make it again, or "
            "name another folder with -o"
        )


def _groups_left_out(wanted: Wanted, years: Sequence[int]) -> list[str]:
    """Say which columns of the characteristics hold no counts in some of the years."""
    if len(wanted.tables) <= 2:
        return []
    years_of: dict[str, list[int]] = {}
    for year in years:
        for note in unpublished_groups(year, wanted.job_type):
            years_of.setdefault(note, []).append(year)
    return [f"characteristics of {year_spans(lacking)}: {note}" for note, lacking in years_of.items()]
