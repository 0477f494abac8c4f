"""Common parts of the histogram mechanisms: checks, arrays, further digits for a draw that needs them, and errors."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from engine._kernels import histograms as kernels
from engine._kernels.arrays import Addresses, PointLists
from engine._threads import run_ranges
from engine.errors import OverflowRefusedError
from engine.support_table import SupportTable
from engine.synthesis import (
    Synthesizers,
    SyntheticPoints,
    _refuse_run_out,
    check_fit,
)

__all__ = ["Digits", "draw_histogram", "with_digits"]

Ints = npt.NDArray[np.int64]
Digits = tuple[Ints, ...]
_Drawn = TypeVar("_Drawn")

_FIRST_DIGITS = 4
"""128 bits: a draw needs more with a chance of 2^-128."""


def with_digits(draw: Callable[[int, Ints], _Drawn]) -> _Drawn:
    """Return ``draw(n_digits, short)``, repeated with twice the digits as long as it raises the flag ``short[0]``."""
    n_digits = _FIRST_DIGITS
    while True:
        short = np.zeros(1, dtype=np.int64)
        drawn = draw(n_digits, short)
        if not short[0]:
            return drawn
        n_digits *= 2


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
        As for :func:`engine.synthesis.synthesize`.
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
        As :func:`engine.synthesis.synthesize`.
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

    statuses = with_digits(over_ranges)
    _refuse_run_out(statuses, synthesizers)
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
