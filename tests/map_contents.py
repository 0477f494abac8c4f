"""The content of the map of any question, as the page and reports make it of a settled one."""

from __future__ import annotations

from mapapp.answers.served_release import ServedRelease
from mapapp.drawing.map_content import MapContent
from mapapp.question.question import Question
from mapapp.question.view import View
from tests.addresses import settled


def content_of(
    release: ServedRelease, question: Question, view: View | None = None, before: ServedRelease | None = None
) -> MapContent:
    """What the map of a question shows."""
    return MapContent(release, settled(release, question), view or View(), before)
