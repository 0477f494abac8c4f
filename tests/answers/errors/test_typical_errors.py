"""Typical errors of a release: those that the analyses state for the same numbers, from the release alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mapapp.answers.errors.typical_errors import FLOW_CLASSES, MOST_FLOWS, MOST_TOWNS, typical_errors
from mapapp.answers.promise.method import exactness
from mapapp.answers.release import Release
from tests.releases import write_release


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return Release.open(demo_release)


def test_they_are_the_errors_that_the_analyses_state(release: Release) -> None:
    """Of the inflow of towns of all sizes, read through the analysis of inflow."""
    found = typical_errors(release)
    assert found is not None
    assert found.inflow_layer == "ctycsub"
    towns = release.job_balance(layer="town").units
    employed = towns.set_index("unit_id")["jobs"].sort_values(ascending=False, kind="stable")
    employed = employed[employed >= 100]
    chosen = employed.index[
        np.linspace(0, len(employed) - 1, min(MOST_TOWNS, len(employed))).round().astype(int)
    ]
    shares = []
    for town in chosen:
        answer = release.inflow_outflow(f"ctycsub:{town}", errors=True)
        inflow, error = answer.inflow.value, answer.inflow.expected_error
        assert error is not None
        if inflow >= 100:
            shares.append(error / inflow)
    assert found.inflow == pytest.approx(tuple(np.quantile(shares, (0.5, 0.9))))


def test_flows_of_each_size_have_errors_of_their_size(release: Release) -> None:
    found = typical_errors(release)
    assert found is not None
    assert list(found.flows) == [size for size in FLOW_CLASSES if size in found.flows]
    for size, (half, most) in found.flows.items():
        assert 0 < half <= most < size
    assert MOST_FLOWS >= 100


def test_half_of_many_flows_have_at_most_the_stated_error(release: Release) -> None:
    """A few flows with large errors do not decide: the summary is near that of all flows of the size."""
    found = typical_errors(release)
    assert found is not None
    answer = release.flow_matrix("tract", "tract")
    cells = release.with_errors(answer, len(answer.cells)).cells
    cells = cells[(cells["home_kind"] == "unit") & (cells["work_kind"] == "unit")]
    for size, (half, most) in found.flows.items():
        first, last = FLOW_CLASSES[size]
        errors = cells.loc[cells["workers"].between(first, last), "expected_error"]
        assert np.mean(errors <= half) == pytest.approx(0.5, abs=0.12)
        assert np.mean(errors <= most) == pytest.approx(0.9, abs=0.12)


def test_a_release_without_errors_has_none(tmp_path: Path) -> None:
    write_release(tmp_path / "r.release")
    assert typical_errors(Release.open(tmp_path / "r.release")) is None


def test_the_words_say_what_is_off_by_how_much(release: Release) -> None:
    found = typical_errors(release)
    assert found is not None
    bullets, sentence = exactness(found).parts
    assert isinstance(bullets, tuple)
    assert "about 100 workers between two tracts is ±" in bullets[0]
    assert "less for half of the towns" in bullets[-1]
    assert "from this release and its certificate alone" in sentence
