"""From controls to parameters and back, exactly, and one line for whatever is not a number."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import EngineError
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters, Unit
from mapapp.analyst.workbench.fields import find_nearest_stop
from mapapp.analyst.workbench.setting import (
    CONTROLS,
    NUMBERS,
    UNUSED,
    Setting,
    describe_setting,
    exact_text,
    preset_values,
    read_setting,
    values_of,
)
from mapapp.analyst.workbench.tune_page import controls
from mapapp.base.errors import UsageError
from mapapp.kinds.release.make.options import ReleaseOptions
from mapapp.kinds.release.make.settings import parameters_of
from tests.analyst.workbench.test_lab import parts

START = preset_values("onthemap-v3", has_flows=True)


def test_the_published_preset_is_that_of_the_command(demo_dataset: Any) -> None:
    privacy, parameters = parameters_of(demo_dataset, ReleaseOptions(preset="onthemap-v3"))
    assert read_setting(START) == Setting(privacy, parameters)
    assert (START["epsilon"], START["means"], START["delta"]) == ("4.6", "before", "1e-6")


def test_the_recommended_preset_is_the_whole_promise() -> None:
    values = preset_values("recommended", has_flows=True)
    assert (values["epsilon"], values["means"], values["mechanism"]) == ("6.5", "whole", "exponential")
    assert (values["far_state_miles"], values["clean"], values["unit"]) == ("300", "on", "cell")
    assert values["epsilon"] in CONTROLS["epsilon"].stops.split()


def test_every_control_is_on_the_page_and_starts_at_its_value() -> None:
    page = controls(START, has_flows=True)
    found = {
        component.id: component
        for kind in ("TextInput", "SegmentedControl", "Select", "Switch")
        for component in parts(page, kind)
    }
    assert set(found) == set(CONTROLS)
    for name in CONTROLS:
        value = found[name].checked if name == "replication" else found[name].value
        assert value == START[name]
    sliders = {component.id: component for component in parts(page, "Slider")}
    assert set(sliders) == {f"{name}-slider" for name in NUMBERS}


@pytest.mark.parametrize("name", list(NUMBERS))
def test_every_stop_of_every_slider_is_a_value(name: str) -> None:
    others = {
        "tract_radius_mi": {"puma_radius_mi": "12500"},
        "puma_radius_mi": {"tract_radius_mi": "0"},
        "q50_mi": {"q75_mi": "", "q90_mi": "60"},
        "q75_mi": {"q50_mi": "2", "q90_mi": "60"},
        "q90_mi": {"q50_mi": "2", "q75_mi": ""},
    }
    stops = CONTROLS[name].stops.split()
    for stop in stops:
        read_setting(START | others.get(name, {}) | {name: stop})
        assert stops[find_nearest_stop(stop, stops)] == stop
    assert START[name] in stops


@settings(deadline=None)
@given(
    epsilon=st.fractions(Fraction(1, 8), 40, max_denominator=997),
    delta=st.integers(3, 30),
    kept=st.sampled_from(["1", "1/7", "0.025"]),
    tract=st.sampled_from([0.0, 6.23, 12500.0]),
    strength=st.sampled_from([0.0, 0.25, 30.0]),
    editing=st.sampled_from(["pool", "none"]),
    prior=st.sampled_from(["gravity", "flows", "uniform"]),
    far=st.sampled_from([None, 0.5, 300.0]),
    drawn=st.sampled_from([{}, *({"mechanism": "exponential", "unit": unit} for unit in get_args(Unit))]),
)
def test_a_setting_comes_back_from_its_controls(
    epsilon: Fraction,
    delta: int,
    kept: str,
    tract: float,
    strength: float,
    editing: Any,
    prior: Any,
    far: float | None,
    drawn: Any,
) -> None:
    if drawn:
        epsilon, kept, delta = min(epsilon, Fraction(25)), "0.025", 6  # the last two mean nothing to it
    radii: dict[str, Any] = {} if tract == 6.23 else {"tract_radius_mi": tract, "puma_radius_mi": 12500.0}
    setting = Setting(
        PrivacyParameters(epsilon=epsilon, delta=f"1e-{delta}", min_retention=kept, accountant="sound"),
        SynthesisParameters(
            editing=editing, prior=prior, strength=strength, far_state_miles=far, **radii, **drawn
        ),
    )
    assert read_setting(values_of(setting)) == setting


@pytest.mark.parametrize("clean", [False, True])
def test_cleaning_belongs_to_the_exponential_mechanism(clean: bool) -> None:
    values = START | {"mechanism": "exponential", "clean": "on" if clean else "off"}
    setting = read_setting(values)
    assert setting.parameters.clean == clean
    assert read_setting(START | values_of(setting)) == setting
    assert not read_setting(START | {"clean": "on"}).parameters.clean


def test_epsilon_before_pruning_means_the_same_under_both_accountants() -> None:
    sound = read_setting(START)
    paper = read_setting(START | {"accountant": "paper"})
    assert float(sound.privacy.epsilon) == pytest.approx(8.982, abs=5e-4)
    assert paper.privacy.epsilon == Fraction(23, 5)


def test_the_exponential_mechanism_heeds_no_retention() -> None:
    for kept in ("0.025", "1", "nothing at all"):
        setting = read_setting(
            START | {"mechanism": "exponential", "min_retention": kept, "accountant": "paper"}
        )
        assert setting.privacy.accountant == "sound"
        assert float(setting.privacy.epsilon) == pytest.approx(8.982, abs=5e-4)


@pytest.mark.parametrize("mechanism", get_args(Mechanism))
def test_a_unit_counts_only_for_mechanisms_that_draw_units(mechanism: str) -> None:
    for unit in get_args(Unit):
        setting = read_setting(START | {"mechanism": mechanism, "unit": unit})
        if mechanism == "exponential":
            assert setting.parameters.unit == unit
            assert (
                dict(describe_setting(setting))["Workers drawn together by"]
                == CONTROLS["unit"].choices[unit].lower()
            )
        else:
            assert setting.parameters.unit == "cell"
            assert "Workers drawn together by" not in dict(describe_setting(setting))


def test_a_control_is_unused_if_the_setting_does_not_depend_on_it() -> None:
    moved = {
        "accountant": "paper",
        "min_retention": "0.5",
        "retention_scale": "3",
        "strength": "7",
        "unit": "block",
        "clean": "on",
        "delta": "1e-5",
    }
    assert set(moved) == {name for unused in UNUSED.values() for name in unused}
    for mechanism, unused in UNUSED.items():
        values = START | {"mechanism": mechanism}
        dependent = set(moved) - set(unused)
        for name in dependent:
            assert read_setting(values | {name: moved[name]}) != read_setting(values)
        assert read_setting(values | {"unit": "block"}).parameters.unit == (
            "cell" if "unit" in unused else "block"
        )


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"epsilon": "many"}, "epsilon"),
        ({"epsilon": "-1"}, "epsilon is -1"),
        ({"epsilon": None}, "epsilon"),
        ({"delta": "0"}, "delta is 0"),
        ({"delta": "1e-400"}, "delta"),
        ({"min_retention": "0"}, "min_retention is 0"),
        ({"tract_radius_mi": "30"}, "puma_radius_mi"),
        ({"q50_mi": "40"}, "q75_mi"),
        ({"far_state_miles": "0"}, "far_state_miles"),
        ({"strength": "-1"}, "strength"),
        ({"beyond_100": "2"}, "probability"),
        ({"editing": "drop"}, "replication"),
        ({"prior": "guess"}, "prior is 'guess'"),
        ({"mechanism": "magic"}, "mechanism is 'magic'"),
        ({"accountant": "paper", "means": "whole"}, "before pruning"),
        ({"mechanism": "exponential", "epsilon": "1e-9", "means": "whole"}, "epsilon"),
        ({"mechanism": "exponential", "epsilon": "25.5", "means": "whole"}, "epsilon is 25.5"),
        ({"mechanism": "exponential", "unit": "county"}, "unit is 'county'"),
    ],
)
def test_wrong_values_are_refused_in_one_line(change: dict[str, Any], word: str) -> None:
    with pytest.raises((UsageError, EngineError)) as refused:
        read_setting(START | change)
    assert word in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("value", "text"), [("4.6", "4.6"), ("1e-6", "1e-6"), ("1/3", "1/3"), ("8.98202663", "8.98202663")]
)
def test_exact_numbers_are_written_as_people_do(value: str, text: str) -> None:
    assert exact_text(Fraction(value)) == text
