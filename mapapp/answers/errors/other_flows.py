"""The expected error of the flows of a matrix that are not shown, as one sum.

No single pick counts these workers, because which homes are left out depends on the workplace. So they are a sum over
workers: a worker counts with the part of the home tract's people who live in no shown cell of the worker's workplace.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mapapp.answers.errors.expected_error import ExpectedErrors
from mapapp.answers.errors.home_values import HomeValues, ValuesOfTracts
from mapapp.answers.errors.workplaces import WorkplaceArrays

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

__all__ = ["Cell", "error_of_other_flows"]


class Cell(NamedTuple):
    """One end-to-end flow that is shown.

    Attributes
    ----------
    home_share : float64[n_tracts]
        Share of each tract's people who live in its home area.
    work_share : float64[n_tracts]
        Share of the matrix's workers of each workplace tract who work in its work area.
    workers : float64[n_tracts]
        Its workers by workplace tract.
    """

    home_share: Floats
    work_share: Floats
    workers: Floats


def error_of_other_flows(
    formula: ExpectedErrors,
    home_share: Floats,
    workers: Floats,
    shown: list[Cell],
    workplaces: WorkplaceArrays,
) -> float:
    """Return the expected root mean squared error of the workers in no shown cell.

    Parameters
    ----------
    formula : ExpectedErrors
    home_share, workers : float64[n_tracts]
        As in `Cell`, for the whole matrix.
    shown : list of Cell
        Cells that do not overlap.
    workplaces : tuple
        As `ExpectedErrors.of_sums` takes them.
    """
    rest = np.maximum(workers - sum(cell.workers for cell in shown), 0.0)[None]
    return formula.of_sums(_values(home_share, shown), rest, rest, *workplaces)[0]


def _values(home_share: Floats, shown: list[Cell]) -> ValuesOfTracts:
    home = np.flatnonzero(home_share)
    here = home_share[home]
    work_shares = np.array([cell.work_share for cell in shown]).reshape(len(shown), home_share.size)
    home_shares = np.array([cell.home_share[home] for cell in shown]).reshape(len(shown), home.size)
    row = np.zeros((1, home.size), dtype=np.int64)

    def of(tracts: Ints) -> HomeValues:
        value = np.clip(here - work_shares[:, tracts].T @ home_shares, 0.0, 1.0)
        return HomeValues(row, home[None], value, value)

    return ValuesOfTracts(of, np.arange(1), home.size)
