"""Plain twins of pruning, the urn and the remainder, and the exact laws they must follow.

Written from METHOD sections 3, 6 and 7 (P08 Algorithms 1 and 2): lists of weighted balls and exact fractions,
no running sums, no search.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import comb, factorial, prod

from tests.oracles.chacha import Stream

UNIT = 1 << 20
CERTAIN = 1 << 32

Ball = tuple[int, int]


def balls(alpha: dict[int, int], workers: Sequence[int], drawn: Sequence[int]) -> list[Ball]:
    """The urn as (weight, point): kept prior points in order, real workers in order, earlier draws."""
    prior = [(weight, point) for point, weight in sorted(alpha.items())]
    return prior + [(UNIT, point) for point in workers] + [(UNIT, point) for point in drawn]


def pick(urn: list[Ball], value: int) -> int:
    """Point of the ball in which ``value`` falls when all are laid end to end."""
    for weight, point in urn:
        if value < weight:
            return point
        value -= weight
    raise AssertionError("the value lies beyond the urn")


def kept_alpha(
    stream: Stream,
    workers: Sequence[int],
    base_weight: Sequence[int],
    min_weight: int,
    threshold: Sequence[int],
    certain_above: int,
) -> dict[int, int]:
    """Algorithm 2: prior weight of each kept point. Without real workers every point is kept."""
    alpha = [max(base, min_weight) for base in base_weight]
    if not workers:
        return dict(enumerate(alpha))
    effective = [
        CERTAIN if weight > certain_above else out_of for weight, out_of in zip(alpha, threshold, strict=True)
    ]
    stays = [stream.stays(out_of) for out_of in effective]
    return {
        point: weight
        for point, (weight, stay) in enumerate(zip(alpha, stays, strict=True))
        if stay or point in workers
    }


def synthesize_one(
    address: tuple[int, int],
    workers: Sequence[int],
    n_synthetic: int,
    base_weight: Sequence[int],
    min_weight: int,
    threshold: Sequence[int],
    certain_above: int = 1 << 62,
) -> list[int]:
    """Algorithms 2 and 1 for one synthesizer: the drawn points in order."""
    if n_synthetic == 0:
        return []
    alpha = kept_alpha(Stream("RETAIN", *address), workers, base_weight, min_weight, threshold, certain_above)
    stream = Stream("SAMPLE", *address)
    drawn: list[int] = []
    for _ in range(n_synthetic):
        urn = balls(alpha, workers, drawn)
        drawn.append(pick(urn, stream.below(sum(weight for weight, _ in urn))))
    return drawn


def redraw_one(
    address: tuple[int, int], drawn: Sequence[int], weight: Sequence[int], remainder: int | None
) -> list[int]:
    """Draws in the remainder made again from the public weights of all other points."""
    stream = Stream("REMAINDER", *address)
    urn = [(share, point) for point, share in enumerate(weight) if point != remainder]
    total = sum(share for share, _ in urn)
    return [pick(urn, stream.below(total)) if point == remainder else point for point in drawn]


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
