"""The levels of units: their keys, labels, and everyday words."""

from __future__ import annotations

import re
from typing import Final

from geodata.store.schema import LAYER_LABELS
from mapapp.question.area_text import BLOCK

NAMED: Final = ("stplc", "ctycsub")
"""Levels whose units people call by a name alone."""
LANDMARK: Final = "landmark"
LEVEL_LABELS: Final = {
    "state": "State",
    "county": "County",
    "stplc": "Place (city or town)",
    "ctycsub": "Town (county subdivision)",
    "cbsa": "Metropolitan or micropolitan area",
    "zcta": "ZIP code area",
    "puma": "Public-use microdata area (PUMA)",
    "tract": "Census tract",
    "superpuma": "SuperPUMA",
    **{code: label for code, label in LAYER_LABELS.items() if code not in ("bgrp", "ctycsub")},
    "bgrp": LAYER_LABELS["bgrp"],
    BLOCK: "Census block",
    LANDMARK: "Landmark",
}
LEVEL_WORDS: Final = {
    "county": ("parish",),
    "stplc": ("place", "city"),
    "ctycsub": ("county subdivision", "town", "township", "cousub"),
    "cbsa": ("metro", "metro area", "metropolitan area"),
    "zcta": ("zip", "zip code", "zip area", "zip code area"),
    "tract": ("census tract",),
    "bgrp": ("block group",),
    "stcd": ("congressional district",),
    "stsldl": ("state house district",),
    "stsldu": ("state senate district",),
    "stschool": ("school district",),
    "trib": ("tribal area",),
    "mil": ("military installation", "military base"),
    "stwib": ("workforce board area",),
    BLOCK: ("census block",),
}
"""Everyday words for a layer; commands and Python also accept their plurals."""


def level_label(level: str) -> str:
    """Return the label of a layer; a layer of zones of another country is called by its key."""
    return LEVEL_LABELS.get(level) or level.capitalize()


def level_named(name: str) -> str:
    """Return the key of a layer from its key or a word of `LEVEL_WORDS`; any other text unchanged."""
    text = " ".join(re.split(r"[\s_-]+", name.strip().lower()))
    singular = f"{text[:-3]}y" if text.endswith("ies") else text.removesuffix("s")
    return next((_LEVELS[word] for word in (text, singular) if word in _LEVELS), name)


_LEVELS: Final = {level: level for level in LEVEL_LABELS} | {
    word: level for level, words in LEVEL_WORDS.items() for word in words
}
