"""Expected errors of counts under mechanisms that draw workers again.

Of a table of n workers over k points, R workers are redrawn. A count over points with shares s in the home area gains
E[R] s_mean workers on average (s_mean over all k points) and keeps the part 1 - E[R]/n of its own; points of large
tables are read one by one (`mapapp.answers.point_estimates`). With L_i the workers
whom point i loses, its variance is

    sum of Var[L_i] (s_i - s_mean)^2  +  (variance of who arrives) (mean of s^2 - s_mean^2)

added up over the tables of a workplace tract, by classes of n. `mapapp.answers.table_noise` gives the terms of a
mechanism, `mapapp.answers.cleaned` what cleaning changes, and `mapapp.answers.real_counts` what follows for the error.

Approximations: of a work area's tables in a tract, only the numbers of workers are used: they are taken to be like the
tract's other tables of that size. Fuller points lose more than others, by a few percent. Domain editing enters by its
probability. Losses of different points of one table are taken to be independent, which overstates the variance.

Source: docs/method.md, sections 7b and 7d to 7f; docs/validity.md, "Under mechanisms that redraw workers".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mapapp.answers.cleaned import Cleaning, cleaning_of, undo_cleaning
from mapapp.answers.noisy_tables import (
    Noise,
    NoisyTables,
    ReleasedTables,
    add_up_tables,
    padded,
    parts_of_classes,
    tables_of,
    together,
)
from mapapp.answers.real_counts import (
    CLASS,
    WITHIN,
    NoisyCounts,
    add_up,
    errors_of,
    expected_count,
    in_one_class,
    prior_variances,
    times_points,
)
from mapapp.answers.redrawn import FULLNESS
from mapapp.answers.support_prior import WHOLE, SupportPriors, Synthesizers, TractPrior, TractValues

Floats = npt.NDArray[np.float64]

__all__ = ["TableErrors", "expected_losses"]

_TOGETHER: Final = 128
"""Counts times tracts that are read together: more arrays at once would no longer fit into a processor's cache."""
_LOG_FULLNESS: Final = np.log(FULLNESS)


class _AtPoints(NamedTuple):
    """Values of R counts or sums at the K support points of T tracts.

    Attributes
    ----------
    mean, by_gravity, square, within : float64[T, R, K]
        Mean by people and by gravity mass, mean square, and what :meth:`TractPrior.within` returns.
    share : float64[T, K]
        Public prior share of each point.
    """

    mean: Floats
    by_gravity: Floats
    square: Floats
    within: Floats
    share: Floats


class TableErrors:
    """The errors that one workplace tract adds under a mechanism that redraws workers uniformly.

    Parameters
    ----------
    noise : Noise
    cleans : bool
        Whether the release was cleaned.
    support : SupportPriors
    released : callable
        Returns the released commutes to a workplace tract.
    """

    def __init__(self, noise: Noise, cleans: bool, support: SupportPriors, released: ReleasedTables) -> None:
        self._noise = noise
        self._cleans = cleans
        self._support = support
        self._released = released
        self._made: dict[int, tuple[NoisyTables, Cleaning]] = {}

    def of_tracts(self, asked: Iterable[TractValues], *, is_count: bool) -> Floats:
        """Return what tracts add to R counts or sums; see `mapapp.answers.error_models.ErrorModel`."""
        found: list[Floats] = []
        waiting: list[TractValues] = []
        for each in asked:
            waiting.append(each)
            if len(waiting) * each.found[0].size >= _TOGETHER:
                found.append(self._of_several(waiting, is_count=is_count))
                waiting = []
        if waiting:
            found.append(self._of_several(waiting, is_count=is_count))
        return np.asarray(np.sum(found, axis=0))

    def errors_of(self, sums: Floats, least: float) -> tuple[Floats, Floats, Floats]:
        """Return bias, variance and placement from sums over tracts."""
        return errors_of(sums, least, is_plain=not self._cleans)

    def _of_several(self, asked: Sequence[TractValues], *, is_count: bool) -> Floats:
        """Return what T tracts add together: one operation on arrays of all costs much less than one for each."""
        priors = [self._support.of_tract(each.tract) for each in asked]
        made = [self._tables(each.tract) for each in asked]
        tables = together([each for each, _ in made])
        n_classes, n_points = tables.workers.shape[1:]
        points = _at_points(asked, priors, n_points, is_count=is_count)
        s, g, second, share = points.mean, points.by_gravity, points.square, points.share
        classes = [
            parts_of_classes(each.workers, each.n_sizes, one.synthesizers)
            for one, (each, _) in zip(asked, made, strict=True)
        ]
        n_parts = len(classes[0][0])
        part, within = (padded([each[at] for each in classes], (n_parts, n_classes)) for at in (0, 1))
        found = np.stack([one.found[0] for one in asked]), np.stack([one.found[1] for one in asked])
        apart = np.stack([_apart(one.synthesizers) for one in asked])
        change = padded([each.change for _, each in made], (n_points,))
        cleaning = Cleaning(change, np.array([each.noise for _, each in made])[:, None, None])
        of_class, freed_of_class = tables.workers.sum(axis=-1)[:, None], tables.freed[:, None]
        total, freed_total = (each.sum(axis=-1, keepdims=True) for each in (of_class, freed_of_class))
        workers = part * of_class
        read, mine = _by_class(found[0], part, tables.workers, s, is_count)
        freed = part * freed_of_class
        mean = times_points(s, tables.even)[..., None]
        lost = (s - mean) ** 2 @ tables.lost_variance.swapaxes(1, 2)
        spread = times_points(s**2, tables.even) - mean[..., 0] ** 2
        again = cleaning.parts_of(freed, workers - freed, (freed_total, total - freed_total))
        changed = again.sum(axis=-1)
        shown = tables.workers.sum(axis=1) / np.maximum(total[:, 0], 1.0)
        within_variance = WITHIN**2 * (mine**2 * points.within).sum(axis=-1)
        whole = (1.0 - mean) ** 2 if is_count else times_points((s - mean) ** 2, share)[..., None]
        varied = expected_losses(within * lost, within, whole, tables)
        varied = varied + within * tables.gained_variance[:, None] * spread[..., None]
        taken = tables.gained[:, None] * mean - s @ tables.lost.swapaxes(1, 2)
        usual = times_points(s, share)
        counts = NoisyCounts(
            read=read,
            gained=part * taken + again * times_points(s, change)[..., None],
            kept=tables.kept[:, None],
            variance=varied + again * times_points(s**2, np.abs(change))[..., None],
            part=workers / np.maximum(workers.sum(axis=-1), 1e-300)[..., None],
            usual=workers.sum(axis=-1) * usual,
            **prior_variances(workers, s, second, share, tables.even),
            placed=2.0 * (mine * np.maximum(second - s**2, 0.0)).sum(axis=-1) + within_variance,
            within=np.sqrt(within_variance),
            cut=(mine * ((s > WHOLE) & (s < 1.0 - WHOLE))).sum(axis=-1) * is_count,
            dealt=2.0 * apart * _variety(found, (usual, times_points(second, share)), workers.sum(axis=-1))
            + (CLASS * apart) ** 2 * times_points(s**2, shown**2)
            + (CLASS * changed) ** 2 * times_points(s**2, change**2),
            apart=apart * np.abs(times_points(s, shown)) + changed * times_points(np.abs(s), np.abs(change)),
            moved=(mine * (s - g)).sum(axis=-1),
        )
        if self._noise.is_alike:
            counts = in_one_class(counts)
        elif is_count and tables.kept_at is not None:
            kept = _kept_of_full_points(counts, tables, part, s * share[:, None])
            counts = counts._replace(kept=kept)
        return np.asarray(add_up(counts, is_count=is_count).sum(axis=1))

    def _tables(self, tract: int) -> tuple[NoisyTables, Cleaning]:
        if tract not in self._made:
            prior = self._support.of_tract(tract)
            drawn = tables_of(self._released(tract), self._noise.unit, prior)
            cleaning = Cleaning.none(prior.share.size)
            if self._cleans and self._noise.unit == "tract":
                drawn, cleaning = undo_cleaning(drawn, self._noise, prior)
            tables = add_up_tables(drawn, self._noise, prior)
            if self._cleans and self._noise.unit != "tract":
                by_point = self._noise.unit != "cell"
                cleaning = cleaning_of(tables, prior.away_mi, prior.share, by_point=by_point)
            self._made[tract] = tables, cleaning
        return self._made[tract]


def _at_points(
    asked: Sequence[TractValues], priors: Sequence[TractPrior], n_points: int, *, is_count: bool
) -> _AtPoints:
    """Return the values of T tracts at their support points; those of tracts with fewer points end in zeros."""
    means, gravity, squares, within = [], [], [], []
    for (_, values, _, _), prior in zip(asked, priors, strict=True):
        s, g = prior.of_points(values[0], prior.people, prior.gravity)
        means.append(s)
        gravity.append(g)
        squares.extend([] if is_count else prior.of_points(values[1], prior.people))
        within.append(prior.within(values, s))
    both = (len(means[0]), n_points)
    mean = padded(means, both)
    square = mean if is_count else padded(squares, both)
    share = padded([each.share for each in priors], (n_points,))
    return _AtPoints(mean, padded(gravity, both), square, padded(within, both), share)


def _by_class(
    read: Floats, part: Floats, workers: Floats, s: Floats, is_count: bool
) -> tuple[Floats, Floats]:
    """Return what R counts or sums read by class of tables, float64[T, R, J], and by point, float64[T, R, K].

    Tables of a class are taken to be like the tract's other tables of the class.
    """
    usual = part * (s @ workers.swapaxes(1, 2))
    mine = part @ workers
    alike = usual.sum(axis=-1)
    of_class = part * workers.sum(axis=-1)[:, None]
    if not is_count:
        share = of_class / np.maximum(of_class.sum(axis=-1), 1e-300)[..., None]
        return usual + (read - alike)[..., None] * share, mine
    usual = np.where(alike[..., None] > 0, usual, of_class)
    total = usual.sum(axis=-1)
    # A count may hold more of the workers of the points that its home area cuts than others do.
    more = np.maximum(read / np.where(alike > 0, alike, np.inf), 1.0)
    return usual * (read / np.where(total > 0, total, np.inf))[..., None], mine * more[..., None]


def expected_losses(lost: Floats, part: Floats, whole: Floats, tables: NoisyTables) -> Floats:
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
    tables : NoisyTables
    """
    kept = np.where((tables.lost != 0.0).any(axis=-1), 1.0, tables.kept)[..., None, :]
    weight = part * (kept * (1.0 - kept) * tables.workers.sum(axis=-1)[..., None, :])
    total = weight.sum(axis=-1, keepdims=True)
    stays = (weight * kept).sum(axis=-1, keepdims=True) / np.where(total > 0, total, 1.0)
    shared = np.where(weight > 0, lost, 0.0).sum(axis=-1, keepdims=True) + 0.5 * (1.0 - stays) * whole
    return np.where(weight > 0, shared * weight / np.where(total > 0, total, 1.0), lost)


def _kept_of_full_points(counts: NoisyCounts, tables: NoisyTables, part: Floats, share: Floats) -> Floats:
    """Return the part of a count's workers who stay, in points as full as those of the count are: float64[R, J].

    Where most workers are redrawn, full points keep a smaller part of theirs than others; where few are, a larger one.
    A worker of a table of n who lives in the count's area finds each of the n - 1 others in the same point with the
    chance p that is expected of them.

    Parameters
    ----------
    counts : NoisyCounts
        With the part that stays of all workers.
    tables : NoisyTables
    part : float64[R, J]
        Part of each class.
    share : float64[R, K]
        How likely the points of each count are.
    """
    assert tables.kept_at is not None
    assert tables.n_tables is not None
    points = share.sum(axis=-1) ** 2 / np.maximum((share**2).sum(axis=-1), 1e-300)
    of_class = tables.workers.sum(axis=-1)
    size = of_class / np.maximum(tables.n_tables, 1.0)
    workers = (part * of_class[:, None]).sum(axis=-1)
    chance = np.clip(expected_count(counts) / np.maximum(workers * points, 1e-300), 0.0, 1.0)
    full = np.log(1.0 + chance[..., None] * np.maximum(size - 1.0, 0.0)[:, None])
    at = np.clip(np.searchsorted(_LOG_FULLNESS, full, side="right") - 1, 0, _LOG_FULLNESS.size - 2)
    first = (np.arange(size.size) * _LOG_FULLNESS.size).reshape(size.shape)[:, None] + at
    steps = np.minimum((full - _LOG_FULLNESS[at]) / np.diff(_LOG_FULLNESS)[at], 1.0)
    listed = tables.kept_at.reshape(-1)
    kept = listed[first] + steps * (listed[first + 1] - listed[first])
    return np.where(part > 0, kept, tables.kept[:, None])


def _apart(synthesizers: Synthesizers) -> Floats:
    """Return the workers of units that counts cover in part, each by the part of its unit that is left out.

    They were dealt out of their unit, and the real workers of a part of a unit are a sample as well, so both the count
    and what it estimates vary. And the real ones may have other homes than the rest of the unit.
    """
    n, times, units = synthesizers
    if units is None:
        return np.zeros(len(times))
    rest = np.clip(1.0 - times / np.maximum(units, 1.0), 0.0, 1.0)
    return np.asarray((times * rest) @ n)


def _variety(found: tuple[Floats, Floats], usual: tuple[Floats, Floats], workers: Floats) -> Floats:
    """Return the variance of a worker's value; one more worker, as usual, keeps it above 0."""
    mean, square = ((total + one) / (workers + 1.0) for total, one in zip(found, usual, strict=True))
    return np.maximum(square - mean**2, 0.0)
