"""Distances and directions from workplace tracts to home tracts, computed once and kept while there is room."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from geodata.distance import bearing_deg, distance_mi
from mapapp.answers import watch
from mapapp.answers.prepared import octant
from mapapp.answers.result_cache import ResultCache
from mapapp.question.fields import Side

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Octants = npt.NDArray[np.int8]

__all__ = ["TractWays"]

_KEPT_BYTES: Final = 64 << 20
"""Most bytes that are kept; ways from the least recently used tracts are computed again."""


class _Ways(NamedTuple):
    """Ways from one tract to all tracts, and the octants of the ways there and back."""

    miles: Floats
    there: Octants
    back: Octants


def _size_of(ways: _Ways) -> int:
    return ways.miles.nbytes + ways.there.nbytes + ways.back.nbytes


class TractWays:
    """Ways between the internal points of tracts; safe to use from several threads.

    Parameters
    ----------
    lon_deg, lat_deg : float64[n_tracts]
    """

    def __init__(self, lon_deg: Floats, lat_deg: Floats) -> None:
        self._lon, self._lat = lon_deg, lat_deg
        self._made: ResultCache[_Ways] = ResultCache(max_size=_KEPT_BYTES, size_of=_size_of)

    def prepare(self, works: Ints) -> None:
        """Compute the ways from some workplace tracts."""
        for tract in works.tolist():
            watch.check()
            self._of(tract)

    def miles(self, works: Ints, homes: Ints) -> Floats:
        """Return the distances from workplace tracts to home tracts: float64[works, homes]."""
        return np.stack([self._of(tract).miles[homes] for tract in works.tolist()])

    def octants(self, works: Ints, homes: Ints, side: Side) -> Ints:
        """Return the directions between workplace tracts and home tracts: int64[works, homes].

        Parameters
        ----------
        works, homes : int64[...]
        side : {"work", "home"}
            The end from which directions are measured.
        """
        ways = [self._of(tract) for tract in works.tolist()]
        found = [(each.there if side == "work" else each.back)[homes] for each in ways]
        return np.stack(found).astype(np.int64)

    def _of(self, tract: int) -> _Ways:
        return self._made.get_or_make(tract, lambda: self._make(tract))

    def _make(self, tract: int) -> _Ways:
        here, there = (self._lon[tract], self._lat[tract]), (self._lon, self._lat)
        octants = (octant(bearing_deg(*ends)) for ends in ((*here, *there), (*there, *here)))
        return _Ways(distance_mi(*here, *there), *(each.astype(np.int8) for each in octants))
