"""What a sentence needs to know of a publication: the names of its areas, layers, and attributes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from mapapp.question.sentence.labels import Labels
from mapapp.question.sentence.meanings import Place


class Gazetteer(Protocol):
    """Names of areas, layers, and attributes; words are in the spelling of `mapapp.question.sentence.text`."""

    @property
    def labels(self) -> Labels:
        """The attributes and their values."""

    @property
    def here(self) -> str:
        """How a sentence calls the publication: `this release`, or `these records`."""

    @property
    def has_published_counts(self) -> bool:
        """Whether the publication has counts of jobs by class, such as those in health care."""

    def place_at(
        self, words: Sequence[str], first: int, codes: Collection[int] = ()
    ) -> tuple[Place, int] | None:
        """Return the area with the longest name that starts at a word, and the number of words of its name.

        `codes` are the positions of the words that are written in capitals, like the code of a state.
        """

    def place_like(self, words: Sequence[str]) -> Place | None:
        """Return the area whose name all the words almost spell."""

    def nearest_names(self, text: str) -> Sequence[str]:
        """Return a few names of areas that have all words of an unknown name, most likely first."""

    def layer_at(self, words: Sequence[str], first: int) -> tuple[str, int, bool] | None:
        """Return the layer named at a word, the number of words of its name, and whether that is a plural."""

    def layer_name(self, level: str) -> str:
        """Return the name of a layer for readers."""
