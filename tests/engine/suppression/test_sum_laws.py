"""Laws of sums and the shares of types in them, against whole numbers."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from engine.arrays import FloatArray
from engine.suppression.poisson_binomial import Types, exact_weights
from engine.suppression.sum_laws import EMPTY, SumLaw, law_given_sum, law_of_sum, law_of_types

FLOOR = 2.0**-100
PRECISE = 1e-12


def random_types(generator: random.Random, most: int) -> Types:
    return Types.of(
        (generator.randint(1, most), Fraction(generator.randint(100, 900), 1009))
        for _ in range(generator.randint(1, 3))
    )


def exact_parts(types: Types, at: int) -> list[int]:
    """Weight of each sum times the share of one type's people who have the value, as in `exact_weights`."""
    rate = types.rates[at]
    return [0, *(rate.numerator * weight for weight in exact_weights(types.drop_one_each(at)))]


def spread(law: SumLaw, n: int) -> tuple[FloatArray, FloatArray]:
    """Weights and parts of the sums from 0 on; weights that are left out are zero."""
    weights, parts = np.zeros(n), np.zeros((n, law.parts.shape[1]))
    weights[law.start : law.start + law.weights.size] = law.weights
    parts[law.start : law.start + law.weights.size] = law.parts
    return weights, parts


def test_shares_of_types_in_a_sum_are_those_of_whole_numbers() -> None:
    generator = random.Random(3)
    for _ in range(20):
        types = random_types(generator, 12)
        law = law_of_types(types, 1.0, FLOOR)
        exact = np.array([float(weight) for weight in exact_weights(types)])
        weights, parts = spread(law, exact.size)
        assert weights / weights.sum() == pytest.approx(exact / exact.sum(), rel=PRECISE)
        for at in range(len(types.people)):
            share = np.array(
                [
                    float(Fraction(part, weight))
                    for part, weight in zip(exact_parts(types, at), exact_weights(types), strict=True)
                ]
            )
            assert parts[:, at] / weights == pytest.approx(share, rel=PRECISE)


@pytest.mark.jit_off
def test_a_known_sum_ties_two_sums_and_their_shares() -> None:
    first, second, both = Types.of([(5, Fraction(1, 3))]), Types.of([(6, Fraction(2, 5))]), 4
    laws = [law_of_types(types, 1.0, FLOOR) for types in (first, second)]
    law = law_given_sum(laws[0], laws[1], both, FLOOR)
    one, other = exact_weights(first), exact_weights(second)
    exact = np.array([float(one[value] * other[both - value]) for value in range(both + 1)])
    weights, parts = spread(law, both + 1)
    assert weights / weights.sum() == pytest.approx(exact / exact.sum(), rel=PRECISE)
    assert parts[:, 0] / weights == pytest.approx(np.arange(5) / 5, rel=PRECISE)
    assert parts[:, 1] / weights == pytest.approx(np.arange(4, -1, -1) / 6, rel=PRECISE)


def test_a_tilt_changes_no_law_given_the_sum() -> None:
    first, second, both = Types.of([(400, Fraction(1, 3))]), Types.of([(300, Fraction(2, 5))]), 300
    laws = [
        law_given_sum(law_of_types(first, tilt, FLOOR), law_of_types(second, tilt, FLOOR), both, FLOOR)
        for tilt in (1.0, 1.375)
    ]
    plain, tilted = (spread(law, both + 1)[0] for law in laws)
    common = (plain > 0.0) & (tilted > 0.0)
    assert common.sum() > 100
    ratio = tilted[common] / plain[common]
    assert ratio / ratio[0] == pytest.approx(np.ones(ratio.size), rel=1e-10)


def test_what_is_cut_off_is_bounded() -> None:
    types = [Types.of([(90, Fraction(numerator, 97))]) for numerator in (20, 30, 40)]
    whole = law_of_sum([law_of_types(one, 1.0, 2.0**-200) for one in types], 2.0**-200)
    coarse = law_of_sum([law_of_types(one, 1.0, 2.0**-20) for one in types], 2.0**-20)
    exact, kept = spread(whole, 271), spread(coarse, 271)
    scale = coarse.weights.max() / whole.weights.max() * (1.0 - 1e-5)
    missing = exact[0] * scale - kept[0]
    assert missing[missing > 0.0].sum() <= coarse.left_out
    of_parts = exact[1] * scale - kept[1]
    assert np.where(of_parts > 0.0, of_parts, 0.0).sum(axis=0).max() <= coarse.parts_left_out
    assert (coarse.parts <= coarse.weights[:, None]).all()


@pytest.mark.jit_off
def test_the_sum_over_nobody_is_zero() -> None:
    assert law_of_sum([], FLOOR) is EMPTY
    assert law_of_types(Types((), ()), 1.0, FLOOR) is EMPTY
