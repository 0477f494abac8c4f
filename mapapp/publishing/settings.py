"""From command-line options to the engine's parameter types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, get_args

from engine.mechanisms.thetas import exponential_epsilon
from engine.parameters import (
    Mechanism,
    Number,
    Prior,
    PrivacyParameters,
    SynthesisParameters,
    Unit,
    exact_fraction,
)
from engine.sound import comparable_epsilon_final, require_fixed_count
from geodata.store import open_store
from mapapp.base.errors import UsageError
from mapapp.publishing.certificate.exponential import stated_privacy
from mapapp.publishing.chosen_setting import Choice
from mapapp.publishing.drawn_design import COMPARED_MECHANISMS
from mapapp.publishing.presets import AUTO, DEFAULT_PRESET, DESIGNED, PRESETS, Option, Options, with_preset

DEFAULT_EPSILON = "4.6"
DEFAULT_DELTA = "1e-6"
DEFAULT_MIN_RETENTION = "0.025"

_OF_PRUNED = ("accountant", "min_retention", "retention_scale", "strength")
_OPTIONAL = ("strength", "q50_mi", "q90_mi", "retention_scale", "tract_radius_mi", "puma_radius_mi")

_NOT_SET = (
    "epsilon",
    "epsilon_final",
    "delta",
    "design",
    "most_exposed",
    "unit",
    "clean",
    "far_state_miles",
    "prior_release",
)

NOT_GIVEN: Final[Options] = MappingProxyType(
    dict.fromkeys((*_OPTIONAL, *_OF_PRUNED, *_NOT_SET))
    | {"prior": "auto", "editing": "pool", "placement": "population", "replication": False}
)
"""The options of a setting as they are where none is given."""


def parameters_of(dataset: Path, options: Options) -> tuple[PrivacyParameters, SynthesisParameters]:
    """Make the parameters of a release from the options of `synthesize`; those that are left out are not given.

    `prior` "auto" becomes "flows" if the dataset has a public flow table or a `prior_release` is given, else
    "gravity". The 75th percentile belongs to the published defaults; with other percentiles it is left out.

    Raises
    ------
    UsageError, ParameterError
        Options contradict each other, or a value is outside its range.
    """
    given = {**NOT_GIVEN, **options}
    options = with_preset(given)
    _refuse_preset_epsilon(given, options)
    privacy, parameters = _setting_of(options)
    return privacy, replace(parameters, prior=_prior(dataset, options["prior"], options.get("prior_release")))


def preset_of(
    privacy: PrivacyParameters, parameters: SynthesisParameters, design: Mapping[str, object] | None
) -> str | None:
    """The preset with the options of a setting, whatever its prior; None if no preset has the same options.

    Parameters
    ----------
    privacy, parameters
        The setting.
    design : mapping or None
        How `--design auto` chose what the preset leaves open; None where it did not.
    """
    designed = design is not None
    for name in PRESETS:
        wanted_privacy, wanted = preset_setting(name, parameters.prior)
        if designed:
            radii = (parameters.tract_radius_mi, parameters.puma_radius_mi)
            wanted = replace(wanted, tract_radius_mi=radii[0], puma_radius_mi=radii[1])
        stated = [stated_privacy(one, parameters.mechanism) for one in (privacy, wanted_privacy)]
        is_same = wanted == parameters and stated[0] == stated[1] and designed == is_designed(name)
        if is_same and _has_ceiling(name, design):
            return name
    return None


def _has_ceiling(preset: str, design: Mapping[str, object] | None) -> bool:
    """Whether a choice had the preset's ceiling on exposure; certificates of earlier versions do not say."""
    if design is None or "most_exposed" not in design:
        return True
    return design["most_exposed"] == preset_ceiling(preset)


def preset_ceiling(preset: str) -> float | None:
    """The ceiling on exposure of a preset whose radii `--design auto` chooses."""
    ceiling = PRESETS[preset].get("most_exposed")
    return None if ceiling is None else float(ceiling)


def preset_setting(name: str, prior: Prior) -> tuple[PrivacyParameters, SynthesisParameters]:
    """The setting of a preset with a prior, before a design chooses what it leaves open."""
    privacy, parameters = _setting_of(with_preset({**NOT_GIVEN, "preset": name}))
    return privacy, replace(parameters, prior=prior)


def is_designed(preset: str) -> bool:
    """Whether a preset leaves the radii to `--design auto`."""
    return PRESETS[preset].get("design") == "auto"


def _setting_of(options: Options) -> tuple[PrivacyParameters, SynthesisParameters]:
    """The parameters that filled-in options say; the prior is left at its default."""
    asked = options["mechanism"]
    mechanism = COMPARED_MECHANISMS[0] if asked == AUTO else asked
    if asked == AUTO:
        _refuse_what_some_ignore(options)
    else:
        _refuse_what_it_ignores(mechanism, options)
    epsilon, whole = options["epsilon"], options["epsilon_final"]
    if mechanism == "exponential" and whole is None:
        # Nothing is pruned, so epsilon is the whole promise.
        epsilon, whole = None, epsilon
    privacy = privacy_of(
        accountant=_given(options, "accountant", "sound"),
        epsilon=epsilon,
        epsilon_final=whole,
        delta=_given(options, "delta", DEFAULT_DELTA) if _takes_delta(options) else DEFAULT_DELTA,
        min_retention=_given(options, "min_retention", DEFAULT_MIN_RETENTION),
    )
    chosen: dict[str, Option] = {name: options[name] for name in _OPTIONAL if options[name] is not None}
    chosen["mechanism"] = mechanism
    if options.get("unit") not in (None, AUTO):
        chosen["unit"] = options["unit"]
    if options.get("clean") is not None:
        chosen["clean"] = options["clean"]
    if options.get("far_state_miles") not in (None, "none"):
        chosen["far_state_miles"] = float(options["far_state_miles"])
    if "q50_mi" in chosen or "q90_mi" in chosen:
        chosen["q75_mi"] = None
    for name in ("editing", "placement", "replication"):
        chosen[name] = options[name]
    parameters = SynthesisParameters(**chosen)
    require_fixed_count(privacy, parameters)
    require_range(privacy, mechanism)
    return privacy, parameters


def require_range(privacy: PrivacyParameters, mechanism: Mechanism) -> None:
    """Refuse a promise that a mechanism cannot make, before anything is read (ParameterError)."""
    if mechanism == "exponential":
        exponential_epsilon(privacy.epsilon)


def _refuse_preset_epsilon(given: Options, filled: Options) -> None:
    """Refuse the paper accountant with a whole epsilon that a preset gives, and name the preset."""
    whole = filled["epsilon_final"]
    if filled["accountant"] != "paper" or given["epsilon_final"] is not None or whole is None:
        return
    if filled["mechanism"] == "dirichlet-multinomial":
        raise UsageError(
            f"--accountant paper with --preset {given.get('preset') or DEFAULT_PRESET}, which gives --epsilon-final "
            f"{whole}: this accountant certifies a bound before pruning; give --epsilon, or add --preset onthemap-v3"
        )


def _given(options: Options, name: str, default: str) -> Option:
    return default if options[name] is None else options[name]


def _takes_delta(options: Options) -> bool:
    """Whether delta means something to the mechanism, or to one of those that are compared."""
    mechanism = options["mechanism"]
    return not _is_pure(options) if mechanism == AUTO else bool(mechanism != "exponential")


def _is_pure(options: Options) -> bool:
    """Whether delta 0 is asked for, which leaves out the mechanism that needs more."""
    return options["delta"] is not None and exact_fraction(options["delta"], "delta") == 0


def _refuse_what_some_ignore(options: Options) -> None:
    """Refuse options that mean something to some of the compared mechanisms only."""
    given = {name: options[name] for name in _OF_PRUNED if options[name] is not None}
    given |= {"unit": options["unit"]} if options.get("unit") in ("block", "tract") else {}
    given |= {"editing": "drop"} if options["editing"] == "drop" else {}
    given |= {"replication": ""} if options["replication"] else {}
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')} {value}".strip()
        raise UsageError(
            f"{flag} with --mechanism auto: not all of {', '.join(COMPARED_MECHANISMS)} take it; leave it out, or name "
            "a mechanism"
        )


def _refuse_what_it_ignores(mechanism: Mechanism, options: Options) -> None:
    """Refuse options that a mechanism does not use."""
    if mechanism != "exponential":
        if options.get("unit") is not None:
            raise UsageError(
                f"--unit {options['unit']} with --mechanism {mechanism}: only the exponential mechanism draws units; "
                "leave it out"
            )
        return
    for name in (*_OF_PRUNED, "delta", "replication"):
        value = options[name]
        if value is None or value is False or (name == "delta" and not exact_fraction(value, "delta")):
            continue  # the mechanism promises a delta of 0 anyway
        flag = f"--{name.replace('_', '-')}{'' if value is True else f' {value}'}"
        raise UsageError(
            f"{flag} with --mechanism {mechanism}: nothing there depends on it; leave it out, or add --preset "
            "onthemap-v3, to which it belongs"
        )


def designed_choice(options: Options) -> Choice | None:
    """What `--design auto` may choose from; None where no setting is to be chosen.

    Raises
    ------
    UsageError
        An option asks for what would be chosen, or no setting can be chosen for the accountant.
    """
    given_clean = options.get("clean")
    options = with_preset({**NOT_GIVEN, **options})
    most_exposed = _ceiling(options)
    if options["design"] is None:
        if most_exposed is not None:
            raise UsageError(
                f"--most-exposed {most_exposed:g} without --design auto: nothing is chosen, so it has no effect; give "
                "both, or leave it out"
            )
        if options.get("unit") == AUTO:
            raise UsageError(
                "--unit auto without --design auto: give both, or name a unit: cell, block or tract"
            )
        if options["mechanism"] == AUTO:
            raise UsageError("--mechanism auto without --design auto: give both, or name a mechanism")
        return None
    given = [flag for name, flag in DESIGNED.items() if options[name] is not None]
    if given:
        raise UsageError(f"--design auto chooses {given[0]} itself; leave it out, or leave --design out")
    mechanisms: tuple[Mechanism, ...] = COMPARED_MECHANISMS if options["mechanism"] == AUTO else ()
    if mechanisms and _is_pure(options):
        mechanisms = ("exponential",)
    if options["accountant"] == "paper":
        raise UsageError(
            "--design auto with --accountant paper: it chooses weights that the sound accountant certifies; leave out "
            "one"
        )
    all_priors = options.get("prior_release") is not None or options["prior"] == "auto"
    unit = options.get("unit") or "cell"
    return Choice(
        priors=() if all_priors else (options["prior"],),
        units=get_args(Unit) if unit == AUTO else (unit,),
        mechanisms=mechanisms,
        cleaning=given_clean is None and bool(options["clean"]),
        most_exposed=most_exposed,
    )


def _ceiling(options: Options) -> float | None:
    """The ceiling on exposure that options ask for."""
    asked = options.get("most_exposed")
    if asked in (None, "none"):
        return None
    most = float(asked)
    if not 0 < most <= 1:
        raise UsageError(f"--most-exposed {asked}: it must be a chance above 0 and at most 1, or none")
    return most


def privacy_of(
    *,
    accountant: str,
    epsilon: Number | None = None,
    epsilon_final: Number | None = None,
    delta: Number,
    min_retention: Number,
) -> PrivacyParameters:
    """The promise, from epsilon before pruning or from the whole.

    `epsilon` means the same under every accountant: the bound before pruning, to which pruning adds
    ln(1/min_retention) + ln 2 (P08 Theorem 5.2). The paper accountant certifies it and adds. The sound accountant
    certifies the whole: `epsilon_final` if it is given, else what the paper accountant would promise, so that
    one setting makes one promise and the accountants differ in noise alone.

    Raises
    ------
    UsageError
        Both are given, or `epsilon_final` with the paper accountant.
    """
    if epsilon is not None and epsilon_final is not None:
        raise UsageError(
            f"--epsilon {epsilon} and --epsilon-final {epsilon_final}: give one, the bound before pruning or the "
            "whole promise"
        )
    before = DEFAULT_EPSILON if epsilon is None else epsilon
    if accountant == "sound":
        whole = epsilon_final
        if whole is None:
            asked = PrivacyParameters(epsilon=before, delta=delta, min_retention=min_retention)
            whole = comparable_epsilon_final(asked.epsilon, asked.min_retention)
        return PrivacyParameters(epsilon=whole, delta=delta, min_retention=min_retention, accountant="sound")
    if epsilon_final is not None:
        raise UsageError(
            f"--epsilon-final {epsilon_final} with accountant {accountant!r}: it certifies a bound before pruning; "
            "give --epsilon, or use --accountant sound"
        )
    return PrivacyParameters(epsilon=before, delta=delta, min_retention=min_retention, accountant="paper")


def _prior(dataset: Path, asked: Prior | Literal["auto"], last_release: Path | None) -> Prior:
    if last_release is not None:
        if asked not in ("auto", "flows"):
            raise UsageError(
                f"--prior {asked} and --prior-release {last_release}: give one; a release is a prior of flows"
            )
        return "flows"
    if asked != "auto":
        return asked
    store = open_store(dataset, "dataset", verify=False)
    return "flows" if store.manifest["files"]["prior.parquet"]["rows"] else "gravity"
