"""Questions as command options and as keys of a batch file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from mapapp.base.errors import UsageError
from mapapp.question.address import numbers_text
from mapapp.question.distance_bands import EDGES_MI, check_edges
from mapapp.question.fields import (
    QUESTION,
    USUAL_CHARACTERISTIC,
    Kind,
    NotAllowed,
    Values,
    characteristic_named,
)
from mapapp.question.filters import CHARACTERISTICS, Filters
from mapapp.question.question import EVERYTHING, Question, Questions


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option.

    Attributes
    ----------
    name : str
        Name without dashes; the same in a batch file.
    kind : str
        Kind of the field that the option sets; "areas", "area" or "distance" if it chooses the areas.
    default : str
        Value as typed; empty if the option has no effect.
    help : str
    field : str
        Field of a question that the option sets; empty for options that choose the areas.
    """

    name: str
    kind: Kind | Literal["areas", "area", "distance"]
    default: str
    help: str
    field: str = ""


def _of_field(field: str, *, name: str = "", default: str = "") -> Option:
    """Return the option that sets a field, with the field's kind and help; by default it has the field's name."""
    declared = QUESTION[field]
    return Option(
        name=name or field.replace("_", "-"),
        kind=declared.kind,
        default=default,
        help=declared.help,
        field=field,
    )


def _index_by_name(*options: Option) -> dict[str, Option]:
    return {option.name: option for option in options}


OPTIONS: Final = _index_by_name(
    Option(
        name="area",
        kind="areas",
        default="",
        help="Area: a unit's name, level:identifier, steps such as 'county:44007 -stplc:4459000', a circle, ring, box, "
        "shape, line or corridor, or all. Repeat for several answers.  [default: (all)]",
    ),
    Option(
        name="each",
        kind="layer",
        default="",
        help="Give one answer for each unit of this layer within the area.",
    ),
    Option(
        name="within",
        kind="distance",
        default="",
        help="Widen every given area to what is within this many miles of it, such as 0.5: a corridor.",
    ),
    Option(
        name="both-ends",
        kind="area",
        default="",
        help="Area where workers both live and work (paired, flow-matrix).",
    ),
    Option(
        name="home-area",
        kind="area",
        default=EVERYTHING,
        help="Area where workers live (paired, flow-matrix).",
    ),
    Option(
        name="work-area",
        kind="area",
        default=EVERYTHING,
        help="Area where workers work (paired, flow-matrix).",
    ),
    _of_field("side", default=QUESTION["side"].default),
    *(_of_field(characteristic) for characteristic in CHARACTERISTICS),
    *(_of_field(layer, default=QUESTION[layer].default) for layer in ("layer", "home_layer", "work_layer")),
    _of_field("edges", name="bands", default=numbers_text(EDGES_MI)),
    _of_field("attributes", name="attribute"),
    _of_field("characteristic", default=QUESTION["characteristic"].default),
    _of_field("by"),
)
"""By name, in the order of the help text."""


def questions_from(given: Values, analysis: str) -> Questions:
    """Return the questions that options describe for an analysis.

    Parameters
    ----------
    given : mapping
        Values by option name; missing options have their defaults. Areas, bands and miles are sequences, a distance is
        a number or None; the others are strings.

    Raises
    ------
    UsageError
        If a value is not allowed, or the analysis does not take the given areas.
    """
    kept = Filters(
        **{name: given.get(name, ()) for name in CHARACTERISTICS}, attributes=given.get("attribute", ())
    )
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
        attributes=tuple(kept.attributes),
        characteristic=characteristic_named(str(given.get("characteristic", USUAL_CHARACTERISTIC))),
        by=_names(given.get("by", ())),
        **layers,
    )
    home, work = _ends(given, question)
    return Questions(
        question=question,
        areas=tuple(given.get("area", ())) or (EVERYTHING,),
        each=given.get("each", ""),
        home_area=home,
        work_area=work,
        within_mi=given.get("within"),
    )


def _names(given: object) -> tuple[str, ...]:
    """Return the attributes of a cross table."""
    try:
        names: tuple[str, ...] = QUESTION["by"].check(
            list(given) if isinstance(given, tuple | list) else given
        )
    except NotAllowed as allowed:
        raise UsageError(f"by {str(given)[:60]!r}: give {allowed}") from None
    return names


def _ends(given: Values, question: Question) -> tuple[str, str]:
    """Return the area at each end: homes, then workplaces."""
    ends = tuple(given.get(name, EVERYTHING) for name in ("home-area", "work-area"))
    both = given.get("both-ends", "")
    if not both:
        return ends[0], ends[1]
    if question.entry.n_areas < 2:
        raise UsageError(f"--both-ends does not apply to {question.analysis}; give --area")
    if ends != (EVERYTHING, EVERYTHING):
        raise UsageError(
            "--both-ends is the area of homes and of workplaces: leave out --home-area and --work-area"
        )
    return both, both


def options_of(questions: Sequence[Question]) -> list[str] | None:
    """Return the options that describe one or more questions; None if no options can."""
    first = questions[0]
    if len({replace(question, areas=(), others=()) for question in questions}) > 1:
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
    options += [part for text in first.attributes for part in ("--attribute", text)]
    options += _unless("characteristic", first.characteristic)
    options += _unless("by", ",".join(first.by))
    return options + _unless("bands", numbers_text(first.edges_mi))


def _unless(name: str, value: str) -> list[str]:
    """Return an option and its value; nothing if the value is the default."""
    return [] if value == OPTIONS[name].default else [f"--{name}", value]
