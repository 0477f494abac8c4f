"""Putting questions to a release: what each analysis asks of it, for one question or for many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from mapapp.answers.analyses import Release
from mapapp.answers.change import change
from mapapp.answers.results import Result
from mapapp.question.area_text import Unit, parse_area
from mapapp.question.question import Question
from mapapp.question.questions import Questions


def ask(release: Release, question: Question) -> Result:
    """Answer a question; while its analysis still lacks an area, what can be said already.

    Raises
    ------
    UsageError, GeometryError
        If the release does not have an area or a layer of it.
    """
    if question.is_complete:
        return _ASK[question.analysis](release, question)
    if not question.areas:
        return _ASK["comparison"](release, question)
    return _ASK["profile"](release, question)


def _profile(release: Release, question: Question) -> Result:
    return release.profile(question.area, question.filters, side=question.side)


def _comparison(release: Release, question: Question) -> Result:
    return release.comparison(question.area, question.filters, side=question.side, layer=question.layer)


def _destinations(release: Release, question: Question) -> Result:
    return release.destinations(question.area, question.filters, side=question.side, layer=question.layer)


def _distance_direction(release: Release, question: Question) -> Result:
    return release.distance_direction(
        question.area, question.filters, side=question.side, edges_mi=question.edges_mi
    )


def _inflow_outflow(release: Release, question: Question) -> Result:
    return release.inflow_outflow(question.area, question.filters)


def _paired(release: Release, question: Question) -> Result:
    ends = question.ends
    return release.paired(ends["home"], ends["work"], question.filters, edges_mi=question.edges_mi)


def _flow_matrix(release: Release, question: Question) -> Result:
    return release.flow_matrix(
        question.home_layer,
        question.work_layer,
        question.filters,
        home_area=question.ends["home"],
        work_area=question.ends["work"],
    )


_ASK: Final[dict[str, Callable[[Release, Question], Result]]] = {
    "profile": _profile,
    "comparison": _comparison,
    "destinations": _destinations,
    "distance-direction": _distance_direction,
    "inflow-outflow": _inflow_outflow,
    "paired": _paired,
    "flow-matrix": _flow_matrix,
}


def matrix_parts(release: Release, several: Questions | Question) -> Iterator[Any]:
    """Yield the cells of flow matrices in parts, so that their size does not matter."""
    for question in _each_question(release, several):
        yield from release.flow_matrix_parts(
            question.home_layer,
            question.work_layer,
            question.filters,
            home_area=question.ends["home"],
            work_area=question.ends["work"],
        )


def _each_question(release: Release, several: Questions | Question) -> Iterator[Question]:
    return iter((several,)) if isinstance(several, Question) else questions_of(release, several)


def questions_of(release: Release, several: Questions) -> Iterator[Question]:
    """Yield the questions that several written at once come to for a release, in their order.

    Raises
    ------
    UsageError, GeometryError
        If the release does not have an area or a layer of them.
    """
    if several.has_two_areas:
        home, work = (steps_of(release, area) for area in (several.home_area, several.work_area))
        yield replace(several.question, side="home", areas=home, others=work)
        return
    for area in several.areas:
        for one in _each_of(release, release.areas.find(area), several.each):
            yield replace(several.question, areas=steps_of(release, one), others=())


def steps_of(release: Release, area: str) -> tuple[str, ...]:
    """Steps of an area that is written as a text, or is the name of a unit."""
    return tuple(str(step).removeprefix("+") for step in parse_area(release.areas.find(area)))


def _each_of(release: Release, area: str, layer: str) -> list[str]:
    if not layer:
        return [area]
    chosen, units = release.areas.select(area), release.areas.units(layer)
    mine = units.code if chosen.blocks is None else units.code[chosen.blocks]
    rows = units.rows.iloc[sorted(set(mine.tolist()))]
    return [str(Unit(layer, unit_id)) for unit_id in rows.loc[rows["kind"] == "unit", "unit_id"]]


def answers(
    release: Release, several: Questions | Question, error_rows: int | None = None
) -> Iterator[Result]:
    """Yield the answers of a release; with errors of numbers and of `error_rows` rows unless it is None."""
    for question in _each_question(release, several):
        answer = ask(release, question)
        yield answer if error_rows is None else release.with_errors(answer, error_rows)


def changes(
    releases: Sequence[Release], several: Questions | Question, error_rows: int | None = None
) -> Iterator[Result]:
    """Yield what changed from each release to the next, in the order given, one for each area that both have."""
    for before, after in pairwise(releases):
        earlier = {answer.about.area_text: answer for answer in answers(before, several, error_rows)}
        for later in answers(after, several, error_rows):
            if later.about.area_text in earlier:
                yield change(earlier[later.about.area_text], later)
