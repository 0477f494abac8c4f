"""Classes of colored areas: every area has one, limits ascend, and the rule for choosing them is the documented one."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapapp.show.content import palette
from mapapp.show.content.area_classes import area_classes


@given(st.lists(st.integers(0, 10**7), max_size=60), st.booleans())
def test_every_area_with_workers_has_a_class(counts: list[int], whole: bool) -> None:
    found = area_classes(counts, counts, whole=whole)
    of = found.of
    assert ((of == 0) == (numpy.array(counts) == 0)).all()
    assert of.max(initial=0) <= found.n_classes
    assert sum(found.sizes) == len(counts)
    assert len(found.texts) == len(found.sizes)
    order = numpy.argsort(counts, kind="stable")
    assert (numpy.diff(of[order]) >= 0).all(), "more workers never have a lower class"
    ramp = palette.COLOR_SCHEMES["light"].ramp
    assert len(set(palette.class_colors(found.n_classes, ramp))) == found.n_classes <= palette.MOST_CLASSES
    assert len(found.limits) == found.n_classes


def test_round_limits_if_areas_spread_over_them() -> None:
    counts = [1, 2, 5, 7, 20, 25, 50, 60, 150, 200, 400, 800]
    found = area_classes(counts, numpy.ones(12), whole=True)
    assert found.rule == "round"
    assert found.texts[1:3] == ("1–2", "3–9"), "counts that call for caution are apart"


def test_quantiles_if_one_class_would_have_most_areas() -> None:
    counts = numpy.arange(1_000, 2_800, 30)
    found = area_classes(counts, counts, whole=True)
    assert found.rule == "quantiles"
    assert max(found.sizes) <= len(counts) / 3
    few = area_classes(counts[:5], counts[:5], whole=True)
    assert few.rule == "round", "five areas have no quantiles"


def test_far_areas_with_few_workers_do_not_decide() -> None:
    near, far = numpy.linspace(1_000, 9_000, 30).round(), numpy.ones(500)
    counts = numpy.concatenate([near, far])
    found = area_classes(counts, counts, whole=True)
    assert found.rule == "quantiles"
    assert len(set(found.of[:30].tolist())) >= 5
    assert set(found.of[30:].tolist()) == {1}


def test_shares_and_densities_keep_their_unit() -> None:
    found = area_classes([0.5, 3.0, 20.0], [1, 1, 1], whole=False, unit="%")
    assert all(text.endswith(("%", "% or more")) for text in found.texts[1:])
    assert found.texts[0] == "none"
    empty = area_classes([], [], whole=False)
    assert (empty.n_classes, empty.sizes) == (1, (0, 0))
    assert area_classes([0, 0], [0, 0], whole=True).sizes == (2, 0)


@pytest.mark.parametrize("ratio", [1.0, 1e3, 1e6])
def test_densities_of_any_range_fit_the_colors(ratio: float) -> None:
    values = numpy.geomspace(0.01, 0.01 * ratio, 50)
    assert area_classes(values, values, whole=False).n_classes <= palette.MOST_CLASSES
