"""Plain twin of the informed attacker: prior times the probability of the published table, for every possible home.

Written from docs/theory/method.md, section 7h, and from the laws of the mechanisms; nothing is approximated.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

Table = tuple[int, ...]


def joined(others: Sequence[int], point: int) -> Table:
    """The table of the others with the victim in a point."""
    return tuple(count + (at == point) for at, count in enumerate(others))


def prior_from_others(
    others: Sequence[int], tract: Sequence[int], share: Sequence[Fraction]
) -> list[Fraction]:
    """(o_i + 5 q_i)/(n + 4); `tract` counts the other workers of the whole destination tract."""
    n, total = sum(others) + 1, sum(tract)
    return [
        (count + 5 * (here + public) / Fraction(total + 1)) / (n + 4)
        for count, here, public in zip(others, tract, share, strict=True)
    ]


def likelihoods(
    others: Sequence[int], published: Table, probability: Callable[[Table, Table], float]
) -> list[float]:
    """Probability of the published table for each home of the victim."""
    return [probability(joined(others, point), published) for point in range(len(others))]


def posterior(prior: Sequence[Fraction | float], likelihood: Sequence[float]) -> list[float]:
    weights = [float(belief) * float(chance) for belief, chance in zip(prior, likelihood, strict=True)]
    return [weight / sum(weights) for weight in weights]
