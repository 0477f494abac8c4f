"""Tables whose released sums form a forest: totals of one direction, remainders, and tables that refine each other.

Each node counts people: its own and those of its descendants. Released values cut the people into regions: those of a
released node without those of the released nodes below it. Of each region exactly the sum is known, and regions are
independent. So Safe (Nabar and Mishra, Algorithm 1) looks at one region at a time, and a query splits one region in
two. People outside every released node keep their prior.

A parent may come after its children in the order of decision: then releasing it tells the same as releasing its
remainder, the sum of its suppressed descendants and its own people.

Source: Nabar and Mishra, Definition 1 and Algorithms 1 and 3; docs/theory/suppressed-tables.md, "Sums".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray, as_int, as_ptr
from engine.errors import OverflowRefusedError, ParameterError
from engine.suppression.poisson_binomial import Types, window_length
from engine.suppression.progress import Progress, silent
from engine.suppression.rates import Rates
from engine.suppression.safe_sums import safe_split, unsafe_sum_bound
from engine.suppression.suppressed import Ints, check_people, check_promise

__all__ = [
    "MOST_STEPS",
    "DecidedTree",
    "SumTree",
    "check_tree_values",
    "expected_values",
    "refuse_large",
    "suppress_tree",
]

MOST_STEPS = 5 * 10**12
"""Tables that may need more steps are refused before they start: about two minutes. The estimate is far from tight."""

_CHAINS = 6
"""How often a decision works out the law of its region or a part of it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumTree:
    """Sums over nested sets of people, in the order in which they are decided.

    Parameters
    ----------
    parent : int64[N]
        Position of the node that contains this one, -1 if none does. It may come before or after the node.
    type_ptr : int64[N + 1]
        CSR offsets of each node's own types: people who belong to none of its children.
    type_people : int64[Y]
        People of each type, 0 to 10^8.
    type_rates : Rates
        Their prior [Y].

    Raises
    ------
    ParameterError
        Lengths differ, a parent does not exist, or nodes contain each other.
    """

    parent: Ints
    type_ptr: Ints
    type_people: Ints
    type_rates: Rates

    def __post_init__(self) -> None:
        parent = as_int("parent", self.parent, low=-1, high=len(self.parent) - 1)
        pointer = as_ptr("type_ptr", self.type_ptr, total=len(self.type_rates))
        if pointer.size != parent.size + 1:
            raise ParameterError(
                f"type_ptr has {pointer.size} offsets for {parent.size} nodes: give one more"
            )
        people = check_people("type_people", self.type_people, len(self.type_rates), "rates")
        object.__setattr__(self, "parent", parent)
        object.__setattr__(self, "type_ptr", pointer)
        object.__setattr__(self, "type_people", people)
        _refuse_cycles(parent)

    def __len__(self) -> int:
        """Number of nodes."""
        return self.parent.size

    def children(self) -> list[list[int]]:
        """Children of each node, in order."""
        children: list[list[int]] = [[] for _ in range(len(self))]
        for node, above in enumerate(self.parent.tolist()):
            if above >= 0:
                children[above].append(node)
        return children

    def own_types(self) -> list[list[tuple[int, Fraction]]]:
        """People and rate of each node's own types, without empty ones."""
        pointer, people = self.type_ptr.tolist(), self.type_people.tolist()
        return [
            [
                (people[at], self.type_rates.fraction(at))
                for at in range(pointer[node], pointer[node + 1])
                if people[at]
            ]
            for node in range(len(self))
        ]

    def list_descendants(self, node: int) -> list[int]:
        """A node and all its descendants."""
        children, nodes = self.children(), [node]
        for descendant in nodes:
            nodes.extend(children[descendant])
        return nodes


class DecidedTree(NamedTuple):
    """Decisions on the nodes of a tree, in decision order.

    Attributes
    ----------
    released : bool[N]
        Whether the node's value is published.
    low, high : int64[N]
        Safe interval of the value, given what was released before. After a breach: values that are safe for the
        people of the region that the node lies in.
    breach : int
        Position of the first released value outside its interval, -1 if there is none; every later node is suppressed.
    derived : bool[N]
        Suppressed, but the released sums determine the value.
    """

    released: BoolArray
    low: Ints
    high: Ints
    breach: int
    derived: BoolArray


class _Region(NamedTuple):
    """People whose sum is known or asked about: nodes that hold their types, and the known sum below them."""

    holders: list[int]
    base: int


class _State:
    """What has been released of a tree."""

    def __init__(self, tree: SumTree, values: list[int]) -> None:
        self.tree, self.values = tree, values
        self.released = [False] * len(tree)
        self._children = tree.children()
        self._parent: list[int] = tree.parent.tolist()
        self._types, self._rates = _ranked_types(tree)

    def part(self, node: int) -> _Region:
        """People of a node without those of released nodes below it."""
        holders, base, left = [], 0, [node]
        while left:
            holder = left.pop()
            holders.append(holder)
            for child in self._children[holder]:
                if self.released[child]:
                    base += self.values[child]
                else:
                    left.append(child)
        return _Region(holders, base)

    def find_region(self, node: int) -> tuple[_Region, int] | None:
        """The region of known sum that a node lies in, and that sum; None if no released node contains it."""
        above = self._parent[node]
        while above >= 0 and not self.released[above]:
            above = self._parent[above]
        if above < 0:
            return None
        region = self.part(above)
        return region, self.values[above] - region.base

    def types(self, holders: list[int]) -> Types:
        people_of_rank: dict[int, int] = {}
        for node in holders:
            for people, rank in self._types[node]:
                people_of_rank[rank] = people_of_rank.get(rank, 0) + people
        ranks = sorted(people_of_rank)
        return Types(
            tuple(people_of_rank[rank] for rank in ranks), tuple(self._rates[rank] for rank in ranks)
        )


class _Query(NamedTuple):
    """A node before its decision: the people asked about, those with whom they have a known sum, and the interval."""

    asked: Types
    others: Types
    total: int | None
    base: int
    interval: tuple[int, int]


def suppress_tree(
    tree: SumTree,
    values: npt.ArrayLike,
    *,
    epsilon: Fraction,
    decision_delta: Fraction,
    progress: Progress = silent,
) -> DecidedTree:
    """Decide the sums of a tree in order: the exact suppressor.

    Exact in integers where a region has up to 64 people or one rate; otherwise by certified bounds, and what they
    leave open is suppressed. The result is the same on every machine.

    Parameters
    ----------
    tree : SumTree
        Nodes in decision order.
    values : int[N]
        How many of each node's people have the counted value.
    epsilon : Fraction
        0 < epsilon < 1.
    decision_delta : Fraction
        Delta divided by the number of decisions, 0 < decision_delta < 1.
    progress : callable
        Called as progress(stage, done, total).

    Raises
    ------
    ParameterError
        A parameter is out of range, or values contradict each other.
    OverflowRefusedError
        The tree is too large to be decided exactly.
    """
    check_promise(epsilon, decision_delta)
    refuse_large(tree)
    counts = check_tree_values(tree, values)
    state, n = _State(tree, counts), len(tree)
    released, low, high = np.zeros(n, np.bool_), np.zeros(n, np.int64), np.zeros(n, np.int64)
    breach = -1
    for node in range(n):
        progress("deciding", node, n)
        query = _query(state, node, epsilon)
        low[node], high[node] = query.base + query.interval[0], query.base + query.interval[1]
        if breach >= 0 or not _is_releasable(query, decision_delta):
            continue
        released[node] = state.released[node] = True
        if not low[node] <= counts[node] <= high[node]:
            breach = node
    derived = np.array(
        [not released[node] and _is_determined(state, node) for node in range(n)], dtype=np.bool_
    )
    return DecidedTree(released, low, high, breach, derived)


def expected_values(tree: SumTree) -> Ints:
    """Whole values near what the prior expects, consistent with each other: for a dry run from public input alone."""
    own = np.zeros(len(tree), np.int64)
    numerator, denominator = tree.type_rates.numerator.tolist(), tree.type_rates.denominator.tolist()
    for node in range(len(tree)):
        expected = sum(
            Fraction(int(tree.type_people[at]) * numerator[at], denominator[at])
            for at in range(int(tree.type_ptr[node]), int(tree.type_ptr[node + 1]))
        )
        own[node] = math.floor(expected + Fraction(1, 2))
    return _sum_nodes(tree, own)


def _query(state: _State, node: int, epsilon: Fraction) -> _Query:
    part, around = state.part(node), state.find_region(node)
    asked, others, total = state.types(part.holders), Types((), ()), None
    if around is not None:
        region, total = around
        inside = set(part.holders)
        others = state.types([holder for holder in region.holders if holder not in inside])
    return _Query(asked, others, total, part.base, safe_split(asked, others, total, epsilon))


def _is_releasable(query: _Query, decision_delta: Fraction) -> bool:
    return unsafe_sum_bound(query.asked, query.others, query.total, query.interval) <= decision_delta


def _is_determined(state: _State, node: int) -> bool:
    """Whether the released sums leave one value only."""
    asked = state.types(state.part(node).holders).everyone
    around = state.find_region(node)
    if around is None or not asked:
        return not asked
    region, total = around
    everyone = state.types(region.holders).everyone
    return asked == everyone or total in (0, everyone)


def _ranked_types(tree: SumTree) -> tuple[list[list[tuple[int, int]]], list[Fraction]]:
    """People of each node's own types with the rank of their rate, and the distinct rates in rising order.

    Ranks are much faster to compare than fractions. Two rates of denominators below 2^31 differ by more than 2^-62, so
    their whole parts in units of 2^-62 differ, too.
    """
    numerator, denominator = tree.type_rates.numerator.tolist(), tree.type_rates.denominator.tolist()
    units = [(above << 62) // below for above, below in zip(numerator, denominator, strict=True)]
    place = {unit: at for at, unit in enumerate(units)}
    rank = {unit: number for number, unit in enumerate(sorted(place))}
    pointer, people = tree.type_ptr.tolist(), tree.type_people.tolist()
    own = [
        [(people[at], rank[units[at]]) for at in range(pointer[node], pointer[node + 1]) if people[at]]
        for node in range(len(tree))
    ]
    return own, [tree.type_rates.fraction(place[unit]) for unit in rank]


def _refuse_cycles(parent: Ints) -> None:
    above = parent.tolist()
    checked: set[int] = set()
    for start in range(len(above)):
        path, node = [], start
        while node >= 0 and node not in checked:
            path.append(node)
            if len(path) > len(above):
                raise ParameterError(
                    f"node {start} is inside a cycle of parents: give each node a parent that contains it"
                )
            node = above[node]
        checked.update(path)


def _order_bottom_up(tree: SumTree) -> Iterator[tuple[int, int]]:
    """Nodes with their parents, children before their parents."""
    children, above = tree.children(), tree.parent.tolist()
    order = [node for node in range(len(tree)) if above[node] < 0]
    for node in order:
        order.extend(children[node])
    for node in reversed(order):
        yield node, above[node]


def _sum_nodes(tree: SumTree, own: Ints) -> Ints:
    """Sums over each node and its descendants."""
    total = own.copy()
    for node, above in _order_bottom_up(tree):
        if above >= 0:
            total[above] += total[node]
    return total


def _own_people(tree: SumTree) -> Ints:
    cumulative = np.concatenate((np.zeros(1, np.int64), np.cumsum(tree.type_people)))
    return np.diff(cumulative[tree.type_ptr])


def check_tree_values(tree: SumTree, values: npt.ArrayLike) -> list[int]:
    """Values of a tree's nodes that do not contradict each other (ParameterError)."""
    counts = as_int("values", values)
    if counts.size != len(tree):
        raise ParameterError(f"{counts.size} values for {len(tree)} nodes: give one for each")
    own = counts.copy()
    for node, above in _order_bottom_up(tree):
        if above >= 0:
            own[above] -= counts[node]
    people = _own_people(tree)
    wrong = np.flatnonzero((own < 0) | (own > people))
    if wrong.size:
        at = int(wrong[0])
        raise ParameterError(
            f"the value of node {at} leaves {own[at]} for its {people[at]} people outside its children: "
            "count each person once"
        )
    return [int(count) for count in counts]


def refuse_large(tree: SumTree) -> None:
    """Refuse a tree whose decisions would take too many steps, by an estimate from public numbers.

    Raises
    ------
    OverflowRefusedError
        The tree is too large to be decided exactly.
    """
    steps = sum(_steps(tree))
    if steps > MOST_STEPS:
        raise OverflowRefusedError(
            f"deciding these {len(tree)} sums takes up to {steps:.1e} steps, more than {MOST_STEPS:.0e}: "
            "leave out the totals, or use totals over fewer cells"
        )


def _steps(tree: SumTree) -> Iterator[float]:
    """Steps of each decision: the law of its parent's people, or of its own if it has no parent."""
    numerator, denominator = tree.type_rates.numerator, tree.type_rates.denominator
    rate = numerator / denominator
    people = tree.type_people
    variance = _sum_per_node(tree, people * rate * (1 - rate))
    n_people = _sum_nodes(tree, _own_people(tree))
    windows = _sum_per_node(
        tree,
        np.minimum(
            people + 1.0,
            [window_length(row_variance) for row_variance in (people * rate * (1 - rate)).tolist()],
        ),
    )
    for node, above in enumerate(tree.parent.tolist()):
        region = above if above >= 0 else node
        length = min(float(n_people[region]) + 1.0, float(window_length(float(variance[region]))))
        yield _CHAINS * length * float(windows[region])


def _sum_per_node(tree: SumTree, amounts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Sums of amounts of types over each node and its descendants."""
    cumulative = np.concatenate((np.zeros(1), np.cumsum(amounts)))
    total = np.diff(cumulative[tree.type_ptr])
    for node, above in _order_bottom_up(tree):
        if above >= 0:
            total[above] += total[node]
    return total
