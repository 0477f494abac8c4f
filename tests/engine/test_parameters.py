import dataclasses
import json
import math
import tomllib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ParameterError
from engine.parameters import Number, PrivacyParameters, SynthesisParameters, exact_fraction

pytestmark = pytest.mark.jit_off

V3: dict[str, Any] = {"epsilon": "4.6", "delta": "1e-6", "min_retention": "0.025"}


@pytest.mark.parametrize(
    "value", ["4.6", " 4.6 ", "23/5", 4.6, Fraction(23, 5), np.float64(4.6), "46e-1", "4.60"]
)
def test_the_same_number_in_any_form_is_the_same_fraction(value: Number) -> None:
    assert exact_fraction(value, "epsilon") == Fraction(23, 5)


def test_whole_numbers_are_exact() -> None:
    int64: Any = np.int64(2)
    assert exact_fraction(2, "epsilon") == exact_fraction(int64, "epsilon") == 2


@pytest.mark.parametrize(
    "value",
    [
        "",
        "four",
        "nan",
        "inf",
        "-inf",
        "1/0",
        "1.5/2",
        "1e999999999",
        "1e-301",
        math.nan,
        math.inf,
        True,
        None,
        [4.6],
        4.6j,
        b"4.6",
    ],
)
def test_what_is_no_finite_number_is_refused(
    value: Any,
) -> None:
    with pytest.raises(ParameterError, match=r"^epsilon is .*finite number"):
        exact_fraction(value, "epsilon")


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=1e-290, max_value=1e290))
def test_a_float_counts_as_the_decimal_it_prints_as(value: float) -> None:
    assert exact_fraction(value, "x") == exact_fraction(repr(value), "x")
    assert float(exact_fraction(value, "x")) == value


def test_the_2010_release() -> None:
    privacy = PrivacyParameters(**V3)
    assert (privacy.epsilon, privacy.delta) == (Fraction(23, 5), Fraction(1, 10**6))
    assert privacy.min_retention == Fraction(1, 40)
    assert privacy == PrivacyParameters(epsilon=4.6, delta=1e-6, min_retention=0.025)
    assert hash(privacy) == hash(PrivacyParameters(**V3))


def test_no_pruning_by_default() -> None:
    assert PrivacyParameters(epsilon=1, delta="0.1").min_retention == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, r"epsilon is 0; .* above 0"),
        ({"epsilon": "-1"}, "epsilon is -1"),
        ({"epsilon": "100.001"}, "epsilon is 100.001"),
        ({"delta": 0}, "delta is 0"),
        ({"delta": 1}, "delta is 1; .* strictly"),
        ({"delta": "-1e-9"}, "delta is -1e-09"),
        ({"min_retention": 0}, "min_retention is 0; .*reveal that worker"),
        ({"min_retention": "1.0001"}, "min_retention is 1.0001"),
        ({"accountant": "renyi"}, "accountant is 'renyi'; it must be one of sound, paper"),
    ],
)
def test_impossible_promises_are_refused_in_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as refusal:
        PrivacyParameters(**(V3 | change))
    assert "\n" not in str(refusal.value)


def test_parameters_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        PrivacyParameters(**V3).epsilon = Fraction(9)  # type: ignore[misc]  # frozen, as the test says
    two: Any = 2  # any number makes a Fraction
    nothing: Any = 0
    assert dataclasses.replace(PrivacyParameters(**V3), epsilon=two).epsilon == 2
    with pytest.raises(ParameterError):
        dataclasses.replace(PrivacyParameters(**V3), epsilon=nothing)


@given(
    epsilon=st.fractions(Fraction(1, 1000), 100),
    delta=st.fractions(Fraction(1, 10**9), Fraction(999, 1000)),
    kept=st.fractions(Fraction(1, 1000), 1),
)
def test_privacy_parameters_survive_json_exactly(epsilon: Fraction, delta: Fraction, kept: Fraction) -> None:
    privacy = PrivacyParameters(epsilon=epsilon, delta=delta, min_retention=kept)
    assert PrivacyParameters.from_dict(json.loads(json.dumps(privacy.to_dict()))) == privacy


def test_privacy_parameters_from_toml() -> None:
    table = tomllib.loads('epsilon = 4.6\ndelta = "1e-6"\nmin_retention = 0.025')
    assert PrivacyParameters.from_dict(table) == PrivacyParameters(**V3)
    with pytest.raises(ParameterError, match="'epsilonn' is unknown"):
        PrivacyParameters.from_dict({"epsilonn": 1})
    with pytest.raises(ParameterError, match="delta is missing"):
        PrivacyParameters.from_dict({"epsilon": 1})


def test_defaults_are_those_of_the_method() -> None:
    synthesis = SynthesisParameters()
    assert (synthesis.q50_mi, synthesis.q75_mi, synthesis.q90_mi) == (6.23, 13.1, 21.54)
    assert synthesis.elimination == ((500.0, 0.98), (200.0, 0.9), (100.0, 0.5))
    assert synthesis.editing == "pool"
    assert synthesis.not_for_release_reasons() == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q50_mi": 0}, "q50_mi is 0; it must be more than 0"),
        ({"q50_mi": 15.0}, r"q75_mi is 13\.1; it must be more than q50_mi"),
        ({"q90_mi": 13.1}, "q90_mi is 13.1; it must be more than q75_mi"),
        ({"q75_mi": None, "q90_mi": 6.23}, "q90_mi is 6.23; it must be more than q50_mi"),
        ({"q90_mi": math.inf}, "q90_mi is inf"),
        ({"q90_mi": math.nan}, "q90_mi is nan"),
        ({"q90_mi": "21"}, "q90_mi is '21'"),
        ({"editing": "remove"}, "editing is 'remove'; it must be one of pool, none, drop"),
        ({"prior": "ctpp"}, "prior is 'ctpp'"),
        ({"placement": "random"}, "placement is 'random'"),
        ({"strength": -0.1}, "strength is -0.1"),
        ({"strength": True}, "strength is True"),
        ({"retention_scale": math.inf}, "retention_scale is inf"),
        ({"replication": 1}, "replication is 1"),
        ({"elimination": ((100.0, 0.5), (200.0, 0.9))}, "list the furthest first"),
        ({"elimination": ((100.0, 1.5),)}, "elimination probability is 1.5"),
        ({"elimination": ((-1.0, 0.5),)}, "elimination distance is -1.0"),
        ({"elimination": (100.0,)}, "each step is"),
        ({"tract_radius_mi": 10.0}, "puma_radius_mi is None; .*both radii or neither"),
        ({"puma_radius_mi": 10.0}, "tract_radius_mi is None and .*both radii or neither"),
        ({"tract_radius_mi": -1.0, "puma_radius_mi": 10.0}, "tract_radius_mi is -1.0"),
        ({"far_state_miles": 0.0}, "far_state_miles is 0.0; it must be a distance"),
        ({"far_state_miles": -300.0}, "far_state_miles is -300.0"),
        ({"far_state_miles": math.nan}, "far_state_miles is nan"),
        ({"far_state_miles": True}, "far_state_miles is True"),
        ({"clean": True}, "clean is true and mechanism is 'dirichlet-multinomial'"),
        ({"clean": 1, "mechanism": "exponential"}, "clean is 1"),
        ({"tract_radius_mi": 10.0, "puma_radius_mi": 9.0}, "puma_radius_mi 9; tracts are the nearer"),
    ],
)
def test_impossible_shapes_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        SynthesisParameters(**change)


def test_dropping_workers_is_refused_unless_replicating() -> None:
    with pytest.raises(ParameterError, match=r"editing is 'drop'; .*differ in size.*'pool'"):
        SynthesisParameters(editing="drop")
    reasons = SynthesisParameters(editing="drop", replication=True).not_for_release_reasons()
    assert len(reasons) == 2
    assert "drop" in reasons[1]
    assert SynthesisParameters(replication=True).not_for_release_reasons()


@pytest.mark.parametrize(
    "synthesis",
    [
        SynthesisParameters(),
        SynthesisParameters(q75_mi=None, elimination=(), strength=0),
        SynthesisParameters(editing="drop", replication=True, prior="flows", placement="representative"),
        SynthesisParameters(tract_radius_mi=0, puma_radius_mi=12500.0),
        SynthesisParameters(far_state_miles=300),
        SynthesisParameters(mechanism="exponential", clean=True),
    ],
)
def test_synthesis_parameters_survive_json(synthesis: SynthesisParameters) -> None:
    assert SynthesisParameters.from_dict(json.loads(json.dumps(synthesis.to_dict()))) == synthesis


def test_radii_are_the_percentiles_unless_given() -> None:
    assert SynthesisParameters(q50_mi=5.0).coarsening_radii_mi == (5.0, 21.54)
    assert SynthesisParameters(tract_radius_mi=10.0, puma_radius_mi=10.0).coarsening_radii_mi == (10.0, 10.0)
    # Certificates from before there were radii say nothing of them, and must read the same.
    assert "tract_radius_mi" not in SynthesisParameters().to_dict()


def test_unpooled_far_states_and_no_cleaning_are_not_stated() -> None:
    assert not {"far_state_miles", "clean"} & set(SynthesisParameters().to_dict())
    assert SynthesisParameters.from_dict({"far_state_miles": 300}).far_state_miles == 300.0


def test_synthesis_parameters_from_toml() -> None:
    table = tomllib.loads("q50_mi = 5\nstrength = 2\nelimination = [[300, 0.5]]\nq75_mi = false")
    synthesis = SynthesisParameters.from_dict(table)
    assert synthesis == SynthesisParameters(q50_mi=5.0, q75_mi=None, strength=2.0, elimination=((300, 0.5),))
    with pytest.raises(ParameterError, match="'q51_mi' is unknown"):
        SynthesisParameters.from_dict({"q51_mi": 1})
    with pytest.raises(ParameterError, match="elimination is 'far'"):
        SynthesisParameters.from_dict({"elimination": "far"})
    with pytest.raises(ParameterError, match="each step is"):
        SynthesisParameters.from_dict({"elimination": [3]})
