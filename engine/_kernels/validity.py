"""Validity loops: spread support points, prior mass and workers over the grid's cells.

Symbols: S[i, g] share of point i's mass in cell g, w_i expected prior weight kept in point i; in one synthesizer n
workers who have a support point, m workers drawn, A prior mass kept, T = n + A. A worker without a point has -1.
"""

import numpy as np
import numpy.typing as npt

from engine._jit import jit

__all__ = ["add_destinations", "add_means", "count_cells", "fill_classes", "fill_points"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Cells = npt.NDArray[np.int8]

_WEIGHT_ONE = 1 << 20
_RETENTION_ONE = 1 << 32


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
    alpha = weight / _WEIGHT_ONE
    if weight > _WEIGHT_ONE or not prunes:
        return alpha, alpha
    return alpha, alpha * (retention / _RETENTION_ONE)


@jit
def fill_classes(
    support_ptr: Ints,
    class_tract: Ints,
    point_cells: Floats,
    base: Ints,
    retention: Ints,
    min_weight: Ints,
    prunes: npt.NDArray[np.bool_],
    mass: Floats,
    cell_mass: Floats,
    cell_square: Floats,
) -> None:
    """Fill A [n_classes], sum_i w_i S and sum_i w_i S^2 [n_classes, n_cells] of synthesizers without workers."""
    for j in range(class_tract.shape[0]):
        mass[j] = 0.0
        cell_mass[j] = 0.0
        cell_square[j] = 0.0
        for i in range(support_ptr[class_tract[j]], support_ptr[class_tract[j] + 1]):
            _, kept = kept_weight(min_weight[j], base[i], retention[i], prunes[j])
            mass[j] += kept
            for g in range(point_cells.shape[1]):
                share = point_cells[i, g]
                if share > 0.0:
                    cell_mass[j, g] += kept * share
                    cell_square[j, g] += kept * share * share


@jit
def _add_workers(
    points: Ints,
    point_cells: Floats,
    prior: tuple[Ints, Ints, int, bool],
    cell_mass: Floats,
    cell_square: Floats,
) -> float:
    """Add one synthesizer's workers, and what their points keep for certain; return the weight added, n included."""
    base, retention, least, prunes = prior
    added = 0.0
    ordered = np.sort(points)
    for j in range(ordered.shape[0]):
        i = ordered[j]
        if i < 0:
            continue
        more = 1.0
        if j == 0 or i != ordered[j - 1]:
            alpha, kept = kept_weight(least, base[i], retention[i], prunes)
            more += alpha - kept
        added += more
        for g in range(point_cells.shape[1]):
            share = point_cells[i, g]
            if share > 0.0:
                cell_mass[g] += more * share
                cell_square[g] += more * share * share
    return added


@jit
def add_destinations(
    pointers: tuple[Ints, Ints, Ints],
    class_of: Ints,
    workers: tuple[Ints, Cells],
    point_cells: Floats,
    prior: tuple[Ints, Ints, Ints, npt.NDArray[np.bool_]],
    classes: tuple[Floats, Floats, Floats],
    likelihood: Floats,
    posterior: Floats,
    variance: Floats,
) -> None:
    """Fill likelihood, expected posterior and its variance, as shares [D, n_cells], of every destination.

    `pointers` are those of destinations over synthesizers and of synthesizers over workers, and each synthesizer's m.
    """
    destination_ptr, worker_ptr, drawn = pointers
    worker_point, worker_cell = workers
    base, retention, min_weight, prunes = prior
    mass, cell_mass, cell_square = classes
    n_cells = point_cells.shape[1]
    of_mass, of_square = np.empty(n_cells), np.empty(n_cells)
    for d in range(destination_ptr.shape[0] - 1):
        likelihood[d] = 0.0
        posterior[d] = 0.0
        variance[d] = 0.0
        first_synthesizer, last_synthesizer = destination_ptr[d], destination_ptr[d + 1]
        n_real, n_drawn = 0, 0
        for s in range(first_synthesizer, last_synthesizer):
            n_drawn += drawn[s]
        for w in range(worker_ptr[first_synthesizer], worker_ptr[last_synthesizer]):
            if worker_point[w] >= 0:
                n_real += 1
                likelihood[d, worker_cell[w]] += 1.0
        if n_real > 0:
            likelihood[d] /= n_real
        for s in range(first_synthesizer, last_synthesizer):
            m = drawn[s]
            if m == 0:
                continue
            j = class_of[s]
            of_mass[:] = cell_mass[j]
            of_square[:] = cell_square[j]
            least = (base, retention, min_weight[j], prunes[j])
            points = worker_point[worker_ptr[s] : worker_ptr[s + 1]]
            t = mass[j] + _add_workers(points, point_cells, least, of_mass, of_square)
            for g in range(n_cells):
                p, q = of_mass[g] / t, of_square[g] / t
                posterior[d, g] += p * m / n_drawn
                spread = m * (p - q) + m * (m + t) / (1.0 + t) * (q - p * p)
                variance[d, g] += spread / n_drawn / n_drawn


@jit
def add_means(
    pointers: tuple[Ints, Ints, Ints],
    class_of: Ints,
    worker_point: Ints,
    values: Floats,
    prior: tuple[Ints, Ints, Ints, npt.NDArray[np.bool_]],
    classes: tuple[Floats, Floats],
    means: Floats,
) -> None:
    """Fill the expected mean over synthetic workers of what `values` [K, n_values] says of points: [D, n_values]."""
    destination_ptr, worker_ptr, drawn = pointers
    base, retention, min_weight, prunes = prior
    mass, class_sum = classes
    total, unread = np.empty(values.shape[1]), np.zeros(values.shape[1])
    for d in range(destination_ptr.shape[0] - 1):
        means[d] = 0.0
        n_drawn = 0
        for s in range(destination_ptr[d], destination_ptr[d + 1]):
            n_drawn += drawn[s]
        for s in range(destination_ptr[d], destination_ptr[d + 1]):
            if drawn[s] == 0:
                continue
            j = class_of[s]
            total[:] = class_sum[j]
            least = (base, retention, min_weight[j], prunes[j])
            points = worker_point[worker_ptr[s] : worker_ptr[s + 1]]
            t = mass[j] + _add_workers(points, values, least, total, unread)
            for g in range(values.shape[1]):
                means[d, g] += total[g] / t * drawn[s] / n_drawn


@jit
def count_cells(destination_ptr: Ints, worker_cell: Cells, counts: Ints) -> None:
    """Count the workers [zeroed D, n_cells] of every destination by cell; -1 is not counted."""
    for d in range(destination_ptr.shape[0] - 1):
        for w in range(destination_ptr[d], destination_ptr[d + 1]):
            if worker_cell[w] >= 0:
                counts[d, worker_cell[w]] += 1
