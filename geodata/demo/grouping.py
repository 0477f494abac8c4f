"""Grouping neighboring places into units of about equal weight."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import shapely
from scipy.spatial import cKDTree

from geodata.demo.curves import Floats

Ints = npt.NDArray[np.int64]


def bisect_places(place: Floats, weight: Floats, n_parts: int) -> Ints:
    """Divide places into parts of equal weight; each cut crosses the longest extent of its part.

    Parameters
    ----------
    place : float64[n, 2]
        Where they are.
    weight : float64[n]
        At least 0.
    n_parts : int
        At most n.

    Returns
    -------
    int64[n]
        0..n_parts - 1; neighboring numbers are neighbors.
    """
    part = np.zeros(len(place), np.int64)
    if n_parts > 1:
        first = n_parts // 2
        order = np.argsort(_project_on_long_axis(place, weight), kind="stable")
        running = np.cumsum(weight[order])
        cut = int(np.argmin(np.abs(running - running[-1] * first / n_parts))) + 1
        cut = min(max(cut, first), len(place) - (n_parts - first))
        near, far = order[:cut], order[cut:]
        part[near] = bisect_places(place[near], weight[near], first)
        part[far] = first + bisect_places(place[far], weight[far], n_parts - first)
    return part


def round_parts(place: Floats, weight: Floats, part: Ints, rounds: int = 2) -> Ints:
    """Make parts rounder: every place goes to the nearest of the parts' weighted centres, a few times.

    Parts keep about their weight where `weight` grows with the square of the density.
    """
    for _ in range(rounds):
        n_parts = int(part.max()) + 1
        total = np.bincount(part, weights=weight, minlength=n_parts)
        centre = np.column_stack(
            [np.bincount(part, weights=weight * place[:, axis], minlength=n_parts) / total for axis in (0, 1)]
        )
        part = np.unique(cKDTree(centre).query(place)[1], return_inverse=True)[1].astype(np.int64)
    return part


def bisect_groups(group: Ints, place: Floats, weight: Floats, n_parts: Callable[[float], int]) -> Ints:
    """Bisect within each group of places; the parts are numbered through.

    Parameters
    ----------
    group : int64[n]
        0..G - 1.
    n_parts : callable
        Given the weight of a group, the number of parts wanted (held between 1 and its places).
    """
    part = np.zeros(len(place), np.int64)
    done = 0
    for number in range(int(group.max()) + 1):
        here = np.flatnonzero(group == number)
        if here.size:
            wanted = min(max(int(n_parts(float(weight[here].sum()))), 1), here.size)
            part[here] = done + bisect_places(place[here], weight[here], wanted)
            done += wanted
    return part


def union_groups(polygon: npt.NDArray[np.object_], group: Ints) -> npt.NDArray[np.object_]:
    """Union of the polygons of each group 0..G - 1, which meet exactly along their edges: polygons[G]."""
    order = np.argsort(group, kind="stable")
    parts = np.split(polygon[order], np.flatnonzero(np.diff(group[order])) + 1)
    return np.array([unite_polygons(part) for part in parts])


def unite_polygons(polygon: npt.NDArray[np.object_]) -> shapely.Geometry:
    """Union of polygons that meet along their edges; where a corner lies on another's edge, it takes longer."""
    try:
        whole = shapely.coverage_union_all(polygon)
    except shapely.errors.GEOSException:
        return shapely.union_all(polygon)
    return whole if shapely.is_valid(whole) else shapely.union_all(polygon)


def _project_on_long_axis(place: Floats, weight: Floats) -> Floats:
    away = place - np.average(place, axis=0, weights=weight + 1e-9)
    xx, yy, xy = (
        float((weight * a).sum()) for a in (away[:, 0] ** 2, away[:, 1] ** 2, away[:, 0] * away[:, 1])
    )
    angle = 0.5 * np.arctan2(2 * xy, xx - yy)
    return np.asarray(away[:, 0] * np.cos(angle) + away[:, 1] * np.sin(angle), dtype=np.float64)
