"""Sums over the support points of some workplace tracts, of which the errors of counts from released tables are made.

Of a tract, its columns are multiplied by the values of all counts or sums at once; everything else is done for all
tracts together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mapapp.answers.errors.drawn_counts import Cleaning, NoisyTables, pad_arrays
from mapapp.answers.errors.home_values import HomeCells
from mapapp.answers.errors.real_counts import STRAY
from mapapp.answers.errors.support_prior import WHOLE, TractPrior

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

__all__ = ["PLAIN", "PointSums", "PreparedTables", "points_of_counts", "points_of_sums"]

_ROUNDING: Final = 1e-13
"""A sum is 0 if it is smaller than this part of its terms."""
_LINEAR: Final = 3
_SQUARED: Final = 6
"""Columns that are not by class."""


class PreparedTables(NamedTuple):
    """What released tables of a workplace tract say of its K support points, ready for any home area.

    Attributes
    ----------
    place : uint32[nonzero]
        Positions in `columns`, row by row, where these are not 0: most are, since few points hold workers of a class.
    value : float64[nonzero]
    n_points : int
        Number K of points.
    by_class : float64[7, J]
        Sums over points: workers, lost workers, and variance of these; freed and gained workers, and variance of
        these; and the number of tables.
    kept_at : float64[J, len(FULLNESS)]
    noise : float
        Of `Cleaning`.
    squares : float64[K]
        Of `TractPrior`.
    """

    place: npt.NDArray[np.uint32]
    value: Floats
    n_points: int
    by_class: Floats
    kept_at: Floats
    noise: float
    squares: Floats

    @classmethod
    def of(cls, tables: NoisyTables, cleaning: Cleaning, prior: TractPrior) -> PreparedTables:
        """Prepare the tables of a tract."""
        sums = [array.sum(axis=1) for array in (tables.workers, tables.lost, tables.lost_variance)]
        by_class = np.stack([*sums, tables.freed, tables.gained, tables.gained_variance, tables.n_tables])
        columns = _columns(tables, cleaning.change, prior.share).reshape(-1)
        place = np.flatnonzero(columns)
        noise = float(np.max(cleaning.noise))
        n_points = prior.share.size
        return cls(
            place.astype(np.uint32), columns[place], n_points, by_class, tables.kept_at, noise, prior.squares
        )

    @property
    def nbytes(self) -> int:
        """Size of the largest parts."""
        return self.place.nbytes + self.value.nbytes

    @property
    def columns(self) -> Floats:
        """What the values of counts are multiplied by: float64[K, 3J + 9], made anew each time.

        Workers and lost workers by class, prior share, change by cleaning, and share of all released workers; then, for
        squares too, the variance of lost workers by class, the share in the draw of freed workers, and absolute or
        squared values of others (:func:`_columns`).
        """
        columns = np.zeros((self.n_points, 3 * self.n_classes + _LINEAR + _SQUARED))
        columns.reshape(-1)[self.place] = self.value
        return columns

    @property
    def n_classes(self) -> int:
        """Number J of classes."""
        return int(self.by_class.shape[1])

    @property
    def n_linear(self) -> int:
        """Where the columns begin that are for squares, too."""
        return 2 * self.n_classes + _LINEAR


def _columns(tables: NoisyTables, change: Floats, share: Floats) -> Floats:
    """Return the columns of :class:`PreparedTables`."""
    shown = tables.workers.sum(axis=0) / max(float(tables.workers.sum()), 1.0)
    wide = (1.0 - STRAY) * share + STRAY * tables.even
    linear = [*tables.workers, *tables.lost, share, change, shown]
    squared = [*tables.lost_variance, tables.even, np.abs(change), shown**2, change**2, wide**2, share**2]
    return np.stack([*linear, *squared], axis=1)


class PointSums(NamedTuple):
    """Sums over the support points of T tracts for R counts or sums with the mean values s.

    Attributes
    ----------
    by_class : float64[3, T, R, J]
        Sums of s times workers, of (s - mean)^2 times the variance of lost workers, and of s times lost workers.
    plain : float64[len(PLAIN), T, R]
        By the names in `PLAIN`.
    """

    by_class: Floats
    plain: Floats


PLAIN: Final = (
    "mean",  # in the draw of freed workers
    "spread",
    "whole",
    "usual",  # sum of s times the prior's share
    "usual_square",
    "changed",
    "change_size",
    "change_square",
    "shown",
    "shown_square",
    "changed_square",
    "off",
    "single",
    "full",
    "within",
    "placed",
    "cut",
    "moved",
)


class _Products(NamedTuple):
    """Sums over points of values times the columns of :class:`PreparedTables`, of T tracts.

    Attributes
    ----------
    workers, lost : float64[T, R, J]
    linear : float64[T, R, 3]
        Prior share, change, and share of all released workers.
    variance : float64[T, R, J]
        Of lost workers.
    squared : float64[T, R, 6]
        The other columns that are for squares, too.
    """

    workers: Floats
    lost: Floats
    linear: Floats
    variance: Floats
    squared: Floats

    @classmethod
    def empty(cls, n_tracts: int, n_rows: int, n_classes: int) -> _Products:
        """Return products that are all 0."""
        sizes = (n_classes, n_classes, _LINEAR, n_classes, _SQUARED)
        return cls(*(np.zeros((n_tracts, n_rows, size)) for size in sizes))

    def put(self, place: int, products: Floats, n_classes: int) -> None:
        """Store the products of one tract, with all columns or with those alone that are for squares."""
        left = products
        if products.shape[1] > n_classes + _SQUARED:
            self.workers[place, :, :n_classes] = products[:, :n_classes]
            self.lost[place, :, :n_classes] = products[:, n_classes : 2 * n_classes]
            self.linear[place] = products[:, 2 * n_classes : 2 * n_classes + _LINEAR]
            left = products[:, 2 * n_classes + _LINEAR :]
        self.variance[place, :, :n_classes] = left[:, :n_classes]
        self.squared[place] = left[:, n_classes:]


def points_of_counts(
    cells: HomeCells, made: Sequence[PreparedTables], part: Floats, of_row: Ints
) -> PointSums:
    """Add up over points for counts, whose s is 0 or 1 except in the few points that a home area cuts.

    So a square of s differs from s itself only there, and sums of both come from products with the same columns.

    Parameters
    ----------
    cells : HomeCells
    made : sequence of PreparedTables
        Of the T tracts.
    part : float64[T, R or 1, J]
        The part of each class that a count covers.
    of_row : int64[R]
        The home area of each count.
    """
    s = cells.by_people(cells.values.mean)
    at = np.flatnonzero((s > WHOLE) & (s < 1.0 - WHOLE))
    c = s.reshape(-1)[at]
    less = np.zeros_like(s)
    less.reshape(-1)[at] = c**2 - c
    is_cut = np.isin(np.arange(len(made)), at // (s.shape[1] * s.shape[2])).tolist()
    on, corrected = (_Products.empty(s.shape[0], s.shape[1], part.shape[2]) for _ in range(2))
    class_workers = np.zeros((len(made), part.shape[1], s.shape[2]))
    for place, tables in enumerate(made):
        columns, n_points, n_classes = tables.columns, tables.n_points, tables.n_classes
        on.put(place, s[place, :, :n_points] @ columns, n_classes)
        if is_cut[place]:
            squared = less[place, :, :n_points] @ columns[:, tables.n_linear :]
            corrected.put(place, squared, n_classes)
            workers = columns[:, :n_classes]
            class_workers[place, :, :n_points] = part[place, :, :n_classes] @ workers.T
    mean, usual = on.squared[..., 0], on.linear[..., 0]
    square, variance = on.squared + corrected.squared, on.variance + corrected.variance
    even_square, _, shown_square, changed_square, off, full = np.moveaxis(square, -1, 0)
    plain = [
        mean,
        even_square - mean**2,
        (1.0 - mean) ** 2,
        usual,
        usual,
        on.linear[..., 1],
        on.squared[..., 1],
        square[..., 1],
        on.linear[..., 2],
        shown_square,
        changed_square,
        off,
        (1.0 - STRAY) * usual + STRAY * mean,
        full,
    ]
    lost = _off_mean(variance, on.variance, mean, made)
    of_cut = _in_cut_points(cells, made, (at, c), class_workers, of_row)
    by_class, of_areas = np.stack([on.workers, lost, on.lost]), np.stack(plain)
    return PointSums(by_class[:, :, of_row], np.concatenate([of_areas[:, :, of_row], of_cut]))


def _in_cut_points(
    cells: HomeCells,
    made: Sequence[PreparedTables],
    cut: tuple[Ints, Floats],
    class_workers: Floats,
    of_row: Ints,
) -> Floats:
    """Return sums over the points that home areas cut, within, placed, cut, and moved of `PLAIN`: float64[4, T, R].

    Parameters
    ----------
    cut : tuple of int64[cells], float64[cells]
        Their positions in float64[T, U, K], and the share of the home area in each.
    class_workers : float64[T, R or 1, K]
        Workers of the count's classes in each point.
    of_row : int64[R]
    """
    at, c = cut
    n_tracts, n_areas, n_points = cells.shape
    n_cells = n_tracts * of_row.size
    if not at.size:
        return np.zeros((4, n_tracts, of_row.size))
    g, first = cells.in_some(at)
    squares = pad_arrays([tables.squares for tables in made], (n_points,))
    place, area_point = np.divmod(at, n_areas * n_points)
    area, point = np.divmod(area_point, n_points)
    within = np.maximum(first * (1.0 - 2.0 * c) + c**2 * squares[place, point], 0.0)
    # A cell is in all counts of its home area.
    times = np.bincount(of_row, minlength=n_areas)
    cell = np.repeat(np.arange(at.size), times[area])
    number = np.arange(cell.size) - np.repeat(np.cumsum(times[area]) - times[area], times[area])
    row = np.argsort(of_row, kind="stable")[(np.cumsum(times) - times)[area[cell]] + number]
    workers = class_workers[place[cell], row if class_workers.shape[1] > 1 else 0, point[cell]]
    of_cells = within, np.maximum(c - c**2, 0.0), np.ones_like(c), c - g
    weights = workers**2, workers, workers, workers
    terms = [weight * of_cell[cell] for weight, of_cell in zip(weights, of_cells, strict=True)]
    count = place[cell] * of_row.size + row
    sums = np.stack([np.bincount(count, term, n_cells) for term in terms])
    return sums.reshape(4, n_tracts, of_row.size).astype(np.float64, copy=False)


def _off_mean(square: Floats, plain: Floats, mean: Floats, made: Sequence[PreparedTables]) -> Floats:
    """Return sums of (s - mean)^2 times the variance of lost workers, from those of s^2 and of s: float64[T, R, J]."""
    variance = np.zeros((len(made), 1, square.shape[2]))
    for place, tables in enumerate(made):
        variance[place, 0, : tables.n_classes] = tables.by_class[2]
    middle = mean[..., None]
    terms = square, 2.0 * middle * plain, middle**2 * variance
    sums = terms[0] - terms[1] + terms[2]
    sums[np.abs(sums) <= _ROUNDING * (np.abs(terms[0]) + np.abs(terms[1]) + terms[2])] = 0.0
    return np.asarray(sums)


def points_of_sums(cells: HomeCells, made: Sequence[PreparedTables], part: Floats) -> PointSums:
    """Add up over points for sums of any values; arguments as for :func:`points_of_counts`."""
    s, second = (cells.by_people(values) for values in (cells.values.mean, cells.values.square))
    first, first_square = (cells.by_squares(values) for values in (cells.values.mean, cells.values.square))
    g = cells.by_gravity()
    on, of_square, off, of_second, of_size = (
        _Products.empty(s.shape[0], s.shape[1], part.shape[2]) for _ in range(5)
    )
    in_points = np.zeros((4, *s.shape[:2]))
    mean = np.zeros(s.shape[:2])
    n_rows = s.shape[1]
    for place, tables in enumerate(made):
        columns, n_points, n_classes = tables.columns, tables.n_points, tables.n_classes
        of = s[place, :, :n_points]
        mean[place] = of @ columns[:, tables.n_linear + n_classes]
        seconds = second[place, :, :n_points]
        rows = np.concatenate([of, of**2, (of - mean[place][:, None]) ** 2, seconds, np.abs(of)])
        sums = rows @ columns
        for number, products in enumerate((on, of_square, off, of_second, of_size)):
            products.put(place, sums[number * n_rows : (number + 1) * n_rows], n_classes)
        class_workers = part[place, :, :n_classes] @ columns[:, :n_classes].T
        squares = first_square[place, :, :n_points] - 2.0 * of * first[place, :, :n_points]
        within = np.maximum(squares + of**2 * tables.squares, 0.0)
        in_points[0, place] = (class_workers**2 * within).sum(axis=1)
        in_points[1, place] = (class_workers * np.maximum(seconds - of**2, 0.0)).sum(axis=1)
        in_points[3, place] = (class_workers * (of - g[place, :, :n_points])).sum(axis=1)
    even_square, change_square, shown_square, changed_square, off_square, full = np.moveaxis(
        of_square.squared, -1, 0
    )
    plain = [
        mean,
        even_square - mean**2,
        off.linear[..., 0],
        on.linear[..., 0],
        of_second.linear[..., 0],
        on.linear[..., 1],
        of_size.squared[..., 1],
        change_square,
        on.linear[..., 2],
        shown_square,
        changed_square,
        off_square,
        (1.0 - STRAY) * of_second.linear[..., 0] + STRAY * of_second.squared[..., 0],
        full,
        *in_points,
    ]
    return PointSums(np.stack([on.workers, off.variance, on.lost]), np.stack(plain))
