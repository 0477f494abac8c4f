"""The table of published characteristics below a profile in a report."""

from __future__ import annotations

from typing import Final

from mapapp.answers.asking import characteristics_of
from mapapp.answers.release import Release
from mapapp.files.reports.content import Column, Table
from mapapp.question.question import Question

_COLUMNS: Final = (
    Column(name="characteristic", head="Characteristic", kind="text"),
    Column(name="label", head="", kind="text"),
    Column(name="jobs", head="Jobs", kind="count"),
    Column(name="share", head="Share", kind="share"),
)


def place_tables(release: Release, question: Question) -> tuple[Table, ...]:
    """What LODES publishes about the area of a profile; nothing if the release has no such counts."""
    found = characteristics_of(release, question)
    if found is None:
        return ()
    rows = [(title, *each) for title, classes in found.groups.items() for each in classes]
    words = f"{found.jobs:,} jobs. {found.source}"
    table = Table(name="characteristics", title=found.title, words=words, columns=_COLUMNS, rows=tuple(rows))
    return (table,)
