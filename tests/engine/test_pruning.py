from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ParameterError
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.support.coarsening import LEVEL_REMAINDER
from engine.support.pruning import effective_retention, retention_probability, retention_threshold
from tests.engine.worlds import make_world

pytestmark = pytest.mark.jit_off


@given(st.integers(0, 10**9), st.floats(0, 1e6), st.floats(2.0**-32, 1))
def test_thresholds_round_up_and_the_remainder_is_certain(
    seed: int, scale: float, min_retention: float
) -> None:
    world = make_world(seed)
    coarse = world.edited.coarsening
    threshold = retention_threshold(coarse, world.share, scale=scale, min_retention=min_retention)
    for point, found in enumerate(threshold.tolist()):
        if coarse.support_level[point] == LEVEL_REMAINDER:
            assert found == RETENTION_UNITS
        else:
            wanted = min(max(scale * float(world.share[point]), min_retention), 1.0)
            assert found == ceil(Fraction(wanted) * RETENTION_UNITS)
    assert np.all(retention_probability(threshold) * RETENTION_UNITS == threshold)


def test_points_above_the_limit_are_certain() -> None:
    weights = np.array([WEIGHT_UNITS, WEIGHT_UNITS + 1, 0])
    threshold = np.array([5, 5, RETENTION_UNITS])
    assert effective_retention(threshold, weights).tolist() == [5, 5, RETENTION_UNITS]
    limited = effective_retention(threshold, weights, certain_above=WEIGHT_UNITS)
    assert limited.tolist() == [5, RETENTION_UNITS, RETENTION_UNITS]


@pytest.mark.parametrize(
    ("scale", "min_retention", "message"),
    [
        (1.0, 2.0**-33, "min_retention"),
        (1.0, 0.0, "min_retention"),
        (1.0, 1.1, "min_retention"),
        (1.0, np.nan, "min_retention"),
        (-1.0, 0.1, "scale"),
        (np.inf, 0.1, "scale"),
    ],
)
def test_bad_retention_is_refused(scale: float, min_retention: float, message: str) -> None:
    world = make_world(1)
    with pytest.raises(ParameterError, match=message):
        retention_threshold(world.edited.coarsening, world.share, scale=scale, min_retention=min_retention)


def test_shares_of_other_points_are_refused() -> None:
    world = make_world(1)
    with pytest.raises(ParameterError, match="give one each"):
        retention_threshold(world.edited.coarsening, world.share[:-1], scale=1.0, min_retention=0.1)
