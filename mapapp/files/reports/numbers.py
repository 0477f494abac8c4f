"""The key numbers of an answer, and the answer in a sentence."""

from __future__ import annotations

import math
from typing import Any, Final

from mapapp.answers import words
from mapapp.answers.entries import entry_of, headline_of, n_about, numbers_of
from mapapp.answers.entry import text_of
from mapapp.answers.results import (
    AreaComparison,
    Destinations,
    Miles,
    Number,
    Ratio,
    Result,
)
from mapapp.answers.served_release import ServedRelease
from mapapp.files.reports.content import KeyNumber, Kind
from mapapp.question.fields import Side
from mapapp.question.question import OTHER_END, Question, area_of

_VERB: Final[dict[Side, str]] = {"work": "Work", "home": "Live"}
_CHANGES: Final[dict[Kind, Kind]] = {"count": "change", "ratio": "ratio change"}
_LARGEST: Final = 3


def key_numbers(result: Result) -> tuple[KeyNumber, ...]:
    """Every number of an answer, in an order that is the same for all answers to an analysis."""
    return tuple(
        _key_number(text_of(number.label, result), number.kind, value) for number, value in numbers_of(result)
    )


def _key_number(label: str, kind: Kind, value: Any) -> KeyNumber:
    if isinstance(value, (Number, Ratio)):
        return KeyNumber(
            label=label, kind=kind, value=value.value, error=value.expected_error, caution=value.caution
        )
    if isinstance(value, Miles):
        return KeyNumber(label=label, kind=kind, value=value.value, error=value.expected_error)
    return KeyNumber(label=label, kind=kind, value=value)


def change_numbers(before: Result, after: Result) -> tuple[KeyNumber, ...]:
    """How every number of an answer changed, with the expected error of the change."""
    return tuple(
        KeyNumber(
            label=later.label,
            kind=_CHANGES.get(later.kind, later.kind),
            value=later.value - earlier.value,
            error=_together(earlier.error, later.error),
        )
        for earlier, later in zip(key_numbers(before), key_numbers(after), strict=True)
        if earlier.value is not None and later.value is not None
    )


def _together(earlier: float | None, later: float | None) -> float | None:
    """Expected error of a difference; None if that of either part is not known."""
    return None if earlier is None or later is None else math.hypot(earlier, later)


def largest(result: Result) -> tuple[KeyNumber, ...]:
    """The largest rows of an answer by area; they are others in another answer."""
    if not isinstance(result, (AreaComparison, Destinations)):
        return ()
    verb = _VERB[drawn_side(result)]
    return tuple(
        KeyNumber(
            label=f"{verb} in {row.name}",
            kind="count",
            value=int(row.workers),
            error=None if math.isnan(row.expected_error) else float(row.expected_error),
            caution=row.caution,
        )
        for row in result.units.head(_LARGEST).itertuples()
        if row.workers
    )


def drawn_side(result: AreaComparison | Destinations) -> Side:
    """The end of the commutes that the rows are about."""
    side = result.about.side or "work"
    return side if isinstance(result, AreaComparison) else OTHER_END[side]


def place_of(release: ServedRelease, question: Question) -> str:
    """What an answer is about, as a title."""
    if question.entry.n_areas == 1:
        return _area(release, question.areas, release.title)
    home, work = (_area(release, steps, "") for steps in (question.areas, question.others))
    if not home or not work:
        inside = home or work
        return f"{'From' if home else 'To'} {inside}" if inside else release.title
    return f"From {home} to {work}"


def _area(release: ServedRelease, steps: tuple[str, ...], everything: str) -> str:
    found = release.areas.select(area_of(steps))
    return everything if found.blocks is None else found.name


def sentence(release: ServedRelease, question: Question, result: Result) -> str:
    """The answer in a sentence."""
    entry, n = entry_of(result), headline_of(result).value
    s = "s" * (n == 1)
    whole = "all areas of the release"
    here, other = (_area(release, steps, whole) for steps in (question.areas, question.others))
    clause = entry.clause or f"{words.VERB[result.about.side or 'work']}{{s}} in {{here}}"
    who = f"{n:,} synthetic worker{'s' * (n != 1)}"
    return f"{who} {clause.format(s=s, here=here, home=here, work=other)}{entry.tail(result)}."


def why_empty(release: ServedRelease, question: Question, result: Result) -> str:
    """Why an answer has no worker, as far as that is known; empty where it has some."""
    if n_about(result):
        return ""
    if question.side == "work" and not release.covers(question.areas):
        return "Workplaces in this area are not in the release. That says nothing about how many people work there."
    if result.about.filters:
        return "There is nobody here of the chosen ages, earnings and industries. Keep more of them."
    return "No synthetic worker fits. Choose another area, or the other side of the commutes."
