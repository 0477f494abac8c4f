"""Jumps from candidate to candidate: exact tables, ties decided to the last bit, the reading public."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from engine.kernels import chacha
from engine.kernels.arrays import Ints
from engine.kernels.units import RETENTION_UNITS
from engine.support.kernels import skipping
from tests.engine.worlds import KEY, one_table
from tests.oracles.chacha import Stream, WrittenStream
from tests.oracles.synthesis import powers, retention_class, stays_by_chance

FALSE_ALARM = 1e-6
BOUNDARIES = sorted(
    {
        max(1, (1 << bits) + step)
        for bits in range(22, 33)
        for step in (-1, 0, 1)
        if (1 << bits) + step <= 1 << 32
    }
    | {1, 2, 107374183}
)
THRESHOLDS = st.lists(st.sampled_from(BOUNDARIES) | st.integers(1, RETENTION_UNITS), min_size=1, max_size=60)


def keep(stream: Ints, thresholds: list[int], already: Collection[int] = ()) -> list[int]:
    """Points the kernel keeps by chance beside those kept already."""
    table = one_table([0] * len(thresholds), thresholds)
    kept, marks = np.zeros(len(thresholds) + 1, np.int32), np.zeros(len(thresholds), np.int64)
    marks[list(already)] = 1
    digits = np.empty(skipping.JUMP_DIGITS, np.int64)
    n_kept = skipping.keep_by_chance(
        KEY.words,
        stream,
        skipping.JUMP_TABLES,
        digits,
        table.retention_classes(),
        0,
        skipping.KeptPoints(kept, marks, 1),
        0,
    )
    return list(kept[:n_kept].tolist())


def written(words: list[int]) -> Ints:
    """A kernel stream with these words at hand."""
    stream = np.zeros(chacha.STREAM_FIELDS, np.int64)
    chacha.open_stream(2, 0, 0, stream)
    stream.view(np.uint32)[: len(words)] = words
    stream[chacha.END] = 4 * len(words)
    return stream


def opened(destination: int) -> Ints:
    stream = np.zeros(chacha.STREAM_FIELDS, np.int64)
    chacha.open_stream(2, destination, 0, stream)
    return stream


@pytest.mark.parametrize("c", range(1, 9))
def test_the_table_says_what_every_number_of_a_cell_says(c: int) -> None:
    rising = [*powers(c), Fraction(1)]
    falling = rising[::-1]
    for cell, jump in enumerate(skipping.JUMP_TABLES.cells[c].tolist()):
        first, end = Fraction(cell, 4096), Fraction(cell + 1, 4096)
        if jump >= 0:
            assert falling[jump] >= end
            assert jump == 4 << c or falling[jump + 1] <= first
        else:
            assert bisect_right(rising, first) < bisect_left(rising, end)
            # The longest power below the cell's end is passed over; the next one lies in the cell.
            assert falling[-1 - jump] >= end > falling[-jump] > first
    rounded = [power.numerator * 2**44 // power.denominator for power in falling]
    assert skipping.JUMP_TABLES.powers[c, : len(rounded)].tolist() == rounded


@pytest.mark.jit_off
@given(THRESHOLDS)
def test_points_are_sorted_by_class(thresholds: list[int]) -> None:
    table = one_table([0] * len(thresholds), thresholds)
    classes = [9 if out_of == RETENTION_UNITS else retention_class(out_of) for out_of in thresholds]
    found = table.retention_classes()
    by_class = sorted(range(len(thresholds)), key=classes.__getitem__)
    assert [skipping.point_of(entry) for entry in found.entry.tolist()] == by_class
    assert (found.entry >> 31).tolist() == [min(thresholds[point], 2**32 - 1) for point in by_class]
    assert np.diff(found.ptr).tolist() == [classes.count(c) for c in range(10)]


@pytest.mark.jit_off
@given(THRESHOLDS, st.integers(0, 2**32 - 1))
def test_what_stays_is_the_twin_s(thresholds: list[int], destination: int) -> None:
    assert keep(opened(destination), thresholds) == stays_by_chance(
        Stream("RETAIN", destination, 0), thresholds
    )


@given(THRESHOLDS, st.integers(0, 2**32 - 1), st.data())
def test_the_stream_is_read_without_a_look_at_what_is_kept_already(
    thresholds: list[int], destination: int, data: st.DataObject
) -> None:
    already = data.draw(st.sets(st.integers(0, len(thresholds) - 1)))
    free, bound = opened(destination), opened(destination)
    by_chance = keep(free, thresholds)
    assert keep(bound, thresholds, already) == [point for point in by_chance if point not in already]
    assert free.tolist() == bound.tolist()


def tie_words(c: int, j: int, step: int) -> list[int]:
    """Words of a number that agrees with q^j to the last word but one, and differs by ``step`` in that one."""
    power = powers(c)[-j]
    n_words = -(-(c * j - 12) // 32)
    digits = power.numerator * 2 ** (12 + 32 * n_words) // power.denominator + step
    return [digits >> (32 * n_words), *(digits >> (32 * at) & 0xFFFFFFFF for at in reversed(range(n_words)))]


@pytest.mark.jit_off
@pytest.mark.parametrize("step", [-1, 0, 1])
@pytest.mark.parametrize(
    ("c", "j"),
    [(2, 7), (3, 14), (3, 15), (4, 11), (5, 9), (5, 20), (6, 200), (7, 511), (8, 1), (8, 6), (8, 1000)],
)
def test_a_tie_is_decided_by_the_last_bit(c: int, j: int, step: int) -> None:
    # q^j has c j bits. The number equal to it lies not below, so it jumps over j - 1 points, as the next does;
    # the one before jumps over j. Every candidate stays: f is 2^-c exactly.
    first, *rest = tie_words(c, j, step)
    words = [first, *rest, 0, 0]
    n_points = (4 << c) + 2
    kept = keep(written(words), [1 << (32 - c)] * n_points)
    assert kept == stays_by_chance(WrittenStream([*words, *[0] * 200]), [1 << (32 - c)] * n_points)
    assert kept[0] == (j if step < 0 else j - 1)


def test_the_longest_jump_ends_at_no_candidate() -> None:
    # A word of zeros passes over 4 × 2^c points; the word after it counts from there.
    for c in range(1, 9):
        limit = 4 << c
        assert keep(written([0] * 8), [1 << (32 - c)] * limit) == []
        assert keep(written([0, 0xFFF, 0, 0]), [1 << (32 - c)] * (limit + 1)) == [limit]


@pytest.mark.parametrize("threshold", [2**31 + 1, 2**32 - 1, 3 * 2**29, 107374183, 2**24 - 1, 1])
def test_a_candidate_stays_below_its_threshold_only(threshold: int) -> None:
    # The first word makes point 0 a candidate; its high 20 bits and 12 bits of the next decide.
    c = retention_class(threshold)
    chance = threshold << c
    for drawn, stays in ((chance - 1, True), (chance, False), (0, True), (2**32 - 1, chance == 2**32)):
        words = [drawn >> 12 << 12 | 0xFFF, drawn & 0xFFF, 0, 0]
        assert (keep(written(words), [threshold]) == [0]) is stays


def test_every_word_makes_its_share_of_jumps() -> None:
    # All cells of the table at once: jumps of j have at most their chance, and what is open makes up the rest.
    for c in range(1, 9):
        cells = skipping.JUMP_TABLES.cells[c]
        counts = np.bincount(cells[cells >= 0], minlength=(4 << c) + 1)
        falling = [Fraction(1), *powers(c)[::-1], Fraction(0)]
        short = [falling[j] - falling[j + 1] - Fraction(int(counts[j]), 4096) for j in range((4 << c) + 1)]
        assert min(short) >= 0
        assert sum(short) == Fraction(int((cells < 0).sum()), 4096)


@pytest.mark.parametrize(
    "threshold", [2**32 - 1, 3 << 30, 1 << 31, 1 << 29, 107374183, 1 << 26, 1 << 24, 1 << 21]
)
def test_points_stay_with_their_probability_independently(threshold: int) -> None:
    n_points, n_streams = 600, 4000
    stays = np.zeros((n_streams, n_points), bool)
    for one in range(n_streams):
        stays[one, keep(opened(threshold + one), [threshold] * n_points)] = True
    share = threshold / RETENTION_UNITS
    n_kept = stays.sum(axis=1)
    # Binomial numbers of kept points, in classes that expect at least ten streams each.
    edges = np.unique(stats.binom.ppf(np.linspace(0.02, 0.98, 13), n_points, share))
    seen = np.bincount(np.searchsorted(edges, n_kept), minlength=edges.size + 1)
    expected = np.diff(np.concatenate(([0], stats.binom.cdf(edges, n_points, share), [1]))) * n_streams
    many = expected >= 10
    if many.sum() > 1:
        seen, expected = seen[many], expected[many]
        assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > FALSE_ALARM
    # The same for every point, and no more or less likely after one that stayed.
    each = stats.binomtest(int(stays.sum()), stays.size, share)
    assert each.pvalue > FALSE_ALARM
    n_pairs = n_streams * (n_points - 1)
    both = int((stays[:, 1:] & stays[:, :-1]).sum())
    assert stats.binomtest(both, n_pairs, share**2).pvalue > FALSE_ALARM
    if 0.01 < share < 0.99:
        by_point = stats.chi2_contingency(np.stack([stays.sum(axis=0), (~stays).sum(axis=0)]))
        assert by_point.pvalue > FALSE_ALARM
