"""Compiled parts of the paper accountant: the reference 0-sample, exact tails, and their searches.

Symbols, as in P08: n likelihood count, m published count, k support points, alpha prior weights,
a1 = min alpha, a2 = |alpha| - a1, c = e^epsilon - 1. Weights are int64 multiples of 2^-20 ("units"), and
weights of one destination tract come sorted with their suffix sums, so that |max(weight, alpha)| is a
binary search.

Every logarithm carries its own error bound: `SLACK` times the sum of the magnitudes of its terms. Decisions
add the bound on the unfavorable side.
"""

import math

import numpy as np

from engine.jit import jit, lean_jit
from engine.kernels.arrays import Floats, Ints
from engine.kernels.units import WEIGHT_UNITS

SLACK = 2.0**-48
LEAST_TERM = 1e-290  # of a tail: far above the least normal number, far below any delta
LOG_LEAST_TERM = math.log(LEAST_TERM)
RULE_NONE, RULE_EMPTY, RULE_4_1, RULE_4_4 = 0, 1, 2, 3


@lean_jit
def log_point_probability(y: float, n: int, m: int, x: int, first: float, rest: float) -> tuple[float, float]:
    """Log of the beta-binomial(m; x + first, n - x + rest) probability at a real y, and its error bound."""
    log_choose = math.lgamma(m + 1.0), math.lgamma(y + 1.0), math.lgamma(m - y + 1.0)
    prior = math.lgamma(n + first + rest), math.lgamma(x + first), math.lgamma(n - x + rest)
    posterior = (
        math.lgamma(m + n + first + rest),
        math.lgamma(x + y + first),
        math.lgamma(n - x + m - y + rest),
    )
    value = log_choose[0] - log_choose[1] - log_choose[2]
    value += prior[0] - prior[1] - prior[2]
    value -= posterior[0] - posterior[1] - posterior[2]
    size = 1.0
    for j in range(3):
        size += abs(log_choose[j]) + abs(prior[j]) + abs(posterior[j])
    return value, SLACK * size


@jit
def log_edge(n: int, m: int, x: int, a1: float, a2: float, c: float) -> tuple[float, float]:
    """Log probability at f(x), the edge of the disclosure set for a point with x workers, and its error."""
    return log_point_probability(min(float(m), c * (a1 + max(x - 1, 0))), n, m, x, a1, a2)


@jit
def log_reference_zero_sample(n: int, m: int, a1: float, a2: float, c: float) -> tuple[float, float, int]:
    """Log of the reference 0-sample (P08 Definition 7), its error bound, and the x that attains it.

    Where f(x) reaches m the probability is that of all m falling in one point, which rises with x (the
    factors n - x + a2 cancel); so only the x with f(x) < m and x = n are looked at.
    """
    best, slack, worst = log_edge(n, m, n, a1, a2, c)[0], 0.0, n
    x = 0
    while x <= n and c * (a1 + max(x - 1, 0)) < m:
        value, error = log_edge(n, m, x, a1, a2, c)
        if not value <= best:
            best, worst = value, x
        slack = max(slack, error)
        x += 1
    slack = max(slack, log_edge(n, m, n, a1, a2, c)[1])
    return best, slack, worst


@lean_jit
def leading_term(y: int, n: int, m: int, x: int, first: float, rest: float) -> float:
    """Upper bound of the probability of y, at least `LEAST_TERM`; 1 where the tail from y on is to be taken as 1."""
    if y <= 0 or n - x + rest <= 0.0:
        return 1.0
    log_term, error = log_point_probability(float(y), n, m, x, first, rest)
    if not log_term + error < 0.0:  # also where a degenerate parameter gives no number
        return 1.0
    # A term that underflowed would make all later terms 0, as if nothing could fail. At or below the mean the tail is
    # far from 0, and a start from the least term would only reach 1 after many steps.
    if log_term + error < LOG_LEAST_TERM and y * (n + first + rest) <= m * (x + first) * (1.0 + 1e-9):
        return 1.0
    return max(math.exp(log_term + error), LEAST_TERM)


@jit
def upper_tail(limit: float, n: int, m: int, x: int, first: float, rest: float) -> float:
    """Upper bound of P(beta-binomial(m; x + first, n - x + rest) > limit), within about 1e-9 of it."""
    tails = np.empty(1)
    upper_tails(limit, n, m, x, first, rest, tails)
    return float(tails[0])


@lean_jit
def upper_tails(limit: float, n: int, m: int, x: int, first: float, rest: float, tails: Floats) -> int:
    """Upper bounds of P(beta-binomial(m; x + first, n - x + rest) > floor(limit) + j) for j = 0, 1, ...

    Returns how many entries of `tails` are filled; the last holds for every later j. The first is within about 1e-9
    of the truth, the others within 1e-9 of the first.
    """
    tails[0] = 0.0
    if limit >= m:
        return 1
    y = math.floor(limit) + 1
    term = leading_term(y, n, m, x, first, rest)
    if term >= 1.0:
        tails[0] = 1.0
        return 1
    total, beyond = term, 0.0
    last = tails.shape[0] - 1
    filled = 0
    others = n - x - 1.0 + rest
    while True:
        if filled < last:
            tails[filled] = term
            filled += 1
        else:
            beyond += term
        if y >= m:
            break
        share = (m - y) / (others + m - y)
        step = (x + y + first) / (y + 1.0)
        # With others at least 0 no ratio of neighboring terms from here on exceeds this, so what is left of
        # the sum is at most a geometric series.
        steepest = share * max(step, 1.0)
        if others >= 0.0 and steepest < 1.0 and term * steepest < 1e-9 * total * (1.0 - steepest):
            beyond += term * steepest / (1.0 - steepest)
            break
        term *= share * step
        total += term
        y += 1
    for j in range(filled, -1, -1):
        if j < filled:
            beyond += tails[j]
        tails[j] = min(beyond * (1.0 + 1e-9), 1.0)
    return filled + 1


@jit
def point_tails(n: int, m: int, weight: float, total: float, c: float) -> tuple[float, float, float]:
    """Tails of one support point: without workers; and with x ≥ 1 workers the worst per worker, and the worst."""
    empty = upper_tail(c * weight, n, m, 0, weight, total - weight)
    per_worker, per_point = 0.0, 0.0
    x = 1
    while x <= n and c * (weight + x - 1) < m:
        tail = upper_tail(c * (weight + x - 1), n, m, x, weight, total - weight)
        per_worker = max(per_worker, tail / x)
        per_point = max(per_point, tail)
        x += 1
    return empty, per_worker, per_point


@jit
def raised_total(weight: int, sorted_base: Ints, suffix_sum: Ints) -> tuple[int, int]:
    """Sum of max(weight, base) over the support points, and the number of points raised to `weight`."""
    n_raised = np.searchsorted(sorted_base, weight, side="right")
    return n_raised * weight + suffix_sum[n_raised], n_raised  # type: ignore[return-value]  # NumPy types a whole number as one of its own


@jit
def sort_tracts(support_ptr: Ints, base_weight: Ints, sorted_base: Ints, suffix_sum: Ints) -> None:
    """Sort the weights of each tract; `suffix_sum` gets one entry more per tract, a closing 0."""
    for t in range(support_ptr.shape[0] - 1):
        low, high = support_ptr[t], support_ptr[t + 1]
        sorted_base[low:high] = np.sort(base_weight[low:high])
        suffix_sum[high + t] = 0
        for i in range(high - 1, low - 1, -1):
            suffix_sum[i + t] = suffix_sum[i + t + 1] + sorted_base[i]


@jit
def total_classes(
    support_ptr: Ints,
    class_tract: Ints,
    sorted_base: Ints,
    suffix_sum: Ints,
    min_weight: Ints,
    least: Ints,
    total: Ints,
) -> None:
    """Fill the least and the summed weight that each class really uses."""
    for j in range(class_tract.shape[0]):
        t = class_tract[j]
        low, high = support_ptr[t], support_ptr[t + 1]
        weights = sorted_base[low:high]
        least[j] = max(min_weight[j], weights[0])
        total[j], _ = raised_total(min_weight[j], weights, suffix_sum[low + t : high + t + 1])


@jit
def direct_bound(
    n: int, m: int, weight: int, sorted_base: Ints, suffix_sum: Ints, c: float, limit: float
) -> float:
    """Union bound on the failure probability of the unpruned mechanism with weights max(weight, base).

    An output fails only if some m_i > c (alpha_i + max(n_i - 1, 0)). Summed over the points of any table with
    n workers that is at most sum_i g_i(0) plus the smaller of n max g_i(x)/x (no more than n workers) and
    k max g_i(x) (no more than k points), x ≥ 1. Stops once past `limit`.
    """
    k = sorted_base.shape[0]
    units, n_raised = raised_total(weight, sorted_base, suffix_sum)
    total = units / WEIGHT_UNITS
    empty, per_worker, per_point = 0.0, 0.0, 0.0
    if n_raised > 0:
        tail, per_worker, per_point = point_tails(n, m, weight / WEIGHT_UNITS, total, c)
        empty = n_raised * tail
    for i in range(n_raised, k):
        if empty + min(n * per_worker, k * per_point) > limit:
            break
        tail, worker, point = point_tails(n, m, sorted_base[i] / WEIGHT_UNITS, total, c)
        empty += tail
        per_worker = max(per_worker, worker)
        per_point = max(per_point, point)
    return float(min((empty + min(n * per_worker, k * per_point)) * (1.0 + 1e-9), 1.0))


@jit
def log_theorem_factor(k: int, c: float) -> float:
    """Log of 2 k e^epsilon / (e^epsilon - 2), which turns the reference 0-sample into delta; rounded up."""
    return math.log(2.0 * k * (c + 1.0) / (c - 1.0)) + 1e-12


@jit
def theorem_4_4_bound(n: int, k: int, a1: float, total: float, c: float) -> float:
    """Upper bound on delta by P08 Theorem 4.4: rho 2 k e^epsilon / (e^epsilon - 2), with m = n."""
    log_rho, error, _ = log_reference_zero_sample(n, n, a1, total - a1, c)
    log_bound = log_rho + error + log_theorem_factor(k, c)
    if not log_bound < 0.0:
        return 1.0
    return math.exp(log_bound)


@jit
def class_bound(n: int, weight: int, sorted_base: Ints, suffix_sum: Ints, c: float, delta: float) -> float:
    """Delta certified by Theorem 4.4 for weights max(weight, base), never below the direct bound."""
    a1 = max(weight, sorted_base[0]) / WEIGHT_UNITS
    total = raised_total(weight, sorted_base, suffix_sum)[0] / WEIGHT_UNITS
    bound = theorem_4_4_bound(n, sorted_base.shape[0], a1, total, c)
    if bound > delta:
        return bound
    return max(bound, direct_bound(n, n, weight, sorted_base, suffix_sum, c, delta))


@jit
def edges_hold(
    n: int,
    weight: int,
    probes: Ints,
    n_probes: int,
    sorted_base: Ints,
    suffix_sum: Ints,
    c: float,
    log_limit: float,
) -> bool:
    """Whether the probabilities at f(x) are small enough for the x in `probes`."""
    a1 = max(weight, sorted_base[0]) / WEIGHT_UNITS
    a2 = raised_total(weight, sorted_base, suffix_sum)[0] / WEIGHT_UNITS - a1
    for j in range(n_probes):
        x = probes[j]
        if n - x - 1.0 + a2 < 0.0 and c * (a1 + max(x - 1, 0)) < n:
            return False  # f(x) lies before the mode, where the theorem's tail argument does not hold
        value, error = log_edge(n, n, x, a1, a2, c)
        if not value + error <= log_limit:
            return False
    return True


@jit
def worst_edge(
    n: int, weight: int, sorted_base: Ints, suffix_sum: Ints, c: float, log_limit: float
) -> tuple[bool, int]:
    """Whether the reference 0-sample is small enough, and the x that attains it."""
    a1 = max(weight, sorted_base[0]) / WEIGHT_UNITS
    total = raised_total(weight, sorted_base, suffix_sum)[0] / WEIGHT_UNITS
    log_rho, error, x = log_reference_zero_sample(n, n, a1, total - a1, c)
    return log_rho + error <= log_limit, x


@jit
def _search_by_edges(
    n: int, ceiling: int, sorted_base: Ints, suffix_sum: Ints, c: float, log_limit: float
) -> int:
    """Least weight below `ceiling` whose reference 0-sample is small enough, or `ceiling` if none is found.

    Bisection over the x that have proved worst so far; the weight found is then tried with every x, and a
    new worst x joins the probes.
    """
    holds, x = worst_edge(n, ceiling - 1, sorted_base, suffix_sum, c, log_limit)
    if not holds:
        return ceiling
    probes = np.empty(8, dtype=np.int64)
    low = 0
    for n_probes in range(1, 9):
        probes[n_probes - 1] = x
        high = ceiling - 1
        while high - low > 1:
            middle = (low + high) // 2
            if edges_hold(n, middle, probes, n_probes, sorted_base, suffix_sum, c, log_limit):
                high = middle
            else:
                low = middle
        holds, x = worst_edge(n, high, sorted_base, suffix_sum, c, log_limit)
        if holds:
            return high
        low = high
    return ceiling - 1


@jit
def search_weight(n: int, ceiling: int, sorted_base: Ints, suffix_sum: Ints, c: float, delta: float) -> int:
    """Least weight below `ceiling` that Theorem 4.4 certifies, or `ceiling` if it certifies none.

    Where the direct bound refuses what the theorem allows, bisection over both goes on above it. If feasibility is
    not monotone a smaller weight can be missed, but the one returned has been evaluated in full and holds.
    """
    k = sorted_base.shape[0]
    if ceiling < 2 or k < 2:
        return ceiling
    log_limit = math.log(delta) - log_theorem_factor(k, c)
    low, high = _search_by_edges(n, ceiling, sorted_base, suffix_sum, c, log_limit), ceiling - 1
    if low == ceiling or class_bound(n, low, sorted_base, suffix_sum, c, delta) <= delta:
        return low
    if class_bound(n, high, sorted_base, suffix_sum, c, delta) > delta:
        return ceiling
    while high - low > 1:
        middle = (low + high) // 2
        if class_bound(n, middle, sorted_base, suffix_sum, c, delta) <= delta:
            high = middle
        else:
            low = middle
    return high


@jit
def search_classes(
    support_ptr: Ints,
    class_tract: Ints,
    class_count: Ints,
    sorted_base: Ints,
    suffix_sum: Ints,
    ceiling: Ints,
    c: float,
    delta: float,
    min_weight: Ints,
) -> None:
    """Fill `min_weight` with the least certified weight of each class (m = n), at most `ceiling`.

    `suffix_sum` has one entry more per tract than `sorted_base`: tract t starts at support_ptr[t] + t.
    """
    for j in range(class_tract.shape[0]):
        t = class_tract[j]
        low, high = support_ptr[t], support_ptr[t + 1]
        min_weight[j] = search_weight(
            class_count[j], ceiling[j], sorted_base[low:high], suffix_sum[low + t : high + t + 1], c, delta
        )


@jit
def bound_classes(
    support_ptr: Ints,
    class_tract: Ints,
    class_count: Ints,
    sorted_base: Ints,
    suffix_sum: Ints,
    min_weight: Ints,
    c: float,
    delta: float,
    bound: Floats,
) -> None:
    """Fill `bound` with the delta that Theorem 4.4 certifies for the weights of each class (m = n)."""
    for j in range(class_tract.shape[0]):
        t = class_tract[j]
        low, high = support_ptr[t], support_ptr[t + 1]
        bound[j] = class_bound(
            class_count[j],
            min_weight[j],
            sorted_base[low:high],
            suffix_sum[low + t : high + t + 1],
            c,
            delta,
        )
