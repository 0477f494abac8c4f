"""One question as plain values, for whoever asks it of several areas and releases: the command line, a setup file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from mapapp.answers.analyses import EVERYTHING, TITLES, Release
from mapapp.answers.change import change
from mapapp.answers.results import Result
from mapapp.errors import UsageError
from mapapp.question.address import Side
from mapapp.question.area_text import Unit
from mapapp.question.distance_bands import EDGES_MI, check_edges
from mapapp.question.filters import Filters

ANALYSES: Final = tuple(TITLES)
_OF_TWO_AREAS: Final = ("paired", "flow-matrix")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question.

    Attributes
    ----------
    analysis : str
        One of `ANALYSES`.
    areas : sequence of str
        Each is asked about by itself: as `mapapp.question.area_text` writes areas, or a unit's name.
    each : str
        A layer whose every unit within each of the areas is asked about instead; empty for none.
    home_area, work_area : str
        The two areas of "paired" and "flow-matrix".
    side : {"work", "home"}
        Which end of a commute lies in the area, where that is a choice.
    filters : Filters
    layer : str
        What a row is, in "comparison" and "destinations".
    home_layer, work_layer : str
        Rows and columns of a flow matrix.
    edges_mi : sequence of float
        Where distance bands end.
    error_rows : int or None
        Rows of each table to give an expected error, beside the numbers; None for no errors at all.
    """

    analysis: str
    areas: Sequence[str] = (EVERYTHING,)
    each: str = ""
    home_area: str = EVERYTHING
    work_area: str = EVERYTHING
    side: Side = "work"
    filters: Filters = field(default_factory=Filters)
    layer: str = "county"
    home_layer: str = "county"
    work_layer: str = "county"
    edges_mi: Sequence[float] = EDGES_MI
    error_rows: int | None = None

    def __post_init__(self) -> None:
        if self.analysis not in ANALYSES:
            raise UsageError(f"analysis {self.analysis!r}: choose {', '.join(ANALYSES)}")
        if self.analysis in _OF_TWO_AREAS and (self.each or tuple(self.areas) != (EVERYTHING,)):
            raise UsageError(
                f"{self.analysis} has two areas: give --home-area and --work-area, not --area or --each"
            )
        if self.analysis not in _OF_TWO_AREAS and (self.home_area, self.work_area) != (
            EVERYTHING,
            EVERYTHING,
        ):
            raise UsageError(f"--home-area and --work-area have no meaning for {self.analysis}; give --area")
        object.__setattr__(self, "edges_mi", check_edges(self.edges_mi))

    def answers(self, release: Release) -> Iterator[Result]:
        """Yield the answers of one release, one for each area.

        Raises
        ------
        UsageError, GeometryError
            When an area or a layer is none of this release's.
        """
        if self.analysis in _OF_TWO_AREAS:
            yield self._sure(release, self._pair(release))
            return
        for text in self.area_texts(release):
            yield self._sure(release, self._ask(release)(text))

    def area_texts(self, release: Release) -> Iterator[str]:
        """Yield each area that is asked about; errors as `answers`."""
        for area in self.areas:
            yield from self._each_of(release, release.areas.find(area))

    def changes(self, releases: Sequence[Release]) -> Iterator[Result]:
        """Yield what changed from each release to the next, in the order given, one for each area."""
        for before, after in pairwise(releases):
            earlier = {answer.about.area_text: answer for answer in self.answers(before)}
            for later in self.answers(after):
                if later.about.area_text in earlier:
                    yield change(earlier[later.about.area_text], later)

    def matrix_parts(self, release: Release) -> Iterator[Any]:
        """Yield the cells of a flow matrix in parts."""
        home, work = (release.areas.find(area) for area in (self.home_area, self.work_area))
        yield from release.flow_matrix_parts(
            self.home_layer, self.work_layer, self.filters, home_area=home, work_area=work
        )

    def of(self, area: str) -> Request:
        """The same question about another area."""
        return replace(self, areas=(area,), each="")

    def _each_of(self, release: Release, area: str) -> list[str]:
        if not self.each:
            return [area]
        chosen, units = release.areas.select(area), release.areas.units(self.each)
        mine = units.code if chosen.blocks is None else units.code[chosen.blocks]
        rows = units.rows.iloc[sorted(set(mine.tolist()))]
        return [str(Unit(self.each, unit_id)) for unit_id in rows.loc[rows["kind"] == "unit", "unit_id"]]

    def _sure(self, release: Release, answer: Result) -> Result:
        return answer if self.error_rows is None else release.with_errors(answer, self.error_rows)

    def _pair(self, release: Release) -> Result:
        home, work = (release.areas.find(area) for area in (self.home_area, self.work_area))
        if self.analysis == "paired":
            return release.paired(home, work, self.filters, edges_mi=self.edges_mi)
        return release.flow_matrix(
            self.home_layer, self.work_layer, self.filters, home_area=home, work_area=work
        )

    def _ask(self, release: Release) -> Callable[[str], Result]:
        choices: dict[str, Callable[[str], Result]] = {
            "profile": lambda area: release.profile(area, self.filters, side=self.side),
            "comparison": lambda area: release.comparison(
                area, self.filters, side=self.side, layer=self.layer
            ),
            "destinations": lambda area: release.destinations(
                area, self.filters, side=self.side, layer=self.layer
            ),
            "distance-direction": lambda area: release.distance_direction(
                area, self.filters, side=self.side, edges_mi=self.edges_mi
            ),
            "inflow-outflow": lambda area: release.inflow_outflow(area, self.filters),
        }
        return choices[self.analysis]
