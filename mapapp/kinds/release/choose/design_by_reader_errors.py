"""Choosing mechanism, unit, and radii from public data, by the errors that a reader would see.

Each setting is drawn once in place of homes simulated from public data, with the published test key, and the misplaced
workers are counted (`mapapp.kinds.release.choose.misplacement`). So the choice costs no privacy, and anybody with the
release can repeat it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NotRequired, Self, TypedDict

import numpy as np

from engine.errors import CertificateError, ParameterError
from engine.parameters import Mechanism, Number, PrivacyParameters, SynthesisParameters, Unit
from mapapp.base.progress import Report, silent
from mapapp.kinds.release.choose.expected_exposure import expected_exposure
from mapapp.kinds.release.choose.misplacement import OBJECTIVE, Misplaced, Misplacement, standard_error
from mapapp.kinds.release.choose.parallel_measuring import MeasuredAhead
from mapapp.kinds.release.choose.public_part import CONCENTRATION, SHARE_ANYWHERE, PublicPart, PublicPriors

__all__ = [
    "COMPARED_MECHANISMS",
    "DrawnDesignFacts",
    "design_by_drawing",
    "expected_misplaced",
]

COMPARED_MECHANISMS: Final[tuple[Mechanism, ...]] = ("exponential", "dirichlet-multinomial")
"""What `--mechanism auto` chooses from; the second must misplace 0.5% fewer workers than the first."""

_TRACT_RADII_MI: Final = (4.0, 8.0, 12.0, 16.0, 20.0, 25.0, 30.0, 40.0, 60.0)
_EXPOSED_RADII_MI: Final = (4.0, 5.0, 6.0, 7.0, *_TRACT_RADII_MI[1:])  # near the radii that a ceiling allows
_PUMA_RADII_MI: Final = (15.0, 25.0, 40.0, 60.0, 100.0, 12_500.0)
_START_MI: Final = (25.0, 40.0)
_WORTH_IT: Final = 0.995
_HOPELESS: Final = 1.02
_MOST_ROUNDS: Final = 3

_RULE: Final = (
    "of the radii whose share is within one standard error, over workplace towns, of the least share, those with the "
    "fewest support points"
)


class DrawnDesignFacts(TypedDict):
    """How mechanism, unit, and radii were chosen, for the certificate."""

    mechanisms: NotRequired[list[Mechanism]]
    delta: NotRequired[str]
    clean: NotRequired[bool]
    units: list[Unit]
    objective: str
    rule: str
    least: str
    most_exposed: float | None
    meets_most_exposed: NotRequired[bool]
    expected_exposed: NotRequired[float]
    towns: list[str]
    homes: str
    concentration: float
    share_anywhere: float
    tracts_looked_at: int
    settings_tried: int
    expected_misplaced: float
    expected_misplaced_least: float
    expected_standard_error: float
    expected_misplaced_of_runner_up: float | None
    runner_up: str | None
    expected_misplaced_if_cleaned: NotRequired[float]


@dataclass(frozen=True, slots=True)
class _Setting:
    mechanism: Mechanism
    unit: Unit
    tract_radius_mi: float
    puma_radius_mi: float

    def text(self) -> str:
        unit = f"unit {self.unit}, " if self.mechanism == "exponential" else ""
        return f"{unit}radii {self.tract_radius_mi:g} and {self.puma_radius_mi:g} mi"


def design_by_drawing(
    public: PublicPart,
    epsilon: Number,
    *,
    base: SynthesisParameters,
    units: Sequence[Unit],
    mechanisms: Sequence[Mechanism] = (),
    delta: Number = "1e-6",
    cleaning: bool = False,
    most_exposed: float | None = None,
    report: Report = silent,
    threads: int = 1,
) -> tuple[PrivacyParameters, SynthesisParameters, DrawnDesignFacts]:
    """Search for the radii of least expected error, and for the unit and the mechanism where there are several.

    Parameters
    ----------
    public : PublicPart
    epsilon : Fraction, str, int or float
        The whole promise.
    base : SynthesisParameters
        Everything that is not chosen. `clean` applies to the exponential mechanism.
    units : sequence of {"cell", "block", "tract"}
    mechanisms : sequence of str, optional
        Mechanisms to compare; that of `base` by default. The Dirichlet-multinomial takes part if "cell" is among the
        units; its prior weights are the least that can be certified, and nothing is pruned.
    delta : Fraction, str, int or float, optional
        For the Dirichlet-multinomial.
    cleaning : bool, optional
        Leave `clean` of `base` out if that misplaces fewer of all workers, at the radii chosen with it, and the unit is
        larger than a cell.
    most_exposed : float, optional
        Ceiling on the mean chance, over lone workers, that the true home tract is expected to be shown. Where no radii
        meet it, the least exposed setting is chosen.
    report : callable
        Progress.
    threads : int
        Threads to use; the choice does not depend on it.

    Returns
    -------
    privacy : PrivacyParameters
    parameters : SynthesisParameters
        With the chosen mechanism, radii and unit.
    facts : dict
        How they were chosen, for the certificate.

    Raises
    ------
    ParameterError
        Epsilon is out of a mechanism's range, or no unit is given.
    CertificateError
        Nothing that was tried can be certified.
    """
    if not units:
        raise ParameterError("no unit to choose from: give cell, block or tract")
    privacy = PrivacyParameters(epsilon=epsilon, delta=delta, accountant="sound")
    exposure = None if most_exposed is None else _Exposure(public, base, most_exposed)
    with _Search(Misplacement(public, base), privacy, base, exposure, report, threads) as search:
        starts = search.move_to_allowed(_starts(mechanisms or (base.mechanism,), units))
        least, second = search.best_two(starts)
        best = search.coarsen(least)
    if second is None or (second.mechanism, second.unit) == (best.mechanism, best.unit):
        second = search.next_to(best)
    facts: DrawnDesignFacts = {
        "units": list(units),
        "objective": OBJECTIVE,
        "rule": _RULE,
        "least": least.text(),
        "most_exposed": most_exposed,
        "towns": list(public.towns.kinds),
        "homes": public.homes_text,
        "concentration": CONCENTRATION,
        "share_anywhere": SHARE_ANYWHERE,
        "tracts_looked_at": search.workers.n_tracts,
        "settings_tried": len(search.measured),
        "expected_misplaced": _round_share(search.objective(best)),
        "expected_misplaced_least": _round_share(search.objective(least)),
        "expected_standard_error": _round_share(search.standard_error(best, least)),
        "expected_misplaced_of_runner_up": None if second is None else _round_share(search.objective(second)),
        "runner_up": None if second is None else second.text(),
    }
    if exposure is not None:
        facts |= {
            "meets_most_exposed": exposure.is_met,
            "expected_exposed": _round_share(exposure.of(privacy, search.parameters(best))),
        }
    if mechanisms:
        facts |= {"mechanisms": list(mechanisms), "clean": base.clean}
        if "dirichlet-multinomial" in mechanisms:
            facts["delta"] = str(privacy.delta)
        if second is not None:
            facts["runner_up"] = f"{second.mechanism}, {second.text()}"
    chosen = search.parameters(best)
    # By cell the preset always cleans: on real homes it pays (docs/theory/method.md, section 7f).
    may_leave_out = cleaning and chosen.clean and chosen.unit != "cell"
    plain = search.measure_without_cleaning(best) if may_leave_out else None
    if plain is None:
        return privacy, chosen, facts
    facts |= {
        "expected_misplaced": _round_share(plain.share),
        "expected_misplaced_if_cleaned": _round_share(search.objective(best)),
    }
    return privacy, replace(chosen, clean=False), facts


def expected_misplaced(
    public: PublicPart, privacy: PrivacyParameters, parameters: SynthesisParameters
) -> float:
    """The objective at one setting: the share of workers expected to be misplaced."""
    return Misplacement(public, parameters).count_misplaced(privacy, parameters).share


def _round_share(value: float) -> float:
    return float(f"{value:.4g}")


def _starts(mechanisms: Sequence[Mechanism], units: Sequence[Unit]) -> list[_Setting]:
    """Every mechanism with every unit that it can draw, at the same radii."""
    return [
        _Setting(mechanism, unit, *_START_MI)
        for mechanism in mechanisms
        for unit in units
        if unit == "cell" or mechanism == "exponential"
    ]


class _Exposure:
    """The ceiling on exposure, and the exposure of settings."""

    def __init__(self, public: PublicPart, base: SynthesisParameters, most: float) -> None:
        self.most, self.is_met = most, True
        self._public, self._prior = public, PublicPriors(public, base).of(base.prior)
        self._known: dict[SynthesisParameters, float] = {}

    def of(self, privacy: PrivacyParameters, parameters: SynthesisParameters) -> float:
        """Expected exposure of a setting; infinite where it cannot be certified."""
        if parameters not in self._known:
            try:
                exposure = expected_exposure(self._public, self._prior, privacy, parameters)
            except CertificateError:
                exposure = np.inf
            self._known[parameters] = exposure
        return self._known[parameters]


class _Search:
    """Coordinate descent over settings, each drawn once."""

    def __init__(
        self,
        workers: Misplacement,
        privacy: PrivacyParameters,
        base: SynthesisParameters,
        exposure: _Exposure | None,
        report: Report,
        threads: int,
    ) -> None:
        self.measured: dict[_Setting, Misplaced | None] = {}
        self.workers = workers
        self._privacy, self._base, self._report = privacy, base, report
        self._exposure = exposure
        self._tract_radii = _TRACT_RADII_MI if exposure is None else _EXPOSED_RADII_MI
        self._ahead = MeasuredAhead(self._measure, threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._ahead.close()

    def _measure(self, setting: _Setting) -> Misplaced | None:
        """What a setting misplaces; None if it cannot be certified or is too exposed."""
        if self._is_too_exposed(setting):
            return None
        try:
            return self.workers.count_misplaced(self._privacy, self.parameters(setting))
        except CertificateError:
            return None

    def _measure_exposure(self, setting: _Setting) -> float:
        return 0.0 if self._exposure is None else self._exposure.of(self._privacy, self.parameters(setting))

    def _is_too_exposed(self, setting: _Setting) -> bool:
        return self._exposure is not None and self._measure_exposure(setting) > self._exposure.most

    def move_to_allowed(self, starts: list[_Setting]) -> list[_Setting]:
        """The starts, moved to the nearest radii that meet the ceiling on exposure.

        Where none do, the least exposed setting of all is the start, and its exposure is the ceiling.
        """
        exposure = self._exposure
        if exposure is None:
            return starts
        lines = [self._from_start(start) for start in starts]
        met = [
            next((setting for setting in line if self._measure_exposure(setting) <= exposure.most), None)
            for line in lines
        ]
        kept = [setting for setting in met if setting is not None]
        if kept:
            return kept
        least = min((setting for line in lines for setting in line), key=self._measure_exposure)
        exposure.is_met, exposure.most = False, self._measure_exposure(least)
        return [least]

    def _from_start(self, start: _Setting) -> list[_Setting]:
        """All radii; finer points expose more, so smaller radii of tracts come first, and PUMAs' near the start's."""
        near = sorted(_PUMA_RADII_MI, key=lambda radius: abs(radius - start.puma_radius_mi))
        fewer = sorted(
            self._tract_radii,
            key=lambda radius: (radius > start.tract_radius_mi, abs(radius - start.tract_radius_mi)),
        )
        return [
            replace(start, tract_radius_mi=tract, puma_radius_mi=puma)
            for puma in near
            for tract in fewer
            if tract <= puma
        ]

    def parameters(self, setting: _Setting) -> SynthesisParameters:
        """The setting as the engine takes it."""
        chosen = replace(
            self._base,
            clean=self._base.clean and setting.mechanism == "exponential",
            mechanism=setting.mechanism,
            unit=setting.unit,
            tract_radius_mi=setting.tract_radius_mi,
            puma_radius_mi=setting.puma_radius_mi,
        )
        if setting.mechanism == "dirichlet-multinomial":
            return replace(chosen, strength=0.0, retention_scale=0.0)
        return chosen

    def objective(self, setting: _Setting) -> float:
        """What is minimized; infinite where the setting cannot be certified or is too exposed."""
        if setting not in self.measured:
            self._report("choosing a setting from public data", len(self.measured), 0)
            self.measured[setting] = self._ahead.result(setting)
        misplaced = self.measured[setting]
        return np.inf if misplaced is None else misplaced.share

    def measure_without_cleaning(self, setting: _Setting) -> Misplaced | None:
        """What a cleaned setting misplaces without cleaning; None if cleaning misplaces no more of all workers.

        Small workplaces alone do not decide: cleaning costs them more in simulated homes, which are more scattered than
        real ones.
        """
        plain = self.workers.count_misplaced(self._privacy, replace(self.parameters(setting), clean=False))
        cleaned = self.measured[setting]
        return plain if cleaned is not None and plain.of_all < cleaned.of_all else None

    def standard_error(self, first: _Setting, second: _Setting) -> float:
        """Standard error of the difference of two objectives; 0 where one cannot be certified."""
        misplaced = self.measured[first], self.measured[second]
        return (
            0.0
            if misplaced[0] is None or misplaced[1] is None
            else standard_error(misplaced[0], misplaced[1])
        )

    def best_two(self, starts: list[_Setting]) -> tuple[_Setting, _Setting | None]:
        """The best setting, and the best of another mechanism; of one alone, that of another unit.

        Raises
        ------
        CertificateError
            Nothing that was tried can be certified.
        """
        self._order = [(start.mechanism, start.unit) for start in starts]
        self._ahead.expect([*starts, *_take_in_turn(_directions(starts[0], self._tract_line(starts[0])))])
        first = min(starts, key=self.objective)
        if np.isinf(self.objective(first)):
            raise CertificateError(
                f"no setting holds at epsilon {float(self._privacy.epsilon):g}, delta "
                f"{float(self._privacy.delta):g}; raise epsilon"
            )
        best = self._descend(first)
        rivals = [start for start in starts if start.mechanism != first.mechanism]
        rivals = rivals or [start for start in starts if start.unit != first.unit]
        if not rivals:
            return best, None
        rival = min(rivals, key=self.objective)
        # The best radii of one mechanism are close to those of another.
        near = replace(rival, tract_radius_mi=best.tract_radius_mi, puma_radius_mi=best.puma_radius_mi)
        second = self._descend(min((rival, near), key=self.objective))
        best, second = sorted(
            (best, second), key=lambda setting: self._order.index((setting.mechanism, setting.unit))
        )
        if self.objective(second) < _WORTH_IT * self.objective(best):
            best, second = second, best
        return best, None if np.isinf(self.objective(second)) else second

    def coarsen(self, best: _Setting) -> _Setting:
        """The setting with the fewest support points among those that are within one standard error of the best.

        Around the minimum the objective is flat, and one draw would decide. The fewer support points, the more often a
        lone worker keeps the true one.
        """
        kind, chosen = (best.mechanism, best.unit), best
        while True:
            coarser = self._one_step_coarser(chosen)
            self._ahead.expect(coarser)
            for setting in coarser:
                self.objective(setting)
            equal = [
                candidate
                for candidate in self.measured
                if (candidate.mechanism, candidate.unit) == kind
                and self._is_within_one_error(candidate, best)
            ]
            fewest = min(equal, key=self._n_points)
            if fewest == chosen:
                return chosen
            chosen = fewest

    def next_to(self, chosen: _Setting) -> _Setting | None:
        """The best of the other settings that were measured."""
        others = [
            setting
            for setting, misplaced in self.measured.items()
            if setting != chosen and misplaced is not None
        ]
        return min(others, key=self.objective, default=None)

    def _n_points(self, setting: _Setting) -> float:
        misplaced = self.measured[setting]
        return np.inf if misplaced is None else misplaced.n_points

    def _is_within_one_error(self, setting: _Setting, best: _Setting) -> bool:
        excess = self.objective(setting) - self.objective(best)
        return excess <= self.standard_error(setting, best)

    def _descend(self, setting: _Setting) -> _Setting:
        """Change one radius at a time, as long as that helps; the best setting on the way."""
        kind = (setting.mechanism, setting.unit)
        for _ in range(_MOST_ROUNDS):
            before = setting
            setting = self._best(setting, self._tract_line(setting))
            setting = self._best(setting, _puma_line(setting))
            if setting == before:
                break
        tried = [candidate for candidate in self.measured if (candidate.mechanism, candidate.unit) == kind]
        return min(tried, key=self.objective)

    def _best(self, at: _Setting, line: list[_Setting]) -> _Setting:
        """The best setting on a line of rising radii; the current setting if no other is enough better.

        In either direction, the first setting that is 2% worse than the best so far ends the walk.
        """
        best = at
        directions = _directions(at, line)
        self._ahead.expect(_take_in_turn(directions))
        for direction in directions:
            for setting in direction:
                if self.objective(setting) < self.objective(best):
                    best = setting
                elif self.objective(setting) > _HOPELESS * self.objective(best):
                    break
        return best if self.objective(best) < _WORTH_IT * self.objective(at) else at

    def _tract_line(self, setting: _Setting) -> list[_Setting]:
        """The settings with any radius within which tracts are points."""
        return [
            replace(setting, tract_radius_mi=radius, puma_radius_mi=max(radius, setting.puma_radius_mi))
            for radius in self._tract_radii
        ]

    def _one_step_coarser(self, setting: _Setting) -> list[_Setting]:
        """The settings with one of the two radii one step smaller."""
        tract, puma = setting.tract_radius_mi, setting.puma_radius_mi
        tracts = [radius for radius in self._tract_radii if radius < tract][-1:]
        pumas = [radius for radius in _PUMA_RADII_MI if tract <= radius < puma][-1:]
        return [
            *(replace(setting, tract_radius_mi=radius) for radius in tracts),
            *(replace(setting, puma_radius_mi=radius) for radius in pumas),
        ]


def _puma_line(setting: _Setting) -> list[_Setting]:
    """The settings with any radius within which PUMAs are points, and its own, which a wider one of tracts may be."""
    return [
        replace(setting, puma_radius_mi=radius)
        for radius in sorted({*_PUMA_RADII_MI, setting.puma_radius_mi})
        if radius >= setting.tract_radius_mi
    ]


def _directions(at: _Setting, line: list[_Setting]) -> tuple[list[_Setting], list[_Setting]]:
    """The settings below and above one on a line, the nearest first."""
    place = line.index(at)
    return line[:place][::-1], line[place + 1 :]


def _take_in_turn(directions: tuple[list[_Setting], list[_Setting]]) -> list[_Setting]:
    """The settings of two directions in turn: the first of each is always looked at."""
    pairs = itertools.zip_longest(*directions)
    return [setting for pair in pairs for setting in pair if setting is not None]
