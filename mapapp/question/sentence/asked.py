"""A sentence as a question: call `ask_in_words`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from mapapp.question.analyses import ANALYSES, Show
from mapapp.question.distance_bands import check_edges
from mapapp.question.fields import Side, kept_bands
from mapapp.question.fields import Values as FieldValues
from mapapp.question.filters import CHARACTERISTICS
from mapapp.question.question import OTHER_END, Question
from mapapp.question.sentence.attribute_phrases import merge_values
from mapapp.question.sentence.clues import all_of, analysis_of, cross_table_by, is_compared, missing_words
from mapapp.question.sentence.gazetteer import Gazetteer
from mapapp.question.sentence.meanings import (
    Asks,
    Bands,
    By,
    ClassOfJobs,
    Empty,
    Here,
    Item,
    Joint,
    Layer,
    Miles,
    Missing,
    Near,
    Noun,
    Opposite,
    People,
    Place,
    Point,
    Shown,
    Values,
    Verb,
    Where,
    Year,
)
from mapapp.question.sentence.mentions import Mention, Mentions, level_of, mentions_of
from mapapp.question.sentence.reading import Reading, read
from mapapp.question.sentence.text import sentence_of

# What was understood of a sentence, as labels for readers.

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
    understood = [
        Understood("analysis", question.entry.title, said(asks[0].first, asks[0].last) if asks else "")
    ]
    for mention in mentions.areas:
        field, label = _area(mention, question)
        understood.append(Understood(field, label, said(mention.first, mention.last)))
    for item in reading.items:
        for field, label in _part(item, question, gazetteer):
            understood.append(Understood(field, label, said(item.first, item.last)))
    if question.by:
        titles = " and ".join(map(gazetteer.labels.title, question.by))
        understood.append(Understood("by", f"Table by {titles}"))
    if show is not None:
        understood.append(Understood("show", f"Drawn as {SHOW_NAMES[show]}"))
    return tuple(understood)


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
        case ClassOfJobs(label=label):
            yield "characteristic", f"Class of jobs: {label}"
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


_EVERYWHERE: Final = ("everywhere", "anywhere", "overall", "altogether", "nationwide")
_AT_MOST: Final = re.compile(r"within|in |less|under|below|up to|at most|no more", re.IGNORECASE)
"""How a largest distance begins."""
_WITHOUT_CONTENT: Final = (Empty, Joint, Missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a sentence asks.

    Attributes
    ----------
    question : Question
    show : {"points", "areas", "density", "lines"} or None
        How to draw it, if the sentence says so.
    year, against_year : int or None
        The year, and the one to compare it with, if the sentence names them.
    understood : tuple of Understood
    notes : tuple of str
        What was assumed, and what the release does not have: whole sentences.
    unknown : tuple of str
        Words that were not understood.
    """

    question: Question = field(default_factory=Question)
    show: Show | None = None
    year: int | None = None
    against_year: int | None = None
    understood: tuple[Understood, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was understood."""
        return not self.understood


def ask_in_words(text: str, gazetteer: Gazetteer, chosen: Sequence[str] = ()) -> Asked:
    """Return what a sentence asks; fields that it does not mention have the usual values of a question.

    Parameters
    ----------
    text : str
    gazetteer : Gazetteer
    chosen : sequence of str
        Steps of the area that `this town` means, if one is chosen.

    Raises
    ------
    UsageError
        If the sentence is empty or too long.
    """
    reading = _use_distance_behind(_use_chosen(read(sentence_of(text), gazetteer), chosen))
    unknown = tuple(reading.sentence.said(*part) for part in reading.unknown)
    notes = _notes(reading, gazetteer)
    if all(isinstance(item.meaning, _WITHOUT_CONTENT) for item in reading.items):
        return Asked(notes=notes, unknown=unknown)
    mentions = mentions_of(reading.items)
    question = _question(reading.items, mentions, gazetteer)
    shown = [meaning.show for meaning in all_of(reading.items, Shown)][-1:]
    show = next((way for way in shown if way in question.entry.shows), None)
    years = all_of(reading.items, Year)
    return Asked(
        question=question,
        show=show,
        year=_last_year(year for year in years if not year.is_earlier),
        against_year=_last_year(year for year in years if year.is_earlier),
        understood=understood_of(reading, question, mentions, gazetteer, show),
        notes=(
            *mentions.notes,
            *notes,
            *_note_unplaced(reading, mentions, gazetteer),
            *_note_unshown(question, shown),
        ),
        unknown=unknown,
    )


def _use_chosen(reading: Reading, chosen: Sequence[str]) -> Reading:
    """Return a reading in which `this town` is the chosen area; without one, it has no meaning.

    Words on workers that name no area are about the chosen one, too: `women`, `sex by education`.
    """
    here = Place(" ".join(chosen), "the chosen area") if chosen else Empty()
    items = [
        replace(item, meaning=here) if isinstance(item.meaning, Here) else item for item in reading.items
    ]
    is_placed = any(isinstance(item.meaning, Place | Point | Layer) for item in items)
    says_all = any(word.text in _EVERYWHERE for word in reading.sentence.words)
    is_about_workers = any(isinstance(item.meaning, Values | By) for item in items)
    if chosen and is_about_workers and not is_placed and not says_all:
        last = len(reading.sentence.words)
        items.append(Item(last - 1, last, here))
    return replace(reading, items=tuple(items))


def _use_distance_behind(reading: Reading) -> Reading:
    """Return a reading in which `near Pawtucket, within 3 miles` has that distance, and not the assumed one."""
    items = list(reading.items)
    content = [at for at, item in enumerate(items) if not isinstance(item.meaning, Empty | Joint)]
    for near, place, miles in zip(content, content[1:], content[2:], strict=False):
        first, last = items[miles].first, items[miles].last
        match items[near].meaning, items[place].meaning, items[miles].meaning:
            case Near(is_assumed=True), Place() | Point(), Miles(edges_mi=(outer_mi,)):
                if _AT_MOST.match(reading.sentence.said(first, last)):
                    items[near] = replace(items[near], meaning=Near(0.0, outer_mi))
                    items[miles] = replace(items[miles], meaning=Empty())
            case _:
                pass
    return replace(reading, items=tuple(items))


def _question(items: Sequence[Item], mentions: Mentions, gazetteer: Gazetteer) -> Question:
    by = cross_table_by(items, gazetteer.labels)
    analysis = "cross-table" if by else analysis_of(items, mentions)
    values = _ends(analysis, items, mentions) | _layers(analysis, items, mentions)
    values |= {name: bands for name, bands in _bands(items).items() if name not in by}
    values |= {"by": by, "attributes": _attributes(items, by, gazetteer)}
    for meaning in all_of(items, ClassOfJobs):
        values["characteristic"] = meaning.code
    if "edges" in ANALYSES[analysis].fields:
        values |= _edges(items)
    return Question(analysis=analysis, **values)


def _attributes(items: Sequence[Item], by: Sequence[str], gazetteer: Gazetteer) -> tuple[str, ...]:
    """Return the included values of further attributes; a table by an attribute that all values are of has all."""
    chosen = merge_values(all_of(items, Values))
    kept = {
        name: codes
        for name, codes in chosen.items()
        if len(codes) < gazetteer.labels.size(name) and not (name in by and is_compared(items))
    }
    return tuple(sorted(f"{name}:{code}" for name, codes in kept.items() for code in codes))


def _last_year(years: Iterable[Year]) -> int | None:
    numbers = [year.year for year in years]
    return numbers[-1] if numbers else None


def _notes(reading: Reading, gazetteer: Gazetteer) -> tuple[str, ...]:
    """Return what was assumed and what is missing, as sentences."""
    notes: list[str] = []
    used = {meaning.attribute for meaning in all_of(reading.items, Values)}
    for item in reading.items:
        match item.meaning:
            case Missing() as missing:
                said = reading.sentence.said(item.first, item.last)
                notes.append(missing_words(missing, said, gazetteer, used))
            case Place(note=note) | Bands(note=note) | Values(note=note) | By(note=note):
                notes.append(note[:1].upper() + note[1:])
            case Near(is_assumed=True, outer_mi=miles):
                said = reading.sentence.said(item.first, item.last)
                notes.append(
                    f"“{said}” is taken as within {miles:g} mile; a sentence may name another distance."
                )
            case _:
                pass
    return tuple(dict.fromkeys((*(note for note in notes if note), *reading.corrected)))


def _note_unplaced(reading: Reading, mentions: Mentions, gazetteer: Gazetteer) -> Iterator[str]:
    """Yield a sentence for each unknown name in a sentence without areas, with the nearest known names."""
    for name in () if mentions.areas else reading.unknown_names:
        near = gazetteer.nearest_names(name)
        similar = f"; a name with these words is {near[0]}" if len(near) == 1 else ""
        if len(near) > 1:
            similar = f"; names with these words are {'; '.join(near)}"
        yield f"No area here is called “{name[:40]}”, so the whole release is shown{similar}."


def _side(items: Sequence[Item], mentions: Mentions) -> Side:
    """Return the end of the commute that the areas are at."""
    stated = [mention.end for mention in mentions.areas if mention.end]
    if stated:
        return stated[0]
    if mentions.asked:
        # "Where do people in Cranston work?" asks for the other end of Cranston; without an area, for the end itself.
        return OTHER_END[mentions.asked[0]] if mentions.areas else mentions.asked[0]
    ends = {noun.end for noun in all_of(items, Noun)} | {
        meaning.end for meaning in all_of(items, ClassOfJobs) if meaning.end
    }
    if len(ends) == 1:
        return ends.pop()
    is_about_people = any(meaning.is_people for meaning in all_of(items, Values)) or bool(
        all_of(items, People)
    )
    return "home" if is_about_people else "work"


def _ends(analysis: str, items: Sequence[Item], mentions: Mentions) -> FieldValues:
    """Return the areas of a question and their side."""
    side = _side(items, mentions)
    if ANALYSES[analysis].n_areas == 2:
        return _two_ends(analysis, mentions)
    steps = [step for mention in mentions.areas for step in mention.steps]
    return {"side": side, "areas": tuple(dict.fromkeys(steps))}


def _two_ends(analysis: str, mentions: Mentions) -> FieldValues:
    ends: dict[Side, list[str]] = {"home": [], "work": []}
    open_ended = [mention for mention in mentions.areas if mention.end is None]
    for mention in mentions.areas:
        if mention.end:
            ends[mention.end] += mention.steps
    for position, mention in enumerate(open_ended):
        if analysis == "flow-matrix":  # "flows between the towns of Kent County": both ends are there
            ends["home"] += mention.steps
            ends["work"] += mention.steps
        else:
            free: Side = "home" if not ends["home"] and position == 0 else "work"
            ends[free] += mention.steps
    return {
        "side": "home",
        "areas": tuple(dict.fromkeys(ends["home"])),
        "others": tuple(dict.fromkeys(ends["work"])),
    }


def _layers(analysis: str, items: Sequence[Item], mentions: Mentions) -> FieldValues:
    layers = all_of(items, Layer)
    if analysis == "flow-matrix":
        return _matrix_layers(layers, mentions)
    if "layer" not in ANALYSES[analysis].fields:
        return {}
    if layers:
        return {"layer": layers[-1].level}
    named = [level_of(mention) for mention in mentions.areas]
    several = sum(len(mention.steps) for mention in mentions.areas) > 1
    if analysis == "comparison" and several and len(set(named)) == 1 and named[0]:
        return {"layer": named[0]}  # "compare Warwick and Cranston" compares these two, not their parts
    return {}


def _matrix_layers(layers: Sequence[Layer], mentions: Mentions) -> FieldValues:
    """Return the layers of rows and columns; an end without a layer is one row or column for its whole area."""
    stated: FieldValues = {f"{layer.end}_layer": layer.level for layer in layers if layer.end}
    both = [layer for layer in layers if layer.end is None]
    if not both:
        return stated
    ends = {mention.end: level_of(mention) for mention in mentions.areas if mention.end}
    if len(ends) == 2 and not both[-1].paired:
        counted: Side = mentions.asked[0] if mentions.asked else "home"
        whole = ends[OTHER_END[counted]]
        return {
            f"{counted}_layer": both[-1].level,
            f"{OTHER_END[counted]}_layer": whole or both[-1].level,
        } | stated
    return {"home_layer": both[-1].level, "work_layer": both[-1].level} | stated


def _bands(items: Sequence[Item]) -> FieldValues:
    by_name: dict[str, set[int]] = {}
    for meaning in all_of(items, Bands):
        by_name.setdefault(meaning.characteristic, set()).update(meaning.bands)
    return {characteristic: kept_bands(bands) for characteristic, bands in by_name.items()}


def _edges(items: Sequence[Item]) -> FieldValues:
    edges = sorted({edge for meaning in all_of(items, Miles) for edge in meaning.edges_mi})
    return {"edges": check_edges(edges)} if edges else {}


def _note_unshown(question: Question, shown: Sequence[Show]) -> tuple[str, ...]:
    if not shown or shown[0] in question.entry.shows:
        return ()
    return (f"{question.entry.title} cannot be drawn as {SHOW_NAMES[shown[0]]}; the usual map is shown.",)
