"""One pass over synthesizers to see that each has support points, workers inside them, and weights in range."""

from engine._jit import lean_jit
from engine._kernels.arrays import Indices, Ints, PointLists
from engine._kernels.units import WEIGHT_BITS

__all__ = ["check_synthesizers"]


@lean_jit
def check_synthesizers(
    support_ptr: Ints,
    synthetic_ptr: Ints,
    workers: PointLists,
    tract_of: Indices,
    min_weight: Ints,
    largest_weight: Ints,
    limits: tuple[int, int],
) -> tuple[int, int, int]:
    """First synthesizer without a support point, number of workers outside, first with too much weight.

    A position of -1 means that no synthesizer has the fault. ``largest_weight`` holds each tract's largest prior
    weight [T]; ``limits`` what the weights of all balls of a synthesizer, and its number of workers, must stay below.
    """
    most_weight, most_workers = limits
    bare, heavy = -1, -1
    n_outside = 0
    for synthesizer in range(tract_of.size):
        tract = tract_of[synthesizer]
        n_points = support_ptr[tract + 1] - support_ptr[tract]
        first, last = workers.ptr[synthesizer], workers.ptr[synthesizer + 1]
        n_draws = synthetic_ptr[synthesizer + 1] - synthetic_ptr[synthesizer]
        if n_points == 0 and n_draws > 0 and bare < 0:
            bare = synthesizer
        points = workers.point[first:last]
        for worker in range(points.size):
            n_outside += points[worker] >= n_points
        n_workers = last - first + n_draws
        weight = max(largest_weight[tract], min_weight[synthesizer])
        # By division, as the product may pass 2^63.
        is_heavy = n_workers >= most_workers
        if not is_heavy:
            is_heavy = weight > (most_weight - 1 - (n_workers << WEIGHT_BITS)) // max(n_points, 1)
        if is_heavy and heavy < 0:
            heavy = synthesizer
    return bare, n_outside, heavy
