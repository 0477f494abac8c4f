"""The content of the map of any question, as the page and reports make it of a settled one."""

from __future__ import annotations

from mapapp.answers.release import Release
from mapapp.question.question import Question
from mapapp.question.view import View
from mapapp.show.content.map_content import MapContent
from tests.addresses import settled


def content_of(
    release: Release, question: Question, view: View | None = None, before: Release | None = None
) -> MapContent:
    """What the map of a question shows."""
    return MapContent(release, settled(release, question), view or View(), before)
