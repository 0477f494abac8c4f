"""One part of a report: a question, and how its map is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mapapp.answers.analyses import Release
from mapapp.answers.asking import questions_of
from mapapp.errors import UsageError
from mapapp.question.analyses import Show
from mapapp.question.cost import MAX_PARTS
from mapapp.question.question import Question
from mapapp.question.questions import Questions
from mapapp.question.view import View


@dataclass(frozen=True, slots=True)
class Part:
    """A question of a report.

    Attributes
    ----------
    question : Question
    show : {"points", "areas", "density", "lines"}
        How the map shows the answer, if its analysis can be drawn so.
    """

    question: Question
    show: Show = "points"

    @property
    def view(self) -> View:
        """How the answer is drawn."""
        return View(show=self.show)

    @property
    def normal(self) -> Part:
        """One part for all that ask the same."""
        return replace(self, question=self.question.normal)


def parts_of(release: Release, several: Questions, show: Show = "points") -> list[Part]:
    """Return the parts that questions come to, one for each area, in their order.

    Raises
    ------
    UsageError, GeometryError
        If the release does not have an area or a layer of them, or there are none.
    """
    found = [Part(question.normal, show) for question in questions_of(release, several)]
    if not found:
        raise UsageError(f"--each {several.each}: no unit of that layer lies in the area")
    for part in found:
        for steps in (part.question.areas, part.question.others):
            if len(steps) > MAX_PARTS:
                raise UsageError(f"an area of {len(steps):,} steps; a report takes {MAX_PARTS}")
    return found
