"""The noise of each mechanism that redraws workers uniformly, with released tables in place of the real ones.

The number of workers whom a mechanism redraws hardly differs between a real table and the one that it becomes: on Rhode
Island the two agree to within 1% by workplace tract, for epsilon from 2 to 8.98.

Source: docs/method.md, sections 7d and 7e.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mapapp.answers.noisy_tables import DrawnTables, NoiseOfTables
from mapapp.answers.prior_terms import ExponentialTerms
from mapapp.answers.redrawn import redrawn

Floats = npt.NDArray[np.float64]

__all__ = ["ExponentialNoise", "RedrawNoise"]


@dataclass(frozen=True, slots=True)
class ExponentialNoise:
    """Of the exponential mechanism: R workers of a table are freed, and become a uniform multiset of all k points."""

    terms: ExponentialTerms

    @property
    def unit(self) -> str:
        """Return which workers are drawn together."""
        return self.terms.unit

    def of_tables(self, tables: DrawnTables, n_points: float) -> NoiseOfTables:
        """Return E[R], the variance of who arrives, and the variance of who leaves; see `Noise`."""
        at = int(np.argmin(np.abs(self.terms.n_support - n_points)))
        k = int(self.terms.n_support[at])
        kind = np.minimum(tables.n_workers, self.terms.theta.shape[1]) - 1
        first = np.flatnonzero(np.diff(tables.table, prepend=-1))
        found = redrawn(k, self.terms.theta[at, kind], first, tables.workers, self.terms.price[at, kind])
        freed = found.of_table
        gained: Floats = (freed**2 + found.variance_of_table + k * freed) / (k + 1.0)
        return NoiseOfTables(freed, gained, found.variance)


@dataclass(frozen=True, slots=True)
class RedrawNoise:
    """Of keep-or-redraw: every worker is redrawn uniformly over all k points with chance k/(e^epsilon - 1 + k)."""

    unit: str
    epsilon: float

    def of_tables(self, tables: DrawnTables, n_points: float) -> NoiseOfTables:
        """Return the same for workers who are redrawn independently; see `Noise`."""
        chance = n_points / (math.expm1(self.epsilon) + n_points)
        freed = chance * tables.n_workers.astype(np.float64)
        return NoiseOfTables(freed, freed, chance * (1.0 - chance) * tables.workers.astype(np.float64))
