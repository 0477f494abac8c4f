"""What a visitor did, as a step from one state to the next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mapapp.queries.release import ServedRelease
from mapapp.url_state import MAX_AREAS, ViewState

PLAIN = ("side", "show", "rows")
BANDS = ("age", "earnings", "industry")


def after(
    state: ViewState, release: ServedRelease, trigger: Any, value: Any, controls: dict[str, Any]
) -> ViewState:
    """State after an event.

    The controls are taken as they stand, not only the one that changed: of several quick changes only the
    last may get an answer, and it must not lose the others.

    Parameters
    ----------
    state : ViewState
        The state before.
    release : ServedRelease
        The release it is about.
    trigger : str or dict
        Id of the component; a dict for the buttons of areas.
    value : object
        Its new value.
    controls : dict
        Values of `PLAIN` and `BANDS`, and of `pick`: what a click on the map chooses.
    """
    state = _as_controls_stand(state, controls)
    if isinstance(trigger, dict):
        return _button(state, release, trigger) if value else state
    if trigger == "map":
        return toggled(state, release, clicked_area(release, value, controls["pick"]))
    if trigger == "search":
        return toggled(state, release, value, only_add=True)
    if trigger == "release" and value and value != release.slug:
        return replace(state, release=value, areas=())
    return state


def _as_controls_stand(state: ViewState, controls: dict[str, Any]) -> ViewState:
    kept: dict[str, Any] = {name: controls[name] for name in PLAIN if controls[name]}
    for name in BANDS:
        bands = tuple(sorted(int(band) for band in controls[name] or ()))
        kept[name] = bands if len(bands) < 3 else ()
    return replace(state, **kept)


def toggled(
    state: ViewState, release: ServedRelease, area: str | None, *, only_add: bool = False
) -> ViewState:
    """State with an area chosen, or no longer chosen."""
    if area is None or area not in release.areas:
        return state
    if area in state.areas:
        return state if only_add else replace(state, areas=tuple(one for one in state.areas if one != area))
    return state if len(state.areas) >= MAX_AREAS else replace(state, areas=(*state.areas, area))


def clicked_area(release: ServedRelease, click: Any, pick: str) -> str | None:
    """The area under a click on the map; None when the click hit no tract."""
    points = (click or {}).get("points") or []
    tract_id = next((point["location"] for point in points if point.get("location")), None)
    if tract_id is None or pick == "tract":
        return f"tract:{tract_id}" if tract_id else None
    tracts = release.areas.tracts
    county = tracts.loc[tracts["tract_id"] == tract_id, "county_id"]
    return f"county:{county.iloc[0]}" if len(county) else None


def _button(state: ViewState, release: ServedRelease, trigger: dict[str, Any]) -> ViewState:
    area = str(trigger.get("area"))
    if trigger.get("type") == "suggest":
        return toggled(state, release, area, only_add=True)
    if area == "*":
        return replace(state, areas=())
    return replace(state, areas=tuple(one for one in state.areas if one != area))
