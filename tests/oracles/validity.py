"""Plain twins of the validity measures: exact fractions and loops, from P10 and docs/theory/method.md, section 10."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Cellwise = dict[int, Fraction]
EDGES_MI = (1, 4, 10, 25, 100, 500)


def cell_of(distance_mi: float, bearing_deg: float) -> int:
    """Cell by the words of the definition: band by band, quadrant by quadrant."""
    if distance_mi == 0:
        return 0
    band = sum(distance_mi >= edge for edge in EDGES_MI)
    north, east = bearing_deg < 90 or bearing_deg >= 270, bearing_deg < 180
    quadrant = {(True, False): 0, (True, True): 1, (False, False): 2, (False, True): 3}[north, east]
    return 1 + band * 4 + quadrant


@dataclass
class Point:
    """One support point: alpha, retention, and the people of its tracts by cell."""

    alpha: Fraction
    retention: Fraction
    people: dict[int, int] = field(default_factory=dict)

    def share(self, cell: int) -> Fraction:
        return Fraction(self.people.get(cell, 0), sum(self.people.values()))


def synthesizer_moments(
    points: Sequence[Point], counts: Sequence[int], cells: Sequence[int]
) -> tuple[Cellwise, Cellwise]:
    """Mean and variance of one synthesizer's m_g, m = n, with every point weighing what it is expected to keep."""
    n = sum(counts)
    kept = [
        p.alpha if count or p.alpha > 1 else p.alpha * p.retention
        for p, count in zip(points, counts, strict=True)
    ]
    total = n + sum(kept)
    chance = [(count + weight) / total for count, weight in zip(counts, kept, strict=True)]
    mean, variance = {}, {}
    for g in cells:
        shares = [p.share(g) for p in points]
        mean[g] = n * sum((c * s for c, s in zip(chance, shares, strict=True)), Fraction(0))
        # Within points: each worker falls into the cell or not. Between them: the Dirichlet-multinomial covariance.
        within = n * sum((c * s * (1 - s) for c, s in zip(chance, shares, strict=True)), Fraction(0))
        between = Fraction(0)
        for i, s in enumerate(shares):
            for j, r in enumerate(shares):
                same = chance[i] if i == j else 0
                between += s * r * n * (n + total) / (1 + total) * (same - chance[i] * chance[j])
        variance[g] = within + between
    return mean, variance


def posterior_shares(points: Sequence[Point], counts: Sequence[int]) -> list[Fraction]:
    """Expected share of each point among a synthesizer's draws, every point weighing what it is expected to keep."""
    weights = [
        count + (p.alpha if count or p.alpha > 1 else p.alpha * p.retention)
        for p, count in zip(points, counts, strict=True)
    ]
    return [weight / sum(weights) for weight in weights]


def cell_counts(ptr: Sequence[int], cells: Sequence[int], n_cells: int) -> list[list[int]]:
    """Workers by cell, one worker after the other."""
    counts = [[0] * n_cells for _ in ptr[1:]]
    for d, row in enumerate(counts):
        for cell in cells[ptr[d] : ptr[d + 1]]:
            if cell >= 0:
                row[cell] += 1
    return counts


def kl_of_counts(real: Sequence[int], drawn: Sequence[int]) -> float:
    """Divergence with one more worker on each side, an equal part of them in every cell."""
    extra = Fraction(1, len(real))
    shares = [{g: (n + extra) / (sum(row) + 1) for g, n in enumerate(row)} for row in (real, drawn)]
    return kl_divergence(*shares)


def domain_counts(
    points: Sequence[tuple[int, float, bool]],
) -> tuple[Counter[int], Counter[str], dict[str, float]]:
    """Points (level, miles, positive) of one tract by level and by P10's ranges, and the share that is positive."""
    limits = {
        "low-10": (0, 10),
        "10-25": (10, 25),
        "25-100": (25, 100),
        "100-500": (100, 500),
        "500-high": (500, 1e9),
    }
    levels: Counter[int] = Counter()
    ranges: Counter[str] = Counter()
    shares = {}
    for name, (low, high) in {**limits, "all": (0, 1e9)}.items():
        inside = [point for point in points if low <= point[1] < high]
        counted = [point for point in inside if point[0] != 3]
        shares[name] = sum(point[2] for point in counted) / len(counted) if counted else math.nan
        if name == "all":
            levels = Counter(point[0] for point in points)
        else:
            ranges[name] = len(inside)
    return levels, ranges, shares


def kl_divergence(likelihood: Mapping[int, Fraction], posterior: Mapping[int, Fraction]) -> float:
    """Sum of L ln(L/P) over cells where L is not zero."""
    return math.fsum(
        float(share) * math.log(share / posterior[g]) for g, share in likelihood.items() if share
    )


def flow_sums(
    real: Sequence[int], drawn: Sequence[int], by: Sequence[int]
) -> dict[tuple[int, int | None], list[int]]:
    """Number, real and drawn workers, absolute and squared errors of counts by size class."""
    classes = [(0, 0), (1, 2), (3, 9), (10, 49), (50, 99), (100, 499), (500, None)]
    sums: dict[tuple[int, int | None], list[int]] = {}
    for low, high in classes:
        mine = [
            (n, m)
            for n, m, size in zip(real, drawn, by, strict=True)
            if size >= low and (high is None or size <= high)
        ]
        errors = [abs(m - n) for n, m in mine]
        sums[low, high] = [
            len(mine),
            sum(n for n, _ in mine),
            sum(m for _, m in mine),
            sum(errors),
            sum(error**2 for error in errors),
        ]
    return sums


def top_areas(real: Mapping[int, int], drawn: Mapping[int, int], n_top: int) -> tuple[int, int, int, int]:
    """Areas in the true top, how many of them are in the synthetic one, their workers and their absolute errors."""
    length = min(n_top, sum(n > 0 for n in real.values()))
    lists = [
        [area for area, n in sorted(table.items(), key=lambda item: (-item[1], item[0]))[:length] if n > 0]
        for table in (real, drawn)
    ]
    found = set(lists[0]) & set(lists[1])
    errors = sum(abs(real[area] - drawn.get(area, 0)) for area in lists[0])
    return length, len(found), sum(real[area] for area in lists[0]), errors
