"""The urn and pruning: bit for bit as the plain twins, and nothing but what they may depend on."""

import dataclasses
import hashlib
import os
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import OverflowRefusedError, ParameterError, SupportError
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.mechanisms.dirichlet_multinomial import (
    Synthesizers,
    SyntheticPoints,
    redraw_remainder,
    synthesize,
)
from engine.support.coarsening import LEVEL_REMAINDER
from engine.support.prior import redraw_weight
from engine.support.support_table import SupportTable
from tests.engine.worlds import KEY, make_synthesizers, make_world, one_table, same_synthesizers, take
from tests.oracles.synthesis import dirichlet_multinomial, redraw_one, synthesize_one, urn_law

SEED = st.integers(0, 10**9)


def workers_of(synthesizers: Synthesizers, one: int) -> list[int]:
    first, last = synthesizers.worker_ptr[one : one + 2]
    return list(synthesizers.worker_point[first:last].tolist())


def drawn_of(drawn: SyntheticPoints, one: int) -> list[int]:
    first, last = drawn.synthetic_ptr[one : one + 2]
    return list(drawn.synthetic_point[first:last].tolist())


def digest(drawn: SyntheticPoints) -> str:
    return hashlib.sha256(drawn.synthetic_ptr.tobytes() + drawn.synthetic_point.tobytes()).hexdigest()


@pytest.mark.jit_off
@given(SEED, st.sampled_from([1 << 62, WEIGHT_UNITS, WEIGHT_UNITS // 4]))
def test_draws_are_the_twin_s(seed: int, certain_above: int) -> None:
    world = make_world(seed)
    prunes = np.random.default_rng(seed).random(world.synthesizers.tract.size) < 0.8
    chosen, table = dataclasses.replace(world.synthesizers, prunes=prunes), world.support
    drawn = synthesize(KEY, chosen, table, certain_above=min(certain_above, (1 << 62) - 1))
    assert np.diff(drawn.synthetic_ptr).tolist() == chosen.n_synthetic.tolist()
    for one in range(chosen.tract.size):
        at = slice(table.support_ptr[chosen.tract[one]], table.support_ptr[chosen.tract[one] + 1])
        twin = synthesize_one(
            (int(chosen.destination[one]), int(chosen.segment[one])),
            workers_of(chosen, one),
            int(chosen.n_synthetic[one]),
            table.base_weight[at].tolist(),
            int(chosen.min_prior_weight[one]),
            table.retention[at].tolist(),
            certain_above,
            prunes=bool(prunes[one]),
        )
        assert drawn_of(drawn, one) == twin


@given(st.integers(0, 2**24 - 1))
@settings(max_examples=10)
def test_an_attempt_draws_anew_from_the_same_kept_points(attempt: int) -> None:
    chosen = same_synthesizers(30, [0, 2], 5, 1)
    weights, thresholds = [0, 1 << 20, 0, 1 << 22, 5], [1 << 30, 1 << 29, 7, 1 << 31, RETENTION_UNITS]
    drawn = synthesize(KEY, chosen, one_table(weights, thresholds), attempt=attempt)
    for one in range(30):
        twin = synthesize_one((one, 3), [0, 2], 5, weights, 1, thresholds, attempt=attempt)
        assert drawn_of(drawn, one) == twin
    others = synthesize(KEY, chosen, one_table(weights, thresholds), attempt=attempt ^ 1)
    assert digest(drawn) != digest(others)


def test_attempts_without_room_in_the_nonce_are_refused() -> None:
    chosen = same_synthesizers(1, [0], 1, 1)
    for attempt in (-1, 2**24):
        with pytest.raises(ParameterError, match="attempt"):
            synthesize(KEY, chosen, one_table([0]), attempt=attempt)


def test_a_large_urn_is_the_twin_s() -> None:
    # 2,000 balls: 16 bits leave about one draw in sixty open. The heaviest weights leave most open.
    rng = np.random.default_rng(5)
    for most in (1 << 19, 1 << 36, 1 << 41):
        weights, thresholds = rng.integers(0, most, 300).tolist(), rng.integers(1, 1 << 32, 300).tolist()
        workers = rng.integers(0, 300, 800).tolist()
        drawn = synthesize(KEY, same_synthesizers(1, workers, 700, 9), one_table(weights, thresholds))
        assert drawn_of(drawn, 0) == synthesize_one((0, 3), workers, 700, weights, 9, thresholds)


@pytest.mark.jit_off
@given(SEED, st.sampled_from([1, 3, 107374, 1 << 18, WEIGHT_UNITS, (1 << 41) - 1, 1 << 44]))
@settings(max_examples=40)
def test_points_of_equal_weight_are_drawn_as_the_twin_draws_them(seed: int, least: int) -> None:
    # No point outweighs the least weight, so a division finds a point; with one heavier point, a search does.
    rng = np.random.default_rng(seed)
    n_points = int(rng.integers(1, 60))
    thresholds = rng.integers(1, 1 << 32, n_points, endpoint=True).tolist()
    workers = rng.integers(0, n_points, rng.integers(0, 30)).tolist()
    for heaviest in (0, least, least + 1):
        weights = rng.integers(0, least, n_points, endpoint=True).tolist()
        weights[int(rng.integers(n_points))] = heaviest
        drawn = synthesize(KEY, same_synthesizers(1, workers, 90, least), one_table(weights, thresholds))
        assert drawn_of(drawn, 0) == synthesize_one((0, 3), workers, 90, weights, least, thresholds)


@given(SEED, st.lists(st.integers(0, 9), min_size=1, max_size=60))
@settings(max_examples=20)
def test_sizes_that_share_and_fill_the_prepared_blocks_are_the_twin_s(seed: int, sizes: list[int]) -> None:
    # From nothing to draw to streams that need more blocks than are prepared at once.
    rng = np.random.default_rng(seed)
    n_points = 40
    counts = [(size, 40 * size)[size > 7] for size in sizes]
    workers = [rng.integers(0, n_points, rng.integers(0, 4)).tolist() for _ in counts]
    weights, thresholds = [1 << 18] * n_points, rng.integers(1, 1 << 32, n_points).tolist()
    chosen = Synthesizers(
        tract=np.zeros(len(counts), np.int64),
        destination=np.arange(len(counts)),
        segment=np.full(len(counts), 3),
        worker_ptr=np.concatenate(([0], np.cumsum([len(part) for part in workers]))),
        worker_point=np.concatenate([np.array(part, np.int64) for part in workers]),
        min_prior_weight=np.ones(len(counts), np.int64),
        published_count=np.array(counts),
    )
    drawn = synthesize(KEY, chosen, one_table(weights, thresholds))
    for one, count in enumerate(counts):
        twin = synthesize_one((one, 3), workers[one], count, weights, 1, thresholds)
        assert drawn_of(drawn, one) == twin


@pytest.mark.jit_off
@given(SEED)
def test_redraws_are_the_twin_s_and_never_the_remainder(seed: int) -> None:
    world = make_world(seed, n_synthesizers=20)
    chosen, coarse = world.synthesizers, world.edited.coarsening
    drawn = synthesize(KEY, chosen, world.support)
    weight = redraw_weight(world.share)
    redrawn = redraw_remainder(KEY, chosen, drawn, coarse, weight)
    for one in range(chosen.tract.size):
        at = slice(coarse.support_ptr[chosen.tract[one]], coarse.support_ptr[chosen.tract[one] + 1])
        level = coarse.support_level[at]
        remainder = level.size - 1 if level[-1] == LEVEL_REMAINDER else None
        address = (int(chosen.destination[one]), int(chosen.segment[one]))
        twin = redraw_one(address, drawn_of(drawn, one), weight[at].tolist(), remainder)
        assert drawn_of(redrawn, one) == twin
        assert remainder not in twin


@pytest.mark.jit_off
def test_without_a_remainder_nothing_is_redrawn() -> None:
    for seed in range(100):
        world = make_world(seed, n_synthesizers=20)
        if not np.any(world.edited.coarsening.support_level == LEVEL_REMAINDER):
            break
    drawn = synthesize(KEY, world.synthesizers, world.support)
    weight = redraw_weight(world.share)
    assert redraw_remainder(KEY, world.synthesizers, drawn, world.edited.coarsening, weight) is drawn
    with pytest.raises(ParameterError, match="redraw weights"):
        redraw_remainder(KEY, world.synthesizers, drawn, world.edited.coarsening, weight[:-1])


@given(st.integers(0, 2**31))
def test_the_redraw_does_not_depend_on_the_real_workers(seed: int) -> None:
    # Two tables of workers, the same draws: the kept points differ, the redrawn points must not.
    world = make_world(seed, n_synthesizers=8)
    chosen, coarse = world.synthesizers, world.edited.coarsening
    drawn = synthesize(KEY, chosen, world.support)
    moved = Synthesizers(
        tract=chosen.tract,
        destination=chosen.destination,
        segment=chosen.segment,
        worker_ptr=chosen.worker_ptr,
        worker_point=np.zeros_like(chosen.worker_point),
        min_prior_weight=chosen.min_prior_weight,
        published_count=chosen.published_count,
    )
    weight = redraw_weight(world.share)
    first = redraw_remainder(KEY, chosen, drawn, coarse, weight)
    assert digest(first) == digest(redraw_remainder(KEY, moved, drawn, coarse, weight))


@given(SEED, st.integers(2, 5))
def test_threads_order_and_partition_do_not_matter(seed: int, threads: int) -> None:
    world = make_world(seed, n_synthesizers=40)
    chosen, coarse, weight = world.synthesizers, world.edited.coarsening, redraw_weight(world.share)

    def release(part: Synthesizers, threads: int = 1) -> SyntheticPoints:
        drawn = synthesize(KEY, part, world.support, threads=threads)
        return redraw_remainder(KEY, part, drawn, coarse, weight, threads=threads)

    whole = release(chosen)
    assert digest(whole) == digest(release(chosen, threads))
    order = np.random.default_rng(seed).permutation(chosen.tract.size)
    for part in np.array_split(order, 3):
        partial = release(take(chosen, part))
        for position, one in enumerate(part):
            assert drawn_of(partial, position) == drawn_of(whole, one)


@given(SEED)
def test_where_a_tract_stands_in_the_batch_does_not_matter(seed: int) -> None:
    world = make_world(seed)
    chosen, table = world.synthesizers, world.support
    order = np.random.default_rng(seed).permutation(table.n_support.size)
    points = np.concatenate([np.arange(table.support_ptr[one], table.support_ptr[one + 1]) for one in order])
    shuffled = SupportTable(
        support_ptr=np.concatenate(([0], np.cumsum(table.n_support[order]))),
        base_weight=table.base_weight[points],
        retention=table.retention[points],
    )
    moved = Synthesizers(
        tract=np.argsort(order)[chosen.tract].astype(np.int32),
        destination=chosen.destination,
        segment=chosen.segment,
        worker_ptr=chosen.worker_ptr,
        worker_point=chosen.worker_point,
        min_prior_weight=chosen.min_prior_weight,
        published_count=chosen.published_count,
    )
    assert digest(synthesize(KEY, chosen, table)) == digest(synthesize(KEY, moved, shuffled))


@given(SEED)
def test_totals_are_kept_and_draws_stay_in_the_support(seed: int) -> None:
    world = make_world(seed)
    chosen = world.synthesizers
    drawn = synthesize(KEY, chosen, world.support)
    assert drawn.synthetic_point.size == chosen.n_synthetic.sum()
    n_support = np.repeat(world.support.n_support[chosen.tract], chosen.n_synthetic)
    assert np.all((drawn.synthetic_point >= 0) & (drawn.synthetic_point < n_support))


def test_published_counts_default_to_the_real_totals() -> None:
    chosen = same_synthesizers(5, [0, 1, 1], 9, WEIGHT_UNITS)
    plain = Synthesizers(
        tract=chosen.tract,
        destination=chosen.destination,
        segment=chosen.segment,
        worker_ptr=chosen.worker_ptr,
        worker_point=chosen.worker_point,
        min_prior_weight=chosen.min_prior_weight,
    )
    drawn = synthesize(KEY, plain, one_table([0, 0]))
    assert np.diff(drawn.synthetic_ptr).tolist() == [3] * 5


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=3),
    st.lists(st.integers(0, 2), max_size=3),
    st.integers(0, 3),
)
@settings(max_examples=60)
def test_the_urn_is_exactly_dirichlet_multinomial(
    alphas: list[int], workers: list[int], n_synthetic: int
) -> None:
    # Over the twin's urn, whose draws the kernel's equal bit for bit: exact fractions, nothing sampled.
    alpha = {point: weight << 15 for point, weight in enumerate(alphas)}
    workers = [point % len(alphas) for point in workers]
    parameters = [
        Fraction(weight, WEIGHT_UNITS) + workers.count(point) for point, weight in sorted(alpha.items())
    ]
    law = urn_law(alpha, workers, n_synthetic)
    assert sum(law.values()) == 1
    for counts, probability in law.items():
        assert probability == dirichlet_multinomial(counts, parameters)


def test_a_point_that_cannot_stay_is_never_drawn_and_an_occupied_one_always_can() -> None:
    # 2^-32 is the least retention there is: in 20,000 synthesizers no empty point stays (chance 1e-5).
    chosen = same_synthesizers(20_000, [1], 3, WEIGHT_UNITS)
    drawn = synthesize(KEY, chosen, one_table([0, 0, 0], [1, 1, 1]))
    assert set(drawn.synthetic_point.tolist()) == {1}


def test_certain_points_are_never_pruned() -> None:
    chosen = same_synthesizers(3000, [1], 3, 1)
    table = one_table([WEIGHT_UNITS + 1, 0, WEIGHT_UNITS], [1, 1, 1])
    drawn = synthesize(KEY, chosen, table, certain_above=WEIGHT_UNITS)
    assert set(drawn.synthetic_point.tolist()) == {0, 1}


def test_a_least_weight_above_the_limit_keeps_the_whole_prior() -> None:
    chosen = same_synthesizers(3000, [1], 3, WEIGHT_UNITS + 1)
    drawn = synthesize(KEY, chosen, one_table([0, 0, 0], [1, 1, 1]), certain_above=WEIGHT_UNITS)
    assert set(drawn.synthetic_point.tolist()) == {0, 1, 2}


def test_without_real_workers_the_whole_prior_is_kept() -> None:
    chosen = same_synthesizers(3000, [], 2, WEIGHT_UNITS)
    drawn = synthesize(KEY, chosen, one_table([0, 0, 0], [1, 1, 1]))
    assert set(drawn.synthetic_point.tolist()) == {0, 1, 2}


@pytest.mark.jit_off
def test_nothing_to_draw_is_nothing() -> None:
    empty = make_synthesizers(np.random.default_rng(0), one_table([1]), 0)
    assert synthesize(KEY, empty, one_table([1]), threads=2).synthetic_ptr.tolist() == [0]


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"destination": [1, 1]}, "occurs twice"),
        ({"prunes": np.array([1, 0])}, "prunes is int64"),
        ({"prunes": np.array([True])}, "prunes has 1 values for 2"),
        ({"min_prior_weight": [0, 1]}, "min_prior_weight runs from 0"),
        ({"worker_point": [0, -1]}, "worker_point runs from -1"),
        ({"worker_ptr": [0, 2, 1]}, "never fall"),
        ({"worker_ptr": [0, 1, 3]}, "must end at 2"),
        ({"worker_ptr": [0, 2]}, "worker_ptr has 2 values"),
        ({"tract": [0]}, "tract has 1 values"),
        ({"published_count": [1, -1]}, "published_count runs from -1"),
    ],
)
def test_bad_synthesizers_are_refused(change: dict[str, Any], message: str) -> None:
    fields = {
        "tract": [0, 0],
        "destination": [1, 2],
        "segment": [0, 0],
        "worker_ptr": [0, 1, 2],
        "worker_point": [0, 1],
        "min_prior_weight": [1, 1],
        "published_count": [1, 1],
    }
    with pytest.raises(ParameterError, match=message):
        Synthesizers(**{name: np.array(values) for name, values in (fields | change).items()})


@pytest.mark.jit_off
def test_bad_support_is_refused() -> None:
    with pytest.raises(ParameterError, match="retention runs from 0"):
        one_table([1], [0])
    with pytest.raises(ParameterError, match="give one each"):
        one_table([1, 1], [1])
    chosen = same_synthesizers(2, [0, 2], 1, 1)
    with pytest.raises(ParameterError, match="2 workers are in a support point"):
        synthesize(KEY, chosen, one_table([1, 1]))
    with pytest.raises(SupportError, match="has no support point"):
        synthesize(KEY, same_synthesizers(2, [], 1, 1), one_table([]))
    none = np.zeros(1, np.int64)
    with pytest.raises(ParameterError, match="tract reaches 0"):
        synthesize(
            KEY,
            chosen,
            SupportTable(support_ptr=none[:1], base_weight=none[1:], retention=none[1:]),
        )


@pytest.mark.jit_off
def test_weights_that_could_overflow_are_refused_and_the_largest_allowed_work() -> None:
    chosen = same_synthesizers(4, [0], 2, 1)
    room = ((1 << 62) - 1 - (3 << 20)) // 2
    with pytest.raises(OverflowRefusedError, match="destination 0, segment 3: 2 points"):
        synthesize(KEY, chosen, one_table([room + 1, 0]))
    largest = synthesize(KEY, chosen, one_table([room, room]))
    twin = [synthesize_one((one, 3), [0], 2, [room, room], 1, [RETENTION_UNITS] * 2) for one in range(4)]
    assert [drawn_of(largest, one) for one in range(4)] == twin


@pytest.mark.jit_off
def test_bad_redraws_are_refused() -> None:
    for seed in range(100):
        world = make_world(seed)
        if world.edited.n_eliminated.any():
            break
    coarse, chosen = world.edited.coarsening, world.synthesizers
    drawn = synthesize(KEY, chosen, world.support)
    with pytest.raises(SupportError, match="outside its remainder"):
        redraw_remainder(KEY, chosen, drawn, coarse, np.zeros(coarse.support_level.size, np.int64))
    with pytest.raises(ParameterError, match="give one each"):
        redraw_remainder(KEY, chosen, drawn, coarse, np.zeros(1, np.int64))
    with pytest.raises(OverflowRefusedError, match=r"below 2\^61"):
        redraw_remainder(KEY, chosen, drawn, coarse, np.full(coarse.support_level.size, 1 << 61))
    with pytest.raises(ParameterError, match="differ in number"):
        redraw_remainder(KEY, take(chosen, np.array([0])), drawn, coarse, redraw_weight(world.share))


# What the test key draws is part of every published demonstration: a change here changes them all.
# It is the plain twin that says what it must be. To renew it:
# python -c "from tests.engine.test_synthesis import twin_digest; print(twin_digest())"
PINNED = "d66441f8ffccf46a8eddfbc1b13b4768e457ae9c385a23eb0bbb991236fa740b"
PINNED_WORKERS = [0, 2, 2, 5]
PINNED_WEIGHTS = [0, WEIGHT_UNITS, 3, 70_000, 0, 12, 9]
PINNED_THRESHOLDS = [1 << 30, 1 << 31, 107374183, RETENTION_UNITS, 1 << 24, 5, (1 << 32) - 1]
N_PINNED = 150
BOTH_SCRIPT = """
from tests.engine.test_synthesis import pinned_digest, world_digest
print(pinned_digest(), world_digest())
"""


def pinned_digest() -> str:
    chosen = same_synthesizers(N_PINNED, PINNED_WORKERS, 6, WEIGHT_UNITS // 20)
    return digest(synthesize(KEY, chosen, one_table(PINNED_WEIGHTS, PINNED_THRESHOLDS)))


def twin_digest() -> str:
    drawn = [
        synthesize_one((one, 3), PINNED_WORKERS, 6, PINNED_WEIGHTS, WEIGHT_UNITS // 20, PINNED_THRESHOLDS)
        for one in range(N_PINNED)
    ]
    return digest(
        SyntheticPoints(
            synthetic_ptr=6 * np.arange(N_PINNED + 1), synthetic_point=np.array(drawn, np.int32).ravel()
        )
    )


def world_digest() -> str:
    world = make_world(20240601, n_synthesizers=30)
    drawn = synthesize(KEY, world.synthesizers, world.support)
    return digest(
        redraw_remainder(KEY, world.synthesizers, drawn, world.edited.coarsening, redraw_weight(world.share))
    )


def test_draws_of_the_test_key_are_pinned() -> None:
    assert pinned_digest() == twin_digest() == PINNED


def test_draws_are_the_same_uncompiled() -> None:
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error", "-c", BOTH_SCRIPT]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [PINNED, world_digest()]
