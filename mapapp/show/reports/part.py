"""One part of a report: a question, and the style of its map."""

from __future__ import annotations

from dataclasses import dataclass

from mapapp.answers.asking import questions_of
from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.question.analyses import Show
from mapapp.question.cost import MAX_PARTS
from mapapp.question.question import Question, Questions, SettledQuestion
from mapapp.question.view import View


@dataclass(frozen=True, slots=True)
class Part:
    """A question of a report.

    Attributes
    ----------
    question : Question
    show : {"points", "areas", "density", "lines"}
        How the map shows the answer, if the analysis allows it.
    """

    question: Question
    show: Show = "points"

    @property
    def view(self) -> View:
        """The map view of the answer."""
        return View(show=self.show)

    def settle(self, release: Release) -> SettledPart:
        """Return the normal form with the usual layer of a release for each layer that the question leaves open."""
        return SettledPart(release.areas.usual.settle(self.question.normal), self.show)


@dataclass(frozen=True, slots=True)
class SettledPart(Part):
    """A part whose question is settled, in normal form, so that parts with the same question are equal."""

    question: SettledQuestion


def parts_of(release: Release, several: Questions, show: Show = "points") -> list[Part]:
    """Return the parts for questions, one for each area, in order.

    Raises
    ------
    UsageError, GeometryError
        If the release lacks an area or layer of the questions, or there is no area.
    """
    parts = [Part(question.normal, show) for question in questions_of(release, several)]
    if not parts:
        raise UsageError(
            f"--each {several.each}: the area has no unit of that layer; choose another layer or area"
        )
    for part in parts:
        for steps in (part.question.areas, part.question.others):
            if len(steps) > MAX_PARTS:
                raise UsageError(f"the area has {len(steps):,} parts; a report allows at most {MAX_PARTS}")
    return parts
