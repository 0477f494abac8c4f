"""What cleaning changes in the expectation of counts.

Cleaning takes the expected noise out of each commute range of a workplace tract (docs/method.md, section 7f), so the
total of a range is about right, and within it noise is not told from real workers. Let Y be the cleaned workers of a
range, F the freed workers of the tract, s the range's share in a uniform draw of points, and kappa = 1 - F/n. Before
cleaning, the range is expected to have held kappa Y + F s workers. If that is less than Y, all its points gained in
proportion. If it is more, the surplus came from its noise.

Source: docs/method.md, section 7f.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mapapp.answers.noisy_tables import NoisyTables
from mapapp.answers.prior_terms import CLEANED_RANGES_MI

Floats = npt.NDArray[np.float64]

__all__ = ["Cleaning", "cleaning_of"]


class Cleaning(NamedTuple):
    """Factors of every point: of the real workers who stayed, and of those whom noise put there.

    Attributes
    ----------
    kept, gained : float64[K]
    """

    kept: Floats
    gained: Floats

    @classmethod
    def none(cls, n_points: int) -> Cleaning:
        """Return the factors of a release that was not cleaned."""
        return cls(np.ones(n_points), np.ones(n_points))


def cleaning_of(tables: NoisyTables, away_mi: Floats) -> Cleaning:
    """Return the factors of a cleaned workplace tract.

    Parameters
    ----------
    tables : NoisyTables
        Of the whole tract, as released.
    away_mi : float64[K]
        Distance of each support point.
    """
    at = np.searchsorted(CLEANED_RANGES_MI, away_mi, side="right")
    n_ranges = len(CLEANED_RANGES_MI) + 1
    workers = np.bincount(at, tables.workers.sum(axis=0), n_ranges)
    freed = tables.freed.sum()
    lost = workers * (freed / max(tables.workers.sum(), 1.0))
    noise = np.bincount(at, freed * tables.even, n_ranges)
    before = workers - lost + noise
    grown = np.where(before > 0, workers / np.where(before > 0, before, 1.0), 1.0)
    left = np.where(noise > 0, lost / np.where(noise > 0, noise, 1.0), 1.0)
    return Cleaning(np.maximum(grown, 1.0)[at], np.where(grown >= 1.0, grown, left)[at])
