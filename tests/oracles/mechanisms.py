"""Plain twins of the histogram mechanisms, and the exact laws they must follow.

Written from docs/theory/method.md, section 7b: chances as long decimals, every noisy worker by itself, every offset
listed.
"""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import accumulate, product
from math import factorial, prod

from tests.oracles.chacha import Stream

DIGITS = 400
Law = dict[tuple[int, ...], Fraction]


@cache
def exponential(rate: Fraction) -> Fraction:
    """e^-rate to 400 digits."""
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction((-Decimal(rate.numerator) / Decimal(rate.denominator)).exp())


def happens(stream: Stream, chance: Fraction) -> bool:
    """A uniform number, read word by word until it is known to be below the chance or not."""
    drawn, read = 0, 0
    while True:
        drawn, read = drawn << 32 | stream.word(), read + 32
        edge = (chance.numerator << read) // chance.denominator
        if drawn != edge:
            return drawn < edge


@cache
def geometric_chances(base: Fraction) -> tuple[list[Fraction], Fraction]:
    """Chance of each bit of G, and the chance of more above these bits: as many bits as leave at most 1/2, up to 32."""
    powers = [base, rounded(base**2)]
    while powers[-1] > Fraction(1, 2) and len(powers) <= 32:
        powers.append(rounded(powers[-1] ** 2))
    return [power / (1 + power) for power in powers[:-1]], powers[-1]


def rounded(value: Fraction) -> Fraction:
    """To 1200 bits: powers of long decimals would grow without end."""
    return Fraction(round(value * 2**1200), 2**1200)


def geometric(stream: Stream, base: Fraction, limit: int) -> int:
    """P(G = g) = (1 - base) base^g, or anything from the limit on where G is."""
    bits, above = geometric_chances(base)
    value = 0
    while value < limit and happens(stream, above):
        value += 1 << len(bits)
    for bit in reversed(range(len(bits))):
        if value < limit and happens(stream, bits[bit]):
            value += 1 << bit
    return value


def discrete_laplace(stream: Stream, q: Fraction) -> int:
    if happens(stream, q / (1 + q)):
        return 1 + geometric(stream, q, 1 << 60)
    return -geometric(stream, q, 1 << 60)


def from_prior(stream: Stream, prior: Sequence[int], count: int) -> list[int]:
    """Each worker by itself: the weights end to end, and the point in whose part a drawn number falls."""
    ends = list(accumulate(prior))
    drawn = [stream.below(ends[-1]) for _ in range(count)]
    return [sum(end <= value for end in ends) for value in drawn]


def shared_out(noisy: Sequence[int], m: int, offset: int) -> list[int]:
    """Point of each taken worker: noisy worker j of Y is taken as often as marks m j / Y + offset / Y pass a whole."""
    line = [point for point, count in enumerate(noisy) for _ in range(count)]
    total = len(line)
    return [
        point
        for place, point in enumerate(line)
        for _ in range((offset + m * (place + 1)) // total - (offset + m * place) // total)
    ]


def laplace_one(
    address: tuple[int, int], workers: Sequence[int], m: int, prior: Sequence[int], rate: Fraction
) -> list[int]:
    """The Laplace sanitizer of one synthesizer; ``prior`` holds a weight for each point."""
    if m == 0:
        return []
    noisy = [0] * len(prior)
    if workers:
        stream, q = Stream("NOISE", *address), exponential(rate)
        raised = geometric(stream, rounded(1 / (1 + q)), len(prior))
        for point in range(len(prior)):
            if point == raised:
                noisy[point] = workers.count(point) + 1 + geometric(stream, q, 1 << 60)
                raised += 1 + geometric(stream, rounded(1 / (1 + q)), len(prior))
            elif point in workers:
                noisy[point] = max(0, workers.count(point) - geometric(stream, q, 1 << 60))
    stream = Stream("TOTAL", *address)
    if sum(noisy) == 0:
        return from_prior(stream, prior, m)
    return shared_out(noisy, m, stream.below(sum(noisy)))


def sparse_one(
    address: tuple[int, int],
    workers: Sequence[int],
    m: int,
    prior: Sequence[int],
    rate: Fraction,
    threshold: int,
) -> list[int]:
    """The sparse histogram of one synthesizer."""
    if m == 0:
        return []
    stream, q = Stream("NOISE", *address), exponential(rate)
    published = [0] * len(prior)
    for point, count in sorted(Counter(workers).items()):
        value = count + discrete_laplace(stream, q)
        published[point] = value if value >= threshold else 0
    stream = Stream("TOTAL", *address)
    if sum(published) > m:
        return shared_out(published, m, stream.below(sum(published)))
    kept = [point for point, count in enumerate(published) for _ in range(count)]
    return kept + from_prior(stream, prior, m - len(kept))


def plug_in_one(address: tuple[int, int], workers: Sequence[int], m: int, prior: Sequence[int]) -> list[int]:
    stream = Stream("SAMPLE", *address)
    if not workers:
        return from_prior(stream, prior, m)
    return [workers[stream.below(len(workers))] for _ in range(m)]


def noise_law(z: int, q: Fraction) -> Fraction:
    return (1 - q) / (1 + q) * q ** abs(z)


def clamped_law(count: int, q: Fraction, top: int) -> list[Fraction]:
    """Chance of each noisy count 0 .. top of a point with ``count`` workers; the last is that of top or more."""
    law = [noise_law(value - count, q) for value in range(top)]
    law[0] = q**count / (1 + q)
    return [*law, 1 - sum(law, Fraction(0))]


def published_law(count: int, q: Fraction, threshold: int, top: int) -> list[Fraction]:
    """Chance of each published count 0 .. top; 0 is nothing published, the last is top or more."""
    if count == 0:
        return [Fraction(1)] + [Fraction(0)] * top
    law = [Fraction(0)] + [
        noise_law(value - count, q) if value >= threshold else Fraction(0) for value in range(1, top)
    ]
    last = q ** (top - count) / (1 + q)
    return [1 - sum(law) - last, *law[1:], last]


def joint_law(each: Sequence[Sequence[Fraction]]) -> Law:
    """Law of a vector of independent counts."""
    return {
        values: prod((law[value] for law, value in zip(each, values, strict=True)), start=Fraction(1))
        for values in product(*(range(len(law)) for law in each))
    }


def multinomial_law(count: int, shares: Sequence[Fraction]) -> Law:
    law: Law = {}
    for points in product(range(len(shares)), repeat=count):
        counts = tuple(points.count(point) for point in range(len(shares)))
        law[counts] = factorial(count) * prod(
            (share**times / factorial(times) for share, times in zip(shares, counts, strict=True)),
            start=Fraction(1),
        )
    return law


def output_law(noisy: Law, m: int, shares: Sequence[Fraction], *, fills_up: bool) -> Law:
    """Law of the m synthetic workers' counts, from that of the noisy counts.

    Without ``fills_up`` (Laplace) noisy counts are always shared out; with it (sparse) only where they exceed m.
    """
    law: Law = {}
    for values, chance in noisy.items():
        total = sum(values)
        if total > (m if fills_up else 0):
            for offset in range(total):
                taken = shared_out(values, m, offset)
                counts = tuple(taken.count(point) for point in range(len(values)))
                law[counts] = law.get(counts, Fraction(0)) + chance / total
        else:
            missing = m - total if fills_up else m
            for filled, share in multinomial_law(missing, shares).items():
                counts = tuple(
                    (value if fills_up else 0) + more for value, more in zip(values, filled, strict=True)
                )
                law[counts] = law.get(counts, Fraction(0)) + chance * share
    return law


def moved(table: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every table in which one worker lives elsewhere."""
    found = []
    for origin, other in product(range(len(table)), repeat=2):
        if origin != other and table[origin] > 0:
            changed = list(table)
            changed[origin] -= 1
            changed[other] += 1
            found.append(tuple(changed))
    return found


def excess(first: Law, second: Law, growth: Fraction) -> Fraction:
    """Least delta at which ``first`` is within e^epsilon = growth of ``second``: what exceeds, summed."""
    return sum(
        (max(chance - growth * second.get(key, Fraction(0)), Fraction(0)) for key, chance in first.items()),
        start=Fraction(0),
    )
