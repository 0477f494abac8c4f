"""The two sides of a measure: the real workers of some destinations, and what synthetic ones are expected to be like.

Confidential: real homes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from engine.validity import N_CELLS, cell_counts
from mapapp.kinds.base.geography import Ints

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class RealWorkers:
    """Real workers of a part, destination by destination, one entry each.

    Attributes
    ----------
    destination_ptr : int64[D + 1]
        Workers of each destination.
    cell : int8[W]
        Cell of the grid.
    distance_mi : float64[W]
        Between tract centres.
    is_edited_out : bool[W]
        Whether domain editing eliminated their support point.
    """

    destination_ptr: Ints
    cell: npt.NDArray[np.int8]
    distance_mi: Floats
    is_edited_out: Bools

    @property
    def n_workers(self) -> Ints:
        """Of each destination: int64[D]."""
        return np.diff(self.destination_ptr)

    @property
    def destination(self) -> Ints:
        """Number of each worker's destination, rising: int64[W]."""
        return np.repeat(np.arange(self.n_workers.size), self.n_workers)

    def cells(self, chosen: Bools | None = None) -> Floats:
        """Chosen workers (all by default) by destination and cell: float64[D, 29]."""
        counted = self.cell if chosen is None else np.where(chosen, self.cell, -1).astype(np.int8)
        return cell_counts(self.destination_ptr, counted).astype(np.float64)

    def mean_mi(self, chosen: Bools | None = None) -> Floats:
        """Mean distance of the chosen workers (all by default) of each destination: float64[D]; NaN without any."""
        workers = slice(None) if chosen is None else chosen
        of, n_destinations = self.destination[workers], self.n_workers.size
        total = np.bincount(of, self.distance_mi[workers], n_destinations)
        return ratio(total, np.bincount(of, minlength=n_destinations))


class ExpectedWorkers(NamedTuple):
    """What synthetic workers are expected to be like, by destination.

    Attributes
    ----------
    posterior, variance : float64[D, 29]
        Of the shares of the cells.
    means : float64[D, 3]
        Distance, share of short commutes, and their share times their distance.
    """

    posterior: Floats
    variance: Floats
    means: Floats


def mean_of_draws(
    real: RealWorkers, draws: Iterable[npt.NDArray[np.int64]], n_draws: int, shares: Floats, values: Floats
) -> ExpectedWorkers:
    """Mean and variance of the cells' shares over some draws, and means of the points' values.

    One worker spread evenly over the cells is added to all draws together, so that a cell that no draw reached
    does not make the divergence infinite.

    Parameters
    ----------
    real : RealWorkers
        As many synthetic workers are drawn at each destination.
    draws : iterable of int64[W]
        Support point of each synthetic worker, counted over all tracts.
    n_draws : int
        2 or more.
    shares : float64[K, 29]
        Share of each support point in each cell.
    values : float64[K, 3]
    """
    n, n_values = real.n_workers.astype(np.float64)[:, None], values.shape[1]
    # All that is added up over the workers of a destination, a row for each support point.
    of_point = np.concatenate((shares, shares * (1.0 - shares), values), axis=1)
    total, square, within = (np.zeros((n.size, N_CELLS)) for _ in range(3))
    means = np.zeros((n.size, n_values))
    for point in draws:
        # A row for each destination, with a 1 for each of its workers: the product adds up without an array by worker.
        chosen = csr_array(
            (np.ones(point.size), point, real.destination_ptr), shape=(n.size, of_point.shape[0])
        )
        share, spread, point_means = np.split(chosen @ of_point / n, (N_CELLS, 2 * N_CELLS), axis=1)
        total += share
        square += share * share
        within += spread / n
        means += point_means / n_draws
    mean = total / n_draws
    between = np.maximum(square / n_draws - mean * mean, 0.0) * n_draws / (n_draws - 1)
    added = n_draws * n
    posterior = (mean * added + 1.0 / N_CELLS) / (added + 1.0)
    return ExpectedWorkers(posterior, between + within / n_draws, means)


def ratio(above: npt.ArrayLike, below: npt.ArrayLike) -> Floats:
    """Quotients; NaN where the divisor is 0."""
    above, below = np.asarray(above, np.float64), np.asarray(below, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)
