"""The pictures of an answer: where it is, its map, and its charts."""

from __future__ import annotations

from mapapp.queries.release import ServedRelease
from mapapp.queries.results import Result
from mapapp.reports.content import Picture
from mapapp.url_state import ViewState


def locator_of(release: ServedRelease, state: ViewState, name: str) -> Picture | None:
    """Where the area lies among the states of its release."""
    return None


def map_of(release: ServedRelease, state: ViewState, result: Result, name: str) -> Picture | None:
    """The answer as a map."""
    return None


def charts_of(release: ServedRelease, state: ViewState, result: Result, name: str) -> tuple[Picture, ...]:
    """The charts of an answer."""
    return ()
