"""Puts parts of a page into the words of the publication that is shown: see `mapapp.answers.wording`."""

from __future__ import annotations

from typing import Final, TypeVar, cast

from dash.development.base_component import Component

from mapapp.answers.wording import Nouns, reader_text

_TEXTS: Final = ("children", "title", "label", "placeholder", "alt", "description", "data", "aria-label")
"""Properties of components that readers read, or that hold what they read; `data` are the entries of a menu."""

Part = TypeVar("Part")


def in_reader_words(part: Part, nouns: Nouns | None) -> Part:
    """Return a part of a page in the words of a publication; it is changed in place, and as it is without nouns.

    Identifiers and values are never changed. Of the entries of a menu, only the labels are.
    """
    if nouns is None:
        return part
    if isinstance(part, str):
        return cast(Part, reader_text(part, nouns))
    if isinstance(part, list):
        return cast(Part, [in_reader_words(item, nouns) for item in part])
    if isinstance(part, tuple):
        return cast(Part, tuple(in_reader_words(item, nouns) for item in part))
    if isinstance(part, dict):
        return cast(
            Part,
            {key: in_reader_words(value, nouns) if key == "label" else value for key, value in part.items()},
        )
    if isinstance(part, Component):
        for name in _TEXTS:
            value = getattr(part, name, None)
            if value is not None and not (name == "data" and not isinstance(value, list)):
                setattr(part, name, in_reader_words(value, nouns))
    return part
