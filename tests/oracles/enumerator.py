"""Plain twin of `engine.accountant.enumerator`, written from P08 Algorithms 1 and 2 and Definitions 5 and 6."""

import itertools
import math
from collections.abc import Sequence


def tables(n: int, k: int) -> list[tuple[int, ...]]:
    """Every way to spread n workers over k origins, as lists of the workers' origins turned into counts."""
    spread = itertools.combinations_with_replacement(range(k), n)
    return sorted({tuple(origins.count(i) for i in range(k)) for origins in map(list, spread)})


def output_probability(
    table: Sequence[int],
    output: Sequence[int],
    alpha: Sequence[float],
    retention: Sequence[float],
) -> float:
    """P(output | table): keep occupied points, keep others by chance, then draw one worker after another."""
    k = len(table)
    total = 0.0
    for kept in itertools.chain.from_iterable(itertools.combinations(range(k), r) for r in range(k + 1)):
        chance = 1.0
        for i in range(k):
            if table[i] > 0:
                chance *= i in kept
            else:
                chance *= retention[i] if i in kept else 1 - retention[i]
        if chance > 0:
            total += chance * _drawn(table, output, {i: table[i] + alpha[i] for i in kept})
    return total


def _drawn(table: Sequence[int], output: Sequence[int], weight: dict[int, float]) -> float:
    """Pólya urn: any order of the same draws is as likely, so one order times the number of orders."""
    orders = math.factorial(sum(output))
    for count in output:
        orders //= math.factorial(count)
    chance, urn = float(orders), dict(weight)
    for i, count in enumerate(output):
        for _ in range(count):
            if i not in urn:
                return 0.0
            chance *= urn[i] / sum(urn.values())
            urn[i] += 1
    return chance


def _moves(table: tuple[int, ...]) -> set[tuple[int, ...]]:
    """The table itself, and every table in which one worker lives elsewhere."""
    found = {table}
    for i, j in itertools.permutations(range(len(table)), 2):
        if table[i] > 0:
            changed = list(table)
            changed[i] -= 1
            changed[j] += 1
            found.add(tuple(changed))
    return found


def failure_from_definitions(
    n: int, m: int, alpha: Sequence[float], retention: Sequence[float], epsilon: float
) -> float:
    """Definition 6 by walking through Definition 5 for every table and every output."""
    k = len(alpha)
    chance = {
        (table, output): output_probability(table, output, alpha, retention)
        for table in tables(n, k)
        for output in tables(m, k)
    }
    worst = 0.0
    for table in tables(n, k):
        near = _moves(table)
        pairs = [(x1, x2) for x1 in near for x2 in near if x1 != x2 and x2 in _moves(x1)]
        failing = [
            output
            for output in tables(m, k)
            if any(chance[x1, output] > math.exp(epsilon) * chance[x2, output] for x1, x2 in pairs)
        ]
        worst = max(worst, sum(chance[table, output] for output in failing))
    return worst
