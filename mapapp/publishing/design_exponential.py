"""Choosing radii and unit for the exponential mechanism from public data, by the errors that a reader would see.

Each setting draws synthetic workers in place of homes simulated from public data (`mapapp.publishing.public_part`),
with the published test key, and counts how many of them end up in a wrong tract, PUMA or commute range. So the choice
costs no privacy, and anybody with the release can repeat it.

The objective is the mean share of misplaced workers over four tables: flows from tract to tract, the same by earnings,
flows from tract to PUMA, and commute ranges by workplace tract; half of it for all workers, half for those of
workplaces of 1 to 9 workers. A table's share is half the sum of absolute errors over the number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypedDict

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.mechanisms.exponential import exponential
from engine.parameters import Number, PrivacyParameters, SynthesisParameters, Unit
from engine.prior import redraw_weight
from engine.streams import PublicSeed, SecretKey
from engine.synthesis import Synthesizers, redraw_remainder
from engine.validity import SMALL_WORKPLACE
from engine.validity.grid import CELL_RANGE, RANGES
from mapapp.progress import Report, silent
from mapapp.publishing.expected_validity import HomeTracts, WorkplaceCounts
from mapapp.publishing.inputs import destination_ptr
from mapapp.publishing.prior import public_prior
from mapapp.publishing.public_part import CONCENTRATION, SHARE_ANYWHERE, PublicPart, simulated_homes
from mapapp.publishing.support import Support, build_support

__all__ = ["OBJECTIVE", "ExponentialDesignFacts", "design_exponential", "expected_misplaced"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

OBJECTIVE: Final = (
    "share of workers misplaced in flows and commute ranges, half over all, half over workplaces of 1 to 9"
)

_TRACT_RADII_MI: Final = (4.0, 8.0, 12.0, 16.0, 20.0, 25.0, 30.0, 40.0, 60.0)
_PUMA_RADII_MI: Final = (15.0, 25.0, 40.0, 60.0, 100.0, 12_500.0)
_START_MI: Final = (25.0, 40.0)
_WORTH_IT: Final = 0.995
_MOST_ROUNDS: Final = 3
_MOST_SAMPLED: Final = 96
_N_EARNINGS: Final = 3
_PLACING: Final = 20101  # any number: the same places in every run


class ExponentialDesignFacts(TypedDict):
    """How radii and unit were chosen, for the certificate."""

    units: list[Unit]
    objective: str
    homes: str
    concentration: float
    share_anywhere: float
    tracts_looked_at: int
    settings_tried: int
    expected_misplaced: float
    expected_misplaced_of_runner_up: float | None
    runner_up: str | None


@dataclass(frozen=True, slots=True)
class _Setting:
    unit: Unit
    tract_radius_mi: float
    puma_radius_mi: float

    def text(self) -> str:
        return f"unit {self.unit}, radii {self.tract_radius_mi:g} and {self.puma_radius_mi:g} mi"


def design_exponential(
    public: PublicPart,
    epsilon: Number,
    *,
    base: SynthesisParameters,
    units: Sequence[Unit],
    report: Report = silent,
) -> tuple[PrivacyParameters, SynthesisParameters, ExponentialDesignFacts]:
    """Search for the radii, and the unit among `units`, of least expected error.

    Parameters
    ----------
    public : PublicPart
    epsilon : Fraction, str, int or float
        The whole promise.
    base : SynthesisParameters
        Everything that is not chosen.
    units : sequence of {"cell", "block", "tract"}
    report : callable
        Progress.

    Returns
    -------
    privacy : PrivacyParameters
    parameters : SynthesisParameters
        With the chosen radii and unit.
    facts : dict
        How they were chosen, for the certificate.

    Raises
    ------
    ParameterError
        Epsilon is out of the mechanism's range, or no unit is given.
    """
    if not units:
        raise ParameterError("no unit to choose from: give cell, block or tract")
    search = _Search(public, epsilon, base, report)
    start = [_Setting(unit, *_START_MI) for unit in units]
    best = search.descend(min(start, key=search.objective))
    others = [setting for setting in search.measured if (setting.unit != best.unit) == (len(units) > 1)]
    others = [setting for setting in others if setting != best]
    second = min(others, key=search.objective, default=None)
    facts: ExponentialDesignFacts = {
        "units": list(units),
        "objective": OBJECTIVE,
        "homes": public.homes_text,
        "concentration": CONCENTRATION,
        "share_anywhere": SHARE_ANYWHERE,
        "tracts_looked_at": search.n_tracts,
        "settings_tried": len(search.measured),
        "expected_misplaced": _rounded(search.objective(best)),
        "expected_misplaced_of_runner_up": None if second is None else _rounded(search.objective(second)),
        "runner_up": None if second is None else second.text(),
    }
    return search.privacy, search.parameters(best), facts


def expected_misplaced(
    public: PublicPart, privacy: PrivacyParameters, parameters: SynthesisParameters
) -> float:
    """The objective at one setting: the share of workers expected to be misplaced."""
    search = _Search(public, privacy.epsilon, parameters, silent)
    return search.objective(_Setting(parameters.unit, *parameters.coarsening_radii_mi))


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


class _Search:
    """Coordinate descent over settings, each drawn once."""

    def __init__(
        self, public: PublicPart, epsilon: Number, base: SynthesisParameters, report: Report
    ) -> None:
        self.measured: dict[_Setting, float] = {}
        self.privacy = PrivacyParameters(epsilon=epsilon, delta="1e-6", accountant="sound")
        self._base, self._report = base, report
        public = _fewer(public)
        self._prior = public_prior(public.geography, public.workplaces, base)
        decay = public_prior(public.geography, public.workplaces, replace(base, prior="gravity")).decay
        assert decay is not None
        self._simulated = _Simulated(public, simulated_homes(public, decay, CONCENTRATION))
        self.n_tracts = int(public.sample.destination_tract.size)

    def parameters(self, setting: _Setting) -> SynthesisParameters:
        """The setting as the engine takes it."""
        return replace(
            self._base,
            unit=setting.unit,
            tract_radius_mi=setting.tract_radius_mi,
            puma_radius_mi=setting.puma_radius_mi,
        )

    def objective(self, setting: _Setting) -> float:
        """What is minimized."""
        if setting not in self.measured:
            self._report("choosing a setting from public data", len(self.measured), 0)
            tracts = self._simulated.public.geography.tracts
            at = self._simulated.public.sample.destination_tract
            parameters = self.parameters(setting)
            support = build_support(PublicSeed.for_tests(), tracts, at, self._prior, self.privacy, parameters)
            home = self._simulated.drawn_homes(support, self.privacy, setting.unit)
            self.measured[setting] = self._simulated.misplaced(home)
        return self.measured[setting]

    def descend(self, setting: _Setting) -> _Setting:
        """Change one radius at a time, as long as that helps."""
        for _ in range(_MOST_ROUNDS):
            before = setting
            setting = self._best(
                setting,
                [
                    replace(
                        setting, tract_radius_mi=radius, puma_radius_mi=max(radius, setting.puma_radius_mi)
                    )
                    for radius in _TRACT_RADII_MI
                ],
            )
            setting = self._best(
                setting,
                [
                    replace(setting, puma_radius_mi=radius)
                    for radius in _PUMA_RADII_MI
                    if radius >= setting.tract_radius_mi
                ],
            )
            if setting == before:
                break
        return setting

    def _best(self, at: _Setting, settings: list[_Setting]) -> _Setting:
        """The one at hand unless another is worth the change."""
        best = min(settings, key=self.objective)
        return best if self.objective(best) < _WORTH_IT * self.objective(at) else at


def _fewer(public: PublicPart) -> PublicPart:
    """At most 96 of the sampled tracts, evenly spaced: drawing takes longer than a closed form."""
    sample = public.sample
    size = sample.destination_tract.size
    if size <= _MOST_SAMPLED:
        return public
    kept = np.unique(np.linspace(0, size - 1, _MOST_SAMPLED).round().astype(np.int64))
    mine = np.isin(sample.tract, kept)
    fewer = WorkplaceCounts(
        destination_tract=sample.destination_tract[kept],
        destination=sample.destination[mine],
        segment=sample.segment[mine],
        tract=np.searchsorted(kept, sample.tract[mine]).astype(np.int32),
        count=sample.count[mine],
    )
    return replace(public, sample=fewer)


class _Simulated:
    """Simulated workers, and what is counted of them."""

    def __init__(self, public: PublicPart, homes: HomeTracts) -> None:
        self.public, self._homes = public, homes
        sample = public.sample
        of_block = destination_ptr(sample.destination)
        n_of_block = np.add.reduceat(sample.count, of_block[:-1])
        is_small = np.repeat(n_of_block <= SMALL_WORKPLACE, np.diff(of_block))
        self._tract = np.repeat(sample.tract, sample.count).astype(np.int64)
        self._earnings = np.repeat(sample.segment // 3 % _N_EARNINGS, sample.count)
        self._is_small = np.repeat(is_small, sample.count)
        self._puma = public.geography.tracts.puma.astype(np.int64)
        self._range = CELL_RANGE[homes.cell].astype(np.int64)

    def drawn_homes(self, support: Support, privacy: PrivacyParameters, unit: Unit) -> Ints:
        """Home tract of every synthetic worker: int64[W], synthesizer by synthesizer."""
        sample, key = self.public.sample, SecretKey.for_tests()
        point_of_tract = support.point_of_tract
        synthesizers = Synthesizers(
            tract=sample.tract,
            destination=sample.destination,
            segment=sample.segment,
            worker_ptr=np.append(0, np.cumsum(sample.count)),
            worker_point=point_of_tract[self._tract, self._homes.origin_tract],
            min_prior_weight=np.ones(sample.tract.size, dtype=np.int64),
        )
        drawn = exponential(
            key,
            synthesizers,
            support.table,
            epsilon=privacy.epsilon,
            unit=unit,
            tract_number=sample.destination_tract,
        )
        drawn = redraw_remainder(key, synthesizers, drawn, support.coarsening, redraw_weight(support.share))
        return self._placed(drawn.synthetic_point, point_of_tract)

    def _placed(self, point: npt.NDArray[np.int32], point_of_tract: npt.NDArray[np.int32]) -> Ints:
        """A home tract within each drawn point, by population."""
        people = np.maximum(self.public.geography.tracts.population.astype(np.float64), 1e-9)
        value = np.random.default_rng(_PLACING).random(point.size)
        home = np.empty(point.size, dtype=np.int64)
        ends = np.searchsorted(self._tract, np.arange(point_of_tract.shape[0] + 1))
        for position, of_tract in enumerate(point_of_tract):
            order = np.argsort(of_tract, kind="stable")
            running = np.append(0.0, np.cumsum(people[order]))
            bounds = np.searchsorted(of_tract[order], np.arange(int(of_tract.max()) + 2))
            mine = slice(ends[position], ends[position + 1])
            low, high = running[bounds[point[mine]]], running[bounds[point[mine] + 1]]
            found = np.searchsorted(running, low + value[mine] * (high - low), side="right") - 1
            home[mine] = order[np.minimum(found, order.size - 1)]
        return home

    def misplaced(self, home: Ints) -> float:
        """The objective: mean share of misplaced workers over the four tables, all and small workplaces."""
        everybody = np.ones_like(self._is_small)
        groups = [everybody, self._is_small] if self._is_small.any() else [everybody]
        real = self._homes.origin_tract
        return float(np.mean([self._shares(mine, real[mine], home[mine]) for mine in groups]))

    def _shares(self, mine: npt.NDArray[np.bool_], real: Ints, drawn: Ints) -> list[float]:
        tract, n_tracts = self._tract[mine], self.public.geography.tracts.n_tracts
        by_earnings = tract * _N_EARNINGS + self._earnings[mine]
        puma, at_range = self._puma, self._range
        return [
            _misplaced(tract, real, drawn, n_tracts),
            _misplaced(by_earnings, real, drawn, n_tracts),
            _misplaced(tract, puma[real], puma[drawn], int(puma.max()) + 1),
            _misplaced(tract, at_range[tract, real], at_range[tract, drawn], len(RANGES)),
        ]


def _misplaced(group: Ints, real: Ints, drawn: Ints, n_places: int) -> float:
    """Half the sum of absolute differences of two tables of workers by group and place, over the workers."""
    size = (int(group.max()) + 1) * n_places
    difference = np.bincount(group * n_places + drawn, minlength=size) - np.bincount(
        group * n_places + real, minlength=size
    )
    return float(np.abs(difference).sum() / (2 * group.size))
