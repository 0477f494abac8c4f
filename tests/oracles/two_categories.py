"""Plain twin of `engine.accountant.two_categories`, written from P10's slides."""

import math


def binomial(total: int, part: int, share: float = 0.5) -> float:
    return math.comb(total, part) * share**part * (1 - share) ** (total - part)


def plug_in(i: int, n: int, j: int, m: int, alpha: float) -> float:
    """Binomial at the posterior mean of the first category."""
    return binomial(m, j, (i + alpha) / (n + 2 * alpha))


def dirichlet_multinomial(i: int, n: int, j: int, m: int, alpha: float) -> float:
    """Beta-binomial by gamma functions."""
    first, second = i + alpha, n - i + alpha
    log_chance = (
        math.lgamma(first + j)
        - math.lgamma(first)
        + math.lgamma(second + m - j)
        - math.lgamma(second)
        + math.lgamma(first + second)
        - math.lgamma(first + second + m)
    )
    return math.comb(m, j) * math.exp(log_chance)


def failing_as_printed(
    chance: dict[tuple[int, int], float], n: int, m: int, epsilon: float
) -> set[tuple[int, int]]:
    """The highlighted cells: some neighbor of table i gives output j more than e^epsilon times as often."""
    return {
        (i, j)
        for i in range(n + 1)
        for j in range(m + 1)
        for neighbor in (i - 1, i + 1)
        if 0 <= neighbor <= n and chance[neighbor, j] > math.exp(epsilon) * chance[i, j]
    }


def prior_as_printed(mechanism: str, n: int, alpha: float) -> list[float]:
    """Chance of every table: binomial for the slides' own numbers, else what their heading says."""
    if mechanism == "plug-in":
        return [binomial(n, i) for i in range(n + 1)]
    return [dirichlet_multinomial(0, 0, i, n, alpha) for i in range(n + 1)]
