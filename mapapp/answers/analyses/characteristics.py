"""Published characteristics: the jobs of an area by industry, education, and more, and one class of them by unit.

All numbers are copied from files of LODES, so none has an expected error of ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas

from geodata.store.characteristic_groups import GROUP_OF, CharacteristicGroup
from mapapp.answers import words
from mapapp.answers.analyses.counts import cautions, n_places
from mapapp.answers.analyses.entry import (
    BarsEntry,
    ColumnEntry,
    Entry,
    MeasureEntry,
    NumberEntry,
    RatioMap,
    TableEntry,
    to_unit,
)
from mapapp.answers.analyses.measures import Number, Row
from mapapp.answers.analyses.place_characteristics import AreaCounts, add_cautions
from mapapp.answers.analyses.results import Result
from mapapp.answers.areas.layer_units import LayerUnits
from mapapp.answers.findings.words import EVERYWHERE, capital, counted_jobs, first_spoken, share_text, where
from mapapp.base.errors import UsageError
from mapapp.question.filters import CHARACTERISTICS

if TYPE_CHECKING:
    from mapapp.answers.analyses.picks_of_numbers import Counts
    from mapapp.answers.areas.areas import Areas

LEAST_JOBS: Final = 100
"""Units with fewer jobs come last in the table, because a few jobs decide their share."""
_BARS: Final = 10
_TWO_WAY_TITLES: Final = {"age": "Age", "earnings": "earnings", "industry": "industry group"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Characteristics(Result):
    """Published counts of the jobs in an area, or of those that its residents hold.

    Attributes
    ----------
    layer : str
        A key of `mapapp.answers.areas.levels.LEVEL_LABELS`.
    characteristic : str
        Column of the files whose jobs are counted by unit, such as CNS16.
    label : str
        What that column counts.
    counted : Number
        Jobs of that column.
    share_of_known : float or None
        Their share of the next number; None if that is 0.
    known : Number
        Jobs of the group of that column: of education, those of workers aged 30 or older.
    jobs : Number
        All jobs.
    units : DataFrame
        ``unit_id``, ``name``, ``kind``, ``partly`` (only some of the unit's blocks are in the area), ``jobs`` (of the
        group), worker columns of the jobs of the chosen column, and ``share_of_jobs``, the unit's share (NaN without
        jobs). The largest share first; units with fewer than `LEAST_JOBS` jobs of the group come after the others.
    classes : DataFrame
        ``attribute``, ``title``, ``code``, ``label``, and worker columns: every class of every group that the files
        have. Shares are within each group.
    two_way : DataFrame
        ``title``, ``age``, ``earnings``, ``industry`` (1..3; 0 for every band), ``label``, and worker columns: jobs by
        two of the three, where the files of one's segments are there. Without rows if not, and then not among
        `tables()`.
    """

    layer: str
    characteristic: str
    label: str
    counted: Number
    share_of_known: float | None
    known: Number
    jobs: Number
    units: pandas.DataFrame
    classes: pandas.DataFrame
    two_way: pandas.DataFrame

    @property
    def group(self) -> CharacteristicGroup:
        """The group of the chosen column."""
        return GROUP_OF[self.characteristic]

    def _fields(self) -> list[tuple[str, object]]:
        fields = Result._fields(self)
        return fields if len(self.two_way) else [field for field in fields if field[0] != "two_way"]


def group_of(counts: AreaCounts, characteristic: str) -> CharacteristicGroup:
    """Return the group of a column.

    Raises
    ------
    UsageError
        There is no such column, or the files do not have it.
    """
    if characteristic not in GROUP_OF:
        raise UsageError(
            f"characteristic {str(characteristic)[:40]!r} does not exist; choose a column of WAC files, such as CNS16"
        )
    group = GROUP_OF[characteristic]
    if refusal := counts.refusal(group):
        raise UsageError(refusal)
    return group


def unit_rows(counts: AreaCounts, units: LayerUnits, characteristic: str) -> pandas.DataFrame:
    """Return the rows of `Characteristics.units`."""
    codes = GROUP_OF[characteristic].codes
    jobs, workers = np.zeros((2, len(units.rows)), dtype=np.int64)
    for code in codes:
        for part in counts.by_block(codes, code):
            here = units.of(part.block, part.jobs)
            jobs += here
            workers += here if code == characteristic else 0
    n_mine = np.bincount(units.code[counts.inside], minlength=len(units.rows))
    kinds = units.rows["kind"].to_numpy(dtype=object)
    rows = np.flatnonzero(n_mine > 0)
    share = np.divide(workers, jobs, out=np.full(len(jobs), math.nan), where=jobs > 0)
    # In the order of: kind, enough jobs, share, jobs.
    rows = rows[
        np.lexsort(
            (
                -jobs[rows],
                -np.nan_to_num(share[rows], nan=-1.0),
                jobs[rows] < LEAST_JOBS,
                kinds[rows] != "unit",
            )
        )
    ]
    return pandas.DataFrame(
        units.table(rows, "unit_id", "name", "kind")
        | {
            "partly": (n_mine < units.n_blocks)[rows],
            "jobs": jobs[rows],
            "workers": workers[rows],
            "share": workers[rows] / max(int(workers.sum()), 1),
            "expected_error": np.full(len(rows), math.nan),
            "caution": cautions(workers[rows]),
            "share_of_jobs": share[rows],
        }
    )


def two_way_rows(counts: AreaCounts) -> pandas.DataFrame:
    """Return the rows of `Characteristics.two_way`; shares are of all jobs in the table."""
    rows: list[tuple[object, ...]] = []
    for (first, second), jobs in counts.two_way().items():
        title = f"{capital(_TWO_WAY_TITLES[first])} by {_TWO_WAY_TITLES[second].lower()}"
        whole = max(int(jobs.sum()), 1)
        for at, band in np.ndindex(3, 3):
            bands = {first: at + 1, second: band + 1}
            label = ", ".join(CHARACTERISTICS[name][n - 1] for name, n in bands.items())
            n = int(jobs[at, band])
            rows.append((title, *(bands.get(name, 0) for name in CHARACTERISTICS), label, n, n / whole))
    names = ["title", *CHARACTERISTICS, "label", "workers", "share"]
    return add_cautions(pandas.DataFrame(rows, columns=names))


# How it is shown

_HELD: Final = "are held by workers "
_PHRASES: Final = {
    "age": f"{_HELD}aged {{}}",
    "earnings": "pay {}",
    "sector": "are in {}",
    "race": f"{_HELD}whose race is {{}}",
    "ethnicity": f"{_HELD}who are {{}}",
    "education": f"{_HELD}with this education: {{}}",
    "sex": f"{_HELD}whose sex is {{}}",
    "firm_age": "are at firms that are {} old",
    "firm_size": "are at firms with {}",
}
"""What a sentence says of jobs in a class, by group."""
_PROPER: Final = ("race",)
"""Groups whose labels begin with a capital within a sentence."""


def _count_nothing(areas: Areas, answer: Characteristics) -> Counts:
    return {}, {}


def class_phrase(answer: Characteristics) -> str:
    """Return what a sentence says of the counted jobs, such as "are in health care and social assistance"."""
    group, label = answer.group, answer.label
    lower = label if group.name in _PROPER else label[:1].lower() + label[1:]
    return _PHRASES[group.name].format(lower)


def jobs_words(answer: Characteristics) -> str:
    """Return which jobs an answer is about, such as "jobs in Warwick" or "jobs of people who live in Warwick"."""
    place, jobs = where(answer.about), counted_jobs(answer.about) or "jobs"
    if answer.about.side == "work":
        return jobs if place == EVERYWHERE else f"{jobs} {place}"
    return f"{jobs} of residents" if place == EVERYWHERE else f"{jobs} of people who live {place}"


def _findings(answer: Characteristics) -> tuple[str, ...]:
    """Return the share of the chosen class, and the units with the largest and the smallest share."""
    jobs, known, counted = (number.value for number in (answer.jobs, answer.known, answer.counted))
    those = f" in the chosen group ({answer.about.filters})" if answer.about.filters else ""
    if not jobs:
        return (f"No {jobs_words(answer)}{those} are counted.",)
    if not known:
        return (f"Of the {jobs:,} {jobs_words(answer)}{those}, none are in this group.",)
    of = f"{known:,} {jobs_words(answer)}{those}"
    if known != jobs:
        of += f" of which this is published ({jobs:,} in all)"
    first = f"Of the {of}, {counted:,} ({share_text(counted, known)}) {class_phrase(answer)}."
    return tuple(text for text in (first, _extremes(answer)) if text)


def _extremes(answer: Characteristics) -> str:
    units = answer.units
    enough = np.flatnonzero((units["kind"] == "unit") & (units["jobs"] >= LEAST_JOBS))
    if len(enough) < 2:
        return ""
    ends = [int(enough[0]), int(enough[-1])]
    names = first_spoken(units["name"].tolist(), ends)
    most, least = (units.iloc[at] for at in ends)
    if most.share_of_jobs == least.share_of_jobs:
        return ""
    word = words.plural(words.level_word(answer.layer))
    which = f"the {len(enough):,} {word} with at least {LEAST_JOBS} jobs"
    texts = [
        f"{names[at]} ({share_text(row.workers, row.jobs)})"
        for at, row in zip(ends, (most, least), strict=True)
    ]
    return f"Of {which}, the share is largest in {texts[0]} and smallest in {texts[1]}."


def _clause(answer: Characteristics) -> str:
    if answer.about.side == "work":
        return f"in {{here}}: {answer.label}"
    return f"held by residents of {{here}}: {answer.label}"


def _share_label(answer: Characteristics) -> str:
    return "Share of jobs of workers 30 or older" if answer.group.name == "education" else "Share of jobs"


def _units_title(answer: Characteristics) -> str:
    return f"{answer.label}, by {words.level_word(answer.layer)}"


def _units_words(answer: Characteristics) -> str:
    word = words.level_word(answer.layer)
    return (
        f"All {n_places(answer.units):,} {words.plural(word)} of the area, the largest share first; those with fewer "
        f"than {LEAST_JOBS} jobs come after the others. If a unit is only partly in the area, only that part counts."
    )


def _largest(answer: Characteristics) -> str:
    n_rows = n_places(answer.units)
    which = f": the {_BARS} largest of {n_rows:,}" if n_rows > _BARS else ""
    return f"Most jobs of this class, by {words.level_word(answer.layer)}{which}"


def _glance(answer: Characteristics) -> str:
    share = words.percent(answer.share_of_known)
    return f"{share} of jobs: {answer.label}"


def _caption(answer: Characteristics) -> str:
    of = "jobs" if answer.about.side == "work" else "residents' jobs"
    return f"{answer.label}: share of {of} in {{here}}, by {{unit}}"


def _hover(row: Row) -> tuple[str, ...]:
    if not row.jobs:
        return ("no jobs are counted here",)
    few = (f"fewer than {LEAST_JOBS} jobs decide this share",) if row.jobs < LEAST_JOBS else ()
    return (f"{100 * row.share_of_jobs:.1f}% of jobs", f"{row.workers:,} of {row.jobs:,} jobs", *few)


_JOBS: Final = {"workers": ColumnEntry("Jobs", "count")}

ENTRY: Final = Entry(
    counts=_count_nothing,
    findings=_findings,
    is_published=True,
    unit="jobs",
    counted=lambda answer: f"{jobs_words(answer)} of the class “{answer.label}”",
    headline=lambda answer: answer.counted,
    n_about=lambda answer: answer.jobs.value,
    glance=_glance,
    clause=_clause,
    numbers=(
        NumberEntry("counted", lambda answer: f"Jobs: {answer.label}", unit="jobs"),
        NumberEntry("share_of_known", _share_label, "share", lambda answer: _share_label(answer).lower()),
        NumberEntry("known", "Jobs of which this is published", unit="jobs"),
        NumberEntry("jobs", "All jobs", tile="all jobs", unit="jobs"),
    ),
    tables={
        "units": TableEntry(
            _units_title,
            _units_words,
            {
                "jobs": ColumnEntry("Jobs", "count"),
                "workers": ColumnEntry("Jobs of the class", "count"),
                "share": ColumnEntry("Share of all jobs of the class", "share"),
                "share_of_jobs": ColumnEntry("Share of the unit's jobs", "share"),
            },
        ),
        "classes": TableEntry(
            "Jobs by industry, education, and more", "Shares are within each characteristic.", _JOBS
        ),
        "two_way": TableEntry(
            "Two characteristics together",
            "Published counts of the files of single segments. Band 0 of a characteristic means all of its bands.",
            _JOBS,
        ),
    },
    cells={
        "jobs": ColumnEntry("Jobs", "count"),
        "workers": ColumnEntry("Of this class", "count"),
        "share_of_jobs": ColumnEntry("Share", "share"),
    },
    row_link=to_unit,
    compared="units",
    keys=("unit_id", "kind"),
    names=("name",),
    measure=MeasureEntry("Jobs"),
    bars=(
        BarsEntry(_largest, "units", "name", n_rows=_BARS, by_size=True),
        BarsEntry("Jobs by industry, education, and more", "classes", group="title"),
        BarsEntry("Two characteristics together", "two_way", group="title"),
    ),
    ratio_map=RatioMap(
        column="share_of_jobs",
        legend=lambda answer: f"{_share_label(answer)}<br>in each {{unit}}<br>{answer.label}",
        blank="none",
        caption=_caption,
        hover=_hover,
    ),
)
