"""Every analysis: its name, the question it answers, its fields, and the ways to draw it.

`mapapp.answers.release` computes the answers; `mapapp.answers.analyses.entries` declares what is shown of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Show = Literal["points", "areas", "density", "lines"]
"""Ways to draw an answer that the reader can choose from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """One analysis.

    Attributes
    ----------
    name : str
        Name in addresses, files, options and Python.
    title : str
        Title for readers.
    words : str
        The question it answers, in a few words.
    fields : tuple of str
        Fields of a question that the answer depends on besides areas and filters, named as in
        `mapapp.question.fields`.
    shows : tuple of str
        Ways to draw it; the first replaces one that is not listed. Empty if there is no choice.
    own_drawing : {"", "points", "lines", "ratio", "share"}
        How it is drawn if there is no choice.
    n_areas : int
        Number of areas: 2 if homes and workplaces each have one.
    n_needed : int
        Number of areas that must be chosen before the analysis has an answer.
    shows_chosen_end : bool
        Whether it shows the end of the commutes that is in the area; the other analyses show the other end.
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


def _index_by_name(entries: Iterable[Analysis]) -> dict[str, Analysis]:
    return {entry.name: entry for entry in entries}


ANALYSES: Final = _index_by_name(
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
            n_needed=0,
        ),
        Analysis(
            name="cross-table",
            title="Cross table",
            words="Who are they, by two or three attributes?",
            fields=("side", "layer", "by"),
            shows=("points", "areas", "density"),
            shows_chosen_end=True,
            n_needed=0,
        ),
        Analysis(
            name="comparison",
            title="Area comparison",
            words="How do its parts compare?",
            fields=("side", "layer"),
            shows=("areas", "density"),
            shows_chosen_end=True,
            n_needed=0,
        ),
        Analysis(
            name="distance-direction",
            title="Distance and direction",
            words="How far, and which way?",
            fields=("side", "layer", "edges"),
            shows=("points", "areas", "density", "lines"),
            n_needed=0,
        ),
        Analysis(
            name="inflow-outflow",
            title="Inflow and outflow",
            words="Who comes, goes, and stays?",
            fields=(),
            own_drawing="points",
        ),
        Analysis(
            name="job-balance",
            title="Jobs per resident worker",
            words="Are there jobs for those who live there?",
            fields=("layer",),
            own_drawing="ratio",
            n_needed=0,
            shows_chosen_end=True,
        ),
        Analysis(
            name="characteristics",
            title="Jobs by industry, education, and more",
            words="Which sectors, and who holds the jobs?",
            fields=("side", "layer", "characteristic"),
            own_drawing="share",
            n_needed=0,
            shows_chosen_end=True,
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
"""By name, in the order of the page's list."""
