"""Plain twins of pruning, the urn and the remainder, and the exact laws they must follow.

Written from docs/theory/method.md, sections 4, 6 and 7 (P08 Algorithms 1 and 2): lists of weighted balls and exact
fractions, no running sums, no search.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, comb, factorial, prod

from tests.oracles.chacha import Stream

UNIT = 1 << 20
CERTAIN = 1 << 32

Ball = tuple[int, int]


def balls(alpha: dict[int, int], workers: Sequence[int], drawn: Sequence[int]) -> list[Ball]:
    """The urn as (weight, point): kept prior points, real workers, earlier draws, each in order."""
    prior = [(weight, point) for point, weight in alpha.items()]
    return prior + [(UNIT, point) for point in workers] + [(UNIT, point) for point in drawn]


def ball_at(urn: list[Ball], value: int) -> int:
    """Number of the ball in which ``value`` falls when all are laid end to end."""
    for number, (weight, _) in enumerate(urn):
        if value < weight:
            return number
        value -= weight
    raise AssertionError("the value lies beyond the urn")


def pick(stream: Stream, urn: list[Ball]) -> int:
    """Point of a ball drawn by weight: floor((h T + v) / 2^16), h of 16 bits and v below the total T.

    v is drawn only where the ball depends on it, and alone where T is 2^46 or more.
    """
    total = sum(weight for weight, _ in urn)
    if total >= 1 << 46:
        return urn[ball_at(urn, stream.below(total))][1]
    high = stream.half() * total
    chosen = ball_at(urn, high >> 16)
    if chosen != ball_at(urn, (high + total - 1) >> 16):
        chosen = ball_at(urn, (high + stream.below(total)) >> 16)
    return urn[chosen][1]


def retention_class(threshold: int) -> int:
    """Greatest c up to 8 with threshold / 2^32 <= 2^-c."""
    return max(c for c in range(9) if Fraction(threshold, CERTAIN) <= Fraction(1, 2**c))


@cache
def powers(c: int) -> list[Fraction]:
    """q^j for every jump j from the longest to 1, q = 1 - 2^-c: rising."""
    return [(1 - Fraction(1, 2**c)) ** j for j in range(4 << c, 0, -1)]


def jump(stream: Stream, c: int, first_digits: int) -> int:
    """Number of powers of q above a uniform number whose first 12 bits are given; reads words until it is clear."""
    digits, base = first_digits, 1 << 12
    rising = powers(c)
    while True:
        above_some = len(rising) - bisect_right(rising, Fraction(digits, base))
        above_all = len(rising) - bisect_left(rising, Fraction(digits + 1, base))
        if above_some == above_all:
            return above_all
        digits, base = (digits << 32) + stream.word(), base << 32


def stays_by_chance(stream: Stream, threshold: Sequence[int]) -> list[int]:
    """Points that stay by chance, class by class: jumps over a Bernoulli(2^-c) process, then f 2^c."""
    kept = []
    for c in range(9):
        points = [
            point
            for point, out_of in enumerate(threshold)
            if out_of < CERTAIN and retention_class(out_of) == c
        ]
        at = 0
        while at < len(points):
            word = stream.word()
            passed = jump(stream, c, word % 4096)
            at += passed
            if passed < 4 << c and at < len(points):
                chance = threshold[points[at]] << c
                stays = word >> 12 < chance >> 12
                if word >> 12 == chance >> 12:
                    stays = stream.word() % 4096 < chance % 4096
                if stays:
                    kept.append(points[at])
                at += 1
    return kept


def kept_alpha(
    stream: Stream,
    workers: Sequence[int],
    base_weight: Sequence[int],
    min_weight: int,
    threshold: Sequence[int],
    certain_above: int,
) -> dict[int, int]:
    """Algorithm 2: prior weight of each kept point, in the order in which the urn holds them.

    Certain points come first, then heavy ones, then those that stay by chance, then occupied ones. Without real
    workers every point is kept.
    """
    alpha = dict(enumerate(max(base, min_weight) for base in base_weight))
    if not workers or min_weight > certain_above:
        return alpha
    certain = [point for point, out_of in enumerate(threshold) if out_of == CERTAIN]
    heavy = [point for point, weight in alpha.items() if weight > certain_above]
    order = [*certain, *heavy, *stays_by_chance(stream, threshold), *workers]
    return {point: alpha[point] for point in order}


def synthesize_one(
    address: tuple[int, int],
    workers: Sequence[int],
    n_synthetic: int,
    base_weight: Sequence[int],
    min_weight: int,
    threshold: Sequence[int],
    certain_above: int = 1 << 62,
    attempt: int = 0,
    prunes: bool = True,
) -> list[int]:
    """Algorithms 2 and 1 for one synthesizer: the drawn points in order."""
    if n_synthetic == 0:
        return []
    certain_above = certain_above if prunes else -1  # then every point is heavy enough to be certain
    alpha = kept_alpha(Stream("RETAIN", *address), workers, base_weight, min_weight, threshold, certain_above)
    stream = Stream("SAMPLE", *address, attempt=attempt)
    drawn: list[int] = []
    for _ in range(n_synthetic):
        drawn.append(pick(stream, balls(alpha, workers, drawn)))
    return drawn


def redraw_one(
    address: tuple[int, int], drawn: Sequence[int], weight: Sequence[int], remainder: int | None
) -> list[int]:
    """Draws in the remainder made again from the public weights of all other points."""
    stream = Stream("REMAINDER", *address)
    urn = [(share, point) for point, share in enumerate(weight) if point != remainder]
    total = sum(share for share, _ in urn)
    return [urn[ball_at(urn, stream.below(total))][1] if point == remainder else point for point in drawn]


def state_weights(population: Sequence[int], miles: Sequence[float]) -> list[int]:
    """Weights of the states of one pool: shares of population over squared distance, in 2^-40, rounded up."""
    people = population if sum(population) else [1] * len(population)
    pulls = [number / max(distance, 1.0) ** 2 for number, distance in zip(people, miles, strict=True)]
    return [ceil(pull / sum(pulls) * 2**40) for pull in pulls]


def split_one(address: tuple[int, int], drawn: Sequence[int], members: Sequence[list[Ball]]) -> list[int]:
    """Draws in points of several (weight, state) replaced by one of them; a lone member needs no chance."""
    stream = Stream("FAR", *address)
    states = []
    for point in drawn:
        urn = members[point]
        value = stream.below(sum(weight for weight, _ in urn)) if len(urn) > 1 else 0
        states.append(urn[ball_at(urn, value)][1])
    return states


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every way to put ``total`` workers in ``parts`` points."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def urn_law(
    alpha: dict[int, int], workers: Sequence[int], n_synthetic: int
) -> dict[tuple[int, ...], Fraction]:
    """Exact law of the drawn counts, by following every path of the urn: points 0 to max(alpha)."""
    n_points = max(alpha) + 1
    paths: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for _ in range(n_synthetic):
        longer: dict[tuple[int, ...], Fraction] = {}
        for path, probability in paths.items():
            urn = balls(alpha, workers, path)
            total = sum(weight for weight, _ in urn)
            for weight, point in urn:
                step = (*path, point)
                longer[step] = longer.get(step, Fraction(0)) + probability * Fraction(weight, total)
        paths = longer
    law: dict[tuple[int, ...], Fraction] = {}
    for path, probability in paths.items():
        counts = tuple(path.count(point) for point in range(n_points))
        law[counts] = law.get(counts, Fraction(0)) + probability
    return law


def dirichlet_multinomial(counts: Sequence[int], parameters: Sequence[Fraction]) -> Fraction:
    """Probability of ``counts``; a parameter of 0 allows a count of 0 only."""

    def rising(start: Fraction, steps: int) -> Fraction:
        return prod((start + step for step in range(steps)), start=Fraction(1))

    total = sum(counts)
    ways = factorial(total) // prod(factorial(count) for count in counts)
    each = prod(
        (rising(start, count) for count, start in zip(counts, parameters, strict=True)), start=Fraction(1)
    )
    return ways * each / rising(sum(parameters, start=Fraction(0)), total)


def pruned_law(
    workers: Sequence[int], n_synthetic: int, alpha: Sequence[int], threshold: Sequence[int]
) -> dict[tuple[int, ...], Fraction]:
    """Exact law of the counts of pruning and sampling together: the mixture over every kept set."""
    n_points = len(alpha)
    occupied = [workers.count(point) for point in range(n_points)]
    law = dict.fromkeys(compositions(n_synthetic, n_points), Fraction(0))
    assert len(law) == comb(n_synthetic + n_points - 1, n_points - 1)
    for stays in product((False, True), repeat=n_points):
        chance = prod(
            (
                Fraction(out_of, CERTAIN) if stay else 1 - Fraction(out_of, CERTAIN)
                for out_of, stay in zip(threshold, stays, strict=True)
            ),
            start=Fraction(1),
        )
        if chance == 0:
            continue
        parameters = [
            occupied[point]
            + (Fraction(alpha[point], UNIT) if stays[point] or occupied[point] else Fraction(0))
            for point in range(n_points)
        ]
        for counts in law:
            law[counts] += chance * dirichlet_multinomial(counts, parameters)
    return law
