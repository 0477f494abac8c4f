"""The sentences that each answer begins with, made from its numbers and their expected errors.

Each analysis declares one of these functions in its entry. The sentences say "about" and "±" where a number has an
expected error, and order rows only as far as the errors allow. They say less of an answer without errors, or with few
workers.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import pandas

from geodata.store.schema import AGE_BANDS, EARNINGS_BANDS, INDUSTRY_GROUPS
from geodata.text import list_names
from mapapp.answers import words
from mapapp.answers.analyses.about import ASSIGNED_TOGETHER
from mapapp.answers.analyses.measures import Number
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
from mapapp.answers.areas.unit_names import spoken_name
from mapapp.answers.findings.words import (
    EVERYWHERE,
    LEAST_WORKERS,
    N_RANKED,
    Amount,
    Ranked,
    amount,
    amount_of,
    and_work,
    capital,
    counted_jobs,
    covered_in,
    first_spoken,
    is_tied,
    next_subject,
    people_who,
    rank_rows,
    ranked_of,
    ranking,
    share_text,
    subject,
    where,
    where_of,
)
from mapapp.question.filters import BANDS

Sentences = tuple[str, ...]

_WHO: Final = {
    "age": [f"are {band}" for band in AGE_BANDS],
    "earnings": [f"earn {band[0].lower()}{band[1:]}" for band in EARNINGS_BANDS],
    "industry": [
        "work in goods-producing industries",
        "work in trade, transportation, or utilities",
        "work in all other services",
    ],
}
"""What a sentence says about the people of a band, by characteristic."""
assert len(INDUSTRY_GROUPS) == len(_WHO["industry"])
_GROUPS: Final = {
    "age": "the two largest age groups",
    "earnings": "the two largest earnings groups",
    "industry": "the two largest industry groups",
}
_MORE: Final = {"work": "live", "home": "work"}
_LEAST_SHARE: Final = 0.01
_LONGEST_AGAIN: Final = 36
"""Longest name of a place, in letters, that a second sentence repeats."""


def of_profile(answer: AreaProfile) -> Sentences:
    """Return how many people there are, and what most of them are."""
    return _some(
        _who_is_there(answer, answer.workers),
        *_who_they_are(answer.bands, answer.workers.value, counted_jobs(answer.about)),
        _largest_segment(answer),
    )


def of_comparison(answer: AreaComparison) -> Sentences:
    """Return how many people there are, and the units with the most of them."""
    rows = _units(answer.units)
    jobs = counted_jobs(answer.about)
    what = {"work": jobs or "jobs", "home": f"{jobs} of residents" if jobs else "resident workers"}[
        answer.about.area_side
    ]
    most = f"the places with the most {'of them' if answer.about.filters else what}"
    return _some(
        _who_is_there(answer, answer.workers),
        ranking(rows, answer.workers.value, most) if _is_large(answer.workers) else "",
    )


def of_destinations(answer: Destinations) -> Sentences:
    """Return how many people there are, the largest places at the other end, and how many are elsewhere."""
    units, n = answer.units, answer.workers.value
    is_own = _is_area(answer, units)
    ends = {"work": "origins", "home": "destinations"}[answer.about.area_side]
    rows = _units(units, ~is_own)
    return _some(
        _who_is_there(answer, answer.workers, _outside(answer, units[is_own])),
        ranking(rows, n, f"the largest {ends}") if _is_large(answer.workers) else "",
        _not_in_a_unit(answer) if _is_large(answer.workers) else "",
    )


def of_distance_direction(answer: DistanceDirection) -> Sentences:
    """Return how many people there are, how far half of them travel, and the usual directions."""
    if not _is_large(answer.workers):
        return _some(_who_is_there(answer, answer.workers))
    directions = answer.directions[answer.directions["direction"] != ""]
    rows = rank_rows(directions.sort_values("workers", ascending=False, kind="stable"), "label")
    rows = [row._replace(name=row.name.lower()) for row in rows]
    ends = {"work": "from work to home", "home": "from home to work"}[answer.about.area_side]
    far = answer.bands.iloc[-1]
    beyond = f", and {share_text(far.workers, answer.workers.value, far.expected_error)} travel {far.label}"
    return _some(
        _who_is_there(answer, answer.workers),
        f"{_half_travel(answer)}{beyond if far.workers and len(answer.bands) > 1 else ''}.",
        ranking(rows, answer.workers.value, f"the most common directions {ends}"),
    )


def of_inflow_outflow(answer: InflowOutflow) -> Sentences:
    """Return how many people come in, go out, and stay, and which way most of them go."""
    about, here, those = answer.about, where(answer.about), _those(answer)
    come, go, stay = (amount(number) for number in (answer.inflow, answer.outflow, answer.stay))
    if not (come.shown or go.shown or stay.shown):
        return (f"No one{those} lives or works {here}.",)
    if here == EVERYWHERE:
        return (
            f"{capital(subject(stay, about, those))} work{stay.s} {here}, wherever they live{stay.error}.",
        )
    again = here if len(here) <= _LONGEST_AGAIN else "there"
    who = capital(subject(come, about, those))
    first = f"{who} come{come.s} to work {here} and live{come.s} elsewhere{come.error}."
    both = f"live{stay.s} and work{stay.s} there{stay.error}."
    if here == covered_in(answer.about):  # of those who go out, none is in the release
        return (first, f"{capital(subject(stay, about))} both {both}")
    elsewhere = f"elsewhere {covered_in(answer.about)}"
    return (
        first,
        f"{capital(subject(go, about))} live{go.s} {again} and work{go.s} {elsewhere}{go.error}, and "
        f"{next_subject(stay, about)} both {both}",
        _net(answer),
    )


def _net(answer: InflowOutflow) -> str:
    net, jobs = answer.net_inflow, counted_jobs(answer.about)
    apart = amount_of(abs(net.value), net.expected_error)
    stay = ""
    if answer.stay_of_living is not None and answer.living.value >= LEAST_WORKERS:
        share = share_text(answer.stay.value, answer.living.value, answer.stay.expected_error)
        # The sentence before says where these residents work; a phone has to show the number below, too.
        those = "the jobs of these residents are there" if jobs else "these residents stay"
        stay = f"; {share} of {those}" if answer.stay.value else ""
    if not net.value or is_tied(Ranked("", abs(net.value), net.expected_error), Ranked("", 0, 0.0)):
        whole = "Equally many people come in and go out"
        if jobs:
            whole = f"As many {jobs} are held by people who come in as by people who go out"
        if net.expected_error:
            whole = "The two flows cannot be told apart in size"
        return f"{whole}{stay}."
    more, less = ("come in", "go out") if net.value > 0 else ("go out", "come in")
    most = f"More people {more} than {less}"
    if jobs:
        most = f"More {jobs} are held by people who {more} than by people who {less}"
    return f"{most}, by {apart.text}{apart.error}{stay}."


def of_paired(answer: PairedAreas) -> Sentences:
    """Return how many people live in one area and work in the other, their share, and how far half of them travel."""
    home, work = answer.about.area_text.split(" | ")
    there, here = where_of(answer.home_area, home), where_of(answer.work_area, work)
    n, count = amount(answer.workers), answer.workers
    lives = "anywhere" if there == EVERYWHERE else there
    first = f"{_subject(answer, n)} live{n.s} {lives} and work{n.s} {here}{n.error}."
    if not _is_large(count):
        return (first,)
    of_living = share_text(count.value, answer.living.value, count.expected_error)
    of_employed = share_text(count.value, answer.employed.value, count.expected_error)
    people = f"the {people_who(answer.about, _of_groups(answer))}"
    parts = [f"{of_employed} of {people} work {here}"]
    if here != covered_in(answer.about):  # otherwise they are all of those whom the release counts
        parts.insert(0, f"{of_living} of {people} live {there}{and_work(answer.about, there)}")
    shares = f"They are {list_names(parts)}."
    return _some(first, "" if EVERYWHERE in (there, here) else shares, f"{_half_travel(answer)}.")


def of_flow_matrix(answer: FlowMatrix) -> Sentences:
    """Return how many people the matrix counts, its largest flows, and how many stay in their unit."""
    n = amount(answer.workers)
    names = answer.about.area.removeprefix("homes: ").partition("; workplaces: ")[::2]
    there, here = map(_inside, names, answer.about.area_text.split(" | "))
    homes = _places(answer.homes, answer.home_layer, there)
    works = _places(answer.works, answer.work_layer, here)
    homes += "," * (", or" in homes)
    first = f"{_subject(answer, n)} live{n.s} in {homes} and work{n.s} in {works}{n.error}."
    if not _is_large(answer.workers):
        return (first,) if answer.workers.value else ("No one is in this matrix.",)
    cells = answer.cells[(answer.cells["home_kind"] == "unit") & (answer.cells["work_kind"] == "unit")]
    one_layer = answer.home_layer == answer.work_layer
    is_same = (cells["home_id"] == cells["work_id"]) & one_layer
    what = (
        f"the largest flows between different {_plural(answer.home_layer)}"
        if one_layer
        else "the largest flows"
    )
    stay = int(cells.loc[is_same, "workers"].sum())
    unit = words.level_word(answer.home_layer)
    return _some(
        first,
        ranking(_pairs(answer, cells[~is_same]), 0, what),
        f"{share_text(stay, answer.workers.value)} of them live and work in the same {unit}." if stay else "",
    )


def of_people(answer: Result, workers: Number) -> Sentences:
    """Return how many people an answer about one area counts."""
    return (_who_is_there(answer, workers),)


# Parts of these sentences


def _some(*sentences: str) -> Sentences:
    return tuple(sentence for sentence in sentences if sentence)


def _is_large(workers: Number) -> bool:
    return workers.value >= LEAST_WORKERS


def _subject(answer: Result, n: Amount) -> str:
    """Return the subject of the sentence that an answer begins with."""
    return capital(subject(n, answer.about, _those(answer)))


def _those(answer: Result) -> str:
    """Return which people the answer is about, to follow their number; empty for all."""
    return f" in the chosen groups ({answer.about.filters})" if answer.about.filters else ""


def _of_groups(answer: Result) -> str:
    """Return whom a share is of if only some workers are counted, to follow "people"; empty for all."""
    return " in these groups" if answer.about.filters else ""


def _who_is_there(answer: Result, workers: Number, more: str = "") -> str:
    n, side, here = amount(workers), answer.about.area_side, where(answer.about)
    verb, end = words.VERB[side], ""
    if here == EVERYWHERE and side == "home":
        verb, end = "work", ", wherever they live"
    elif side == "home":
        end = and_work(answer.about, here, n.s)
    return f"{_subject(answer, n)} {verb}{n.s} {here}{end}{n.error}{more}."


def _outside(answer: Destinations, own: pandas.DataFrame) -> str:
    """Return how many live, or work, outside the area, if the area is one of the rows; empty otherwise."""
    n = answer.workers.value
    rows = rank_rows(own)
    if not rows or not _is_large(answer.workers):
        return ""
    verb = _MORE[answer.about.area_side]
    if n == rows[0].workers:
        return f"; they all {verb} there, too"
    share = share_text(n - rows[0].workers, n, rows[0].error)
    if answer.workers.expected_error != 0:
        return f"; {share} of them {verb} elsewhere"
    # All workers of an area are counted exactly, so the others are as uncertain as those who stay.
    others = amount_of(n - rows[0].workers, rows[0].error)
    return f"; {others.text} of them ({share}) {verb}{others.s} elsewhere{others.error}"


def _is_area(answer: Destinations, units: pandas.DataFrame) -> pandas.Series:
    """Return which row is the chosen area itself."""
    level, _, unit_id = answer.about.area_text.partition(":")
    is_own: pandas.Series = (
        (units["unit_id"] == unit_id) & (units["kind"] == "unit") & (level == answer.layer)
    )
    return is_own


def _units(frame: pandas.DataFrame, kept: pandas.Series | bool = True) -> list[Ranked]:
    """Return the rows that are units of the layer, by their spoken names."""
    rows = np.flatnonzero((frame["kind"] == "unit") & kept)
    names = first_spoken(frame["name"].tolist(), rows[: N_RANKED + 1].tolist())
    of = [frame[column].to_numpy()[rows].tolist() for column in ("workers", "expected_error")]
    return ranked_of([names[row] for row in rows.tolist()], *of)


def _pairs(answer: FlowMatrix, cells: pandas.DataFrame) -> list[Ranked]:
    both, ends = cells.head(_MOST_PAIRS), []
    for end, margin in (("home", answer.homes), ("work", answer.works)):
        full, shown = margin["name"].tolist(), both[f"{end}_name"].tolist()
        named = {name: full.index(name) for name in shown[: N_RANKED + 1]}
        spoken = first_spoken(full, list(named.values()))
        ends.append([spoken[named[name]] if name in named else name for name in shown])
    names = [f"{home} to {work}" for home, work in zip(*ends, strict=True)]
    return ranked_of(names, both["workers"].tolist(), both["expected_error"].tolist())


_MOST_PAIRS: Final = 200


def _not_in_a_unit(answer: Destinations) -> str:
    """Return the shares in states beyond the map and in no unit of the layer; empty if they are small."""
    n, units = answer.workers.value, answer.units
    verb = _MORE[answer.about.area_side]
    unit = words.level_word(answer.layer)
    parts = []
    for kind, place in (("elsewhere", "in states beyond the mapped area"), ("none", f"outside any {unit}")):
        workers = int(units.loc[units["kind"] == kind, "workers"].sum())
        if workers >= _LEAST_SHARE * n:
            parts.append(f"{share_text(workers, n)} {verb} {place}")
    return f"Another {' and '.join(parts)}." if parts else ""


def _who_they_are(bands: pandas.DataFrame, n: int, jobs: str) -> Sentences:
    """Return the largest band of each characteristic, with those that another band may equal."""
    if n < LEAST_WORKERS:
        return ()
    parts, unclear = [], []
    columns = ("characteristic", "band", "workers", "expected_error")
    all_bands = list(zip(*(bands[column].tolist() for column in columns), strict=True))
    for name, phrases in _WHO.items():
        phrased = [(phrases[band - 1], n, error) for of, band, n, error in all_bands if of == name]
        if not phrased:
            continue  # the release does not show it
        rows = sorted(ranked_of(*zip(*phrased, strict=True)), key=lambda row: -row.workers)
        if rows[0].workers == n:
            continue  # all of them, as with a filter
        parts.append(f"{share_text(rows[0].workers, n, rows[0].error)} {rows[0].name}")
        if is_tied(rows[0], rows[1]):
            unclear.append(_GROUPS[name])
    if not parts:
        return ()
    doubt = f"; {list_names(unclear)} cannot be told apart in size" if unclear else ""
    return (f"{'Counted by jobs, of' if jobs else 'Of'} these people, {list_names(parts)}{doubt}.",)


def _largest_segment(answer: AreaProfile) -> str:
    """Return the largest group by age, earnings, and industry together; empty if they were not published together."""
    if answer.about.has_note(ASSIGNED_TOGETHER):
        return ""
    n = answer.workers.value
    order = np.argsort(-answer.segments["workers"].to_numpy(), kind="stable")
    segments = rank_rows(answer.segments, "label")
    rows = [segments[row] for row in order[:2]]
    if n < LEAST_WORKERS or rows[0].workers == n:
        return ""
    first = answer.segments.iloc[order[0]]
    shown = [name for name in _WHO if first[name]]
    if len(shown) < 2:
        return ""  # the sentence before says it
    who = list_names([_WHO[name][first[name] - 1] for name in shown])
    doubt = "; the next group may be as large" if is_tied(rows[0], rows[1]) else ""
    share = share_text(rows[0].workers, n, rows[0].error)
    kept_bands = zip(_WHO, answer.about.kept_bands, strict=True)
    n_groups = math.prod(len(kept) or len(BANDS) for name, kept in kept_bands if first[name])
    return f"The largest of the {n_groups} joint groups, {share}, {who}{doubt}."


def _half_travel(answer: DistanceDirection | PairedAreas) -> str:
    median = answer.median_mi
    near = words.miles(max(median.value or 0.0, 0.1)).removesuffix(" mi")
    off = words.miles_error(median.expected_error, sign=", ±").removesuffix(" mi")
    return f"Half of them travel less than {near} miles{off}"


def _plural(layer: str) -> str:
    return words.plural(words.level_word(layer))


def _places(margin: pandas.DataFrame, layer: str, inside: str) -> str:
    """Return how many units and states beyond the map one end of a matrix has, and where they are."""
    if len(margin) == 1 and margin["kind"].iloc[0] != "none":
        return spoken_name(margin["name"].iloc[0])
    n_units, n_states = (int((margin["kind"] == kind).sum()) for kind in ("unit", "elsewhere"))
    unit = words.level_word(layer)
    parts = [(n_units, unit, ""), (n_states, "state", " beyond the mapped area")]
    texts = [f"{n:,} {noun if n == 1 else words.plural(noun)}{more}" for n, noun, more in parts if n]
    rest = f", or outside any {unit}" if (margin["kind"] == "none").any() else ""
    return (list_names(texts) or f"no {unit}") + inside + rest


def _inside(name: str, text: str) -> str:
    """Return where the units of a matrix are, after a space; empty for the whole release."""
    return "" if text in ("", "all") else f" {where_of(name, text)}"
