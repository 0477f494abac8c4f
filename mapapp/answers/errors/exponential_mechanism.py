"""Expected errors of counts under the exponential mechanism, which draws workers again.

Of a table of n workers over k points, R workers are redrawn. A count over points with shares s in the home area gains
E[R] s_mean workers on average (s_mean over all k points) and keeps the part 1 - E[R]/n of its own; points of large
tables are read one by one. With L_i the workers whom point i loses, its variance is

    sum of Var[L_i] (s_i - s_mean)^2  +  (variance of who arrives) (mean of s^2 - s_mean^2)

added up over the tables of a workplace tract, by classes of n. `exponential_noise` gives its terms,
`drawn_counts` what cleaning changes, and `real_counts` what follows for the error.

Approximations: of a work area's tables in a tract, only the numbers of workers are used: they are taken to be like the
tract's other tables of that size. Fuller points lose more than others, by a few percent. Domain editing enters by its
probability. Losses of different points of one table are taken to be independent, which overstates the variance.

Source: docs/theory/method.md, sections 7d and 7f; docs/theory/expected-errors.md, "Under the exponential mechanism".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mapapp.answers.errors.drawn_counts import (
    Cleaning,
    add_up_tables,
    cleaning_of,
    pad_arrays,
    parts_of_sizes,
    undo_cleaning,
)
from mapapp.answers.errors.exponential_noise import ExponentialNoise, ReleasedTables, tables_of
from mapapp.answers.errors.home_values import HomeCells, TractValues
from mapapp.answers.errors.point_sums import PLAIN, PreparedTables, points_of_counts, points_of_sums
from mapapp.answers.errors.real_counts import (
    CLASS,
    WITHIN,
    NoisyCounts,
    add_up,
    errors_of,
    expected_count,
    prior_variances,
)
from mapapp.answers.errors.redrawn_workers import FULLNESS
from mapapp.answers.errors.support_prior import SupportPriors, Synthesizers
from mapapp.base import memory_limits
from mapapp.base.result_cache import ResultCache

Floats = npt.NDArray[np.float64]

__all__ = ["ExponentialErrors", "expected_losses"]

_LOG_FULLNESS: Final = np.log(FULLNESS)


class ExponentialErrors:
    """The errors that one workplace tract adds under the exponential mechanism.

    Parameters
    ----------
    noise : ExponentialNoise
    cleans : bool
        Whether the release was cleaned.
    support : SupportPriors
    released : callable
        Returns the released commutes to a workplace tract.
    """

    def __init__(
        self, noise: ExponentialNoise, cleans: bool, support: SupportPriors, released: ReleasedTables
    ) -> None:
        self._noise = noise
        self._cleans = cleans
        self._support = support
        self._released = released
        self._made: ResultCache[PreparedTables] = ResultCache(
            max_size=memory_limits.MECHANISM_BYTES, size_of=lambda tables: tables.nbytes
        )

    def prepare(self, tract: int) -> None:
        """Read the tables of a workplace tract, which its first question would otherwise wait for."""
        self._tables(tract)

    def errors_of(self, sums: Floats, least: float) -> tuple[Floats, Floats, Floats]:
        """Return bias, variance and placement of R counts or sums from what all tracts add; none is below `least`."""
        return errors_of(sums, least, is_plain=not self._cleans)

    def of_tracts(self, asked: TractValues, *, is_count: bool) -> Floats:
        """Return what T tracts add together to R counts or sums: float64[18, R], as `real_counts.add_up` has it.

        Parameters
        ----------
        asked : TractValues
        is_count : bool
            Whether values are 1 in the home area and 0 elsewhere.
        """
        tracts = asked.tracts.tolist()
        made = [self._tables(tract) for tract in tracts]
        priors = [self._support.of_tract(tract) for tract in tracts]
        sums, of_row = asked.found, asked.of_row
        classes = _Classes.of(made)
        n_classes = np.array([tables.n_classes for tables in made])
        part, within = parts_of_sizes(classes.workers, n_classes, asked.synthesizers)
        cells = HomeCells(asked.values, int(of_row.max()) + 1, priors)
        points = (
            points_of_counts(cells, made, part, of_row) if is_count else points_of_sums(cells, made, part)
        )
        on_all, lost, on_lost = points.by_class
        of = dict(zip(PLAIN, points.plain, strict=True))
        apart = _workers_apart(asked.synthesizers, len(made))
        of_class, freed_of_class = classes.workers[:, None], classes.freed[:, None]
        total, freed_total = (by_class.sum(axis=-1, keepdims=True) for by_class in (of_class, freed_of_class))
        workers = part * of_class
        n_workers = workers.sum(axis=-1)
        read, more = _by_class(sums[0], part * on_all, workers, is_count=is_count)
        freed = part * freed_of_class
        cleaning = Cleaning(of["changed"], classes.noise[:, None, None])
        again = cleaning.parts_of(freed, workers - freed, (freed_total, total - freed_total))
        changed = again.sum(axis=-1)
        within_variance = WITHIN**2 * more**2 * of["within"]
        varied = expected_losses(
            within * lost, within, of["whole"][..., None], classes.shared[:, None], of_class
        )
        varied = varied + within * classes.gained_variance[:, None] * of["spread"][..., None]
        taken = classes.gained[:, None] * of["mean"][..., None] - on_lost
        counts = NoisyCounts(
            read=read,
            gained=part * taken + again * of["changed"][..., None],
            kept=classes.kept[:, None],
            variance=varied + again * of["change_square"][..., None],
            part=workers / np.maximum(n_workers, 1e-300)[..., None],
            usual=n_workers * of["usual"],
            **prior_variances(workers, of["off"], of["single"]),
            placed=2.0 * more * of["placed"] + within_variance,
            within=np.sqrt(within_variance),
            cut=more * of["cut"],
            dealt=2.0 * apart * _variety(sums, (of["usual"], of["usual_square"]), n_workers)
            + (CLASS * apart) ** 2 * of["shown_square"]
            + (CLASS * changed) ** 2 * of["changed_square"],
            apart=apart * np.abs(of["shown"]) + changed * of["change_size"],
            moved=more * of["moved"],
        )
        if is_count:
            full = of["usual"] ** 2 / np.maximum(of["full"], 1e-300)
            counts = counts._replace(kept=_kept_of_full_points(counts, classes, part, full))
        return np.asarray(add_up(counts, is_count=is_count).sum(axis=1))

    def _tables(self, tract: int) -> PreparedTables:
        return self._made.get_or_make(tract, lambda: self._read_tables(tract))

    def _read_tables(self, tract: int) -> PreparedTables:
        prior = self._support.of_tract(tract)
        drawn = tables_of(self._released(tract), self._noise.unit, prior)
        cleaning = Cleaning.none(prior.share.size)
        if self._cleans and self._noise.unit == "tract":
            drawn, cleaning = undo_cleaning(drawn, self._noise, prior)
        tables = add_up_tables(drawn, self._noise, prior)
        if self._cleans and self._noise.unit != "tract":
            by_point = self._noise.unit != "cell"
            cleaning = cleaning_of(tables, prior.away_mi, prior.share, by_point=by_point)
        return PreparedTables.of(tables, cleaning, prior)


class _Classes(NamedTuple):
    """The J classes of T tracts, as in `PreparedTables.by_class`; where a tract has fewer, the last are empty."""

    workers: Floats
    lost: Floats
    lost_variance: Floats
    freed: Floats
    gained: Floats
    gained_variance: Floats
    n_tables: Floats
    kept_at: Floats
    noise: Floats

    @classmethod
    def of(cls, made: Sequence[PreparedTables]) -> _Classes:
        """Return the classes of some tracts."""
        n_classes = max(tables.by_class.shape[1] for tables in made)
        rows = pad_arrays([tables.by_class for tables in made], (len(made[0].by_class), n_classes))
        kept_at = [tables.kept_at for tables in made]
        workers, lost, lost_variance, freed, gained, gained_variance, n_tables = rows.swapaxes(0, 1)
        return cls(
            workers=workers,
            lost=lost,
            lost_variance=lost_variance,
            freed=freed,
            gained=gained,
            gained_variance=gained_variance,
            n_tables=n_tables,
            kept_at=pad_arrays(kept_at, (n_classes, kept_at[0].shape[1])),
            noise=np.array([tables.noise for tables in made]),
        )

    @property
    def kept(self) -> Floats:
        """Part of the workers of each class who are expected to stay: float64[T, J]."""
        return np.clip(1.0 - (self.gained - self.lost) / np.maximum(self.workers, 1.0), 0.0, 1.0)

    @property
    def shared(self) -> Floats:
        """The same, but 1 in classes whose points are read one by one."""
        return np.where(self.lost != 0.0, 1.0, self.kept)


def _by_class(read: Floats, usual: Floats, workers: Floats, *, is_count: bool) -> tuple[Floats, Floats]:
    """Return what R counts or sums read by class of tables, and how many times as many workers points hold of them.

    Tables of a class are taken to be like the tract's other tables of the class.

    Parameters
    ----------
    read : float64[T, R]
    usual : float64[T, R, J]
        What all tables of a class read, by the part of the class.
    workers : float64[T, R, J]
        Workers of each class, by its part.
    """
    alike = usual.sum(axis=-1)
    if not is_count:
        share = workers / np.maximum(workers.sum(axis=-1), 1e-300)[..., None]
        return usual + (read - alike)[..., None] * share, np.ones_like(read)
    usual = np.where(alike[..., None] > 0, usual, workers)
    total = usual.sum(axis=-1)
    # A count may hold more of the workers of the points that its home area cuts than others do.
    more = np.maximum(read / np.where(alike > 0, alike, np.inf), 1.0)
    return usual * (read / np.where(total > 0, total, np.inf))[..., None], more


def expected_losses(lost: Floats, part: Floats, whole: Floats, kept: Floats, workers: Floats) -> Floats:
    """Return the variance of the number of lost workers in each class, by what all classes show: float64[R, J].

    Of X workers in a class that keeps the part kappa, the number who stay has about the variance kappa (1 - kappa) X. A
    class that shows nobody would seem to have lost nobody and to be exact, and would outweigh those that show some. So
    classes share what they show together, and half a worker more, in proportion to kappa (1 - kappa) and their workers.
    Classes whose points are read one by one keep their own.

    Parameters
    ----------
    lost, part : float64[R, J]
        The variance by class, and the part of its workers.
    whole : float64[R, 1]
        The variance that one worker adds who is lost or not.
    kept, workers : float64[1, J]
        Kappa, 1 for classes whose points are read one by one; and the workers of each class.
    """
    weight = part * (kept * (1.0 - kept) * workers)
    total = weight.sum(axis=-1, keepdims=True)
    stays = (weight * kept).sum(axis=-1, keepdims=True) / np.where(total > 0, total, 1.0)
    shared = np.where(weight > 0, lost, 0.0).sum(axis=-1, keepdims=True) + 0.5 * (1.0 - stays) * whole
    return np.where(weight > 0, shared * weight / np.where(total > 0, total, 1.0), lost)


def _kept_of_full_points(counts: NoisyCounts, classes: _Classes, part: Floats, points: Floats) -> Floats:
    """Return the part of a count's workers who stay, in points as full as those of the count are: float64[T, R, J].

    Where most workers are redrawn, full points keep a smaller part of theirs than others; where few are, a larger one.
    A worker of a table of n who lives in the count's area finds each of the n - 1 others in the same point with the
    chance p that is expected of them.

    Parameters
    ----------
    counts : NoisyCounts
        With the part that stays of all workers.
    classes : _Classes
    part : float64[T, R, J]
        Part of each class.
    points : float64[T, R]
        Number of equally likely points that would be as far spread as those of each count.
    """
    size = classes.workers / np.maximum(classes.n_tables, 1.0)
    workers = (part * classes.workers[:, None]).sum(axis=-1)
    chance = np.clip(expected_count(counts) / np.maximum(workers * points, 1e-300), 0.0, 1.0)
    full = np.log(1.0 + chance[..., None] * np.maximum(size - 1.0, 0.0)[:, None])
    at = np.clip(np.searchsorted(_LOG_FULLNESS, full, side="right") - 1, 0, _LOG_FULLNESS.size - 2)
    first = (np.arange(size.size) * _LOG_FULLNESS.size).reshape(size.shape)[:, None] + at
    steps = np.minimum((full - _LOG_FULLNESS[at]) / np.diff(_LOG_FULLNESS)[at], 1.0)
    listed = classes.kept_at.reshape(-1)
    kept = listed[first] + steps * (listed[first + 1] - listed[first])
    return np.where(part > 0, kept, classes.kept[:, None])


def _workers_apart(synthesizers: Synthesizers, n_tracts: int) -> Floats:
    """Return the workers of units that counts cover in part, each by the part of its unit that is left out.

    They were dealt out of their unit, and the real workers of a part of a unit are a sample as well, so both the count
    and what it estimates vary. And the real ones may have other homes than the rest of the unit.
    """
    place, n, times, units = synthesizers
    if units is None:
        return np.zeros((n_tracts, len(times)))
    rest = np.clip(1.0 - times / np.maximum(units, 1.0), 0.0, 1.0)
    sums = [np.bincount(place, terms, n_tracts) for terms in times * rest * n]
    return np.stack(sums, axis=1).astype(np.float64, copy=False)


def _variety(sums: tuple[Floats, Floats], usual: tuple[Floats, Floats], workers: Floats) -> Floats:
    """Return the variance of a worker's value; one more worker, as usual, keeps it above 0."""
    mean, square = (
        (total + usual_value) / (workers + 1.0) for total, usual_value in zip(sums, usual, strict=True)
    )
    return np.maximum(square - mean**2, 0.0)
