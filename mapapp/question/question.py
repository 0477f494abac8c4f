"""A question: everything that the answer depends on except the release."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, NewType

from mapapp.base.errors import UsageError
from mapapp.question.analyses import ANALYSES, Analysis
from mapapp.question.distance_bands import EDGES_MI
from mapapp.question.fields import USUAL, USUAL_CHARACTERISTIC, Side
from mapapp.question.filters import Filters

EVERYTHING: Final = "all"
OTHER_END: Final[dict[Side, Side]] = {"work": "home", "home": "work"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about a release; `mapapp.question.fields` declares every field.

    Attributes
    ----------
    analysis : str
        A name of `mapapp.question.analyses.ANALYSES`.
    side : {"work", "home"}
        Whether `areas` are workplaces or homes.
    areas, others : tuple of str
        Steps of the area, in order, each once, as `mapapp.question.area_text` writes them; and the steps of the area at
        the other end of the commutes, if the analysis has one.
    layer : str
        Layer of the table's rows and the map's colored units; "usual" for the one that people name.
    home_layer, work_layer : str
        Layers of the rows and the columns of a flow matrix; likewise.
    edges : tuple of float
        Ends of the distance bands, miles, increasing; empty for the default.
    age, earnings, industry : tuple of int
        Bands 1..3 that are included, ascending; empty for all.
    attributes : tuple of str
        Values of further attributes that are included, such as ``sex:F``; empty for all.
    characteristic : str
        Column of WAC and RAC files whose jobs are counted by unit.
    by : tuple of str
        Attributes of a cross table; empty for age and earnings.
    """

    analysis: str = "destinations"
    side: Side = "work"
    areas: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    layer: str = USUAL
    home_layer: str = USUAL
    work_layer: str = USUAL
    edges: tuple[float, ...] = ()
    age: tuple[int, ...] = ()
    earnings: tuple[int, ...] = ()
    industry: tuple[int, ...] = ()
    attributes: tuple[str, ...] = ()
    characteristic: str = USUAL_CHARACTERISTIC
    by: tuple[str, ...] = ()

    @property
    def entry(self) -> Analysis:
        """The declaration of the analysis."""
        return ANALYSES[self.analysis]

    @property
    def filters(self) -> Filters:
        """Which workers are included."""
        return Filters(self.age, self.earnings, self.industry, self.attributes)

    @property
    def edges_mi(self) -> tuple[float, ...]:
        """Where distance bands end, miles."""
        return self.edges or EDGES_MI

    @property
    def is_complete(self) -> bool:
        """Whether enough areas are chosen for the analysis to have an answer."""
        return bool(self.areas or not self.entry.n_needed) and bool(self.others or self.entry.n_needed < 2)

    @property
    def area(self) -> str:
        """The area as one text."""
        return area_of(self.areas)

    @property
    def ends(self) -> dict[Side, str]:
        """The area at each end of the commutes, as text."""
        return {self.side: self.area, OTHER_END[self.side]: area_of(self.others)}

    @property
    def shown_others(self) -> tuple[str, ...]:
        """Steps of the area at the other end, if the analysis has one."""
        return self.others if self.entry.n_areas == 2 else ()

    @property
    def shown_end(self) -> Side:
        """The end of the commutes that the answer shows.

        Some analyses show the end that is in the area. The others show the other end, or `side` if no area is chosen.
        """
        if not self.areas or self.entry.shows_chosen_end:
            return self.side
        return OTHER_END[self.side]

    @property
    def normal(self) -> Question:
        """The same question in normal form: without an unused second area, and with the homes of a pair first."""
        if self.entry.n_areas < 2:
            return replace(self, others=())
        question = self
        if self.side == "work":
            question = replace(self, side="home", areas=self.others, others=self.areas)
        if self.entry.n_needed == 2:
            return question
        areas, others = (
            () if steps == (EVERYTHING,) else steps for steps in (question.areas, question.others)
        )
        return replace(question, areas=areas, others=others)


SettledQuestion = NewType("SettledQuestion", Question)
"""A question whose layers are all named. Only `UsualLayers.settle` makes one of a question; whatever answers or draws
takes one, so that no question is settled twice."""


def area_of(steps: tuple[str, ...]) -> str:
    """Join steps into one area; without steps, everything."""
    return " ".join(steps) or EVERYTHING


# Several questions described together, by command options or a batch file.


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """One question for each of several areas, whose names are looked up in a release later.

    Attributes
    ----------
    question : Question
        The question for every area; its own areas are ignored.
    areas : tuple of str
        Areas, each with its own answer: as `mapapp.question.area_text` writes them, or names of units.
    each : str
        A layer whose units within each area get an answer each; empty for the areas themselves.
    home_area, work_area : str
        The two areas, for an analysis that has two.
    within_mi : float or None
        Distance of the corridors that replace all areas but "all", miles.

    Raises
    ------
    UsageError
        If the analysis does not take these areas.
    """

    question: Question = field(default_factory=Question)
    areas: tuple[str, ...] = (EVERYTHING,)
    each: str = ""
    home_area: str = EVERYTHING
    work_area: str = EVERYTHING
    within_mi: float | None = None

    def __post_init__(self) -> None:
        name = self.question.analysis
        if name not in ANALYSES:
            raise UsageError(f"analysis {name!r} does not exist; choose from {', '.join(ANALYSES)}")
        if self.has_two_areas and (self.each or self.areas != (EVERYTHING,)):
            raise UsageError(f"{name} has two areas: give --home-area and --work-area, not --area or --each")
        areas = (
            (self.home_area, self.work_area) if self.has_two_areas else (*self.areas, self.each or EVERYTHING)
        )
        if self.within_mi is not None and set(areas) == {EVERYTHING}:
            raise UsageError("--within needs an area to be near; give one")
        if not self.has_two_areas and (self.home_area, self.work_area) != (EVERYTHING, EVERYTHING):
            raise UsageError(f"--home-area and --work-area do not apply to {name}; give --area")

    @property
    def has_two_areas(self) -> bool:
        """Whether homes and workplaces each have an area."""
        return self.question.entry.n_areas == 2
