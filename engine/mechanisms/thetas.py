"""Epsilon and theta of the exponential mechanism without a price: the least theta that keeps e^epsilon.

The largest ratio of chances of neighbors, among tables of n workers over k support points, is exactly

    (1 / theta) (1 + (1 - theta) (w_1 + ... + w_{n-1}) / (w_0 + ... + w_n)),    w_t = theta^t C(k - 2 + t, t),

which grows with n towards (2 - theta - (1 - theta)^k) / theta. For one worker it is 1 / theta.

Source: docs/theory/method.md, section 7d, with the proof.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache

from engine.errors import CertificateError, ParameterError
from engine.mechanisms.chances import exponential_bounds
from engine.parameters import Number, exact_fraction

__all__ = [
    "LARGEST_EXPONENTIAL_EPSILON",
    "LEAST_NOISE_EPSILON",
    "MOST_EXACT_WORKERS",
    "THETA_BITS",
    "THETA_UNITS",
    "exponential_epsilon",
    "inverse_theta",
    "least_growth",
]

THETA_BITS = 20
"""1 / theta is a whole number of 2^-20."""

LEAST_NOISE_EPSILON = Fraction(1, 1024)
"""Below this, noise of thousands of workers on every point would leave nothing worth publishing."""

LARGEST_EXPONENTIAL_EPSILON = 25
"""Above this, fewer than one worker in ten million would move among 1,000 points: nothing would be protected."""

MOST_EXACT_WORKERS = 20
"""Up to this many workers theta is that of their own number; for more, that of any number."""

THETA_UNITS = 1 << THETA_BITS
_BOUND_BITS = 256
_CROSSING_STEPS = 40
_NEAR = 2


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
def least_growth(epsilon: Fraction) -> Fraction:
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

    Source: docs/theory/method.md, section 7d.
    """
    odds = least_growth(epsilon)
    if n_workers == 1 or n_points == 1:
        return int(odds * THETA_UNITS)
    if n_workers > MOST_EXACT_WORKERS:
        of_one_worker = inverse_theta(epsilon, n_points, 1)
        about = _find_crossing(
            lambda inverse: _ratio_of_many(inverse, n_points), 1.0, of_one_worker / THETA_UNITS, float(odds)
        )
        return _last(lambda inverse: _keeps_many(inverse, n_points, odds), THETA_UNITS, of_one_worker, about)
    # The ratio grows with n, so the answer lies between those of more workers and of one less.
    low = inverse_theta(epsilon, n_points, MOST_EXACT_WORKERS + 1)
    high = inverse_theta(epsilon, n_points, n_workers - 1)
    about = _find_crossing(
        lambda inverse: _ratio_of_few(inverse, n_points, n_workers),
        low / THETA_UNITS,
        high / THETA_UNITS,
        float(odds),
    )
    return _last(lambda inverse: _keeps_few(inverse, n_points, n_workers, odds), low, high, about)


def _find_crossing(ratio: Callable[[float], float], low: float, high: float, odds: float) -> int:
    """About the 1 / theta, in units of 2^-20, at which a rising ratio is the odds: by secants."""
    before, here = low, high
    excess_before, excess = ratio(before) - odds, ratio(here) - odds
    for _ in range(_CROSSING_STEPS):
        if excess == excess_before:
            break
        step = excess * (here - before) / (excess - excess_before)
        if abs(step) * THETA_UNITS < 1.0 or not low <= here - step <= high:
            break
        before, excess_before, here = here, excess, here - step
        excess = ratio(here) - odds
    return int(here * THETA_UNITS)


def _ratio_of_few(inverse: float, n_points: int, n_workers: int) -> float:
    """The ratio of :func:`_keeps_few` in floating point."""
    term = total = 1.0
    between = 0.0
    for moved in range(1, n_workers + 1):
        term *= (n_points - 2 + moved) / (inverse * moved)
        total += term
        between += term if moved < n_workers else 0.0
    return inverse + (inverse - 1.0) * between / total


def _ratio_of_many(inverse: float, n_points: int) -> float:
    """The ratio of :func:`_keeps_many` in floating point."""
    return 2.0 * inverse - 1.0 - inverse * (1.0 - 1.0 / inverse) ** n_points


def _last(allows: Callable[[int], bool], low: int, high: int, about: int) -> int:
    """The last allowed number from low to high, where low is allowed and all allowed numbers come first.

    The result does not depend on ``about``: a number close to it only saves steps.

    Raises
    ------
    CertificateError
        Low is not allowed.
    """
    if not allows(low):
        raise CertificateError("no theta keeps this epsilon: raise it")
    for near in (about - _NEAR, about + _NEAR):
        if low < near <= high:
            low, high = (near, high) if allows(near) else (low, near - 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if allows(middle) else (low, middle - 1)
    return low


def _keeps_few(inverse: int, n_points: int, n_workers: int, odds: Fraction) -> bool:
    """Whether the exact ratio is at most ``odds``: all terms times t^n, in whole numbers."""
    term: int = inverse**n_workers
    total, between = term, 0
    for moved in range(1, n_workers + 1):
        term = term * THETA_UNITS * (n_points - 2 + moved) // (inverse * moved)
        total += term
        between += term if moved < n_workers else 0
    ratio = inverse * total + (inverse - THETA_UNITS) * between
    return odds.denominator * ratio <= odds.numerator * THETA_UNITS * total


def _keeps_many(inverse: int, n_points: int, odds: Fraction) -> bool:
    """Whether (2 - theta - (1 - theta)^k) / theta is at most ``odds``, the power rounded down."""
    power = _power_down(((inverse - THETA_UNITS) << _BOUND_BITS) // inverse, n_points)
    ratio = ((2 * inverse - THETA_UNITS) << _BOUND_BITS) - inverse * power
    return odds.denominator * ratio <= odds.numerator * (THETA_UNITS << _BOUND_BITS)


def _power_down(base: int, exponent: int) -> int:
    """base^exponent in units of 2^-256, every product rounded down."""
    power = 1 << _BOUND_BITS
    while exponent:
        if exponent & 1:
            power = power * base >> _BOUND_BITS
        base = base * base >> _BOUND_BITS
        exponent >>= 1
    return power
