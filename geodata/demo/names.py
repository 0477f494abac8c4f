"""Readable invented names."""

from __future__ import annotations

from string import ascii_uppercase
from typing import Final

import numpy as np

_STEMS: Final = (
    "Alder Amber Ash Aspen Barley Birch Bracken Bram Briar Calder Carrow Cinder Clover Cobble Copper Corrin "
    "Curlew Dapple Dray Dunlin Elder Ember Fallow Fen Fern Finch Flint Gannet Garnet Gorse Grebe Harrow "
    "Hazel Heron Hollin Hornbeam Ibis Ivory Juniper Keld Kestrel Lantern Larch Lark Linden Linnet Lorrin "
    "Mallow Marrow Merlin Mistle Moss Nettle Oriel Osprey Otter Pebble Pell Perrin Petrel Plover Quarrel "
    "Quill Raven Reed Rowan Rush Sable Sedge Sorrel Sparrow Stern Swallow Tamsin Tansy Tarn Teasel Teal "
    "Thistle Thrush Tolliver Umber Vale Verrin Wander Willow Winter Wren Yarrow Yew"
)
_COAST: Final = "haven mouth port bay quay sound strand head"
_LAND: Final = (
    "ford bury field ton ham wick bridge dale stead stoke combe brook mere well worth thorpe gate hill"
)
_STATE: Final = "land mark moor shire mere fell holm reach"
_PLAIN: Final = "Lower Upper North South East West New Old Great Little"


class Names:
    """Generates names, each only once.

    Parameters
    ----------
    rng : Generator
        Source of the names' randomness.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._stems = [str(stem) for stem in rng.permutation(_STEMS.split())]
        self._next = 0
        self._used: set[str] = set()

    def stem(self) -> str:
        """Return the next stem: all of them once, then again from the first."""
        stem = self._stems[self._next % len(self._stems)]
        self._next += 1
        return stem

    def state(self) -> str:
        """Name a state."""
        return self._once(_STATE)

    def county(self) -> str:
        """Name a county, without the word."""
        return self._once("")

    def town(self, *, coast: bool) -> str:
        """Name a town, on the coast or not."""
        return self._once(_COAST if coast else _LAND)

    def landmark(self) -> str:
        """Name a river, a lake, or another landmark, without the word for what it is."""
        stem = self.stem()
        if stem in self._used:  # all stems are
            return self._once(_LAND)
        self._used.add(stem)
        return stem

    def beside(self, name: str) -> str:
        """Name a neighbor of `name`: the same with a word in front."""
        for word in self._rng.permutation(_PLAIN.split()):
            if f"{word} {name}" not in self._used:
                self._used.add(f"{word} {name}")
                return f"{word} {name}"
        return self.town(coast=False)

    def _once(self, endings: str) -> str:
        while True:
            stem, ending = self.stem(), str(self._rng.choice(endings.split() or [""]))
            name = joined(stem, ending)
            if name not in self._used:
                self._used.add(name)
                return name


def joined(stem: str, ending: str) -> str:
    """Join stem and ending without a letter three times or a syllable twice: Moss + stead is Mosstead."""
    if not ending:
        return stem
    if stem[-1] == ending[0]:
        return stem + ending[1:]
    return stem + ending


def postal_codes(names: list[str]) -> list[str]:
    """Two capitals for each name, all different: the first letter, and the first other letter still available."""
    codes: list[str] = []
    for name in names:
        letters = [letter.upper() for letter in name if letter.isalpha()]
        wanted = [letters[0] + other for other in [*letters[1:], *"XYZ", *ascii_uppercase]]
        codes.append(next(code for code in wanted if code not in codes))
    return codes
