"""Presets of `synthesize`: options that are given together, and that single options override."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

__all__ = ["AUTO", "DEFAULT_PRESET", "DESIGNED", "PRESETS", "USUAL_MECHANISM", "with_preset"]

Option: TypeAlias = Any
"""Value of an option of `synthesize`, of the type that its name implies; what it is used for checks it."""
Options: TypeAlias = Mapping[str, Option]
"""Options of `synthesize` by name; None where one is not given."""

USUAL_MECHANISM: Final = "dirichlet-multinomial"

AUTO: Final = "auto"
"""What `--mechanism` and `--unit` say where `--design auto` is to choose them."""

DESIGNED: Final = {
    "min_retention": "--min-retention",
    "strength": "--strength",
    "retention_scale": "--retention-scale",
    "tract_radius_mi": "--tract-radius",
    "puma_radius_mi": "--puma-radius",
}
"""Options whose values `--design auto` chooses, and how they are written."""

PRESETS: Final[Mapping[str, Mapping[str, str | bool]]] = {
    "recommended": {
        "mechanism": "exponential",
        "epsilon_final": "6.5",
        "unit": "cell",
        "design": "auto",
        "most_exposed": "0.5",
        "far_state_miles": "300",
        "clean": True,
    },
    "onthemap-v3": {},
}
"""Options that a preset gives where they are not given; those of `onthemap-v3` are the options' own defaults."""

DEFAULT_PRESET: Final = "recommended"


def with_preset(options: Options) -> dict[str, Option]:
    """The options of `synthesize` with those of their preset filled in; single options win.

    Radii that are given leave nothing to choose, and another mechanism than the preset's has no unit and keeps its own
    settings. A mechanism that is to be chosen takes everything from the preset. Where nothing is to be chosen, there is
    no ceiling on exposure either.
    """
    filled = dict(options)
    preset = PRESETS[options.get("preset") or DEFAULT_PRESET]
    mechanism = options.get("mechanism") or preset.get("mechanism", USUAL_MECHANISM)
    left: set[str] = set()
    if mechanism not in (AUTO, preset.get("mechanism")):
        left |= {"unit", "design", "most_exposed", "clean"}
    if any(options.get(name) is not None for name in DESIGNED):
        left |= {"design", "most_exposed"}
    if options.get("design") == "none":
        left.add("most_exposed")
    if options.get("epsilon") is not None:
        left.add("epsilon_final")
    missing = {name for name in preset if options.get(name) is None} - left
    filled |= {name: preset[name] for name in missing}
    filled["mechanism"] = mechanism
    if filled.get("design") == "none":
        filled["design"] = None
    return filled
