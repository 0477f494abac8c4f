"""Whether a release shows as much noise as its epsilon demands, wherever the workers really live.

A draw with a small epsilon puts workers nearly everywhere, so it leaves few workers in hardly any support point of a
workplace tract. Real homes leave many such points. How many there may be is bounded for every table of homes, so the
bound takes no home for granted, and no prior. It needs a draw in which every support point is as likely as any other.

Source: docs/theory/method.md, section 11.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr

from engine.mechanisms.cleaning import CLEANED_RANGES_MI
from engine.mechanisms.prices import LAWS, PRICE_UNITS, LawVersion
from engine.mechanisms.thetas import THETA_UNITS, exponential_epsilon
from engine.mechanisms.unit import UnitSizes, sizes_of_units
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.support.coarsening import LEVEL_REMAINDER, Coarsening
from mapapp.kinds.base.certificate import CertificateCheck
from mapapp.kinds.base.geography import Geography, Ints
from mapapp.kinds.base.inputs import Inputs
from mapapp.kinds.base.row_checks import chance_of_sum
from mapapp.kinds.release.make.support import Support

__all__ = ["NoiseCheck", "most_probably_empty"]

Floats = npt.NDArray[np.float64]

_ALARM: Final = 1e-9
_MOST_WORKERS: Final = 100
"""Larger units are left out: the bound says little about them, and is valid without them."""
_RARELY: Final = 0.1
"""Few workers are as many as noise leaves in a support point in at most this share of draws."""
_ROUNDING: Final = 1e-9
_LEAST_SOME: Final = 2
"""Points of a range with few workers, but some, which show that cleaning emptied no point that had more."""


class NoiseCheck:
    """Counts support points with few workers, and how many a draw leaves at most on average.

    Parameters
    ----------
    geography : Geography
    privacy, parameters
        What the release says that it is made of.
    laws : {"unpriced", "priced to 20", "by number"}
        Which laws tables were drawn with.
    """

    def __init__(
        self,
        geography: Geography,
        privacy: PrivacyParameters,
        parameters: SynthesisParameters,
        *,
        laws: LawVersion = "by number",
    ) -> None:
        self._tract_of_block = geography.tract_of_block
        self._mechanism, self._unit, self._is_cascade = (
            parameters.mechanism,
            parameters.unit,
            parameters.cascade,
        )
        self._is_cleaned = parameters.clean
        self._law_of = LAWS[laws]
        self.epsilon = privacy.epsilon
        self.n_tracts = 0
        self.few = self.few_by_noise = 0.0

    def add(self, homes: Inputs, support: Support) -> None:
        """Look at the homes of a batch."""
        if self._mechanism != "exponential" or self._is_cascade:
            return
        coarsening = support.coarsening
        limits = self._limits(homes, coarsening.n_support)
        point, _ = coarsening.find_homes(
            homes.tract, homes.worker_ptr, homes.worker_origin, self._tract_of_block
        )
        tract = np.repeat(homes.tract, homes.count)
        at = (coarsening.support_ptr[tract] + point)[point >= 0]
        workers = np.bincount(at, minlength=coarsening.support_level.size)
        is_point = coarsening.support_level != LEVEL_REMAINDER
        is_few = is_point & self._have_few(workers, limits.few, coarsening)
        n_few, n_points = (
            np.bincount(coarsening.tract_of_point[flags], minlength=limits.few.size)
            for flags in (is_few, is_point)
        )
        used = (limits.chance <= _RARELY) & (n_points > 0)
        if self._is_cleaned:
            used &= limits.few > 0
        self.n_tracts += int(np.count_nonzero(used))
        self.few += float((n_few[used] / n_points[used]).sum())
        self.few_by_noise += float(limits.chance[used].sum())

    def result(self) -> CertificateCheck:
        """Say what was found, or why nothing can be."""
        if self._mechanism != "exponential":
            reason = f"noise of the mechanism {self._mechanism} is not the same for all homes"
            return CertificateCheck("noise", True, f"cannot be tested: {reason}")
        if self._is_cascade:
            reason = "workers were dealt places by what larger workplaces show"
            return CertificateCheck("noise", True, f"cannot be tested: {reason}")
        if not self.n_tracts:
            reason = (
                f"epsilon {float(self.epsilon):g} is so large that some table of homes would look like this"
            )
            return CertificateCheck("noise", True, f"cannot be tested: {reason}")
        share, most = (value / self.n_tracts for value in (self.few, self.few_by_noise))
        detail = (
            f"{share:.1%} of the support points of {self.n_tracts:,} workplace tracts have few workers; "
            f"a draw leaves at most {most:.1%} on average"
        )
        is_good = chance_of_sum(self.n_tracts, self.few_by_noise, self.few) > _ALARM
        return CertificateCheck("noise", is_good, detail)

    def _limits(self, homes: Inputs, n_support: Ints) -> _Few:
        """What counts as few workers in each destination tract, from public numbers alone."""
        tract, n_workers = self._units(homes)
        chance = self._bound_occupied(n_workers, n_support[tract])
        tract, chance = tract[chance > 0], chance[chance > 0]
        n_tracts = n_support.size
        n_units, mean = (np.bincount(tract, weights, n_tracts) for weights in (None, chance))
        few = np.zeros(n_tracts, dtype=np.int64)
        # Bounds on the chance that a point has at most so many workers: none at all, or at most `few`.
        most = np.exp(np.bincount(tract, np.log1p(-chance), n_tracts))
        for number in range(1, int(mean.max(initial=0.0))):
            within = number <= mean - 1
            at_most = bdtr(number, n_units, np.where(within, mean / np.maximum(n_units, 1), 1.0))
            better = within & (few == number - 1) & (at_most <= _RARELY)
            few[better], most[better] = number, at_most[better]
        return _Few(few, most * (1 + _ROUNDING))

    def _units(self, homes: Inputs) -> UnitSizes:
        """Destination tract and number of workers of everything that was drawn by itself."""
        return sizes_of_units(self._unit, homes.destination, homes.tract, homes.count)

    def _bound_occupied(self, n_workers: Ints, n_support: Ints) -> Floats:
        """The least chance that a unit has workers in a support point, whatever its homes; 0 if no bound is known."""
        chances = np.zeros(n_workers.size)
        epsilon = exponential_epsilon(self.epsilon)
        for n in np.unique(n_workers[n_workers <= _MOST_WORKERS]).tolist():
            units = np.flatnonzero((n_workers == n) & (n_support > 1))
            k, of_unit = np.unique(n_support[units], return_inverse=True)
            laws = [self._law_of(epsilon, n_points, n) for n_points in k.tolist()]
            theta = np.array([THETA_UNITS / law.inverse_theta for law in laws])
            is_plain = np.array([law.price == PRICE_UNITS for law in laws], dtype=np.bool_)
            bound = np.where(is_plain, 1 - most_probably_empty(n, k, theta) - _ROUNDING, 0.0)
            chances[units] = np.maximum(bound, 0.0)[of_unit]
        return chances

    def _have_few(self, workers: Ints, few: Ints, coarsening: Coarsening) -> npt.NDArray[np.bool_]:
        """Support points that were drawn with few workers; after cleaning, those of which this is certain."""
        tract = coarsening.tract_of_point
        is_few: npt.NDArray[np.bool_] = workers <= few[tract]
        if not self._is_cleaned:
            return is_few
        n_ranges = len(CLEANED_RANGES_MI) + 1
        distance = np.searchsorted(CLEANED_RANGES_MI, coarsening.support_distance_mi, side="right")
        group = tract * n_ranges + distance
        n_some = np.bincount(group[is_few & (workers > 0)], minlength=few.size * n_ranges)
        return np.asarray(is_few & (n_some[group] >= _LEAST_SOME))


class _Few(NamedTuple):
    """What counts as few workers in each tract, and a bound on the chance that a support point has as few."""

    few: Ints
    chance: Floats


def most_probably_empty(n: int, n_points: Ints, theta: Floats) -> Floats:
    """Return a bound on the chance that a support point is empty in a table of the exponential mechanism.

    Parameters
    ----------
    n : int
        Workers, at least 1.
    n_points : int64[...]
        Support points k, at least 2.
    theta : float64[...]
        Of each k, without a price.

    Returns
    -------
    float64[...]
        At least the chance for every table of n homes and every point.
    """
    k, growth = n_points.astype(np.float64)[:, None], 1.0 - theta[:, None]
    kept = np.zeros((n_points.size, n + 1))
    kept[:, 0] = 1.0
    for _ in range(n):  # times 1 + (1 - theta) (y + y^2 + ...)
        kept[:, 1:] += growth * np.cumsum(kept[:, :-1], axis=1)
    left = np.arange(n, 0, -1.0)
    steps = np.log(left / ((k + left - 1) * theta[:, None]))
    with np.errstate(divide="ignore"):  # no worker is kept where theta is 1
        size = np.log(kept[:, 1:]) + np.cumsum(steps, axis=1)
    largest = np.maximum(size.max(axis=1, keepdims=True), 0.0)
    weight, none = np.exp(size - largest), np.exp(-largest)
    empty = (k - 1) / (k - 1 + np.arange(n, -1.0, -1.0))
    whole, part = (np.cumsum(weights[:, ::-1], axis=1) for weights in (weight, weight * empty[:, 1:]))
    # Between none and all of the weight of each number: the worst case takes all from some number on.
    worst = ((none * empty[:, :1] + part) / (none + whole)).max(axis=1, initial=0.0)
    return np.asarray(np.maximum(worst, empty[:, 0]))
