"""Accept/reject: P08's lemma by listing, what is accepted against the definition, and no sign of the rounds."""

import dataclasses
import hashlib
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.accountant.enumerator import compositions, exact_failure, largest_log_ratio, transition_matrix
from engine.accountant.paper import SynthesizerClasses
from engine.comparison.accept_reject import (
    AcceptedAccounting,
    certify_accepted,
    is_accepted,
    synthesize_accepted,
)
from engine.errors import ParameterError
from engine.kernels.arrays import Bools, Floats, Indices, Ints
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints, synthesize
from engine.parameters import PrivacyParameters
from engine.streams import SecretKey, attempt_key
from engine.support.support_table import SupportTable
from tests.engine.examples import examples
from tests.engine.test_synthesis_law import assert_follows, observed_counts
from tests.engine.worlds import KEY, make_world, one_table, same_synthesizers, take
from tests.oracles.accept_reject import (
    gamma_threshold,
    good,
    kappa,
    pruned_threshold,
    representative,
)
from tests.oracles.mechanisms import exponential
from tests.oracles.sound_groups import groups_of
from tests.oracles.synthesis import pruned_law

SEED = st.integers(0, 10**9)
LOW = 3 << 19
"""rho = 1.5: far below any that is certified, so that much is rejected."""


def tables(n: int, k: int) -> list[tuple[int, ...]]:
    return [tuple(table) for table in compositions(n, k).tolist()]


def masks(n: int, m: int, k: int, threshold: Callable[[int, int], Fraction]) -> tuple[Bools, Bools]:
    """Whether each output is representative of, and good for, each table."""
    pairs = [[(table, output) for output in tables(m, k)] for table in tables(n, k)]
    return (
        np.array([[representative(*pair, threshold) for pair in row] for row in pairs]),
        np.array([[good(*pair, threshold) for pair in row] for row in pairs]),
    )


def after_rounds(drawn: Floats, is_good: Bools, rounds: int) -> Floats:
    """Law of the last of ``rounds`` draws, or of the first good one."""
    rejected = np.where(is_good, 0.0, drawn).sum(axis=1, keepdims=True)
    again = sum(rejected**attempt for attempt in range(rounds))
    return np.asarray(np.where(is_good, drawn * again, drawn * rejected ** (rounds - 1)))


@st.composite
def small_mechanisms(draw: st.DrawFn) -> tuple[int, int, list[Fraction], list[Fraction], Fraction]:
    k = draw(st.integers(2, 3))
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    alpha = [Fraction(draw(st.integers(10, 1500)), 1000) for _ in range(k)]
    retention = [draw(st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 20)])) for _ in range(k)]
    return n, m, alpha, retention, Fraction(draw(st.integers(105, 2000)), 100)


@given(small_mechanisms(), st.sampled_from([1, 2, 3, 200]))
@settings(max_examples=150)
def test_the_lemma_holds_for_pruning_and_drawing_together(
    mechanism: tuple[int, int, list[Fraction], list[Fraction], Fraction], rounds: int
) -> None:
    n, m, alpha, retention, slack = mechanism
    grown = kappa(n, m, alpha, retention)
    e = slack * grown / min(retention)
    threshold = pruned_threshold(alpha, retention, e / grown)
    is_representative, is_good = masks(n, m, len(alpha), threshold)
    drawn = transition_matrix(n, m, [float(a) for a in alpha], [float(f) for f in retention])
    p = np.where(is_representative, 0.0, drawn).sum(axis=1).max()
    assume(p < 1)
    law = after_rounds(drawn, is_good, rounds)
    assert law.sum(axis=1) == pytest.approx(1)
    failure = exact_failure(compositions(n, len(alpha)), law, math.log(float(e) / (1 - p)) + 1e-9)
    assert failure.probability <= p + 1e-12


def test_the_paper_s_lemma_is_the_same_without_pruning_and_gives_no_pure_promise() -> None:
    n, m, alpha, gamma = 3, 3, [Fraction(1, 5), Fraction(2, 5)], Fraction(12)
    paper, ours = gamma_threshold(alpha, gamma), pruned_threshold(alpha, [Fraction(1)] * 2, gamma + 1)
    assert all(paper(i, x) == ours(i, x) for i in range(2) for x in range(n + 1))
    is_representative, is_good = masks(n, m, 2, paper)
    drawn = transition_matrix(n, m, [0.2, 0.4])
    p = np.where(is_representative, 0.0, drawn).sum(axis=1).max()
    law = np.where(is_good, drawn, 0.0)
    law /= law.sum(axis=1, keepdims=True)
    assert 0 < p < 0.2
    assert exact_failure(compositions(n, 2), law, math.log(13 / (1 - p)) + 1e-9).probability <= p
    # Lemma 5.1: some outputs are accepted for one table only.
    assert largest_log_ratio(compositions(n, 2), law) == math.inf


def test_the_paper_s_thresholds_do_not_cover_pruning() -> None:
    # No output is ever rejected here (p = 0), and the pruned mechanism fails at ln(gamma + 1) all the same.
    alpha, retention, gamma = [Fraction(289, 1000), Fraction(109, 500)], [0.05, 0.05], Fraction(1461, 100)
    is_representative, _ = masks(2, 3, 2, gamma_threshold(alpha, gamma))
    assert is_representative.all()
    drawn = transition_matrix(2, 3, [float(a) for a in alpha], retention)
    assert exact_failure(compositions(2, 2), drawn, math.log(15.61)).probability > 0.9


def counts_of(points: Indices, k: int) -> tuple[int, ...]:
    return tuple(np.bincount(points, minlength=k).tolist())


@pytest.mark.jit_off
def test_synthesizers_that_do_not_prune_are_refused() -> None:
    chosen = dataclasses.replace(same_synthesizers(2, [0], 3, 1), prunes=np.array([True, False]))
    with pytest.raises(ParameterError, match="does not prune"):
        synthesize_accepted(KEY, chosen, one_table([5, 7]), np.full(2, 5 << 20))


@pytest.mark.jit_off
@given(SEED, st.sampled_from([1 << 20, LOW, 5 << 20, 77 << 20, (1 << 42) - 1]))
@settings(max_examples=examples(60))
def test_what_is_accepted_is_the_definition_s(seed: int, ratio: int) -> None:
    world = make_world(seed, n_synthesizers=20)
    chosen = world.synthesizers
    # What is certified has f rho of at least 1.
    least = -(-(RETENTION_UNITS << 20) // ratio)
    table = dataclasses.replace(world.support, retention=np.maximum(world.support.retention, least))
    drawn = synthesize(KEY, chosen, table, certain_above=WEIGHT_UNITS)
    found = is_accepted(chosen, table, np.full(20, ratio), drawn)
    for one in range(20):
        at = slice(table.support_ptr[chosen.tract[one]], table.support_ptr[chosen.tract[one] + 1])
        weight = np.maximum(table.base_weight[at], chosen.min_prior_weight[one]).tolist()
        # f rho, rounded down to whole units
        factor = [
            ratio if units > WEIGHT_UNITS else kept * ratio // RETENTION_UNITS
            for units, kept in zip(weight, table.retention[at].tolist(), strict=True)
        ]
        alpha = [Fraction(units, WEIGHT_UNITS) for units in weight]

        def threshold(
            point: int, workers: int, alpha: list[Fraction] = alpha, factor: list[int] = factor
        ) -> Fraction:
            if workers <= 1:
                return (Fraction(factor[point], 1 << 20) - 1) * alpha[point]
            return (Fraction(ratio, 1 << 20) - 1) * (alpha[point] + workers - 1)

        workers = chosen.worker_point[chosen.worker_ptr[one] : chosen.worker_ptr[one + 1]]
        output = drawn.synthetic_point[drawn.synthetic_ptr[one] : drawn.synthetic_ptr[one + 1]]
        expected = good(counts_of(workers, len(alpha)), counts_of(output, len(alpha)), threshold)
        assert found[one] == (expected or workers.size == 0 or output.size == 0)


def judged(
    workers: list[int], output: list[int], weights: list[int], ratio: int, thresholds: list[int] | None = None
) -> bool:
    chosen = same_synthesizers(1, workers, len(output), 1)
    drawn = SyntheticPoints(
        synthetic_ptr=np.array([0, len(output)]), synthetic_point=np.array(output, dtype=np.int32)
    )
    return bool(is_accepted(chosen, one_table(weights, thresholds), np.array([ratio]), drawn)[0])


def test_thresholds_are_met_to_the_last_unit() -> None:
    # rho = 3, alpha = 1: two workers in an empty point, four in one with two; one more needs a move.
    one = WEIGHT_UNITS
    assert judged([0, 0], [1, 1], [one, one], 3 << 20)
    assert not judged([0, 0], [1, 1], [one, one - 1], 3 << 20)
    assert not judged([0, 0], [1, 1], [one, one], (3 << 20) - 1)
    assert judged([0, 0], [0] * 4, [one, one], 3 << 20)
    # Five in the first: it may have gained a worker only where another point has one to spare.
    assert not judged([0, 0], [0] * 5, [one, one], 3 << 20)
    assert judged([0, 0, 1], [0] * 5, [one, one], 3 << 20)
    assert not judged([0, 0, 1], [0] * 7, [one, one], 3 << 20)
    # A move raises the threshold of an empty point not at all, and of one point only.
    assert not judged([0, 0, 0], [1, 1, 1], [one, one], 3 << 20)
    assert not judged([0, 0, 1, 1, 2], [*[0] * 5, *[1] * 5], [one, one, one], 3 << 20)
    # Pruning: rho f in place of rho where nobody or one worker is.
    assert not judged([0, 0], [1, 1], [one, one], 3 << 20, [1 << 31, 1 << 31])
    assert judged([0, 0], [1, 1], [one, one + 1], 3 << 20, [1 << 31, 1 << 31])


def test_the_largest_numbers_do_not_overflow() -> None:
    assert judged([0], [1] * 50, [1, 1 << 60], (1 << 42) - 1)
    assert judged([0], [1] * 50, [1, 1 << 60], 1 << 20 | 1)
    assert not judged([0], [1] * 50, [1, 1 << 60], 1 << 20)


def expected_rounds(
    key: SecretKey, chosen: Synthesizers, table: SupportTable, ratio: Ints, rounds: int
) -> Indices:
    """Each synthesizer by itself, drawn and judged again and again."""
    points = []
    for one in range(chosen.tract.size):
        alone = take(chosen, np.array([one]))
        for attempt in range(rounds):
            used = key if attempt == 0 else attempt_key(key, attempt)
            drawn = synthesize(used, alone, table, certain_above=WEIGHT_UNITS)
            if is_accepted(alone, table, ratio[[one]], drawn)[0]:
                break
        points.append(drawn.synthetic_point)
    return np.concatenate(points)


@given(SEED, st.integers(1, 6), st.integers(1, 4))
@settings(max_examples=25)
def test_each_synthesizer_is_drawn_until_accepted_whatever_stands_beside_it(
    seed: int, rounds: int, threads: int
) -> None:
    world = make_world(seed, n_synthesizers=15)
    ratio = np.random.default_rng(seed).integers(1 << 20, 1 << 24, 15)
    drawn = synthesize_accepted(KEY, world.synthesizers, world.support, ratio, rounds=rounds, threads=threads)
    expected = expected_rounds(KEY, world.synthesizers, world.support, ratio, rounds)
    assert drawn.synthetic_point.tolist() == expected.tolist()
    assert np.diff(drawn.synthetic_ptr).tolist() == world.synthesizers.n_synthetic.tolist()


def test_where_all_is_accepted_it_is_the_plain_draw_and_says_nothing_else() -> None:
    world = make_world(11, n_synthesizers=30)
    plain = synthesize(KEY, world.synthesizers, world.support, certain_above=WEIGHT_UNITS)
    drawn = synthesize_accepted(KEY, world.synthesizers, world.support, np.full(30, (1 << 42) - 1))
    assert drawn.synthetic_point.tolist() == plain.synthetic_point.tolist()
    # What comes back has the fields of a plain draw and no others: no round, no flag.
    assert [field.name for field in dataclasses.fields(drawn)] == ["synthetic_ptr", "synthetic_point"]
    names = [field.name for field in dataclasses.fields(AcceptedAccounting)]
    assert names == ["sound", "ratio"]


@pytest.mark.parametrize("rounds", [2, 30])
def test_accepted_draws_follow_their_law(rounds: int) -> None:
    workers, n_synthetic, alpha = [0, 0, 1], 3, [0.5, 0.25, 0.75]
    weights = [round(a * WEIGHT_UNITS) for a in alpha]
    thresholds = [1 << 31, RETENTION_UNITS, 1 << 30]
    ratio = 5 << 20
    chosen = same_synthesizers(40_000, workers, n_synthetic, 1, first=7_000_000 * rounds)
    drawn = synthesize_accepted(
        KEY, chosen, one_table(weights, thresholds), np.full(40_000, ratio), rounds=rounds, threads=2
    )
    plain = pruned_law(workers, n_synthetic, weights, thresholds)
    retention = [Fraction(kept, RETENTION_UNITS) for kept in thresholds]
    threshold = pruned_threshold([Fraction(a) for a in alpha], retention, Fraction(5))
    is_good = {counts: good((2, 1, 0), counts, threshold) for counts in plain}
    rejected = sum(chance for counts, chance in plain.items() if not is_good[counts])
    assert 0.1 < rejected < 0.9
    again = sum(rejected**attempt for attempt in range(rounds))
    law = {
        counts: chance * (again if is_good[counts] else rejected ** (rounds - 1))
        for counts, chance in plain.items()
    }
    assert sum(law.values()) == 1
    assert_follows(observed_counts(drawn, n_synthetic, 3), law)


def small_prior() -> SupportTable:
    return SupportTable(
        support_ptr=np.array([0, 5, 8]),
        base_weight=np.array([0, 100_000, 30_000, 0, 2 << 20, 5, 5, 900_000]),
        retention=np.array([1 << 28, 1 << 30, RETENTION_UNITS, 1 << 28, 1 << 28, 1 << 27, 1 << 31, 1 << 31]),
    )


def some_classes() -> SynthesizerClasses:
    n = np.array([1, 2, 5, 12, 40, 3, 20])
    return SynthesizerClasses(
        tract=np.array([0, 0, 0, 0, 0, 1, 1]), likelihood_count=n, published_count=n.copy()
    )


PROMISE = PrivacyParameters(epsilon="8.98", delta="1e-4", min_retention="0.03", accountant="sound")


def test_whole_thresholds_lie_between_those_certified_and_those_of_the_promise() -> None:
    prior, classes = small_prior(), some_classes()
    accounting = certify_accepted(prior, classes, PROMISE)
    e = (1 - PROMISE.delta) / exponential(PROMISE.epsilon)
    inner = 1 / exponential(PROMISE.epsilon - PROMISE.delta / (1 - PROMISE.delta) - Fraction(1, 1 << 16))
    assert inner < e
    assert (accounting.sound.delta_bound <= float(PROMISE.delta)).all()
    for j in range(classes.tract.size):
        n, m = int(classes.likelihood_count[j]), int(classes.published_count[j])
        groups = groups_of(accounting.sound, j)
        alpha = [Fraction(group.weight, WEIGHT_UNITS) for group in groups]
        retention = [Fraction(group.retention, RETENTION_UNITS) for group in groups]
        grown, ratio = kappa(n, m, alpha, retention), int(accounting.ratio[j])
        low = pruned_threshold(alpha, retention, inner / grown)
        high = pruned_threshold(alpha, retention, e / grown)
        for point, group in enumerate(groups):
            factor = group.retention * ratio // RETENTION_UNITS
            whole = {1: (Fraction(factor, 1 << 20) - 1) * alpha[point]}
            whole[2] = (Fraction(ratio, 1 << 20) - 1) * (alpha[point] + 1)
            for workers in (1, 2):
                assert low(point, workers) <= whole[workers] <= high(point, workers)


@given(st.integers(1, 4), st.integers(2, 3), SEED)
@settings(max_examples=40)
def test_what_is_certified_holds_by_listing(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior = SupportTable(
        support_ptr=np.array([0, k]),
        base_weight=rng.integers(0, 1 << 20, k),
        retention=rng.choice([1 << 27, 1 << 30, RETENTION_UNITS], k),
    )
    classes = SynthesizerClasses(
        tract=np.array([0]), likelihood_count=np.array([n]), published_count=np.array([n])
    )
    privacy = PrivacyParameters(epsilon="5", delta="0.02", min_retention="0.03", accountant="sound")
    accounting = certify_accepted(prior, classes, privacy)
    groups = [group for group in groups_of(accounting.sound, 0) for _ in range(group.n_points)]
    alpha = [Fraction(group.weight, WEIGHT_UNITS) for group in groups]
    retention = [Fraction(group.retention, RETENTION_UNITS) for group in groups]
    rho = Fraction(int(accounting.ratio[0]), 1 << 20)
    _, is_good = masks(n, n, k, pruned_threshold(alpha, retention, rho))
    drawn = transition_matrix(n, n, [float(a) for a in alpha], [float(f) for f in retention])
    law = after_rounds(drawn, is_good, 64)
    assert exact_failure(compositions(n, k), law, 5 + 1e-9).probability <= 0.02


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"accountant": "paper"}, "certified by the sound accountant only"),
        ({"epsilon": "15.01"}, "at most 15"),
        ({"epsilon": "1", "delta": "0.5"}, "lower epsilon or delta"),
    ],
)
def test_promises_that_cannot_be_certified_are_refused(change: dict[str, str], message: str) -> None:
    asked = PrivacyParameters.from_dict(PROMISE.to_dict() | change)
    with pytest.raises(ParameterError, match=message):
        certify_accepted(small_prior(), some_classes(), asked)


def test_bad_input_is_refused() -> None:
    chosen, table = same_synthesizers(2, [0], 1, 1), one_table([1, 1])
    for rounds in (0, (1 << 24) + 1):
        with pytest.raises(ParameterError, match="rounds ="):
            synthesize_accepted(KEY, chosen, table, np.full(2, LOW), rounds=rounds)
    for ratio in (np.full(3, LOW), np.full(2, 1 << 42), np.full(2, (1 << 20) - 1)):
        with pytest.raises(ParameterError, match="ratio"):
            synthesize_accepted(KEY, chosen, table, ratio)
    with pytest.raises(ParameterError, match="attempt = 0"):
        attempt_key(KEY, 0)


def test_attempts_have_keys_of_their_own() -> None:
    keys = [KEY, *(attempt_key(KEY, attempt) for attempt in (1, 2, 1 << 24))]
    assert len({key.words.tobytes() for key in keys}) == 4
    assert all(key.is_test for key in keys)
    assert (
        hashlib.sha256(keys[1].words.tobytes()).hexdigest()
        == hashlib.sha256(attempt_key(KEY, 1).words.tobytes()).hexdigest()
    )
