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
)
from mapapp.answers.real_counts import (
    CLASS,
    STRAY,
    WITHIN,
    NoisyCounts,
    add_up,
    errors_of,
    expected_count,
    in_one_class,
    prior_variances,
)
from mapapp.answers.redrawn import FULLNESS
from mapapp.answers.result_cache import ResultCache
from mapapp.answers.support_prior import (
    WHOLE,
    HomeShares,
    SupportPriors,
    Synthesizers,
    TractPrior,
    TractValues,
)

Floats = npt.NDArray[np.float64]

__all__ = ["TableErrors", "expected_losses"]

_TOGETHER: Final = 2048
"""Counts times tracts that are read together: more arrays at once would no longer fit into a processor's cache."""
_KEPT_BYTES: Final = 256 << 20
"""Most bytes of prepared tracts; the least recently used are read again."""
_ROUNDING: Final = 1e-13
"""A sum is 0 if it is smaller than this part of its terms."""
_LOG_FULLNESS: Final = np.log(FULLNESS)


class _Prepared(NamedTuple):
    """What released tables of a workplace tract say of its K support points, ready for any home area.

    Attributes
    ----------
    columns : float64[K, 3J + 9]
        What the shares of home areas are multiplied by: workers and lost workers by class, prior share, change by
        cleaning, and share of all released workers; then, for squares too, the variance of lost workers by class, the
        share in the draw of freed workers, and absolute or squared values of others (:func:`_columns`).
    n_sizes : int
        Classes of n.
    by_class : float64[7, J]
        Sums over points: workers, lost workers, and variance of these; freed and gained workers, and variance of
        these; and the number of tables.
    kept_at : float64[J, len(FULLNESS)] or None
    noise : float
        Of `Cleaning`.
    """

    columns: Floats
    n_sizes: int
    by_class: Floats
    kept_at: Floats | None
    noise: float

    @classmethod
    def of(cls, tables: NoisyTables, cleaning: Cleaning, share: Floats) -> _Prepared:
        """Prepare the tables of a tract; `share` is the public prior share of each point."""
        n_tables = np.zeros(len(tables.workers))
        if tables.n_tables is not None:  # hidden points have classes, but no tables, of their own
            n_tables[: tables.n_tables.size] = tables.n_tables
        sums = [each.sum(axis=1) for each in (tables.workers, tables.lost, tables.lost_variance)]
        by_class = np.stack([*sums, tables.freed, tables.gained, tables.gained_variance, n_tables])
        columns = _columns(tables, cleaning.change, share)
        return cls(columns, tables.n_sizes, by_class, tables.kept_at, float(np.max(cleaning.noise)))

    @property
    def workers(self) -> Floats:
        """Released workers of each class and point: float64[J, K]."""
        return self.columns[:, : self.by_class.shape[1]].T


def _columns(tables: NoisyTables, change: Floats, share: Floats) -> Floats:
    """Return the columns of :class:`_Prepared`."""
    shown = tables.workers.sum(axis=0) / max(float(tables.workers.sum()), 1.0)
    wide = (1.0 - STRAY) * share + STRAY * tables.even
    linear = [*tables.workers, *tables.lost, share, change, shown]
    squared = [*tables.lost_variance, tables.even, np.abs(change), shown**2, change**2, wide**2, share**2]
    return np.stack([*linear, *squared], axis=1)


class _AtPoints(NamedTuple):
    """Sums over the support points of a tract for R counts or sums with the mean values s.

    Attributes
    ----------
    by_class : float64[3, R, J]
        Sums of s times workers, of (s - mean)^2 times the variance of lost workers, and of s times lost workers.
    plain : float64[len(_PLAIN), R]
        By the names in `_PLAIN`.
    """

    by_class: Floats
    plain: Floats


_PLAIN: Final = (
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
        self._made: ResultCache[_Prepared] = ResultCache(
            max_size=_KEPT_BYTES, size_of=lambda each: each.columns.nbytes
        )

    def of_tracts(self, asked: Iterable[TractValues], *, is_count: bool) -> Floats:
        """Return what tracts add to R counts or sums; see `mapapp.answers.error_models.ErrorModel`."""
        found: list[Floats] = []
        waiting: list[_OfTract] = []
        for each in asked:
            waiting.append(self._of_tract(each, is_count=is_count))
            if len(waiting) * each.found[0].size >= _TOGETHER:
                found.append(self._of_several(waiting, is_count=is_count))
                waiting = []
        if waiting:
            found.append(self._of_several(waiting, is_count=is_count))
        return np.asarray(np.sum(found, axis=0))

    def errors_of(self, sums: Floats, least: float) -> tuple[Floats, Floats, Floats]:
        """Return bias, variance and placement from sums over tracts."""
        return errors_of(sums, least, is_plain=not self._cleans)

    def _of_tract(self, asked: TractValues, *, is_count: bool) -> _OfTract:
        """Add up over the support points of one tract, of which all else needs sums alone."""
        prior, made = self._support.of_tract(asked.tract), self._tables(asked.tract)
        part, within = parts_of_classes(made.by_class[0], made.n_sizes, asked.synthesizers)
        add_up_points = _points_of_count if is_count else _points_of_sums
        points = add_up_points(asked.values, prior, made, part)
        return _OfTract(made, part, within, points, asked.found, _apart(asked.synthesizers))

    def _of_several(self, tracts: Sequence[_OfTract], *, is_count: bool) -> Floats:
        """Return what T tracts add together: one operation on arrays of all costs much less than one for each."""
        classes = _Classes.of([each.made for each in tracts])
        n_classes, n_counts = classes.workers.shape[1], tracts[0].found[0].size
        n_parts = len(tracts[0].part)
        part, within = (
            padded([getattr(each, name) for each in tracts], (n_parts, n_classes))
            for name in ("part", "within")
        )
        by_class = padded([each.points.by_class for each in tracts], (3, n_counts, n_classes))
        on_all, lost, on_lost = by_class.swapaxes(0, 1)
        of = dict(zip(_PLAIN, np.stack([each.points.plain for each in tracts], axis=1), strict=True))
        found = np.stack([each.found[0] for each in tracts]), np.stack([each.found[1] for each in tracts])
        apart = np.stack([each.apart for each in tracts])
        of_class, freed_of_class = classes.workers[:, None], classes.freed[:, None]
        total, freed_total = (each.sum(axis=-1, keepdims=True) for each in (of_class, freed_of_class))
        workers = part * of_class
        n_workers = workers.sum(axis=-1)
        read, more = _by_class(found[0], part * on_all, workers, is_count=is_count)
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
            dealt=2.0 * apart * _variety(found, (of["usual"], of["usual_square"]), n_workers)
            + (CLASS * apart) ** 2 * of["shown_square"]
            + (CLASS * changed) ** 2 * of["changed_square"],
            apart=apart * np.abs(of["shown"]) + changed * of["change_size"],
            moved=more * of["moved"],
        )
        if self._noise.is_alike:
            counts = in_one_class(counts)
        elif is_count and classes.kept_at is not None:
            points = of["usual"] ** 2 / np.maximum(of["full"], 1e-300)
            counts = counts._replace(kept=_kept_of_full_points(counts, classes, part, points))
        return np.asarray(add_up(counts, is_count=is_count).sum(axis=1))

    def _tables(self, tract: int) -> _Prepared:
        return self._made.get_or_make(tract, lambda: self._read_tables(tract))

    def _read_tables(self, tract: int) -> _Prepared:
        prior = self._support.of_tract(tract)
        drawn = tables_of(self._released(tract), self._noise.unit, prior)
        cleaning = Cleaning.none(prior.share.size)
        if self._cleans and self._noise.unit == "tract":
            drawn, cleaning = undo_cleaning(drawn, self._noise, prior)
        tables = add_up_tables(drawn, self._noise, prior)
        if self._cleans and self._noise.unit != "tract":
            by_point = self._noise.unit != "cell"
            cleaning = cleaning_of(tables, prior.away_mi, prior.share, by_point=by_point)
        return _Prepared.of(tables, cleaning, prior.share)


class _OfTract(NamedTuple):
    """One tract, with all that is known of R counts or sums there.

    Attributes
    ----------
    made : _Prepared
    part, within : float64[R or 1, J]
        Of `parts_of_classes`.
    points : _AtPoints
    found : tuple of float64[R]
        Of `TractValues`.
    apart : float64[R or 1]
        Of :func:`_apart`.
    """

    made: _Prepared
    part: Floats
    within: Floats
    points: _AtPoints
    found: tuple[Floats, Floats]
    apart: Floats


class _Classes(NamedTuple):
    """The J classes of T tracts, by the rows of `_Prepared.by_class`; where a tract has fewer, the last are empty."""

    workers: Floats
    lost: Floats
    lost_variance: Floats
    freed: Floats
    gained: Floats
    gained_variance: Floats
    n_tables: Floats
    kept_at: Floats | None
    noise: Floats

    @classmethod
    def of(cls, made: Sequence[_Prepared]) -> _Classes:
        """Return the classes of some tracts."""
        n_classes = max(each.by_class.shape[1] for each in made)
        rows = padded([each.by_class for each in made], (len(made[0].by_class), n_classes))
        kept_at = [each.kept_at for each in made if each.kept_at is not None]
        workers, lost, lost_variance, freed, gained, gained_variance, n_tables = rows.swapaxes(0, 1)
        return cls(
            workers=workers,
            lost=lost,
            lost_variance=lost_variance,
            freed=freed,
            gained=gained,
            gained_variance=gained_variance,
            n_tables=n_tables,
            kept_at=padded(kept_at, (n_classes, kept_at[0].shape[1])) if kept_at else None,
            noise=np.array([each.noise for each in made]),
        )

    @property
    def kept(self) -> Floats:
        """Part of the workers of each class who are expected to stay: float64[T, J]."""
        return np.clip(1.0 - (self.gained - self.lost) / np.maximum(self.workers, 1.0), 0.0, 1.0)

    @property
    def shared(self) -> Floats:
        """The same, but 1 in classes whose points are read one by one."""
        return np.where(self.lost != 0.0, 1.0, self.kept)


def _points_of_count(
    values: tuple[HomeShares, HomeShares], prior: TractPrior, made: _Prepared, part: Floats
) -> _AtPoints:
    """Add up over points for counts, whose s is 0 or 1 except in the few points that a home area cuts.

    So a square of s differs from s itself only there, and sums of both come from one product with the columns.
    """
    (s,) = prior.of_points(values[0], prior.people)
    n_classes = made.by_class.shape[1]
    linear = s @ made.columns
    at = np.flatnonzero(((s > WHOLE) & (s < 1.0 - WHOLE)).any(axis=0))
    c, n_linear = s[:, at], 2 * n_classes + 3
    square = linear[:, n_linear:] + (c**2 - c) @ made.columns[at, n_linear:]
    on_all, on_lost = linear[:, :n_classes], linear[:, n_classes : 2 * n_classes]
    on_variance, variance = linear[:, n_linear : n_linear + n_classes], made.by_class[2]
    mean = linear[:, n_linear + n_classes]
    terms = square[:, :n_classes], 2.0 * mean[:, None] * on_variance, mean[:, None] ** 2 * variance
    lost = terms[0] - terms[1] + terms[2]
    lost[np.abs(lost) <= _ROUNDING * sum(np.abs(term) for term in terms)] = 0.0
    usual, changed, shown = linear[:, 2 * n_classes : n_linear].T
    even_square, change_square, shown_square, changed_square, off, full = square[:, n_classes:].T
    mine, squares = part @ made.workers[:, at], prior.people**2
    g, first = prior.of_points(prior.shares_in(at, values[0]), prior.gravity, squares)
    of_squares = np.add.reduceat(squares, prior.first)[at]
    within = np.maximum(first[:, at] * (1.0 - 2.0 * c) + c**2 * of_squares, 0.0)
    plain = [
        mean,
        even_square - mean**2,
        (1.0 - mean) ** 2,
        usual,
        usual,
        changed,
        linear[:, n_linear + n_classes + 1],
        change_square,
        shown,
        shown_square,
        changed_square,
        off,
        (1.0 - STRAY) * usual + STRAY * mean,
        full,
        (mine**2 * within).sum(axis=1),
        (mine * np.maximum(c - c**2, 0.0)).sum(axis=1),
        (mine * ((c > WHOLE) & (c < 1.0 - WHOLE))).sum(axis=1),
        (mine * (c - g[:, at])).sum(axis=1),
    ]
    return _AtPoints(np.stack([on_all, lost, on_lost]), np.stack(plain))


def _points_of_sums(
    values: tuple[HomeShares, HomeShares], prior: TractPrior, made: _Prepared, part: Floats
) -> _AtPoints:
    """Add up over points for sums of any values."""
    s, g = prior.of_points(values[0], prior.people, prior.gravity)
    (second,) = prior.of_points(values[1], prior.people)
    n_classes = made.by_class.shape[1]
    n_linear = 2 * n_classes + 3
    linear, square = s @ made.columns[:, : n_linear + n_classes + 1], s**2 @ made.columns[:, n_linear:]
    mean, share = linear[:, -1], made.columns[:, 2 * n_classes]
    even, change_size = made.columns[:, n_linear + n_classes : n_linear + n_classes + 2].T
    off_mean = (s - mean[:, None]) ** 2
    lost = off_mean @ made.columns[:, n_linear : n_linear + n_classes]
    usual, changed, shown = linear[:, 2 * n_classes : n_linear].T
    even_square, change_square, shown_square, changed_square, off, full = square[:, n_classes:].T
    mine = part @ made.workers
    plain = [
        mean,
        even_square - mean**2,
        off_mean @ share,
        usual,
        second @ share,
        changed,
        np.abs(s) @ change_size,
        change_square,
        shown,
        shown_square,
        changed_square,
        off,
        (1.0 - STRAY) * (second @ share) + STRAY * (second @ even),
        full,
        (mine**2 * prior.within(values, s)).sum(axis=1),
        (mine * np.maximum(second - s**2, 0.0)).sum(axis=1),
        np.zeros(len(s)),
        (mine * (s - g)).sum(axis=1),
    ]
    by_class = np.stack([linear[:, :n_classes], lost, linear[:, n_classes : 2 * n_classes]])
    return _AtPoints(by_class, np.stack(plain))


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
    assert classes.kept_at is not None
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
