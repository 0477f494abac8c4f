"""How to reproduce a report: a shell command, links to a served map, and setup files."""

from __future__ import annotations

import datetime
import json
import shlex
from collections.abc import Sequence
from typing import Final

from mapapp.answers import served_answers
from mapapp.answers.release import Release
from mapapp.question import setup_file
from mapapp.question.address import Address, query_of
from mapapp.question.options import options_of
from mapapp.show.reports.content import Remake
from mapapp.show.reports.part import SettledPart

PRINTED_ROWS: Final = 25
"""Default number of printed rows of a table of areas; a workbook always has every row."""

LONGEST_COMMAND: Final = 1_000
LONGEST_LINK: Final = 2_000  # a length that browsers and mail programs accept


def remake(
    releases: Sequence[Release],
    parts: Sequence[SettledPart],
    *,
    date: datetime.date | None,
    error_rows: int | None,
    rows: int | None = PRINTED_ROWS,
) -> Remake:
    """Instructions to make the same report from the same releases."""
    links = [query_of(part.question, part.view) for part in parts]
    names = [f"setup-{place + 1}.json" for place in range(len(parts))]
    return Remake(
        command=_command(releases, parts, names, date=date, error_rows=error_rows, rows=rows),
        links=tuple(
            (words_of(releases[0], part), link)
            for part, link in zip(parts, links, strict=True)
            if len(link) <= LONGEST_LINK
        ),
        setups=tuple((name, _setup(releases[0], part)) for name, part in zip(names, parts, strict=True)),
    )


def _setup(release: Release, part: SettledPart) -> str:
    """A setup file in compact form."""
    address = Address(question=part.question, view=part.view)
    return json.dumps(json.loads(setup_file.save(release, address, name=release.slug)))


def words_of(release: Release, part: SettledPart) -> str:
    """The question of a part in a few words."""
    about = served_answers.result(release, part.question).about
    return f"{about.area}: {about.title}"


def _command(
    releases: Sequence[Release],
    parts: Sequence[SettledPart],
    setups: Sequence[str],
    *,
    date: datetime.date | None,
    error_rows: int | None,
    rows: int | None,
) -> str:
    start = ["commutemap", "report", *(release.store.path.name for release in releases)]
    end = ["--errors", str(-1 if error_rows is None else error_rows)]
    if rows != PRINTED_ROWS:
        end += ["--rows", "all" if rows is None else str(rows)]
    if date is not None:
        end += ["--date", date.isoformat()]
    options = _options(parts)
    if options is not None:
        command = shlex.join([*start, *options, *end])
        if len(command) <= LONGEST_COMMAND:
            return command
    return shlex.join([*start, *(part for name in setups for part in ("--setup", name)), *end])


def _options(parts: Sequence[SettledPart]) -> list[str] | None:
    """Command options for the same question; None if only setup files can express it."""
    shows = {part.show for part in parts}
    options = options_of([part.question for part in parts])
    if options is None or len(shows) > 1:
        return None
    show = parts[0].show
    return options + (["--show", show] if show != "points" else [])
