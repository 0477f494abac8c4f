"""Which units of a public hierarchy become the rows of a table: splits that are likely to be safe (SafeToSplit).

A split replaces a unit by its children, such as a state by its counties, and releases the children's sums. Where a unit
can be split is public. Whether it is split depends on the chance that the new sums are unsafe, given those released
before, and never on the new sums. So a split that is not made says nothing.

The paper cuts an interval at the "median probability mass" and does not say of what. Here it is the median of public
people; a tie goes to the lower side (:func:`halved`). A unit that cannot be split safely stays as it is.

Source: Nabar and Mishra, Algorithm 2; docs/theory/suppressed-tables.md, "Rows that can be published".
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.suppression.poisson_binomial import Types
from engine.suppression.rates import Rates
from engine.suppression.safe_sums import safe_sums, unsafe_sum_bound
from engine.suppression.sum_tree import SumTree, check_tree_values
from engine.suppression.suppressed import check_people, check_promise

__all__ = ["Binning", "bin_rows", "halved"]


class Binning(NamedTuple):
    """The rows found.

    Attributes
    ----------
    rows : tuple of int
        Nodes of the hierarchy that are rows of the table, in order; empty if not even the whole is safe to release.
    decisions : int
        Splits that were tried, and the whole if it was tried.
    breach : int
        First node whose released value is not safe, -1 if there is none; nothing is split after it.
    """

    rows: tuple[int, ...]
    decisions: int
    breach: int


def bin_rows(
    tree: SumTree, values: npt.ArrayLike, *, epsilon: Fraction, decision_delta: Fraction, most_rows: int
) -> Binning:
    """Split units of a hierarchy into their children where that is safe.

    The chance that a split is unsafe is bounded by the sum of the chances of its parts. The whole is split before its
    own sum is known. If that is not safe, the whole is a decision of its own.

    Parameters
    ----------
    tree : SumTree
        The hierarchy: one root, and people in units without children only.
    values : int[N]
        How many of each node's people have the counted value.
    epsilon : Fraction
        0 < epsilon < 1.
    decision_delta : Fraction
        Delta divided by the number of splits that can be made, and one for the whole.
    most_rows : int
        Largest number of rows.

    Raises
    ------
    ParameterError
        A parameter is out of range, or the hierarchy has several roots or people beside a unit's children.
    """
    check_promise(epsilon, decision_delta)
    hierarchy, counts = _Hierarchy(tree, epsilon), check_tree_values(tree, values)
    rows, decisions = [hierarchy.root], 0
    known, breach, at = False, -1, 0
    while at < len(rows) and breach < 0:
        unit = rows[at]
        parts = hierarchy.children[unit]
        if not parts or len(rows) + len(parts) - 1 > most_rows:
            at += 1
            continue
        decisions += 1
        if hierarchy.unsafe_split(unit, counts[unit] if known else None) > decision_delta:
            at += 1
            continue
        rows[at : at + 1] = parts
        known, breach = True, hierarchy.first_unsafe(parts, counts)
    if not known:
        decisions += 1
        whole = hierarchy.types[hierarchy.root]
        if unsafe_sum_bound(whole, Types((), ()), None, safe_sums(whole, epsilon)) > decision_delta:
            return Binning((), decisions, -1)
        breach = hierarchy.first_unsafe(rows, counts)
    return Binning(tuple(rows), decisions, breach)


class _Hierarchy:
    """Children and people of each unit."""

    def __init__(self, tree: SumTree, epsilon: Fraction) -> None:
        roots = np.flatnonzero(tree.parent < 0)
        if roots.size != 1:
            raise ParameterError(
                f"the hierarchy has {roots.size} roots: give one unit that contains all others"
            )
        self.root, self.children = int(roots[0]), tree.children()
        own = tree.own_types()
        beside = [unit for unit, parts in enumerate(self.children) if parts and own[unit]]
        if beside:
            raise ParameterError(
                f"unit {beside[0]} has people in none of its children: give them a child of their own"
            )
        self.types = [
            Types.of(pair for one in tree.list_descendants(unit) for pair in own[one])
            for unit in range(len(tree))
        ]
        self._safe = [safe_sums(types, epsilon) for types in self.types]

    def unsafe_split(self, unit: int, total: int | None) -> Fraction | float:
        """Upper bound of the chance that some child's sum is unsafe, given the unit's own sum; added up exactly."""
        chance = Fraction(0)
        parts = self.children[unit]
        for part in parts:
            others = Types.of(
                pair for one in parts if one != part for pair in zip(*self.types[one], strict=True)
            )
            bound = unsafe_sum_bound(self.types[part], others, total, self._safe[part])
            if bound == math.inf:
                return bound
            chance += Fraction(bound)
        return chance

    def first_unsafe(self, units: list[int], counts: list[int]) -> int:
        """The first unit whose value lies outside its safe interval, -1 if there is none."""
        for unit in units:
            low, high = self._safe[unit]
            if not low <= counts[unit] <= high:
                return unit
        return -1


def halved(people: npt.ArrayLike, rates: Rates) -> SumTree:
    """The hierarchy of intervals of ordered units, each halved at its median by people, ties to the lower side.

    Nodes come in preorder; the last ones of each branch are the units.

    Parameters
    ----------
    people : int64[U]
        People in each unit, in the units' public order.
    rates : Rates
        Their prior [U].
    """
    counts = check_people("people", people, len(rates), "rates").tolist()
    parent: list[int] = []
    unit_of: list[int] = []
    left = [(0, len(counts), -1)]
    while left:
        first, last, above = left.pop()
        node = len(parent)
        parent.append(above)
        unit_of.append(first if last - first == 1 else -1)
        if last - first > 1:
            cut = _median_cut(counts, first, last)
            left += [(cut, last, node), (first, cut, node)]
    units = [unit for unit in unit_of if unit >= 0]
    return SumTree(
        parent=np.array(parent, dtype=np.int64),
        type_ptr=np.cumsum([0, *(unit >= 0 for unit in unit_of)]),
        type_people=np.array([counts[unit] for unit in units], dtype=np.int64),
        type_rates=Rates(numerator=rates.numerator[units], denominator=rates.denominator[units]),
    )


def _median_cut(counts: list[int], first: int, last: int) -> int:
    """Where an interval is cut: the lower part has as near to half of the people as possible."""
    whole, below = sum(counts[first:last]), 0
    best, cut = math.inf, first + 1
    for place in range(first + 1, last):
        below += counts[place - 1]
        distance = abs(2 * below - whole)
        if distance < best:
            best, cut = distance, place
    return cut
