"""Presets: what they fill in, what overrides them, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mapapp.base.errors import UsageError
from mapapp.kinds.base.option import replace_values
from mapapp.kinds.release.make.options import (
    DEFAULT_PRESET,
    PRESETS,
    USUAL_MECHANISM,
    ReleaseOptions,
    fill_in_preset,
)
from mapapp.kinds.release.make.settings import parameters_of


def test_a_preset_fills_in_what_is_not_given() -> None:
    filled = fill_in_preset(ReleaseOptions())
    assert filled.mechanism == "exponential"
    assert (filled.unit, filled.epsilon_final, filled.design) == ("cell", "6.5", "auto")
    assert (filled.far_state_miles, filled.clean) == (300, True)


def test_the_published_preset_leaves_the_options_their_own_defaults() -> None:
    assert not PRESETS["onthemap-v3"]
    given = ReleaseOptions(preset="onthemap-v3", epsilon="2")
    assert fill_in_preset(given) == replace(given, mechanism=USUAL_MECHANISM)


def test_the_recommended_preset_is_the_default() -> None:
    assert ReleaseOptions().preset == DEFAULT_PRESET == "recommended"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"epsilon": "4"}, {"epsilon": "4", "epsilon_final": None, "design": "auto"}),
        ({"epsilon_final": "4"}, {"epsilon_final": "4"}),
        ({"unit": "tract"}, {"unit": "tract", "epsilon_final": "6.5"}),
        ({"tract_radius_mi": 3.0}, {"design": None, "mechanism": "exponential"}),
        ({"design": "none"}, {"design": None, "mechanism": "exponential"}),
        ({"clean": False}, {"clean": False, "far_state_miles": 300.0}),
        ({"far_state_miles": "none"}, {"far_state_miles": None, "epsilon_final": "6.5"}),
        (
            {"mechanism": USUAL_MECHANISM},
            {
                "mechanism": USUAL_MECHANISM,
                "unit": None,
                "design": None,
                "clean": None,
                "epsilon_final": "6.5",
            },
        ),
    ],
)
def test_single_options_override_a_preset(given: dict[str, Any], expected: dict[str, Any]) -> None:
    filled = fill_in_preset(replace_values(ReleaseOptions(), given))
    assert {name: getattr(filled, name) for name in expected} == expected


def test_the_refusal_of_a_presets_epsilon_names_the_preset(demo_dataset: Path) -> None:
    options = ReleaseOptions(mechanism="dirichlet-multinomial", accountant="paper")
    with pytest.raises(UsageError, match=r"--preset recommended, which gives --epsilon-final 6\.5"):
        parameters_of(demo_dataset, options)
    assert parameters_of(demo_dataset, replace(options, epsilon="2"))[0].epsilon == 2
    with pytest.raises(UsageError, match="--epsilon-final 5 with accountant 'paper'"):
        parameters_of(demo_dataset, replace(options, epsilon_final="5"))
