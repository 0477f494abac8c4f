"""A setting: what the controls of the workbench say, as the engine's parameters, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NotRequired, TypedDict, cast, get_args

from engine.parameters import (
    Accountant,
    Editing,
    Mechanism,
    Prior,
    PrivacyParameters,
    SynthesisParameters,
    Unit,
    exact_fraction,
)
from engine.sound import comparable_epsilon_final, require_fixed_count
from mapapp.base.errors import UsageError
from mapapp.publishing.release_options import Preset
from mapapp.publishing.settings import (
    DEFAULT_DELTA,
    DEFAULT_EPSILON,
    DEFAULT_MIN_RETENTION,
    preset_setting,
    require_range,
)

ControlValue = str | bool | None
"""What a control holds: text, a switch's state, or nothing where a browser sent nothing."""
Values = Mapping[str, ControlValue]
"""Values of the controls by name."""

MEANS: Final = {"before": "Before pruning", "whole": "The whole, ε′"}
UNITS: Final[dict[Unit, str]] = {
    "cell": "Block and segment",
    "block": "Block",
    "tract": "Tract",
}
CLEANING: Final = {"off": "As drawn", "on": "Cleaned of noise"}
ELIMINATION_MI: Final = (500.0, 200.0, 100.0)
WHOLE_EARTH_MI: Final = 12_500.0
"""No place is farther away, so all states within this distance means that none is pooled."""

NUMBERS: Final = {
    "epsilon": "ε (epsilon)",
    "delta": "δ (delta)",
    "min_retention": "Least retention",
    "retention_scale": "Retention scale",
    "tract_radius": "Tracts within",
    "puma_radius": "PUMAs within",
    "far_states": "Separate states within",
    "q50": "Median commute",
    "q75": "75th percentile",
    "q90": "90th percentile",
    "beyond_100": "Eliminated beyond 100 mi",
    "beyond_200": "Eliminated beyond 200 mi",
    "beyond_500": "Eliminated beyond 500 mi",
    "strength": "Prior strength",
}
"""Controls that hold a number as text, and their labels."""

CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "means": tuple(MEANS),
    "editing": get_args(Editing),
    "prior": get_args(Prior),
    "accountant": get_args(Accountant),
    "mechanism": get_args(Mechanism),
    "unit": get_args(Unit),
    "cleaning": tuple(CLEANING),
}
"""Controls that hold one of a few."""

CONTROLS: Final = (*NUMBERS, *CHOICES, "replication")

UNUSED: Final[dict[str, tuple[str, ...]]] = {
    "exponential": ("accountant", "min_retention", "retention_scale", "strength", "delta"),
    "dirichlet-multinomial": ("unit", "cleaning"),
}
"""Controls that each mechanism ignores."""


class Distances(TypedDict):
    """What the controls say about distances, by the names of `SynthesisParameters`."""

    q50_mi: float
    q75_mi: float | None
    q90_mi: float
    tract_radius_mi: NotRequired[float]
    puma_radius_mi: NotRequired[float]
    far_state_miles: NotRequired[float]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a release would be made of."""

    privacy: PrivacyParameters
    parameters: SynthesisParameters


def preset_values(preset: Preset, *, has_flows: bool) -> dict[str, ControlValue]:
    """Values of the controls for a preset of the command `synthesize`, before a design moves any of them."""
    setting = Setting(*preset_setting(preset, "flows" if has_flows else "gravity"))
    values = values_of(setting)
    if setting.parameters.mechanism == "exponential":
        return values
    return values | {"epsilon": DEFAULT_EPSILON, "means": "before"}  # as the papers state it


def read_setting(values: Values) -> Setting:
    """Make a setting from the values of the controls.

    Raises
    ------
    UsageError, ParameterError
        A value cannot be read or is outside its range, or two contradict each other; one line.
    """
    mechanism = cast(Mechanism, _choice(values, "mechanism"))
    parameters = SynthesisParameters(
        **_distances(values),
        editing=cast(Editing, _choice(values, "editing")),
        elimination=tuple((miles, _number(values, f"beyond_{miles:.0f}")) for miles in ELIMINATION_MI),
        prior=cast(Prior, _choice(values, "prior")),
        strength=_number(values, "strength"),
        retention_scale=_number(values, "retention_scale"),
        replication=bool(values["replication"]),
        mechanism=mechanism,
        unit=cast(Unit, _choice(values, "unit")) if mechanism == "exponential" else "cell",
        clean=_choice(values, "cleaning") == "on" and mechanism == "exponential",
    )
    privacy = _privacy(values, mechanism)
    require_fixed_count(privacy, parameters)
    require_range(privacy, mechanism)
    return Setting(privacy, parameters)


def values_of(setting: Setting) -> dict[str, ControlValue]:
    """Values of the controls that make a setting; ε as `PrivacyParameters` holds it."""
    privacy, parameters = setting.privacy, setting.parameters
    tract_mi, puma_mi = parameters.coarsening_radii_mi
    q75 = parameters.q75_mi
    numbers = {
        "tract_radius": tract_mi,
        "puma_radius": puma_mi,
        "far_states": WHOLE_EARTH_MI if parameters.far_state_miles is None else parameters.far_state_miles,
        "q50": parameters.q50_mi,
        "q90": parameters.q90_mi,
        "strength": parameters.strength,
        "retention_scale": parameters.retention_scale,
        **{f"beyond_{miles:.0f}": chance for miles, chance in parameters.elimination},
    }
    return {
        "epsilon": exact_text(privacy.epsilon),
        "delta": exact_text(privacy.delta),
        "min_retention": exact_text(privacy.min_retention),
        "q75": "" if q75 is None else f"{q75:g}",
        **{name: f"{value:g}" for name, value in numbers.items()},
        "means": "whole" if privacy.accountant == "sound" else "before",
        "editing": parameters.editing,
        "prior": parameters.prior,
        "accountant": privacy.accountant,
        "mechanism": parameters.mechanism,
        "unit": parameters.unit,
        "cleaning": "on" if parameters.clean else "off",
        "replication": parameters.replication,
    }


def exact_text(value: Fraction) -> str:
    """An exact number as short as people write it: as a decimal where that says the same, else as a fraction."""
    texts = (f"{float(value):.{digits}g}".replace("e-0", "e-") for digits in (6, 12))
    return next((text for text in texts if Fraction(text) == value), str(value))


def described(setting: Setting) -> list[tuple[str, str]]:
    """A setting in words and numbers, for a person who is about to publish it."""
    privacy, parameters = setting.privacy, setting.parameters
    tract_mi, puma_mi = parameters.coarsening_radii_mi
    rows: list[tuple[str, str]] = [("Mechanism", parameters.mechanism)]
    if parameters.mechanism == "exponential":
        rows += [
            ("Workers drawn together by", UNITS[parameters.unit].lower()),
            ("Commute ranges", CLEANING["on" if parameters.clean else "off"].lower()),
        ]
    else:
        rows += [
            ("Accountant", privacy.accountant),
            ("Least retention", exact_text(privacy.min_retention)),
            ("Retention scale", f"{parameters.retention_scale:g}"),
            ("Prior strength", f"{parameters.strength:g}"),
        ]
    rows += [
        ("Prior", parameters.prior),
        ("Coarsening", f"tracts within {tract_mi:g} mi, PUMAs within {puma_mi:g} mi, SuperPUMAs beyond"),
        ("States outside the area", _states_outside(parameters)),
        ("Domain editing", f"{parameters.editing}; {_eliminated(parameters)}"),
        ("Commute distances", _percentiles(parameters)),
    ]
    if parameters.replication:
        rows.append(("Replication", "what the 2010 release did without proof is allowed"))
    return rows


def _states_outside(parameters: SynthesisParameters) -> str:
    miles = parameters.far_state_miles
    return (
        "kept separate"
        if miles is None
        else f"separate within {miles:g} mi, pooled by census division beyond"
    )


def _eliminated(parameters: SynthesisParameters) -> str:
    steps = [f"{chance:.4g} beyond {miles:g} mi" for miles, chance in reversed(parameters.elimination)]
    return f"eliminated with probability {', '.join(steps)}"


def _percentiles(parameters: SynthesisParameters) -> str:
    found = {"median": parameters.q50_mi, "75%": parameters.q75_mi, "90%": parameters.q90_mi}
    return ", ".join(f"{name} {miles:g} mi" for name, miles in found.items() if miles is not None)


def _privacy(values: Values, mechanism: Mechanism) -> PrivacyParameters:
    """The promise; ε before pruning means the same under every accountant, as for the command `synthesize`."""
    accountant: Accountant = "sound"
    if mechanism != "exponential":
        accountant = cast(Accountant, _choice(values, "accountant"))
    before = _choice(values, "means") == "before"
    if accountant == "paper" and not before:
        raise UsageError(
            "The paper accountant certifies ε before pruning and adds to it: choose “Before pruning”, or the sound "
            "accountant"
        )
    # The exponential mechanism does not prune, and promises the same whole as one with the usual pruning.
    is_pure = mechanism == "exponential"
    kept = DEFAULT_MIN_RETENTION if is_pure else _text(values, "min_retention")
    delta = DEFAULT_DELTA if is_pure else _text(values, "delta")
    before_pruning = PrivacyParameters(
        epsilon=_exact(values, "epsilon"),
        delta=exact_fraction(delta, NUMBERS["delta"]),
        min_retention=exact_fraction(kept, NUMBERS["min_retention"]),
        accountant=accountant,
    )
    if accountant == "paper" or not before:
        return before_pruning
    return PrivacyParameters(
        epsilon=comparable_epsilon_final(before_pruning.epsilon, before_pruning.min_retention),
        delta=before_pruning.delta,
        min_retention=before_pruning.min_retention,
        accountant="sound",
    )


def _distances(values: Values) -> Distances:
    q50, q90 = _number(values, "q50"), _number(values, "q90")
    tract, puma = _number(values, "tract_radius"), _number(values, "puma_radius")
    found: Distances = {
        "q50_mi": q50,
        "q75_mi": _number(values, "q75") if _text(values, "q75") else None,
        "q90_mi": q90,
    }
    if (tract, puma) != (q50, q90):
        found["tract_radius_mi"], found["puma_radius_mi"] = tract, puma
    far = _number(values, "far_states")
    if far < WHOLE_EARTH_MI:
        found["far_state_miles"] = far
    return found


def _choice(values: Values, name: str) -> str:
    if values[name] not in CHOICES[name]:
        raise UsageError(f"{name} is {values[name]!r}; it must be one of {', '.join(CHOICES[name])}")
    return str(values[name])


def _text(values: Values, name: str) -> str:
    return str(values[name] if values[name] is not None else "").strip()


def _exact(values: Values, name: str) -> Fraction:
    return exact_fraction(_text(values, name), NUMBERS[name])


def _number(values: Values, name: str) -> float:
    return float(_exact(values, name))
