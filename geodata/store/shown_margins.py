"""Facts of a manifest that say which numbers of workers a release shows, where it shows fewer than all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["SEGMENTS_BY", "WORKPLACES_BY", "shown_segments"]

SEGMENTS_BY: Final = "segments_by"
"""List of those of age, earnings, and industry that tell workers apart; absent where all do."""
WORKPLACES_BY: Final = "workplaces_by"
"""The word "tract" where workplaces are known by tract; absent where they are known by block."""

_ALL: Final = ("age", "earnings", "industry")


def shown_segments(facts: Mapping[str, object]) -> tuple[str, ...]:
    """Return those of age, earnings, and industry that a publication with these facts shows."""
    listed = facts.get(SEGMENTS_BY)
    return _ALL if not isinstance(listed, list) else tuple(name for name in _ALL if name in listed)
