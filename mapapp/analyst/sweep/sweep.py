"""Validity against a parameter: settings of a grid, each certified and measured on the confidential homes.

CONFIDENTIAL, every row: for the analyst's screen and files, never for publication.

A setting that no release could be made with becomes a row that says why. What was measured is kept by its fingerprint,
a hash of the dataset's manifest, of the setting and of how it was measured: equal fingerprints, equal rows.

Source: docs/theory/method.md, section 10 (sweeps); P10 "Varying epsilon", "Varying min_p", "Varying delta".
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from engine.errors import EngineError, ParameterError
from engine.parameters import PrivacyParameters, SynthesisParameters, Unit, exact_fraction
from engine.streams import PublicSeed, SecretKey, attempt_key
from engine.validity import (
    SMALL_WORKPLACE,
    cell_counts,
    kl_divergence,
    kl_of_counts,
    squared_error,
    total_variation,
)
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.analyst.validity.tract_workers import Panel
from mapapp.analyst.validity.validity import measure_setting
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, part_of, silent
from mapapp.kinds.base.geography import Geography, Ints
from mapapp.kinds.base.option import replace_values
from mapapp.kinds.release.choose.public_part import PublicPart, read_public_part
from mapapp.kinds.release.choose.setting_choice import Choice, choose_setting
from mapapp.kinds.release.make.batch import draw_workers
from mapapp.kinds.release.make.certified_weights import certify_weights
from mapapp.kinds.release.make.options import SWEPT, ReleaseOptions, fill_in_preset
from mapapp.kinds.release.make.prior import PublicPrior
from mapapp.kinds.release.make.settings import DEFAULT_EPSILON, designed_choice, parameters_of
from mapapp.kinds.release.make.support import build_support

# A setting drawn several times on the analyst's machine, and how far each draw is from the real homes.
#
# Draws are made with keys that follow from the published test key, and nothing of them is written: only means over
# destinations come out. Confidential all the same.
#
# Source: docs/theory/method.md, section 10.

Floats = npt.NDArray[np.float64]

_KINDS: Final = ("kl_drawn", "imse_drawn", "moved", "infinite")

DRAWN: Final = tuple(f"{kind}_{who}" for kind in _KINDS for who in ("all", "small"))
"""Names of what is measured on a draw, as of a release in :mod:`mapapp.analyst.validity.validity`."""


def drawn_measures(
    data: AnalystData,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    n_draws: int,
    *,
    tracts: Ints | None = None,
    report: Report = silent,
) -> dict[str, Floats]:
    """Draw a setting `n_draws` times and measure each draw as a release is measured.

    The first draw is the one that `synthesize --test-key` makes. Domain editing has the public seed of tests in all of
    them, so that they differ by the draw of workers alone.

    Parameters
    ----------
    data : AnalystData
    privacy, parameters
        The setting.
    n_draws : int
        0 or more.
    tracts : int64[T], optional
        Positions of the destination tracts to draw; all by default.
    report : callable
        Called with (stage, done, total) before every part.

    Returns
    -------
    dict of str to float64[n_draws]
        By the names of `DRAWN`: means over destinations weighted by workers, NaN without destinations.

    Raises
    ------
    EngineError
        The setting cannot be certified.
    """
    if not n_draws:
        return {}
    data = data.select_drawn_data(parameters)
    keys = [_key(number) for number in range(n_draws)]
    prior = data.prior(parameters)
    sums = np.zeros((len(DRAWN), n_draws))
    weights = np.zeros(len(DRAWN))
    for panel in data.panels(tracts, report):
        added, counted = _measure_panel(panel, data.geography, prior, keys, privacy, parameters)
        sums += added
        weights += counted
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(weights[:, None] > 0, sums / weights[:, None], np.nan)
    return dict(zip(DRAWN, means, strict=True))


def _key(number: int) -> SecretKey:
    test_key = SecretKey.for_tests()
    return test_key if number == 0 else attempt_key(test_key, (1 << 32) - number)


def _measure_panel(
    panel: Panel,
    geography: Geography,
    prior: PublicPrior,
    keys: Sequence[SecretKey],
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
) -> tuple[Floats, Floats]:
    """Sums of workers times measures [8, n_draws], and of workers [8]."""
    inputs, seed = panel.inputs, PublicSeed.for_tests()
    support = build_support(seed, geography.tracts, inputs.destination_tract, prior, privacy, parameters)
    weights = certify_weights(inputs, support, privacy, parameters.mechanism).of_synthesizers()
    ptr = inputs.worker_ptr[inputs.destination_ptr]
    tract = np.repeat(inputs.tract, inputs.count)
    real = cell_counts(ptr, panel.cell[tract, panel.home_tract])
    n = np.diff(ptr).astype(np.float64)
    weight = np.stack([n, n * (n <= SMALL_WORKPLACE)])
    sums = np.empty((len(DRAWN), len(keys)))
    for column, key in enumerate(keys):
        drawn = draw_workers(key, inputs, geography, support, weights, privacy, parameters)
        home = geography.tract_of_block[drawn.home_block]
        synthetic = cell_counts(ptr, panel.cell[tract, home])
        sums[:, column] = (np.stack(_measures(real, synthetic, n)) @ weight.T).ravel()
    return sums, np.tile(weight.sum(axis=1), len(_KINDS))


def _measures(real: Ints, drawn: Ints, n: Floats) -> list[Floats]:
    """Of each destination: KL with one worker added, squared error, share moved, and whether plain KL is infinite."""
    plain = kl_divergence(real / n[:, None], drawn / n[:, None])
    return [
        kl_of_counts(real, drawn),
        squared_error(real, drawn),
        total_variation(real, drawn),
        np.isinf(plain).astype(np.float64),
    ]


Cell = str | int | float | None
"""A value of a row: text, a count, a number that may be infinite, or nothing."""

_SUMMARY: Final = (
    "kl_all",
    "kl_small",
    "imse_all",
    "imse_small",
    "prior_mass",
    "kept_prior_mass",
    "prior_worker_share",
    "n_support",
    "n_support_kept",
    "edited_out_all",
    "edited_out_small",
    "distance_real_mi",
    "distance_expected_mi",
)
"""What :mod:`mapapp.analyst.validity.validity` calls the headline numbers of a setting."""

COLUMNS: Final[Mapping[str, Callable[[str], Cell]]] = {
    **dict.fromkeys(("mechanism", "unit", "accountant", "epsilon"), str),
    **dict.fromkeys(("epsilon_final", "delta", "delta_bound", "min_retention"), float),
    "prior": str,
    **dict.fromkeys(("strength", "retention_scale"), float),
    "editing": str,
    **dict.fromkeys(("q50_mi", "q90_mi", "tract_radius_mi", "puma_radius_mi"), float),
    **dict.fromkeys(("far_state_miles", "clean"), str),
    "placement": str,
    "basis": str,
    **dict.fromkeys(_SUMMARY, float),
    "seeds": int,
    **{f"{name}{end}": float for name in DRAWN for end in ("", "_low", "_high")},
    **dict.fromkeys(("tracts_measured", "tracts", "workers_measured", "workers"), int),
    "refusal": str,
    "fingerprint": str,
}
"""Every value of a row and how it is read from text."""

_FORMAT: Final = 3
_STAGE: Final = "measuring settings"
_CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One parameter of a sweep.

    Attributes
    ----------
    name : str
        Long name of the option, such as "min-retention".
    values : tuple of (str, value)
        As given, and as the option reads it.
    """

    name: str
    values: tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptSetting:
    """One setting of a sweep.

    Attributes
    ----------
    axis_values : dict of str to str
        Value of every axis, as given.
    epsilon : str or None
        Bound before pruning that was asked for; None where the whole promise was.
    privacy, parameters
        None where the options do not go together.
    design : Choice or None
        As for :func:`mapapp.kinds.release.make.run.run_synthesis`.
    refusal : str or None
        Why the options do not go together.
    """

    axis_values: dict[str, str]
    epsilon: str | None = None
    privacy: PrivacyParameters | None = None
    parameters: SynthesisParameters | None = None
    design: Choice | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptRow:
    """A setting and what was found.

    Attributes
    ----------
    axis_values : dict of str to str
    values : dict of str to value
        By the names of `COLUMNS`; None if there is no value.
    """

    axis_values: dict[str, str]
    values: dict[str, Cell]

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        plain = {
            name: "infinite" if isinstance(value, float) and math.isinf(value) else value
            for name, value in self.values.items()
        }
        return {"asked": self.axis_values, **plain}


def swept_settings(data: AnalystData, options: ReleaseOptions, axes: Sequence[Axis]) -> list[SweptSetting]:
    """Every combination of the axes' values over a base setting, the last axis fastest.

    Parameters
    ----------
    data : AnalystData
    options : ReleaseOptions
    axes : sequence of Axis

    Raises
    ------
    UsageError
        A value is not valid in any of its settings.
    """
    settings = [
        _setting(data, options, axes, chosen) for chosen in itertools.product(*(axis.values for axis in axes))
    ]
    for axis in axes:
        for text, _ in axis.values:
            with_value = [setting for setting in settings if setting.axis_values[axis.name] == text]
            if all(setting.refusal for setting in with_value):
                raise UsageError(f"--over {axis.name}={text}: {with_value[0].refusal}")
    return settings


def _setting(
    data: AnalystData, options: ReleaseOptions, axes: Sequence[Axis], chosen: Sequence[tuple[str, object]]
) -> SweptSetting:
    axis_values = {axis.name: text for axis, (text, _) in zip(axes, chosen, strict=True)}
    changed = {SWEPT[axis.name].name: value for axis, (_, value) in zip(axes, chosen, strict=True)}
    changed_options = replace_values(options, changed)
    filled = fill_in_preset(changed_options)
    try:
        privacy, parameters = parameters_of(data.store.path, changed_options)
        if parameters.prior == "flows" and data.geography.flows.empty:
            data.prior(parameters)  # says what is missing
        design = designed_choice(changed_options)
    except (EngineError, UsageError) as error:
        return SweptSetting(axis_values=axis_values, refusal=one_line(error))
    whole = filled.epsilon_final is not None
    return SweptSetting(
        axis_values=axis_values,
        epsilon=None if whole else filled.epsilon or DEFAULT_EPSILON,
        privacy=privacy,
        parameters=parameters,
        design=design,
    )


def run_sweep(
    data: AnalystData,
    settings: Sequence[SweptSetting],
    *,
    tracts: Ints | None = None,
    seeds: int = 0,
    kept: Mapping[str, dict[str, Cell]] | None = None,
    report: Report = silent,
) -> Iterator[SweptRow]:
    """Measure settings one after the other, in their order.

    Parameters
    ----------
    data : AnalystData
    settings : sequence of SweptSetting
    tracts : int64[T], optional
        Positions of the destination tracts to measure on; all by default.
    seeds : int
        How often to draw each setting with the published test key; not at all by default.
    kept : mapping of str to dict, optional
        Values of settings measured before, by fingerprint; they are not measured again.
    report : callable
        Called with (stage, done, total); what it raises stops the sweep.

    Yields
    ------
    SweptRow
    """
    public = cache(lambda units: read_public_part(data.store, units))
    known = {} if kept is None else kept
    for number, setting in enumerate(settings):
        report(_STAGE, 100 * number, 100 * len(settings))
        mark = fingerprint(data, setting, tracts, seeds)
        values = known.get(mark) if setting.refusal is None else _refused_cells(setting, setting.refusal)
        if values is None:
            within = part_of(report, number, len(settings), stage=_STAGE)
            values = _measure_cells(data, setting, tracts, seeds, public, within)
        full: dict[str, Cell] = {**dict.fromkeys(COLUMNS), **values, "fingerprint": mark}
        yield SweptRow(axis_values=setting.axis_values, values=full)
    report(_STAGE, 100 * len(settings), 100 * len(settings))


def fingerprint(data: AnalystData, setting: SweptSetting, tracts: Ints | None, seeds: int) -> str:
    """Sha256 of everything that a row depends on: the dataset's manifest, the setting, the tracts, the draws."""
    about = {
        "format": _FORMAT,
        "version": version("commutemap"),
        "dataset": data.store.manifest,
        "asked": [setting.epsilon, setting.design, setting.axis_values if setting.refusal else None],
        "privacy": setting.privacy and setting.privacy.to_dict(),
        "synthesis": setting.parameters and setting.parameters.to_dict(),
        "tracts": None if tracts is None else tracts.tolist(),
        "seeds": seeds,
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _measure_cells(
    data: AnalystData,
    setting: SweptSetting,
    tracts: Ints | None,
    seeds: int,
    public: Callable[[tuple[Unit, ...]], PublicPart],
    report: Report,
) -> dict[str, Cell]:
    privacy, parameters = setting.privacy, setting.parameters
    assert privacy is not None
    assert parameters is not None
    try:
        if setting.design is not None:
            design = setting.design
            privacy, parameters, _ = choose_setting(public(design.units), privacy, parameters, design)
        validity = measure_setting(data, privacy, parameters, tracts=tracts, report=report)
        draws = drawn_measures(data, privacy, parameters, seeds, tracts=tracts, report=report)
    except EngineError as error:
        return _refused_cells(replace(setting, privacy=privacy, parameters=parameters), one_line(error))
    certificate, scope = validity.facts["certificate"], validity.facts["scope"]
    return {
        **_describe_setting(setting.epsilon, privacy, parameters),
        **{name: certificate[name] for name in ("accountant", "epsilon_final", "delta", "delta_bound")},
        "refusal": certificate["refusal"],
        "basis": validity.basis,
        **{name: _number(validity.summary[name]) for name in _SUMMARY},
        **{name: int(scope[name]) for name in ("tracts_measured", "tracts", "workers_measured", "workers")},
        "seeds": seeds or None,
        **{
            key: value
            for name, of_seed in draws.items()
            for key, value in mean_and_interval(name, of_seed).items()
        },
    }


def _refused_cells(setting: SweptSetting, why: str) -> dict[str, Cell]:
    if setting.privacy is not None and setting.parameters is not None:
        return _describe_setting(setting.epsilon, setting.privacy, setting.parameters) | {"refusal": why}
    asked = {SWEPT[name].name: text for name, text in setting.axis_values.items()}
    return {name: _as_column(name, text) for name, text in asked.items()} | {"refusal": why}


def _as_column(name: str, text: str) -> Cell:
    if COLUMNS[name] is not float:
        return text
    try:
        return float(exact_fraction(text, name))
    except ParameterError:
        return None


def one_line(error: Exception) -> str:
    """What an error says, in one line."""
    return " ".join(str(error).split())


def _describe_setting(
    epsilon: str | None, privacy: PrivacyParameters, parameters: SynthesisParameters
) -> dict[str, Cell]:
    near, far = parameters.coarsening_radii_mi
    names = (
        *("mechanism", "unit", "prior", "strength", "retention_scale"),
        *("editing", "q50_mi", "q90_mi", "placement"),
    )
    return {
        "accountant": privacy.accountant,
        "epsilon": epsilon,
        "epsilon_final": float(privacy.epsilon) if privacy.accountant == "sound" else None,
        "delta": float(privacy.delta),
        "min_retention": float(privacy.min_retention),
        **{name: getattr(parameters, name) for name in names},
        "tract_radius_mi": float(near),
        "puma_radius_mi": float(far),
        "far_state_miles": "none"
        if parameters.far_state_miles is None
        else f"{parameters.far_state_miles:g}",
        "clean": "on" if parameters.clean else "off",
    }


def mean_and_interval(name: str, of_seed: Floats) -> dict[str, Cell]:
    """Mean over draws, and the interval that holds its expectation with 95% confidence (Student's t)."""
    mean = _number(float(of_seed.mean()))
    if of_seed.size < 2 or mean is None:
        return {name: mean, f"{name}_low": None, f"{name}_high": None}
    n = of_seed.size
    wide = float(stdtrit(n - 1, 0.5 + _CONFIDENCE / 2) * of_seed.std(ddof=1) / math.sqrt(n))
    return {name: mean, f"{name}_low": mean - wide, f"{name}_high": mean + wide}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
