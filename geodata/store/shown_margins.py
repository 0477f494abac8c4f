"""Facts of a manifest that say which numbers of workers a release shows, where it shows fewer than all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from geodata.store.schema import JOB_LABELS

__all__ = ["SEGMENTS_BY", "WORKPLACES_BY", "shown_segments"]

SEGMENTS_BY: Final = "segments_by"
"""List of those of age, earnings, and industry that tell workers apart; absent where all do."""
WORKPLACES_BY: Final = "workplaces_by"
"""The word "tract" where workplaces are known by tract; absent where they are known by block."""


def shown_segments(facts: Mapping[str, object]) -> tuple[str, ...]:
    """Return those of age, earnings, and industry that a publication with these facts shows."""
    listed = facts.get(SEGMENTS_BY)
    return tuple(name for name in JOB_LABELS if not isinstance(listed, list) or name in listed)
