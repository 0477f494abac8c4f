"""Validity kernels: spread support points, prior mass and workers over the grid's cells.

Symbols: S[i, g] share of point i's mass in cell g, w_i expected prior weight kept in point i; in one synthesizer n
workers who have a support point, m workers drawn, A prior mass kept, T = n + A. A worker without a point has -1.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.jit import jit
from engine.kernels.arrays import Bools, Floats, Indices, Ints
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS

__all__ = [
    "CellMoments",
    "ClassMass",
    "ClassWeights",
    "DestinationLists",
    "add_destinations",
    "add_means",
    "count_cells",
    "fill_classes",
    "fill_points",
]

Cells = npt.NDArray[np.int8]


class ClassWeights(NamedTuple):
    """Base weights and retentions of the support points [K]; least weight of each class and whether it prunes."""

    base: Ints
    retention: Ints
    min_weight: Ints
    prunes: Bools


class DestinationLists(NamedTuple):
    """Synthesizers of each destination (CSR), workers of each synthesizer (CSR); class and m of each synthesizer."""

    destination_ptr: Ints
    worker_ptr: Ints
    class_of: Ints
    n_drawn: Ints


class ClassMass(NamedTuple):
    """A [n_classes], sum_i w_i S and sum_i w_i S^2 [n_classes, n_cells] of synthesizers without workers."""

    mass: Floats
    first: Floats
    second: Floats


class CellMoments(NamedTuple):
    """Likelihood, expected posterior and its variance, as shares [D, n_cells]."""

    likelihood: Floats
    posterior: Floats
    variance: Floats


@jit
def fill_points(
    support_ptr: Ints, point_of_tract: Indices, cell: Cells, population: Ints, point_cells: Floats
) -> None:
    """Fill S [K, n_cells, zeroed]: each point's tracts by population, a tract without any counting as one person."""
    for tract in range(point_of_tract.shape[0]):
        for origin in range(point_of_tract.shape[1]):
            point = point_of_tract[tract, origin]
            if point >= 0:
                people = max(population[origin], 1)
                point_cells[support_ptr[tract] + point, cell[tract, origin]] += people
    for point in range(point_cells.shape[0]):
        total = point_cells[point].sum()
        if total > 0.0:
            point_cells[point] /= total


@jit
def kept_weight(least: int, base: int, retention: int, prunes: bool) -> tuple[float, float]:
    """Prior weight of one point, and the part of it that pruning is expected to keep; in workers."""
    weight = max(least, base)
    alpha = weight / WEIGHT_UNITS
    if weight > WEIGHT_UNITS or not prunes:
        return alpha, alpha
    return alpha, alpha * (retention / RETENTION_UNITS)


@jit
def fill_classes(
    support_ptr: Ints, class_tract: Ints, point_cells: Floats, weights: ClassWeights, sums: ClassMass
) -> None:
    """Fill the sums of every class."""
    mass, first, second = sums.mass, sums.first, sums.second
    for j in range(class_tract.shape[0]):
        mass[j] = 0.0
        first[j] = 0.0
        second[j] = 0.0
        for i in range(support_ptr[class_tract[j]], support_ptr[class_tract[j] + 1]):
            _, kept = kept_weight(
                weights.min_weight[j], weights.base[i], weights.retention[i], weights.prunes[j]
            )
            mass[j] += kept
            for g in range(point_cells.shape[1]):
                share = point_cells[i, g]
                if share > 0.0:
                    first[j, g] += kept * share
                    second[j, g] += kept * share * share


@jit
def _add_workers(
    points: Ints, point_cells: Floats, weights: ClassWeights, j: int, first: Floats, second: Floats
) -> float:
    """Add one synthesizer's workers, and the prior weight that their points keep for certain; return the added weight.

    The synthesizer is of class j.
    """
    added = 0.0
    ordered = np.sort(points)
    for position in range(ordered.shape[0]):
        i = ordered[position]
        if i < 0:
            continue
        more = 1.0
        if position == 0 or i != ordered[position - 1]:
            alpha, kept = kept_weight(
                weights.min_weight[j], weights.base[i], weights.retention[i], weights.prunes[j]
            )
            more += alpha - kept
        added += more
        for g in range(point_cells.shape[1]):
            share = point_cells[i, g]
            if share > 0.0:
                first[g] += more * share
                second[g] += more * share * share
    return added


@jit
def _count_drawn(lists: DestinationLists, d: int) -> int:
    """Workers drawn for a destination."""
    n_drawn = 0
    for s in range(lists.destination_ptr[d], lists.destination_ptr[d + 1]):
        n_drawn += lists.n_drawn[s]
    return n_drawn


@jit
def _fill_likelihood(points: Ints, cells: Cells, likelihood: Floats) -> None:
    """Shares of one destination's workers by cell; zeros if no worker has a point."""
    likelihood[:] = 0.0
    n_real = 0
    for w in range(points.shape[0]):
        if points[w] >= 0:
            n_real += 1
            likelihood[cells[w]] += 1.0
    if n_real > 0:
        likelihood /= n_real


@jit
def add_destinations(
    lists: DestinationLists,
    worker_point: Ints,
    worker_cell: Cells,
    point_cells: Floats,
    weights: ClassWeights,
    classes: ClassMass,
    out: CellMoments,
) -> None:
    """Fill the shares of every destination."""
    posterior, variance = out.posterior, out.variance
    n_cells = point_cells.shape[1]
    of_mass, of_square = np.empty(n_cells), np.empty(n_cells)
    for d in range(lists.destination_ptr.shape[0] - 1):
        posterior[d] = 0.0
        variance[d] = 0.0
        begin, end = lists.destination_ptr[d], lists.destination_ptr[d + 1]
        first, last = lists.worker_ptr[begin], lists.worker_ptr[end]
        _fill_likelihood(worker_point[first:last], worker_cell[first:last], out.likelihood[d])
        n_drawn = _count_drawn(lists, d)
        for s in range(begin, end):
            m = lists.n_drawn[s]
            if m == 0:
                continue
            j = lists.class_of[s]
            of_mass[:] = classes.first[j]
            of_square[:] = classes.second[j]
            points = worker_point[lists.worker_ptr[s] : lists.worker_ptr[s + 1]]
            t = classes.mass[j] + _add_workers(points, point_cells, weights, j, of_mass, of_square)
            for g in range(n_cells):
                p, q = of_mass[g] / t, of_square[g] / t
                posterior[d, g] += p * m / n_drawn
                spread = m * (p - q) + m * (m + t) / (1.0 + t) * (q - p * p)
                variance[d, g] += spread / n_drawn / n_drawn


@jit
def add_means(
    lists: DestinationLists,
    worker_point: Ints,
    values: Floats,
    weights: ClassWeights,
    classes: ClassMass,
    means: Floats,
) -> None:
    """Fill the expected mean [D, n_values], over synthetic workers, of the `values` [K, n_values] of their points."""
    total, unread = np.empty(values.shape[1]), np.zeros(values.shape[1])
    for d in range(lists.destination_ptr.shape[0] - 1):
        means[d] = 0.0
        n_drawn = _count_drawn(lists, d)
        for s in range(lists.destination_ptr[d], lists.destination_ptr[d + 1]):
            if lists.n_drawn[s] == 0:
                continue
            j = lists.class_of[s]
            total[:] = classes.first[j]
            points = worker_point[lists.worker_ptr[s] : lists.worker_ptr[s + 1]]
            t = classes.mass[j] + _add_workers(points, values, weights, j, total, unread)
            for g in range(values.shape[1]):
                means[d, g] += total[g] / t * lists.n_drawn[s] / n_drawn


@jit
def count_cells(destination_ptr: Ints, worker_cell: Cells, counts: Ints) -> None:
    """Count the workers [zeroed D, n_cells] of every destination by cell; -1 is not counted."""
    for d in range(destination_ptr.shape[0] - 1):
        for w in range(destination_ptr[d], destination_ptr[d + 1]):
            if worker_cell[w] >= 0:
                counts[d, worker_cell[w]] += 1
