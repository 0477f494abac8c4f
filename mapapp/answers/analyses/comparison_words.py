"""What a comparison of two releases is called: a change over time, or the difference of two releases of one year."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["ComparisonWords", "comparison_words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonWords:
    """Words for a comparison and for its two sides, in lower case.

    Attributes
    ----------
    noun : str
        What the second release has more than the first.
    sides : tuple of (str, str)
        The numbers of the first and of the second release.
    releases : tuple of (str, str)
        Which of the two releases is meant.
    title : str
        Heading of a table of the comparison.
    """

    noun: str
    sides: tuple[str, str]
    releases: tuple[str, str]
    title: str

    @property
    def heads(self) -> tuple[str, str, str]:
        """Headings of the columns: first release, second release, and by how much they differ."""
        first, second = self.sides
        return first.capitalize(), second.capitalize(), self.noun.capitalize()

    @property
    def order(self) -> str:
        """How the rows of a table are sorted, and what its percentages refer to."""
        return f"Largest {self.noun} first. Percentages are of the {self.releases[0]} count."

    def between(self, first: str, second: str) -> str:
        """The comparison with the names of its two releases."""
        link = ("from", "to") if self is _OVER_TIME else ("between", "and")
        return f"{self.noun} {link[0]} {first} {link[1]} {second}"


_OVER_TIME: Final = ComparisonWords(
    noun="change", sides=("before", "after"), releases=("earlier", "later"), title="What changed"
)
_OF_ONE_YEAR: Final = ComparisonWords(
    noun="difference", sides=("first", "second"), releases=("first", "second"), title="What differs"
)


def comparison_words(first_year: int | str | None, second_year: int | str | None) -> ComparisonWords:
    """Words for a comparison of two releases, from their years; a year is None if the release does not state it."""
    return _OF_ONE_YEAR if first_year and first_year == second_year else _OVER_TIME
