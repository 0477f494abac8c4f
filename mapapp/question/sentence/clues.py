"""Which analysis a sentence asks for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, TypeVar

from mapapp.question.sentence.meanings import (
    Asks,
    Empty,
    Item,
    Layer,
    Miles,
    Near,
    Noun,
    People,
    Place,
    Where,
)
from mapapp.question.sentence.mentions import Mention, Mentions

_SPECIFIC: Final = ("job-balance", "inflow-outflow", "distance-direction")
_Meaning = TypeVar("_Meaning")


def all_of(items: Sequence[Item], kind: type[_Meaning]) -> list[_Meaning]:
    """Return all meanings of one kind, in order."""
    return [item.meaning for item in items if isinstance(item.meaning, kind)]


def analysis_of(items: Sequence[Item], mentions: Mentions) -> str:
    """Return the analysis that a sentence asks for; the more specific words decide."""
    strong = {each.analysis for each in all_of(items, Asks) if not each.is_weak}
    layers = all_of(items, Layer)
    if "flow-matrix" in strong or any(layer.paired for layer in layers) or len(_ends_of(layers)) == 2:
        return "flow-matrix"
    if len(_ends_of(mentions.areas)) == 2 or ("paired" in strong and len(mentions.areas) == 2):
        return "flow-matrix" if layers else "paired"
    specific = [name for name in _SPECIFIC if name in strong]
    if specific:
        return specific[0]
    if all_of(items, Miles):
        return "distance-direction"
    if "comparison" in strong or not mentions.areas:
        return "comparison"
    return _of_area(items, mentions, strong)


def _ends_of(parts: Sequence[Layer] | Sequence[Mention]) -> set[str]:
    return {part.end for part in parts if part.end}


def _is_of_place(items: Sequence[Item]) -> bool:
    """Return whether a place follows a layer directly: `towns in Kent County`."""
    content = [item.meaning for item in items if not isinstance(item.meaning, Empty)]
    return any(isinstance(one, Layer) and isinstance(two, Place | Near) for one, two in pairwise(content))


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
    is_about_people = bool(nouns or all_of(items, People)) and not all_of(items, Where)
    is_about_people |= bool(all_of(items, Asks))
    return "profile" if is_about_people else "destinations"
