"""Workplaces: where jobs are, and of which segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.spatial import cKDTree

from geodata.demo.blocks import Blocks
from geodata.demo.curves import Floats
from geodata.demo.grouping import Ints
from geodata.demo.sizes import Scale
from geodata.demo.towns import Towns
from geodata.store.schema import N_SEGMENTS

_JOB_SHARES: Final = (0.36, 0.22, 0.24, 0.18)  # in city centres, town centres, strips, among homes
_WITH_JOBS: Final = 0.62  # of blocks
_LUCK: Final = 1.55  # log standard deviation between blocks: a few employers are very large
_MOST_LUCK: Final = 15.0
_LARGEST_KM2: Final = 0.8  # largest area that the workplaces of a block cover
_AGE: Final = np.array([0.22, 0.55, 0.23])
_EARNINGS_BY_AGE: Final = np.array([[0.48, 0.37, 0.15], [0.19, 0.33, 0.48], [0.25, 0.32, 0.43]])
_EARNINGS_BY_INDUSTRY: Final = np.array([[0.5, 0.95, 1.35], [1.3, 1.2, 0.7], [1.0, 0.95, 1.05]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplaces:
    """The blocks with jobs.

    Attributes
    ----------
    block : int64[D]
        Row of `Blocks`, ascending.
    jobs : int64[D, 27]
        Jobs by segment, `schema.segment_code`.
    """

    block: Ints
    jobs: Ints


def make_workplaces(blocks: Blocks, towns: Towns, scale: Scale, rng: np.random.Generator) -> Workplaces:
    """Put the jobs of the main states into blocks, and give them segments."""
    main = np.flatnonzero(blocks.state < 2)
    parts = _attraction(blocks, towns, main)
    luck = np.minimum(rng.lognormal(0.0, _LUCK, main.size), _MOST_LUCK) * (rng.random(main.size) < _WITH_JOBS)
    weight = (parts / parts.sum(axis=0) * _JOB_SHARES).sum(axis=1) * luck
    n_jobs = rng.multinomial(scale.n_jobs, weight / weight.sum())
    used = n_jobs > 0
    share = _segment_share(parts[used], rng)
    return Workplaces(block=main[used], jobs=rng.multinomial(n_jobs[used], share))


def _attraction(blocks: Blocks, towns: Towns, main: Ints) -> Floats:
    place, area = blocks.place_km[main], np.minimum(blocks.area_km2[main], _LARGEST_KM2)
    away = np.hypot(*(place[:, None, :] - towns.place_km).transpose(2, 0, 1))
    city = towns.is_city
    centre = np.where(towns.state == 0, 1.0, 0.45)[city] * np.exp(-away[:, city] / 1.5)
    town = towns.weight[~city] * np.exp(-away[:, ~city] / 0.8)
    metro = np.exp(-away[:, city].min(axis=1) / 20.0)
    road_km = cKDTree(towns.highway_km).query(place)[0]
    strip = np.exp(-road_km / 0.6) * (0.08 + metro)
    near_homes = blocks.people[main] + 1.0
    return np.column_stack([centre.sum(axis=1) * area, town.sum(axis=1) * area, strip * area, near_homes])


def _segment_share(parts: Floats, rng: np.random.Generator) -> Floats:
    """Probability of each segment at each workplace: float64[D, 27]."""
    kind = parts / parts.sum(axis=0)
    kind /= kind.sum(axis=1, keepdims=True)
    # Strips have shops and warehouses, centres have services, and a few places have a factory.
    plant = (rng.random(len(kind)) < 0.07) * 3.0
    leaning = np.column_stack(
        [plant - 0.9 - 1.1 * kind[:, 0], 0.9 * kind[:, 2] - 0.5, 0.6 + 0.5 * kind[:, 0]]
    )
    industry = np.exp(leaning + rng.normal(0.0, 0.6, leaning.shape))
    industry /= industry.sum(axis=1, keepdims=True)
    wealth = kind[:, 0, None] * np.array([-0.25, -0.05, 0.3]) + rng.normal(0.0, 0.25, (len(kind), 1)) * [
        -1,
        0,
        1,
    ]
    return joint_shares(industry, wealth)


def joint_shares(industry: Floats, wealth: Floats) -> Floats:
    """Probability of each joint segment at each workplace.

    Parameters
    ----------
    industry : float64[D, 3]
        Shares of the industry groups.
    wealth : float64[D, 3]
        Log factors on the earnings bands.

    Returns
    -------
    float64[D, 27]
        By `schema.segment_code`; earnings go with age and with industry.
    """
    share = (
        _AGE[:, None, None]
        * industry[:, None, None, :]
        * (_EARNINGS_BY_AGE[:, :, None] * _EARNINGS_BY_INDUSTRY.T)
        * np.exp(wealth)[:, None, :, None]
    ).reshape(len(industry), N_SEGMENTS)
    return np.asarray(share / share.sum(axis=1, keepdims=True), dtype=np.float64)
