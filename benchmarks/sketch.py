"""A normal approximation of tables with both totals. Its output is approximate and not certified.

Cell values are taken as independent normal variables with the means and variances of their people's values. Released
sums condition them. A person's belief is judged by how far the mean of the person's cell moves:

    shift = max(p, 1 - p) |E[cell | released] - mean| / variance.

The rule of release is that of the paper, with a query's law taken as normal: a safe interval around the mean, and
released if the chance of a value outside is at most delta / T. Use it to look at large tables, as the paper does in its
figures; never to publish.

Source: Nabar and Mishra, "Extending the analysis to more than one cell"; docs/theory/suppressed-tables.md, "The normal
sketch".
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from engine.arrays import BoolArray, FloatArray, as_amounts
from engine.errors import ParameterError

__all__ = ["STAMP", "Sketch", "SketchedTable", "both_totals", "sketch_table"]

STAMP: Final = "approximate: not certified"

_DETERMINED: Final = 1e-9
"""Queries whose variance falls below this part of their own are determined by what was released."""


class SketchedTable(NamedTuple):
    """Decisions of the sketch on queries, in their order, and what to print beside them.

    Attributes
    ----------
    released : bool[Q]
    stamp : str
        "approximate: not certified".
    """

    released: BoolArray
    stamp: str


class Sketch:
    """Means and covariances of a table's cells, given the sums released so far.

    Parameters
    ----------
    people : float64[C]
        People in each cell.
    rates : float64[C]
        Their prior, strictly between 0 and 1.

    Raises
    ------
    ParameterError
        A cell is empty, a rate is not between 0 and 1, or the lengths differ.
    """

    def __init__(self, people: npt.ArrayLike, rates: npt.ArrayLike) -> None:
        people, rates = as_amounts("people", people), as_amounts("rates", rates)
        if people.shape != rates.shape:
            raise ParameterError(f"{rates.size} rates for {people.size} cells: give one for each")
        if not ((people > 0) & (rates > 0) & (rates < 1)).all():
            raise ParameterError("the sketch needs people in every cell, and rates above 0 and below 1")
        self.prior_mean = people * rates
        self.prior_variance = people * rates * (1 - rates)
        self._most = np.maximum(rates, 1 - rates) / self.prior_variance
        self.mean = self.prior_mean.copy()
        self.covariance = np.diag(self.prior_variance)

    def _gain(self, query: FloatArray) -> tuple[FloatArray, float]:
        """How all cells move with the query's value, per unit, and the query's variance."""
        with_query = self.covariance @ query
        variance = float(query @ with_query)
        own = float((query**2) @ self.prior_variance)
        if variance <= _DETERMINED * own:
            return np.zeros_like(with_query), 0.0
        return with_query / variance, variance

    def unsafe_probability(self, query: FloatArray, epsilon: float) -> float:
        """Chance that the query's value moves some belief by more than epsilon; 1 if no value is safe."""
        gain, variance = self._gain(query)
        moved, limit = self.mean - self.prior_mean, epsilon / self._most
        if variance == 0.0:
            return float((np.abs(moved) > limit * (1 + 1e-9)).any())
        deviation = math.sqrt(variance)
        still, moving = gain == 0.0, gain != 0.0
        if (np.abs(moved[still]) > limit[still]).any():
            return 1.0
        one = (-limit[moving] - moved[moving]) / gain[moving]
        other = (limit[moving] - moved[moving]) / gain[moving]
        low, high = float(np.minimum(one, other).max()), float(np.maximum(one, other).min())
        if low > high:
            return 1.0
        return float(special.ndtr(low / deviation) + special.ndtr(-high / deviation))

    def release(self, query: FloatArray, value: float) -> None:
        """Take a released value into account."""
        gain, variance = self._gain(query)
        if variance:
            self.mean = self.mean + gain * (value - float(query @ self.mean))
            self.covariance = self.covariance - np.outer(gain, gain) * variance

    def largest_shift(self) -> float:
        """Largest shift of a belief, relative to its prior."""
        return float((self._most * np.abs(self.mean - self.prior_mean)).max())


def both_totals(rows: int, columns: int) -> FloatArray:
    """Queries of a table: its row totals, its column totals, and its cells row by row."""
    of_rows = np.kron(np.eye(rows), np.ones(columns))
    of_columns = np.kron(np.ones(rows), np.eye(columns))
    return np.vstack((of_rows, of_columns, np.eye(rows * columns)))


def sketch_table(
    sketch: Sketch, queries: FloatArray, values: npt.ArrayLike, *, epsilon: float, decision_delta: float
) -> SketchedTable:
    """Decide queries in order by the normal approximation, which certifies nothing.

    Parameters
    ----------
    sketch : Sketch
        The table; it is changed.
    queries : float64[Q, C]
        1 where a query counts a cell, else 0.
    values : float64[Q]
        Values of the queries.
    epsilon, decision_delta : float
        Bound on a shift, and delta divided by the number of queries.
    """
    counts, released = as_amounts("values", values), np.zeros(len(queries), dtype=np.bool_)
    for number, query in enumerate(queries):
        if sketch.unsafe_probability(query, epsilon) <= decision_delta:
            released[number] = True
            sketch.release(query, float(counts[number]))
    return SketchedTable(released, STAMP)
