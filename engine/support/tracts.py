"""Origin tracts: their places and units, in the form that the kernels use.

Distances are great-circle distances on a sphere. A tract is stored as a unit vector, so that distances are compared
by their chords, without trigonometry: coarsening a nation compares five billion of them.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray, IntArray, as_int
from engine.errors import ParameterError
from engine.threads import run_ranges

__all__ = ["EARTH_RADIUS_MI", "OriginTracts", "chord_of_miles", "great_circle_mi", "unit_vectors"]

EARTH_RADIUS_MI = 3958.7613  # mean radius of the IUGG, 6,371.0088 km

Indices = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginTracts:
    """Public facts about all n origin tracts, destination tracts among them.

    Attributes
    ----------
    lon_deg, lat_deg : float64[n]
        Population-weighted centres.
    puma, superpuma : int32[n]
        Index of the PUMA and of the SuperPUMA that holds each tract.
    population : int64[n]
        Public population.
    far_group : int32[n], optional
        For a tract that is a whole state outside the imported area, a number from 0 on of the group in which it may be
        pooled (:mod:`engine.support.far_states`); -1 for every other tract. Without it there are no such states.
    place : float64[n, 3]
        The centres as unit vectors.
    puma_members, superpuma_members : tuple of (int64[units + 1], int32[n])
        CSR lists of the tracts of each unit, by index.
    superpuma_reach : float64[units, 4]
        The mean of each SuperPUMA's centres, and the longest chord from there to one of them.

    Raises
    ------
    ParameterError
        If arrays do not agree, or a place, unit or population is missing or out of range.
    """

    lon_deg: FloatArray
    lat_deg: FloatArray
    puma: Indices
    superpuma: Indices
    population: npt.NDArray[np.int64]
    far_group: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    place: FloatArray = field(init=False)
    puma_members: tuple[npt.NDArray[np.int64], Indices] = field(init=False)
    superpuma_members: tuple[npt.NDArray[np.int64], Indices] = field(init=False)
    superpuma_reach: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        lon = np.ascontiguousarray(self.lon_deg, dtype=np.float64)
        lat = np.ascontiguousarray(self.lat_deg, dtype=np.float64)
        puma = as_int("puma", self.puma, dtype=np.int32)
        superpuma = as_int("superpuma", self.superpuma, dtype=np.int32)
        checked: dict[str, IntArray | FloatArray] = {
            "lon_deg": lon,
            "lat_deg": lat,
            "puma": puma,
            "superpuma": superpuma,
            "population": as_int("population", self.population, high=1 << 40),
        }
        for name, values in checked.items():
            if values.ndim != 1 or values.size != lon.size:
                raise ParameterError(f"{name} has {values.size} values for {lon.size} tracts: give one each")
            object.__setattr__(self, name, values)
        if lon.size and not (np.isfinite(lon).all() and np.isfinite(lat).all() and np.abs(lat).max() <= 90):
            raise ParameterError(
                "a tract has no place: give every tract a longitude, and a latitude from -90 to 90"
            )
        place = unit_vectors(lon, lat)
        object.__setattr__(self, "place", place)
        object.__setattr__(self, "puma_members", _members(puma))
        object.__setattr__(self, "superpuma_members", _members(superpuma))
        object.__setattr__(self, "superpuma_reach", _reach(place, *self.superpuma_members))
        object.__setattr__(self, "far_group", self._check_far_group())

    def _check_far_group(self) -> Indices:
        group: Indices = as_int("far_group", self.far_group, low=-1, dtype=np.int32)
        if not group.size:
            return np.full(self.n_tracts, -1, dtype=np.int32)
        if group.size != self.n_tracts:
            raise ParameterError(
                f"far_group has {group.size} values for {self.n_tracts} tracts: give one each"
            )
        for unit in (self.puma, self.superpuma):
            if np.any(np.bincount(unit, minlength=1)[unit[group >= 0]] > 1):
                raise ParameterError(
                    "a far state shares its PUMA or SuperPUMA with another tract: give every far state its own"
                )
        return group

    @property
    def n_superpumas(self) -> int:
        """Number of SuperPUMAs."""
        return self.superpuma_members[0].size - 1

    @property
    def n_tracts(self) -> int:
        """n, the number of origin tracts."""
        return self.population.size


def chord_of_miles(miles: float) -> float:
    """Straight-line distance, in radii of the sphere, between places that many miles apart along it."""
    return 2.0 * float(np.sin(min(miles / (2.0 * EARTH_RADIUS_MI), np.pi / 2)))


def great_circle_mi(tracts: OriginTracts, destination: IntArray, *, threads: int = 1) -> FloatArray:
    """Distance from some tracts to all tracts, miles: float64[T, n_tracts]. For samples, as it is a full matrix.

    The result does not depend on the number of threads.
    """
    miles = np.empty((len(destination), tracts.n_tracts))
    axes = tracts.place.T.copy()

    def fill(start: int, stop: int) -> int:
        for row in range(start, stop):
            square = sum(np.square(axis - axis[destination[row]]) for axis in axes)
            miles[row] = np.arcsin(np.minimum(np.sqrt(square) / 2.0, 1.0))
            miles[row] *= 2.0 * EARTH_RADIUS_MI
        return 0

    run_ranges(fill, np.ones(len(destination), dtype=np.int64), threads)
    return miles


def unit_vectors(lon_deg: FloatArray, lat_deg: FloatArray) -> FloatArray:
    """Places on the sphere as unit vectors: float64[n, 3]."""
    lon, lat = np.radians(lon_deg), np.radians(lat_deg)
    return np.column_stack((np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)))


def _members(unit: Indices) -> tuple[npt.NDArray[np.int64], Indices]:
    """Tracts of each unit in index order, as CSR."""
    n_units = int(unit.max(initial=-1)) + 1
    ptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(unit, minlength=n_units))))
    return ptr, np.argsort(unit, kind="stable").astype(np.int32)


def _reach(place: FloatArray, ptr: npt.NDArray[np.int64], member: Indices) -> FloatArray:
    reach = np.zeros((ptr.size - 1, 4))
    size = np.diff(ptr)
    unit = np.repeat(np.arange(size.size), size)
    for axis in range(3):
        reach[:, axis] = np.bincount(unit, place[member, axis], size.size) / np.maximum(size, 1)
    chord = np.sqrt(np.square(place[member] - reach[unit, :3]).sum(axis=1))
    np.maximum.at(reach[:, 3], unit, chord)
    return reach
