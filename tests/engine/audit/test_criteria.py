"""k-anonymity, l-diversity and t-closeness against the golden figures, and refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from engine.audit.criteria import (
    SplitRule,
    k_anonymity,
    l_distinct,
    l_entropy,
    l_frequency,
    recursive_c,
    recursive_l,
    t_closeness,
)
from engine.errors import ParameterError
from tests.golden import golden

FIGURES = golden("audit")


@pytest.mark.parametrize("case", FIGURES["emd"]["cases"])
def test_the_golden_distances(case: dict[str, Any]) -> None:
    assert t_closeness([case["p"]], case["q"], "equal") == pytest.approx(case["equal"], abs=1e-9)
    assert t_closeness([case["p"]], case["q"], "ordered") == pytest.approx(case["ordered"], abs=1e-9)


def test_the_golden_criteria_of_groups() -> None:
    """Those of k, distinct l and t are what pycanon found as well."""
    case = FIGURES["criteria"]
    rows = [tuple(row) for row in case["rows"]]
    keys = sorted({row[:2] for row in rows})
    groups = [[sum(row == (*key, value) for row in rows) for value in case["values"]] for key in keys]
    assert groups == case["groups"]
    whole = np.sum(groups, axis=0)
    assert k_anonymity(groups) == case["k"]
    assert l_distinct(groups) == case["l_distinct"]
    assert l_entropy(groups) == pytest.approx(case["l_entropy"], abs=1e-9)
    assert l_frequency(groups) == pytest.approx(case["l_frequency"], abs=1e-9)
    assert recursive_c(groups, 2) == pytest.approx(case["c_recursive"]["2"], abs=1e-9)
    assert t_closeness(groups, whole, "equal") == pytest.approx(case["t_equal"], abs=1e-9)
    assert t_closeness(groups, whole, "ordered") == pytest.approx(case["t_ordered"], abs=1e-9)


@pytest.mark.parametrize("case", FIGURES["l_diversity"]["cases"])
def test_the_golden_diversities(case: dict[str, Any]) -> None:
    group = [case["h"]]
    assert l_distinct(group) == case["distinct"]
    assert l_entropy(group) == pytest.approx(case["entropy"], abs=1e-9)
    assert l_frequency(group) == pytest.approx(case["frequency"], abs=1e-9)
    wanted = math.inf if case["recursive_c_for_l2"] is None else case["recursive_c_for_l2"]
    assert recursive_c(group, 2) == pytest.approx(wanted, abs=1e-9)
    assert recursive_l(group) == case["recursive_1_l_largest"]


def test_two_equal_values_have_entropy_two() -> None:
    """pycanon 1.3.6 reports 1: it rounds the exponential of the entropy down."""
    assert FIGURES["l_diversity"]["pycanon_floor_trap"]["pycanon_says"] == 1
    assert l_entropy([[1, 1]]) == pytest.approx(2, abs=1e-12)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"k": 0}, "k = 0: give a whole number of at least 1"),
        ({"k": 1.5}, "k = 1.5: give a whole number"),
        ({"diversity": "entropy", "least": 0.5}, "l = 0.5: give a number of at least 1"),
        ({"diversity": "recursive", "least": 2.5}, "l = 2.5: recursive l-diversity takes a whole number"),
        ({"diversity": "best"}, "diversity = 'best': give one of distinct, entropy, frequency, recursive"),
        ({"c": 0}, "c = 0: give a number above 0"),
        ({"t": -0.1}, r"t = -0.1: give a distance from 0 to 1"),
        ({"t": 1.1}, r"t = 1.1: give a distance from 0 to 1"),
        ({"t": math.nan}, "t = nan: give a distance"),
        ({"distance": "far"}, "distance = 'far': give one of equal, ordered"),
        ({"t_rule": "leaf"}, "t_rule = 'leaf': give one of children, node"),
    ],
)
def test_rules_that_cannot_be_are_refused_in_one_line(rule: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said) as refusal:
        SplitRule(**rule)
    assert "\n" not in str(refusal.value)


def test_more_diversity_than_values_is_refused() -> None:
    with pytest.raises(ParameterError, match="l = 4: the sensitive attribute has 3 values"):
        SplitRule(diversity="distinct", least=4).for_values(3)


def test_an_empty_group_is_refused() -> None:
    with pytest.raises(ParameterError, match="a group without people"):
        k_anonymity([[1, 0], [0, 0]])
