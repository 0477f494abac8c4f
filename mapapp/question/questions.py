"""Several questions written at once, as the options of a command and a batch file write them."""

from __future__ import annotations

from dataclasses import dataclass, field

from mapapp.errors import UsageError
from mapapp.question.analyses import ANALYSES
from mapapp.question.question import EVERYTHING, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """One question for each of some areas, whose names only a release knows.

    Attributes
    ----------
    question : Question
        What is asked of every area; its own areas are not used.
    areas : tuple of str
        Each is asked about by itself: as `mapapp.question.area_text` writes areas, or a unit's name.
    each : str
        A layer; the question is asked about every unit of it within each of the areas. Empty for the areas themselves.
    home_area, work_area : str
        The two areas of an analysis that has two.

    Raises
    ------
    UsageError
        If the analysis has no such areas.
    """

    question: Question = field(default_factory=Question)
    areas: tuple[str, ...] = (EVERYTHING,)
    each: str = ""
    home_area: str = EVERYTHING
    work_area: str = EVERYTHING

    def __post_init__(self) -> None:
        name = self.question.analysis
        if name not in ANALYSES:
            raise UsageError(f"analysis {name!r}: choose {', '.join(ANALYSES)}")
        if self.has_two_areas and (self.each or self.areas != (EVERYTHING,)):
            raise UsageError(f"{name} has two areas: give --home-area and --work-area, not --area or --each")
        if not self.has_two_areas and (self.home_area, self.work_area) != (EVERYTHING, EVERYTHING):
            raise UsageError(f"--home-area and --work-area have no meaning for {name}; give --area")

    @property
    def has_two_areas(self) -> bool:
        """Whether homes and workplaces have an area each."""
        return self.question.entry.n_areas == 2
