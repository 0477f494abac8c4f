"""A setting: what the controls of the workbench say, as the engine's parameters, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, cast, get_args

from engine.accountant.sound import require_fixed_count
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters, exact_fraction
from mapapp.base.errors import UsageError
from mapapp.kinds.base.option import Control
from mapapp.kinds.release.make.margin_options import ShownMargins
from mapapp.kinds.release.make.options import RELEASE_OPTIONS, Preset
from mapapp.kinds.release.make.settings import (
    DEFAULT_DELTA,
    DEFAULT_EPSILON,
    DEFAULT_MIN_RETENTION,
    preset_setting,
    privacy_of,
    require_range,
)

ControlValue = str | bool | None
"""What a control holds: text, a switch's state, or nothing where a browser sent nothing."""
Values = Mapping[str, ControlValue]
"""Values of the controls by name."""

ELIMINATION_MI: Final = (500.0, 200.0, 100.0)
WHOLE_EARTH_MI: Final = 12_500.0
"""No place is farther away, so all states within this distance means that none is pooled."""

CONTROLS: Final[Mapping[str, Control]] = {
    **{name: option.control for name, option in RELEASE_OPTIONS.items() if option.control is not None},
    "means": Control(label="ε is the bound", choices={"before": "Before pruning", "whole": "The whole, ε′"}),
    "q75_mi": Control(label="75th percentile", unit="mi", stops="6 8 10 13.1 15 20 25 30"),
    "beyond_100": Control(label="Eliminated beyond 100 mi", stops="0 0.1 0.25 0.5 0.75 0.9 1"),
    "beyond_200": Control(label="Eliminated beyond 200 mi", stops="0 0.25 0.5 0.75 0.9 0.98 1"),
    "beyond_500": Control(label="Eliminated beyond 500 mi", stops="0 0.25 0.5 0.75 0.9 0.98 1"),
}
"""The controls of a release: those of options of `synthesize`, by their names, and what no option sets."""

NUMBERS: Final = tuple(name for name, control in CONTROLS.items() if control.stops)
"""Controls that hold a number as text."""

UNUSED: Final[dict[str, tuple[str, ...]]] = {
    mechanism: tuple(
        name
        for name, option in RELEASE_OPTIONS.items()
        if name in CONTROLS and mechanism not in option.mechanisms and option.default is not False
    )
    for mechanism in get_args(Mechanism)
}
"""Controls that each mechanism ignores. A switch that is on must be turned off."""


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
    shape: dict[str, object] = {
        **_distances(values),
        **{name: _choice(values, name) for name in ("mechanism", "editing", "prior")},
        **{name: _number(values, name) for name in ("strength", "retention_scale")},
        "elimination": [(miles, _number(values, f"beyond_{miles:.0f}")) for miles in ELIMINATION_MI],
        "replication": bool(values["replication"]),
    }
    if mechanism == "exponential":
        shape |= {"unit": _choice(values, "unit"), "clean": _choice(values, "clean") == "on"}
    parameters, privacy = SynthesisParameters.from_dict(shape), _privacy(values, mechanism)
    require_fixed_count(privacy, parameters)
    require_range(privacy, mechanism)
    return Setting(privacy, parameters)


def values_of(setting: Setting) -> dict[str, ControlValue]:
    """Values of the controls that make a setting; ε as `PrivacyParameters` holds it."""
    privacy, parameters = setting.privacy, setting.parameters
    tract_mi, puma_mi = parameters.coarsening_radii_mi
    q75, far = parameters.q75_mi, parameters.far_state_miles
    numbers = {
        "tract_radius_mi": tract_mi,
        "puma_radius_mi": puma_mi,
        "far_state_miles": WHOLE_EARTH_MI if far is None else far,
        **{name: getattr(parameters, name) for name in ("q50_mi", "q90_mi", "strength", "retention_scale")},
        **{f"beyond_{miles:.0f}": chance for miles, chance in parameters.elimination},
    }
    return {
        **{name: exact_text(getattr(privacy, name)) for name in ("epsilon", "delta", "min_retention")},
        "q75_mi": "" if q75 is None else f"{q75:g}",
        **{name: f"{value:g}" for name, value in numbers.items()},
        "means": "whole" if privacy.accountant == "sound" else "before",
        "accountant": privacy.accountant,
        **{
            name: getattr(parameters, name)
            for name in ("editing", "prior", "mechanism", "unit", "replication")
        },
        "clean": "on" if parameters.clean else "off",
    }


def exact_text(value: Fraction) -> str:
    """An exact number as short as people write it: as a decimal where that says the same, else as a fraction."""
    texts = (f"{float(value):.{digits}g}".replace("e-0", "e-") for digits in (6, 12))
    return next((text for text in texts if Fraction(text) == value), str(value))


def describe_setting(setting: Setting) -> list[tuple[str, str]]:
    """A setting in words and numbers, for a person who is about to publish it."""
    privacy, parameters = setting.privacy, setting.parameters
    tract_mi, puma_mi = parameters.coarsening_radii_mi
    rows: list[tuple[str, str]] = [("Mechanism", parameters.mechanism)]
    if parameters.mechanism == "exponential":
        rows += [
            ("Workers drawn together by", CONTROLS["unit"].choices[parameters.unit].lower()),
            ("Commute ranges", CONTROLS["clean"].choices["on" if parameters.clean else "off"].lower()),
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
        ("Domain editing", f"{parameters.editing}; {_describe_elimination(parameters)}"),
        ("Commute distances", _percentiles(parameters)),
    ]
    if parameters.replication:
        rows.append(("Replication", "what the 2010 release did without proof is allowed"))
    return rows


def shown_row(margins: ShownMargins) -> tuple[str, str]:
    """Which numbers of workers a release shows, as one more row of :func:`describe_setting`."""
    return "Exact numbers of workers", margins.words


def _states_outside(parameters: SynthesisParameters) -> str:
    miles = parameters.far_state_miles
    return (
        "kept separate"
        if miles is None
        else f"separate within {miles:g} mi, pooled by census division beyond"
    )


def _describe_elimination(parameters: SynthesisParameters) -> str:
    steps = [f"{chance:.4g} beyond {miles:g} mi" for miles, chance in reversed(parameters.elimination)]
    return f"eliminated with probability {', '.join(steps)}"


def _percentiles(parameters: SynthesisParameters) -> str:
    miles_by_name = {"median": parameters.q50_mi, "75%": parameters.q75_mi, "90%": parameters.q90_mi}
    return ", ".join(f"{name} {miles:g} mi" for name, miles in miles_by_name.items() if miles is not None)


def _privacy(values: Values, mechanism: Mechanism) -> PrivacyParameters:
    """The promise; ε before pruning means the same under every accountant, as for the command `synthesize`."""
    # The exponential mechanism does not prune, and promises the same whole as one with the usual pruning.
    is_pure = mechanism == "exponential"
    accountant = "sound" if is_pure else _choice(values, "accountant")
    before = _choice(values, "means") == "before"
    if accountant == "paper" and not before:
        raise UsageError(
            "The paper accountant certifies ε before pruning and adds to it: choose “Before pruning”, or the sound "
            "accountant"
        )
    epsilon = _exact(values, "epsilon")
    return privacy_of(
        accountant=accountant,
        epsilon=epsilon if before else None,
        epsilon_final=None if before else epsilon,
        delta=DEFAULT_DELTA if is_pure else _exact(values, "delta"),
        min_retention=DEFAULT_MIN_RETENTION if is_pure else _exact(values, "min_retention"),
    )


def _distances(values: Values) -> dict[str, object]:
    """What the controls say about distances, by the names of `SynthesisParameters`."""
    q50, q90 = _number(values, "q50_mi"), _number(values, "q90_mi")
    tract, puma = _number(values, "tract_radius_mi"), _number(values, "puma_radius_mi")
    far = _number(values, "far_state_miles")
    return {
        "q50_mi": q50,
        "q75_mi": _number(values, "q75_mi") if _text(values, "q75_mi") else False,
        "q90_mi": q90,
        **({} if (tract, puma) == (q50, q90) else {"tract_radius_mi": tract, "puma_radius_mi": puma}),
        **({"far_state_miles": far} if far < WHOLE_EARTH_MI else {}),
    }


def _choice(values: Values, name: str) -> str:
    allowed = CONTROLS[name].choices
    if values[name] not in allowed:
        raise UsageError(f"{name} is {values[name]!r}; it must be one of {', '.join(allowed)}")
    return str(values[name])


def _text(values: Values, name: str) -> str:
    return str(values[name] if values[name] is not None else "").strip()


def _exact(values: Values, name: str) -> Fraction:
    return exact_fraction(_text(values, name), CONTROLS[name].label)


def _number(values: Values, name: str) -> float:
    return float(_exact(values, name))
