"""Other schemes beside releases: the rows of the trade-off, and what is said at equal error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from matplotlib.figure import Figure

from mapapp.analyst.audit.audited import audited_release
from mapapp.analyst.audit.comparison import comparison_tables, require_schemes
from mapapp.analyst.audit.files import draw_tradeoff
from mapapp.analyst.audit.run import AuditedWorkers, audited_workers
from mapapp.analyst.audit.schemes import read_schemes
from mapapp.analyst.audit.tradeoff import compare_at_equal_error, interpolate_accuracy
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.base.errors import UsageError


@pytest.fixture(scope="module")
def data(demo_dataset: Path) -> AnalystData:
    return AnalystData.open(demo_dataset)


@pytest.fixture(scope="module")
def found(data: AnalystData, demo_release: Path) -> AuditedWorkers:
    release = audited_release(data, demo_release)
    return audited_workers(data, release, ["home", "earnings"], keeps_records=True)


def test_nothing_is_extrapolated() -> None:
    errors, accuracies = [0.4, 0.1, 0.2], [0.5, 0.9, 0.7]
    assert interpolate_accuracy(errors, accuracies, 0.1) == 0.9
    assert interpolate_accuracy(errors, accuracies, 0.15) == pytest.approx(0.8)
    assert interpolate_accuracy(errors, accuracies, 0.3) == pytest.approx(0.6)
    assert interpolate_accuracy(errors, accuracies, 0.09) is None
    assert interpolate_accuracy(errors, accuracies, 0.41) is None
    assert interpolate_accuracy([], [], 0.1) is None


def test_every_scheme_has_a_row_for_every_question_and_class(
    data: AnalystData, found: AuditedWorkers
) -> None:
    specs = ("k=2,50", "l-entropy=2", "t=0.5", "kd=1:height=4", "quad=1:height=3", "exponential=2")
    tables = comparison_tables(data, [found], read_schemes(specs), ["home", "earnings"])
    schemes: Any = tables["schemes"].set_index(["target", "label", "n"])
    labels = ["k=2", "k=50", "l-entropy=2", "t=0.5", "kd=1:height=4", "quad=1:height=3", "exponential=2"]
    assert set(schemes.index.get_level_values("label")) == {found.facts["name"], *labels}
    assert set(schemes.index.get_level_values("target")) == {"home tract", "home county", "earnings"}
    fine, coarse = (schemes.loc["home tract", label, "all"] for label in ("k=2", "k=50"))
    assert fine["median_relative_error"] < coarse["median_relative_error"]
    assert fine["lookup"] > coarse["lookup"]
    own: Any = found.tables["attackers"].set_index(["target", "attacker", "n"])["accuracy"]
    row = schemes.loc["earnings", found.facts["name"], "1"]
    assert row["lookup"] == own["earnings", "lookup", "1"]
    tradeoff = tables["tradeoff"]
    assert set(tradeoff["scheme"]) == {"k", "l-entropy", "t", "kd:height=4", "quad:height=3", "exponential"}
    assert set(tradeoff["n"]) == {"all", "1"}
    assert tradeoff["scheme_leakage"].isna().equals(~tradeoff["reached"])


def test_the_root_alone_is_the_majority(data: AnalystData, found: AuditedWorkers) -> None:
    tables = comparison_tables(data, [found], read_schemes(("k=1:height=0",)), ["home"])
    schemes: Any = tables["schemes"].set_index(["target", "label", "n"])
    root = schemes.loc["home county", "k=1:height=0", "all"]
    own: Any = found.tables["attackers"].set_index(["target", "attacker", "n"])["accuracy"]
    assert root["leaves"] == 1
    assert root["lookup"] == root["naive_bayes"] == own["home county", "majority", "all"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("l=4", "only 3 values"),
        ("cell=1", "use kd, quad, or hybrid"),
        ("kd=1:height=40", "smaller height"),
        ("l-distinct=2.5", "whole number"),
    ],
)
def test_what_cannot_be_made_is_refused(
    data: AnalystData, found: AuditedWorkers, spec: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        require_schemes(data, read_schemes((spec,)), ["earnings"])
    with pytest.raises(UsageError, match=words):
        comparison_tables(data, [found], read_schemes((spec,)), ["earnings"])


def test_leakage_at_equal_error_is_that_of_neighbors() -> None:
    rows = [
        ("release", "mine", 0.15, 0.4, True),
        ("k", "k=2", 0.1, 0.9, True),
        ("k", "k=8", 0.2, 0.7, True),
        ("t", "t=0.1", 0.3, 0.1, True),
    ]
    columns = ["scheme", "label", "median_relative_error", "lookup", "meets_rule"]
    schemes = pandas.DataFrame(
        [
            dict(zip(columns, row, strict=True)) | {"target": "earnings", "n": n}
            for row in rows
            for n in ("all", "1")
        ]
    )
    found: Any = compare_at_equal_error(schemes).set_index(["n", "scheme"])
    assert found.loc[("all", "k"), "scheme_leakage"] == pytest.approx(0.8)
    assert not found.loc[("1", "t"), "reached"]


def test_a_scheme_that_breaks_its_own_rule_is_neither_interpolated_nor_drawn(
    data: AnalystData, found: AuditedWorkers
) -> None:
    specs = ("k=2,1000000", "l-entropy=3")
    tables = comparison_tables(data, [found], read_schemes(specs), ["earnings"])
    schemes = tables["schemes"][tables["schemes"]["n"] == "all"]
    assert set(schemes.loc[~schemes["meets_rule"], "label"]) == {"k=1000000", "l-entropy=3"}
    root = schemes.loc[schemes["label"] == "k=1000000", "median_relative_error"].item()
    as_coarse = schemes.assign(
        median_relative_error=schemes["median_relative_error"].mask(schemes["scheme"] == "release", root)
    )
    assert not compare_at_equal_error(as_coarse)["reached"].any()
    axes = Figure().subplots()
    draw_tradeoff(axes, schemes, "earnings", "all", [found.facts["name"]])
    assert [line.get_label() for line in axes.get_lines()] == ["k"]
    assert np.size(axes.get_lines()[0].get_xdata()) == 1
