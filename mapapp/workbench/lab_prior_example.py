"""A generated state of twelve towns, and its table decided with two priors: the true rates, and one rate per column.

Source: Nabar and Mishra, "Releasing Private Contingency Tables"; docs/tables.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.suppression.cells import releasable, safe_intervals
from engine.suppression.rates import Rates
from engine.suppression.suppressed import share_delta

__all__ = ["COLUMNS", "TOWNS", "DecidedTable", "decided_tables"]

TOWNS: Final = (
    "Alder",
    "Birch",
    "Cedar",
    "Dogwood",
    "Elm",
    "Fir",
    "Ginkgo",
    "Hazel",
    "Ironwood",
    "Juniper",
    "Larch",
    "Maple",
)
COLUMNS: Final = ("Low earnings", "Middle", "High")
_SEED: Final = 12
_RATES: Final = (0.35, 0.25, 0.15)
"""Share of workers who live in the town where they work, over all towns."""
_MILLION: Final = 10**6

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class DecidedTable:
    """The table under one prior, in the order of decision, as if it did not stop.

    Attributes
    ----------
    people, values, low, high : int64[C]
        Workers of each cell, how many of them live in their town, and which values were safe.
    released : bool[C]
        Whether the prior allows the cell.
    """

    people: Ints
    values: Ints
    low: Ints
    high: Ints
    released: Bools

    @property
    def outside(self) -> Bools:
        """Cells that are released although their value is outside their own safe interval."""
        return self.released & ((self.values < self.low) | (self.values > self.high))

    @property
    def n_printed(self) -> int:
        """Cells that are released until the table stops at its first breach, with that one."""
        found = np.flatnonzero(self.outside)
        return int(self.released[: int(found[0]) + 1 if found.size else None].sum())

    @property
    def stop(self) -> int:
        """Position of the first breach; the number of cells if there is none."""
        found = np.flatnonzero(self.outside)
        return int(found[0]) if found.size else self.released.size


def decided_tables(spread: float, epsilon: Fraction, delta: Fraction) -> tuple[DecidedTable, DecidedTable]:
    """The table under the rates it was drawn from, and under one rate per column made from the table itself.

    Parameters
    ----------
    spread : float
        How much towns differ: the standard deviation of the logarithm of their odds.
    epsilon, delta : Fraction
        Between 0 and 1; each of the cells may use an equal part of delta.

    Raises
    ------
    ParameterError
        Epsilon or delta is out of range.
    """
    random = np.random.default_rng(_SEED)
    people = np.exp(random.uniform(np.log(60), np.log(4000), (len(TOWNS), len(COLUMNS)))).astype(np.int64)
    towns = random.permutation(np.linspace(-1.5, 1.5, len(TOWNS)))
    odds = np.array(_RATES) / (1 - np.array(_RATES)) * np.exp(spread * towns)[:, None]
    true = odds / (1 + odds)
    values = random.binomial(people, true)
    of_columns = np.broadcast_to(values.sum(axis=0) / people.sum(axis=0), true.shape)
    return _decided(people, values, true, epsilon, delta), _decided(
        people, values, of_columns, epsilon, delta
    )


def _decided(
    people: Ints, values: Ints, rates: NDArray[np.float64], epsilon: Fraction, delta: Fraction
) -> DecidedTable:
    cells, n = people.ravel(), people.size
    numerators = np.clip(np.rint(rates.ravel() * _MILLION), 1, _MILLION - 1).astype(np.int64)
    prior = Rates(numerator=numerators, denominator=np.full(n, _MILLION))
    low, high = safe_intervals(cells, prior, epsilon)
    return DecidedTable(
        cells, values.ravel(), low, high, releasable(cells, prior, epsilon, share_delta(delta, n))
    )
