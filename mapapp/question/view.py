"""How an answer is shown, which is not part of the question."""

from __future__ import annotations

from dataclasses import dataclass

from mapapp.question.analyses import Show
from mapapp.question.fields import DotColor, Per, ThemeChoice
from mapapp.question.question import Question

Bounds = tuple[float, float, float, float]
"""West, south, east and north edges of the visible map, degrees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How an answer is shown; `mapapp.question.fields` declares every field.

    Attributes
    ----------
    show : {"points", "areas", "density", "lines"}
        How the map draws it, if the analysis allows it.
    theme : {"light", "dark", "system"}
        `system` is what the reader's system prefers; pictures for an unknown reader are light.
    every : bool
        Whether the table shows all rows.
    least : int
        Flows of fewer workers are not drawn as lines; 0 for as many of the largest as can be read.
    per : {"area", "share", "square-mile"}
        What areas show: `square-mile` colors them by density, because a large one holds many workers even where few
        live. `area` draws workers, and `share` their share of all workers, as circles.
    color : {"plain", "age", "earnings", "industry"}
        Attribute that colors dots; plain dots show only which end of the commutes they are.
    morning : bool
        Whether the map of dots has the slider on which they move from home to work.
    """

    show: Show = "points"
    theme: ThemeChoice = "system"
    every: bool = False
    least: int = 0
    per: Per = "square-mile"
    color: DotColor = "plain"
    morning: bool = False

    def show_of(self, question: Question) -> Show:
        """Return how an answer is drawn: `show` if its analysis allows it, else the analysis's first way."""
        known = question.entry.shows
        return self.show if self.show in known or not known else known[0]
