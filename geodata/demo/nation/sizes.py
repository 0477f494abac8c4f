"""How large a generated nation is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class NationScale:
    """Sizes of everything that is counted.

    Attributes
    ----------
    size : str
        What the command line calls it.
    extent_deg : tuple of float
        West, south, east and north of the land, which is a rectangle.
    n_cities, n_states : int
        Cities, of which the largest are metropolitan, and states.
    n_places, people_per_place : int
        Places drawn by the density of people, and the number of people at each.
    superpuma_people, puma_people : int
        Fewest people of a SuperPUMA and of a PUMA.
    tract_people : int
        People of a tract, on average.
    tract_blocks : int
        Blocks of a tract, on average.
    n_jobs : int
        Workers.
    """

    size: str
    extent_deg: tuple[float, float, float, float]
    n_cities: int
    n_states: int
    n_places: int
    people_per_place: int
    superpuma_people: int
    puma_people: int
    tract_people: int
    tract_blocks: int
    n_jobs: int

    @property
    def n_people(self) -> int:
        """Residents of all states."""
        return self.n_places * self.people_per_place


NATION: Final = NationScale(
    size="nation",
    extent_deg=(-122.0, 28.0, -70.0, 48.0),
    n_cities=900,
    n_states=50,
    n_places=2_000_000,
    people_per_place=165,
    superpuma_people=400_000,
    puma_people=100_000,
    tract_people=4_583,
    tract_blocks=111,
    n_jobs=140_000_000,
)

ELSEWHERE: Final = "99"
"""The one state outside the nation, known only by name."""

ELSEWHERE_PEOPLE: Final = 3_400_000
