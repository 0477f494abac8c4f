"""Joint segments: published margins are recovered whatever they are, and counts lie near their product."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from geodata.sources.segments import Ints, joint_counts


@st.composite
def margins(draw: st.DrawFn) -> Ints:
    """Three margins of the same total, int64[3, 3]."""
    total = draw(st.one_of(st.integers(0, 12), st.integers(0, 2_000_000)))
    rows = []
    for _ in range(3):
        cuts = sorted(draw(st.lists(st.integers(0, total), min_size=2, max_size=2)))
        rows.append([cuts[0], cuts[1] - cuts[0], total - cuts[1]])
    return np.array(rows, dtype=np.int64)


def joint_of(margin: Ints, turn: int) -> Ints:
    """Joint counts of one row, from its three margins."""
    age, earnings, industry = margin[:, None, :]
    (joint,) = joint_counts(age, earnings, industry, np.array([turn]))
    return np.asarray(joint)


@given(st.lists(st.tuples(margins(), st.integers(0, 20_000)), min_size=1, max_size=20))
def test_all_margins_are_recovered(rows: list[tuple[Ints, int]]) -> None:
    stacked = np.stack([margin for margin, _ in rows])
    turn = np.array([turn for _, turn in rows], dtype=np.int64)
    joint = joint_counts(stacked[:, 0], stacked[:, 1], stacked[:, 2], turn)
    assert (joint >= 0).all()
    assert (joint.sum(axis=(2, 3)) == stacked[:, 0]).all()
    assert (joint.sum(axis=(1, 3)) == stacked[:, 1]).all()
    assert (joint.sum(axis=(1, 2)) == stacked[:, 2]).all()


@given(margins(), st.integers(0, 20_000))
def test_counts_lie_near_the_product_of_the_margins(margin: Ints, turn: int) -> None:
    """Within 3 jobs of age × earnings / total, and within 5 of the product of all three."""
    age, earnings, industry = margin
    joint = joint_of(margin, turn)
    total = max(int(age.sum()), 1)
    assert np.abs(joint.sum(axis=2) - np.outer(age, earnings) / total).max() <= 3
    product = age[:, None, None] * earnings[:, None] * (industry / total**2)
    assert np.abs(joint - product).max() <= 5


def test_one_job_is_known_exactly() -> None:
    age, earnings, industry = (np.eye(3, dtype=np.int64)[[k]] for k in (2, 0, 1))
    assert joint_counts(age, earnings, industry, np.array([7]))[0, 2, 0, 1] == 1


def test_ties_favour_no_combination() -> None:
    """Two jobs that differ in everything: over many turns each pairing comes equally often."""
    turn = np.arange(900, dtype=np.int64)
    pair = np.tile(np.array([1, 1, 0], dtype=np.int64), (turn.size, 1))
    together = joint_counts(pair, pair, pair, turn).sum(axis=0)
    by_age_earnings = together.sum(axis=2)[:2, :2]
    assert by_age_earnings.min() >= turn.size / 3
    assert together[:2, :2, :2].min() >= turn.size / 9


def test_a_row_does_not_depend_on_the_others() -> None:
    rng = np.random.default_rng(3)
    total = rng.integers(0, 50, 200)
    shares = ([0.2, 0.5, 0.3], [0.3, 0.3, 0.4], [0.1, 0.2, 0.7])
    age, earnings, industry = (rng.multinomial(total, share) for share in shares)
    turn = rng.integers(0, 9, 200)
    whole = joint_counts(age, earnings, industry, turn)
    alone = np.concatenate(
        [joint_counts(age[[k]], earnings[[k]], industry[[k]], turn[[k]]) for k in range(200)]
    )
    assert (whole == alone).all()


def apportioned(total: int, left: list[int], turn: int) -> list[int]:
    """Largest remainders, in fractions; equal ones in cyclic order from the turn."""
    if total == 0:
        return [0] * len(left)
    quota = [Fraction(total * part, sum(left)) for part in left]
    share = [int(part) for part in quota]
    order = sorted(range(len(left)), key=lambda k: (share[k] - quota[k], (k - turn) % len(left)))
    for k in order[: total - sum(share)]:
        share[k] += 1
    return share


def joint_in_fractions(margin: list[list[int]], turn: int) -> Ints:
    """The plain twin: one row, band by band, as the module's text says."""
    age, earnings, industry = margin
    joint = np.zeros((3, 3, 3), dtype=np.int64)
    left = list(earnings)
    cells = []
    for band in age:
        cells.append(apportioned(band, left, turn))
        left = [a - b for a, b in zip(left, cells[-1], strict=True)]
    left = list(industry)
    for a in range(3):
        for e in range(3):
            joint[a, e] = apportioned(cells[a][e], left, turn // 3)
            left = [x - int(y) for x, y in zip(left, joint[a, e], strict=True)]
    return joint


@given(margins(), st.integers(0, 20_000))
def test_slow_equals_fast(margin: Ints, turn: int) -> None:
    joint = joint_of(margin, turn)
    assert (joint == joint_in_fractions(margin.tolist(), turn)).all()


def test_the_largest_counts_that_a_file_may_hold() -> None:
    most = 2**31 - 1
    margin = [[most - 2, 1, 1], [most // 2, most // 2, 1], [1, most - 1, 0]]
    joint = joint_of(np.array(margin), 5)
    assert (joint == joint_in_fractions(margin, 5)).all()
