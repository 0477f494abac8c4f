import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.accountant.enumerator import exact_failure_probability
from engine.accountant.kernels import reference_sample as kernels
from engine.accountant.paper import (
    RULES,
    Accounting,
    SynthesizerClasses,
    certify_classes,
    certify_weights,
    epsilon_final,
    least_prior_weight,
    pruned_epsilon,
    reference_zero_sample,
    theorem_4_1_weight,
    theorem_4_4_bound,
    theorem_4_4_weight,
)
from engine.accountant.theorems import cautious_c
from engine.errors import CertificateError, OverflowRefusedError, ParameterError
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.parameters import PrivacyParameters
from engine.support.support_table import SupportTable
from tests.engine.examples import examples
from tests.golden import golden
from tests.oracles import accountant as oracle

V3 = PrivacyParameters(epsilon="4.6", delta="1e-6", min_retention="0.025")


def _table(*tracts: npt.ArrayLike, retention: float = 0.025) -> SupportTable:
    """A prior of the given weights (in workers), each point kept with the same probability."""
    weights = [np.asarray(tract) for tract in tracts]
    base = np.concatenate([np.ceil(part * WEIGHT_UNITS) for part in weights])
    return SupportTable(
        support_ptr=np.cumsum([0, *(part.size for part in weights)], dtype=np.int64),
        base_weight=base.astype(np.int64),
        retention=np.full(base.size, math.ceil(retention * RETENTION_UNITS), dtype=np.int64),
    )


def _classes(counts: list[int], tract: int = 0, published: list[int] | None = None) -> SynthesizerClasses:
    n = np.asarray(counts, dtype=np.int64)
    return SynthesizerClasses(
        tract=np.full(n.shape, tract, dtype=np.int64),
        likelihood_count=n,
        published_count=n if published is None else np.asarray(published, dtype=np.int64),
    )


def _weights(table: SupportTable, accounting: Accounting, j: int, tract: int = 0) -> list[float]:
    """The weights class j really uses, in workers."""
    low, high = table.support_ptr[tract], table.support_ptr[tract + 1]
    used = np.maximum(table.base_weight[low:high], accounting.min_weight[j])
    return list((used / WEIGHT_UNITS).tolist())


def test_least_weights_match_golden() -> None:
    figures = golden("pdp")
    for case in figures["least_alpha"]:
        n, k, epsilon, delta = case["n"], case["n_support"], case["epsilon"], case["delta"]
        always, probable = theorem_4_1_weight(n, epsilon), theorem_4_4_weight(n, k, epsilon, delta)
        assert always == pytest.approx(case["theorem_4_1"], rel=1e-10)
        assert (probable is None) == (case["theorem_4_4"] is None)
        if probable is not None:
            assert probable == pytest.approx(case["theorem_4_4"], rel=1e-7)
        least = least_prior_weight(n, case["m"], k, epsilon, delta)
        assert least.weight == min(always, probable or math.inf)
        assert least.rule == ("theorem 4.1" if least.weight == always else "theorem 4.4")
    v3 = figures["p10_v3"]
    final = epsilon_final(v3["epsilon"], [v3["min_retention"]], [v3["ceil_alpha"]])
    assert v3["epsilon_final"] <= final <= v3["epsilon_final"] + 1e-8


def test_published_numbers() -> None:
    assert theorem_4_1_weight(5, "4.6") == pytest.approx(5 / (math.exp(4.6) - 1), rel=1e-11)
    assert theorem_4_1_weight(5, "4.6") > 5 / (math.exp(4.6) - 1)
    assert theorem_4_4_weight(5, 1000, 4.6, 1e-6) == pytest.approx(0.531193, abs=5e-7)
    assert theorem_4_4_weight(3, 1000, 4.6, 1e-6) is None
    assert theorem_4_4_weight(5, 1000, 1.09, 1e-6) is None
    assert least_prior_weight(9, 9, 1000, 4.6, 1e-6) == (theorem_4_1_weight(9, 4.6), "theorem 4.1")
    assert least_prior_weight(50, 50, 1000, 4.6, 1e-6).rule == "theorem 4.4"
    assert least_prior_weight(50, 49, 1000, 4.6, 1e-6).rule == "theorem 4.1"
    # V3: 4.6 + ln 40 + ln 2 = 8.982; P08: 4.6 + ln(1/0.0378) + ln 2 ≤ 8.6.
    assert float(epsilon_final("4.6", 0.025, 0.9)) == pytest.approx(8.982027, abs=5e-7)
    assert float(epsilon_final("4.6", 0.0378, 1.0)) == pytest.approx(8.5686, abs=5e-5)


@pytest.mark.jit_off
def test_pruning_costs_nothing_where_nothing_can_be_pruned() -> None:
    assert epsilon_final("4.6", [1.0, 1.0], [0.1, 7.0]) == Fraction(23, 5)
    assert epsilon_final("4.6", [1.0, 0.5], [7.0, 0.1]) == pruned_epsilon(Fraction(23, 5), Fraction(1, 2))
    assert epsilon_final(1, [0.5], [2.5]) > 1 + math.log(2) + 3 * math.log(2)
    for bad in (0.0, 1.5, math.nan):
        with pytest.raises(ParameterError, match="retention"):
            epsilon_final(1, [bad], [1.0])


@pytest.mark.jit_off
@settings(max_examples=examples(200), deadline=None)
@given(kept=st.integers(1, RETENTION_UNITS - 1), growth=st.integers(2, 10**6))
def test_pruned_epsilon_is_an_upper_bound_and_close(kept: int, growth: int) -> None:
    final = pruned_epsilon(Fraction(23, 5), Fraction(kept, RETENTION_UNITS), growth)
    true = 4.6 - math.log(kept / RETENTION_UNITS) + math.log(growth)
    assert true - 1e-14 <= float(final) <= true + 2e-9


_counts = st.integers(1, 60)
_small = st.floats(1e-6, 20, allow_nan=False)


@pytest.mark.jit_off
@settings(max_examples=examples(150), deadline=None)
@given(n=_counts, m=_counts, a1=_small, a2=st.floats(1e-6, 1e4), epsilon=st.floats(0.05, 30))
def test_reference_sample_equals_the_plain_twin(n: int, m: int, a1: float, a2: float, epsilon: float) -> None:
    c = math.expm1(epsilon)
    found, expected = reference_zero_sample(n, m, a1, a2, c), oracle.reference_zero_sample(n, m, a1, a2, c)
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-300)


@pytest.mark.jit_off
@settings(max_examples=examples(150), deadline=None)
@given(
    n=_counts, x=st.integers(0, 60), threshold=st.floats(-0.5, 70), first=_small, rest=st.floats(1e-6, 1e4)
)
def test_tail_bounds_the_plain_sum_closely(
    n: int, x: int, threshold: float, first: float, rest: float
) -> None:
    x, threshold = min(x, n), max(threshold, 0.0)
    found = kernels.upper_tail(threshold, n, n, x, first, rest)
    expected = oracle.upper_tail(threshold, n, n, x, first, rest)
    assert expected * (1 - 1e-9) <= found <= 2 * expected + 1e-300


@pytest.mark.jit_off
@settings(max_examples=examples(60), deadline=None)
@given(n=st.integers(1, 40), data=st.data(), epsilon=st.floats(1.2, 8))
def test_class_bounds_equal_the_plain_twin(n: int, data: st.DataObject, epsilon: float) -> None:
    base = sorted(data.draw(st.lists(st.integers(0, 2 * WEIGHT_UNITS), min_size=2, max_size=12)))
    weight = data.draw(st.integers(1, WEIGHT_UNITS))
    ordered = np.array(base, dtype=np.int64)
    suffix = np.append(np.cumsum(ordered[::-1])[::-1], 0)
    alpha = [max(weight, b) / WEIGHT_UNITS for b in base]
    c = cautious_c(epsilon)
    direct = kernels.direct_bound(n, n, weight, ordered, suffix, c, 1.0)
    exact = oracle.direct_bound(n, alpha, epsilon)
    assert min(exact, 1) * (1 - 1e-6) <= direct
    if not _near_a_whole_threshold(alpha, n, epsilon):
        assert direct <= 2 * exact + 1e-300
    both = kernels.class_bound(n, weight, ordered, suffix, c, 1.0)
    theorem = min(oracle.theorem_4_4_bound(n, alpha, epsilon), 1)
    assert both == pytest.approx(max(theorem, direct), rel=1e-6, abs=1e-300)


def _near_a_whole_threshold(alpha: list[float], n: int, epsilon: float) -> bool:
    """Where c (alpha + x - 1) is almost whole, lowering c by 1e-12 may add one term to the sum."""
    edges = [math.expm1(epsilon) * (a + max(x - 1, 0)) for a in alpha for x in range(n + 1)]
    return any(abs(edge - round(edge)) < 1e-9 * max(edge, 1) for edge in edges)


def test_theorem_4_4_as_printed_certifies_next_to_nothing_and_is_not_believed() -> None:
    n, k, epsilon, delta = 1, 10, 10, 1e-3
    assert oracle.theorem_4_4_bound(n, [1e-8] * k, epsilon) <= delta
    # Four of the ten points, with the weight that matters the same, fail all but surely.
    assert exact_failure_probability(1, 1, [1e-8] * 4, None, epsilon).probability > 0.99
    weight = theorem_4_4_weight(n, k, epsilon, delta)
    assert weight is None or weight > 1e-5
    privacy = PrivacyParameters(epsilon=epsilon, delta=delta)
    accounting = certify_classes(_table([0.0] * k), _classes([n]), privacy)
    assert accounting.min_weight[0] >= n / math.expm1(epsilon) * WEIGHT_UNITS
    with pytest.raises(CertificateError, match=r"epsilon 10, delta 0\.001, n 1, k 10"):
        certify_weights(_table([0.0] * k), _classes([n]), np.array([1], dtype=np.int64), privacy)


@pytest.mark.jit_off
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), epsilon=st.floats(0.3, 12), delta=st.sampled_from([0.2, 1e-2, 1e-6]))
def test_certified_weights_hold_by_the_plain_twins(data: st.DataObject, epsilon: float, delta: float) -> None:
    base = data.draw(st.lists(st.floats(0, 1.5), min_size=1, max_size=15))
    counts = sorted(data.draw(st.sets(st.integers(0, 80), min_size=1, max_size=4)))
    table, classes = _table(base), _classes(counts)
    accounting = certify_classes(table, classes, PrivacyParameters(epsilon=epsilon, delta=delta))
    for j, n in enumerate(counts):
        alpha = _weights(table, accounting, j)
        assert accounting.least_weight[j] == round(min(alpha) * WEIGHT_UNITS)
        assert accounting.total_weight[j] == round(math.fsum(alpha) * WEIGHT_UNITS)
        rule = RULES[accounting.rule[j]]
        if n == 0:
            assert rule == "nothing drawn"
            assert accounting.epsilon_final[j] == 0
        elif rule == "theorem 4.1":
            assert min(alpha) >= n / math.expm1(epsilon)
            assert accounting.delta_bound[j] == 0
        else:
            assert rule == "theorem 4.4"
            assert oracle.theorem_4_4_bound(n, alpha, epsilon) <= delta
            assert oracle.direct_bound(n, alpha, epsilon) <= delta
            assert accounting.delta_bound[j] <= delta


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 5),
    epsilon=st.floats(1.2, 4),
    delta=st.sampled_from([0.5, 0.2, 0.05]),
    base=st.lists(st.floats(0, 3), min_size=2, max_size=4),
)
def test_certified_weights_hold_by_enumeration(
    n: int, epsilon: float, delta: float, base: list[float]
) -> None:
    table = _table(base)
    accounting = certify_classes(table, _classes([n]), PrivacyParameters(epsilon=epsilon, delta=delta))
    alpha = _weights(table, accounting, 0)
    assert exact_failure_probability(n, n, alpha, None, epsilon).probability <= delta


def test_batch_finds_what_the_scalar_search_finds() -> None:
    k, counts = 1000, [1, 4, 5, 9, 15, 50, 100]
    accounting = certify_classes(_table([0.0] * k), _classes(counts), V3)
    for j, n in enumerate(counts):
        least = least_prior_weight(n, n, k, "4.6", "1e-6")
        assert RULES[accounting.rule[j]] == least.rule
        assert accounting.min_weight[j] == math.ceil(least.weight * WEIGHT_UNITS)
    assert accounting.epsilon_final == pytest.approx(8.982027, abs=1e-6)


def test_an_informative_prior_allows_a_smaller_least_weight() -> None:
    share = np.random.default_rng(5).dirichlet(np.full(300, 0.1))
    flat = certify_classes(_table(np.zeros(300)), _classes([40]), V3)
    rich = certify_classes(_table(share * 200), _classes([40]), V3)
    assert RULES[rich.rule[0]] == "theorem 4.4"
    assert rich.min_weight[0] < flat.min_weight[0]


def test_points_above_one_are_not_pruned_and_do_not_cost() -> None:
    table = _table([0.3, 1.0, 1.5])
    table.retention[:] = [RETENTION_UNITS // 2, RETENTION_UNITS // 4, 1]
    small = certify_classes(table, _classes([1]), V3)
    assert small.least_retention[0] == RETENTION_UNITS // 4
    large = certify_classes(table, _classes([10**4]), V3)
    assert large.min_weight[0] > WEIGHT_UNITS
    assert large.least_retention[0] == RETENTION_UNITS
    assert large.epsilon_final[0] == pytest.approx(4.6)


@pytest.mark.jit_off
def test_published_counts_decide_alone_when_they_replace_the_real_ones() -> None:
    table = _table([0.0] * 1000)
    given_n = certify_classes(table, _classes([1, 99, 0, 7], published=[6, 99, 5, 0]), V3)
    other_n = certify_classes(table, _classes([9, 98, 2, 0], published=[6, 99, 5, 0]), V3)
    for name in ("min_weight", "rule", "delta_bound", "epsilon_final", "growth"):
        assert (getattr(given_n, name) == getattr(other_n, name)).all()
    assert [RULES[rule] for rule in given_n.rule] == ["theorem 4.1"] * 3 + ["nothing drawn"]
    assert given_n.growth.tolist() == [7, 100, 6, 2]


def test_each_tract_has_its_own_prior() -> None:
    table = _table([0.0] * 400, [0.0] * 100)
    classes = SynthesizerClasses(
        tract=np.array([0, 1]), likelihood_count=np.array([50, 50]), published_count=np.array([50, 50])
    )
    accounting = certify_classes(table, classes, V3)
    assert accounting.n_support.tolist() == [400, 100]
    assert accounting.min_weight[0] < accounting.min_weight[1]


@pytest.mark.jit_off
def test_refusals_name_the_numbers() -> None:
    with pytest.raises(ParameterError, match="rounded to zero"):
        certify_weights(_table([0.0, 0.0]), _classes([1]), np.array([0], dtype=np.int64), V3)
    with pytest.raises(OverflowRefusedError, match="raise epsilon"):
        certify_classes(
            _table([0.0, 0.0]), _classes([10**12]), PrivacyParameters(epsilon="1e-9", delta="1e-6")
        )
    with pytest.raises(OverflowRefusedError, match="64 bits"):
        certify_classes(_table([2.0**40] * 2), _classes([1]), V3)
    with pytest.raises(ParameterError, match="destination tract 3"):
        certify_classes(_table([0.0, 0.0]), _classes([1], tract=3), V3)
    for epsilon in (0, -1, 101):
        with pytest.raises(ParameterError, match="epsilon"):
            theorem_4_1_weight(1, epsilon)
    with pytest.raises(ParameterError, match="delta"):
        theorem_4_4_weight(5, 10, 4, 1)
    with pytest.raises(ParameterError, match="reference 0-sample"):
        reference_zero_sample(1, 1, 0.0, 1.0, 2.0)
    assert theorem_4_4_bound(5, 1, 1, 1, 4) == 1
    assert theorem_4_4_bound(5, 10, 1, 10, 1) == 1


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"support_ptr": [0, 1]}, "support_ptr"),
        ({"base_weight": [1, -1]}, "base_weight"),
        ({"base_weight": [1.0, 2.0]}, "integer"),
        ({"retention": [0, 1]}, "retention"),
        ({"retention": [1, RETENTION_UNITS + 1]}, "retention"),
        ({"retention": [1]}, "retention"),
    ],
)
def test_support_table_refuses_wrong_values(change: dict[str, list[float]], message: str) -> None:
    fields = {"support_ptr": [0, 2], "base_weight": [1, 2], "retention": [1, 2]} | change
    with pytest.raises(ParameterError, match=message):
        SupportTable(**{name: np.array(values) for name, values in fields.items()})


@pytest.mark.jit_off
def test_accountants_refuse_a_tract_without_support_points() -> None:
    values = np.array([1, 2])
    table = SupportTable(support_ptr=np.array([0, 2, 2]), base_weight=values, retention=values)
    weights = np.array([WEIGHT_UNITS])
    with pytest.raises(ParameterError, match="support_ptr gives destination tract 1 no support point"):
        certify_classes(table, _classes([1]), V3)
    with pytest.raises(ParameterError, match="support_ptr gives destination tract 1 no support point"):
        certify_weights(table, _classes([1]), weights, V3)


@pytest.mark.jit_off
def test_classes_refuse_what_are_no_counts() -> None:
    with pytest.raises(ParameterError, match="published_count"):
        _classes([1, 2], published=[1])
    with pytest.raises(ParameterError, match="likelihood_count"):
        _classes([-1])
    listed: Any = [1]
    with pytest.raises(ParameterError, match="list"):
        SynthesizerClasses(tract=listed, likelihood_count=listed, published_count=listed)
