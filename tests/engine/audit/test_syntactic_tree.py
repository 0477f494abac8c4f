"""Trees with exact counts against the plain twin; every leaf passes its criterion; Adult's groups."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit.criteria import (
    SplitRule,
    k_anonymity,
    l_distinct,
    l_entropy,
    l_frequency,
    recursive_c,
    t_closeness,
)
from engine.audit.decomposition import Tree
from engine.audit.empirical import accuracy, baseline_accuracy, breach_increase
from engine.audit.naive_bayes import NaiveBayes
from engine.audit.syntactic_tree import syntactic_tree
from engine.errors import ParameterError
from tests.engine.audit.tables import Table, tables
from tests.oracles import audit_trees as oracle

RULES = [
    SplitRule(),
    SplitRule(k=3),
    SplitRule(diversity="distinct", least=2),
    SplitRule(diversity="entropy", least=1.7),
    SplitRule(diversity="frequency", least=2),
    SplitRule(diversity="recursive", least=2, c=1.5),
    SplitRule(k=2, diversity="recursive", least=1),
    SplitRule(k=2, t=0.3),
    SplitRule(k=2, t=0.2, distance="ordered"),
    SplitRule(k=2, t=0.2, t_rule="node"),
    SplitRule(diversity="distinct", least=2, t=0.25, distance="ordered"),
]


def is_diverse(people: list[oracle.Person], rule: SplitRule) -> bool:
    if rule.diversity == "distinct":
        return oracle.is_distinct(people, int(rule.least))
    if rule.diversity == "entropy":
        return oracle.is_entropy(people, rule.least)
    if rule.diversity == "frequency":
        return oracle.is_frequent(people, int(rule.least))
    return rule.diversity is None or oracle.is_recursive(people, int(rule.least), Fraction(rule.c))


def is_close(
    people: list[oracle.Person], everybody: list[oracle.Person], table: Table, rule: SplitRule
) -> bool:
    if rule.t is None:
        return True
    far = oracle.distance(people, everybody, table.n_values, rule.distance == "ordered")
    return far <= Fraction(str(rule.t))


def plain_leaves(table: Table, rule: SplitRule, height: int) -> list[oracle.Leaf]:
    everybody = [
        oracle.Person(tuple(row), value)
        for row, value in zip(table.codes.tolist(), table.sensitive.tolist(), strict=True)
    ]

    def halves(people: list[oracle.Person]) -> bool:
        close = rule.t_rule == "node" or is_close(people, everybody, table, rule)
        return len(people) >= rule.k and is_diverse(people, rule) and close

    def node(people: list[oracle.Person]) -> bool:
        return rule.t_rule == "children" or is_close(people, everybody, table, rule)

    sizes = tuple(table.sizes.tolist())
    last = tuple(size - 1 for size in sizes)
    return oracle.grow(everybody, tuple(0 for _ in sizes), last, sizes, halves, node, height)


def grown(table: Table, rule: SplitRule, height: int | None = None) -> Tree:
    return syntactic_tree(table.codes, table.sensitive, table.sizes, table.n_values, rule, height)


@pytest.mark.jit_off
@given(tables(), st.sampled_from(RULES), st.sampled_from([0, 2, 99]))
def test_leaves_are_those_of_the_plain_twin(table: Table, rule: SplitRule, height: int) -> None:
    if rule.diversity is not None and rule.least > table.n_values:
        return
    compare(table, rule, height)


@pytest.mark.jit_off
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_leaves_of_a_table_that_is_split_often_are_those_of_the_plain_twin(rule: SplitRule) -> None:
    rng = np.random.default_rng(6)
    codes = np.column_stack((rng.integers(0, 900, 60), rng.integers(0, 5, 60)))
    table = Table(codes, (codes[:, 1] + rng.integers(0, 3, 60)) % 4, np.array([900, 5]), 4)
    assert compare(table, rule, 99) > 1


def compare(table: Table, rule: SplitRule, height: int) -> int:
    """Compare a tree with the plain twin's; return how many leaves both have."""
    boxes = grown(table, rule, height).decomposition
    found = [
        (tuple(lo), tuple(hi), tuple(counts))
        for lo, hi, counts in zip(boxes.lo.tolist(), boxes.hi.tolist(), boxes.histogram.tolist(), strict=True)
    ]
    wanted = [
        (leaf.lo, leaf.hi, tuple(sum(one.value == v for one in leaf.people) for v in range(table.n_values)))
        for leaf in plain_leaves(table, rule, height)
    ]
    assert found == wanted
    return len(wanted)


@given(tables(), st.sampled_from(RULES))
def test_leaves_divide_the_space_and_pass_their_criterion(table: Table, rule: SplitRule) -> None:
    if rule.diversity is not None and rule.least > table.n_values:
        return
    tree = grown(table, rule)
    boxes = tree.decomposition
    assert np.prod(boxes.hi - boxes.lo + 1, axis=1).sum() == np.prod(table.sizes)
    assert np.all((table.codes >= boxes.lo[tree.leaf_of]) & (table.codes <= boxes.hi[tree.leaf_of]))
    assert boxes.answer([[0] * table.sizes.size], [table.sizes - 1]).tolist() == [table.sensitive.size]
    if not tree.meets_rule:
        assert boxes.n_boxes == 1
        return
    counts = boxes.histogram
    reached = {
        "distinct": l_distinct(counts) >= rule.least,
        "entropy": l_entropy(counts) >= rule.least - 1e-9,
        "frequency": l_frequency(counts) >= rule.least - 1e-9,
        "recursive": recursive_c(counts, int(rule.least)) < rule.c,
        None: True,
    }
    assert k_anonymity(counts) >= rule.k
    assert reached[rule.diversity]
    if rule.t is not None and rule.t_rule == "children":
        assert t_closeness(counts, counts.sum(axis=0), rule.distance) <= rule.t + 1e-9


def test_sorted_and_counted_medians_agree_in_large_domains() -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 40, (120, 2))
    small = syntactic_tree(codes, codes[:, 0] % 3, [40, 40], 3, SplitRule(k=4))
    large = syntactic_tree(codes * 1000, codes[:, 0] % 3, [40_000, 40_000], 3, SplitRule(k=4))
    assert small.decomposition.n_boxes > 10
    # Codes a thousand times as large have the same relative widths but for (D - 1): the first attribute's ties stay.
    assert np.array_equal(small.leaf_of, large.leaf_of)


@given(tables())
def test_a_tree_of_the_root_alone_has_no_breach_increase(table: Table) -> None:
    tree = grown(table, SplitRule(), height=0)
    found = NaiveBayes.of(tree.decomposition).predict(table.codes)
    assert breach_increase(accuracy(found.value, table.sensitive), baseline_accuracy(table.sensitive)) == 0


def test_bad_input_is_refused_in_one_line() -> None:
    for said, fault in {
        "no people": ([[0]][:0], [], None),
        "height = -1": ([[0]], [0], -1),
    }.items():
        codes = np.array(fault[0], dtype=np.int64).reshape(-1, 1)
        with pytest.raises(ParameterError, match=said):
            syntactic_tree(codes, fault[1], [1], 1, SplitRule(), fault[2])
