"""Plain twin of cleaning: exact fractions, lists and loops.

Written from docs/method.md, sections 7d and 7f.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import floor, prod

from tests.oracles.chacha import Stream


def expected_freed(
    counts: Sequence[int], n_points: int, theta: Fraction, price: Fraction = Fraction(1)
) -> Fraction:
    """Mean number of workers freed from a table and spread over all points, by enumeration.

    The table has these counts at its occupied points. Without a price the weights of freed workers are C(k - 1 + R, R).
    """
    empty = price * (n_points - len(counts))
    weight_of_all = len(counts) + empty
    more = 1 + (1 - price) * empty / weight_of_all
    total = mean = Fraction(0)
    for freed in product(*(range(count + 1) for count in counts)):
        weights = (
            theta**r * (1 if r == count else price * (1 - theta))
            for r, count in zip(freed, counts, strict=True)
        )
        ways = (Fraction(weight_of_all + more * one, one + 1) for one in range(sum(freed)))
        weight = prod(weights, start=Fraction(1)) * prod(ways, start=Fraction(1))
        total += weight
        mean += weight * sum(freed)
    return mean / total * price * n_points / weight_of_all


def wanted_of_ranges(
    drawn: Sequence[int], noise_share: Sequence[Fraction], freed: Fraction
) -> list[Fraction] | None:
    """Workers that each range should have: those drawn less the noise, scaled to the total; None if all are zero."""
    least = [max(count - freed * share, Fraction(0)) for count, share in zip(drawn, noise_share, strict=True)]
    total = sum(least)
    return [sum(drawn) * each / total for each in least] if total else None


def clean_tract(
    number: int,
    cells: Sequence[Sequence[int]],
    range_of_point: Sequence[int],
    share: Sequence[float],
    noise_share: Sequence[Fraction],
    freed: Fraction,
) -> list[list[int]]:
    """The cells of one destination tract after cleaning; ``noise_share`` is what each range receives of the freed."""
    n_ranges = len(noise_share)
    counts = [sum(cell.count(point) for cell in cells) for point in range(len(share))]
    drawn = [
        sum(count for count, at in zip(counts, range_of_point, strict=True) if at == number_of_range)
        for number_of_range in range(n_ranges)
    ]
    wanted = wanted_of_ranges(drawn, noise_share, freed)
    if wanted is None:
        return [list(cell) for cell in cells]
    stream = Stream("CLEAN", number, 0)
    by_range = [
        sorted((counts[point], share[point], point) for point, at in enumerate(range_of_point) if at == each)
        for each in range(n_ranges)
    ]
    leaving = [0] * len(share)
    for each in range(n_ranges):
        surplus = drawn[each] - wanted[each]
        if surplus <= 0:
            continue
        take = floor(surplus)
        chance = floor((surplus - take) * 2**32)
        if chance > 0 and stream.word() < chance:
            take += 1
        for count, _, point in by_range[each]:
            leaving[point] = min(take, count)
            take -= leaving[point]
    added = [floor(max(wanted[each] - drawn[each], Fraction(0)) * 2**32) for each in range(n_ranges)]
    cleaned = []
    for cell in cells:
        homes = []
        for point in cell:
            home = point
            if leaving[point] > 0:
                leaving[point] -= 1
                chosen = laid(stream, list(enumerate(added)))
                home = laid(stream, [(at, count) for count, _, at in by_range[chosen]])
            homes.append(home)
        cleaned.append(homes)
    return cleaned


def laid(stream: Stream, weighted: Sequence[tuple[int, int]]) -> int:
    """One of the things, drawn by weight: all weights laid end to end."""
    value = stream.below(sum(weight for _, weight in weighted))
    for thing, weight in weighted:
        if value < weight:
            return thing
        value -= weight
    raise AssertionError("the value lies beyond the weights")
