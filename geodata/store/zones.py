"""Stores made of zones of any country: facts of their manifest, and the identifiers of their units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["ELSEWHERE", "ELSEWHERE_NAME", "REGION", "ZONE", "ZONES", "is_of_zones"]

ZONES: Final = "zones"
"""Fact of a manifest: what readers are told of the zones; absent where the geography is that of the Census Bureau."""
ZONE: Final = "zone"
"""Layer of the zones."""
REGION: Final = "region"
"""Identifier of the whole region, which plays the part of a state."""
ELSEWHERE: Final = "~elsewhere"
"""Identifier of the unit of places without a zone; no code of a zone is written so."""
ELSEWHERE_NAME: Final = "Elsewhere"


def is_of_zones(facts: Mapping[str, object]) -> bool:
    """Whether a store with these facts is made of zones of any country."""
    return ZONES in facts
