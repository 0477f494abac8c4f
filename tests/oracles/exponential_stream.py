"""Plain twin of the exponential mechanism's draw, bit for bit, from the same keyed streams.

Written from docs/theory/method.md, section 7d. A chance is compared with a uniform number that is read 16 bits at a
time, and every other chance is a whole number below a bound.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import isqrt
from typing import NamedTuple

from tests.oracles.chacha import Stream
from tests.oracles.exponential import THETA_UNITS, inverse_theta_of_bound, inverse_theta_of_total

DRAWN_BITS = 40
MOST_EXACT_WORKERS = 20


@cache
def theta_of(n: int, k: int, growth: Fraction) -> Fraction:
    """Theta of n workers over k points: exact up to 20 workers, for more the limit."""
    if n == 1 or k == 1:
        inverse = int(growth * THETA_UNITS)
    elif n <= MOST_EXACT_WORKERS:
        inverse = inverse_theta_of_total(n, k, growth)
    else:
        inverse = inverse_theta_of_bound(k, growth, sharp=True)
    cut = max(0, inverse.bit_length() - DRAWN_BITS)
    return Fraction(THETA_UNITS >> cut, inverse >> cut)


def happens(stream: Stream, chance: Fraction) -> bool:
    """A uniform number below the chance, read until that is known."""
    drawn, read = 0, 0
    while True:
        drawn, read = drawn << 16 | stream.half(), read + 16
        edge = (chance.numerator << read) // chance.denominator
        if drawn != edge or edge == chance * 2**read:
            return drawn < edge


def first_guess(n_occupied: int, k: int, theta: Fraction) -> int:
    """About how many workers are freed: F^2 = s theta (F + k), in units of 2^-8 of a worker."""
    half = int(n_occupied * theta * 2**8) >> 1
    return (half + isqrt(half**2 + (half * k << 9))) >> 8


class Proposal(NamedTuple):
    """v = part / 2^bits, and the sum of freed workers that is likeliest if it is accepted."""

    part: int
    bits: int
    likeliest: int


def proposal(guess: int, n: int, k: int) -> Proposal:
    """v = F / (F + k - 1), rounded down to 20 binary digits."""
    freed = min(max(guess, 1), n)
    bits = 19
    while (freed << bits) // (freed + k - 1) < 1 << 19:
        bits += 1
    part = (freed << bits) // (freed + k - 1)
    v = Fraction(part, 1 << bits)
    return Proposal(part, bits, min(n, int(v * (k - 1) / (1 - v))))


def freed_of(stream: Stream, count: int, theta: Fraction, u: Fraction) -> int:
    """How many workers one point frees."""
    ratio = min(u, 1 / u)
    digit = int(ratio * 2**16)
    v = theta / u
    while True:
        if (count + 1) * (2**16 - digit) < 2**16:
            whole, some = theta.denominator, theta.denominator - theta.numerator
            place = stream.below(whole + count * some)
            freed = count if place < whole else (place - whole) // some
            if all(happens(stream, ratio) for _ in range(count - freed if u > 1 else freed)):
                return freed
        elif u > 1:
            kept = 0
            if not happens(stream, (1 - ratio) / (1 - v)):
                kept = 1
                while kept <= count and happens(stream, ratio):
                    kept += 1
            if kept <= count:
                return count - kept
        else:
            freed = 0
            while freed < count and happens(stream, ratio):
                freed += 1
            if freed < count or happens(stream, (1 - ratio) / (1 - theta)):
                return freed


def is_accepted(stream: Stream, freed: int, plan: Proposal, k: int) -> bool:
    """Accept with v^F C(F + k - 1, F), divided by its largest value."""
    part, bits, likeliest = plan
    if freed > likeliest:
        return all(stream.below((one + 1) << bits) < part * (one + k) for one in range(likeliest, freed))
    return all(stream.below(part * (one + k)) < (one + 1) << bits for one in range(freed, likeliest))


def free(stream: Stream, counts: Sequence[int], k: int, theta: Fraction) -> list[int]:
    """How many workers each occupied point frees; a rejected round moves the next proposal half-way.

    It stays strictly between the guesses that were too few and too many, as far as earlier rounds showed.
    """
    n = sum(counts)
    guess = first_guess(len(counts), k, theta)
    bounds = 0, n + 1
    while True:
        plan = proposal(guess, n, k)
        u = theta / Fraction(plan.part, 1 << plan.bits)
        freed = [freed_of(stream, count, theta, u) for count in counts]
        total = sum(freed)
        if is_accepted(stream, total, plan, k):
            return freed
        guess = min(max(guess, 1), n)
        bounds = (guess, bounds[1]) if total > plan.likeliest else (bounds[0], guess)
        if bounds[1] - bounds[0] <= 1:
            bounds = 0, n + 1
        guess = (total + plan.likeliest) // 2
        if not bounds[0] < guess < bounds[1]:
            guess = sum(bounds) // 2


def draw_unit(address: tuple[int, int], workers: Sequence[int], k: int, theta: Fraction) -> list[int]:
    """Support points of the synthetic workers of one unit, in rising order."""
    if not workers or k == 1:
        return [0] * len(workers)
    stream = Stream("MOVE", *address)
    counts = sorted(Counter(workers).items())
    freed = free(stream, [count for _, count in counts], k, theta)
    moved: list[int] = []
    for one in range(sum(freed)):
        ball = stream.below(k + one)
        moved.append(ball if ball < k else moved[ball - k])
    kept = [point for (point, count), gone in zip(counts, freed, strict=True) for _ in range(count - gone)]
    return sorted(kept + moved)


def deal(number: int, drawn: Sequence[int], sizes: Sequence[int]) -> list[list[int]]:
    """Deal the workers of a unit out to its cells, which come by block and segment."""
    stream, order = Stream("DEAL", number, 0), list(drawn)
    for left in range(len(order), 1, -1):
        chosen = stream.below(left)
        order[chosen], order[left - 1] = order[left - 1], order[chosen]
    ends = [sum(sizes[: one + 1]) for one in range(len(sizes))]
    return [sorted(order[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
