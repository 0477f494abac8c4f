"""Answer one question or several questions about a release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Final

import pandas
import shapely

from geodata.text import list_names
from mapapp.answers.analyses.change import change
from mapapp.answers.analyses.entries import ENTRIES
from mapapp.answers.analyses.over_years import OverYears, over_years
from mapapp.answers.analyses.place_characteristics import AreaCharacteristics
from mapapp.answers.analyses.results import Result
from mapapp.answers.areas.levels import level_named
from mapapp.answers.areas.sentence_names import SentenceNames
from mapapp.answers.downtowns import core_place, downtown_named
from mapapp.answers.release import Release
from mapapp.answers.words import covered_states
from mapapp.base import memory_limits
from mapapp.base.result_cache import ResultCache
from mapapp.question.area_text import Shape, Unit, area_text, parse_area, widen_area
from mapapp.question.distance_bands import EDGES_MI
from mapapp.question.question import EVERYTHING, Question, Questions, SettledQuestion
from mapapp.question.sentence.asked import Asked, ask_in_words


def ask(release: Release, question: SettledQuestion) -> Result:
    """Answer a question; while its analysis lacks an area, answer a simpler one.

    Raises
    ------
    UsageError, GeometryError
        If the release does not have an area or a layer of it.
    """
    analysis = question.analysis if question.is_complete else "profile" if question.areas else "comparison"
    return _ANALYSES[analysis](release, question)


def asked_in(release: Release, text: str, chosen: tuple[str, ...] = ()) -> Asked:
    """What a sentence asks of a release, where `chosen` are the steps of the area that "this town" means.

    A sentence that was read lately, such as a chosen search result, is not read again.

    Raises
    ------
    UsageError
        If the sentence is empty or too long.
    """
    read = release.once(("sentences",), lambda: ResultCache[Asked](max_entries=memory_limits.SENTENCES))
    names = release.once(
        ("sentence names",),
        lambda: SentenceNames(
            release.areas,
            release.attributes,
            has_published_counts=release.has_published_counts,
            core=partial(core_place, release),
        ),
    )
    return read.get_or_make((text, chosen), lambda: ask_in_words(text, names, chosen))


def characteristics_of(release: Release, question: Question) -> AreaCharacteristics | None:
    """Return what LODES publishes about the area of a question, if its analysis shows that and the release has it."""
    shown = ENTRIES[question.analysis].characteristics
    return release.published_profile(question.area, side=question.side) if shown else None


def _profile(release: Release, question: SettledQuestion) -> Result:
    return release.profile(question.area, question.filters, side=question.side)


def _cross_table(release: Release, question: SettledQuestion) -> Result:
    return release.cross_table(question.area, question.by, question.filters, side=question.side)


def _comparison(release: Release, question: SettledQuestion) -> Result:
    return release.comparison(question.area, question.filters, side=question.side, layer=question.layer)


def _destinations(release: Release, question: SettledQuestion) -> Result:
    return release.destinations(question.area, question.filters, side=question.side, layer=question.layer)


def _distance_direction(release: Release, question: SettledQuestion) -> Result:
    return release.distance_direction(
        question.area, question.filters, side=question.side, edges_mi=question.edges_mi
    )


def _inflow_outflow(release: Release, question: SettledQuestion) -> Result:
    return release.inflow_outflow(question.area, question.filters)


def _job_balance(release: Release, question: SettledQuestion) -> Result:
    return release.job_balance(question.area, question.filters, layer=question.layer)


def _characteristics(release: Release, question: SettledQuestion) -> Result:
    return release.characteristics(
        question.area, question.characteristic, question.filters, side=question.side, layer=question.layer
    )


def _paired(release: Release, question: SettledQuestion) -> Result:
    ends = question.ends
    return release.paired(ends["home"], ends["work"], question.filters, edges_mi=question.edges_mi)


def _flow_matrix(release: Release, question: SettledQuestion) -> Result:
    return release.flow_matrix(
        question.home_layer,
        question.work_layer,
        question.filters,
        home_area=question.ends["home"],
        work_area=question.ends["work"],
    )


_ANALYSES: Final[dict[str, Callable[[Release, SettledQuestion], Result]]] = {
    "profile": _profile,
    "cross-table": _cross_table,
    "comparison": _comparison,
    "destinations": _destinations,
    "distance-direction": _distance_direction,
    "inflow-outflow": _inflow_outflow,
    "job-balance": _job_balance,
    "characteristics": _characteristics,
    "paired": _paired,
    "flow-matrix": _flow_matrix,
}


def question_of(answer: Result) -> Question:
    """Return the question of an answer, except the distance bands of a pair, which its map does not show.

    An answer without a layer gets the default layer.
    """
    about = answer.about
    areas, others = (steps_of_text(text) for text in (*about.area_text.split(" | "), "")[:2])
    age, earnings, industry = about.kept_bands
    edges = getattr(answer, "edges_mi", EDGES_MI)
    usual = Question()
    return Question(
        analysis=about.analysis,
        side=about.side or ("home" if others else "work"),
        areas=areas,
        others=others,
        layer=getattr(answer, "layer", usual.layer),
        home_layer=getattr(answer, "home_layer", usual.home_layer),
        work_layer=getattr(answer, "work_layer", usual.work_layer),
        edges=() if edges == EDGES_MI else edges,
        age=age,
        earnings=earnings,
        industry=industry,
        attributes=about.kept_attributes,
        characteristic=getattr(answer, "characteristic", usual.characteristic),
        by=getattr(answer, "by", ()),
    )


def matrix_parts(
    release: Release, several: Questions | Question, error_rows: int | None = None
) -> Iterator[pandas.DataFrame]:
    """Yield the cells of flow matrices in parts, so that any size fits in memory.

    The first `error_rows` cells of each matrix have an expected error.
    """
    for question in _each_question(release, several):
        yield from release.flow_matrix_parts(
            question.home_layer,
            question.work_layer,
            question.filters,
            home_area=question.ends["home"],
            work_area=question.ends["work"],
            error_rows=error_rows or 0,
        )


def _each_question(release: Release, several: Questions | Question) -> Iterator[SettledQuestion]:
    if isinstance(several, Question):
        return iter((release.areas.usual.settle(several),))
    return questions_of(release, several)


def questions_of(release: Release, several: Questions) -> Iterator[SettledQuestion]:
    """Yield each single question that `several` describes for a release, in order.

    Raises
    ------
    UsageError, GeometryError
        If the release does not have one of their areas or layers.
    """
    question = replace(
        several.question,
        layer=level_named(several.question.layer),
        home_layer=level_named(several.question.home_layer),
        work_layer=level_named(several.question.work_layer),
    )
    if several.has_two_areas:
        home, work = (
            steps_of(release, area, several.within_mi if area != EVERYTHING else None)
            for area in (several.home_area, several.work_area)
        )
        yield release.areas.usual.settle(replace(question, side="home", areas=home, others=work))
        return
    for area in several.areas:
        for text in _each_of(release, release.find_area(area), level_named(several.each)):
            steps = steps_of(release, text, several.within_mi)
            yield release.areas.usual.settle(replace(question, areas=steps, others=()))


def notes_on_names(release: Release, several: Questions) -> list[str]:
    """Return one line for each area name in the questions that other units have, too.

    Raises
    ------
    UsageError
        If the release does not have one of the areas.
    """
    named = (several.home_area, several.work_area) if several.has_two_areas else several.areas
    return [note for area in dict.fromkeys(named) if (note := _note_on_name(release, area))]


def note_on_axes(release: Release, area: str) -> str:
    """Say that an area of shapes lies elsewhere if its latitudes were given as longitudes; empty if it does not.

    It is said where the shapes hold no block of the release, and would hold some with latitude and longitude exchanged.
    """
    if "shape:" not in area:
        return ""
    shapes = [step.part.polygon for step in parse_area(area) if isinstance(step.part, Shape)]
    turned = shapely.transform(shapes, lambda places: places[:, ::-1])
    if not shapes or (abs(shapely.bounds(turned)) > [180, 90, 180, 90]).any():
        return ""
    given, exchanged = (
        release.areas.select(" ".join(str(Shape.of(shape)) for shape in parts)).blocks
        for parts in (shapes, turned)
    )
    if given is None or given.size or exchanged is None or not exchanged.size:
        return ""
    where = list_names(covered_states(release)) or "the area of the release"
    return f"no one works there; with latitude and longitude exchanged it would lie in {where}"


def _note_on_name(release: Release, area: str) -> str:
    core = downtown_named(release, area)
    return note_on_axes(release, area) or (release.areas.note_on_name(area) if core is None else core.words)


def steps_of(release: Release, area: str, within_mi: float | None = None) -> tuple[str, ...]:
    """Return the steps of an area, given as text or as the name of a unit, or of the corridor around it."""
    text = release.find_area(area)
    return steps_of_text(text if within_mi is None else area_text(widen_area(parse_area(text), within_mi)))


def steps_of_text(text: str) -> tuple[str, ...]:
    """Return the steps of an area given as text; none for an empty text."""
    return tuple(str(step).removeprefix("+") for step in parse_area(text)) if text else ()


def _each_of(release: Release, area: str, layer: str) -> list[str]:
    if not layer:
        return [area]
    chosen, units = release.areas.select(area), release.areas.units(layer)
    codes = units.code if chosen.blocks is None else units.code[chosen.blocks]
    rows = units.rows.iloc[sorted(set(codes.tolist()))]
    return [str(Unit(layer, unit_id)) for unit_id in rows.loc[rows["kind"] == "unit", "unit_id"]]


def answers(
    release: Release, several: Questions | Question, error_rows: int | None = None
) -> Iterator[Result]:
    """Yield the answers of a release, with errors for numbers and `error_rows` rows unless that is None."""
    for question in _each_question(release, several):
        yield _answer(release, question, error_rows)


def over_all_years(
    releases: Sequence[Release], several: Questions | Question, error_rows: int | None = None
) -> list[OverYears]:
    """Return, for each area that all releases have, their answers side by side.

    Raises
    ------
    UsageError
        If two releases have the same year, or one has no year.
    """
    by_year = sorted(releases, key=lambda release: release.year or 0)
    return [
        over_years([_answer(release, question, error_rows) for release in by_year])
        for question in _common_questions(by_year, several)
    ]


def changes(
    releases: Sequence[Release], several: Questions | Question, error_rows: int | None = None
) -> Iterator[Result]:
    """Yield the changes from each release to the next, in the given order, for each area that both have."""
    for before, after in pairwise(releases):
        for question in _common_questions((before, after), several):
            yield change(*(_answer(release, question, error_rows) for release in (before, after)))


def _common_questions(releases: Sequence[Release], several: Questions | Question) -> list[SettledQuestion]:
    """Return the questions about areas that all releases have, with the usual layers of the last release."""
    asked = [
        {(question.areas, question.others): question for question in _each_question(release, several)}
        for release in releases
    ]
    return [question for key, question in asked[-1].items() if all(key in of_release for of_release in asked)]


def _answer(release: Release, question: SettledQuestion, error_rows: int | None) -> Result:
    answer = ask(release, question)
    return answer if error_rows is None else release.with_errors(answer, error_rows)
