"""From the options of a release to the engine's parameter types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Final, get_args

from engine.accountant.sound import comparable_epsilon_final, require_fixed_count
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
from geodata.store.store import open_store
from mapapp.base.errors import UsageError
from mapapp.kinds.release.choose.design_by_reader_errors import COMPARED_MECHANISMS
from mapapp.kinds.release.choose.setting_choice import Choice
from mapapp.kinds.release.make.options import (
    AUTO,
    PRESETS,
    RELEASE_OPTIONS,
    Preset,
    ReleaseOptions,
    fill_in_preset,
)

DEFAULT_EPSILON = "4.6"
DEFAULT_DELTA = "1e-6"
DEFAULT_MIN_RETENTION = "0.025"

_SHAPE: Final = tuple(
    field.name
    for field in fields(SynthesisParameters)
    if field.name in RELEASE_OPTIONS and field.name not in ("prior", "cascade")
)
"""Options that are parameters of the synthesizers under the same name."""


def parameters_of(dataset: Path, options: ReleaseOptions) -> tuple[PrivacyParameters, SynthesisParameters]:
    """Make the parameters of a release from its options.

    `prior` "auto" becomes "flows" if the dataset has a public flow table or a `prior_release` is given, else
    "gravity". The 75th percentile belongs to the published defaults; with other percentiles it is left out.

    Raises
    ------
    UsageError, ParameterError
        Options contradict each other, or a value is outside its range.
    """
    filled = fill_in_preset(options)
    _refuse_preset_epsilon(options, filled)
    privacy, parameters = _setting_of(filled)
    return privacy, replace(parameters, prior=_prior(dataset, filled))


def preset_of(
    privacy: PrivacyParameters, parameters: SynthesisParameters, design: Mapping[str, object] | None
) -> Preset | None:
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
        stated = [promise.stated(parameters.mechanism) for promise in (privacy, wanted_privacy)]
        is_same = wanted == parameters and stated[0] == stated[1] and designed == is_designed(name)
        if is_same and _has_ceiling(name, design):
            return name
    return None


def _has_ceiling(preset: Preset, design: Mapping[str, object] | None) -> bool:
    """Whether a choice had the preset's ceiling on exposure; certificates of earlier versions do not say."""
    if design is None or "most_exposed" not in design:
        return True
    return design["most_exposed"] == preset_ceiling(preset)


def preset_ceiling(preset: Preset) -> float | None:
    """The ceiling on exposure of a preset whose radii `--design auto` chooses."""
    ceiling = PRESETS[preset].get("most_exposed")
    return None if ceiling is None else float(ceiling)


def preset_setting(name: Preset, prior: Prior) -> tuple[PrivacyParameters, SynthesisParameters]:
    """The setting of a preset with a prior, before a design chooses what it leaves open."""
    privacy, parameters = _setting_of(fill_in_preset(ReleaseOptions(preset=name)))
    return privacy, replace(parameters, prior=prior)


def is_designed(preset: Preset) -> bool:
    """Whether a preset leaves the radii to `--design auto`."""
    return PRESETS[preset].get("design") == "auto"


def _setting_of(options: ReleaseOptions) -> tuple[PrivacyParameters, SynthesisParameters]:
    """The parameters that filled-in options say; the prior is left at its default."""
    mechanism: Mechanism = COMPARED_MECHANISMS[0]
    if options.mechanism is None or options.mechanism == AUTO:
        _refuse_what_some_ignore(options)
    else:
        mechanism = options.mechanism
        _refuse_what_it_ignores(mechanism, options)
    epsilon, whole = options.epsilon, options.epsilon_final
    if mechanism == "exponential" and whole is None:
        # Nothing is pruned, so epsilon is the whole promise.
        epsilon, whole = None, epsilon
    privacy = privacy_of(
        accountant=options.accountant or "sound",
        epsilon=epsilon,
        epsilon_final=whole,
        delta=DEFAULT_DELTA if options.delta is None or not _takes_delta(options) else options.delta,
        min_retention=DEFAULT_MIN_RETENTION if options.min_retention is None else options.min_retention,
    )
    shape: dict[str, object] = {
        name: value for name in _SHAPE if (value := getattr(options, name)) not in (None, AUTO)
    }
    if "q50_mi" in shape or "q90_mi" in shape:
        shape["q75_mi"] = False
    if options.cascade == "on":
        shape["cascade"] = True
    parameters = SynthesisParameters.from_dict(shape | {"mechanism": mechanism})
    if options.cascade == AUTO:  # it is chosen or left out, and must be allowed
        replace(parameters, cascade=True)
    require_fixed_count(privacy, parameters)
    require_range(privacy, mechanism)
    return privacy, parameters


def require_range(privacy: PrivacyParameters, mechanism: Mechanism) -> None:
    """Refuse a promise that a mechanism cannot make, before anything is read (ParameterError)."""
    if mechanism == "exponential":
        exponential_epsilon(privacy.epsilon)


def _refuse_preset_epsilon(given: ReleaseOptions, filled: ReleaseOptions) -> None:
    """Refuse the paper accountant with a whole epsilon that a preset gives, and name the preset."""
    whole = filled.epsilon_final
    if filled.accountant != "paper" or given.epsilon_final is not None or whole is None:
        return
    if filled.mechanism == "dirichlet-multinomial":
        raise UsageError(
            f"--accountant paper with --preset {given.preset}, which gives --epsilon-final "
            f"{whole}: this accountant certifies a bound before pruning; give --epsilon, or add --preset onthemap-v3"
        )


def _takes_delta(options: ReleaseOptions) -> bool:
    """Whether delta means something to the mechanism, or to one of those that are compared."""
    return not _is_pure(options) if options.mechanism == AUTO else options.mechanism != "exponential"


def _is_pure(options: ReleaseOptions) -> bool:
    """Whether delta 0 is asked for, which leaves out the mechanism that needs more."""
    return options.delta is not None and exact_fraction(options.delta, "delta") == 0


def _refuse_what_some_ignore(options: ReleaseOptions) -> None:
    """Refuse options that mean something to some of the compared mechanisms only."""
    for name, option in RELEASE_OPTIONS.items():
        value = getattr(options, name)
        is_of_all = set(option.mechanisms) >= set(COMPARED_MECHANISMS)
        if _is_given(value) and (
            # The mechanism that does not use delta or cleaning is compared without it.
            value in ("block", "tract", "drop") or not (is_of_all or name in ("delta", "clean", "unit"))
        ):
            raise UsageError(
                f"{_write_option(name, value)} with --mechanism auto: not all of {', '.join(COMPARED_MECHANISMS)} take "
                "it; leave it out, or name a mechanism"
            )


def _refuse_what_it_ignores(mechanism: Mechanism, options: ReleaseOptions) -> None:
    """Refuse options that a mechanism does not use."""
    for name, option in RELEASE_OPTIONS.items():
        value = getattr(options, name)
        if mechanism in option.mechanisms or not _is_given(value):
            continue
        if name == "delta" and not exact_fraction(value, "delta"):
            continue  # the mechanism promises a delta of 0 anyway
        raise UsageError(
            f"{_write_option(name, value)} with --mechanism {mechanism}: it is for the "
            f"{' or '.join(option.mechanisms)} mechanism only; leave it out"
            f"{', or add --preset onthemap-v3' * (mechanism == 'exponential')}"
        )


def _is_given(value: object) -> bool:
    return value is not None and value is not False


def _write_option(name: str, value: object) -> str:
    """An option as it is typed."""
    return f"--{RELEASE_OPTIONS[name].flag}{'' if value is True else f' {value}'}"


def designed_choice(options: ReleaseOptions) -> Choice | None:
    """What `--design auto` may choose from; None where no setting is to be chosen.

    Raises
    ------
    UsageError
        An option asks for what would be chosen, or no setting can be chosen for the accountant.
    """
    asked, options = options, fill_in_preset(options)
    most_exposed = _ceiling(options)
    if options.design is None:
        if most_exposed is not None:
            raise UsageError(
                f"--most-exposed {most_exposed:g} without --design auto: nothing is chosen, so it has no effect; give "
                "both, or leave it out"
            )
        if options.unit == AUTO:
            raise UsageError(
                "--unit auto without --design auto: give both, or name a unit: cell, block or tract"
            )
        if options.mechanism == AUTO:
            raise UsageError("--mechanism auto without --design auto: give both, or name a mechanism")
        return Choice(units=(options.unit or "cell",), cascade=True) if options.cascade == AUTO else None
    if options.cascade in ("on", AUTO):
        raise UsageError(
            f"--cascade {options.cascade} with --design auto: radii are not chosen for the cascade; give "
            "--tract-radius and --puma-radius"
        )
    for name, option in RELEASE_OPTIONS.items():
        if option.is_designed and getattr(options, name) is not None:
            raise UsageError(
                f"--design auto chooses --{option.flag} itself; leave it out, or leave --design out"
            )
    mechanisms: tuple[Mechanism, ...] = COMPARED_MECHANISMS if options.mechanism == AUTO else ()
    if mechanisms and _is_pure(options):
        mechanisms = ("exponential",)
    if options.accountant == "paper":
        raise UsageError(
            "--design auto with --accountant paper: it chooses weights that the sound accountant certifies; leave out "
            "one"
        )
    unit = options.unit or "cell"
    return Choice(
        priors=() if options.prior_release is not None or options.prior == AUTO else (options.prior,),
        units=get_args(Unit) if unit == AUTO else (unit,),
        mechanisms=mechanisms,
        cleaning=asked.clean is None and bool(options.clean),
        most_exposed=most_exposed,
    )


def _ceiling(options: ReleaseOptions) -> float | None:
    """The ceiling on exposure that filled-in options ask for."""
    most = options.most_exposed
    if most is None or most == "none":
        return None
    if not 0 < most <= 1:
        raise UsageError(f"--most-exposed {most}: it must be a chance above 0 and at most 1, or none")
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


def _prior(dataset: Path, options: ReleaseOptions) -> Prior:
    asked, last_release = options.prior, options.prior_release
    if last_release is not None:
        if asked not in (AUTO, "flows"):
            raise UsageError(
                f"--prior {asked} and --prior-release {last_release}: give one; a release is a prior of flows"
            )
        return "flows"
    if asked != AUTO:
        return asked
    store = open_store(dataset, "dataset", verify=False)
    return "flows" if store.manifest["files"]["prior.parquet"]["rows"] else "gravity"
