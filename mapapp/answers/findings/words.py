"""Counts, places and ranks as sentences say them: rounded to their expected errors, and ordered where these allow."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import pandas

from geodata.text import list_names
from mapapp.answers.analyses.about import About
from mapapp.answers.analyses.measures import Number
from mapapp.answers.areas.unit_names import name_parts, shorter_names, spoken_name
from mapapp.answers.publication import ALL_JOBS, is_published, jobs_of_type
from mapapp.question.area_text import Box, Circle, Corridor, Everything, Shape, Step, Unit, parse_area

EVERYWHERE: Final = "in the area that is covered here"
_ALL_BUT: Final = "everything without "
N_RANKED: Final = 3
"""Largest number of names in a ranking."""

_LONG_NAMES: Final = 60
"""If two pairs of names have more letters, a sentence calls them neighbors instead of repeating the names."""

_MOST_STATES: Final = 3
"""Most states that a sentence names as covered."""

_VAGUE: Final = 2.5
"""Expected error, in percentage points, from which a share is "about" so much."""

LEAST_WORKERS: Final = 10
"""With fewer workers, an answer has only its first sentence."""


class Ranked(NamedTuple):
    """A row that a ranking may name: its name, its workers, and their expected error (None if unknown)."""

    name: str
    workers: int
    error: float | None


@dataclass(frozen=True, slots=True)
class Amount:
    """A count in words.

    Attributes
    ----------
    text : str
        Such as "about 92,000", "exactly 1", or "no".
    error : str
        Such as ", ±500", to put at the end of the clause; empty if the error is 0 or unknown.
    shown : int
        The count as rounded.
    """

    text: str
    error: str
    shown: int

    def of(self, singular: str, plural: str) -> str:
        """Return the amount with the singular or plural of what it counts, such as "about 92,000 jobs"."""
        return f"{self.text} {singular if self.shown == 1 else plural}"

    @property
    def people(self) -> str:
        """The amount of people as the subject of a sentence."""
        return self.of("person", "people") if self.shown else "no one"

    @property
    def s(self) -> str:
        """The ending of a regular verb whose subject is these people."""
        return "s" if self.shown < 2 else ""


def counted_jobs(about: About) -> str:
    """Return what an answer counts if that is jobs, such as "private jobs"; empty if it counts people.

    Published counts are of jobs, so a person with two jobs counts twice. A release has one worker for each job.
    """
    is_some = about.job_type not in ("", ALL_JOBS)
    is_counted = is_some or (bool(about.job_type) and is_published(about.promise))
    return jobs_of_type(about.job_type) if is_counted else ""


def subject(n: Amount, about: About, those: str = "") -> str:
    """Return the subject of a sentence on people, whose verb follows, such as "about 9,000 people".

    Where jobs are counted, it is "about 9,000 private jobs are held by people who".

    Parameters
    ----------
    n : Amount
    about : About
        Of the answer.
    those : str
        Which groups are meant, after a space; empty for all.
    """
    jobs = counted_jobs(about)
    if not jobs:
        return f"{n.people}{those}"
    verb = "are" if n.shown > 1 else "is"
    return f"{n.of(jobs.removesuffix('s'), jobs) if n.shown else f'no {jobs[:-1]}'}{those} {verb} held by {_holders(n)}"


def next_subject(n: Amount, about: About) -> str:
    """Return the subject of a clause that follows a sentence of :func:`subject` after "and"."""
    if counted_jobs(about):
        return f"{n.text if n.shown else 'none'} by {_holders(n)}"
    return n.text if n.shown else "no one"


def _holders(n: Amount) -> str:
    return ("anyone who", "someone who", "people who")[min(n.shown, 2)]


def people_who(about: About, those: str = "") -> str:
    """Return whom a number or a share is of, before a verb: "people who", or "private jobs held by people who"."""
    jobs = counted_jobs(about)
    return f"{jobs}{those} held by people who" if jobs else f"people{those} who"


def amount(number: Number) -> Amount:
    """Return a count in words, rounded so that rounding changes it by no more than its expected error."""
    return amount_of(number.value, number.expected_error)


def amount_of(value: int, error: float | None) -> Amount:
    """Return a count in words, given its expected error (None if unknown); the count is not negative."""
    known = error is not None and not math.isnan(error)
    off = f", ±{rounded_error(error)}" if error and known else ""
    if value == 0:
        return Amount("no", off, 0)
    if error is None or not known:
        return Amount(f"{value:,}", "", value)
    if error == 0:
        return Amount(f"exactly {value:,}", "", value)
    near = _round_to_error(value, error)
    return Amount(f"about {near:,}", off, near)


def rounded_error(error: float) -> str:
    """Return an expected error with one significant digit, or with two if the first is 1."""
    if error < 1:
        return "1"
    unit = 10 ** (math.floor(math.log10(error)))
    if error < 2 * unit and unit >= 10:
        unit //= 10
    return f"{round(error / unit) * unit:,}"


def _round_to_error(value: int, error: float) -> int:
    """Return a positive value, rounded to the power of ten that is at most twice its error, but never to 0."""
    digits = max(0, math.floor(math.log10(2 * error))) if error >= 0.5 else 0
    step: int = 10 ** min(digits, math.floor(math.log10(value)))
    return (value + step // 2) // step * step


def share_text(part: int, whole: int, error: float | None = None) -> str:
    """Return a share in whole percent, as tables have it, and "about" if it is not known to 2.5 percentage points."""
    percent = 100 * part / whole
    off = 0.0 if error is None or math.isnan(error) else 100 * error / whole
    near = round(percent)
    if near <= 0 < part:
        return "less than 1%"
    if near >= 100 and part < whole:
        return "more than 99%"
    return f"{'about ' if off >= _VAGUE else ''}{near}%"


def capital(text: str) -> str:
    """Return a sentence with a capital first letter."""
    return text[:1].upper() + text[1:]


def covered_in(about: About) -> str:
    """Return where the workplaces are that a release counts: "in Rhode Island"."""
    return f"in {list_names(list(about.covered))}" if 0 < len(about.covered) <= _MOST_STATES else EVERYWHERE


def and_work(about: About, here: str, s: str = "") -> str:
    """Return where residents work who are counted, to follow "live in Providence": only some states are covered."""
    covered = covered_in(about)
    return f" and work{s} {'there' if covered == here else covered}"


def residents(who: str, about: About) -> str:
    """Return residents with where those work who are counted, given "All who live in the area" or the like."""
    return f"{who} and work {covered_in(about)}"


def where(about: About) -> str:
    """Return the area of an answer with its preposition: "in Providence", "within 2 miles of …"."""
    return where_of(about.area, about.area_text)


def where_of(name: str, text: str) -> str:
    """Return an area with its preposition, given its name and its text; an empty text is the whole release."""
    steps = parse_area(text) if text else ()
    first = steps[0].part if steps else Everything()
    if len(steps) < 2 and not name.startswith(_ALL_BUT):
        known = _label_part(first, steps[0].label) if steps and steps[0].label else _only(first, name)
        if known:
            return known
    if isinstance(first, Corridor) and name.startswith("within "):
        return name
    if name.startswith(_ALL_BUT):
        return f"outside {name.removeprefix(_ALL_BUT)}"
    return f"in {_last_of_list(steps, name)}"


def _label_part(part: object, label: str) -> str:
    """Return a drawn part or a landmark, given the name that the address has for it."""
    is_point = isinstance(part, Circle) and not label.startswith("the ")
    return f"{'at' if is_point else 'in'} {label}"


def _only(part: object, name: str) -> str:
    """Return where an area of one part is; empty if its name alone says it."""
    if isinstance(part, Everything):
        return EVERYWHERE
    if isinstance(part, Unit):
        return f"in {_unit(part, name)}"
    if isinstance(part, (Box, Shape)):
        return "in the drawn area"
    if isinstance(part, Circle):
        middle = f"{part.lat_deg:.3f}, {part.lon_deg:.3f}"
        if part.inner_mi:
            return f"between {part.inner_mi:g} and {part.outer_mi:g} miles from {middle}"
        return f"within {part.outer_mi:g} mile{'s' * (part.outer_mi != 1)} of {middle}"
    return ""


def _unit(unit: Unit, name: str) -> str:
    """Return the name of a unit; a tract keeps its county, because its number alone means little."""
    own, county = name_parts(name)
    return f"{own} of {spoken_name(county)}" if unit.level == "tract" and county else spoken_name(name)


def _last_of_list(steps: Sequence[Step], name: str) -> str:
    """Return the name of several parts, of which all but the last two are separated by commas."""
    if all(isinstance(step.part, Unit) and step.sign == "+" for step in steps):
        parts = name.split(" and ")
        if len(parts) == min(len(steps), 4) + (len(steps) > 4):
            return list_names([spoken_name(part) for part in parts])
    return name


def spoken_names(names: Sequence[str]) -> list[str]:
    """Return the names as people say them; a name keeps what distinguishes it from another of the names."""
    forms = list(map(shorter_names, names))
    counts = _counts(forms)
    return [_distinct(name, own_forms, counts) for name, own_forms in zip(names, forms, strict=True)]


def first_spoken(names: Sequence[str], first: Sequence[int]) -> list[str]:
    """Return names as of :func:`spoken_names`, but spoken only at a few positions; the others are whole."""
    spoken = list(names)
    for place in first:
        name = names[place]
        own_forms = shorter_names(name)
        # No other name has an equal form.
        alike = [shorter_names(rival) for rival in names if rival.startswith(own_forms[0])]
        spoken[place] = _distinct(name, own_forms, _counts(alike))
    return spoken


def _counts(forms: Sequence[Sequence[str]]) -> list[Counter[str]]:
    """Return how often each form of names occurs, for each kind of form."""
    return [Counter(form) for form in zip(*forms, strict=True)]


def _distinct(name: str, forms: Sequence[str], counts: Sequence[Counter[str]]) -> str:
    """Return the first form of a name that no other name has; the name itself if each is shared."""
    return next((short for short, count in zip(forms, counts, strict=True) if count[short] == 1), name)


def rank_rows(frame: pandas.DataFrame, name: str = "name") -> list[Ranked]:
    """Return the rows of a table of workers, in its order, by the names in one of its columns."""
    return ranked_of(*(frame[column].tolist() for column in (name, "workers", "expected_error")))


def ranked_of(names: Sequence[str], workers: Sequence[int], errors: Sequence[float]) -> list[Ranked]:
    """Return rows by their names, their workers, and their errors, NaN if unknown."""
    return [
        Ranked(str(name), int(n), None if math.isnan(error) else float(error))
        for name, n, error in zip(names, workers, errors, strict=True)
    ]


def is_tied(first: Ranked, second: Ranked) -> bool:
    """Return whether two counts differ by at most twice their combined error, so that they have no order.

    If an error is unknown, the counts are not called tied.
    """
    if first.error is None or second.error is None:
        return False
    return abs(first.workers - second.workers) <= 2 * math.hypot(first.error, second.error)


def ranking(rows: Sequence[Ranked], whole: int, what: str) -> str:
    """Return a sentence that names the largest rows and says which of them cannot be ordered.

    Parameters
    ----------
    rows : sequence of Ranked
        All rows that could be named, most workers first.
    whole : int
        Workers that the shares refer to; 0 for counts instead of shares.
    what : str
        What several of the rows are, such as "the largest origins".
    """
    named = [row for row in rows[:N_RANKED] if row.workers > 0]
    if len(named) < 2:
        return ""
    texts = [f"{row.name} ({_size(row, whole)})" for row in named]
    ties = tie_clauses(rows, len(named))
    return capital(f"{list_names(texts)} are {what}{'; ' if ties else ''}{ties}.")


def _size(row: Ranked, whole: int) -> str:
    if whole:
        return share_text(row.workers, whole, row.error)
    return amount_of(row.workers, row.error).text.removeprefix("exactly ")


def tie_clauses(rows: Sequence[Ranked], n_named: int) -> str:
    """Return which of the first rows cannot be told apart in rank, from each other or from those that follow."""
    known = [row for row in rows if row.workers > 0]
    n_known = next((at for at, row in enumerate(known) if row.error is None), len(known))
    named, after = known[: min(n_named, n_known)], known[n_named:n_known]
    runs = _runs(named)
    n_equal = next((at for at, row in enumerate(after) if not is_tied(named[-1], row)), len(after))
    or_more = " or more" if n_equal == len(after) and len(known) > n_known else ""
    beyond = _beyond(after[:n_equal], or_more)
    equal = (*named, *after[:n_equal])
    if beyond and any(len(run) == len(equal) for run in _runs(equal)):
        groups, beyond = [[*(row.name for row in named), beyond]], ""
    else:
        groups = [[row.name for row in run] for run in runs]
    if beyond:
        groups.append([named[-1].name, beyond])
    if all(row.error == 0 for row in equal):
        return ", and ".join(f"{list_names(group)} have equal counts" for group in groups)
    return _describe_ties(groups, chain=len(runs) > 1)


def _describe_ties(groups: Sequence[Sequence[str]], *, chain: bool) -> str:
    """Return which groups have no order; in a chain, each row is tied with its neighbors."""
    texts = [list_names(list(group)) for group in groups]
    if chain and sum(map(len, texts[:2])) > _LONG_NAMES:
        rest = "".join(f", nor can {text}" for text in texts[2:])
        return f"no two neighbors in this list can be told apart in rank{rest}"
    rest = "".join(f", nor can {text}" for text in texts[1:])
    return f"{texts[0]} cannot be told apart in rank{rest}" if texts else ""


def _runs(rows: Sequence[Ranked]) -> list[Sequence[Ranked]]:
    """Return the longest runs of rows in which every two are tied."""
    runs: list[Sequence[Ranked]] = []
    last = 0
    for start in range(len(rows)):
        end = start
        while end + 1 < len(rows) and all(is_tied(row, rows[end + 1]) for row in rows[start : end + 1]):
            end += 1
        if end > max(start, last):
            runs.append(rows[start : end + 1])
            last = end
    return runs


def _beyond(rows: Sequence[Ranked], or_more: str) -> str:
    if len(rows) == 1 and not or_more:
        return rows[0].name
    return f"the next {len(rows)}{or_more}" if rows else ""
