"""Dividing rectangles of land into rectangles with wanted shares of the people, again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from geodata.demo.curves import Floats
from geodata.demo.grouping import Ints

DECIMALS: Final = 6  # of a degree: a tenth of a metre


@dataclass(frozen=True, slots=True, kw_only=True)
class Areas:
    """Rectangles that tile the land.

    Attributes
    ----------
    place : float64[n, 2]
        Places where people live, longitude and latitude, area by area.
    ptr : int64[A + 1]
        Each area's places.
    box : float64[A, 4]
        West, south, east and north.
    """

    place: Floats
    ptr: Ints
    box: Floats

    @property
    def n_places(self) -> Ints:
        """Places of each area: int64[A]."""
        return np.diff(self.ptr)


def divided(areas: Areas, n_parts: Ints, weight: Floats) -> Areas:
    """Divide every area into parts; each cut crosses the longer side of its rectangle.

    Parameters
    ----------
    areas : Areas
        A of them.
    n_parts : int64[A]
        Parts wanted of each, from 1 to its places.
    weight : float64[n_parts.sum()]
        Share of the places that each part is to have, relative to the other parts of its area; above 0.

    Returns
    -------
    Areas
        The parts of the first area, then those of the second and so on.

    Notes
    -----
    All areas are cut at once, level by level: a sort of the places for each level.
    """
    place = areas.place.copy()
    running = np.append(0.0, np.cumsum(weight))
    leaf = np.append(0, np.cumsum(n_parts))
    # A node is a range of parts with a range of places, and a rectangle.
    node = np.column_stack([leaf[:-1], leaf[1:], areas.ptr[:-1], areas.ptr[1:]])
    box = areas.box
    while (several := node[:, 1] - node[:, 0] > 1).any():
        done_node, done_box = node[~several], box[~several]
        node, box = _halved(place, node[several], box[several], running)
        node, box = np.vstack([done_node, node]), np.vstack([done_box, box])
    order = np.argsort(node[:, 0], kind="stable")
    ptr = np.append(node[order, 2], node[order[-1], 3])
    return Areas(place=place, ptr=ptr.astype(np.int64), box=box[order])


def _halved(place: Floats, node: Ints, box: Floats, running: Floats) -> tuple[Ints, Floats]:
    """Cut every node in two, sorting its places across the cut."""
    first, end, start, stop = node.T
    across = _longer_side(box)
    _sort_within(place, start, stop, box, across)
    middle = (first + end) // 2
    share = (running[middle] - running[first]) / (running[end] - running[first])
    wanted = np.rint(share * (stop - start)).astype(np.int64)
    cut = start + np.clip(wanted, middle - first, (stop - start) - (end - middle))
    at = np.round((place[cut - 1, across] + place[cut, across]) / 2, DECIMALS)
    low, high = box.copy(), box.copy()
    rows = np.arange(len(node))
    low[rows, 2 + across] = at
    high[rows, across] = at
    halves = [np.column_stack([first, middle, start, cut]), np.column_stack([middle, end, cut, stop])]
    return np.vstack(halves), np.vstack([low, high])


def _longer_side(box: Floats) -> Ints:
    west, south, east, north = box.T
    width = (east - west) * np.cos(np.radians((south + north) / 2))
    return np.where(width >= north - south, 0, 1)


def _sort_within(place: Floats, start: Ints, stop: Ints, box: Floats, across: Ints) -> None:
    length = stop - start
    of_node = np.repeat(np.arange(length.size), length)
    row = np.arange(of_node.size) + np.repeat(start - np.append(0, np.cumsum(length)[:-1]), length)
    low, high = (box[np.arange(len(box)), side + across] for side in (0, 2))
    inside = (place[row, across[of_node]] - low[of_node]) / (high - low)[of_node]
    # One sort for all: node k takes up the numbers from 2 k to 2 k + 1.
    order = np.argsort(2 * of_node + inside, kind="stable")
    place[row] = place[row[order]]
