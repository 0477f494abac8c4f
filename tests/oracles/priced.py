"""Plain twin of the exponential mechanism with a price: law, ratios and draws in exact fractions.

Written from docs/theory/method.md, section 7d, "A price for occupied points": P(m | x) is proportional to
theta^d(x, m) c^(occupied points of m).
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from tests.oracles.chacha import Stream
from tests.oracles.exponential import Table, distance, moves, partition_moves, partitions, tables
from tests.oracles.exponential_stream import first_guess, happens

PRICE_UNITS = 1 << 12


def priced_weights(table: Table, theta: Fraction, price: Fraction) -> dict[Table, Fraction]:
    """Weight of every released table, one after another."""
    return {
        other: theta ** distance(table, other) * price ** sum(count > 0 for count in other)
        for other in tables(sum(table), len(table))
    }


def priced_law(table: Table, theta: Fraction, price: Fraction) -> dict[Table, Fraction]:
    """Probability of every released table."""
    weights = priced_weights(table, theta, price)
    total = sum(weights.values())
    return {other: weight / total for other, weight in weights.items()}


def priced_ratio(n: int, k: int, theta: Fraction, price: Fraction) -> Fraction:
    """Largest P(m | x) / P(m | x') over all neighbors and all m, table by table."""
    laws = {table: priced_law(table, theta, price) for table in tables(n, k)}
    return max(
        chance / laws[other][released]
        for table, law in laws.items()
        for other in moves(table)
        for released, chance in law.items()
    )


def priced_normalizer(parts: Table, k: int, theta: Fraction, price: Fraction) -> Fraction:
    """Z from the occupied points alone: the coefficient of t^n in the product of what every point weighs."""
    n = sum(parts)

    def of_point(count: int) -> list[Fraction]:
        return [theta ** max(count - drawn, 0) * (price if drawn else Fraction(1)) for drawn in range(n + 1)]

    product = [Fraction(1)] + [Fraction(0)] * n
    for count in (*parts, *[0] * (k - len(parts))):
        factor = of_point(count)
        product = [
            sum((product[one] * factor[at - one] for one in range(at + 1)), start=Fraction(0))
            for at in range(n + 1)
        ]
    return product[n]


def priced_partition_ratio(n: int, k: int, theta: Fraction, price: Fraction) -> Fraction:
    """The worst ratio from partitions: 1/theta times the largest Z(x)/Z(x')."""
    total = {parts: priced_normalizer(parts, k, theta, price) for parts in partitions(n) if len(parts) <= k}
    pairs = [(total[parts], total[other]) for parts in total for other in partition_moves(parts, k)]
    return max((one / other for one, other in pairs), default=Fraction(1)) / theta


def priced_moves(table: Table, theta: Fraction, price: Fraction) -> Fraction:
    """Expected number of workers who move."""
    law = priced_law(table, theta, price)
    return sum((distance(table, other) * chance for other, chance in law.items()), start=Fraction(0))


class Proposal(NamedTuple):
    """v = part / 2^bits, K, 2 - c, and the number of freed workers that is likeliest if it is accepted."""

    part: int
    bits: int
    weight: Fraction
    more: Fraction
    likeliest: int

    @property
    def v(self) -> Fraction:
        """The chance itself."""
        return Fraction(self.part, 1 << self.bits)

    def step(self, one: int) -> Fraction:
        """How much likelier one more freed worker is, after a number of them, if it is accepted."""
        return self.v * (self.weight + self.more * one) / (one + 1)


def proposal(guess: int, n: int, n_occupied: int, k: int, price: Fraction) -> Proposal:
    """v = F / (F + K - 1), rounded down to 8 binary digits."""
    freed = min(max(guess, 1), n)
    more = 2 - price
    weight = max(n_occupied + price * (k - n_occupied), more)
    exact = freed / (freed + weight - 1)
    bits = 7
    while exact * 2**bits < 2**7:
        bits += 1
    plan = Proposal(int(exact * 2**bits), bits, weight, more, 0)
    likeliest = 0
    while likeliest < n and plan.step(likeliest) >= 1:
        likeliest += 1
    return plan._replace(likeliest=likeliest)


def freed_of(stream: Stream, count: int, theta: Fraction, price: Fraction, u: Fraction) -> int:
    """How many workers one point frees: weights q u^f below the count and u^count, q = c (1 - theta)."""
    q = price * (1 - theta)
    if count == 1:
        return int(happens(stream, u / (u + q)))
    freed: int | None
    ratio = min(u, 1 / u)
    is_slow = (count + 1) * (2**16 - int(ratio * 2**16)) < 2**16
    while True:
        if is_slow:
            freed = freed_slowly(stream, count, theta.denominator * PRICE_UNITS, q, u)
        elif u > 1:
            freed = freed_above_one(stream, count, q, ratio)
        elif happens(stream, u / (u + q)):
            is_kept = not happens(stream, ratio) and passes(stream, count - 1, ratio) == count - 1
            freed = count if is_kept else None
        else:
            freed = passes(stream, count, ratio)
            freed = freed if freed < count else None
        if freed is not None:
            return freed


def passes(stream: Stream, most: int, ratio: Fraction) -> int:
    """How many events of this chance happen before one does not."""
    passed = 0
    while passed < most and happens(stream, ratio):
        passed += 1
    return passed


def freed_slowly(stream: Stream, count: int, whole: int, q: Fraction, u: Fraction) -> int | None:
    """Weights q below the count and 1 at it, kept with u^f, or u^(f - count) where u is above 1."""
    some = int(q * whole)
    place = stream.below(whole + count * some)
    freed = count if place < whole else (place - whole) // some
    trials = count - freed if u > 1 else freed
    return freed if passes(stream, trials, min(u, 1 / u)) == trials else None


def freed_above_one(stream: Stream, count: int, q: Fraction, ratio: Fraction) -> int | None:
    """All, or else 1 and a geometric number of workers stay."""
    if happens(stream, (1 - ratio) / (1 - ratio + q * ratio)):
        return count
    stay = 1 + passes(stream, count, ratio)
    return count - stay if stay <= count else None


def is_accepted(stream: Stream, freed: int, plan: Proposal) -> bool:
    """Accept with v^F prod (K + (2 - c) i)/(i + 1), divided by its largest value."""

    def parts(one: int) -> tuple[int, int]:
        whole = (one + 1) * PRICE_UNITS << plan.bits
        return int(plan.step(one) * whole), whole

    if freed > plan.likeliest:
        return all(stream.below(parts(one)[1]) < parts(one)[0] for one in range(plan.likeliest, freed))
    return all(stream.below(parts(one)[0]) < parts(one)[1] for one in range(freed, plan.likeliest))


def lay_out(
    stream: Stream,
    n_freed: int,
    opened: Sequence[int],
    occupied: set[int],
    k: int,
    plan: Proposal,
    price: int,
) -> list[int] | None:
    """Points of the freed workers, one by one; None if a step is not accepted."""
    moved: list[int] = []
    reached: list[int] = []
    for one in range(n_freed):
        place = stream.below(int((plan.weight + plan.more * one) * PRICE_UNITS))
        balls = [*opened, *moved, *reached]
        free = [point for point in range(k) if point not in occupied and point not in reached]
        if place < len(balls) * PRICE_UNITS:
            moved.append(balls[place // PRICE_UNITS])
        elif place < len(balls) * PRICE_UNITS + price * len(free):
            moved.append(free[(place - len(balls) * PRICE_UNITS) // price])
            reached.append(moved[-1])
        else:
            return None
    return moved


def draw_priced(
    address: tuple[int, int], workers: Sequence[int], k: int, theta: Fraction, price: int
) -> list[int]:
    """Support points of the synthetic workers of one unit, in rising order; the price in units of 2^-12."""
    stream = Stream("MOVE", *address)
    counts = sorted(Counter(workers).items())
    n, c = len(workers), Fraction(price, PRICE_UNITS)
    guess = first_guess(len(counts), price * k // PRICE_UNITS + len(counts), theta / c)
    bounds = 0, n + 1
    while True:
        plan = proposal(guess, n, len(counts), k, c)
        freed, opened = [], []
        for point, count in counts:
            freed.append(freed_of(stream, count, theta, c, theta / plan.v))
            if freed[-1] < count or stream.below(PRICE_UNITS) < price:
                opened.append(point)
        total = sum(freed)
        if is_accepted(stream, total, plan):
            occupied = {point for point, _ in counts}
            moved = lay_out(stream, total, opened, occupied, k, plan, price)
            if moved is not None:
                kept = [
                    point
                    for (point, count), gone in zip(counts, freed, strict=True)
                    for _ in range(count - gone)
                ]
                return sorted(kept + moved)
            continue
        guess = min(max(guess, 1), n)
        bounds = (guess, bounds[1]) if total > plan.likeliest else (bounds[0], guess)
        if bounds[1] - bounds[0] <= 1:
            bounds = 0, n + 1
        guess = (total + plan.likeliest) // 2
        if not bounds[0] < guess < bounds[1]:
            guess = sum(bounds) // 2
