"""Public shares of units of origin tracts, against adding them up one by one."""

import numpy as np
import pytest

from engine.audit.unit_shares import unit_shares
from engine.errors import ParameterError

pytestmark = pytest.mark.jit_off

PTR = np.array([0, 2, 3])
SHARE = np.array([0.7, 0.3, 1.0])
POINT = np.array([[0, 1, 0, -1], [-1, 0, 0, 0]], dtype=np.int32)
POPULATION = np.array([10, 5, 30, 7])


@pytest.mark.parametrize("unit", [[0, 1, 2, 3], [1, 0, 0, 1], [0, 0, 0, 0]])
def test_a_point_is_spread_by_population(unit: list[int]) -> None:
    expected = np.zeros((2, max(unit) + 1))
    for tract, points in enumerate(POINT.tolist()):
        for origin, point in enumerate(points):
            if point >= 0:
                people = sum(POPULATION[other] for other in range(4) if points[other] == point)
                expected[tract, unit[origin]] += SHARE[PTR[tract] + point] * POPULATION[origin] / people
    found = unit_shares(PTR, SHARE, POINT, POPULATION, np.array(unit))
    np.testing.assert_allclose(found.reshape(2, -1), expected, rtol=1e-15)
    np.testing.assert_allclose(found.reshape(2, -1).sum(axis=1), 1.0)


def test_arrays_that_do_not_agree_are_refused() -> None:
    with pytest.raises(ParameterError, match="units"):
        unit_shares(PTR, SHARE, POINT[:1], POPULATION, np.arange(4))
    with pytest.raises(ParameterError, match="does not have"):
        unit_shares(PTR, SHARE, POINT + np.int32(1), POPULATION, np.arange(4))
