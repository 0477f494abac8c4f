"""How large a generated country is: people, jobs, tracts and blocks of each of its states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Size = Literal["small", "metro", "state"]

MAIN_STATES: Final = ("81", "82")
"""States with workplaces; the Census Bureau uses no state code between 79 and 98."""

FAR_STATES: Final = ("83", "84", "85")
"""States of homes only: about 150, 300 and 600 miles from the main city."""

ELSEWHERE_STATES: Final = ("86", "87")
"""States outside the country, known only by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Sizes of everything that is counted.

    Attributes
    ----------
    people : dict of str to int
        People of each state with a geography.
    blocks : dict of str to int
        Blocks of each state, except those along borders and on islets.
    tract_people : dict of str to int
        People wanted in a tract of each state.
    puma_people, superpuma_people : int
        Fewest people of a PUMA and of a SuperPUMA.
    n_jobs : int
        Workers, all in the main states.
    coast_km : float
        Length of the coastline's finest step, kilometres.
    border_step_km : float
        Length of the blocks that line a border between states, kilometres.
    towns : tuple of int
        Towns of each state besides its city.
    town_gap_km : float
        Least distance between two towns of a main state, kilometres.
    counties, pumas : tuple of int
        Counties and PUMAs of each state.
    """

    people: dict[str, int]
    blocks: dict[str, int]
    tract_people: dict[str, int]
    puma_people: int
    superpuma_people: int
    n_jobs: int
    coast_km: float
    border_step_km: float
    towns: tuple[int, ...] = (15, 11, 9, 8, 7)
    town_gap_km: float = 8.5
    counties: tuple[int, ...] = (6, 5, 5, 4, 4)
    pumas: tuple[int, ...] = (8, 4, 4, 4, 4)


SCALES: Final[dict[Size, Scale]] = {
    "metro": Scale(
        people={"81": 862_000, "82": 428_000, "83": 446_000, "84": 445_000, "85": 438_000},
        blocks={"81": 5_600, "82": 3_300, "83": 620, "84": 560, "85": 480},
        tract_people={"81": 5_600, "82": 5_600, "83": 10_500, "84": 10_500, "85": 10_500},
        puma_people=100_000,
        superpuma_people=400_000,
        n_jobs=312_000,
        coast_km=0.8,
        border_step_km=3.2,
    ),
    "small": Scale(
        people={"81": 17_300, "82": 8_700, "83": 8_900, "84": 8_700, "85": 8_500},
        blocks={"81": 210, "82": 120, "83": 45, "84": 45, "85": 40},
        tract_people={"81": 900, "82": 900, "83": 1_300, "84": 1_300, "85": 1_300},
        puma_people=500,
        superpuma_people=7_000,
        n_jobs=3_000,
        coast_km=3.2,
        border_step_km=16.0,
    ),
    "state": Scale(
        people={"81": 8_000_000, "82": 4_000_000, "83": 1_500_000, "84": 1_500_000, "85": 1_500_000},
        blocks={"81": 58_000, "82": 34_000, "83": 2_500, "84": 2_500, "85": 2_500},
        tract_people={"81": 5_600, "82": 5_600, "83": 15_000, "84": 15_000, "85": 15_000},
        puma_people=100_000,
        superpuma_people=400_000,
        n_jobs=5_000_000,
        coast_km=0.8,
        border_step_km=3.2,
        towns=(60, 40, 9, 8, 7),
        town_gap_km=5.0,
        counties=(16, 10, 5, 4, 4),
        pumas=(50, 25, 8, 8, 8),
    ),
}
