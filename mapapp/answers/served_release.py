"""A release on a server: its facts, its areas, and its answers, each computed once."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Container, Hashable, Sequence
from pathlib import Path
from typing import Final, TypeVar, cast

import numpy
import pandas

from mapapp.answers.analyses import Release
from mapapp.answers.measures import caution
from mapapp.answers.release_names import NamedRelease, menu_names, names_apart
from mapapp.answers.result_cache import ResultCache

__all__ = ["ServedRelease", "caution", "certificate_json", "names_of", "open_releases"]

CACHED_ANSWERS: Final = 64
CACHED_BYTES: Final = 256 << 20
_SHAPES: Final = (
    "layer",
    "ground",
    "ground shapes",
    "place names",
    "sentences",
    "unit layer",
    "unit shapes",
    "unit tree",
    "home",
)
"""First parts of the keys of values that visitors cannot multiply; these values are never evicted."""

Value = TypeVar("Value")


class ServedRelease:
    """A verified release, opened for reading.

    Parameters
    ----------
    release : Path or Release
        Directory of the release (a dataset is refused with StoreError), or the open release itself.
    slug : str
        Name of the release in addresses.
    """

    def __init__(self, release: Path | Release, slug: str) -> None:
        self.analyses = release if isinstance(release, Release) else Release.open(release)
        self.store = self.analyses.store
        self.slug = slug
        self.version = self.analyses.version
        self.facts = self.analyses.facts
        self.certificate = self.analyses.certificate
        self.areas = self.analyses.areas
        self._shapes: ResultCache[object] = ResultCache()
        self._answers: ResultCache[object] = ResultCache(
            max_entries=CACHED_ANSWERS, max_size=CACHED_BYTES, size_of=_weight
        )

    @property
    def title(self) -> str:
        """Title for readers, with the year."""
        title, year = str(self.facts.get("title") or self.slug), self.analyses.year
        return title if not year or year in title else f"{title}, {year}"

    @property
    def covered_states(self) -> list[str]:
        """Identifiers of the states whose workplaces are in the release; empty if the manifest does not say."""
        given = self.facts.get("destination_states")
        return [str(state) for state in given] if isinstance(given, list) else []

    def covers(self, areas: tuple[str, ...]) -> bool:
        """Return whether the release may contain workplaces in any of the areas; True if unknown."""
        blocks = self.areas.blocks(areas)
        if blocks is None or not self.covered_states:
            return True
        states = self.store.table("blocks", ["state_id"])["state_id"]
        return bool(states.iloc[blocks].isin(self.covered_states).any())

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the result of `make`, computed once and cached for later callers with the same key."""
        return cast(Value, self._cache_of(key).get_or_make(key, make))

    def keeps(self, key: Hashable) -> bool:
        """Return whether :meth:`once` would return immediately."""
        return key in self._cache_of(key)

    def _cache_of(self, key: Hashable) -> ResultCache[object]:
        """Return the cache of a key: shapes are never evicted, answers are limited by number and size."""
        is_shape = isinstance(key, tuple) and key[0] in _SHAPES
        return self._shapes if is_shape else self._answers


def _weight(value: object) -> int:
    """Return the approximate size of an answer in bytes: its tables, arrays and pictures."""
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, numpy.ndarray):
        return int(value.nbytes)
    if isinstance(value, pandas.DataFrame):
        return int(value.memory_usage().sum())
    if dataclasses.is_dataclass(value):
        return sum(_weight(getattr(value, field.name)) for field in dataclasses.fields(value))
    if isinstance(value, tuple):
        return sum(map(_weight, value))
    return sum(map(_weight, value.values())) if isinstance(value, dict) else 0


def open_releases(paths: list[Path]) -> dict[str, ServedRelease]:
    """Open releases, in the given order, by name in addresses; a number is added to repeated names."""
    found: dict[str, ServedRelease] = {}
    for path in paths:
        slug = free_slug(path, found)
        found[slug] = ServedRelease(path, slug)
    return found


def free_slug(path: Path, taken: Container[str]) -> str:
    """Return the name in addresses of a release, with a number if the name is taken."""
    stem = (
        re.sub(r"[^A-Za-z0-9-]+", "-", path.resolve().name.removesuffix(".release")).strip("-") or "release"
    )
    slug, number = stem, 2
    while slug in taken:
        slug, number = f"{stem}-{number}", number + 1
    return slug


def names_of(releases: Sequence[ServedRelease]) -> dict[str, str]:
    """Return a distinct title for each release, by its name in addresses."""
    return dict(zip((release.slug for release in releases), names_apart(_known(releases)), strict=True))


def menu_names_of(releases: Sequence[ServedRelease]) -> dict[str, str]:
    """Return a distinct name for each release in a narrow menu, by its name in addresses."""
    return dict(zip((release.slug for release in releases), menu_names(_known(releases)), strict=True))


def _known(releases: Sequence[ServedRelease]) -> list[NamedRelease]:
    return [(release.title, release.analyses.promise, release.version) for release in releases]


def certificate_json(release: ServedRelease) -> str:
    """Return the certificate as readable JSON."""
    return json.dumps(release.certificate, indent=2, ensure_ascii=False)
