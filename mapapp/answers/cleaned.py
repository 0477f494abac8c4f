"""What cleaning is expected to have changed, point by point.

Cleaning takes the expected noise out of each commute range of a workplace tract (docs/method.md, section 7f), so the
total of a range is about right. Let Y be the cleaned workers of a range, F the freed workers of the tract, s the
range's share in a uniform draw of points, and kappa = 1 - F/n. Before cleaning, the range is expected to have held
kappa Y + F s workers. If that is less than Y, the rest was added, to each point in proportion to its workers. If it is
more, the surplus was taken from the points with the fewest workers. These are empty now, so the surplus is taken to
have been spread evenly over the empty points. Both are chance: a point's number varies as much as a Poisson number.

Each worker who is drawn again stays in the same cell. So the tables of a cell take part in these changes as they do in
the points that were emptied: partly as they do in the noise, partly as they do in the workers who stayed. The prior
says how many of each were expected there.

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
    """Expected changes of a workplace tract.

    Attributes
    ----------
    change : float64[K]
        Workers whom a point gained or, if negative, lost.
    noise : float
        Part of those who were drawn again whom noise had put where they were.
    """

    change: Floats
    noise: float

    @classmethod
    def none(cls, n_points: int) -> Cleaning:
        """Return the changes of a release that was not cleaned."""
        return cls(np.zeros(n_points), 0.0)

    def parts_of(self, freed: Floats, stayed: Floats, of_tract: tuple[float, float]) -> Floats:
        """Return the part of the changes that falls on tables with these numbers of workers, freed and not.

        Parameters
        ----------
        freed, stayed : float64[R, J]
        of_tract : tuple of float
            The same numbers for all tables of the tract.
        """
        all_freed, all_stayed = (max(total, 1e-9) for total in of_tract)
        return self.noise * freed / all_freed + (1.0 - self.noise) * stayed / all_stayed


def cleaning_of(tables: NoisyTables, away_mi: Floats, share: Floats) -> Cleaning:
    """Return the changes of a cleaned workplace tract.

    Parameters
    ----------
    tables : NoisyTables
        Of the whole tract, as released.
    away_mi, share : float64[K]
        Distance and public prior share of each support point.
    """
    at = np.searchsorted(CLEANED_RANGES_MI, away_mi, side="right")
    n_ranges = len(CLEANED_RANGES_MI) + 1
    workers, freed = tables.workers.sum(axis=0), float(tables.freed.sum())
    stayed = workers.sum() - freed
    in_range = np.bincount(at, workers, n_ranges)
    lost = in_range * (freed / max(workers.sum(), 1.0))
    more = (lost - np.bincount(at, freed * tables.even, n_ranges))[at]
    part = np.where(more > 0, workers, tables.even * (workers == 0))
    total = np.bincount(at, part, n_ranges)[at]
    noise, real = freed * tables.even[more < 0].sum(), stayed * share[more < 0].sum()
    return Cleaning(more * part / np.where(total > 0, total, 1.0), float(noise / max(noise + real, 1e-9)))
