"""Every analysis that can be asked: what it is called, what it asks, and which fields and drawings it has.

What each counts is in `mapapp.answers.analyses`; what is shown of its answer, in `mapapp.answers.entries`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Show = Literal["points", "areas", "density", "lines"]
"""Ways to draw an answer that a reader can choose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """One analysis.

    Attributes
    ----------
    name : str
        In addresses, files, options and Python.
    title : str
        For people.
    words : str
        The question it answers, in a few words.
    fields : tuple of str
        Fields of a question that it depends on besides its areas and its filters, as `mapapp.question.fields` names
        them.
    shows : tuple of str
        Ways to draw it, the first where another is asked for; empty if it has only its own.
    own_drawing : {"", "points", "lines", "arrows", "ratio"}
        The way it is drawn if there is no choice.
    n_areas : int
        Areas that it has: 2 if homes and workplaces have one each.
    n_needed : int
        Areas that must be chosen before it has an answer of its own.
    shows_chosen_end : bool
        Whether it shows the end of the commutes that lies in the area; the others show the other end.
    """

    name: str
    title: str
    words: str
    fields: tuple[str, ...]
    shows: tuple[Show, ...] = ()
    own_drawing: str = ""
    n_areas: int = 1
    n_needed: int = 1
    shows_chosen_end: bool = False


def _by_name(entries: Iterable[Analysis]) -> dict[str, Analysis]:
    return {entry.name: entry for entry in entries}


ANALYSES: Final = _by_name(
    (
        Analysis(
            name="destinations",
            title="Destinations",
            words="Where do they live, or work?",
            fields=("side", "layer"),
            shows=("points", "areas", "density", "lines"),
        ),
        Analysis(
            name="profile",
            title="Area profile",
            words="Who are they?",
            fields=("side", "layer"),
            shows=("points", "areas", "density"),
            shows_chosen_end=True,
        ),
        Analysis(
            name="comparison",
            title="Area comparison",
            words="How do its parts compare?",
            fields=("side", "layer"),
            shows=("areas", "density"),
            shows_chosen_end=True,
        ),
        Analysis(
            name="distance-direction",
            title="Distance and direction",
            words="How far, and which way?",
            fields=("side", "layer", "edges"),
            shows=("points", "areas", "density", "lines"),
        ),
        Analysis(
            name="inflow-outflow",
            title="Inflow and outflow",
            words="Who comes, goes and stays?",
            fields=(),
            own_drawing="arrows",
        ),
        Analysis(
            name="job-balance",
            title="Jobs per resident worker",
            words="Are there jobs for those who live there?",
            fields=("layer",),
            own_drawing="ratio",
            n_needed=0,
        ),
        Analysis(
            name="paired",
            title="Paired areas",
            words="Who lives there and works here?",
            fields=("side", "edges"),
            own_drawing="points",
            n_areas=2,
            n_needed=2,
        ),
        Analysis(
            name="flow-matrix",
            title="Flow matrix",
            words="From everywhere to everywhere",
            fields=("side", "home_layer", "work_layer"),
            own_drawing="lines",
            n_areas=2,
            n_needed=0,
        ),
    )
)
"""By name, in the order in which the page lists them."""
