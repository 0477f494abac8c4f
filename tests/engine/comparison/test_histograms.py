"""Histogram mechanisms: bit for bit as their plain twins, whatever the threads, order and partition."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.comparison import drawing
from engine.comparison.drawing import gap_digits
from engine.comparison.kernels import histograms
from engine.comparison.laplace import laplace_histogram, laplace_noise
from engine.comparison.plug_in import plug_in_multinomial
from engine.comparison.sparse import least_threshold, sparse_histogram
from engine.errors import OverflowRefusedError, ParameterError, SupportError
from engine.kernels import noise
from engine.kernels.arrays import Ints
from engine.kernels.chacha import STREAM_FIELDS, open_stream
from engine.mechanisms import chances
from engine.mechanisms.chances import digits_of, exponential_bounds, noise_digits
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.streams import Stage, stream_words
from engine.support.support_table import SupportTable
from tests.engine.examples import examples
from tests.engine.worlds import KEY, make_synthesizers, make_world, one_table, same_synthesizers, take
from tests.oracles import mechanisms as twins
from tests.oracles.chacha import Stream

SEED = st.integers(0, 10**9)
EPSILONS = st.sampled_from(["1/3", "1", "2", "4.6", "8.98", "40"])
DELTA = "1e-2"


def laplace(
    chosen: Synthesizers, table: SupportTable, epsilon: str = "2", threads: int = 1
) -> SyntheticPoints:
    return laplace_histogram(KEY, chosen, table, epsilon=epsilon, threads=threads)


def sparse(
    chosen: Synthesizers, table: SupportTable, epsilon: str = "2", threads: int = 1
) -> SyntheticPoints:
    return sparse_histogram(KEY, chosen, table, epsilon=epsilon, delta=DELTA, threads=threads)


def plug_in(
    chosen: Synthesizers, table: SupportTable, epsilon: str = "2", threads: int = 1
) -> SyntheticPoints:
    return plug_in_multinomial(KEY, chosen, table, threads=threads)


def laplace_twin(
    address: tuple[int, int], workers: list[int], m: int, prior: list[int], epsilon: str
) -> list[int]:
    return twins.laplace_one(address, workers, m, prior, Fraction(epsilon) / 2)


def sparse_twin(
    address: tuple[int, int], workers: list[int], m: int, prior: list[int], epsilon: str
) -> list[int]:
    threshold = least_threshold(epsilon, DELTA).least
    return twins.sparse_one(address, workers, m, prior, Fraction(epsilon) / 2, threshold)


def plug_in_twin(
    address: tuple[int, int], workers: list[int], m: int, prior: list[int], epsilon: str
) -> list[int]:
    return twins.plug_in_one(address, workers, m, prior)


Draw = Callable[..., SyntheticPoints]
MECHANISMS: list[Draw] = [laplace, sparse, plug_in]
TWINS = {laplace: laplace_twin, sparse: sparse_twin, plug_in: plug_in_twin}


def digest(drawn: SyntheticPoints) -> str:
    return hashlib.sha256(drawn.synthetic_ptr.tobytes() + drawn.synthetic_point.tobytes()).hexdigest()


def assert_twin(mechanism: Draw, chosen: Synthesizers, table: SupportTable, epsilon: str) -> None:
    drawn = mechanism(chosen, table, epsilon)
    assert np.diff(drawn.synthetic_ptr).tolist() == chosen.n_synthetic.tolist()
    for one in range(chosen.tract.size):
        at = slice(table.support_ptr[chosen.tract[one]], table.support_ptr[chosen.tract[one] + 1])
        prior = np.maximum(table.base_weight[at], chosen.min_prior_weight[one]).tolist()
        workers = chosen.worker_point[chosen.worker_ptr[one] : chosen.worker_ptr[one + 1]].tolist()
        address = int(chosen.destination[one]), int(chosen.segment[one])
        twin = TWINS[mechanism](address, workers, int(chosen.n_synthetic[one]), prior, epsilon)
        assert drawn.synthetic_point[drawn.synthetic_ptr[one] : drawn.synthetic_ptr[one + 1]].tolist() == twin


@pytest.mark.jit_off
@pytest.mark.parametrize("mechanism", MECHANISMS)
@given(seed=SEED, epsilon=EPSILONS)
@settings(max_examples=examples(25))
def test_draws_are_the_twin_s(mechanism: Draw, seed: int, epsilon: str) -> None:
    world = make_world(seed, n_synthesizers=8)
    assert_twin(mechanism, world.synthesizers, world.support, epsilon)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", ["0.25", "3"])
def test_large_counts_are_the_twin_s(mechanism: Draw, epsilon: str) -> None:
    rng = np.random.default_rng(5)
    workers = [*rng.integers(0, 40, 90), *[7] * 300]
    for n_synthetic in (1, 30, 390, 1000):
        chosen = same_synthesizers(2, workers, n_synthetic, 3)
        assert_twin(mechanism, chosen, one_table([0, 9, 2, 4] * 10), epsilon)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@given(seed=SEED, threads=st.integers(2, 5))
@settings(max_examples=20)
def test_threads_order_and_partition_do_not_matter(mechanism: Draw, seed: int, threads: int) -> None:
    world = make_world(seed, n_synthesizers=40)
    chosen = world.synthesizers
    whole = mechanism(chosen, world.support)
    assert digest(whole) == digest(mechanism(chosen, world.support, threads=threads))
    order = np.random.default_rng(seed).permutation(chosen.tract.size)
    for part in np.array_split(order, 3):
        partial = mechanism(take(chosen, part), world.support)
        for position, one in enumerate(part):
            assert np.array_equal(
                partial.synthetic_point[
                    partial.synthetic_ptr[position] : partial.synthetic_ptr[position + 1]
                ],
                whole.synthetic_point[whole.synthetic_ptr[one] : whole.synthetic_ptr[one + 1]],
            )


@pytest.mark.parametrize("mechanism", [laplace, sparse])
@given(seed=SEED)
@settings(max_examples=20)
def test_the_order_of_the_real_workers_does_not_matter(mechanism: Draw, seed: int) -> None:
    world = make_world(seed, n_synthesizers=10)
    chosen, rng = world.synthesizers, np.random.default_rng(seed)
    points = chosen.worker_point.copy()
    for first, last in zip(chosen.worker_ptr[:-1], chosen.worker_ptr[1:], strict=True):
        rng.shuffle(points[first:last])
    shuffled = Synthesizers(
        tract=chosen.tract,
        destination=chosen.destination,
        segment=chosen.segment,
        worker_ptr=chosen.worker_ptr,
        worker_point=points,
        min_prior_weight=chosen.min_prior_weight,
        published_count=chosen.published_count,
    )
    assert digest(mechanism(chosen, world.support)) == digest(mechanism(shuffled, world.support))


def test_nothing_to_draw_is_nothing() -> None:
    empty = make_synthesizers(np.random.default_rng(0), one_table([1]), 0)
    for mechanism in MECHANISMS:
        assert mechanism(empty, one_table([1]), threads=2).synthetic_ptr.tolist() == [0]


def test_the_draws_do_not_depend_on_how_many_digits_are_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(3, n_synthesizers=40)
    before = [digest(mechanism(world.synthesizers, world.support)) for mechanism in MECHANISMS]
    monkeypatch.setattr(chances, "_FIRST_DIGITS", 1)
    assert before == [digest(mechanism(world.synthesizers, world.support)) for mechanism in MECHANISMS]


def test_a_draw_that_runs_out_of_digits_is_made_again_with_more() -> None:
    asked = []

    def draw(n_digits: int, short: Ints) -> int:
        asked.append(n_digits)
        short[0] = n_digits < 30
        return n_digits

    assert chances.draw_with_digits(draw) == 32
    assert asked == [4, 8, 16, 32]


@pytest.mark.jit_off
def test_equal_digits_decide_nothing_and_the_first_unequal_one_everything() -> None:
    _, words = stream_words(KEY, Stage.NOISE, np.array([5]), np.array([6]), np.array([3]))
    digits = words.astype(np.int64)
    for read, change, happened, undecided in (
        (1, 0, False, 1),
        (3, 0, False, 1),
        (3, 1, True, 0),
        (3, -1, False, 0),
    ):
        stream, short = np.zeros(STREAM_FIELDS, dtype=np.int64), np.zeros(1, dtype=np.int64)
        open_stream(int(Stage.NOISE), 5, 6, stream)
        compared = digits[:read].copy()
        compared[-1] += change
        assert noise.happens(KEY.words, stream, compared, short) == happened
        assert short[0] == undecided


@pytest.mark.jit_off
@given(st.fractions(Fraction(1, 2048), 50, max_denominator=10**6))
@settings(max_examples=examples(60))
def test_digits_are_those_of_long_decimals(rate: Fraction) -> None:
    q = twins.exponential(rate)
    low, high = exponential_bounds(rate, 300)
    assert low <= q * 2**300 <= high <= low + 2
    for digits, base in ((noise_digits(rate, 6), q), (gap_digits(rate, 6), twins.rounded(1 / (1 + q)))):
        bits, above = twins.geometric_chances(base)
        for row, chance in zip(digits, [*bits, above], strict=True):
            written = sum(int(digit) << 32 * (5 - place) for place, digit in enumerate(row))
            assert written == int(chance * 2**192)


@pytest.mark.jit_off
def test_digits_are_written_out_until_both_bounds_agree() -> None:
    # Around 1/2 + 2^-140, to within 2^-bits: whether the first bit is set is sure only past 140 bits.
    asked = []

    def bounds(bits: int) -> tuple[int, int]:
        asked.append(bits)
        middle = 2**bits // 2 + 2**bits // 2**140
        return middle - 1, middle + 1

    assert digits_of(bounds, 3).tolist() == [1 << 31, 0, 0]
    assert asked == [128, 160]


@pytest.mark.jit_off
@given(st.integers(0, 2**32 - 1), EPSILONS)
@settings(max_examples=examples(20))
def test_noise_is_the_twin_s(destination: int, epsilon: str) -> None:
    rate = Fraction(epsilon) / 2
    values = laplace_noise(KEY, destination, 9, rate=rate, count=20)
    stream, q = Stream("NOISE", destination, 9), twins.exponential(rate)
    assert values.tolist() == [twins.discrete_laplace(stream, q) for _ in range(20)]


@pytest.mark.jit_off
@pytest.mark.parametrize("epsilon", ["0", "-1", "1/1025", "100.1", "many"])
def test_epsilon_out_of_range_is_refused(epsilon: str) -> None:
    chosen, table = same_synthesizers(2, [0], 1, 1), one_table([1])
    for mechanism in (laplace, sparse):
        with pytest.raises(ParameterError, match="epsilon is"):
            mechanism(chosen, table, epsilon)


@pytest.mark.jit_off
@pytest.mark.parametrize("delta", ["0", "1", "-1e-6"])
def test_delta_out_of_range_is_refused(delta: str) -> None:
    with pytest.raises(ParameterError, match="delta is"):
        least_threshold(1, delta)


def test_bad_input_is_refused_as_the_synthesizer_refuses_it() -> None:
    for mechanism in MECHANISMS:
        with pytest.raises(ParameterError, match="2 workers are in a support point"):
            mechanism(same_synthesizers(2, [0, 2], 1, 1), one_table([1, 1]))
        with pytest.raises(SupportError, match="has no support point"):
            mechanism(same_synthesizers(2, [], 1, 1), one_table([]))
        with pytest.raises(OverflowRefusedError, match="2 points of prior weight"):
            mechanism(same_synthesizers(2, [0], 1, 1), one_table([1 << 61, 1]))


def test_noisy_counts_past_their_range_are_refused_without_their_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statuses = {"laplace": histograms.TOO_LARGE - 1, "other": histograms.DONE}
    monkeypatch.setattr(drawing, "run_ranges", lambda *_: list(statuses.values()))
    with pytest.raises(OverflowRefusedError, match=r"of a synthesizer passed 2\^31: raise epsilon"):
        laplace(same_synthesizers(2, [0], 1, 1), one_table([1]))


@pytest.mark.jit_off
@given(
    st.fractions(Fraction(1, 1024), 100, max_denominator=2000),
    st.integers(1, 40).map(lambda exponent: Fraction(9, 10**exponent)),
)
@settings(max_examples=examples(25))
def test_the_threshold_is_the_least_that_keeps_delta(epsilon: Fraction, delta: Fraction) -> None:
    found, q = least_threshold(epsilon, delta), twins.exponential(epsilon / 2)

    def chance(threshold: int) -> Fraction:
        return twins.exponential(epsilon / 2 * (threshold - 1)) / (1 + q)

    assert chance(found.least) <= found.delta_bound <= delta
    assert found.delta_bound - chance(found.least) <= delta / 10**30
    assert found.least == 1 or chance(found.least - 1) > delta


# What the test key draws is pinned, here and where nothing is compiled.
# To renew: python -c "from tests.engine.comparison.test_histograms import pinned_digests; print(pinned_digests())"
PINNED = "ee7a602f96b6ef36 c03b9497e5ed5f5a 1eba7a6e4f449243"


def pinned_digests() -> str:
    chosen = same_synthesizers(50, [0, 2, 2, 5], 6, 7)
    table = one_table([0, 900, 3, 70_000, 0, 12])
    return " ".join(digest(mechanism(chosen, table))[:16] for mechanism in MECHANISMS)


def test_draws_of_the_test_key_are_pinned() -> None:
    assert pinned_digests() == PINNED


def test_draws_are_the_same_uncompiled() -> None:
    script = "from tests.engine.comparison.test_histograms import pinned_digests; print(pinned_digests())"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error", "-c", script]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == PINNED
