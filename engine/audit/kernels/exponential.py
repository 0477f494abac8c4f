"""Likelihood ratios of the exponential mechanism, for an attacker who knows every other worker.

LR_i is theta^-[m_i > o_i] / Z(o + e_i), and Z depends on i through o_i alone. Z(x) is the constant term of the product
of h_a(t) over all k points, a the workers of each, with z = theta / t and the price c:

    h_a(t) = c (1 + z + ... + z^(a - 1)) + z^a + c t / (1 - t),    h_(a + 1) = h_a + (c - 1 + z) z^a.

The powers of 1 / t are workers whom a point loses, those of t workers whom it gains. The constant term is the mean of
the product over a circle |t| = v, by the trapezoidal rule. At the saddle point v nothing cancels, the other terms that
the rule adds are negligible, and so is most of the circle. Points with equally many workers have equal factors; where
|z| is small, all points with more than a few workers have nearly the same. So thousands of workers have few factors.

Symbols: as in `engine.audit.kernels.beliefs` and `engine.mechanisms.kernels.normalizers`. A class is the points with
equally many real workers of the cell, the victim included; the first class has none.

Source: docs/theory/method.md, sections 7d and 7h.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.audit.kernels.beliefs import (
    Cells,
    CellSpace,
    PriorBeliefs,
    Rest,
    believe,
    gather,
    hand_out,
    rest_of,
)
from engine.jit import lean_jit
from engine.kernels.arrays import Floats, Indices, Ints
from engine.kernels.sorting import sort_values
from engine.mechanisms.kernels.exponential import Thetas
from engine.mechanisms.kernels.normalizers import PRICE_UNITS

__all__ = ["ClassSpace", "exponential_beliefs_range"]

Complexes = npt.NDArray[np.complex128]

_STEPS = 45
_LARGEST_LOG_ODDS = 40.0
_NEGLIGIBLE = 1e-19


class ClassSpace(NamedTuple):
    """Scratch space for D classes and k slots.

    Workers and number of points of each class; class by slot. Then h_a, h_(a + 1) and h_(a - 1) of each class, at the
    real point of the circle (rows of ``real`` [3, D]) and relative to that at another (``turned`` [3, D]), their
    products before and after each class [2, D + 1], and ln Z by the class that the victim leaves and enters [D, D].
    """

    workers: Ints
    times: Ints
    of_slot: Indices
    real: Floats
    turned: Complexes
    products: Complexes
    log_z: Floats


class _Law(NamedTuple):
    """Theta, the price, and the radius v of the circle."""

    theta: float
    price: float
    radius: float


@lean_jit
def _power(base: complex, exponent: int) -> complex:
    power = 1.0 + 0.0j
    while exponent > 0:
        if exponent & 1:
            power *= base
        base *= base
        exponent >>= 1
    return power


@lean_jit
def _factor(count: int, t: complex, law: _Law) -> complex:
    """h of a point with so many workers, divided by |z|^count if |z| > 1."""
    z = law.theta / t
    w = min(law.radius / law.theta, 1.0)
    y = z * w
    # y^m, w^m and the sum of y^r w^(m - 1 - r) over r < m, for m = 0 and then by the digits of the count.
    y_power, w_power, total = 1.0 + 0.0j, 1.0, 0.0 + 0.0j
    digit = 1
    while digit <= count:
        digit <<= 1
    while digit > 1:
        digit >>= 1
        total *= y_power + w_power
        y_power *= y_power
        w_power *= w_power
        if count & digit:
            total = y * total + w_power
            y_power *= y
            w_power *= w
    empty = 1.0 + law.price * t / (1.0 - t)
    return empty * w_power + (law.price - 1.0 + z) * w * total


@lean_jit
def _drift(count: int, law: _Law) -> tuple[float, float]:
    """Mean and variance of the workers whom a point with so many gains, less those whom it loses, at t = v."""
    v, price = law.radius, law.price
    z = law.theta / v
    gains = price * v / (1.0 - v)
    s_0, s_1, s_2 = gains, gains / (1.0 - v), gains * (1.0 + v) / (1.0 - v) ** 2
    if z <= 1.0:
        weight, lost = 1.0, 0
        while lost < count and weight > _NEGLIGIBLE:
            s_0 += price * weight
            s_1 -= price * weight * lost
            s_2 += price * weight * lost * lost
            weight *= z
            lost += 1
        if lost == count:
            s_0 += weight
            s_1 -= weight * lost
            s_2 += weight * lost * lost
    else:
        scale = (1.0 / z) ** count
        s_0, s_1, s_2 = s_0 * scale, s_1 * scale, s_2 * scale
        weight, lost = 1.0, count
        while lost >= 0 and weight > _NEGLIGIBLE:
            here = weight if lost == count else price * weight
            s_0 += here
            s_1 -= here * lost
            s_2 += here * lost * lost
            weight /= z
            lost -= 1
    mean = s_1 / s_0
    return mean, s_2 / s_0 - mean * mean


@lean_jit
def _find_saddle(theta: float, price: float, n_classes: int, classes: ClassSpace) -> tuple[_Law, float]:
    """The circle on which as many workers are gained as lost on average, and the variance of the difference."""
    low, high = -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS
    law, variance = _Law(theta, price, 0.5), 0.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        law = _Law(theta, price, 1.0 / (1.0 + np.exp(-middle)))
        drift = variance = 0.0
        for class_index in range(n_classes):
            if classes.times[class_index] > 0:
                mean, spread = _drift(classes.workers[class_index], law)
                drift += classes.times[class_index] * mean
                variance += classes.times[class_index] * spread
        if drift < 0.0:
            low = middle
        else:
            high = middle
    return law, variance


@lean_jit
def _set_classes(n_slots: int, n_points: int, space: CellSpace, classes: ClassSpace) -> int:
    """Classes by rising numbers of workers, the class of each slot; return how many classes there are."""
    n_classes = 1
    classes.workers[0], classes.times[0] = 0, n_points
    for slot in range(n_slots):
        here = space.real[space.point[slot]]
        is_new = True
        for class_index in range(n_classes):
            if classes.workers[class_index] == here:
                is_new = False
        if is_new:
            classes.workers[n_classes] = here
            n_classes += 1
    sort_values(classes.workers[:n_classes])
    for class_index in range(1, n_classes):
        classes.times[class_index] = 0
    for slot in range(n_slots):
        here = space.real[space.point[slot]]
        class_index = np.searchsorted(classes.workers[:n_classes], here)
        classes.of_slot[slot] = class_index
        if class_index > 0:
            classes.times[class_index] += 1
            classes.times[0] -= 1
    return n_classes


@lean_jit
def _merge_full(law: _Law, n_slots: int, n_classes: int, classes: ClassSpace) -> int:
    """Give all points so full that |z|^a is negligible one class; return the number of classes."""
    z = law.theta / law.radius
    if z >= 1.0:
        return n_classes
    most = int(np.log(_NEGLIGIBLE) / np.log(z)) + 2
    kept = 1
    while kept < n_classes and classes.workers[kept] < most:
        kept += 1
    if kept >= n_classes - 1:
        return n_classes
    for class_index in range(kept + 1, n_classes):
        classes.times[kept] += classes.times[class_index]
    for slot in range(n_slots):
        classes.of_slot[slot] = min(classes.of_slot[slot], kept)
    return kept + 1


@lean_jit
def _turn(t: complex, law: _Law, n_classes: int, classes: ClassSpace) -> None:
    """Set the factors of all classes at a point of the circle, relative to those at its real point."""
    for class_index in range(n_classes):
        count = classes.workers[class_index]
        classes.turned[0, class_index] = _factor(count, t, law) / classes.real[0, class_index]
        classes.turned[1, class_index] = _factor(count + 1, t, law) / classes.real[1, class_index]
        if class_index > 0:
            classes.turned[2, class_index] = _factor(count - 1, t, law) / classes.real[2, class_index]


@lean_jit
def _add_products(weight: float, n_classes: int, classes: ClassSpace) -> None:
    """Add the products at one point of the circle, for every class that the victim leaves and enters."""
    here, up, down = classes.turned[0], classes.turned[1], classes.turned[2]
    before, after = classes.products[0], classes.products[1]
    for left in range(1, n_classes):
        after[n_classes] = 1.0 + 0.0j
        before[0] = 1.0 + 0.0j
        for place in range(n_classes):
            mirror = n_classes - 1 - place
            for side, at in ((0, place), (1, mirror)):
                factor = _power(here[at], classes.times[at] - (1 if at == left else 0))
                if at == left:
                    factor *= down[at]
                if side == 0:
                    before[at + 1] = before[at] * factor
                else:
                    after[at] = after[at + 1] * factor
        for entered in range(n_classes):
            others = classes.times[entered] - (1 if entered == left else 0)
            if others > 0:
                factor = _power(here[entered], others - 1) * up[entered]
                if entered == left:
                    factor *= down[entered]
                classes.log_z[left, entered] += weight * (before[entered] * factor * after[entered + 1]).real


@lean_jit
def _set_normalizers(theta: float, price: float, n_slots: int, n_classes: int, classes: ClassSpace) -> int:
    """Fill ``classes.log_z`` relative to ln Z of the real table; return the number of classes that are left.

    A victim who leaves class a and returns has ln Z of the real table; the first row holds it.
    """
    law, variance = _find_saddle(theta, price, n_classes, classes)
    n_classes = _merge_full(law, n_slots, n_classes, classes)
    radius = complex(law.radius, 0.0)
    for class_index in range(n_classes):
        count = classes.workers[class_index]
        classes.real[0, class_index] = _factor(count, radius, law).real
        classes.real[1, class_index] = _factor(count + 1, radius, law).real
        if class_index > 0:
            classes.real[2, class_index] = _factor(count - 1, radius, law).real
        for entered_index in range(n_classes):
            classes.log_z[class_index, entered_index] = 0.0
    half = int(15.0 * np.sqrt(variance)) + 20
    for step in range(half + 1):
        angle = 2.0 * np.pi * step / (2 * half + 1)
        _turn(law.radius * complex(np.cos(angle), np.sin(angle)), law, n_classes, classes)
        empty = _power(classes.turned[0, 0], classes.times[0])
        if abs(empty) < _NEGLIGIBLE:
            break
        weight = 1.0 if step == 0 else 2.0
        product = empty
        for class_index in range(1, n_classes):
            product *= _power(classes.turned[0, class_index], classes.times[class_index])
        classes.log_z[0, 0] += weight * product.real
        _add_products(weight, n_classes, classes)
    real = classes.real
    whole = np.log(classes.log_z[0, 0])
    for left in range(1, n_classes):
        for entered in range(n_classes):
            if classes.times[entered] > (1 if entered == left else 0):
                classes.log_z[left, entered] = (
                    np.log(classes.log_z[left, entered])
                    - whole
                    + np.log(real[2, left] / real[0, left])
                    + np.log(real[1, entered] / real[0, entered])
                )
    return n_classes


@lean_jit
def exponential_beliefs_range(
    bounds: tuple[int, int],
    cells: Cells,
    prior: PriorBeliefs,
    thetas: Thetas,
    space: CellSpace,
    classes: ClassSpace,
    predicted: Floats,
) -> int:
    """Fill ``predicted`` [N, 7] for the workers of cells ``bounds``; return -1."""
    for cell in range(bounds[0], bounds[1]):
        n_slots = gather(cells, cell, space)
        tract = cells.tract[cell]
        n_points = cells.support_ptr[tract + 1] - cells.support_ptr[tract]
        theta = thetas.numerator[cell] / thetas.denominator[cell]
        price = thetas.price[cell] / PRICE_UNITS
        if cells.workers.ptr[cell] < cells.workers.ptr[cell + 1]:
            n_classes = _set_classes(n_slots, n_points, space, classes)
            _set_normalizers(theta, price, n_slots, n_classes, classes)
        plain = rest_of(cells, cell, prior, space)
        for victim in range(n_slots):
            if space.real[space.point[victim]] == 0:
                continue
            log_z = classes.log_z[classes.of_slot[victim]]
            for slot in range(n_slots):
                point = space.point[slot]
                others = space.real[point] - (1 if slot == victim else 0)
                ratio = 0.0 if slot == victim else -log_z[classes.of_slot[slot]]
                if space.made[point] > others:
                    ratio -= np.log(theta)
                space.log_ratio[slot] = ratio
            at = -log_z[0] if plain.point >= 0 else 0.0
            rest = Rest(
                plain.prior,
                plain.point,
                plain.best,
                plain.prior,
                plain.point,
                plain.best,
                plain.best,
                at,
                at,
                at,
            )
            believe(cells, cell, prior, victim, n_slots, rest, space)
        hand_out(cells, cell, n_slots, space, predicted)
    return -1
