"""The paper's own suppressor, which estimates the chance of an unsafe value by sampling (Algorithm 3).

With q = delta / T, a query is released if at most ½ ln(1/q) of K = ⌈(1/q) ln(1/q)⌉ values are unsafe that were drawn
from their distribution given all that is released. Departures from what is printed: K is rounded up, the count begins
at 0 for each query, and "log" is the natural logarithm, as in the analysis. Counting ends as soon as the query is
sure to be suppressed.

The rule costs K draws per decision, and suppresses queries that the exact rule releases: those with a chance of q/2
about half of the time. It is here for comparison with the paper.

Source: Nabar and Mishra, Algorithm 3; docs/theory/suppressed-tables.md.
"""

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.errors import OverflowRefusedError, ParameterError
from engine.kernels import chacha
from engine.streams import SecretKey, new_stream
from engine.suppression.cells import safe_intervals
from engine.suppression.kernels import sampled_tables as kernels
from engine.suppression.rates import Rates
from engine.suppression.rows import Query, suppress_rows_by
from engine.suppression.suppressed import (
    Decided,
    Ints,
    check_people,
    check_promise,
    check_values,
    stop_at_breach,
)

__all__ = ["draw_values", "sampling_plan", "suppress_cells_sampled", "suppress_rows_sampled"]

_MOST_SAMPLES = 10**9
_FIRST_DIGITS = 4
_DECIMALS = 60


def sampling_plan(decision_delta: Fraction) -> tuple[int, int]:
    """Number of samples K for each query, and how many of them may be unsafe.

    Decimal logarithms are correctly rounded, so that the two are the same everywhere.

    Raises
    ------
    ParameterError
        ``decision_delta`` is not between 0 and 1, or asks for more than 10^9 samples.
    """
    check_promise(Fraction(1, 2), decision_delta)
    with localcontext() as context:
        context.prec = _DECIMALS
        inverse = Decimal(decision_delta.denominator) / Decimal(decision_delta.numerator)
        samples = int((inverse * inverse.ln()).to_integral_value(ROUND_CEILING))
        most = int((inverse.ln() / 2).to_integral_value(ROUND_FLOOR))
    if samples > _MOST_SAMPLES:
        raise ParameterError(
            f"sampling would draw {samples:,} data sets for each decision, more than {_MOST_SAMPLES:,}: "
            "decide exactly, or give a larger delta"
        )
    return samples, most


def suppress_cells_sampled(
    people: npt.ArrayLike,
    rates: Rates,
    values: npt.ArrayLike,
    *,
    epsilon: Fraction,
    decision_delta: Fraction,
    key: SecretKey,
) -> Decided:
    """Decide independent cells in order, by sampling.

    Parameters
    ----------
    key : SecretKey
        Key of the streams of stage TABLE: a cell's samples depend on the key and on its position only.
    people, rates, values, epsilon, decision_delta
        As in :func:`engine.suppression.cells.suppress_cells`.

    Raises
    ------
    ParameterError
        A parameter is out of range, a value exceeds its people, or the arrays have different lengths.
    OverflowRefusedError
        A decision would take more random bits than a stream has.
    """
    rule = _decide_by_sampling(decision_delta, key)
    checked = check_people("people", people, len(rates), "rates")
    counts = check_values(values, checked)
    low, high = safe_intervals(checked, rates, epsilon)
    may = [rule(_query(at, checked, rates, (int(low[at]), int(high[at])))) for at in range(checked.size)]
    return stop_at_breach(np.array(may, dtype=np.bool_), counts, low, high)


def suppress_rows_sampled(
    row_people: npt.ArrayLike,
    row_ptr: npt.ArrayLike,
    rates: Rates,
    values: npt.ArrayLike,
    *,
    epsilon: Fraction,
    decision_delta: Fraction,
    key: SecretKey,
) -> Decided:
    """Decide the origins of each row in order, by sampling.

    Parameters and errors are those of :func:`engine.suppression.rows.suppress_rows` and
    :func:`suppress_cells_sampled`.
    """
    rule = _decide_by_sampling(decision_delta, key)
    return suppress_rows_by(rule, row_people, row_ptr, rates, values, epsilon=epsilon)


def draw_values(key: SecretKey, query: Query, n_samples: int) -> Ints:
    """The first values that are drawn for a query: int64[n_samples]."""
    counts = np.empty(n_samples, dtype=np.int64)
    _draw_with_digits(
        query, lambda digits, cell: kernels.draw_counts(key.words, *_scratch(), digits, cell, counts)
    )
    return counts


def _query(at: int, people: Ints, rates: Rates, safe: tuple[int, int]) -> Query:
    yes, whole = int(rates.numerator[at]), int(rates.denominator[at])
    return Query(at, int(people[at]), (yes, whole - yes), safe)


def _decide_by_sampling(decision_delta: Fraction, key: SecretKey) -> Callable[[Query], bool]:
    """Algorithm 3's decision on a query."""
    samples, most = sampling_plan(decision_delta)
    stream, lanes = _scratch()

    def n_unsafe(digits: Ints, cell: kernels.SampledCell) -> int:
        return kernels.count_unsafe(key.words, stream, lanes, digits, cell, samples, most)

    return lambda query: _draw_with_digits(query, n_unsafe) <= most


def _draw_with_digits(query: Query, draw: Callable[[Ints, kernels.SampledCell], int]) -> int:
    """Draw with as many digits of the chance as it takes; more digits leave earlier draws as they are."""
    cell = kernels.SampledCell(query.position, query.people, *query.safe)
    yes, no = query.odds
    n_digits = _FIRST_DIGITS
    while True:
        # A chance of 1 is 0.111... in binary.
        scaled = min((yes << (32 * n_digits)) // (yes + no), (1 << (32 * n_digits)) - 1)
        digits = np.frombuffer(scaled.to_bytes(4 * n_digits, "big"), dtype=">u4").astype(np.int64)
        result = draw(digits, cell)
        if result == kernels.RUN_OUT:
            raise OverflowRefusedError(
                f"decision {query.position} would take more random bits than a stream has: decide exactly"
            )
        if result != kernels.TOO_FEW_DIGITS:
            return result
        n_digits *= 2


def _scratch() -> tuple[Ints, npt.NDArray[np.uint32]]:
    return new_stream(), np.zeros(chacha.LANE_WORDS, dtype=np.uint32)
