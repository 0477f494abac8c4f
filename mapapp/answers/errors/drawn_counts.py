"""Released tables of a workplace tract by size, with what noise and cleaning are expected to have changed.

Cleaning takes the expected noise out of each commute range of a workplace tract (docs/theory/method.md, section 7f),
so the total of a range is about right. Let Y be the cleaned workers of a range, F the freed workers of the tract, s the
range's share in a uniform draw of points, and kappa = 1 - F/n. Before cleaning, the range is expected to have held
kappa Y + F s workers; where large tables were read point by point, it held Y less what its points are expected to have
lost. If that is less than Y, the rest was added, to each point in proportion to its workers. If it is
more, the surplus was taken from the points with the fewest workers, the least plausible first. These are empty now, so
the surplus is taken to have been spread evenly over the empty points, but for those that are more plausible than a
point that kept a single worker. Both are chance: a point's number varies as much as a Poisson number.

Each worker who is drawn again stays in the same cell. So the tables of a cell take part in these changes as they do in
the points that were emptied: partly as they do in the noise, partly as they do in the workers who stayed. The prior
says how many of each were expected there.

If a tract has one table, it can be put back to what it is expected to have been before cleaning: `undo_cleaning`.

Source: docs/theory/method.md, section 7f.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mapapp.answers.errors.certificate_terms import CLEANED_RANGES_MI
from mapapp.answers.errors.exponential_noise import DrawnTables, ExponentialNoise
from mapapp.answers.errors.support_prior import Synthesizers, TractPrior

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

__all__ = [
    "Cleaning",
    "NoisyTables",
    "add_up_tables",
    "cleaning_of",
    "pad_arrays",
    "parts_of_sizes",
    "undo_cleaning",
]

_ROUNDS: Final = 4
"""The noise that was expected is that of the table before cleaning, so undoing it takes a few rounds."""
_TINY: Final = 1e-9


class NoisyTables(NamedTuple):
    """All tables of a workplace tract, added up by J classes of n, over K points.

    Attributes
    ----------
    workers, lost, lost_variance : float64[J, K]
        Released workers of each point, those whom it lost in any case, and the variance of the number whom it loses.
    freed, gained, gained_variance : float64[J]
        Workers who are expected to be spread over all points, those who seem to have arrived, and their variance.
    even : float64[K]
        Expected share of each point in the draw of freed workers.
    n_tables : float64[J]
        Tables of each class.
    kept_at : float64[J, len(FULLNESS)]
        Part of its workers that a point keeps that has so many.
    """

    workers: Floats
    lost: Floats
    lost_variance: Floats
    freed: Floats
    gained: Floats
    gained_variance: Floats
    even: Floats
    n_tables: Floats
    kept_at: Floats

    @property
    def kept(self) -> Floats:
        """Part of the workers of each class who are expected to stay: float64[J]."""
        part = (self.gained - self.lost.sum(axis=-1)) / np.maximum(self.workers.sum(axis=-1), 1.0)
        return np.asarray(np.clip(1.0 - part, 0.0, 1.0))


def pad_arrays(arrays: Sequence[Floats], shape: tuple[int, ...]) -> Floats:
    """Return arrays of at most this shape as one, with a further first dimension and zeros behind shorter ones."""
    together = np.zeros((len(arrays), *shape))
    for place, array in enumerate(arrays):
        filled: tuple[int | slice, ...] = (place, *(slice(n) for n in array.shape))
        together[filled] = array
    return together


def add_up_tables(tables: DrawnTables, noise: ExponentialNoise, prior: TractPrior) -> NoisyTables:
    """Add tables of about the same number of workers up, with what noise is expected to have done to them."""
    by_noise = noise.of_tables(tables, prior.n_points)
    n_shares = prior.share.size
    size = size_class(tables.n_workers)
    n_sizes = int(size.max()) + 1
    key = size[tables.table] * n_shares + tables.point

    def by_point(values: Floats | Ints) -> Floats:
        added = np.bincount(key, values, n_sizes * n_shares)
        return added.reshape(n_sizes, n_shares).astype(np.float64)

    def by_class(values: Floats) -> Floats:
        return np.bincount(size, values, n_sizes).astype(np.float64)

    return NoisyTables(
        workers=by_point(tables.workers),
        lost=by_point(by_noise.lost),
        lost_variance=by_point(by_noise.lost_variance),
        freed=by_class(by_noise.freed),
        gained=by_class(by_noise.gained),
        gained_variance=by_class(by_noise.gained_variance),
        even=prior.even,
        n_tables=np.bincount(size, minlength=n_sizes).astype(np.float64),
        kept_at=_means(by_noise.kept_at, size, n_sizes),
    )


def _means(values: Floats, size: Ints, n_sizes: int) -> Floats:
    """Return the means of the tables' values by class."""
    added = np.zeros((n_sizes, values.shape[1]))
    np.add.at(added, size, values)
    return added / np.maximum(np.bincount(size, minlength=n_sizes), 1)[:, None]


def size_class(n_workers: Floats | Ints) -> Ints:
    """Return the class of tables by their workers: 1 to 4 by themselves, then two classes for each doubling."""
    n = np.asarray(n_workers, dtype=np.float64)
    return np.where(n <= 4, n - 1, np.floor(2.0 * np.log2(np.maximum(n, 1.0))) - 1.0).astype(np.int64)


def parts_of_sizes(workers: Floats, n_sizes: Ints, synthesizers: Synthesizers) -> tuple[Floats, Floats]:
    """Return the part of each class of n that counts cover in T tracts, and the same times their part of a synthesizer.

    Parameters
    ----------
    workers : float64[T, S]
        Workers of each class of n; where a tract has fewer classes, the last are empty.
    n_sizes : int64[T]
        Classes of n of each tract.
    synthesizers : Synthesizers

    Returns
    -------
    tuple of float64[T, R or 1, S]
    """
    place, n, times, units = synthesizers
    size = np.minimum(size_class(n), n_sizes[place] - 1)
    cell, of_size = place * workers.shape[1] + size, n / np.maximum(workers[place, size], 1.0)

    def add_values(values: Floats) -> Floats:
        sums = [np.bincount(cell, terms, workers.size).reshape(workers.shape) for terms in values]
        return np.stack(sums, axis=1).astype(np.float64, copy=False)

    part = add_values(times * of_size)
    return part, part if units is None else add_values(times * (times / np.maximum(units, 1.0)) * of_size)


class Cleaning(NamedTuple):
    """Expected changes of a workplace tract.

    Attributes
    ----------
    change : float64[K]
        Workers whom a point gained or, if negative, lost.
    noise : float or float64[T, 1, 1]
        Part of those who were drawn again whom noise had put where they were.
    """

    change: Floats
    noise: float | Floats

    @classmethod
    def none(cls, n_points: int) -> Cleaning:
        """Return the changes of a release that was not cleaned."""
        return cls(np.zeros(n_points), 0.0)

    def parts_of(
        self, freed: Floats, stayed: Floats, of_tract: tuple[float | Floats, float | Floats]
    ) -> Floats:
        """Return the part of the changes that falls on tables with these numbers of workers, freed and not.

        Parameters
        ----------
        freed, stayed : float64[R, J] or float64[T, R, J]
        of_tract : tuple of float or float64[T, 1, 1]
            The same numbers for all tables of the tract.
        """
        all_freed, all_stayed = (np.maximum(total, 1e-9) for total in of_tract)
        return np.asarray(self.noise * freed / all_freed + (1.0 - self.noise) * stayed / all_stayed)


def cleaning_of(tables: NoisyTables, away_mi: Floats, share: Floats, *, by_point: bool) -> Cleaning:
    """Return the changes of a cleaned workplace tract.

    Parameters
    ----------
    tables : NoisyTables
        Of the whole tract, as released.
    away_mi, share : float64[K]
        Distance and public prior share of each support point.
    by_point : bool
        Whether large tables were read point by point, which those of cells are not.
    """
    workers, freed = tables.workers.sum(axis=0), float(tables.freed.sum())
    if by_point:
        lost = (
            (1.0 - tables.kept) @ tables.workers + tables.lost.sum(axis=0) - tables.gained.sum() * tables.even
        )
    else:
        lost = workers * (freed / max(workers.sum(), 1.0)) - freed * tables.even
    return _changes(workers, lost, freed, tables.even, away_mi, share)


def undo_cleaning(
    table: DrawnTables, noise: ExponentialNoise, prior: TractPrior
) -> tuple[DrawnTables, Cleaning]:
    """Return the one table of a tract as it is expected to have been before cleaning, and the changes.

    An empty point from which a part of a worker was taken is given back that part.
    """
    even = prior.even
    workers = np.bincount(table.point, table.workers, even.size).astype(np.float64)
    before, cleaning = table, Cleaning.none(even.size)
    for _ in range(_ROUNDS):
        tables = add_up_tables(before, noise, prior)
        freed = float(tables.freed.sum())
        again = 1.0 - tables.kept[tables.freed.argmax()]
        lost = again * workers + tables.lost.sum(axis=0) - tables.gained.sum() * even
        cleaning = _changes(workers, lost, freed, even, prior.away_mi, prior.share)
        left = np.maximum(workers - cleaning.change, 0.0)
        point = np.flatnonzero(left > _TINY)
        before = DrawnTables(0 * point, point, left[point], table.n_workers)
    return before, cleaning


def _changes(
    workers: Floats, lost: Floats, freed: float, even: Floats, away_mi: Floats, share: Floats
) -> Cleaning:
    """Return the changes of a tract with so many released workers by point.

    Parameters
    ----------
    workers, lost : float64[K]
        As released; and how many more real workers each point is expected to have had than were drawn there.
    freed : float
        Workers who were freed, whose noise was spread as `even` says.
    """
    at = np.searchsorted(CLEANED_RANGES_MI, away_mi, side="right")
    n_ranges = len(CLEANED_RANGES_MI) + 1
    stayed = workers.sum() - freed
    more = np.bincount(at, lost, n_ranges)[at]
    # Of points with one worker, the least plausible lose theirs first: those that are left were more plausible.
    single = (workers > 0) & (workers <= 1)
    least = np.full(n_ranges, np.inf)
    np.minimum.at(least, at[single], share[single])
    emptied = (workers == 0) & (share <= least[at])
    part = np.where(more > 0, workers, even * emptied)
    total = np.bincount(at, part, n_ranges)[at]
    noise, real = freed * even[more < 0].sum(), stayed * share[more < 0].sum()
    return Cleaning(more * part / np.where(total > 0, total, 1.0), float(noise / max(noise + real, 1e-9)))
