"""SuperPUMAs: contiguous, big enough, of one state, and the same in whatever order the PUMAs come."""

from __future__ import annotations

from random import Random

import numpy as np
import shapely
from hypothesis import given
from hypothesis import strategies as st

from geodata.geography.superpumas import group_units, neighbors, superpuma_ids

WIDTH = 6


def grid(n: int) -> np.ndarray:
    """Squares in rows of `WIDTH`, object array[n]."""
    west, south = np.arange(n) % WIDTH, np.arange(n) // WIDTH
    return np.asarray(shapely.box(west, south, west + 1, south + 1))


def connected(members: set[int], near: list[set[int]]) -> bool:
    reached, frontier = set(), [min(members)]
    while frontier:
        row = frontier.pop()
        if row not in reached:
            reached.add(row)
            frontier.extend(near[row] & members)
    return reached == members


@given(st.lists(st.integers(0, 300_000), min_size=1, max_size=30))
def test_groups_are_contiguous_and_big_enough(people: list[int]) -> None:
    shape = grid(len(people))
    centre = shapely.get_coordinates(shapely.centroid(shape))
    near = neighbors(centre[:, 0], centre[:, 1], shape)
    population = np.array(people)
    group = group_units(population, centre[:, 0], centre[:, 1], near, min_population=400_000)
    sizes = np.bincount(group, weights=population)
    assert (sizes >= 400_000).all() or len(sizes) == 1
    for number in range(len(sizes)):
        assert connected(set(np.flatnonzero(group == number).tolist()), near)


@given(st.randoms(use_true_random=False))
def test_the_order_of_pumas_does_not_matter(random: Random) -> None:
    n = 14
    shape = grid(n)
    lon, lat = shapely.get_coordinates(shapely.centroid(shape)).T
    ids = [f"44{k:05d}" for k in range(n)]
    people = 90_000 + 17_000 * (np.arange(n) * 5 % 7)
    order = list(range(n))
    random.shuffle(order)
    state = ["44"] * n
    plain = superpuma_ids(ids, state, people, lon, lat, shape)
    mixed = superpuma_ids([ids[k] for k in order], state, people[order], lon[order], lat[order], shape[order])
    assert [plain[k] for k in order] == mixed


def test_an_island_joins_the_nearest() -> None:
    shape = np.append(grid(4), [shapely.box(8, 0, 9, 1)])
    centre = shapely.get_coordinates(shapely.centroid(shape))
    near = neighbors(centre[:, 0], centre[:, 1], shape)
    assert near[4] == {3}
    assert 4 in near[3]


def test_states_are_never_mixed() -> None:
    shape = grid(6)
    lon, lat = shapely.get_coordinates(shapely.centroid(shape)).T
    found = superpuma_ids(
        [f"{s}0010{k}" for k, s in enumerate(["09", "09", "09", "44", "44", "44"])],
        ["09"] * 3 + ["44"] * 3, np.array([200_000, 210_000, 390_000, 100_000, 100_000, 100_000]), lon, lat, shape,
    )  # fmt: skip
    assert found == ["09S01", "09S01", "09S01", "44S01", "44S01", "44S01"]
