"""One entry per analysis: how to compute its answer, and the key numbers, tables and bars to show.

The page, reports, exports and the command line are generated from these entries. `mapapp.question.analyses` declares
the fields of the question and the ways to draw it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pandas

from geodata.store.schema import AGE_BANDS, EARNINGS_BANDS, INDUSTRY_GROUPS
from mapapp.answers import words
from mapapp.answers.analyses import characteristics, cross_table_entry, grids, job_balance, picks_of_numbers
from mapapp.answers.analyses.counts import n_places
from mapapp.answers.analyses.entry import (
    BarsEntry,
    Entry,
    NumberEntry,
    PageTable,
    TableEntry,
    WideTable,
    text_of,
    to_pair,
    to_pair_with_area,
)
from mapapp.answers.analyses.grids import Limit
from mapapp.answers.analyses.measures import Number, Value
from mapapp.answers.analyses.results import (
    AreaComparison,
    AreaProfile,
    Destinations,
    DistanceDirection,
    FlowMatrix,
    InflowOutflow,
    PairedAreas,
    Result,
)
from mapapp.answers.findings import sentences
from mapapp.answers.findings.words import covered_in, residents
from mapapp.question.filters import CHARACTERISTICS
from mapapp.question.question import OTHER_END

# Tables on the page with several counts in a row.


def by_direction(answer: DistanceDirection) -> WideTable:
    """Return a row for each direction and a column for each distance, and all distances together."""
    cells = answer.cells.assign(counts=_counts(answer.cells))
    wide = cells.pivot(index="direction", columns="band", values="counts")
    directions = answer.directions
    all_distances = zip(directions["direction"], _counts(directions), strict=True)
    counts = [[*wide.loc[direction], every] for direction, every in all_distances]
    rows = directions.assign(sub="", counts=pandas.Series(counts, index=directions.index))
    return WideTable((*answer.bands["label"], "All"), rows)


def by_group(answer: InflowOutflow) -> WideTable:
    """Return a row for each band of age, earnings, and industry, and columns for those who come, go, and stay."""
    segments = answer.segments.assign(counts=_counts(answer.segments))
    wide = segments.pivot(index=["characteristic", "band"], columns="group", values="counts")
    rows = segments.drop_duplicates(["characteristic", "band"])[["characteristic", "band", "label"]]
    keys = zip(rows["characteristic"], rows["band"], strict=True)
    counts = [[*wide.loc[key, ["inflow", "outflow", "stay"]]] for key in keys]
    rows = rows.assign(
        sub=rows["characteristic"].map(words.BAND_TITLES), counts=pandas.Series(counts, index=rows.index)
    )
    return WideTable(("In", "Out", "Stay"), rows)


def by_segment(answer: AreaProfile) -> WideTable:
    """Return a row for each band of earnings, under its band of age, and columns for industries; with all margins."""
    workers, errors = grids.cube(answer)
    of_age, of_pay, of_industry = (grids.order_of(answer, name) for name in CHARACTERISTICS)
    heads = tuple((*INDUSTRY_GROUPS, grids.ALL_INDUSTRIES)[industry - 1] for industry in of_industry)
    rows: list[tuple[str, str, list[tuple[int, float]]]] = []
    for age in of_age:
        rows.append((f"Age {AGE_BANDS[age - 1]}" if age else "All ages", "", []))
        for earnings in of_pay:
            cells = [(age, earnings, industry) for industry in of_industry]
            counts = [(int(workers[cell]), float(errors[cell])) for cell in cells]
            rows.append((EARNINGS_BANDS[earnings - 1] if earnings else "All earnings", "", counts))
    return WideTable(heads, pandas.DataFrame(rows, columns=["label", "sub", "counts"]))


def _counts(frame: pandas.DataFrame) -> pandas.Series:
    """Return the workers of each row and their expected error, as pairs."""
    pairs = zip(frame["workers"].tolist(), frame["expected_error"].tolist(), strict=True)
    return pandas.Series(list(pairs), index=frame.index)


LARGEST_ROWS: Final = 8
_N_SEGMENT_ROWS: Final = 27  # all of them are shown


def entry_of(result: Result) -> Entry:
    """Return the entry of an answer's analysis."""
    return ENTRIES[result.about.analysis]


def headline_of(result: Result) -> Number:
    """Return the number of an answer that is shown first."""
    return entry_of(result).headline(result)


def n_about(result: Result) -> int:
    """Return how many workers or jobs an answer covers; if it is 0, there is nothing to show."""
    entry = entry_of(result)
    return entry.headline(result).value if entry.n_about is None else entry.n_about(result)


def clause_of(result: Result) -> str:
    """Return the rest of the sentence that begins with the first number; empty if the side says it."""
    return text_of(entry_of(result).clause, result)


def counted_unit(result: Result, n: int, subject: str) -> str:
    """Return what the first number of an answer counts: of most analyses the publication's subject, in the plural."""
    unit = entry_of(result).unit or subject
    return unit.removesuffix("s") if n == 1 else unit


def numbers_of(result: Result) -> Iterator[tuple[NumberEntry, Value]]:
    """Return the key numbers of an answer, each with its entry."""
    return ((number, number.of(result)) for number in entry_of(result).numbers)


def grid_of(result: Result, limit: Limit | None = None) -> pandas.DataFrame | None:
    """Return an answer as a table with two sides and their totals; None if its analysis has no such table.

    Raises
    ------
    UsageError
        If there is no limit and the table has too many cells.
    """
    makes = entry_of(result).grid
    return None if makes is None or result.has_several else makes(result, limit)


# Texts about the answers

_END: Final = {"work": "workplaces", "home": "homes"}


def _who(result: Result) -> str:
    side = result.about.side
    if side == "home":
        return residents("Workers who live in the area", result.about)
    return "Workers" if side is None else "Workers who work in the area"


def _all_who_live(where: str) -> Callable[[Result], str]:
    return lambda result: residents(f"All who live {where}", result.about)


def _who_stay(result: Result) -> str:
    return residents("Share who stay (self-containment), of all who live here", result.about)


def _units(layer: str) -> str:
    return words.plural(words.level_word(layer))


def _homes_of(result: FlowMatrix) -> str:
    return f"{_units(result.home_layer)} and states where they live"


def _works_of(result: FlowMatrix) -> str:
    return f"{_units(result.work_layer)} where they work"


def _capital(text: Callable[[FlowMatrix], str]) -> Callable[[FlowMatrix], str]:
    def capital(result: FlowMatrix) -> str:
        label = text(result)
        return label[0].upper() + label[1:]

    return capital


def _by_unit(ends: dict[str, str]) -> Callable[[AreaComparison | Destinations], str]:
    def title(result: AreaComparison | Destinations) -> str:
        return f"{ends[result.about.area_side].capitalize()} by {words.level_word(result.layer)}"

    return title


_PAGE_END: Final = {"work": "Where they work", "home": "Where they live"}


def _compared_title(result: AreaComparison) -> str:
    """The title of a comparison on the page; before an area is chosen, it shows where all workers are."""
    if result.about.area_text == "all":
        return _PAGE_END[result.about.area_side]
    return f"Compared: {_units(result.layer)}"


def _other_end_title(result: Result) -> str:
    return _PAGE_END[OTHER_END[result.about.area_side]]


def _all_rows(units: pandas.DataFrame, layer: str) -> str:
    """Return what the rows of a table of units are; people in no unit have a row, too."""
    word, n = words.level_word(layer), n_places(units)
    rest = f", and the workers outside any {word}" if n < len(units) else ""
    return (
        f"All {n:,} {words.plural(word)} and states outside the mapped area{rest}, most workers first; "
        "such states come last."
    )


def _all_units(result: AreaComparison | Destinations) -> str:
    return _all_rows(result.units, result.layer)


def _all_parts(result: AreaComparison) -> str:
    return f"{_all_units(result)} If a unit is only partly in the area, only that part counts."


def _largest(result: AreaComparison | Destinations) -> str:
    n_units = int((result.units["kind"] == "unit").sum())
    which = f": the {LARGEST_ROWS} largest of {n_units:,}" if n_units > LARGEST_ROWS else ""
    return f"Workers by {words.level_word(result.layer)}{which}"


def _direction_words(result: DistanceDirection) -> str:
    return f"From the area's end of a commute to the {words.OTHER_END[result.about.area_side]}."


def _cells_title(result: FlowMatrix) -> str:
    return f"From {words.level_word(result.home_layer)} to {words.level_word(result.work_layer)}"


def _all_three(result: InflowOutflow) -> Number:
    """Everyone whom the three groups of inflow and outflow have.

    Where the number of people who work in the area is exact, the error is that of the residents who work elsewhere.
    """
    error = result.outflow.expected_error if result.employed.expected_error == 0 else None
    return Number(result.employed.value + result.outflow.value, expected_error=error)


def _in_and_out(result: InflowOutflow) -> str:
    return f"{result.inflow.value:,} in · {result.outflow.value:,} out · {result.stay.value:,} stay"


def _workers_and_median(result: DistanceDirection | PairedAreas) -> str:
    return f"{result.workers.value:,} workers · median {words.miles(result.median_mi.value)}"


def _half_of_them(result: DistanceDirection | PairedAreas) -> str:
    median = result.median_mi.value
    return "" if median is None else f"; half of them commute at most {words.miles(median)}"


_FROM_TO: Final = "live{s} in {home} and work{s} in {work}"
_WORKERS: Final = NumberEntry("workers", _who)
_MEDIAN: Final = NumberEntry(
    "median_mi",
    "Median distance from home to work",
    "miles",
    "median distance, home to work",
    changed="median distance",
)
_BANDS: Final = TableEntry("Age, earnings, and industry", "Shares are within each characteristic.")
_DISTANCES: Final = TableEntry("Distance from home to work", "Great-circle miles between blocks.")
_WHO_THEY_ARE: Final = BarsEntry("Who they are", "bands", by_characteristic=True)
_ATTRIBUTES: Final = BarsEntry("Further attributes", "attributes", group="title")
_LARGEST_BARS: Final = BarsEntry(_largest, "units", "name", n_rows=LARGEST_ROWS)

ENTRIES: Final[dict[str, Entry]] = {
    "profile": Entry(
        counts=picks_of_numbers.of_profile,
        findings=sentences.of_profile,
        numbers=(_WORKERS,),
        tables={
            "bands": _BANDS,
            "segments": TableEntry("Age, earnings, and industry together", "All 27 joint segments."),
            "margins": TableEntry(
                "Two characteristics together", "Band 0 of a characteristic means all of its bands."
            ),
            "attributes": TableEntry(
                "Further attributes", "Shares are within each attribute.", every_error=True
            ),
        },
        page_table=PageTable("Age, earnings, and industry together", "Earnings by age", wide=by_segment),
        grid=grids.of_profile,
        in_grid=("segments", "margins"),
        n_error_rows=_N_SEGMENT_ROWS,
        characteristics=True,
        compared="bands",
        keys=("characteristic", "band"),
        names=("label",),
        bars=(_WHO_THEY_ARE, _ATTRIBUTES),
    ),
    "cross-table": cross_table_entry.ENTRY,
    "comparison": Entry(
        counts=picks_of_numbers.of_comparison,
        findings=sentences.of_comparison,
        numbers=(_WORKERS,),
        tables={"units": TableEntry(_by_unit(_END), _all_parts, bands_apart=True)},
        page_title=_compared_title,
        lists_largest=True,
        compared="units",
        keys=("unit_id", "kind"),
        names=("name",),
        bars=(_LARGEST_BARS,),
    ),
    "destinations": Entry(
        counts=picks_of_numbers.of_destinations,
        findings=sentences.of_destinations,
        numbers=(_WORKERS,),
        tables={"units": TableEntry(_by_unit(words.OTHER_END), _all_units)},
        page_title=_other_end_title,
        row_link=to_pair_with_area,
        lists_largest=True,
        compared="units",
        keys=("unit_id", "kind"),
        names=("name",),
        bars=(_LARGEST_BARS,),
    ),
    "distance-direction": Entry(
        counts=picks_of_numbers.of_distance_direction,
        findings=sentences.of_distance_direction,
        numbers=(
            _WORKERS,
            _MEDIAN,
            NumberEntry(
                "mean_under_100_mi",
                "Mean distance of the commutes under 100 miles",
                "miles",
                "mean of the commutes under 100 miles",
                changed="mean distance under 100 miles",
            ),
        ),
        glance=_workers_and_median,
        tail=_half_of_them,
        tables={
            "cells": TableEntry(
                "Distance and direction together", "Every combination of a distance and a direction."
            ),
            "bands": _DISTANCES,
            "directions": TableEntry("Direction", _direction_words),
        },
        page_table=PageTable("Direction and distance", "Direction", wide=by_direction),
        distance_tables=("cells", "bands", "directions"),
        compared="cells",
        keys=("band", "direction"),
        names=("band_label",),
        bars=(BarsEntry("Distance from home to work", "bands"),),
        chart="rose",
    ),
    "inflow-outflow": Entry(
        counts=picks_of_numbers.of_inflow_outflow,
        findings=sentences.of_inflow_outflow,
        n_counting_sentences=2,
        headline=_all_three,
        glance=_in_and_out,
        clause="work{s} in {here}, or live{s} there and work{s} {covered}",
        numbers=(
            NumberEntry(
                "inflow", "Come in: work here, live elsewhere", tile="come in: work here, live outside"
            ),
            NumberEntry(
                "outflow", "Go out: live here, work elsewhere", tile="go out: live here, work outside"
            ),
            NumberEntry("stay", "Live and work here", tile="live and work here"),
            NumberEntry("employed", "All who work here"),
            NumberEntry("living", _all_who_live("here")),
            NumberEntry("net_inflow", "Net flow: in minus out", "change", "net flow, in minus out"),
            NumberEntry(
                "stay_of_living",
                _who_stay,
                "share",
                lambda result: (
                    f"of the residents who work {covered_in(result.about)} stay (self-containment)"
                ),
            ),
            NumberEntry(
                "stay_of_employed",
                "Jobs here held by residents",
                "share",
                "of the jobs here are held by residents",
            ),
        ),
        tables={
            "groups": TableEntry("Who comes, goes, and stays", "Shares are of the three groups together."),
            "segments": TableEntry(
                "The three groups by age, earnings, and industry", "Shares are within each group."
            ),
        },
        page_table=PageTable("Who comes, goes, and stays", "Workers", wide=by_group),
        n_error_rows=_N_SEGMENT_ROWS,
        compared="groups",
        keys=("group",),
        names=("label",),
        chart="inflow",
    ),
    "job-balance": job_balance.ENTRY,
    "characteristics": characteristics.ENTRY,
    "paired": Entry(
        counts=picks_of_numbers.of_paired,
        findings=sentences.of_paired,
        glance=_workers_and_median,
        clause=_FROM_TO,
        numbers=(
            NumberEntry("workers", "Live in the home area, work in the work area"),
            NumberEntry("living", _all_who_live("in the home area")),
            NumberEntry("employed", "All who work in the work area"),
            NumberEntry(
                "share_of_living",
                lambda result: residents("Of all who live in the home area", result.about),
                "share",
                lambda result: residents(f"of the {result.living.value:,} who live there", result.about),
            ),
            NumberEntry(
                "share_of_employed",
                "Of all who work in the work area",
                "share",
                lambda result: f"of the {result.employed.value:,} who work there",
            ),
            _MEDIAN,
        ),
        tables={"bands": _BANDS, "distances": _DISTANCES},
        distance_tables=("distances",),
        page_table=PageTable("Who they are", "", "bands"),
        compared="bands",
        keys=("characteristic", "band"),
        names=("label",),
        bars=(BarsEntry("Distance from home to work", "distances"), _WHO_THEY_ARE),
    ),
    "flow-matrix": Entry(
        counts=picks_of_numbers.of_flow_matrix,
        findings=sentences.of_flow_matrix,
        clause=_FROM_TO,
        numbers=(
            _WORKERS,
            NumberEntry(
                "homes",
                _capital(_homes_of),
                tile=_homes_of,
                value=lambda result: n_places(result.homes),
                unit="places",
            ),
            NumberEntry(
                "works",
                _capital(_works_of),
                tile=_works_of,
                value=lambda result: n_places(result.works),
                unit="places",
            ),
            NumberEntry(
                "cells",
                "Pairs with workers",
                tile="pairs with workers",
                value=lambda result: len(result.cells),
                unit="pairs",
            ),
        ),
        tables={
            "cells": TableEntry(
                _cells_title, lambda result: f"All {len(result.cells):,} pairs with workers."
            ),
            "homes": TableEntry(
                lambda result: f"Homes by {words.level_word(result.home_layer)}",
                lambda result: _all_rows(result.homes, result.home_layer),
            ),
            "works": TableEntry(
                lambda result: f"Workplaces by {words.level_word(result.work_layer)}",
                lambda result: _all_rows(result.works, result.work_layer),
            ),
        },
        page_table=PageTable("From home to work", "Home → work", "cells"),
        row_link=to_pair,
        grid=grids.of_flow_matrix,
        pairs="cells",
        compared="cells",
        keys=("home_id", "home_kind", "work_id", "work_kind"),
        names=("home_name", "work_name"),
        chart="heat map",
    ),
}
"""By name of the analysis, as in `mapapp.question.analyses.ANALYSES`."""
