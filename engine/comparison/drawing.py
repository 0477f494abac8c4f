"""Common parts of the histogram mechanisms: checks, arrays, and errors."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.comparison.kernels import histograms as kernels
from engine.errors import OverflowRefusedError, ParameterError
from engine.kernels.arrays import Addresses, PointLists
from engine.mechanisms.chances import draw_with_digits, exponential_bounds, geometric_digits
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints, check_fit, refuse_run_out
from engine.mechanisms.thetas import LEAST_NOISE_EPSILON
from engine.parameters import LARGEST_EPSILON, Number, exact_fraction
from engine.support.support_table import SupportTable
from engine.threads import run_ranges

__all__ = ["Digits", "Ints", "draw_histogram", "gap_digits", "noise_epsilon"]

Ints = npt.NDArray[np.int64]
Digits = tuple[Ints, ...]


def draw_histogram(
    synthesizers: Synthesizers,
    support: SupportTable,
    digits: Callable[[int], Digits],
    draw: Callable[[tuple[int, int], kernels.HistogramInputs, Digits, Ints, PointLists], int],
    work: Ints,
    threads: int,
) -> SyntheticPoints:
    """Run a histogram kernel over all synthesizers.

    Parameters
    ----------
    synthesizers, support
        As for :func:`engine.mechanisms.dirichlet_multinomial.synthesize`.
    digits : callable
        Takes a number of digits and returns the chances that the kernel draws with, if any.
    draw : callable
        Takes bounds, what all kernels read, the chances, the flag that they are too short, and the synthetic workers
        to fill in.
    work : int64[S]
        Relative cost of each synthesizer.
    threads : int

    Returns
    -------
    SyntheticPoints

    Raises
    ------
    ParameterError, SupportError
        As :func:`engine.mechanisms.dirichlet_multinomial.synthesize`.
    OverflowRefusedError
        Weights could reach 2^62, or noisy counts of one synthesizer passed 2^31.
    """
    synthetic_ptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(synthesizers.n_synthetic)))
    check_fit(synthesizers, support, synthetic_ptr)
    synthetic = PointLists(synthetic_ptr, np.empty(int(synthetic_ptr[-1]), dtype=np.int32))
    inputs = _kernel_inputs(synthesizers, support)

    def over_ranges(n_digits: int, short: Ints) -> list[int]:
        chances = digits(n_digits)
        return run_ranges(
            lambda start, stop: draw((start, stop), inputs, chances, short, synthetic), work, threads
        )

    statuses = draw_with_digits(over_ranges)
    refuse_run_out(statuses, synthesizers)
    if min(statuses, default=kernels.DONE) <= kernels.TOO_LARGE:
        # Which synthesizer it is depends on noisy counts and is not reported; the remedy is the same for all.
        raise OverflowRefusedError(
            "the noisy counts of a synthesizer passed 2^31: raise epsilon, or coarsen to fewer support points"
        )
    return SyntheticPoints(synthetic_ptr=synthetic.ptr, synthetic_point=synthetic.point)


def _kernel_inputs(synthesizers: Synthesizers, support: SupportTable) -> kernels.HistogramInputs:
    return kernels.HistogramInputs(
        workers=PointLists(synthesizers.worker_ptr, synthesizers.worker_point),
        addresses=Addresses(synthesizers.tract, synthesizers.destination, synthesizers.segment),
        min_weight=synthesizers.min_prior_weight,
        support_ptr=support.support_ptr,
        prior_weight=support.base_weight,
    )


def noise_epsilon(epsilon: Number) -> Fraction:
    """Epsilon exactly, in the range that noise can be drawn for.

    Raises
    ------
    ParameterError
        Below 1/1024 or above 100.
    """
    exact = exact_fraction(epsilon, "epsilon")
    if not LEAST_NOISE_EPSILON <= exact <= LARGEST_EPSILON:
        raise ParameterError(
            f"epsilon is {float(exact):g}; noise is drawn for 1/1024 to {LARGEST_EPSILON}: less would bury every "
            "count, more would promise nothing"
        )
    return exact


def gap_digits(rate: Fraction, n_digits: int) -> Ints:
    """The chances of `engine.mechanisms.chances.geometric_digits` for c = 1 / (1 + q), the chance of no noise above 0.

    G is the number of points passed over until noise is above 0.
    """

    def base(place: int, bits: int) -> tuple[int, int]:
        work = bits + 2 * place + 16
        scale = 1 << work
        q_low, q_high = exponential_bounds(rate, work)
        low, high = (scale << work) // (scale + q_high), -(-(scale << work) // (scale + q_low))
        for _ in range(place):
            low, high = low * low >> work, -(-high * high >> work)
        return low >> (work - bits), -(-high >> (work - bits))

    return geometric_digits(base, n_digits)
