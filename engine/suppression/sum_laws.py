"""Laws of sums of yes-or-no values with the share of each type in them, between certified bounds.

A law holds the weights of sums, and for each type of people the weights times the share of the type's people who have
the value. Sums of independent people are convolutions; the share of each type needs the convolution of all others,
which is built by halves: nothing is divided by or subtracted.

Every number is a sum of products of positive numbers. What is cut off at both ends is bounded, and the roundings of
each number are counted (`engine.suppression.kernels.two_rows`).

Source: docs/theory/suppressed-tables.md, "Both totals".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from engine.arrays import FloatArray
from engine.suppression.kernels import poisson_binomial as binomials
from engine.suppression.kernels import two_rows as kernels
from engine.suppression.poisson_binomial import Types

__all__ = ["EMPTY", "SumLaw", "allow_any_sum", "law_given_sum", "law_of_sum", "law_of_types"]

_DEVIATIONS = 20.0
_SPARE = 240


class _Window(NamedTuple):
    """Weights of sums from ``start`` on, times two to the power of ``exponent``; the rest as in :class:`SumLaw`."""

    start: int
    weights: FloatArray
    exponent: int
    left_out: float
    roundings: float

    @property
    def total(self) -> float:
        return binomials.sum_in_order(self.weights, self.weights.size)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumLaw:
    """Weights of sums, and the share of each type's people who have the value.

    Attributes
    ----------
    start : int
        Sum of the first weight.
    weights : float64[L]
        Weights of the sums from ``start`` on, all multiplied by one unknown factor.
    parts : float64[L, K]
        Each weight times the share of each type's people who have the value.
    left_out, parts_left_out : float
        Bounds of the sum of all that is missing from the weights, and from any type's parts.
    roundings : float
        No weight and no part has more roundings.
    """

    start: int
    weights: FloatArray
    parts: FloatArray
    left_out: float = 0.0
    parts_left_out: float = 0.0
    roundings: float = 0.0

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return binomials.sum_in_order(self.weights, self.weights.size)

    @property
    def highest(self) -> float:
        """Upper bound of every weight."""
        return (float(self.weights.max()) + self.left_out) * binomials.INFLATE

    def drop_parts(self) -> SumLaw:
        """The same law, where the shares are of no interest."""
        return SumLaw(
            start=self.start,
            weights=self.weights,
            parts=np.empty((self.weights.size, 0)),
            left_out=self.left_out,
            roundings=self.roundings,
        )

    def for_kernel(self) -> kernels.Law:
        """The arrays that kernels take."""
        return kernels.Law(self.start, self.weights, self.parts)


EMPTY = SumLaw(start=0, weights=np.ones(1), parts=np.empty((1, 0)))
"""The sum over nobody."""


def allow_any_sum(n_sums: int) -> SumLaw:
    """A weight of one for each of some sums, from 0 on: what is known of a sum about which nothing matters."""
    return SumLaw(start=0, weights=np.ones(n_sums), parts=np.empty((n_sums, 0)))


def law_of_types(types: Types, tilt: float, floor: float) -> SumLaw:
    """The sum over some types of people, whose odds are multiplied by ``tilt``."""
    return law_of_sum(
        [
            _law_of_type(people, odds * tilt, floor)
            for people, odds in zip(types.people, types.odds().tolist(), strict=True)
        ],
        floor,
    )


def _law_of_type(people: int, odds: float, floor: float) -> SumLaw:
    variance = people * odds / (1.0 + odds) ** 2
    side = min(int(_DEVIATIONS * math.sqrt(variance)) + _SPARE, people + 1)
    window = np.empty(2 * side + 2)
    start, kept, left_out, steps = binomials.binomial_window(people, odds, floor, window)
    weights = window[:kept].copy()
    shares = np.arange(start, start + kept, dtype=np.float64) / people
    return SumLaw(
        start=start,
        weights=weights,
        parts=(weights * shares)[:, None],
        left_out=left_out,
        parts_left_out=left_out,
        roundings=binomials.STEP_ROUNDINGS * steps + 2.0,
    )


def law_of_sum(laws: Sequence[SumLaw], floor: float) -> SumLaw:
    """The sum over independent sets of people."""
    if len(laws) <= 1:
        return laws[0] if laws else EMPTY
    windows = [_Window(law.start, law.weights, 0, law.left_out, law.roundings) for law in laws]
    whole, others = _products(windows, floor)
    parts, left_out, roundings = [], 0.0, whole.roundings
    for law, rest in zip(laws, others, strict=True):
        if not law.parts.shape[1]:
            continue
        scale = math.ldexp(1.0, rest.exponent - whole.exponent)
        parts.append(_parts_of(law, rest, whole) * scale)
        missing = rest.left_out * (law.total + law.left_out) + rest.total * law.parts_left_out
        left_out = max(left_out, missing * scale * binomials.INFLATE)
        roundings = max(
            roundings, rest.roundings + law.roundings + min(rest.weights.size, law.weights.size) + 1.0
        )
    return SumLaw(
        start=whole.start,
        weights=whole.weights,
        parts=np.ascontiguousarray(np.hstack(parts)) if parts else np.empty((whole.weights.size, 0)),
        left_out=whole.left_out,
        parts_left_out=left_out + whole.left_out,
        roundings=roundings,
    )


def _parts_of(law: SumLaw, rest: _Window, whole: _Window) -> FloatArray:
    """Parts of the sum for the types of one law: those of the law, spread by the law of all others."""
    n_types = law.parts.shape[1]
    product = np.empty(whole.weights.size * n_types)
    first = whole.start - law.start - rest.start
    kernels.convolve_parts(rest.weights, law.parts.ravel(), n_types, first, product)
    return product.reshape(-1, n_types)


def _products(windows: list[_Window], floor: float) -> tuple[_Window, list[_Window]]:
    """The product of all windows, and for each the product of all others."""
    tree = _halves(windows, floor)
    others: list[_Window] = []
    _descend(tree, None, floor, others)
    return tree.whole, others


class _Half(NamedTuple):
    """The product of a run of windows, and of its two halves if it has more than one."""

    whole: _Window
    halves: tuple[_Half, _Half] | None


def _halves(windows: list[_Window], floor: float) -> _Half:
    if len(windows) == 1:
        return _Half(windows[0], None)
    middle = len(windows) // 2
    left, right = _halves(windows[:middle], floor), _halves(windows[middle:], floor)
    return _Half(_product(left.whole, right.whole, floor), (left, right))


def _descend(node: _Half, outside: _Window | None, floor: float, others: list[_Window]) -> None:
    """Append the product of all other windows for each window of a run, in order."""
    if node.halves is None:
        assert outside is not None, "a single window has no others"
        others.append(outside)
        return
    left, right = node.halves
    for half, sibling in ((left, right), (right, left)):
        beside = sibling.whole if outside is None else _product(outside, sibling.whole, floor)
        _descend(half, beside, floor, others)


def _product(first: _Window, second: _Window, floor: float) -> _Window:
    short, long = (first, second) if first.weights.size <= second.weights.size else (second, first)
    product = np.empty(short.weights.size + long.weights.size - 1)
    kernels.convolve(short.weights, long.weights, product)
    left_out = first.left_out * (second.total + second.left_out) + first.total * second.left_out
    return _middle(
        _Window(
            first.start + second.start,
            product,
            first.exponent + second.exponent,
            left_out * binomials.INFLATE,
            first.roundings + second.roundings + short.weights.size + 1.0,
        ),
        floor,
    )


def _middle(window: _Window, floor: float) -> _Window:
    """The weights that matter, scaled by a power of two."""
    weights = np.empty(window.weights.size)
    cut_places, kept, cut, scale = binomials.keep_middle(window.weights, weights.size, floor, weights)
    return _Window(
        window.start + cut_places,
        weights[:kept].copy(),
        window.exponent + 1 - math.frexp(scale)[1],
        (window.left_out + cut) * scale * binomials.INFLATE,
        window.roundings,
    )


def law_given_sum(first: SumLaw, second: SumLaw, both: int, floor: float) -> SumLaw:
    """The first of two independent sums, given their total."""
    least = max(first.start, both - second.start - second.weights.size + 1)
    stop = min(first.start + first.weights.size, both - second.start + 1)
    if stop <= least:
        n_types = first.parts.shape[1] + second.parts.shape[1]
        return SumLaw(start=least, weights=np.zeros(1), parts=np.zeros((1, n_types)), left_out=math.inf)
    of_first = slice(least - first.start, stop - first.start)
    of_second = slice(both - second.start - stop + 1, both - second.start - least + 1)
    first_weights, second_weights = first.weights[of_first], second.weights[of_second][::-1]
    middle = _middle(_Window(least, first_weights * second_weights, 0, 0.0, 0.0), floor)
    scale, cut_places = math.ldexp(1.0, -middle.exponent), middle.start - least
    parts = np.hstack(
        (
            first.parts[of_first] * second_weights[:, None],
            first_weights[:, None] * second.parts[of_second][::-1],
        )
    )
    left_out = first.left_out * second.highest + first.highest * second.left_out
    parts_left_out = (
        first.parts_left_out * second.highest
        + first.highest * second.parts_left_out
        + first.left_out * second.highest
        + first.highest * second.left_out
    )
    return SumLaw(
        start=middle.start,
        weights=middle.weights,
        parts=parts[cut_places : cut_places + middle.weights.size] * scale,
        left_out=middle.left_out + left_out * scale * binomials.INFLATE,
        parts_left_out=middle.left_out + parts_left_out * scale * binomials.INFLATE,
        roundings=first.roundings + second.roundings + 1.0,
    )
