"""Values of workers by home tract, for some workplace tracts at once, and their sums over support points.

A count is the sum of values that are 1 in its home area and 0 elsewhere. Most values are 0, so only the others are
listed. One operation on the lists of many workplace tracts costs much less than one for each tract.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mapapp.answers.errors.support_prior import Synthesizers, TractPrior

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

__all__ = ["HomeCells", "HomeValues", "TractValues", "ValuesOfTracts", "values_of_areas"]


class HomeValues(NamedTuple):
    """Values of U home areas or sums in T workplace tracts, N of each; what is listed twice adds up, all others are 0.

    Attributes
    ----------
    row, tract : int64[T or 1, N]
        Home area or sum, and home tract; alike in all workplace tracts if there is one line.
    mean, square : float64[T or 1, N]
        Mean and mean square of a worker's value in the home tract; in a count, twice the share of the tract's people
        who live in the home area.
    """

    row: Ints
    tract: Ints
    mean: Floats
    square: Floats


class TractValues(NamedTuple):
    """What R counts, or R sums over workers, are of T workplace tracts.

    Attributes
    ----------
    tracts : int64[T]
    values : HomeValues
    of_row : int64[R]
        The home area of each count; sums have values of their own.
    synthesizers : Synthesizers
        Those of the work area in the tracts.
    found : tuple of float64[T, R]
        Sums of values and of squared values of the synthetic workers; in a count, twice the count.
    """

    tracts: Ints
    values: HomeValues
    of_row: Ints
    synthesizers: Synthesizers
    found: tuple[Floats, Floats]


class ValuesOfTracts(NamedTuple):
    """Values of R counts or sums, by workplace tract.

    Attributes
    ----------
    of : callable
        Returns the values in some workplace tracts.
    of_row : int64[R]
        Which of the values each count has: counts of the same home area share them.
    n_listed : int
        About how many are listed for each.
    """

    of: Callable[[Ints], HomeValues]
    of_row: Ints
    n_listed: int


def values_of_areas(shares: Floats, of_row: Ints | None = None) -> ValuesOfTracts:
    """Return the values of counts that have the same home areas whatever the workplace.

    Parameters
    ----------
    shares : float64[U, n_tracts]
        Share of each tract's people in each home area.
    of_row : int64[R], optional
        The home area of each count; by default, each has its own.
    """
    row, tract = np.nonzero(shares)
    share = shares[row, tract][None]
    values = HomeValues(row[None], tract[None], share, share)
    areas = np.arange(len(shares)) if of_row is None else of_row
    return ValuesOfTracts(lambda tracts: values, areas, tract.size)


class HomeCells:
    """The support point of each listed value.

    A cell is a home area or sum, and a support point, of a workplace tract.

    Parameters
    ----------
    values : HomeValues
    n_rows : int
        Number U of home areas or sums.
    priors : sequence of TractPrior
        Of the T workplace tracts.
    """

    def __init__(self, values: HomeValues, n_rows: int, priors: Sequence[TractPrior]) -> None:
        self.values = values
        self._priors = priors
        self._tract = np.broadcast_to(values.tract, (len(priors), values.tract.shape[1]))
        self.shape = len(priors), n_rows, max(prior.share.size for prior in priors)
        at = list(zip(priors, self._tract, strict=True))
        point = np.stack([prior.point[tract] for prior, tract in at])
        self.cell: Ints = (np.arange(len(priors))[:, None] * n_rows + values.row) * self.shape[2] + point
        self.people: Floats = np.stack([prior.people[tract] for prior, tract in at])

    def by_people(self, values: Floats) -> Floats:
        """Return the means of listed values in each cell, where people live: float64[T, U, K].

        Parameters
        ----------
        values : float64[T or 1, N]
        """
        return self._sums(self.people * values)

    def by_gravity(self) -> Floats:
        """Return the mean values in each cell by gravity mass: float64[T, U, K]."""
        at = zip(self._priors, self._tract, strict=True)
        return self._sums(np.stack([prior.gravity[tract] for prior, tract in at]) * self.values.mean)

    def by_squares(self, values: Floats) -> Floats:
        """Return sums of values times the squared share that each home tract has in the people of its point."""
        return self._sums(self.people**2 * values)

    def deviation(self, mean: Floats) -> Floats:
        """Return the mean absolute deviation of values from their mean in each cell, if none is listed twice.

        Parameters
        ----------
        mean : float64[T, U, K]
        """
        off = np.abs(self.values.mean - mean.reshape(-1)[self.cell])
        others = np.maximum(1.0 - self.by_people(np.ones((1, 1))), 0.0)
        return np.asarray(self.by_people(off) + others * np.abs(mean))

    def _sums(self, terms: Floats) -> Floats:
        size = self.shape[0] * self.shape[1] * self.shape[2]
        sums = np.bincount(self.cell.reshape(-1), terms.reshape(-1), size)
        return sums.reshape(self.shape).astype(np.float64, copy=False)

    def in_some(self, cells: Ints) -> tuple[Floats, Floats]:
        """Return the mean values of some cells by gravity mass, and their sums over squared shares of people.

        Parameters
        ----------
        cells : int64[cells]
            Positions in float64[T, U, K].
        """
        number = np.full(self.shape[0] * self.shape[1] * self.shape[2], -1, dtype=np.int32)
        number[cells] = np.arange(cells.size, dtype=np.int32)
        n_listed = self.cell.shape[1]
        listed = np.flatnonzero(number[self.cell.reshape(-1)] >= 0)
        place, listed_in = np.divmod(listed, n_listed)
        at, people = number[self.cell.reshape(-1)[listed]], self.people.reshape(-1)[listed]
        tract, mean = (
            array.reshape(-1)[listed if len(array) > 1 else listed_in]
            for array in (self.values.tract, self.values.mean)
        )
        gravity = np.empty(tract.size)
        ends = np.searchsorted(place, np.arange(self.shape[0] + 1)).tolist()
        for prior, (first, last) in zip(self._priors, pairwise(ends), strict=True):
            gravity[first:last] = prior.gravity[tract[first:last]]
        terms = mean * gravity, mean * people**2
        by_gravity, by_squares = (
            np.bincount(at, weights, cells.size).astype(np.float64) for weights in terms
        )
        return by_gravity, by_squares
