"""Which analysis a sentence asks for, and what it asks for that is not there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final, TypeVar

from mapapp.question.fields import MAX_NAMES
from mapapp.question.sentence.attribute_phrases import merge_values
from mapapp.question.sentence.gazetteer import Gazetteer
from mapapp.question.sentence.labels import Labels
from mapapp.question.sentence.meanings import (
    Asks,
    Bands,
    By,
    ClassOfJobs,
    Empty,
    Item,
    Layer,
    Miles,
    Missing,
    Near,
    Noun,
    People,
    Place,
    Values,
    Where,
)
from mapapp.question.sentence.mentions import Mention, Mentions

_SPECIFIC: Final = ("job-balance", "inflow-outflow", "distance-direction")
_DISTANCE: Final = "distance_band"
"""The attribute of worker records that says how far home and work are apart."""
_Meaning = TypeVar("_Meaning")


def all_of(items: Sequence[Item], kind: type[_Meaning]) -> list[_Meaning]:
    """Return all meanings of one kind, in order."""
    return [item.meaning for item in items if isinstance(item.meaning, kind)]


def analysis_of(items: Sequence[Item], mentions: Mentions) -> str:
    """Return the analysis that a sentence asks for; the more specific words decide."""
    if all_of(items, ClassOfJobs):
        return "characteristics"
    strong = {meaning.analysis for meaning in all_of(items, Asks) if not meaning.is_weak}
    layers = all_of(items, Layer)
    if "flow-matrix" in strong or any(layer.paired for layer in layers) or len(_ends_of(layers)) == 2:
        return "flow-matrix"
    if len(_ends_of(mentions.areas)) == 2 or ("paired" in strong and len(mentions.areas) == 2):
        return "flow-matrix" if layers else "paired"
    if "cross-table" in strong and mentions.areas:
        return "cross-table"
    specific = [name for name in _SPECIFIC if name in strong]
    if specific:
        return specific[0]
    if all_of(items, Miles):
        return "distance-direction"
    if "comparison" in strong or not mentions.areas:
        return "comparison"
    return _of_area(items, mentions, strong)


def cross_table_by(items: Sequence[Item], labels: Labels) -> tuple[str, ...]:
    """Return the attributes of the cross table that a sentence asks for; none if it asks for another analysis."""
    names = [name for meaning in all_of(items, By) for name in meaning.attributes]
    # "Men and women" are everybody, by sex.
    names += [
        name
        for name, codes in merge_values(all_of(items, Values)).items()
        if len(codes) == labels.size(name) > 1
    ]
    if is_compared(items) and labels.has(_DISTANCE):
        # "Do people with a degree commute farther?" compares them with others, by how far they commute.
        names += [*(meaning.attribute for meaning in all_of(items, Values)), _DISTANCE]
    if any(meaning.is_asked for meaning in all_of(items, By)):
        # "Which industry has the youngest workers?" compares industries by age.
        names += [meaning.characteristic for meaning in all_of(items, Bands) if meaning.is_extreme]
    return tuple(dict.fromkeys(names))[:MAX_NAMES]


def is_compared(items: Sequence[Item]) -> bool:
    """Return whether a sentence compares how far the workers with a value commute with how far others do."""
    return bool(all_of(items, Values)) and any(meaning.is_comparing for meaning in all_of(items, Asks))


def missing_words(missing: Missing, said: str, gazetteer: Gazetteer, used: Collection[str] = ()) -> str:
    """Return a sentence that says what is not there, and what can be asked instead.

    It is empty if the sentence has a value of the attribute in question, whose name is then in `used`.
    """
    labels = gazetteer.labels
    attribute = labels.about(missing.attributes)
    if attribute is not None and attribute.name in used:
        return ""
    if attribute is not None:
        return f"“{said}” is not one of the values of {attribute.title}, which are: {labels.values_of(attribute)}."
    *titles, last = [
        title if title[1:2].isupper() else title[:1].lower() + title[1:] for title in labels.titles
    ]
    ask = f"ask by {', '.join(titles)}, or {last}" if titles else f"ask by {last}"
    return missing.note.format(here=gazetteer.here, ask=ask)


def _ends_of(parts: Sequence[Layer] | Sequence[Mention]) -> set[str]:
    return {part.end for part in parts if part.end}


def _is_of_place(items: Sequence[Item]) -> bool:
    """Return whether a place follows a layer directly: `towns in Kent County`."""
    content = [item.meaning for item in items if not isinstance(item.meaning, Empty)]
    return any(
        isinstance(first, Layer) and isinstance(second, Place | Near) for first, second in pairwise(content)
    )


def _of_area(items: Sequence[Item], mentions: Mentions, strong: set[str]) -> str:
    """Return the analysis of a sentence about one area."""
    layers, nouns = all_of(items, Layer), all_of(items, Noun)
    layer_ends = _ends_of(layers)
    if "profile" in strong and not layers and not all_of(items, Where):
        return "profile"  # "Which industries do residents of Newport work in?"
    if mentions.asked or layer_ends or "destinations" in strong:
        # "Residents of Kent County by home town" are counted at home, all others at the other end.
        is_same_end = layer_ends == _ends_of(mentions.areas) and not mentions.asked and bool(layer_ends)
        return "comparison" if is_same_end else "destinations"
    if "profile" in strong:
        return "profile"
    if layers:
        is_of_parts = (
            _is_of_place(items)
            or any(noun.is_jobs for noun in nouns)
            or {noun.end for noun in nouns} == {"home"}
        )
        return "comparison" if is_of_parts else "destinations"
    is_about_people = bool(nouns or all_of(items, People) or all_of(items, Values)) and not all_of(
        items, Where
    )
    is_about_people |= bool(all_of(items, Asks))
    return "profile" if is_about_people else "destinations"
