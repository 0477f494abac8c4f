"""How the options of commands, and the keys of a batch file, spell questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from mapapp.question.address import numbers_text
from mapapp.question.distance_bands import EDGES_MI, check_edges
from mapapp.question.fields import QUESTION
from mapapp.question.filters import CHARACTERISTICS, Filters
from mapapp.question.question import EVERYTHING, Question
from mapapp.question.questions import Questions

LAYER: Final = "county"
"""What a row is where a command or a file does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option.

    Attributes
    ----------
    name : str
        Without its dashes; the same in a batch file.
    kind : {"areas", "area", "layer", "choice", "bands", "miles"}
    default : str
        As it is typed; empty if the option changes nothing.
    help : str
    field : str
        The field of a question that it sets; empty for those that say which questions are asked.
    """

    name: str
    kind: Literal["areas", "area", "layer", "choice", "bands", "miles"]
    default: str
    help: str
    field: str = ""


def _by_name(*options: Option) -> dict[str, Option]:
    return {option.name: option for option in options}


OPTIONS: Final = _by_name(
    Option(
        name="area",
        kind="areas",
        default="",
        help="An area: a unit's name, level:identifier, steps such as 'county:44007 -stplc:4459000', a circle, ring, "
        "box or shape, or all. Repeat it for several answers.  [default: (all)]",
    ),
    Option(
        name="each", kind="layer", default="", help="One answer for each unit of a layer within the area."
    ),
    Option(
        name="home-area", kind="area", default=EVERYTHING, help="Where they live: paired and flow-matrix."
    ),
    Option(
        name="work-area", kind="area", default=EVERYTHING, help="Where they work: paired and flow-matrix."
    ),
    Option(name="side", kind="choice", default="work", help=QUESTION["side"].help, field="side"),
    Option(
        name="age",
        kind="bands",
        default="",
        help="Bands to keep, such as 1,2: 29 or younger, 30 to 54, 55 or older.",
        field="age",
    ),
    Option(
        name="earnings",
        kind="bands",
        default="",
        help="Bands to keep: up to $1,250 a month, up to $3,333, more.",
        field="earnings",
    ),
    Option(
        name="industry",
        kind="bands",
        default="",
        help="Groups to keep: goods producing, trade and transport, other services.",
        field="industry",
    ),
    Option(
        name="layer",
        kind="layer",
        default=LAYER,
        help="What a row of comparison, destinations or job-balance is, such as county, town, city, zip, metro or "
        "tract.",
        field="layer",
    ),
    Option(
        name="home-layer",
        kind="layer",
        default=LAYER,
        help=QUESTION["home_layer"].help,
        field="home_layer",
    ),
    Option(
        name="work-layer",
        kind="layer",
        default=LAYER,
        help=QUESTION["work_layer"].help,
        field="work_layer",
    ),
    Option(
        name="bands",
        kind="miles",
        default=numbers_text(EDGES_MI),
        help="Miles at which distance bands end.",
        field="edges",
    ),
)
"""By name, in the order in which help lists them."""


def questions_from(given: Mapping[str, Any], analysis: str) -> Questions:
    """Return the questions of an analysis that some options ask.

    Parameters
    ----------
    given : mapping
        Values by the name of an option; those that are missing have their default. Areas, bands and miles are
        sequences, all others texts.

    Raises
    ------
    UsageError
        If a value is not allowed, or the analysis does not have the areas that are given.
    """
    kept = Filters(**{name: given.get(name, ()) for name in CHARACTERISTICS})
    edges = check_edges(given.get("bands", EDGES_MI))
    layers = {
        option.field: given.get(name, option.default)
        for name, option in OPTIONS.items()
        if option.kind == "layer" and option.field
    }
    question = Question(
        analysis=analysis,
        side=given.get("side", "work"),
        edges=() if edges == EDGES_MI else edges,
        age=tuple(kept.age),
        earnings=tuple(kept.earnings),
        industry=tuple(kept.industry),
        **layers,
    )
    return Questions(
        question=question,
        areas=tuple(given.get("area", ())) or (EVERYTHING,),
        each=given.get("each", ""),
        home_area=given.get("home-area", EVERYTHING),
        work_area=given.get("work-area", EVERYTHING),
    )


def options_of(questions: Sequence[Question]) -> list[str] | None:
    """Return the options that ask the same as questions, one at least; None if no options do."""
    first = questions[0]
    if len({replace(each, areas=(), others=()) for each in questions}) > 1:
        return None
    options = ["--analysis", first.analysis]
    if first.entry.n_areas == 2:
        if len(questions) > 1:
            return None
        for end in ("home", "work"):
            options += _unless(f"{end}-area", first.ends["home" if end == "home" else "work"])
    else:
        options += [part for question in questions for part in ("--area", question.area)]
        options += _unless("side", first.side)
    options += _unless("layer", first.layer)
    if first.entry.n_areas == 2:
        options += [*_unless("home-layer", first.home_layer), *_unless("work-layer", first.work_layer)]
    for name in CHARACTERISTICS:
        options += _unless(name, ",".join(map(str, getattr(first, name))))
    return options + _unless("bands", numbers_text(first.edges_mi))


def _unless(name: str, value: str) -> list[str]:
    """An option, unless the value is its default."""
    return [] if value == OPTIONS[name].default else [f"--{name}", value]
