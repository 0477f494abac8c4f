"""The question that a click on a row of an answer's table asks next: each analysis declares one of these functions."""

from __future__ import annotations

from collections.abc import Callable

from mapapp.question.question import Question

RowLink = Callable[[Question, tuple[str, ...]], dict[str, object]]
"""From the question and the units that the row names, to the fields that change; empty if the row leads nowhere."""


def to_profile(question: Question, units: tuple[str, ...]) -> dict[str, object]:
    """Return the profile of the row's unit."""
    return {"analysis": "profile", "areas": units} if len(units) == 1 else {}


def to_pair_with_area(question: Question, units: tuple[str, ...]) -> dict[str, object]:
    """Return the pair of the chosen area and the row's unit at the other end; the unit's profile without an area."""
    if len(units) == 1 and question.areas:
        return {"analysis": "paired", "others": units}
    return to_profile(question, units)


def to_pair(question: Question, units: tuple[str, ...]) -> dict[str, object]:
    """Return the pair of the two units of the row, home first; the chosen side keeps its area."""
    if len(units) != 2:
        return {}
    home, work = ((unit,) for unit in units)
    areas, others = (work, home) if question.side == "work" else (home, work)
    return {"analysis": "paired", "areas": areas, "others": others}
