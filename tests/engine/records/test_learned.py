"""Noisy entropies and the structure that is selected by them."""

import json
import math
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest

from engine.errors import ParameterError
from engine.records.composition import advanced_composition, most_epsilon_each
from engine.records.entropy import (
    entropy,
    entropy_sensitivity,
    noisy_entropies,
    paper_sensitivity,
    symmetric_uncertainty,
)
from engine.records.learned import (
    StructureRules,
    epsilon_of_entropies,
    epsilon_of_one_entropy,
    learn_structure,
    lower_bound_of_records,
    merit,
    needed_entropies,
)
from engine.records.structure import Possible
from engine.records.tables import Codes
from engine.streams import SecretKey
from tests.oracles.entropies import entropy_bits, most_change_by_adding, most_change_by_replacing

pytestmark = pytest.mark.jit_off

KEY = SecretKey.for_tests()
GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "records.json").read_text(encoding="utf-8"))
FREE = StructureRules(n_parameters=10**6, buckets={}, keeps_order=False)


def chain(n: int, seed: int = 0) -> Codes:
    """Records in which 1 depends on 0, 2 on 1, and 3 on nothing."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, n)
    second = (first + (rng.random(n) < 0.1)) % 4
    third = (second + (rng.random(n) < 0.2)) % 4
    return np.column_stack([first, second, third, rng.integers(0, 3, n)]).astype(np.int32)


@pytest.mark.parametrize("case", GOLDEN["symmetric_uncertainty"])
def test_symmetric_uncertainty_is_the_golden_one(case: dict[str, object]) -> None:
    table = np.array(case["table"])
    found = symmetric_uncertainty(
        entropy(table.sum(axis=1)), entropy(table.sum(axis=0)), entropy(table.ravel())
    )
    assert found == pytest.approx(case["check"], abs=1e-12)


@pytest.mark.parametrize("case", GOLDEN["entropy_sensitivity"])
def test_sensitivities_are_the_golden_ones(case: dict[str, float]) -> None:
    n = int(case["n"])
    assert entropy_sensitivity(n) == pytest.approx(
        case["exact_replace_check" if n > 12 else "exact_replace"], rel=1e-9
    )
    assert paper_sensitivity(n) == pytest.approx(case["paper_bound"], rel=1e-12)


@pytest.mark.parametrize("n", range(2, 13))
def test_no_entropy_changes_by_more_than_its_sensitivity(n: int) -> None:
    assert most_change_by_replacing(n, 4) == pytest.approx(entropy_sensitivity(n), abs=1e-12)
    # The larger of the two data sets has n + 1 records.
    assert most_change_by_adding(n, 4) <= entropy_sensitivity(n)
    assert most_change_by_adding(n, 4) == pytest.approx(entropy_sensitivity(n + 1), abs=1e-12)


@pytest.mark.parametrize("case", GOLDEN["advanced_composition"])
def test_advanced_composition_is_the_golden_one(case: dict[str, str]) -> None:
    found = advanced_composition(
        float(case["epsilon"]), float(case["delta"]), int(case["m"]), float(case["slack"])
    )
    assert found == pytest.approx(tuple(map(float, case["check"])), rel=1e-12)


def test_the_epsilon_of_each_step_is_the_largest_that_composes_to_the_total() -> None:
    each = most_epsilon_each(Fraction(1), 100, 1e-9)
    assert advanced_composition(float(each), 0, 100, 1e-9)[0] <= 1
    assert advanced_composition(float(each) + 2e-6, 0, 100, 1e-9)[0] > 1
    assert most_epsilon_each(Fraction(1), 5, 1e-9) == Fraction(1, 5)
    with pytest.raises(ParameterError, match="slack"):
        advanced_composition(1, 0, 5, 0)


def test_entropies_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(4)
    for counts in rng.integers(0, 50, (20, 6)):
        assert entropy(counts) == pytest.approx(entropy_bits(counts.tolist()), abs=1e-12)
    assert entropy(np.zeros(3, dtype=np.int64)) == 0


def test_the_number_of_entropies_is_the_card_s() -> None:
    buckets = {attribute: np.zeros(4, dtype=np.int64) for attribute in range(11)}
    every = StructureRules(n_parameters=1, buckets=buckets, keeps_order=False)
    three = StructureRules(n_parameters=1, buckets={a: buckets[a] for a in (0, 2, 8)}, keeps_order=False)
    assert (len(needed_entropies(11, every)), len(needed_entropies(11, three))) == (187, 99)


def test_noise_has_the_scale_of_the_sensitivity() -> None:
    found = np.array(noisy_entropies([1.0] * 4000, 1000, Fraction(1, 10), key=KEY)) - 1
    scale = entropy_sensitivity(1000) * 10
    assert np.abs(found).mean() == pytest.approx(scale, rel=0.1)
    assert len(set(found.tolist())) > 2000


def test_the_lower_bound_of_the_number_of_records_fails_rarely() -> None:
    delta = Fraction(1, 100)
    slack = math.ceil(math.log(100) / 0.5)
    found = lower_bound_of_records(1000, Fraction(1, 2), delta, KEY)
    assert 1000 - 3 * slack < found < 1000
    with pytest.raises(ParameterError, match="too few records"):
        lower_bound_of_records(5, Fraction(1, 2), delta, KEY)


def test_merit_is_the_paper_s() -> None:
    assert merit([], []) == 0
    assert merit([0.3, 0.5], [0.2]) == pytest.approx(0.8 / math.sqrt(2 + 0.4))
    ordered = sum(0.2 for one, other in product(range(2), repeat=2) if one != other)
    assert merit([0.3, 0.5], [0.2]) == pytest.approx(0.8 / math.sqrt(2 + ordered))


def test_a_chain_is_found_without_noise() -> None:
    codes = chain(4000)
    rules = StructureRules(n_parameters=10**6, buckets={})
    learned = learn_structure(codes, (4, 4, 4, 3), rules, epsilon=None, delta=Fraction(0), key=KEY)
    assert learned.structure.parents[:3] == ((), (0,), (1,))
    assert learned.order == (0, 1, 2, 3)
    free = learn_structure(codes, (4, 4, 4, 3), FREE, epsilon=None, delta=Fraction(0), key=KEY)
    place = {attribute: at for at, attribute in enumerate(free.order)}
    edges = {
        frozenset((free.order[child], free.order[parent]))
        for child, parents in enumerate(free.structure.parents)
        for parent in parents
    }
    assert {frozenset((0, 1)), frozenset((1, 2))} <= edges
    assert sorted(place) == [0, 1, 2, 3]


def test_noise_hides_the_structure_of_few_records_and_not_of_many() -> None:
    domain, rules = (4, 4, 4, 3), StructureRules(n_parameters=10**6, buckets={})
    many = learn_structure(
        chain(200_000), domain, rules, epsilon=Fraction(1), delta=Fraction(1, 10**6), key=KEY
    )
    few = learn_structure(chain(2_000), domain, rules, epsilon=Fraction(1), delta=Fraction(1, 10**6), key=KEY)
    assert many.structure.parents[1] == (0,)
    assert 1 in many.structure.parents[2]
    assert few.noise_bits > 50 * many.noise_bits


def test_cells_buckets_and_required_parents_are_respected() -> None:
    codes, halves = chain(4000), np.array([0, 0, 1, 1])
    none = StructureRules(n_parameters=30 * 15, buckets={})
    found = learn_structure(codes, (4, 4, 4, 3), none, epsilon=None, delta=Fraction(0), key=KEY)
    assert all(len(parents) == 0 for parents in found.structure.parents[:3])
    coarse = StructureRules(n_parameters=30 * 8, buckets={0: halves, 1: halves})
    found = learn_structure(codes, (4, 4, 4, 3), coarse, epsilon=None, delta=Fraction(0), key=KEY)
    assert found.structure.parents[1] == (0,)
    assert found.structure.buckets[1][0] is halves
    rule = Possible(attribute=3, given=(0,), table=np.ones((4, 3), dtype=np.bool_))
    forced = StructureRules(n_parameters=10**6, buckets={}, required=((3, 0),), possible=(rule,))
    found = learn_structure(codes, (4, 4, 4, 3), forced, epsilon=None, delta=Fraction(0), key=KEY)
    assert 0 in found.structure.parents[3]


def test_a_promise_of_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="must be above 0"):
        learn_structure(chain(50), (4, 4, 4, 3), FREE, epsilon=Fraction(0), delta=Fraction(1, 10), key=KEY)


def test_replacing_a_record_costs_the_entropies_alone() -> None:
    assert epsilon_of_entropies(Fraction(2)) == Fraction(19, 10)
    each = epsilon_of_one_entropy(Fraction(2), Fraction(1, 10), 3)
    assert each == Fraction(19, 30), "few entropies compose best one by one"
    many = epsilon_of_one_entropy(Fraction(1), Fraction(1, 10), 60)
    assert many > Fraction(19, 20) / 60


def _moved(n: int, fewest: int) -> set[tuple[int, ...]]:
    """By how many units of the grid the entropies differ, for every two datasets that differ in one record."""
    records = list(product(range(2), repeat=3))
    rules = StructureRules(n_parameters=1, buckets={})
    subsets = [tuple(part for part, _ in subset) for subset in needed_entropies(3, rules)]
    grid = entropy_sensitivity(fewest) / 1000
    units = {}
    for rows in combinations_with_replacement(records, n):
        counts = [[[row[c] for c in s] for row in rows] for s in subsets]
        units[rows] = [
            round(entropy_bits([list(map(tuple, c)).count(cell) for cell in set(map(tuple, c))]) / grid)
            for c in counts
        ]
    found = set()
    for rows, own in units.items():
        for place, other in product(range(n), records):
            changed = tuple(sorted((*rows[:place], *rows[place + 1 :], other)))
            moved = tuple(sorted(abs(a - b) for a, b in zip(own, units[changed], strict=True)))
            found.add(moved)
    return found


def _exact_delta(moved: tuple[int, ...], rate: float, epsilon: float, repeats: int) -> float:
    """Delta at an epsilon of discrete Laplace noise on integers that differ by these numbers, each drawn repeatedly.

    Laws of the privacy loss in units of the rate, convolved.
    """
    law, total = np.ones(1), 0
    a = math.exp(-rate)
    for shift in (shift for shift in moved for _ in range(repeats) if shift):
        z = np.arange(shift + 1)  # between the two: loss 2 z - shift; beyond either end the whole tail
        one = (1 - a) / (1 + a) * a ** np.abs(z - shift)
        one[0], one[-1] = a**shift / (1 + a), 1 / (1 + a)
        law, total = np.convolve(law, one), total + shift
    loss = 2 * np.arange(law.size) - total
    return float((law * np.maximum(-np.expm1(epsilon - rate * loss), 0)).sum())


@pytest.mark.parametrize(("epsilon", "delta", "repeats"), [(2, "1/10", 1), (1, "1/5", 6)])
def test_no_replaced_record_shows_more_than_promised(epsilon: int, delta: str, repeats: int) -> None:
    """Every two datasets of four records; each entropy may also be drawn often, so that composition is advanced."""
    allowed = Fraction(delta)
    for fewest in (2, 3, 4):
        moved = _moved(4, fewest)
        n_entropies = len(next(iter(moved))) * repeats
        each = epsilon_of_one_entropy(Fraction(epsilon), allowed, n_entropies)
        assert (each > epsilon_of_entropies(Fraction(epsilon)) / n_entropies) == (repeats > 1)
        rate = float(each / 1002)
        largest = {tuple(part) for part in moved if not any(_covers(other, part) for other in moved)}
        worst = max(
            _exact_delta(part, rate, float(epsilon_of_entropies(Fraction(epsilon))), repeats)
            for part in largest
        )
        assert worst <= allowed / 2
        assert max(map(max, moved)) <= 1001


def _covers(other: tuple[int, ...], part: tuple[int, ...]) -> bool:
    """Whether other differs from part and moves every entropy at least as far."""
    return other != part and all(x >= y for x, y in zip(other, part, strict=True))
