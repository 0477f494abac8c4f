"""From a question as the command line puts it to the states of a view, one for each area."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast

from mapapp.answers.analyses import EVERYTHING
from mapapp.answers.request import Request
from mapapp.answers.served_release import ServedRelease
from mapapp.errors import UsageError
from mapapp.question.address import Analysis, Show, ViewState
from mapapp.question.area_text import parse_area
from mapapp.question.cost import MAX_PARTS
from mapapp.question.distance_bands import EDGES_MI

_NAMES: Final[dict[str, Analysis]] = {
    "profile": "area-profile",
    "comparison": "area-comparison",
    "destinations": "destination",
    "paired": "paired-area",
}


def states_of(request: Request, release: ServedRelease, show: Show = "points") -> list[ViewState]:
    """The states that ask what a request does: one for each of its areas, in its order.

    Raises
    ------
    UsageError, GeometryError
        When an area or a layer is none of this release's, or there is nothing in the request.
    """
    analysis = _NAMES.get(request.analysis) or cast(Analysis, request.analysis)
    plain = ViewState(
        analysis=analysis,
        show=show,
        side=request.side,
        layer=request.layer,
        home_layer=request.home_layer,
        work_layer=request.work_layer,
        edges=() if tuple(request.edges_mi) == EDGES_MI else tuple(request.edges_mi),
        age=tuple(request.filters.age),
        earnings=tuple(request.filters.earnings),
        industry=tuple(request.filters.industry),
    )
    if request.analysis in ("paired", "flow-matrix"):
        home, work = (_steps(release, area) for area in (request.home_area, request.work_area))
        return [normal(replace(plain, areas=home, others=work, side="home"))]
    found = [replace(plain, areas=_steps(release, area)) for area in request.area_texts(release.analyses)]
    if not found:
        raise UsageError(f"--each {request.each}: no unit of that layer lies in the area")
    return found


def normal(state: ViewState) -> ViewState:
    """The one of the states that ask the same of a release, and look the same in a report."""
    state = replace(state, release="", against="", theme="light", every=False)
    if state.analysis not in ("paired-area", "flow-matrix"):
        return replace(state, others=())
    if state.side == "work":
        state = replace(state, side="home", areas=state.others, others=state.areas)
    if state.analysis == "paired-area":
        return state
    everything = (EVERYTHING,)
    return replace(
        state,
        areas=() if state.areas == everything else state.areas,
        others=() if state.others == everything else state.others,
    )


def _steps(release: ServedRelease, area: str) -> tuple[str, ...]:
    """Steps of an area as a state has them; UsageError where they are too many."""
    steps = parse_area(release.areas.find(area))
    if len(steps) > MAX_PARTS:
        raise UsageError(f"an area of {len(steps):,} steps; a report takes {MAX_PARTS}")
    return tuple(str(step).removeprefix("+") for step in steps)
