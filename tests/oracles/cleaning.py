"""Plain twin of cleaning: exact fractions, lists and loops.

Written from docs/theory/method.md, sections 7d and 7f.
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


def freed_in_floats(counts: Sequence[int], n_points: int, theta: float, price: float) -> int:
    """Workers freed from a table in 2^-20, by sums of the same floating-point numbers in the same order, one by one.

    Where more than 24 are expected, that is the number at which as many are freed as added.
    """

    def mean_of_one(count: int, tilt: float) -> float:
        total, mean, weight = 0.0, 0.0, 1.0
        for step in range(count + 1):
            r = step if tilt <= 1 else count - step
            times = weight if r == count else weight * (1.0 - theta)
            total, mean = total + times, mean + r * times
            weight *= tilt if tilt <= 1 else 1.0 / tilt
        return mean / total

    def frees_more(v: float) -> bool:
        freed = 0.0
        for count in counts:
            freed += mean_of_one(count, theta / v)
        return freed > n_points * v / (1.0 - v)

    n_workers = sum(counts)
    if n_workers > 24 and frees_more(24.0 / (n_points + 24.0)):
        low, high = 0.0, 1.0
        for _ in range(50):
            v = (low + high) / 2.0
            low, high = (v, high) if frees_more(v) else (low, v)
        return floor(n_points * low / (1.0 - low) * 2**20)
    return floor(_freed_by_sum(counts, n_points, theta, price) * 2**20)


def _freed_by_sum(counts: Sequence[int], n_points: int, theta: float, price: float) -> float:
    """The mean over numbers of freed workers up to 128, whose weights are those of each point, convolved."""
    empty, stays, top = price * (n_points - len(counts)), price * (1.0 - theta), min(sum(counts), 128)
    whole = len(counts) + empty
    more = 1.0 + (1.0 - price) * empty / whole
    weights = [1.0]
    for count in counts:
        longer = [0.0] * (min(len(weights) - 1 + count, top) + 1)
        for freed, weight in enumerate(weights):
            power = weight
            for r in range(min(count, top - freed) + 1):
                longer[freed + r] += power if r == count else power * stays
                power *= theta
        weights = longer
    total, mean, ways = 0.0, 0.0, 1.0
    for freed, weight in enumerate(weights):
        if freed > 0:
            ways *= (whole + more * (freed - 1.0)) / freed
        total += weight * ways
        mean += freed * weight * ways
    return mean / total * (price * n_points / whole)


def workers_of_points(counts: Sequence[int], theta: float) -> list[float] | None:
    """Real workers of every point of a large table, by sums over the law of one point; None if it cannot be read.

    Given x real workers, the law shows m with the weight u^(x - m) below x and v^(m - x) above, u v = theta. The
    estimate T is solved step by step from its mean, which is x: sum of weight times T is x times the sum of weights.
    """
    n_workers = sum(counts)
    if n_workers <= 20:
        return None

    def estimates(v: float) -> list[float]:
        # S_x is the sum of weight times T; with A_x the part of it at x and above, S_x = u (S_(x-1) - A_x v) + A_x, as
        # everything below x weighs u times as much as for x - 1.
        u, most = theta / v, max(counts) + 2
        above = []
        for x in range(most + 1):
            weight = sum(u**step for step in range(1, x + 1)) + 1 / (1 - v)
            fewer = (x - 1) * (sum(u**step for step in range(1, x)) + 1 / (1 - v)) if x else 0.0
            above.append((x * weight - u * fewer) / (1 - theta))
        return [above[x] - v * above[x + 1] for x in range(most)]

    low, high = theta / 0.9, 1.0
    if low >= 1:
        return None
    for _ in range(40):
        v = (low + high) / 2
        table = estimates(v)
        if sum(table[count] for count in counts) > n_workers:
            low = v
        else:
            high = v
    v = (low + high) / 2
    if theta / v >= 0.8991:
        return None
    table = estimates(v)
    return [table[count] for count in counts]


def wanted_of_ranges(
    drawn: Sequence[int], noise_share: Sequence[Fraction], freed: Fraction
) -> list[Fraction] | None:
    """Workers that each range should have: those drawn less the noise, scaled to the total; None if all are zero."""
    least = [max(count - freed * share, Fraction(0)) for count, share in zip(drawn, noise_share, strict=True)]
    total = sum(least)
    return [sum(drawn) * each / total for each in least] if total else None


def wanted_of_kinds(
    in_proportion: Sequence[Sequence[int]],
    drawn: Sequence[int],
    range_of_point: Sequence[int],
    noise_share: Sequence[Fraction],
    freed: Fraction,
    shown: Sequence[Fraction],
) -> list[Fraction] | None:
    """The same where some cells are read in proportion, and the others show real workers: each kind keeps its total."""
    wanted = [Fraction(0)] * len(drawn)
    mine = [0] * len(drawn)
    for cell in in_proportion:
        for point in cell:
            mine[range_of_point[point]] += 1
    if sum(mine):
        of_mine = wanted_of_ranges(mine, noise_share, freed)
        if of_mine is None:
            return None
        wanted = of_mine
    rest = sum(drawn) - sum(mine)
    if rest:
        least = [
            max(value, Fraction(0)) if count else Fraction(0)
            for value, count in zip(shown, drawn, strict=True)
        ]
        if not sum(least):
            return None
        wanted = [one + rest * value / sum(least) for one, value in zip(wanted, least, strict=True)]
    return wanted


def clean_tract(
    number: int,
    cells: Sequence[Sequence[int]],
    range_of_point: Sequence[int],
    share: Sequence[float],
    noise_share: Sequence[Fraction],
    freed: Fraction,
    in_proportion: Sequence[bool] | None = None,
    shown: Sequence[Fraction] | None = None,
) -> list[list[int]]:
    """The cells of one destination tract after cleaning; ``noise_share`` is what each range receives of the freed.

    Cells that are not read in proportion have, together, the real workers ``shown`` in each range.
    """
    n_ranges = len(noise_share)
    counts = [sum(cell.count(point) for cell in cells) for point in range(len(share))]
    drawn = [
        sum(count for count, at in zip(counts, range_of_point, strict=True) if at == number_of_range)
        for number_of_range in range(n_ranges)
    ]
    if in_proportion is None or shown is None:
        wanted = wanted_of_ranges(drawn, noise_share, freed)
    else:
        mine = [cell for cell, is_mine in zip(cells, in_proportion, strict=True) if is_mine]
        wanted = wanted_of_kinds(mine, drawn, range_of_point, noise_share, freed, shown)
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
