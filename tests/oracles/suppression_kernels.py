"""Plain twins of the kernels that decide cells: the bounds, in the order of their derivation, and the draws.

Source: docs/theory/suppressed-tables.md, "The certified bound" and "Deciding by sampling".
"""

from __future__ import annotations

from fractions import Fraction

from tests.oracles.chacha import Stream

UNIT = 2.0**-53


def unsafe_bounds(people: int, rate: Fraction, low: int, high: int, negligible: float) -> tuple[float, float]:
    """Lower and upper bound of the chance of a value outside the interval."""
    if low > high:
        return 1.0, 1.0
    if low <= 0 and high >= people:
        return 0.0, 0.0
    yes, no = rate.numerator, rate.denominator - rate.numerator
    start = (people + 1) * yes // (yes + no)
    up = _side(people, yes / no, start, (low, high), negligible)
    down = _side(people, no / yes, people - start, (people - high, people - low), negligible)
    at_start = (1.0, 0.0) if low <= start <= high else (0.0, 1.0)
    within, outside = (up[at] + down[at] + at_start[at] for at in (0, 1))
    rest = up[2] + down[2]
    slack = (16.0 * (up[3] + down[3] + 1) + 64) * UNIT
    lower = outside / (within + outside + rest) * (1 - slack)
    upper = (outside + rest) / (within + outside) * (1 + slack)
    return lower, min(upper, 1.0)


def _side(
    people: int, odds: float, start: int, safe: tuple[int, int], negligible: float
) -> tuple[float, float, float, int]:
    sums = [0.0, 0.0]
    weight = 1.0
    for k in range(start, people):
        ratio = (people - k) * odds / (k + 1)
        raised = ratio * (1 + 8 * UNIT)
        if weight < negligible and raised < 1 and weight * raised / (1 - raised) <= negligible:
            return sums[0], sums[1], weight * raised / (1 - raised), k - start
        weight = weight * ratio
        sums[not safe[0] <= k + 1 <= safe[1]] += weight
    return sums[0], sums[1], 0.0, people - start


def sampled_values(position: int, people: int, rate: Fraction, n: int) -> list[int]:
    """The first values that Algorithm 3 draws at a position, with the test key."""
    stream = Stream("TABLE", position, 0)
    return [_sampled_value(stream, people, rate) for _ in range(n)]


def _sampled_value(stream: Stream, people: int, rate: Fraction) -> int:
    """Everyone's uniform number, digit by digit: those whose digit differs from the rate's are decided."""
    count, undecided, left = 0, people, rate
    while undecided:
        left *= 2
        digit = int(left >= 1)
        left -= digit
        ones = 0
        for first in range(0, undecided, 32):
            bits = min(32, undecided - first)
            ones += (stream.word() & ((1 << bits) - 1)).bit_count()
        if digit:
            count, undecided = count + undecided - ones, ones
        else:
            undecided -= ones
    return count
