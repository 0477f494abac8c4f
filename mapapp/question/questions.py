"""Several questions described together, by command options or a batch file."""

from __future__ import annotations

from dataclasses import dataclass, field

from mapapp.base.errors import UsageError
from mapapp.question.analyses import ANALYSES
from mapapp.question.question import EVERYTHING, Question


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
