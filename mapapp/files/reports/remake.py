"""How a report is made again: a command for a shell, links to a served map, and setup files."""

from __future__ import annotations

import dataclasses
import datetime
import json
import shlex
from collections.abc import Sequence
from typing import Final

from mapapp.answers import view_answers
from mapapp.answers.request import Request
from mapapp.answers.served_release import ServedRelease
from mapapp.files.reports.content import Remake
from mapapp.files.reports.questions import normal
from mapapp.question import setup_file
from mapapp.question.address import ViewState, numbers_text, to_query

LONGEST_COMMAND: Final = 1_000
LONGEST_LINK: Final = 2_000  # what browsers and mail programs let through


def remake(
    releases: Sequence[ServedRelease],
    states: Sequence[ViewState],
    *,
    date: datetime.date | None,
    error_rows: int | None,
) -> Remake:
    """What makes the same report of the same releases."""
    plain = [normal(state) for state in states]
    links = [to_query(state) for state in plain]
    names = [f"setup-{place + 1}.json" for place in range(len(plain))]
    return Remake(
        command=_command(releases, plain, names, date=date, error_rows=error_rows),
        links=tuple(
            (asked_of(releases[0], state), link)
            for state, link in zip(plain, links, strict=True)
            if len(link) <= LONGEST_LINK
        ),
        setups=tuple((name, _setup(releases[0], state)) for name, state in zip(names, plain, strict=True)),
    )


def _setup(release: ServedRelease, state: ViewState) -> str:
    """A setup file in as few lines as may be."""
    return json.dumps(json.loads(setup_file.save(release, state, name=release.slug)))


def asked_of(release: ServedRelease, state: ViewState) -> str:
    """What a state asks, in a few words."""
    about = view_answers.result(release, state).about
    return f"{about.area}: {about.title}"


def _command(
    releases: Sequence[ServedRelease],
    states: Sequence[ViewState],
    setups: Sequence[str],
    *,
    date: datetime.date | None,
    error_rows: int | None,
) -> str:
    start = ["commutemap", "report", *(release.store.path.name for release in releases)]
    end = ["--errors", str(-1 if error_rows is None else error_rows)]
    if date is not None:
        end += ["--date", date.isoformat()]
    question = _question(states)
    if question is not None:
        command = shlex.join([*start, *question, *end])
        if len(command) <= LONGEST_COMMAND:
            return command
    return shlex.join([*start, *(part for name in setups for part in ("--setup", name)), *end])


def _question(states: Sequence[ViewState]) -> list[str] | None:
    """The options that ask the same; None where only setups can."""
    requests = [view_answers.request(state) for state in states]
    first = requests[0]
    shows = {state.show for state in states}
    if len(shows) > 1 or len({dataclasses.replace(each, areas=("all",)) for each in requests}) > 1:
        return None
    options = ["--analysis", first.analysis]
    if first.analysis in ("paired", "flow-matrix"):
        if len(requests) > 1:
            return None
        options += _given(first, "home_area", "work_area")
    else:
        options += [part for request in requests for part in ("--area", request.areas[0])]
        options += _given(first, "side")
    options += _given(first, "layer", "home_layer", "work_layer")
    for name in ("age", "earnings", "industry"):
        kept = getattr(first.filters, name)
        if kept:
            options += [f"--{name}", ",".join(map(str, kept))]
    if tuple(first.edges_mi) != tuple(Request(analysis="profile").edges_mi):
        options += ["--bands", numbers_text(first.edges_mi)]
    return options + (["--show", states[0].show] if states[0].show != ViewState().show else [])


def _given(request: Request, *names: str) -> list[str]:
    """Options whose values are not the usual ones."""
    plain = Request(analysis="profile")
    return [
        part
        for name in names
        if getattr(request, name) != getattr(plain, name)
        for part in (f"--{name.replace('_', '-')}", str(getattr(request, name)))
    ]
