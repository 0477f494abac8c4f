"""Datasets of zones of any country: what they cannot give, because their flows have no attributes."""

from __future__ import annotations

from geodata.store.store import Store
from geodata.store.zones import is_of_zones
from mapapp.base.errors import UsageError


def require_attributes(dataset: Store, what: str) -> None:
    """Refuse (UsageError) to make `what`, which counts by attributes of people, of flows that have none."""
    if is_of_zones(dataset.manifest):
        raise UsageError(
            f"{dataset.path}: flows between zones have no attributes of people, which {what}; make a release with "
            "synthesize"
        )
