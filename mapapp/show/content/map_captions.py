"""The one-line description of an answer's map, the same on the page and in pictures."""

from __future__ import annotations

from typing import Final

from mapapp.answers import words
from mapapp.answers.commutes.lines import Lines
from mapapp.answers.errors.error_marks import WITHIN
from mapapp.answers.release import names_of
from mapapp.answers.wording import nouns_of, reader_text
from mapapp.show.content.colored_units import has_no_difference, no_difference_words
from mapapp.show.content.dot_map import shown_ends
from mapapp.show.content.map_content import MapContent


def map_caption(content: MapContent, zoom: float | None = None) -> str:
    """Describe the picture; the zoom level decides which places are grouped (:meth:`MapContent.lines`)."""
    return reader_text(_caption_text(content, zoom), nouns_of(content.release.facts))


def _caption_text(content: MapContent, zoom: float | None) -> str:
    if content.before is None:
        return _answer_text(content, zoom)
    names = names_of([content.before, content.release])
    first, second = names[content.before.slug], names[content.release.slug]
    comparison, question = content.comparison, content.question
    if content.kind != "change":
        return f"{_answer_text(content, zoom)} · {second} only, not the {comparison.noun} from {first}"
    end = "homes" if question.shown_end == "home" else "workplaces"
    where = words.place_name(content.release, question)
    what = (
        f"{end} of people who {words.VERB[question.side]} in {where}, by {words.level_word(question.layer)}"
    )
    between = comparison.between(first, second)
    said = no_difference_words(content) if has_no_difference(content) else _GRAY[content.has_errors]
    return f"{between[0].upper()}{between[1:]} · {what} · {said.format(noun=comparison.noun)}"


_GRAY: Final = {True: "gray: the {noun} is " + WITHIN, False: "gray: no {noun}"}


def _answer_text(content: MapContent, zoom: float | None) -> str:
    release, question, kind = content.release, content.question, content.kind
    end = "Homes" if question.shown_end == "home" else "Workplaces"
    if kind in ("ratio", "share"):
        return content.ratio_caption(words.place_name(release, question) if question.areas else release.title)
    if not question.areas:
        whose = "all workers"
    else:
        whose = f"people who {words.VERB[question.side]} in {words.place_name(release, question)}"
    if kind == "lines":
        return _lines_text(content, whose, content.lines(zoom))
    if question.entry.own_drawing == "points" and question.is_complete:
        if question.analysis == "inflow-outflow":
            here = words.place_name(release, question)
            what = f"Homes of those who come into {here} to work, and workplaces of those who leave it"
        else:
            what = "Homes and workplaces of the pair"
        return f"{what} · 1 dot = 1 worker"
    if kind == "points":
        ends = shown_ends(question, content.view)
        if len(ends) == 2:
            return f"Homes and workplaces of {whose} · 1 dot = 1 worker at each end"
        end = "Homes" if ends[0] == "home" else "Workplaces"
        return f"{end} of {whose} · 1 dot = 1 worker"
    if kind != "density":
        measure = {"area": "workers", "share": "share of workers", "square-mile": "workers per square mile"}
        by_unit = f"{measure[content.view.per]} by {words.level_word(question.layer)}"
        return f"{end} of {whose} · {by_unit}"
    spread = f"smoothed over {content.density.spread_mi:.1g}\N{NO-BREAK SPACE}mi"
    return f"{end} of {whose} · density, {spread}"


def _lines_text(content: MapContent, whose: str, drawn: Lines) -> str:
    question = content.question
    if question.entry.n_areas == 2:
        what = (
            f"Flows from {words.level_word(question.home_layer)} to {words.level_word(question.work_layer)}"
        )
        where = f"the same {words.level_word(question.home_layer)}"
    else:
        what = f"Commutes of {whose} by {words.level_word(question.layer)}"
        where = "the area"
    total = max(drawn.total, 1)
    stay = "" if drawn.within is None else f"; {100 * drawn.within / total:.1f}% stay in {where}"
    shown = f"shows {100 * drawn.workers / total:.1f}% of {drawn.total:,} jobs"
    left_out = f" · {drawn.n_left_out:,} smaller flows not shown" if drawn.n_left_out else ""
    near = (
        f" · {drawn.n_between_grouped:,} between places too close to draw ({100 * drawn.between_grouped / total:.1f}%)"
        if drawn.between_grouped
        else ""
    )
    return f"{what} · {shown}{stay}{left_out}{near}"
