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

import numpy as np
import numpy.typing as npt

from mapapp.answers.cleaned import Cleaning, cleaning_of, undo_cleaning
from mapapp.answers.noisy_tables import (
    Noise,
    NoisyTables,
    ReleasedTables,
    add_up_tables,
    parts_of_classes,
    tables_of,
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
)
from mapapp.answers.redrawn import FULLNESS
from mapapp.answers.support_prior import WHOLE, HomeShares, SupportPriors, Synthesizers

Floats = npt.NDArray[np.float64]

__all__ = ["TableErrors", "expected_losses"]


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

    def of_counts(self, tract: int, home: HomeShares, synthesizers: Synthesizers, count: Floats) -> Floats:
        """Return what the tract adds to R counts; see `mapapp.answers.error_models.ErrorModel`."""
        return self._of_values(tract, (home, home), synthesizers, (count, count), is_count=True)

    def of_sums(
        self,
        tract: int,
        values: tuple[Floats, Floats],
        synthesizers: Synthesizers,
        found: tuple[Floats, Floats],
    ) -> Floats:
        """Return what the tract adds to R sums; see `mapapp.answers.error_models.ErrorModel`."""
        return self._of_values(tract, values, synthesizers, found, is_count=False)

    def errors_of(self, sums: Floats, least: float) -> tuple[Floats, Floats, Floats]:
        """Return bias, variance and placement from sums over tracts."""
        return errors_of(sums, least, is_plain=not self._cleans)

    def _of_values(
        self,
        tract: int,
        values: tuple[HomeShares, HomeShares],
        synthesizers: Synthesizers,
        found: tuple[Floats, Floats],
        *,
        is_count: bool,
    ) -> Floats:
        prior, (tables, cleaning) = self._support.of_tract(tract), self._tables(tract)
        s, g = prior.of_points(values[0], prior.people, prior.gravity)
        (second,) = (s,) if is_count else prior.of_points(values[1], prior.people)
        part, within = parts_of_classes(tables.workers, tables.n_sizes, synthesizers)
        workers = part * tables.workers.sum(axis=1)
        read, mine = _by_class(found[0], part, tables.workers, s, is_count)
        freed = part * tables.freed
        mean = (s @ tables.even)[:, None]
        lost = (s - mean) ** 2 @ tables.lost_variance.T
        spread = s**2 @ tables.even - mean[:, 0] ** 2
        of_tract = float(tables.freed.sum()), float(tables.workers.sum() - tables.freed.sum())
        again = cleaning.parts_of(freed, workers - freed, of_tract)
        changed = again.sum(axis=1)
        apart, shown = _apart(synthesizers), tables.workers.sum(axis=0) / max(tables.workers.sum(), 1.0)
        within_variance = WITHIN**2 * (mine**2 * prior.within(values, s)).sum(axis=1)
        whole = (1.0 - mean) ** 2 if is_count else ((s - mean) ** 2 @ prior.share)[:, None]
        varied = expected_losses(within * lost, within, whole, tables)
        varied = varied + within * tables.gained_variance * spread[:, None]
        counts = NoisyCounts(
            read=read,
            gained=part * (tables.gained * mean - s @ tables.lost.T) + again * (s @ cleaning.change)[:, None],
            kept=tables.kept,
            variance=varied + again * (s**2 @ np.abs(cleaning.change))[:, None],
            part=workers / np.maximum(workers.sum(axis=1), 1e-300)[:, None],
            usual=workers.sum(axis=1) * (s @ prior.share),
            **prior_variances(workers, s, second, prior.share, tables.even),
            placed=2.0 * (mine * np.maximum(second - s**2, 0.0)).sum(axis=1) + within_variance,
            within=np.sqrt(within_variance),
            cut=(mine * ((s > WHOLE) & (s < 1.0 - WHOLE))).sum(axis=1) * is_count,
            dealt=2.0 * apart * _variety(found, (s @ prior.share, second @ prior.share), workers.sum(axis=1))
            + (CLASS * apart) ** 2 * (s**2 @ shown**2)
            + (CLASS * changed) ** 2 * (s**2 @ cleaning.change**2),
            apart=apart * np.abs(s @ shown) + changed * (np.abs(s) @ np.abs(cleaning.change)),
            moved=(mine * (s - g)).sum(axis=1),
        )
        if self._noise.is_alike:
            return add_up(in_one_class(counts), is_count=is_count)
        if is_count and tables.kept_at is not None:
            kept = _kept_of_full_points(counts, tables, part, s * prior.share)
            counts = counts._replace(kept=kept)
        return add_up(counts, is_count=is_count)

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


def _by_class(
    read: Floats, part: Floats, workers: Floats, s: Floats, is_count: bool
) -> tuple[Floats, Floats]:
    """Return what R counts or sums read by class of tables, float64[R, J], and by point, float64[R, K].

    Tables of a class are taken to be like the tract's other tables of the class.
    """
    usual = part * (s @ workers.T)
    mine = part @ workers
    alike = usual.sum(axis=1)
    if not is_count:
        of_class = part * workers.sum(axis=1)
        share = of_class / np.maximum(of_class.sum(axis=1), 1e-300)[:, None]
        return usual + (read - alike)[:, None] * share, mine
    usual = np.where(alike[:, None] > 0, usual, part * workers.sum(axis=1))
    total = usual.sum(axis=1)
    # A count may hold more of the workers of the points that its home area cuts than others do.
    more = np.maximum(read / np.where(alike > 0, alike, np.inf), 1.0)
    return usual * (read / np.where(total > 0, total, np.inf))[:, None], mine * more[:, None]


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
    kept = np.where((tables.lost != 0.0).any(axis=1), 1.0, tables.kept)
    weight = part * (kept * (1.0 - kept) * tables.workers.sum(axis=1))
    total = weight.sum(axis=1, keepdims=True)
    stays = (weight * kept).sum(axis=1, keepdims=True) / np.where(total > 0, total, 1.0)
    shared = np.where(weight > 0, lost, 0.0).sum(axis=1, keepdims=True) + 0.5 * (1.0 - stays) * whole
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
    points = share.sum(axis=1) ** 2 / np.maximum((share**2).sum(axis=1), 1e-300)
    size = tables.workers.sum(axis=1) / np.maximum(tables.n_tables, 1.0)
    workers = (part * tables.workers.sum(axis=1)).sum(axis=1)
    chance = np.clip(expected_count(counts) / np.maximum(workers * points, 1e-300), 0.0, 1.0)
    full = 1.0 + chance[:, None] * np.maximum(size - 1.0, 0.0)
    kept = np.stack(
        [
            np.interp(np.log(full[:, at]), np.log(FULLNESS), of_class)
            for at, of_class in enumerate(tables.kept_at)
        ],
        axis=1,
    )
    return np.where(part > 0, kept, tables.kept)


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
