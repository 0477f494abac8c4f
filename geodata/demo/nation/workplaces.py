"""Workplaces of the nation: which blocks have jobs, how many, and of which segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from geodata.demo.curves import Floats
from geodata.demo.grouping import Ints
from geodata.demo.nation.tract_grids import shared_out
from geodata.demo.workplaces import joint_shares

_WITH_JOBS: Final = 0.175  # of blocks
_SPREAD: Final = 1.7  # log standard deviation of the jobs of a block: many have a few, a few have very many
_MOST: Final = 2_000.0  # times the median
_TRACT_SPREAD: Final = 0.7
_INDUSTRY: Final = np.array([-0.5, 0.1, 0.7])  # log weights
_INDUSTRY_SPREAD: Final = 0.8
_WEALTH_SPREAD: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class NationWorkplaces:
    """The blocks with jobs.

    Attributes
    ----------
    block : int64[D]
        Rows of `blocks`, ascending.
    n_jobs : int64[D]
        At least 1.
    """

    block: Ints
    n_jobs: Ints


def job_weights(tract: Ints, rng: np.random.Generator) -> Floats:
    """Weight of every block of some tracts as a workplace: 0 for most."""
    of_tract = rng.lognormal(0.0, _TRACT_SPREAD, int(tract[-1] - tract[0]) + 1)
    luck = rng.lognormal(0.0, _SPREAD, tract.size)
    weight = np.minimum(of_tract[tract - tract[0]] * luck, _MOST)
    return np.asarray(weight * (rng.random(tract.size) < _WITH_JOBS), dtype=np.float64)


def make_workplaces(weight: Floats, n_jobs: int) -> NationWorkplaces:
    """Give every block with a weight one job, and share out the others by weight."""
    block = np.flatnonzero(weight)
    others = shared_out(np.array([n_jobs - block.size]), weight[block], np.array([0]))
    return NationWorkplaces(block=block, n_jobs=1 + others)


def draw_segments(n_jobs: Ints, rng: np.random.Generator) -> Ints:
    """Draw the joint segments of jobs at D workplaces: int64[D, 27]."""
    industry = np.exp(_INDUSTRY + rng.normal(0.0, _INDUSTRY_SPREAD, (n_jobs.size, 3)))
    industry /= industry.sum(axis=1, keepdims=True)
    wealth = rng.normal(0.0, _WEALTH_SPREAD, (n_jobs.size, 1)) * [-1, 0, 1]
    return np.asarray(rng.multinomial(n_jobs, joint_shares(industry, wealth)), dtype=np.int64)
