"""The areas and landmarks of a release by name: the search box, commands, and sentences look here.

All of them use one index and one order, so that a name means the same area wherever it is typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mapapp.answers.area import Area
from mapapp.answers.area_search import AreaSearch
from mapapp.answers.findable import Findable, entry_of_area


class AreaNames:
    """An index of areas by name; safe to use from several threads.

    Parameters
    ----------
    findable : sequence of Findable
        In the order in which equally good matches are listed.
    """

    def __init__(self, findable: Sequence[Findable]) -> None:
        self.areas = [each.area for each in findable]
        self._ranks = [each.rank for each in findable]
        self._index = AreaSearch([entry_of_area(area) for area in self.areas])

    def search(self, text: str, limit: int, *, near: bool = False) -> tuple[list[Area], bool]:
        """Return at most `limit` areas whose names have every word of a text, and whether they are a guess.

        If nothing matches and `near` is true, return what may be meant.
        """
        found = self._index.find(text, limit, near=near)
        return self._listed(found.rows), found.is_guess

    def meant_by(self, text: str) -> list[Area]:
        """Return the areas that people most likely mean by a name, with or without a state: usually one."""
        rows = self._index.called(text)
        best = min((self._ranks[row] for row in rows), default=None)
        return self._listed(row for row in sorted(rows) if self._ranks[row] == best)

    def longest_at(self, words: Sequence[str], first: int) -> tuple[list[Area], int]:
        """Return the areas with the longest name that starts at a word, and how many words it takes up."""
        rows, count = self._index.longest_at(words, first)
        return self._listed(rows), count

    def named(self, words: Sequence[str]) -> list[Area]:
        """Return the areas that have a name with exactly these words."""
        return self._listed(self._index.named(words))

    def spelled_like(self, words: Sequence[str]) -> list[Area]:
        """Return the areas whose name some words almost spell."""
        return self._listed(self._index.spelled_like(words))

    def _listed(self, rows: Iterable[int]) -> list[Area]:
        return [self.areas[row] for row in rows]
