"""Normalizers Z(x) of the priced exponential mechanism, for all tables of up to 30 workers up to order.

Z(x) is the coefficient of t^n in the product of F_a(t) / (1 - t) over the k points, a the workers of each point, with

    F_0(t) = 1 - (1 - c) t,    F_1(t) = c t + theta (1 - t),    F_{a+1}(t) = theta F_a(t) + c (1 - theta) t^{a+1}.

For a >= 1 and theta <= c all coefficients are at least 0. Those of (F_0 / (1 - t))^{k - s} / (1 - t)^s are, too. So
every number is a sum of products of numbers of at least 0, and rounding changes it by a bounded part of itself. Only
sums, products and quotients of floating-point numbers are used, in a fixed order, so every machine finds the same.

Symbols: n workers, k points, s occupied points, c the price, growth = e^epsilon.

Source: docs/theory/method.md, section 7d.
"""

from typing import NamedTuple

import numpy as np

from engine.jit import lean_jit
from engine.kernels.arrays import Floats, Ints

__all__ = [
    "PRICE_UNITS",
    "Partitions",
    "RatioSpace",
    "apart_moves",
    "plain_inverse",
    "plain_ratio",
    "search_price",
    "worst_ratio",
]

PRICE_UNITS = 1 << 12
"""The price is a whole number of 2^-12, at most 1."""

_THETA_STEPS = 3
_HALVINGS = 40


class Partitions(NamedTuple):
    """All partitions of 0, 1, ..., N, parts in falling order: those of n are numbers first[n] to first[n + 1].

    Each is its ``parent`` with one more part, the ``last`` and least; ``parts`` counts them. ``joined`` lists
    the partitions that one more worker makes of each: numbers joined_ptr[one] to joined_ptr[one + 1].
    """

    first: Ints
    parent: Ints
    last: Ints
    parts: Ints
    joined_ptr: Ints
    joined: Ints


class RatioSpace(NamedTuple):
    """Scratch space for N workers: normalizers [P] and polynomials [P, N + 1] of all partitions, and others.

    ``empties``, ``factors`` and ``singly`` have N + 1 rows of N + 1 coefficients, ``rows`` has 3.
    """

    totals: Floats
    products: Floats
    empties: Floats
    factors: Floats
    singly: Floats
    rows: Floats


@lean_jit
def _set_factors(n: int, theta: float, price: float, factors: Floats) -> None:
    """Coefficients of F_1, ..., F_n, one row each."""
    factors[1, 0], factors[1, 1] = theta, price - theta
    for a in range(2, n + 1):
        for power in range(a):
            factors[a, power] = theta * factors[a - 1, power]
        factors[a, a] = price * (1.0 - theta)


@lean_jit
def _multiply(first: Floats, second: Floats, n: int, product: Floats) -> None:
    """Coefficients up to t^n of a product of polynomials."""
    for power in range(n + 1):
        total = 0.0
        for left in range(power + 1):
            total += first[left] * second[power - left]
        product[power] = total


@lean_jit
def _copy(values: Floats, n: int, target: Floats) -> None:
    for at in range(n + 1):
        target[at] = values[at]


@lean_jit
def _set_empties(n: int, k: int, price: float, space: RatioSpace) -> None:
    """Row s: coefficients up to t^n of (F_0 / (1 - t))^(k - s) / (1 - t)^s, for s from 0 to min(n, k)."""
    most, empties = min(n, k), space.empties
    square, power, longer = space.rows[0], space.rows[1], space.rows[2]
    for at in range(n + 1):
        square[at], power[at] = price if at > 0 else 1.0, 0.0 if at > 0 else 1.0
    left = k - most
    while left > 0:
        if left & 1:
            _multiply(power, square, n, longer)
            _copy(longer, n, power)
        left >>= 1
        if left > 0:
            _multiply(square, square, n, longer)
            _copy(longer, n, square)
    for s in range(most, -1, -1):
        _copy(power, n, empties[s])
        for _ in range(s):
            for at in range(1, n + 1):
                empties[s, at] += empties[s, at - 1]
        before = 0.0
        for at in range(n + 1):
            here = power[at]
            power[at] += price * before
            before += here


@lean_jit
def _set_products(n: int, k: int, factors: Floats, partitions: Partitions, products: Floats) -> None:
    """Coefficients of the product of F over the parts, for all partitions of up to n into at most k parts."""
    products[0] = 0.0
    products[0, 0] = 1.0
    size = 0
    for partition in range(1, partitions.first[n + 1]):
        while partition >= partitions.first[size + 1]:
            size += 1
        if partitions.parts[partition] > k:
            continue
        last = partitions.last[partition]
        parent = products[partitions.parent[partition]]
        products[partition] = 0.0
        for power in range(size - last + 1):
            for more in range(last + 1):
                products[partition, power + more] += parent[power] * factors[last, more]


@lean_jit
def worst_ratio(
    n: int, k: int, theta: float, price: float, partitions: Partitions, space: RatioSpace
) -> float:
    """Largest Z(x) / Z(x') over all neighbors of n workers: n - 1 of them are the same in both tables."""
    _set_factors(n, theta, price, space.factors)
    _set_empties(n, k, price, space)
    _set_products(n, k, space.factors, partitions, space.products)
    for partition in range(partitions.first[n], partitions.first[n + 1]):
        s = partitions.parts[partition]
        total = 0.0
        if s <= k:
            for power in range(n + 1):
                total += space.products[partition, power] * space.empties[s, n - power]
        space.totals[partition] = total
    worst = 1.0
    for partition in range(partitions.first[n - 1], partitions.first[n]):
        least, most = np.inf, 0.0
        for place in range(partitions.joined_ptr[partition], partitions.joined_ptr[partition + 1]):
            joined = partitions.joined[place]
            if partitions.parts[joined] <= k:
                least, most = min(least, space.totals[joined]), max(most, space.totals[joined])
        if most > worst * least:
            worst = most / least
    return worst


@lean_jit
def _table_total(n: int, fuller: int, singles: int, space: RatioSpace) -> float:
    """Z of a table with one fuller point and single workers; row s of ``space.singly`` is F_1 to the power s."""
    total = 0.0
    for power in range(singles + 1):
        for more in range(fuller + 1):
            total += (
                space.singly[singles, power]
                * space.factors[fuller, more]
                * space.empties[singles + 1, n - power - more]
            )
    return total


@lean_jit
def _two_ratios(n: int, k: int, theta: float, price: float, space: RatioSpace) -> tuple[float, float]:
    """Ratio of Z where the last worker joins all others, and the largest where one leaves a fuller point for a new one.

    The first grows with the price, the second falls.
    """
    _set_factors(n, theta, price, space.factors)
    singly = space.singly
    singly[0, 0] = 1.0
    for s in range(1, n + 1):
        singly[s] = 0.0
        for power in range(s):
            singly[s, power] += singly[s - 1, power] * theta
            singly[s, power + 1] += singly[s - 1, power] * (price - theta)
    together = _table_total(n, n, 0, space)
    after, joins, leaves = together, 1.0, 1.0
    for fuller in range(n - 1, max(n - k, 0), -1):
        here = _table_total(n, fuller, n - fuller, space)
        if fuller == n - 1:
            joins = here / together
        leaves = max(leaves, after / here)
        after = here
    return joins, leaves


@lean_jit
def search_price(n: int, k: int, growth: float, space: RatioSpace) -> tuple[int, float]:
    """A price in 2^-12 at which theta is about the least, and about this theta; a price of 0 if no price fits.

    By the two ratios of :func:`_two_ratios`, which are nearly always the worst. Nothing rests on this search:
    :func:`worst_ratio` certifies what it finds.
    """
    theta = 1.0 / growth
    low, high = 0, PRICE_UNITS
    while high - low > 1:
        middle = (low + high) >> 1
        price = middle / PRICE_UNITS
        _set_empties(n, k, price, space)
        trial_theta = theta
        joins, leaves = 1.0, 1.0
        for _ in range(_THETA_STEPS):
            if price < 2.0 * trial_theta:
                break
            joins, leaves = _two_ratios(n, k, trial_theta, price, space)
            trial_theta = max(joins, leaves) / growth
        if price < 2.0 * trial_theta or joins < leaves:
            low = middle
        else:
            high, theta = middle, trial_theta
    price = high / PRICE_UNITS
    if high == PRICE_UNITS or price < 2.0 * theta:
        return 0, theta
    return high, _least_theta(n, k, theta, price, growth, space)


@lean_jit
def _least_theta(n: int, k: int, theta: float, price: float, growth: float, space: RatioSpace) -> float:
    """About the theta at which the larger of the two ratios is theta e^epsilon, by secants."""
    _set_empties(n, k, price, space)
    joins, leaves = _two_ratios(n, k, theta, price, space)
    before, excess_before = theta, max(joins, leaves) - growth * theta
    here = before + excess_before / growth
    for _ in range(2 * _THETA_STEPS):
        if not 0.0 < here <= price / 2.0:
            break
        joins, leaves = _two_ratios(n, k, here, price, space)
        excess = max(joins, leaves) - growth * here
        if excess == excess_before:
            break
        step = excess * (here - before) / (excess - excess_before)
        before, excess_before = here, excess
        here -= step
    return here


@lean_jit
def plain_ratio(n: int, k: int, theta: float) -> float:
    """Largest Z(x) / Z(x') over neighbors of n workers over k points without a price.

    1 + (1 - theta) (1 - (1 + w_n) / W), with W the sum of w_t = theta^t C(k - 2 + t, t) for t from 0 to n. 1 / W and
    w_n / W are each at most 1, and of numbers of at least 0, rounded at most 5 n + 4 times.
    """
    term = total = times = (
        1.0  # w_t, their sum, and the sum divided by w_t, which stays finite where w_t does not
    )
    for moved in range(1, n + 1):
        growth = (k - 2.0 + moved) * theta / moved
        term *= growth
        total += term
        times = 1.0 + times / growth
    return 1.0 + (1.0 - theta) * max(0.0, 1.0 - (1.0 / total + 1.0 / times))


@lean_jit
def plain_inverse(n: int, k: int, growth: float) -> float:
    """About the 1 / theta at which neighbors of n workers over k points differ by ``growth`` without a price.

    The ratio of their chances grows with 1 / theta, and lies between it and twice it less 1.
    """
    low, high = (growth + 1.0) / 2.0, growth
    for _ in range(_HALVINGS):
        inverse = (low + high) / 2.0
        if inverse * plain_ratio(n, k, 1.0 / inverse) > growth:
            high = inverse
        else:
            low = inverse
    return low


@lean_jit
def apart_moves(n: int, k: int, theta: float, price: float) -> float:
    """Expected number of workers who move if all n live in different points, n at most k.

    theta^J C(n, J) sum over h of C(k - n, h) C(n - 1, J - h) c^(h - J) is the weight of all tables J workers away.
    """
    total = mean = 0.0
    removed = 1.0
    for moved in range(n + 1):
        ways, fresh = 0.0, 1.0
        for h in range(min(moved, k - n) + 1):
            old = 1.0
            for step in range(moved - h):
                old *= (n - 1.0 - step) / (step + 1.0) / price
            ways += fresh * old
            fresh *= (k - n - h) / (h + 1.0)
        total += removed * ways
        mean += moved * removed * ways
        removed *= theta * (n - moved) / (moved + 1.0)
    return mean / total
