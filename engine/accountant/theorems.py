"""The paper's theorems on prior weights, one synthesizer at a time.

`engine.accountant.paper` applies them to a whole release; its docstring says where and why they depart from the
paper.

Source: P08 Theorems 4.1, 4.4, 5.2 and Definition 7.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from engine.accountant.kernels import reference_sample as kernels
from engine.errors import ParameterError
from engine.kernels.units import WEIGHT_UNITS
from engine.parameters import LARGEST_EPSILON, Number, exact_fraction

__all__ = [
    "RULES",
    "LeastWeight",
    "cautious_c",
    "epsilon_final",
    "least_prior_weight",
    "lowered_delta",
    "pruned_epsilon",
    "reference_zero_sample",
    "theorem_4_1_weight",
    "theorem_4_4_bound",
    "theorem_4_4_weight",
]

RULES = ("none", "nothing drawn", "theorem 4.1", "theorem 4.4")
"""Names of the rules, in the order of their codes."""

_MARGIN = 1e-12
_NANO = 10**9
_LARGEST_WEIGHT = float(1 << 30)


class LeastWeight(NamedTuple):
    """A least prior weight and the name of the rule that allows it."""

    weight: float
    rule: str


def cautious_c(epsilon: Number) -> float:
    """Lower bound of c = e^epsilon - 1: 1e-12 of itself below, far more than rounding adds up to epsilon 100.

    A mechanism that is private at the corresponding smaller epsilon is private at the given epsilon.
    """
    exact = exact_fraction(epsilon, "epsilon")
    if not 0 < exact <= LARGEST_EPSILON:
        raise ParameterError(
            f"epsilon is {float(exact):g}; it must lie above 0 and at most at {LARGEST_EPSILON}"
        )
    return math.expm1(float(exact)) * (1 - _MARGIN)


def lowered_delta(delta: Number) -> float:
    """Delta as a float that is not above its exact value."""
    exact = exact_fraction(delta, "delta")
    if not 0 < exact < 1:
        raise ParameterError(f"delta is {float(exact):g}; it must lie strictly between 0 and 1")
    return math.nextafter(float(exact), 0.0)


def theorem_4_1_weight(m: int, epsilon: Number) -> float:
    """Least prior weight that makes every output safe.

    Parameters
    ----------
    m : int
        Published count.
    epsilon : Fraction, str, int or float
        Bound on the log likelihood ratio.

    Returns
    -------
    float
        m / (e^epsilon - 1), rounded up by about 1e-12 of itself.

    Notes
    -----
    Source: P08 Theorem 4.1. Neighboring likelihoods differ at most by (m + min alpha) / min alpha.
    """
    return math.nextafter(m / cautious_c(epsilon), math.inf)


def reference_zero_sample(n: int, m: int, min_weight: float, rest_weight: float, c: float) -> float:
    """Reference 0-sample: the likeliest of the worst outputs at the edge of the disclosure set.

    Parameters
    ----------
    n, m : int
        Likelihood count and published count.
    min_weight, rest_weight : float
        a1 = min alpha and a2 = |alpha| - a1, both above 0.
    c : float
        e^epsilon - 1.

    Returns
    -------
    float
        rho, the maximum over integers x from 0 to n.

    Notes
    -----
    Source: P08 Definition 7; gamma functions interpolate where f(x) is no integer.
    """
    if n < 0 or m < 0 or not min_weight > 0 or not rest_weight > 0 or not c > 0:
        raise ParameterError(
            f"reference 0-sample asked for n = {n}, m = {m}, weights {min_weight!r} and {rest_weight!r}, "
            f"c = {c!r}; counts must be 0 or more and the others above 0"
        )
    return math.exp(
        kernels.log_reference_zero_sample(n, m, float(min_weight), float(rest_weight), float(c))[0]
    )


def theorem_4_4_bound(n: int, n_support: int, min_weight: int, total_weight: int, epsilon: Number) -> float:
    """Upper bound on delta by Theorem 4.4, from the least and the total weight in units.

    Parameters
    ----------
    n : int
        Likelihood count, equal to the published count.
    n_support : int
        k, at least 2.
    min_weight, total_weight : int
        min alpha and |alpha| in multiples of 2^-20.
    epsilon : Fraction, str, int or float
        Bound on the log likelihood ratio.

    Returns
    -------
    float
        rho 2 k e^epsilon / (e^epsilon - 2), rounded up; 1 where the theorem does not apply.
    """
    c = cautious_c(epsilon)
    if c <= 2 or n_support < 2 or not 0 < min_weight < total_weight:
        return 1.0
    return float(
        kernels.theorem_4_4_bound(n, n_support, min_weight / WEIGHT_UNITS, total_weight / WEIGHT_UNITS, c)
    )


def theorem_4_4_weight(n: int, n_support: int, epsilon: Number, delta: Number) -> float | None:
    """Least equal prior weight that Theorem 4.4 allows for n = m workers and n_support points.

    Returns
    -------
    float or None
        The weight, evaluated and found to hold; None if epsilon ≤ ln 3 or no weight holds.

    Notes
    -----
    Source: P08 Theorem 4.4. The search doubles the weight from 1e-9 upward until it holds, and then bisects the last
    step.
    """
    c = cautious_c(epsilon)
    limit = lowered_delta(delta)
    if c <= 2 or n_support < 2 or n < 1:
        return None
    low, high = 0.0, 1e-9
    while not _equal_weight_holds(n, n_support, high, c, limit):
        low, high = high, 2 * high
        if high > _LARGEST_WEIGHT:
            return None
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if _equal_weight_holds(n, n_support, middle, c, limit):
            high = middle
        else:
            low = middle
    return high


def least_prior_weight(n: int, m: int, n_support: int, epsilon: Number, delta: Number) -> LeastWeight:
    """Least equal prior weight by whichever theorem allows the smaller one.

    Parameters
    ----------
    n, m : int
        Likelihood count and published count; Theorem 4.4 is used only if they agree.
    n_support : int
        k.
    epsilon, delta : Fraction, str, int or float
        The promise.

    Returns
    -------
    LeastWeight
        The weight and ``"theorem 4.1"`` or ``"theorem 4.4"``.
    """
    always = theorem_4_1_weight(m, epsilon)
    probable = theorem_4_4_weight(n, n_support, epsilon, delta) if m == n else None
    if probable is not None and probable < always:
        return LeastWeight(probable, RULES[kernels.RULE_4_4])
    return LeastWeight(always, RULES[kernels.RULE_4_1])


def pruned_epsilon(
    epsilon: Fraction, least_retention: Fraction, growth: int = 2, ceiling: int = 1
) -> Fraction:
    """Epsilon after pruning, as a fraction not below the true value.

    Parameters
    ----------
    epsilon : Fraction
        Before pruning.
    least_retention : Fraction
        Least f_i over the points that can be pruned; 1 if no point can, which costs nothing.
    growth : int, optional
        2, or 1 + m where published counts replace n.
    ceiling : int, optional
        Largest ceil(alpha_i) over the points that can be pruned.

    Returns
    -------
    Fraction
        epsilon + ln(1/f) + ceiling ln(growth), the logarithms rounded up to a multiple of 1e-9.

    Notes
    -----
    Source: P08 Theorem 5.2.
    """
    if least_retention == 1:
        return epsilon
    cost = math.log(least_retention.denominator) - math.log(least_retention.numerator)
    cost += ceiling * math.log(growth)
    return epsilon + Fraction(math.ceil((cost + 1e-12) * _NANO), _NANO)


def epsilon_final(epsilon: Number, retention: ArrayLike, prior_weight: ArrayLike) -> Fraction:
    """Epsilon of the pruned mechanism, as a fraction not below the true value.

    Parameters
    ----------
    epsilon : Fraction, str, int or float
        Before pruning.
    retention : array_like of float
        f_i; points with f_i = 1 cannot be pruned and do not count.
    prior_weight : array_like of float
        alpha_i of the same points.

    Returns
    -------
    Fraction
        epsilon + max ln(1/f_i) + max ceil(alpha_i) ln 2, rounded up to a multiple of 1e-9 above epsilon.

    Notes
    -----
    Source: P08 Theorem 5.2; for m ≤ n (see the module).
    """
    kept = np.atleast_1d(np.asarray(retention, dtype=np.float64))
    weight = np.broadcast_to(np.asarray(prior_weight, dtype=np.float64), kept.shape)
    if not ((kept > 0) & (kept <= 1)).all() or not (weight >= 0).all():
        raise ParameterError("retention must lie above 0 and at most at 1, and prior weights at 0 or above")
    prunable = kept < 1
    before = exact_fraction(epsilon, "epsilon")
    if not prunable.any():
        return before
    ceiling = math.ceil(float(weight[prunable].max()))
    return pruned_epsilon(before, Fraction(float(kept[prunable].min())), ceiling=ceiling)


def _equal_weight_holds(n: int, k: int, weight: float, c: float, limit: float) -> bool:
    """Both bounds of Theorem 4.4 for k equal weights."""
    if kernels.theorem_4_4_bound(n, k, weight, k * weight, c) > limit:
        return False
    empty, per_worker, per_point = kernels.point_tails(n, n, weight, k * weight, c)
    return bool(k * empty + min(n * per_worker, k * per_point) <= limit)
