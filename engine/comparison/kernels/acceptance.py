"""Which synthesizers' outputs are representative enough to be accepted: gamma-Good, decided in whole numbers.

Symbols: n_i real and m_i synthetic workers in a point, alpha_i prior weight in units of 2^-20, f_i retention in units
of 2^-32, rho = E / kappa in units of 2^-20. With a = alpha_i + max(n_i, 1) - 1, a point is within its threshold when
m_i + a <= r a, r being rho, or f_i rho where n_i <= 1 and the point can be pruned.
"""

from typing import NamedTuple

import numpy as np

from engine.jit import jit
from engine.kernels.arrays import Bools, Indices, Ints, PointLists, Support
from engine.kernels.units import RETENTION_UNITS, WEIGHT_BITS

__all__ = ["RATIO_BITS", "AcceptanceRules", "accept_range"]

RATIO_BITS = 20
_LARGEST = (1 << 62) - 1


class AcceptanceRules(NamedTuple):
    """What each synthesizer is judged by: position of its tract, least weight and rho; each [S]."""

    tract: Indices
    min_weight: Ints
    ratio: Ints


@jit
def _is_within(n_synthetic: int, n_workers: int, weight: int, retention: int, ratio: int) -> bool:
    """Whether m_i is within the threshold of ``n_workers`` workers; ``ratio`` is below 2^42."""
    mass = weight
    factor = ratio
    if n_workers >= 2:
        mass += (n_workers - 1) << WEIGHT_BITS
    elif retention < RETENTION_UNITS:
        # floor(f rho): the product in two parts, or it would pass 64 bits.
        factor = ((retention >> 16) * ratio + (((retention & 0xFFFF) * ratio) >> 16)) >> 16
    wanted = (n_synthetic << WEIGHT_BITS) + mass
    high, low = mass >> RATIO_BITS, mass & ((1 << RATIO_BITS) - 1)
    if factor > 0 and high > _LARGEST // factor:
        return True
    return bool(wanted <= factor * high + ((factor * low) >> RATIO_BITS))


@jit
def _is_good(
    drawn: Indices,
    n_synthetic: Ints,
    workers: Indices,
    n_workers: Ints,
    weights: Ints,
    retentions: Ints,
    scalars: tuple[int, int, int],
) -> bool:
    """Whether some table at most one worker away has all points within their thresholds.

    One move raises one threshold only, that of the point entered, and lowers that of the point left; so at most one
    point may be beyond its own, and some other point must be able to spare a worker (the same one cannot: what is
    beyond a threshold is beyond lower ones). ``scalars`` holds the least
    weight, the weight above which points are never pruned, and rho.
    """
    min_weight, certain_above, ratio = scalars
    beyond = -1
    for position in range(drawn.size):
        point = drawn[position]
        weight = max(weights[point], min_weight)
        retention = RETENTION_UNITS if weight > certain_above else retentions[point]
        if point != beyond and not _is_within(n_synthetic[point], n_workers[point], weight, retention, ratio):
            if beyond >= 0:
                return False
            beyond = point
            if not _is_within(n_synthetic[point], n_workers[point] + 1, weight, retention, ratio):
                return False
    if beyond < 0:
        return True
    for position in range(workers.size):
        point = workers[position]
        weight = max(weights[point], min_weight)
        retention = RETENTION_UNITS if weight > certain_above else retentions[point]
        if _is_within(n_synthetic[point], n_workers[point] - 1, weight, retention, ratio):
            return True
    return False


@jit
def accept_range(
    bounds: tuple[int, int],
    workers: PointLists,
    rules: AcceptanceRules,
    support: Support,
    certain_above: int,
    synthetic: PointLists,
    accepted: Bools,
) -> int:
    """Fill ``accepted`` for synthesizers ``bounds``; return -1."""
    most = 0
    for tract in range(support.ptr.size - 1):
        most = max(most, support.ptr[tract + 1] - support.ptr[tract])
    n_workers, n_synthetic = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    for synthesizer in range(bounds[0], bounds[1]):
        real = workers.point[workers.ptr[synthesizer] : workers.ptr[synthesizer + 1]]
        drawn = synthetic.point[synthetic.ptr[synthesizer] : synthetic.ptr[synthesizer + 1]]
        # Without real workers there is nothing to protect and nothing to represent.
        if real.size == 0 or drawn.size == 0:
            accepted[synthesizer] = True
            continue
        for worker in range(real.size):
            n_workers[real[worker]] += 1
        for position in range(drawn.size):
            n_synthetic[drawn[position]] += 1
        points = slice(support.ptr[rules.tract[synthesizer]], support.ptr[rules.tract[synthesizer] + 1])
        scalars = (rules.min_weight[synthesizer], certain_above, rules.ratio[synthesizer])
        weights, retentions = support.prior_weight[points], support.retention[points]
        accepted[synthesizer] = _is_good(drawn, n_synthetic, real, n_workers, weights, retentions, scalars)
        n_workers[real] = 0
        n_synthetic[drawn] = 0
    return -1
