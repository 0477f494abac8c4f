"""How an answer is looked at, which is no part of a question."""

from __future__ import annotations

from dataclasses import dataclass

from mapapp.question.analyses import Show
from mapapp.question.fields import Theme
from mapapp.question.question import Question

Bounds = tuple[float, float, float, float]
"""West, south, east and north of what a map shows, degrees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How an answer is shown; `mapapp.question.fields` declares every field.

    Attributes
    ----------
    show : {"points", "areas", "density", "lines"}
        How it is drawn on the map, if its analysis can be drawn so.
    theme : {"light", "dark"}
    every : bool
        Whether the table shows all of its rows.
    """

    show: Show = "points"
    theme: Theme = "light"
    every: bool = False

    def show_of(self, question: Question) -> Show:
        """How an answer is drawn: as asked for, if its analysis can be drawn so; else the analysis's first way."""
        known = question.entry.shows
        return self.show if self.show in known or not known else known[0]
