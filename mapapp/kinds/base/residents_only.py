"""Datasets without the workers who live in other states: nothing made from them is for release.

The number of workers of a workplace and segment is published unchanged, so it must not depend on homes. Here it does.

Source: docs/privacy-promise.md, "What counts as public".
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from geodata.geography.elsewhere import state_name
from geodata.store.public_counts import add_public_counts
from geodata.store.residents_only import RESIDENTS_ONLY, add_residents_only
from geodata.store.store import Store, open_store

__all__ = ["open_dataset", "reasons_of_homes"]


def open_dataset(path: Path, *, verify: bool = True) -> Store:
    """Open a dataset to publish from it; its facts say where it has residents only, and whether its counts are public.

    Raises
    ------
    StoreError
        As `geodata.store.store.open_store`.
    """
    return add_public_counts(add_residents_only(open_store(path, "dataset", verify=verify)))


def reasons_of_homes(facts: Mapping[str, object]) -> list[str]:
    """Return why a publication with these facts is not for release: numbers of workers depend on homes.

    Parameters
    ----------
    facts : mapping of str to object
        Of a manifest.
    """
    codes = facts.get(RESIDENTS_ONLY)
    if not isinstance(codes, list) or not codes:
        return []
    names = " and ".join(state_name(str(code)) for code in codes)
    return [
        f"residents only: workers in {names} who live in other states are left out, so the numbers of workers say who "
        "lives there"
    ]
