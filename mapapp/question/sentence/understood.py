"""What was understood of a sentence, as labels for readers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mapapp.question.analyses import Show
from mapapp.question.filters import CHARACTERISTICS
from mapapp.question.question import Question
from mapapp.question.sentence.gazetteer import Gazetteer
from mapapp.question.sentence.meanings import (
    Asks,
    Bands,
    Item,
    Layer,
    Miles,
    Opposite,
    Values,
    Verb,
    Where,
    Year,
)
from mapapp.question.sentence.mentions import Mention, Mentions
from mapapp.question.sentence.reading import Reading

_END_NAMES: Final = {"work": "Workplaces", "home": "Homes"}
SHOW_NAMES: Final = {
    "points": "points",
    "areas": "colored areas",
    "density": "density",
    "lines": "flow lines",
}


@dataclass(frozen=True, slots=True)
class Understood:
    """One thing that was understood.

    Attributes
    ----------
    field : str
        The field of the question or the view, as in `mapapp.question.fields`; `year` or `against` for a release.
    label : str
        What it is, for readers: `Homes: Cranston`.
    said : str
        The words of the sentence; empty if it follows from the rest.
    """

    field: str
    label: str
    said: str = ""


def understood_of(
    reading: Reading, question: Question, mentions: Mentions, gazetteer: Gazetteer, show: Show | None
) -> tuple[Understood, ...]:
    """Return what was understood, in the order in which a person would say it."""
    said = reading.sentence.said
    asks = [item for item in reading.items if isinstance(item.meaning, Asks | Opposite | Verb | Where)]
    found = [Understood("analysis", question.entry.title, said(asks[0].first, asks[0].last) if asks else "")]
    for mention in mentions.areas:
        field, label = _area(mention, question)
        found.append(Understood(field, label, said(mention.first, mention.last)))
    for item in reading.items:
        for field, label in _part(item, question, gazetteer):
            found.append(Understood(field, label, said(item.first, item.last)))
    if question.by:
        titles = " and ".join(map(gazetteer.labels.title, question.by))
        found.append(Understood("by", f"Table by {titles}"))
    if show is not None:
        found.append(Understood("show", f"Drawn as {SHOW_NAMES[show]}"))
    return tuple(found)


def _area(mention: Mention, question: Question) -> tuple[str, str]:
    """Return the field and the label of an area."""
    name = ", ".join(mention.names)
    if question.entry.n_areas == 1 and "side" not in question.entry.fields:
        return "areas", f"Area: {name}"
    if question.entry.n_areas == 1:
        return "areas", f"{_END_NAMES[mention.end or question.side]}: {name}"
    if mention.end is None and question.areas == question.others:
        return "areas", f"Homes and workplaces: {name}"
    is_work = mention.end == "work" or mention.steps[0] not in question.areas
    return ("others", f"Workplaces: {name}") if is_work else ("areas", f"Homes: {name}")


def _part(item: Item, question: Question, gazetteer: Gazetteer) -> Iterator[tuple[str, str]]:
    """Yield the field and the label of what an item says, unless it is an area or an analysis."""
    match item.meaning:
        case Layer(level=level) as layer if question.entry.name == "flow-matrix":
            end = {"home": "Homes counted", "work": "Workplaces counted", None: "Counted"}[layer.end]
            yield f"{layer.end or 'home'}_layer", f"{end} by {gazetteer.layer_name(level)}"
        case Layer(level=level) if "layer" in question.entry.fields:
            yield "layer", f"Counted by {gazetteer.layer_name(level)}"
        case Values(attribute=name, codes=codes, title=title, labels=values) if any(
            f"{name}:{code}" in question.attributes for code in codes
        ):
            yield "attributes", f"{title}: {' or '.join(values)}"
        case Bands(characteristic=characteristic, bands=bands) if characteristic not in question.by:
            labels = " or ".join(CHARACTERISTICS[characteristic][band - 1] for band in bands)
            yield characteristic, f"{characteristic.capitalize()}: {labels}"
        case Miles(edges_mi=edges) if question.edges:
            yield "edges", f"Distance bands: {', '.join(f'{edge:g}' for edge in edges)} miles"
        case Year(year=year, is_earlier=True):
            yield "against", f"Compared with {year}"
        case Year(year=year):
            yield "year", f"Year: {year}"
        case _:
            pass
