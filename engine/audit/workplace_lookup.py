"""The attackers of :mod:`engine.audit.lookup` on workers by workplace, in time proportional to workers.

A cell is a (workplace block, segment), and has as many released workers as real ones. The predictions are those of
``lookup`` and ``lookup_without_victim``, which sort the workers by every key.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray, as_ptr
from engine.audit.coded_tables import Predictions
from engine.audit.kernels.lookup import (
    LookedUp,
    Margins,
    ValueSpace,
    Workplaces,
    look_up_bands,
    look_up_cells,
)
from engine.errors import ParameterError

__all__ = ["Lookups", "look_up_homes", "look_up_segments"]

Ints = npt.NDArray[np.int64]


class Lookups(NamedTuple):
    """What three attackers predict for every real worker: among the released workers, the others, and all real ones."""

    release: Predictions
    without_victim: Predictions
    memorised: Predictions


def look_up_homes(
    cell_ptr: Ints, worker_ptr: Ints, truth: Ints, released: Ints, prior: FloatArray
) -> Lookups:
    """Look workers up by cell and then, where nobody else is in it, by tract.

    T tracts, S cells, N workers, V values.

    Parameters
    ----------
    cell_ptr : int64[T + 1]
        CSR offsets of the cells of each tract.
    worker_ptr : int64[S + 1]
        CSR offsets of the workers of each cell; every cell has some.
    truth, released : int64[N]
        Values of the real and of the released workers, 0 to V - 1.
    prior : float64[V]
        As for :func:`engine.audit.lookup.lookup`.

    Raises
    ------
    ParameterError
        The arrays do not agree, a cell has no workers, or a value is not in the prior.
    """
    workers = _worker_ptr(worker_ptr, truth.size)
    cells = as_ptr("cell_ptr", cell_ptr, total=workers.size - 1)
    for values in (truth, released):
        _require_values(values, truth.size, prior.size)
    space = ValueSpace(np.zeros(prior.size, np.int32), np.zeros(truth.size, np.int64))
    looked_up = _make_empty(truth.size)
    look_up_cells(Workplaces(cells, workers), truth, released, prior, space, looked_up)
    return _lookups(looked_up)


def look_up_segments(
    margin: Ints,
    band: Ints,
    worker_ptr: Ints,
    homes: tuple[Ints, Ints],
    n_homes: int,
    prior: FloatArray,
) -> Lookups:
    """Look workers up by margin and home and then, where nobody else has these, by margin.

    A margin is a workplace block with what else the attacker knows of the segment; the value is the rest of it.

    Parameters
    ----------
    margin, band : int64[S]
        Margin of each cell, at least 0, and value of its workers, 0 to V - 1.
    worker_ptr : int64[S + 1]
        CSR offsets of the workers of each cell; every cell has some.
    homes : tuple of int64[N]
        Units of the homes of the real and of the released workers, 0 to ``n_homes`` - 1.
    n_homes : int
    prior : float64[V]
        As for :func:`engine.audit.lookup.lookup`.

    Raises
    ------
    ParameterError
        The arrays do not agree, a cell has no workers, or a value or a unit is out of range.
    """
    n_workers = homes[0].size
    workers = _worker_ptr(worker_ptr, n_workers)
    if margin.size != workers.size - 1:
        raise ParameterError(f"{margin.size} margins for {workers.size - 1} cells: give one each")
    _require_values(band, margin.size, prior.size)
    for units in homes:
        _require_values(units, n_workers, n_homes)
    order = np.argsort(margin, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(margin[order]), 1)) + 1 if order.size else order
    groups = Margins(np.concatenate(([0], ends)).astype(np.int64), order.astype(np.int64), band, workers)
    real, made = (np.zeros((n_homes, prior.size), np.int32) for _ in homes)
    looked_up = _make_empty(n_workers)
    look_up_bands(groups, homes, prior, (real, made), looked_up)
    return _lookups(looked_up)


def _worker_ptr(worker_ptr: Ints, n_workers: int) -> Ints:
    workers = as_ptr("worker_ptr", worker_ptr, total=n_workers)
    if np.any(np.diff(workers) < 1):
        raise ParameterError("worker_ptr has a cell without workers: leave it out")
    return workers


def _require_values(values: Ints, n: int, n_values: int) -> None:
    if values.size != n or not n_values or (n and not 0 <= values.min() <= values.max() < n_values):
        raise ParameterError(f"{values.size} values for {n}: give one each, from 0 to {n_values - 1}")


def _make_empty(n_workers: int) -> LookedUp:
    return LookedUp(np.empty((3, n_workers), np.int64), np.empty((3, n_workers)))


def _lookups(looked_up: LookedUp) -> Lookups:
    return Lookups(*(Predictions(value, belief) for value, belief in zip(*looked_up, strict=True)))
