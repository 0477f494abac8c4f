"""Plain twin of the exponential mechanism over tables: laws, normalizers and certificates in exact fractions.

Written from docs/theory/method.md, section 7d. A table holds the workers of each support point; two tables of n
workers are ``distance`` workers apart; P(released | table) is proportional to theta^distance.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import comb

Table = tuple[int, ...]
THETA_UNITS = 1 << 20
"""1/theta is a whole multiple of 1/THETA_UNITS."""


def tables(n: int, k: int) -> Iterator[Table]:
    """Every table of n workers over k points."""
    if k == 0:
        if n == 0:
            yield ()
        return
    for count in range(n + 1):
        for rest in tables(n - count, k - 1):
            yield (count, *rest)


def distance(one: Table, other: Table) -> int:
    """How many workers have to move to turn one table into the other."""
    return sum(abs(first - second) for first, second in zip(one, other, strict=True)) // 2


def law(table: Table, theta: Fraction) -> dict[Table, Fraction]:
    """Probability of every released table."""
    weights = {other: theta ** distance(table, other) for other in tables(sum(table), len(table))}
    normalizer = sum(weights.values())
    return {other: weight / normalizer for other, weight in weights.items()}


def counted_by_enumeration(table: Table) -> list[int]:
    """How many tables are 0, 1, ..., n workers away: one table after another."""
    counts = [0] * (sum(table) + 1)
    for other in tables(sum(table), len(table)):
        counts[distance(table, other)] += 1
    return counts


def counted_by_convolution(parts: Table, k: int) -> list[int]:
    """The same from the occupied points alone, for any k.

    removals[j][r]: ways to take r workers in all from exactly j points, at least one from each. The r workers can be
    added to the k - j other points in C(k - j - 1 + r, r) ways.
    """
    parts = tuple(part for part in parts if part)
    n = sum(parts)
    removals = [[0] * (n + 1) for _ in range(len(parts) + 1)]
    removals[0][0] = 1
    for part in parts:
        for j in range(len(parts), 0, -1):
            for taken in range(n, 0, -1):
                removals[j][taken] += sum(
                    removals[j - 1][taken - here] for here in range(1, min(part, taken) + 1)
                )
    return [
        sum(ways[taken] * multisets(taken, k - j) for j, ways in enumerate(removals) if j <= k)
        for taken in range(n + 1)
    ]


def multisets(size: int, n_kinds: int) -> int:
    """Multisets of a size from a number of kinds; without kinds, only the empty multiset."""
    return comb(n_kinds - 1 + size, size) if n_kinds else int(size == 0)


def normalizer(counts: Sequence[int], theta: Fraction) -> Fraction:
    """Z from the numbers of tables at each distance."""
    return sum((count * theta**moved for moved, count in enumerate(counts)), start=Fraction(0))


def moved_law(counts: list[int], theta: Fraction) -> list[Fraction]:
    """Probability that 0, 1, ..., n workers move."""
    total = normalizer(counts, theta)
    return [count * theta**moved / total for moved, count in enumerate(counts)]


def expected_moved(counts: list[int], theta: Fraction) -> Fraction:
    """Expected number of workers who move."""
    return sum((moved * chance for moved, chance in enumerate(moved_law(counts, theta))), start=Fraction(0))


def redrawn_law(table: Table, theta: Fraction) -> list[Fraction]:
    """Law of R, the sum of min(G, count) over points, G geometric with P(G = g) = (1 - theta) theta^g."""
    law_of_sum = [Fraction(1)]
    for count in table:
        each = [(1 - theta) * theta**g for g in range(count)] + [theta**count]
        summed = [Fraction(0)] * (len(law_of_sum) + count)
        for total, chance in enumerate(law_of_sum):
            for taken, share in enumerate(each):
                summed[total + taken] += chance * share
        law_of_sum = summed
    return law_of_sum


def normalizer_by_redrawing(table: Table, theta: Fraction) -> Fraction:
    """Z as the mean of C(k - 1 + R, R): redraw R workers as a multiset of all k points."""
    return sum(
        (chance * multisets(r, len(table)) for r, chance in enumerate(redrawn_law(table, theta))),
        start=Fraction(0),
    )


def law_by_redrawing(table: Table, theta: Fraction) -> dict[Table, Fraction]:
    """The law once more: keep some workers of every point, then add every multiset of the others' number."""
    weights: dict[Table, Fraction] = {}
    for kept in _at_most(table):
        chance = Fraction(1)
        for count, stays in zip(table, kept, strict=True):
            chance *= theta**count if stays == 0 else (1 - theta) * theta ** (count - stays)
        for added in tables(sum(table) - sum(kept), len(table)):
            released = tuple(stays + more for stays, more in zip(kept, added, strict=True))
            weights[released] = weights.get(released, Fraction(0)) + chance
    total = sum(weights.values())
    return {released: weight / total for released, weight in weights.items()}


def _at_most(table: Table) -> Iterator[Table]:
    if not table:
        yield ()
        return
    for kept in range(table[0] + 1):
        for rest in _at_most(table[1:]):
            yield (kept, *rest)


def mean_squared_error(table: Table, shown: set[int], theta: Fraction) -> Fraction:
    """Of the released count in some points together, exactly.

    The shown points lose l of R redrawn workers. A uniform multiset of R out of k points puts R s/k of them on s points
    on average, with variance R (k + R) s (k - s)/(k^2 (k + 1)).
    """
    k = len(table)
    n_shown = len(shown)
    here = redrawn_law(tuple(table[point] for point in sorted(shown)), theta)
    elsewhere = redrawn_law(tuple(count for point, count in enumerate(table) if point not in shown), theta)
    total = weight = Fraction(0)
    for lost, chance in enumerate(here):
        for other, share in enumerate(elsewhere):
            r = lost + other
            each = chance * share * multisets(r, k)
            gained = Fraction(r * n_shown, k)
            variance = Fraction(r * (k + r) * n_shown * (k - n_shown), k**2 * (k + 1))
            total += each * ((gained - lost) ** 2 + variance)
            weight += each
    return total / weight


def moves(table: Table) -> Iterator[Table]:
    """Every neighbor: one worker is in another point."""
    for left, count in enumerate(table):
        for entered in range(len(table)):
            if count and entered != left:
                changed = list(table)
                changed[left] -= 1
                changed[entered] += 1
                yield tuple(changed)


def worst_ratio(n: int, k: int, theta: Fraction) -> Fraction:
    """Largest P(m | x)/P(m | x') over all neighbors x, x' and all m, table by table."""
    outputs = list(tables(n, k))
    total = {table: normalizer(counted_by_enumeration(table), theta) for table in outputs}
    worst = Fraction(1)
    for table in outputs:
        for other in moves(table):
            nearer = max(distance(other, output) - distance(table, output) for output in outputs)
            worst = max(worst, theta**-nearer * total[other] / total[table])
    return worst


def certified_ratio(n: int, k: int, theta: Fraction) -> Fraction:
    """What the bound with the normalizer allows: e^epsilon at this theta."""
    if n <= 1:
        return 1 / theta
    return (2 - (1 - theta) ** (k - 1)) / theta


def sharp_ratio(n: int, k: int, theta: Fraction) -> Fraction:
    """The least bound that holds for every n: the limit of the exact ratio as n grows."""
    if n <= 1:
        return 1 / theta
    return (2 - theta - (1 - theta) ** k) / theta


def halved_ratio(theta: Fraction) -> Fraction:
    """The usual bound of the exponential mechanism, without its normalizer."""
    return theta**-2


def exact_ratio(n: int, k: int, theta: Fraction) -> Fraction:
    """The worst ratio itself, for any n: all n workers in one point against one of them elsewhere."""
    weights = [theta**moved * multisets(moved, k - 1) for moved in range(n + 1)]
    return (1 + (1 - theta) * sum(weights[1:n], start=Fraction(0)) / sum(weights)) / theta


def partitions(n: int, largest: int | None = None) -> Iterator[Table]:
    """Every partition of n, parts in descending order."""
    if n == 0:
        yield ()
        return
    for part in range(min(n, largest or n), 0, -1):
        for rest in partitions(n - part, part):
            yield (part, *rest)


def partition_moves(parts: Table, k: int) -> set[Table]:
    """Partitions of the neighbors of a table with these parts: one worker joins another part or an empty point."""
    found = set()
    points = (*parts, *([0] if len(parts) < k else []))
    for left in range(len(parts)):
        for entered in range(len(points)):
            if entered != left:
                changed = list(points)
                changed[left] -= 1
                changed[entered] += 1
                found.add(_parts(changed))
    return found


def _parts(counts: list[int]) -> Table:
    return tuple(sorted((count for count in counts if count), reverse=True))


@cache
def partition_counts(n: int, k: int) -> dict[Table, list[int]]:
    """Numbers of tables at each distance, for every partition of n into at most k parts."""
    return {parts: counted_by_convolution(parts, k) for parts in partitions(n) if len(parts) <= k}


def partition_ratio(n: int, k: int, theta: Fraction) -> Fraction:
    """The worst ratio exactly, since Z depends on the partition alone: 1/theta times the largest Z(x)/Z(x')."""
    top, unit = theta.numerator, theta.denominator
    total = {
        parts: sum(count * top**moved * unit ** (n - moved) for moved, count in enumerate(counts))
        for parts, counts in partition_counts(n, k).items()
    }
    pairs = [(total[parts], total[other]) for parts in total for other in partition_moves(parts, k)]
    return max((Fraction(one, other) for one, other in pairs), default=Fraction(1)) / theta


def inverse_theta(allowed: Callable[[Fraction], Fraction], growth: Fraction) -> int:
    """Largest t, theta = THETA_UNITS/t, with allowed(theta) <= growth = e^epsilon, if allowed falls with theta.

    The result is certified itself, so that a search that went astray could only lose accuracy.
    """
    low, high = THETA_UNITS, int(growth * THETA_UNITS) + 1
    if allowed(Fraction(1)) > growth:
        raise ValueError("no theta keeps this promise")
    while high - low > 1:
        middle = (low + high) // 2
        if allowed(Fraction(THETA_UNITS, middle)) <= growth:
            low = middle
        else:
            high = middle
    return low


def inverse_theta_of_bound(k: int, growth: Fraction, *, sharp: bool = False) -> int:
    """Largest t that the closed bound allows for n >= 2, in whole numbers; 0 if it allows none.

    (t/u)(2 - ((t - u)/t)^(k-1)) <= a/b, u = THETA_UNITS, times u b t^(k-1).
    """
    a, b, u = growth.numerator, growth.denominator, THETA_UNITS

    def holds(t: int) -> bool:
        if sharp:  # (2 t - u) t^(k-1) b - (t - u)^k b <= a u t^(k-1)
            return bool(((2 * t - u) * t ** (k - 1) - (t - u) ** k) * b <= a * u * t ** (k - 1))
        return bool((2 * t ** (k - 1) - (t - u) ** (k - 1)) * t * b <= a * u * t ** (k - 1))

    low, high = u - 1, a * u // b + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low if low >= u else 0


def inverse_theta_of_total(n: int, k: int, growth: Fraction) -> int:
    """Largest t that the exact ratio of n workers allows, in whole numbers.

    With theta = u/t, the sums of the ratio times t^n are whole numbers: D of all terms, N without the first and last;
    the condition is t (t D + (t - u) N) b <= a u t D for e^epsilon = a/b.
    """
    a, b, u = growth.numerator, growth.denominator, THETA_UNITS
    terms = [multisets(moved, k - 1) * u**moved for moved in range(n + 1)]

    def holds(t: int) -> bool:
        every: int = 0
        for term in terms:
            every = every * t + term
        inner = every - terms[0] * t**n - terms[n]
        return bool((t * every + (t - u) * inner) * b <= a * u * every)

    low, high = u, a * u // b + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def quick_expected_moved(parts: Table, k: int, theta: float) -> float:
    """Expected number of moves with every point by itself, additions balanced with removals on average."""

    def balance(v: float) -> tuple[float, float]:
        removed, added = 0.0, (k - len(parts)) * v / (1 - v)
        for count in parts:
            taken = [(theta / v) ** r for r in range(1, count + 1)]
            weight = 1 + sum(taken) + v / (1 - v)
            removed += sum(r * share for r, share in enumerate(taken, start=1)) / weight
            added += v / ((1 - v) ** 2 * weight)
        return removed, added

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        removed, added = balance(middle)
        low, high = (middle, high) if added < removed else (low, middle)
    return balance((low + high) / 2)[0]


def quick_count_error(added: float, lost: float) -> float:
    """Root mean squared error of a count whose gains and losses have these means, both Poisson."""
    return float((added + lost + (lost - added) ** 2) ** 0.5)
