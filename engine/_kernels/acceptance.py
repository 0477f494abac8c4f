"""Which synthesizers' outputs are representative enough to stand: gamma-Good, decided in whole numbers.

Symbols: n_i real and m_i synthetic workers in a point, alpha_i prior weight in units of 2^-20, f_i retention in units
of 2^-32, rho = E / kappa in units of 2^-20. With a = alpha_i + max(n_i, 1) - 1, a point is within its threshold when
m_i + a <= r a, r being rho, or f_i rho where n_i <= 1 and the point can be pruned.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from engine._jit import jit

__all__ = ["RATIO_BITS", "accept_range"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

RATIO_BITS = 20
_WEIGHT_BITS = 20
_RETENTION_ONE = 1 << 32
_LARGEST = (1 << 62) - 1


@jit
def _is_within(n_synthetic: int, n_workers: int, weight: int, retention: int, ratio: int) -> bool:
    """Whether m_i is within the threshold of ``n_workers`` workers; ``ratio`` is below 2^42."""
    mass = weight
    factor = ratio
    if n_workers >= 2:
        mass += (n_workers - 1) << _WEIGHT_BITS
    elif retention < _RETENTION_ONE:
        # floor(f rho): the product in two parts, or it would pass 64 bits.
        factor = ((retention >> 16) * ratio + (((retention & 0xFFFF) * ratio) >> 16)) >> 16
    wanted = (n_synthetic << _WEIGHT_BITS) + mass
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
        retention = _RETENTION_ONE if weight > certain_above else retentions[point]
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
        retention = _RETENTION_ONE if weight > certain_above else retentions[point]
        if _is_within(n_synthetic[point], n_workers[point] - 1, weight, retention, ratio):
            return True
    return False


@jit
def accept_range(
    bounds: tuple[int, int],
    worker_ptr: Ints,
    worker_point: Indices,
    synthesizers: tuple[Any, Any, Any],
    support: tuple[Any, Any, Any],
    certain_above: int,
    synthetic_ptr: Ints,
    synthetic_point: Indices,
    accepted: Bools,
) -> int:
    """Fill ``accepted`` for synthesizers ``bounds``; return -1.

    ``synthesizers`` holds tract, least weight and rho (each [S]); ``support`` holds support_ptr [T + 1], prior weight
    and retention [K].
    """
    tract_of, min_weight, ratio = synthesizers
    support_ptr, prior_weight, retention = support
    most = 0
    for tract in range(support_ptr.size - 1):
        most = max(most, support_ptr[tract + 1] - support_ptr[tract])
    n_workers, n_synthetic = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    for one in range(bounds[0], bounds[1]):
        workers = worker_point[worker_ptr[one] : worker_ptr[one + 1]]
        drawn = synthetic_point[synthetic_ptr[one] : synthetic_ptr[one + 1]]
        # Without real workers there is nobody to protect and nothing to represent.
        if workers.size == 0 or drawn.size == 0:
            accepted[one] = True
            continue
        for worker in range(workers.size):
            n_workers[workers[worker]] += 1
        for position in range(drawn.size):
            n_synthetic[drawn[position]] += 1
        points = slice(support_ptr[tract_of[one]], support_ptr[tract_of[one] + 1])
        scalars = (min_weight[one], certain_above, ratio[one])
        accepted[one] = _is_good(
            drawn, n_synthetic, workers, n_workers, prior_weight[points], retention[points], scalars
        )
        n_workers[workers] = 0
        n_synthetic[drawn] = 0
    return -1
