"""Plain twin of the cascade's public parts: numbers of clusters, cuts, and the estimate of shares.

Written from docs/theory/method.md, section 7i: one tract at a time, lists instead of arrays, and exact fractions except
for the estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, floor, sqrt

SHARE_UNITS = 1 << 36


def number_of_clusters(epsilon: float, k: int, n: int) -> int:
    """All points for many workers, else (8 + e^epsilon / 3) max(1, sqrt(n / 5)), at most k."""
    if n * exp(epsilon) >= 1600 or (n >= 300 and epsilon > 1.5):
        return k
    return min(k, floor((8 + exp(epsilon) / 3) * max(1.0, sqrt(n / 5))))


def cut(
    share: Sequence[int], prior: Sequence[int], places: Sequence[tuple[int, int]], n_clusters: int
) -> list[int]:
    """Cluster of every point: the heaviest cluster is split at its weighted median, again and again."""
    weight = [9 * one + other for one, other in zip(share, prior, strict=True)]
    if n_clusters == len(weight):
        return list(range(len(weight)))
    clusters = [list(range(len(weight)))]
    while len(clusters) < n_clusters:
        mass = [sum(weight[point] for point in members) for members in clusters]
        splittable = [number for number, members in enumerate(clusters) if len(members) > 1]
        heaviest = max(splittable, key=lambda number: (mass[number], -number))
        members = clusters[heaviest]
        widths = [
            max(places[i][axis] for i in members) - min(places[i][axis] for i in members) for axis in (0, 1)
        ]
        axis = 0 if widths[0] >= widths[1] else 1
        members = sorted(members, key=lambda point: (places[point][axis], point))
        near = [
            size
            for size in range(1, len(members))
            if size == 1 or 2 * sum(weight[point] for point in members[:size]) <= mass[heaviest]
        ]
        clusters[heaviest] = members[: max(near)]
        clusters.append(members[max(near) :])
    return [
        next(number for number, members in enumerate(clusters) if point in members)
        for point in range(len(weight))
    ]


def estimate(
    prior: Sequence[int], units: Sequence[tuple[list[int], list[int], float]], n_workers: int
) -> list[float]:
    """Share of every point, from units (cluster of every point, labels, share of noise): twenty steps."""
    gravity = [one / sum(prior) for one in prior]
    share = list(gravity)
    for _ in range(20):
        following = [0.02 * n_workers * one for one in gravity]
        for clusters, labels, noise in units:
            n_clusters = max(clusters) + 1
            for label in labels:
                members = [point for point, cluster in enumerate(clusters) if cluster == label]
                mass = sum(share[point] for point in members)
                real = (1 - noise) * mass / ((1 - noise) * mass + noise / n_clusters)
                for point in members:
                    following[point] += real * share[point] / mass
        share = [one / sum(following) for one in following]
    return share
