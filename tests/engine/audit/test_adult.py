"""Adult, the table of C13: its golden figures, and the last diversities at which it can be split."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.adult_file import CodedTable, read_adult
from benchmarks.rhode_island import DATA
from engine.audit.criteria import (
    SplitRule,
    k_anonymity,
    l_distinct,
    l_entropy,
    l_frequency,
    recursive_l,
    t_closeness,
)
from engine.audit.syntactic_tree import syntactic_tree
from tests.golden import golden


@pytest.mark.real
def test_the_golden_figures_of_adult() -> None:
    table, figures = adult_or_skip(), golden("audit")["adult"]
    root = np.bincount(table.sensitive)
    assert table.sensitive.size == figures["n"]
    assert [table.values[root.argmax()], root.max()] == figures["largest"]
    assert root.max() / root.sum() == pytest.approx(figures["majority_accuracy"], abs=1e-12)
    assert l_entropy([root]) == pytest.approx(figures["entropy_l_root"], abs=1e-9)
    assert l_frequency([root]) == pytest.approx(figures["frequency_l_root"], abs=1e-9)
    assert recursive_l([root]) == figures["recursive_1_root_largest_l"]
    for k in (8, 64):
        wanted = figures[f"k{k}"]
        boxes = syntactic_tree(table.codes, table.sensitive, table.sizes, 14, SplitRule(k=k)).decomposition
        counts = boxes.histogram
        assert boxes.n_boxes == wanted["groups"]
        assert k_anonymity(counts) == wanted["k"]
        assert l_distinct(counts) == wanted["l_distinct"]
        assert t_closeness(counts, root, "equal") == pytest.approx(wanted["t_equal"], abs=1e-9)


@pytest.mark.real
@pytest.mark.parametrize(
    ("diversity", "c", "last"),
    [("distinct", 1, 14), ("entropy", 1, 9), ("frequency", 1, 5), ("recursive", 1, 6), ("recursive", 2, 9)],
)
def test_the_last_diversity_at_which_adult_is_split(diversity: str, c: float, last: int) -> None:
    table = adult_or_skip()
    for least in range(last, min(last + 2, 15)):
        rule = SplitRule(diversity=diversity, least=least, c=c)  # type: ignore[arg-type]  # names of the table above
        tree = syntactic_tree(table.codes, table.sensitive, table.sizes, 14, rule)
        assert (tree.decomposition.n_boxes > 1) == (least == last)


def adult_or_skip() -> CodedTable:
    table = read_adult(DATA)
    if table is None:
        pytest.skip(f"no {DATA / 'adult'}")
    return table
