"""Where people live: cities whose sizes follow Zipf's law, and the country between them."""

from __future__ import annotations

from typing import Final

import numpy as np

from geodata.demo.curves import Floats
from geodata.demo.nation.sizes import NationScale

KM_PER_DEG: Final = 111.2
_URBAN: Final = 0.84  # of people
_RANK_POWER: Final = 0.95
_REACH_KM: Final = 3.0  # e-folding of density from the centre of a city of a million
_REACH_POWER: Final = 0.36  # larger cities are denser as well as wider
_INSET_DEG: Final = 0.4


def city_places(scale: NationScale, rng: np.random.Generator) -> Floats:
    """Draw the centers of cities, the largest first: longitude and latitude, float64[n_cities, 2]."""
    west, south, east, north = scale.extent_deg
    low, high = np.array([west, south]), np.array([east, north])
    return rng.uniform(low + _INSET_DEG, high - _INSET_DEG, (scale.n_cities, 2))


def settled_places(scale: NationScale, rng: np.random.Generator) -> Floats:
    """Draw places in proportion to the density of people: longitude and latitude, float64[n_places, 2]."""
    west, south, east, north = scale.extent_deg
    low, high = np.array([west, south]), np.array([east, north])
    city = city_places(scale, rng)
    share = np.arange(1, scale.n_cities + 1) ** -_RANK_POWER
    share *= _URBAN / share.sum()
    count = rng.multinomial(scale.n_places, np.append(share, 1.0 - _URBAN))
    of_city = np.repeat(np.arange(scale.n_cities), count[:-1])
    reach_km = _REACH_KM * (share * scale.n_people / 1e6) ** _REACH_POWER
    away_km = rng.gamma(2.0, reach_km[of_city])
    angle = rng.uniform(0.0, 2 * np.pi, of_city.size)
    away = away_km[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) / KM_PER_DEG
    away[:, 0] /= np.cos(np.radians(city[of_city, 1]))
    urban = city[of_city] + away
    # Places beyond the coast are mirrored back inland.
    urban = np.where(urban < low, 2 * low - urban, np.where(urban > high, 2 * high - urban, urban))
    rural = rng.uniform(low, high, (int(count[-1]), 2))
    return np.asarray(np.clip(np.vstack([urban, rural]), low, high), dtype=np.float64)
