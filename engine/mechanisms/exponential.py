"""The exponential mechanism over tables of n workers: pure epsilon, and several times less error than other mechanisms.

A table m is drawn with probability proportional to theta^d, where d workers must move to get from the real table to m.
The number of workers is public, so neighbors differ in one worker's home. The largest ratio of chances of neighbors is
exactly

    (1 / theta) (1 + (1 - theta) (w_1 + ... + w_{n-1}) / (w_0 + ... + w_n)),    w_t = theta^t C(k - 2 + t, t),

for k support points, which grows with n towards (2 - theta - (1 - theta)^k) / theta. For one worker it is 1 / theta:
the mechanism is then k-ary randomized response.

Source: McSherry and Talwar 2007, "Mechanism Design via Differential Privacy"; the theorem and its proof are in
docs/method.md, section 7d.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt

from engine._kernels.arrays import PointLists
from engine._kernels.chacha import LANE_WORDS
from engine._kernels.exponential import (
    MOST_POINTS,
    MOST_WORKERS,
    MoveSpace,
    Thetas,
    exponential_range,
)
from engine._kernels.histograms import HistogramInputs
from engine.errors import CertificateError, OverflowRefusedError, ParameterError
from engine.mechanisms.chances import exponential_bounds
from engine.mechanisms.drawing import Digits, Ints, draw_histogram
from engine.mechanisms.promise import LEAST_NOISE_EPSILON, NEIGHBORS, MechanismPromise
from engine.mechanisms.unit import draw_by_unit
from engine.parameters import Number, Unit, exact_fraction
from engine.streams import SecretKey, new_stream
from engine.support_table import SupportTable
from engine.synthesis import Synthesizers, SyntheticPoints

__all__ = [
    "LARGEST_EXPONENTIAL_EPSILON",
    "MOST_EXACT_WORKERS",
    "THETA_BITS",
    "exponential",
    "exponential_epsilon",
    "exponential_promise",
    "inverse_theta",
    "unit_thetas",
]

THETA_BITS = 20
"""1 / theta is a whole number of 2^-20."""

LARGEST_EXPONENTIAL_EPSILON = 25
"""Above this, fewer than one worker in ten million would move among 1,000 points: nothing would be protected."""

MOST_EXACT_WORKERS = 20
"""Up to this many workers theta is that of their own number; for more, that of any number."""

_UNITS = 1 << THETA_BITS
_BOUND_BITS = 256
_DRAWN_BITS = 40


def exponential_epsilon(epsilon: Number) -> Fraction:
    """Epsilon exactly, in the range of the exponential mechanism.

    Raises
    ------
    ParameterError
        Below 1/1024 or above 25.
    """
    exact = exact_fraction(epsilon, "epsilon")
    if not LEAST_NOISE_EPSILON <= exact <= LARGEST_EXPONENTIAL_EPSILON:
        raise ParameterError(
            f"epsilon is {float(exact):g}; the exponential mechanism takes 1/1024 to "
            f"{LARGEST_EXPONENTIAL_EPSILON}: less would bury every count, more would protect nobody"
        )
    return exact


@cache
def _odds(epsilon: Fraction) -> Fraction:
    """A fraction just below e^epsilon."""
    return Fraction(1 << _BOUND_BITS, exponential_bounds(epsilon, _BOUND_BITS)[1])


@cache
def inverse_theta(epsilon: Fraction, n_points: int, n_workers: int) -> int:
    """1 / theta in units of 2^-20, rounded down, so that noise never falls below what epsilon requires.

    Parameters
    ----------
    epsilon : Fraction
        From :func:`exponential_epsilon`.
    n_points : int
        Support points k, at least 1.
    n_workers : int
        Workers n, at least 1.

    Returns
    -------
    int
        The largest t for which theta = 2^20 / t keeps the largest ratio of neighbors at or below e^epsilon: for up to
        20 workers the ratio itself, for more its limit.

    Source: docs/method.md, section 7d.
    """
    odds = _odds(epsilon)
    if n_workers == 1 or n_points == 1:
        return int(odds * _UNITS)
    if n_workers > MOST_EXACT_WORKERS:
        one = inverse_theta(epsilon, n_points, 1)
        return _last(lambda inverse: _keeps_many(inverse, n_points, odds), _UNITS, one)
    # The ratio grows with n, so the answer lies between those of more workers and of one less.
    low = inverse_theta(epsilon, n_points, MOST_EXACT_WORKERS + 1)
    high = inverse_theta(epsilon, n_points, n_workers - 1)
    return _last(lambda inverse: _keeps_few(inverse, n_points, n_workers, odds), low, high)


def _last(allows: Callable[[int], bool], low: int, high: int) -> int:
    """The last allowed number from low to high, where low is allowed and all allowed numbers come first.

    Raises
    ------
    CertificateError
        Low is not allowed.
    """
    if not allows(low):
        raise CertificateError("no theta keeps this epsilon: raise it")
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if allows(middle) else (low, middle - 1)
    return low


def _keeps_few(inverse: int, n_points: int, n_workers: int, odds: Fraction) -> bool:
    """Whether the exact ratio is at most ``odds``: all terms times t^n, in whole numbers."""
    term: int = inverse**n_workers
    total, between = term, 0
    for moved in range(1, n_workers + 1):
        term = term * _UNITS * (n_points - 2 + moved) // (inverse * moved)
        total += term
        between += term if moved < n_workers else 0
    ratio = inverse * total + (inverse - _UNITS) * between
    return odds.denominator * ratio <= odds.numerator * _UNITS * total


def _keeps_many(inverse: int, n_points: int, odds: Fraction) -> bool:
    """Whether (2 - theta - (1 - theta)^k) / theta is at most ``odds``, the power rounded down."""
    power = _power_down(((inverse - _UNITS) << _BOUND_BITS) // inverse, n_points)
    ratio = ((2 * inverse - _UNITS) << _BOUND_BITS) - inverse * power
    return odds.denominator * ratio <= odds.numerator * (_UNITS << _BOUND_BITS)


def _power_down(base: int, exponent: int) -> int:
    """base^exponent in units of 2^-256, every product rounded down."""
    power = 1 << _BOUND_BITS
    while exponent:
        if exponent & 1:
            power = power * base >> _BOUND_BITS
        base = base * base >> _BOUND_BITS
        exponent >>= 1
    return power


def exponential_promise(epsilon: Number) -> MechanismPromise:
    """What :func:`exponential` promises: epsilon-differential privacy, delta 0.

    Raises
    ------
    ParameterError
        Epsilon is below 1/1024 or above 25.
    """
    exact = exponential_epsilon(epsilon)
    return MechanismPromise(
        mechanism="exponential",
        epsilon=exact,
        delta=Fraction(0),
        rule="each table of the public total is drawn with chance theta^d, d workers away from the real one",
        preconditions=(
            *NEIGHBORS,
            "as many workers are drawn as there are; no published count replaces a real one",
        ),
        holds_as_probabilistic=True,
        numbers={"theta_bits": THETA_BITS},
    )


def exponential(
    key: SecretKey,
    synthesizers: Synthesizers,
    support: SupportTable,
    *,
    epsilon: Number,
    unit: Unit = "cell",
    tract_number: npt.NDArray[np.int64] | None = None,
    threads: int = 1,
) -> SyntheticPoints:
    """Tables of synthetic workers, each drawn with probability proportional to theta^d.

    Parameters
    ----------
    key : SecretKey
        Draws come from stage MOVE, addressed by (destination, segment), (block, 0) or (tract number, 0), by unit; units
        are dealt out by stage DEAL.
    synthesizers : Synthesizers
        Prior weights are not used. As many workers are drawn as there are.
    support : SupportTable
        Prior weights and retentions are not used: every support point is as likely as any other.
    epsilon : Fraction, str, int or float
        1/1024 to 25.
    unit : {"cell", "block", "tract"}, optional
        Workers drawn together; see :mod:`engine.mechanisms.unit`.
    tract_number : int64[T], optional
        Global number of each destination tract; needed for unit "tract".
    threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    SyntheticPoints
        Points of one synthesizer in rising order.

    Raises
    ------
    ParameterError
        Epsilon is out of range, published counts differ from real ones, or the arrays do not agree.
    OverflowRefusedError
        A synthesizer has 2^22 workers or more, or 2^20 support points or more.

    Notes
    -----
    Time grows with occupied points and with workers. The number of rounds of a draw depends on confidential counts and
    is published nowhere; neither should the running time be.

    Source: docs/method.md, section 7d.
    """
    exact = exponential_epsilon(epsilon)

    def draw(units: Synthesizers) -> SyntheticPoints:
        return _draw_units(key, units, support, exact, threads)

    return draw_by_unit(key, synthesizers, unit, tract_number, draw, threads=threads)


def _draw_units(
    key: SecretKey, units: Synthesizers, support: SupportTable, epsilon: Fraction, threads: int
) -> SyntheticPoints:
    def draw(
        bounds: tuple[int, int],
        inputs: HistogramInputs,
        thetas: Digits,
        _short: Ints,
        synthetic: PointLists,
    ) -> int:
        most_workers = int(units.n_likelihood[bounds[0] : bounds[1]].max(initial=0))
        space = _space(most_workers, int(support.n_support.max(initial=1)))
        return exponential_range(
            bounds,
            inputs.workers,
            inputs.addresses,
            inputs.support_ptr,
            Thetas(*thetas),
            key.words,
            space,
            synthetic,
        )

    # Thetas are found after the units have been checked.
    return draw_histogram(
        units,
        support,
        lambda n_digits: unit_thetas(epsilon, units, support),
        draw,
        units.n_synthetic,
        threads,
    )


def _space(most_workers: int, most_points: int) -> MoveSpace:
    """Arrays that one thread works in."""
    return MoveSpace(
        at_point=np.zeros(most_points, dtype=np.int64),
        points=np.empty(most_workers, dtype=np.int32),
        counts=np.empty(most_workers, dtype=np.int64),
        freed=np.empty(most_workers, dtype=np.int64),
        moved=np.empty(most_workers, dtype=np.int32),
        lanes=np.zeros(LANE_WORDS, dtype=np.uint32),
        stream=new_stream(),
    )


def unit_thetas(epsilon: Fraction, synthesizers: Synthesizers, support: SupportTable) -> Thetas:
    """Theta of each synthesizer, never below what epsilon requires.

    Raises
    ------
    OverflowRefusedError
        A synthesizer has 2^22 workers or more, or 2^20 support points or more.
    """
    n_workers, n_points = synthesizers.n_likelihood, support.n_support
    if n_workers.size and (n_workers.max() >= MOST_WORKERS or n_points.max() >= MOST_POINTS):
        raise OverflowRefusedError(
            f"a synthesizer has {n_workers.max():,} workers, a tract {n_points.max():,} support points: at most "
            f"{MOST_WORKERS - 1:,} and {MOST_POINTS - 1:,} can be drawn: split the workers into more segments"
        )
    return _by_class(
        lambda points, workers: _fraction(inverse_theta(epsilon, points, workers)),
        support,
        synthesizers.tract,
        np.clip(n_workers, 1, MOST_EXACT_WORKERS + 1),
    )


def _fraction(inverse: int) -> tuple[int, int]:
    """Theta in lowest terms with few enough bits for the kernel; 1 / theta is rounded down once more."""
    cut = max(0, inverse.bit_length() - _DRAWN_BITS)
    theta = Fraction(_UNITS >> cut, inverse >> cut)
    return theta.numerator, theta.denominator


def _by_class(
    theta: Callable[[int, int], tuple[int, int]],
    support: SupportTable,
    tract: npt.NDArray[np.int32],
    n_workers: npt.NDArray[np.int64],
) -> Thetas:
    """`theta` of every synthesizer's (k, n), found once for each pair."""
    sizes, size_of_tract = np.unique(support.n_support, return_inverse=True)
    n_classes = int(n_workers.max(initial=0)) + 1
    class_of = size_of_tract[tract] * n_classes + n_workers
    values = np.zeros((2, sizes.size * n_classes), dtype=np.int64)
    for one in np.flatnonzero(np.bincount(class_of)).tolist():
        values[:, one] = theta(int(sizes[one // n_classes]), one % n_classes)
    return Thetas(values[0][class_of], values[1][class_of])
