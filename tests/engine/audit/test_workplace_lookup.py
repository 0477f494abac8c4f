"""Looking workers up by workplace in one pass, against the attackers that sort by every key."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit.coded_tables import Predictions
from engine.audit.lookup import lookup, lookup_without_victim
from engine.audit.workplace_lookup import look_up_homes, look_up_segments
from engine.errors import ParameterError

pytestmark = pytest.mark.jit_off

Ints = npt.NDArray[np.int64]

# Workers of each cell, as pairs of a real and a released value, and which tract or margin the cell is in.
CELLS = st.lists(
    st.tuples(
        st.integers(0, 2), st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=5)
    ),
    max_size=8,
)
PRIORS = st.sampled_from([np.array([0.2, 0.4, 0.4]), np.array([0.5, 0.1, 0.4]), np.ones(3) / 3])
Cells = list[tuple[int, list[tuple[int, int]]]]


def arrays(cells: Cells) -> tuple[Ints, Ints, Ints, Ints]:
    """Group and size of each cell, and the real and the released values of the workers."""
    group = np.array([group for group, _ in cells], dtype=np.int64)
    size = np.array([len(workers) for _, workers in cells], dtype=np.int64)
    pairs = np.array([pair for _, workers in cells for pair in workers], dtype=np.int64).reshape(-1, 2)
    return group, size, pairs[:, 0].copy(), pairs[:, 1].copy()


def require_same(found: Predictions, expected: Predictions) -> None:
    np.testing.assert_array_equal(found.value, expected.value)
    np.testing.assert_array_equal(found.belief, expected.belief)


@given(CELLS, PRIORS)
def test_homes_are_looked_up_as_by_sorting(cells: Cells, prior: npt.NDArray[np.float64]) -> None:
    tract, size, truth, released = arrays(sorted(cells, key=lambda cell: cell[0]))
    ptr = np.concatenate(([0], np.cumsum(size)))
    keys = [np.repeat(np.arange(size.size), size), np.repeat(tract, size)]
    found = look_up_homes(np.searchsorted(tract, np.arange(4)), ptr, truth, released, prior)
    require_same(found.release, lookup(keys, released, keys, prior))
    require_same(found.without_victim, lookup_without_victim(keys, truth, prior))
    require_same(found.memorised, lookup(keys, truth, keys, prior))


@given(CELLS, st.lists(st.integers(0, 2), min_size=8, max_size=8), PRIORS)
def test_segments_are_looked_up_as_by_sorting(
    cells: Cells, bands: list[int], prior: npt.NDArray[np.float64]
) -> None:
    margin, size, home, released = arrays(cells)
    band = np.array(bands[: len(cells)], dtype=np.int64)
    value, coarse = np.repeat(band, size), np.repeat(margin, size)
    keys, released_keys = ([coarse * 3 + units, coarse] for units in (home, released))
    ptr = np.concatenate(([0], np.cumsum(size)))
    found = look_up_segments(margin, band, ptr, (home, released), 3, prior)
    require_same(found.release, lookup(released_keys, value, keys, prior))
    require_same(found.without_victim, lookup_without_victim(keys, value, prior))
    require_same(found.memorised, lookup(keys, value, keys, prior))


def test_arrays_that_do_not_agree_are_refused() -> None:
    two, prior = np.array([0, 1]), np.ones(2)
    with pytest.raises(ParameterError, match="without workers"):
        look_up_homes(np.array([0, 2]), np.array([0, 2, 2]), two, two, prior)
    with pytest.raises(ParameterError, match="from 0 to 1"):
        look_up_homes(np.array([0, 1]), np.array([0, 2]), two, two + 1, prior)
    with pytest.raises(ParameterError, match="margins for 1 cells"):
        look_up_segments(two, two, np.array([0, 2]), (two, two), 2, prior)
    with pytest.raises(ParameterError, match="from 0 to 1"):
        look_up_segments(two[:1], two[:1], np.array([0, 2]), (two, two + 1), 2, prior)
