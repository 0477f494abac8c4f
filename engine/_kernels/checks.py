"""One pass over synthesizers to see that each has support points, workers inside them, and weights in range."""

from typing import Any

import numpy as np
import numpy.typing as npt

from engine._jit import lean_jit

__all__ = ["check_synthesizers"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]


@lean_jit
def check_synthesizers(
    sizes: tuple[Any, Any],
    worker_point: Indices,
    tract_of: Indices,
    min_weight: Ints,
    support: tuple[Any, Any],
    limits: tuple[int, int, int],
) -> tuple[int, int, int]:
    """First synthesizer without a support point, number of workers outside, first with too much weight.

    -1 stands for "none". ``sizes`` holds worker_ptr and synthetic_ptr (each [S + 1]), ``support`` support_ptr
    [T + 1] and each tract's largest prior weight [T], ``limits`` what the weights of all balls of a
    synthesizer must stay below, what its workers must stay below, and the bits of a worker's weight.
    """
    worker_ptr, synthetic_ptr = sizes
    support_ptr, largest = support
    most_weight, most_workers, weight_bits = limits
    bare, heavy = -1, -1
    n_outside = 0
    for synthesizer in range(tract_of.size):
        tract = tract_of[synthesizer]
        n_points = support_ptr[tract + 1] - support_ptr[tract]
        first, last = worker_ptr[synthesizer], worker_ptr[synthesizer + 1]
        n_draws = synthetic_ptr[synthesizer + 1] - synthetic_ptr[synthesizer]
        if n_points == 0 and n_draws > 0 and bare < 0:
            bare = synthesizer
        for worker in range(first, last):
            n_outside += worker_point[worker] >= n_points
        n_workers = last - first + n_draws
        weight = max(largest[tract], min_weight[synthesizer])
        # By division, as the product may pass 2^63.
        is_heavy = n_workers >= most_workers
        if not is_heavy:
            is_heavy = weight > (most_weight - 1 - (n_workers << weight_bits)) // max(n_points, 1)
        if is_heavy and heavy < 0:
            heavy = synthesizer
    return bare, n_outside, heavy
