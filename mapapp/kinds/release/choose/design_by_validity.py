"""Choosing a setting from public data: radii, retention, strength and prior together, at a given promise.

The promise is given; what is chosen is how to keep it with the least expected divergence. No confidential count takes
part: the column of homes is not even read. Tables of homes are made from the public prior, and every setting is
certified and measured on them in closed form (`mapapp.kinds.release.choose.expected_validity`). So the choice costs no
privacy, and anybody with the release can repeat it.

`mapapp.kinds.release.choose.public_part` says what those homes are like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from engine.errors import CertificateError, EngineError, ParameterError
from engine.parameters import Number, Prior, PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from engine.support.tracts import great_circle_mi
from mapapp.base.progress import Report, silent
from mapapp.kinds.release.choose.expected_exposure import expected_exposure
from mapapp.kinds.release.choose.expected_validity import Expected, HomeTracts, expected_validity
from mapapp.kinds.release.choose.public_part import (
    CONCENTRATION,
    SHARE_ANYWHERE,
    PublicPart,
    PublicPriors,
    simulated_homes,
)

Floats = npt.NDArray[np.float64]

WHOLE_EARTH_MI = 12_500.0
"""No two places are farther apart. With this radius, no place is coarsened."""

TRACT_RADII_MI = (
    0.0,
    1.0,
    2.0,
    4.0,
    6.0,
    8.0,
    10.0,
    12.0,
    15.0,
    20.0,
    25.0,
    30.0,
    40.0,
    60.0,
    100.0,
    WHOLE_EARTH_MI,
)
PUMA_RADII_MI = (4.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 150.0, WHOLE_EARTH_MI)
MIN_RETENTIONS = ("1", "0.3", "0.1", "0.025", "0.01")
RETENTION_SCALES = (0.0, 1.0, 3.0, 10.0)
STRENGTHS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

_STARTS_MI = ((10.0, 25.0), (25.0, 40.0))
_MOST_NEAR = 4096  # tracts near a workplace on average; beyond, the points outnumber any count of workers
_MOST_ROUNDS = 4
_WORTH_IT = 0.995  # a setting replaces a simpler one only if it is better by this much


class DesignFacts(TypedDict):
    """How a setting was chosen, for the certificate."""

    priors: list[Prior]
    objective: str
    homes: str
    concentration: float
    share_anywhere: float
    tracts_looked_at: int
    settings_tried: int
    expected_kl_all: float
    expected_kl_small: float
    most_exposed: float | None
    meets_most_exposed: NotRequired[bool]
    expected_exposed: NotRequired[float]


def design_parameters(
    public: PublicPart,
    epsilon_final: Number,
    delta: Number,
    *,
    base: SynthesisParameters | None = None,
    priors: Iterable[Prior] | None = None,
    concentration: float = CONCENTRATION,
    most_exposed: float | None = None,
    report: Report = silent,
) -> tuple[PrivacyParameters, SynthesisParameters, DesignFacts]:
    """Search for the setting with the least expected divergence under the sound accountant.

    What is minimised: half the mean KL over all destinations, half that over small ones (1 to 9 workers), each
    weighted by workers; over all alone where none is small. One choice is changed at a time, each value of it tried,
    until none gets better.

    Parameters
    ----------
    public : PublicPart
        From :func:`read_public_part`.
    epsilon_final, delta : Fraction, str, int or float
        The promise.
    base : SynthesisParameters, optional
        Everything that is not searched is taken from here: percentiles, editing, placement.
    priors : iterable of {"gravity", "flows", "uniform"}, optional
        Which priors may be chosen; gravity by default, and flows where the dataset has them.
    concentration : float
        How many workers of a workplace it takes for its own past to weigh as much as the public distribution;
        infinite for homes drawn from that distribution alone.
    most_exposed : float, optional
        Ceiling on the mean chance, over lone workers, that the true home tract is expected to be shown. Where nothing
        that was tried meets it, the least exposed setting is chosen.
    report : callable
        Progress.

    Returns
    -------
    privacy : PrivacyParameters
        With the chosen min_retention.
    parameters : SynthesisParameters
        With the chosen radii, strength, retention_scale and prior.
    facts : dict
        How they were chosen, for the certificate.

    Raises
    ------
    ParameterError
        The promise or `base` is not valid.
    CertificateError
        Nothing that was tried can be certified at this promise.

    Source: docs/theory/method.md, sections 2, 3, 5b, 6 and 10.
    """
    shape = base or SynthesisParameters()
    priors_of = PublicPriors(public, shape)
    allowed = tuple(priors) if priors is not None else priors_of.allowed
    if not allowed or not concentration > 0:
        raise ParameterError(
            f"priors are {allowed}, concentration {concentration}: give a prior, and more than 0"
        )
    promise = PrivacyParameters(epsilon=epsilon_final, delta=delta, accountant="sound")
    homes = simulated_homes(public, priors_of.gravity, concentration)
    distance_mi = great_circle_mi(public.geography.tracts, public.sample.destination_tract)
    too_wide = {r for r in TRACT_RADII_MI if (distance_mi < r).sum(axis=1).mean() > _MOST_NEAR}
    search = _Search(public, homes, promise, shape, priors_of, too_wide, report)
    search.most_exposed = most_exposed
    best = min((search.descend(start, allowed) for start in _starts(allowed[0])), key=search.objective)
    is_met = search.is_allowed(best)
    if not is_met:
        best = search.least_exposed()
    expected = search.measured.get(best)
    if expected is None:
        raise CertificateError(
            f"no setting holds at epsilon_final {float(promise.epsilon):g}, delta {float(promise.delta):g}; raise "
            "epsilon_final"
        )
    facts: DesignFacts = {
        "priors": list(allowed),
        "objective": "half KL over all destinations, half over those of 1 to 9 workers",
        "homes": public.homes_text,
        "concentration": concentration,
        "share_anywhere": SHARE_ANYWHERE,
        "tracts_looked_at": int(public.sample.destination_tract.size),
        "settings_tried": len(search.measured),
        "expected_kl_all": float(f"{expected.kl_all:.4g}"),
        "expected_kl_small": float(f"{expected.kl_small:.4g}"),
        "most_exposed": most_exposed,
    }
    if most_exposed is not None:
        facts |= {
            "meets_most_exposed": is_met,
            "expected_exposed": float(f"{search.measure_exposure(best):.4g}"),
        }
    return *search.parameters(best), facts


def expected_divergence(
    public: PublicPart, privacy: PrivacyParameters, parameters: SynthesisParameters
) -> tuple[float, float]:
    """KL to be expected of one setting: over all destinations, and over those of 1 to 9 workers (NaN without any).

    Raises
    ------
    EngineError
        The setting cannot be certified.
    """
    priors_of = PublicPriors(public, parameters)
    homes = simulated_homes(public, priors_of.gravity, CONCENTRATION)
    expected = _measure_setting(public, homes, priors_of, privacy, parameters)
    return expected.kl_all, expected.kl_small


def _measure_setting(
    public: PublicPart,
    homes: HomeTracts,
    priors_of: PublicPriors,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
) -> Expected:
    """Certify one setting and measure it on simulated homes."""
    return expected_validity(
        PublicSeed.for_tests(),
        public.geography.tracts,
        priors_of.of(parameters.prior),
        public.sample,
        homes,
        privacy,
        parameters,
    )


@dataclass(frozen=True, slots=True)
class _Setting:
    """The values to search; of two that are equally good, the simpler one comes first."""

    prior: Prior
    tract_radius_mi: float
    puma_radius_mi: float
    min_retention: str = "1"
    retention_scale: float = 0.0
    strength: float = 0.0


def _starts(prior: Prior) -> list[_Setting]:
    return [_Setting(prior, *radii) for radii in _STARTS_MI]


class _Search:
    """Coordinate descent over settings, each measured once."""

    def __init__(
        self,
        public: PublicPart,
        homes: HomeTracts,
        promise: PrivacyParameters,
        shape: SynthesisParameters,
        priors: PublicPriors,
        too_wide: set[float],
        report: Report,
    ) -> None:
        self.measured: dict[_Setting, Expected | None] = {}
        self.most_exposed: float | None = None
        self._exposed: dict[_Setting, float] = {}
        self._public, self._homes, self._shape, self._report = public, homes, shape, report
        self._promise, self._priors, self._too_wide = promise, priors, too_wide

    def parameters(self, setting: _Setting) -> tuple[PrivacyParameters, SynthesisParameters]:
        """The setting as the engine takes it."""
        privacy = PrivacyParameters(
            epsilon=self._promise.epsilon,
            delta=self._promise.delta,
            min_retention=setting.min_retention,
            accountant="sound",
        )
        parameters = replace(
            self._shape,
            prior=setting.prior,
            tract_radius_mi=setting.tract_radius_mi,
            puma_radius_mi=setting.puma_radius_mi,
            strength=setting.strength,
            retention_scale=setting.retention_scale,
        )
        return privacy, parameters

    def objective(self, setting: _Setting) -> float:
        """What is minimised; infinite where the setting cannot be certified or is too exposed."""
        if setting.tract_radius_mi in self._too_wide:
            return np.inf
        if setting not in self.measured:
            self._report("choosing a setting from public data", len(self.measured), 0)
            try:
                self.measured[setting] = _measure_setting(
                    self._public, self._homes, self._priors, *self.parameters(setting)
                )
            except EngineError:
                self.measured[setting] = None
        expected = self.measured[setting]
        if expected is None or not self.is_allowed(setting):
            return np.inf
        return (expected.kl_all + expected.kl_small) / 2 if expected.is_small.any() else expected.kl_all

    def measure_exposure(self, setting: _Setting) -> float:
        """Expected exposure of lone workers; infinite where the setting cannot be certified."""
        if setting not in self._exposed:
            privacy, parameters = self.parameters(setting)
            prior = self._priors.of(parameters.prior)
            can_be = self.measured.get(setting) is not None
            self._exposed[setting] = (
                expected_exposure(self._public, prior, privacy, parameters) if can_be else np.inf
            )
        return self._exposed[setting]

    def is_allowed(self, setting: _Setting) -> bool:
        """Whether a measured setting keeps to the ceiling on exposure."""
        return self.most_exposed is None or self.measure_exposure(setting) <= self.most_exposed

    def least_exposed(self) -> _Setting:
        """The least exposed of all settings that were measured."""
        return min(self.measured, key=self.measure_exposure)

    def descend(self, setting: _Setting, priors: tuple[Prior, ...]) -> _Setting:
        """Change one choice at a time, as long as that helps."""
        steps: tuple[Callable[[_Setting], list[_Setting]], ...] = (
            _tract_radii,
            _puma_radii,
            lambda at: [replace(at, prior=prior) for prior in priors],
            lambda at: [replace(at, min_retention=least) for least in MIN_RETENTIONS],
            lambda at: [replace(at, retention_scale=scale) for scale in RETENTION_SCALES],
            lambda at: [replace(at, strength=strength) for strength in STRENGTHS],
        )
        for _ in range(_MOST_ROUNDS):
            before = setting
            for step in steps:
                setting = self._best([setting, *step(setting)])
            if setting == before:
                break
        return setting

    def _best(self, settings: list[_Setting]) -> _Setting:
        """The first unless another is worth the change."""
        best = min(settings, key=self.objective)
        return best if self.objective(best) < _WORTH_IT * self.objective(settings[0]) else settings[0]


def _tract_radii(at: _Setting) -> list[_Setting]:
    return [
        replace(at, tract_radius_mi=radius, puma_radius_mi=max(radius, at.puma_radius_mi))
        for radius in TRACT_RADII_MI
    ]


def _puma_radii(at: _Setting) -> list[_Setting]:
    return [replace(at, puma_radius_mi=r) for r in PUMA_RADII_MI if r >= at.tract_radius_mi]
