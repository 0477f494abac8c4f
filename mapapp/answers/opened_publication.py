"""An open publication: its facts, its areas, and what is computed once from it."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Container, Hashable, Mapping
from pathlib import Path
from typing import Final, TypeVar, cast

import numpy
import pandas
import shapely

from geodata.json_objects import JsonObject
from geodata.store.store import Store
from mapapp.answers.areas.areas import Areas
from mapapp.answers.publication import title_of
from mapapp.base import memory_limits
from mapapp.base.result_cache import ResultCache

_CELL_BYTES: Final = 16
"""About what a cell of a table takes, numbers or names; to ask a table for its size takes milliseconds."""
_CORNER_BYTES: Final = 16
_OF_GEOGRAPHY: Final = (
    "base shapes",
    "ground",
    "ground shapes",
    "home",
    "layer",
    "place names",
    "surroundings",
    "unit layer",
    "unit middles",
    "unit shapes",
    "unit tree",
)
"""First parts of the keys of values that follow from the geography: all publications with the same one share them."""
_SHAPES: Final = ("covered states", "drawn units", "sentences")
"""The same of other values that visitors cannot multiply; none of these is ever evicted."""
DOTS: Final = "dots"
"""The same of places of workers, sorted for pictures."""

Value = TypeVar("Value")


class OpenedPublication:
    """A verified publication, opened for reading; safe to use from several threads.

    Parameters
    ----------
    store : Store
    areas : Areas
        Its areas, with cells and outlines.
    certificate : dict
    version : str
        First digits of the manifest's sha256.
    slug : str
        Name of the publication in addresses.
    """

    def __init__(self, store: Store, areas: Areas, certificate: JsonObject, version: str, slug: str) -> None:
        self.store = store
        self.areas = areas
        self.certificate = certificate
        self.version = version
        self.slug = slug
        self.facts: JsonObject = store.manifest
        self._shapes: ResultCache[object] = ResultCache()
        self._dots: ResultCache[object] = ResultCache(max_size=memory_limits.DOTS_BYTES, size_of=_weight)
        self.share_memory(1)

    @property
    def title(self) -> str:
        """Title for readers, with the year, and with the jobs if they are not all jobs."""
        return title_of(self.facts, self.store.path.name)

    @property
    def covered_states(self) -> list[str]:
        """Identifiers of the states whose workplaces are covered; empty if the manifest does not say."""
        given = self.facts.get("destination_states")
        return [str(state) for state in given] if isinstance(given, list) else []

    def share_memory(self, n_processes: int) -> None:
        """Keep at most this process's share of the answers, if several processes serve the publication."""
        self._answers: ResultCache[object] = ResultCache(
            max_entries=memory_limits.ANSWERS,
            max_size=memory_limits.answers_bytes(n_processes),
            size_of=_weight,
        )

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the result of `make`, computed once and cached for later callers with the same key."""
        return cast(Value, self._cache_of(key).get_or_make(key, make))

    def keeps(self, key: Hashable) -> bool:
        """Return whether :meth:`once` would return immediately."""
        return key in self._cache_of(key)

    def _cache_of(self, key: Hashable) -> ResultCache[object]:
        """Return the cache of a key: shapes are never evicted, dots and answers are limited."""
        if isinstance(key, tuple) and key[0] in _OF_GEOGRAPHY:
            return self.areas.shapes
        if isinstance(key, tuple) and key[0] == DOTS:
            return self._dots
        is_shape = isinstance(key, tuple) and key[0] in _SHAPES
        return self._shapes if is_shape else self._answers


def free_slug(path: Path, taken: Container[str], suffix: str = ".release") -> str:
    """Return the name in addresses of a publication, with a number if the name is taken."""
    kind = suffix.removeprefix(".")
    stem = re.sub(r"[^A-Za-z0-9-]+", "-", path.resolve().name.removesuffix(suffix)).strip("-") or kind
    slug, number = stem, 2
    while slug in taken:
        slug, number = f"{stem}-{number}", number + 1
    return slug


def certificate_json(certificate: Mapping[str, object]) -> str:
    """Return a certificate as readable JSON."""
    return json.dumps(certificate, indent=2, ensure_ascii=False)


def _weight(value: object) -> int:
    """Return the approximate size of an answer in bytes: its tables, arrays, shapes and pictures."""
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, numpy.ndarray):
        return int(value.nbytes)
    if isinstance(value, shapely.Geometry):
        return int(shapely.get_num_coordinates(value)) * _CORNER_BYTES
    if isinstance(value, pandas.DataFrame):
        return value.size * _CELL_BYTES
    if dataclasses.is_dataclass(value):
        return sum(_weight(getattr(value, field.name)) for field in dataclasses.fields(value))
    if isinstance(value, tuple):
        return sum(map(_weight, value))
    return sum(map(_weight, value.values())) if isinstance(value, dict) else 0
