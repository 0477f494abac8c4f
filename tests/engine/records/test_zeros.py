"""Combinations that never occur have the chance 0 in every structure, and cost no promise."""

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ParameterError
from engine.records.acceptance import Acceptance
from engine.records.candidates import draw_candidates
from engine.records.divergence import worst_delta
from engine.records.drawing import draw_records
from engine.records.groups import GroupTable
from engine.records.learned import StructureRules, learn_structure
from engine.records.structure import Structure, public_structure
from engine.records.tables import Model, learn_model
from engine.records.zeros import structural_zeros
from engine.streams import SecretKey
from tests.oracles import plausible as twin
from tests.oracles.never import Never, is_forbidden
from tests.oracles.records_model import all_records, record_chance

KEY = SecretKey.for_tests()
DOMAIN = (2, 3, 4, 3)
HALVES = np.array([0, 0, 1, 1])
NEVER: Never = (
    {1: [0], 2: [2, 3]},
    {0: [1], 1: [0], 2: [0, 1]},  # with the first rule, (1, 0) has no value of attribute 2 left
    {2: [1], 3: [0, 2]},
)

_ANY_GAMMA = Fraction(1000)
"""Records that could be the seed all make a candidate with one chance, so partitions may be as wide as one likes."""

values = st.sets(st.integers(0, 3), min_size=1, max_size=2)
rules = st.lists(st.dictionaries(st.integers(0, 3), values, min_size=2, max_size=3), max_size=4)


def small_enough(never: list[dict[int, set[int]]]) -> Never:
    listed = [{place: [v for v in sorted(of) if v < DOMAIN[place]] for place, of in r.items()} for r in never]
    return [rule for rule in listed if all(rule.values())]


def structure_of(never: Never, n_records: int, wished: list[list[int]] | None = None) -> Structure:
    zeros = structural_zeros(DOMAIN, never)
    needed = [[p for c, p in zeros.groups if c == child] for child in range(4)]
    wished = wished or [[], [], [], []]
    return public_structure(
        DOMAIN,
        [list(dict.fromkeys((*wish, *more))) for wish, more in zip(wished, needed, strict=True)],
        n_records,
        buckets={2: HALVES},
        possible=zeros.possible,
        groups=zeros.groups,
    ).structure


def chances(model: Model, kept: int = 0) -> dict[tuple[int, ...], Fraction]:
    weights = [model.weights(child).tolist() for child in range(4)]
    return {
        record: record_chance(model.structure, weights, record, kept)
        for record in all_records(model.structure)
    }


@pytest.mark.jit_off
@given(rules, st.sampled_from([1, 30 * 6, 30 * 10**4]))
def test_exactly_the_forbidden_records_have_the_chance_0(
    drawn: list[dict[int, set[int]]], n_records: int
) -> None:
    """Finds a zero that dropped, coarsened, or bucketed parents lose, and a record ruled out that may occur."""
    never = small_enough(drawn)
    if all(is_forbidden(record, never) for record in product(*map(range, DOMAIN))):
        with pytest.raises(ParameterError, match="no value left"):
            structural_zeros(DOMAIN, never)
        return
    structure = structure_of(never, n_records, [[], [0], [1, 0], [2, 0]])
    model = learn_model(np.zeros((0, 4), dtype=np.int32), structure, epsilon=None, key=KEY)
    for record, chance in chances(model).items():
        assert (chance == 0) is is_forbidden(record, never), record


def allowed_records(n: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    every = [record for record in product(*map(range, DOMAIN)) if not is_forbidden(record, NEVER)]
    chosen = np.random.default_rng(seed).integers(0, len(every), n)
    return np.array(every, dtype=np.int32)[chosen]


@pytest.mark.parametrize("n_records", [1, 10**6])
def test_no_forbidden_record_in_a_hundred_thousand(n_records: int) -> None:
    """Finds noise on a cell that should be 0, and a parent that the rule on small tables dropped."""
    model = learn_model(allowed_records(50, 1), structure_of(NEVER, n_records), epsilon="0.1", key=KEY)
    drawn = np.unique(draw_records(model, 100_000, key=KEY), axis=0)
    assert len(drawn) > 20
    assert not any(is_forbidden(record, NEVER) for record in drawn.tolist())


def test_candidates_from_seeds_have_no_forbidden_combination_and_none_is_tried_twice() -> None:
    """Finds zeros that are kept by redrawing: then some candidates that must pass would not."""
    seeds = allowed_records(200, 2)
    model = learn_model(seeds, structure_of(NEVER, 1), epsilon=1, key=KEY)
    test = Acceptance(min_plausible_seeds=1, test="deterministic")
    for kept in (1, 2, 3):
        groups = GroupTable.of(seeds[:, :kept], DOMAIN[:kept])
        made = draw_candidates(seeds, groups, test, model, n=20_000, key=KEY)
        assert made.n_passed == 20_000
        assert not any(is_forbidden(record, NEVER) for record in np.unique(made.codes, axis=0).tolist())


@pytest.mark.jit_off
def test_what_one_try_shows_is_within_the_promise_with_zeros() -> None:
    """Finds a model with zeros for which the exact delta of small datasets passes the accountant's bound."""
    choose, best = random.Random(4), 0.0
    for _ in range(20):
        kept, n = choose.randint(1, 3), choose.randint(4, 8)
        seeds = allowed_records(n + 1, choose.randrange(10**6))
        model = learn_model(seeds[:3], structure_of(NEVER, choose.choice([1, 10**6])), epsilon=1, key=KEY)
        of_record = chances(model, kept)
        records = list(of_record)
        kernel = [
            [of_record[y] if y[:kept] == tuple(seed[:kept]) else Fraction(0) for y in records]
            for seed in seeds.tolist()
        ]
        assert all(sum(row) == 1 for row in kernel), "no candidate is lost to a zero"
        rate = Fraction(choose.randint(1, 8), 5)
        rule = twin.Rule(choose.randint(2, 4), _ANY_GAMMA, Fraction(np.exp(-float(rate))), Fraction(1, 20))
        acceptance = Acceptance(min_plausible_seeds=rule.k, threshold_epsilon=rate, forced_fail=rule.beta)
        one, more = (twin.law(kernel, range(size), rule) for size in (n, n + 1))
        keys = [key for key in {*one, *more} if key is not None]
        p, q = ([float(law.get(key, 0)) for key in keys] for law in (one, more))
        for epsilon in (0.0, 0.5, 1.5):
            bound = worst_delta(acceptance, 1.0, n, epsilon)
            exact = max(twin.exact_delta(p, q, epsilon), twin.exact_delta(q, p, epsilon))
            assert exact <= bound * (1 + 1e-9) + 1e-15
            best = max(best, exact / bound if bound > 1e-12 else 0.0)
    assert best > 0.3, "the bound was never close, so this would find no fault"


def test_a_learned_structure_keeps_the_parents_of_zeros() -> None:
    """Finds a learned structure that lacks a parent that a zero needs, whatever the correlations are."""
    zeros = structural_zeros(DOMAIN, NEVER)
    for n_parameters in (1, 10**6):
        rules = StructureRules(
            n_parameters=n_parameters, buckets={2: HALVES}, possible=zeros.possible, groups=zeros.groups
        )
        learned = learn_structure(
            allowed_records(500, 3), DOMAIN, rules, epsilon=Fraction(1), delta=Fraction(1, 10**6), key=KEY
        )
        model = learn_model(allowed_records(50, 4), learned.structure, epsilon=1, key=KEY)
        for record, chance in chances(model).items():
            assert (chance == 0) is is_forbidden(record, NEVER)


def test_a_required_parent_is_coarsened_to_the_groups_that_zeros_need_and_not_dropped() -> None:
    """Finds a table of 800 × 90 cells where the zeros need 2 × 90 of them."""
    zeros = structural_zeros((800, 90), [{0: range(100), 1: range(45)}])
    made = public_structure((800, 90), [[], [0]], 30 * 300, possible=zeros.possible, groups=zeros.groups)
    assert made.structure.n_cells(1) == 90 + 45
    assert (made.dropped, made.coarsened) == ((), ((1, 0),))
    fine = public_structure((800, 90), [[], [0]], 30 * 10**5, possible=zeros.possible, groups=zeros.groups)
    assert fine.structure.n_cells(1) == 100 * 45 + 700 * 90


@pytest.mark.parametrize(
    ("never", "words"),
    [
        ([{0: [0], 4: [1]}], "names attributes"),
        ([{0: [], 1: [1]}], "lists values of attribute 0"),
        ([{0: [0], 1: [3]}], "lists values of attribute 1"),
        ([{0: [0, 1], 1: [0, 1, 2]}], "no value left"),
    ],
)
def test_rules_that_make_no_sense_are_refused(never: Never, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        structural_zeros(DOMAIN, never)


def test_rules_over_too_many_combinations_are_refused_before_they_fill_the_memory() -> None:
    """Finds a table of 2^40 combinations that would be made before anybody is asked."""
    with pytest.raises(ParameterError, match="more than 2\\^25"):
        structural_zeros((2**15, 2**15, 2**10), [{0: [0], 1: [0], 2: [0]}])
