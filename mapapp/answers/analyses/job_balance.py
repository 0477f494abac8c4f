"""Jobs per resident worker, unit by unit: whether a place has as many jobs as workers who live there.

Jobs by workplace are published unchanged. Homes are synthetic, so the ratio is as uncertain as the number of workers
who live in the unit. With J jobs and R resident workers whose expected error is e, its expected error is J e / R² to
first order (the delta method). That says little if R is small, so below `LEAST_RESIDENTS` there is no ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas

from mapapp.answers import words
from mapapp.answers.analyses import counts
from mapapp.answers.analyses.about import Note
from mapapp.answers.analyses.counts import n_places
from mapapp.answers.analyses.entry import (
    BarsEntry,
    ColumnEntry,
    Entry,
    MeasureEntry,
    NumberEntry,
    RatioMap,
    TableEntry,
)
from mapapp.answers.analyses.measures import Number, Ratio, Row
from mapapp.answers.analyses.picks_of_numbers import Counts, by_unit, kept_by
from mapapp.answers.analyses.results import Result
from mapapp.answers.areas.areas import Areas
from mapapp.answers.areas.layer_units import LayerUnits
from mapapp.answers.commutes.flows import Flows
from mapapp.answers.commutes.pick import Blocks, Pick
from mapapp.answers.findings.words import (
    EVERYWHERE,
    amount,
    and_work,
    counted_jobs,
    covered_in,
    first_spoken,
    subject,
    where,
)
from mapapp.question.filters import Filters

LEAST_RESIDENTS: Final = 10
"""Fewest resident workers for which a ratio is given; smaller counts always carry a caution."""
BARS: Final = 8
NO_RESIDENTS: Final = "no resident workers"
FEW_RESIDENTS: Final = f"fewer than {LEAST_RESIDENTS} resident workers"
LEFT_OUT: Final = "left-out-states"
"""Code of the note that part of the area is left out, because its jobs are not in the release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBalance(Result):
    """Jobs in the units of a layer within an area, and the workers who live in them.

    Blocks whose jobs are not in the release are left out, with their residents.

    Attributes
    ----------
    layer : str
        A key of `mapapp.answers.areas.levels.LEVEL_LABELS`.
    jobs : Number
        Workers who work in the area, wherever they live.
    workers : Number
        Workers who live in the area and work in a state that the release covers.
    jobs_per_resident : Ratio
        Jobs divided by resident workers.
    units : DataFrame
        ``unit_id``, ``name``, ``kind``, ``partly`` (only some of the unit's blocks count), ``jobs``, worker columns of
        the resident workers, ``jobs_per_resident`` (NaN below `LEAST_RESIDENTS`) and ``jobs_per_resident_error``;
        ``caution`` says why there is no ratio. Most resident workers first.
    """

    layer: str
    jobs: Number
    workers: Number
    jobs_per_resident: Ratio
    units: pandas.DataFrame


def ratio_of(jobs: int, residents: Number, jobs_error: float = 0.0) -> Ratio:
    """Return jobs per resident worker, with its expected error if that of the residents is known.

    `jobs_error` is the expected error of the jobs: 0 for a release, which publishes them unchanged.
    """
    if residents.value < LEAST_RESIDENTS:
        return Ratio(None, None, FEW_RESIDENTS if residents.value else NO_RESIDENTS)
    error = residents.expected_error
    if error is not None:
        error = math.hypot(jobs * error / residents.value**2, jobs_error / residents.value)
    return Ratio(jobs / residents.value, error)


def balance_units(
    flows: Flows, units: LayerUnits, blocks: Blocks | None, filters: Filters
) -> tuple[int, int, pandas.DataFrame]:
    """Count jobs and resident workers in some blocks by unit.

    Returns
    -------
    jobs, residents : int
        In all blocks together.
    table : DataFrame
        As `JobBalance.units`, without expected errors.
    """
    jobs = units.of(*flows.by_block(Pick(work=blocks, filters=filters), "work"))
    residents = units.of(*flows.by_block(Pick(home=blocks, filters=filters), "home"))
    codes = units.code if blocks is None else units.code[blocks]
    n_mine = np.bincount(codes, minlength=len(units.rows))
    rows = units.most_first(np.flatnonzero(n_mine), residents)
    here, living = jobs[rows], residents[rows]
    enough = living >= LEAST_RESIDENTS
    columns = counts.columns(living, int(residents.sum()))
    del columns["caution"]  # that of a count; here it belongs to the ratio
    table = pandas.DataFrame(
        units.table(rows, "unit_id", "name", "kind")
        | {"partly": (n_mine < units.n_blocks)[rows], "jobs": here, **columns}
        | {
            "jobs_per_resident": np.divide(here, living, out=np.full(len(rows), math.nan), where=enough),
            "jobs_per_resident_error": np.full(len(rows), math.nan),
            "caution": np.where(enough, "", np.where(living > 0, FEW_RESIDENTS, NO_RESIDENTS)),
        }
    )
    return int(jobs.sum()), int(residents.sum()), table


def notes_on(coverage: tuple[Note, ...], *, n_left_out: int) -> tuple[Note, ...]:
    """Return the notes to show with the ratio: which jobs are missing, and what was left out.

    Parameters
    ----------
    coverage : tuple of Note
        Which workplaces the release covers.
    n_left_out : int
        Blocks of the area whose jobs the release does not have.
    """
    notes = tuple(
        replace(
            note,
            text=f"{note.text} Near state borders, the number of jobs per resident worker is therefore too high.",
        )
        for note in coverage
    )
    if n_left_out:
        s = "s" * (n_left_out != 1)
        are = "are" if n_left_out != 1 else "is"
        text = f"{n_left_out:,} block{s} in states that the release does not cover {are} left out."
        notes += (Note(LEFT_OUT, text),)
    return notes


def _counts(areas: Areas, answer: JobBalance) -> Counts:
    blocks = areas.keep_workplaces(areas.select(answer.about.area_text).blocks)
    kept = kept_by(answer)
    residents = Pick(home=blocks, filters=kept)
    numbers = {"workers": residents, "jobs": Pick(work=blocks, filters=kept)}
    return numbers, {"units": by_unit(residents, "home", areas.units(answer.layer))}


def _add_ratio_errors(answer: JobBalance) -> JobBalance:
    units = answer.units
    residents = units["workers"].to_numpy(np.float64)
    error = (
        units["jobs_per_resident"].to_numpy() * units["expected_error"].to_numpy() / np.maximum(residents, 1)
    )
    if answer.jobs.expected_error:  # the jobs of single units have no error of their own in the table
        error = np.full(len(units), math.nan)
    return replace(
        answer,
        jobs_per_resident=ratio_of(answer.jobs.value, answer.workers, answer.jobs.expected_error or 0.0),
        units=units.assign(jobs_per_resident_error=error),
    )


# How it is computed and shown


def _unit(result: JobBalance) -> str:
    return words.level_word(result.layer)


def _all_units(result: JobBalance) -> str:
    units, word = result.units, _unit(result)
    rest = f", and what is outside any {word}" if n_places(units) < len(units) else ""
    return (
        f"All {n_places(units):,} {words.plural(word)} of the area{rest}, most resident workers first. "
        "If a unit is only partly in the area, only that part counts."
    )


def _where_most_live(result: JobBalance) -> str:
    n_rows = n_places(result.units)
    which = f": the {BARS} largest of {n_rows:,}" if n_rows > BARS else ""
    return f"Where resident workers live, by {_unit(result)}{which}"


def _tail(result: JobBalance) -> str:
    ratio = result.jobs_per_resident.value
    per_resident = "" if ratio is None else f", {words.ratio(ratio)} for each of them"
    return f", where there are {result.jobs.value:,} jobs{per_resident}"


def _glance(result: JobBalance) -> str:
    ratio = result.jobs_per_resident
    return ratio.caution if ratio.value is None else f"{words.ratio(ratio.value)} jobs per resident worker"


def _hover(row: Row) -> tuple[str, ...]:
    first = (
        row.caution
        if math.isnan(row.jobs_per_resident)
        else (f"{words.ratio(row.jobs_per_resident)} jobs per resident worker")
    )
    return first, f"{row.jobs:,} jobs", f"{row.workers:,} workers live here"


def _findings(result: JobBalance) -> tuple[str, ...]:
    """Return the ratio with both counts, and of the units with errors those with the highest and lowest ratio."""
    about, place = result.about, _counted_place(result)
    jobs, residents, ratio = amount(result.jobs), amount(result.workers), result.jobs_per_resident
    those = f" for people in the chosen groups ({about.filters})" if about.filters else ""
    verb = "is" if jobs.shown == 1 else "are"
    there = "" if place == covered_in(about) else " there"
    living = f"{subject(residents, about, ' in these groups' * bool(those))} live{residents.s}{there}"
    living += and_work(about, place, residents.s)
    noun = counted_jobs(about) or "jobs"
    first = f"There {verb} {jobs.of(noun[:-1], noun)}{those} {place}, and {living}"
    per_resident = (
        "" if ratio.value is None else f": {words.ratio(ratio.value)} jobs for each resident worker"
    )
    error = words.ratio_error(ratio.expected_error, sign=", ±") if ratio.value is not None else ""
    return tuple(
        text for text in (f"{first}{residents.error}{per_resident}{error}.", _extremes(result)) if text
    )


def _counted_place(result: JobBalance) -> str:
    """Return the area of an answer with its preposition, without the states that are left out."""
    place, covered = where(result.about), covered_in(result.about)
    if covered == EVERYWHERE or not result.about.has_note(LEFT_OUT):
        return place
    return covered if place == EVERYWHERE else f"{place} ({covered} only)"


def _extremes(result: JobBalance) -> str:
    """Return which units have the most and the fewest jobs per resident worker; empty if the errors leave it open."""
    units = result.units
    is_known = (units["kind"] == "unit") & units["jobs_per_resident_error"].notna()
    known = np.flatnonzero(is_known)
    if len(known) < 2:
        return ""
    order = np.argsort(units["jobs_per_resident"].to_numpy()[known], kind="stable")
    ends = [int(known[order[place]]) for place in (0, -1)]
    names = first_spoken(units["name"].tolist(), ends)
    low, high = (units.iloc[row] for row in ends)
    lowest, highest = (names[row] for row in ends)
    error = math.hypot(low.jobs_per_resident_error, high.jobs_per_resident_error)
    if high.jobs_per_resident - low.jobs_per_resident <= 2 * error:
        return ""
    n, word = len(known), words.plural(_unit(result))
    every = n == (result.units["kind"] == "unit").sum()
    which = f"the {n} {word}" if every else f"the {n} {word} with the most resident workers"
    return (
        f"Of {which}, {highest} has the most jobs per resident worker ({words.ratio(high.jobs_per_resident)}), "
        f"and {lowest} the fewest ({words.ratio(low.jobs_per_resident)})."
    )


ENTRY: Final = Entry(
    counts=_counts,
    findings=_findings,
    asked="jobs_per_resident",
    with_derived_errors=_add_ratio_errors,
    numbers=(
        NumberEntry("jobs", "Jobs in the area", tile="jobs in the area", unit="jobs"),
        NumberEntry(
            "workers", lambda result: f"Workers who live in the area and work {covered_in(result.about)}"
        ),
        NumberEntry(
            "jobs_per_resident",
            "Jobs per resident worker",
            "ratio",
            "jobs per resident worker",
            changed="jobs per resident worker",
        ),
    ),
    n_about=lambda result: result.workers.value + result.jobs.value,
    glance=_glance,
    clause="live{s} in {here} and work{s} {covered}",
    tail=_tail,
    tables={
        "units": TableEntry(
            lambda result: f"Jobs and resident workers by {_unit(result)}",
            _all_units,
            {
                "jobs": ColumnEntry("Jobs", "count"),
                "workers": ColumnEntry("Resident workers", "count"),
                "share": ColumnEntry("Share of resident workers", "share"),
                "expected_error": ColumnEntry("Expected error of resident workers", "error"),
                "jobs_per_resident": ColumnEntry("Jobs per resident worker", "ratio"),
                "jobs_per_resident_error": ColumnEntry("Expected error of the ratio", "ratio error"),
            },
        )
    },
    cells={
        "jobs": ColumnEntry("Jobs", "count"),
        "workers": ColumnEntry("Live here", "count"),
        "jobs_per_resident": ColumnEntry("Jobs per worker", "ratio"),
        "jobs_per_resident_error": ColumnEntry("±", "ratio error"),
    },
    compared="units",
    keys=("unit_id", "kind"),
    names=("name",),
    measure=MeasureEntry("Jobs per resident worker", "jobs_per_resident", "jobs_per_resident_error", "ratio"),
    bars=(BarsEntry(_where_most_live, "units", "name", n_rows=BARS),),
    ratio_map=RatioMap(
        column="jobs_per_resident",
        legend="Jobs per worker<br>who lives in each {unit}",
        blank=f"under {LEAST_RESIDENTS} residents",
        caption="Jobs per resident worker in {here}, by {unit}",
        hover=_hover,
    ),
)
