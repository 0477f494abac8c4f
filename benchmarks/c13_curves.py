"""Error and breach of the schemes that C13 compares, over their parameters, on one table of people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.adult_file import CodedTable
from engine.audit.criteria import SplitRule
from engine.audit.decomposition import Decomposition, Tree
from engine.audit.empirical import accuracy, baseline_accuracy, breach_increase
from engine.audit.lookup import lookup
from engine.audit.naive_bayes import NaiveBayes
from engine.audit.private_tree import LevelBudget, PrivateTreeKind, private_tree
from engine.audit.syntactic_tree import syntactic_tree
from engine.audit.workload import Workload, median_relative_error, window_workload
from mapapp.analyst.audit.tradeoff import interpolate_accuracy

GROUP = 8
"""The k of C13's t-closeness and of its Figure 6."""
_QUERY_SEED = 1


class Point(NamedTuple):
    """A scheme at one parameter: means over its draws, and standard deviations; 0 for a scheme without draws.

    ``error`` is the median relative error, ``breach`` the breach increase (beta) of the naive Bayes attacker.
    """

    parameter: float
    error: float
    error_deviation: float
    breach: float
    breach_deviation: float
    n_groups: float


class Curve(NamedTuple):
    """A scheme over its parameter."""

    name: str
    parameter: str
    points: tuple[Point, ...]

    def breach_at(self, error: float) -> float | None:
        """Breach at an error, between neighboring points; None if the scheme does not reach the error."""
        errors, breaches = zip(*((point.error, point.breach) for point in self.points), strict=True)
        return interpolate_accuracy(errors, breaches, error)

    def at(self, parameter: float) -> Point:
        """The point of a parameter."""
        return next(point for point in self.points if point.parameter == parameter)


@dataclass(frozen=True, slots=True)
class Trial:
    """People, the queries about them, and how often a private tree is drawn."""

    table: CodedTable
    workload: Workload
    n_seeds: int

    @classmethod
    def of(cls, table: CodedTable, n_queries: int, n_seeds: int) -> Trial:
        """Draw C13's queries: half of every attribute, those of two codes left free."""
        return cls(table, workload_of(table, n_queries), n_seeds)

    @property
    def selectivity(self) -> float:
        """Median share of the people in a query."""
        return float(np.median(self.workload.true_count)) / self.table.sensitive.size

    def measure(self, tree: Tree) -> tuple[float, float, float]:
        """Error, breach and number of groups of a tree."""
        boxes, truth = tree.decomposition, self.table.sensitive
        answered = boxes.answer(self.workload.lo, self.workload.hi)
        found = NaiveBayes.of(boxes).predict(self.table.codes)
        breach = breach_increase(accuracy(found.value, truth), baseline_accuracy(truth))
        return median_relative_error(self.workload.true_count, answered), breach, float(boxes.n_boxes)

    def grow(self, rule: SplitRule, height: int | None = None) -> Tree:
        """A tree with exact counts."""
        table = self.table
        return syntactic_tree(table.codes, table.sensitive, table.sizes, len(table.values), rule, height)

    def draw(
        self, seed: int, epsilon: float, kind: PrivateTreeKind, levels: LevelBudget, height: int
    ) -> Tree:
        """A private tree."""
        table, rng = self.table, np.random.default_rng(seed)
        n_values = len(table.values)
        return private_tree(
            table.codes,
            table.sensitive,
            table.sizes,
            n_values,
            kind=kind,
            epsilon=epsilon,
            height=height,
            levels=levels,
            rng=rng,
        )

    def exact(self, parameter: float, rule: SplitRule, height: int | None = None) -> Point:
        """A scheme without noise."""
        error, breach, n_groups = self.measure(self.grow(rule, height))
        return Point(parameter, error, 0.0, breach, 0.0, n_groups)

    def noisy(
        self,
        parameter: float,
        epsilon: float,
        kind: PrivateTreeKind = "kd",
        levels: LevelBudget = "leaf",
        height: int = 10,
    ) -> Point:
        """A scheme with noise, over several seeds."""
        found = np.array(
            [self.measure(self.draw(seed, epsilon, kind, levels, height)) for seed in range(self.n_seeds)]
        )
        mean, deviation = found.mean(axis=0), found.std(axis=0, ddof=1) if self.n_seeds > 1 else np.zeros(3)
        return Point(parameter, mean[0], deviation[0], mean[1], deviation[1], mean[2])

    def lookup_accuracy(self, tree: Tree) -> float:
        """Accuracy of an attacker who predicts the most frequent value of the victim's group."""
        truth = self.table.sensitive
        prior = np.bincount(truth, minlength=len(self.table.values)) / truth.size
        return accuracy(lookup([tree.leaf_of], truth, [tree.leaf_of], prior).value, truth)


def workload_of(
    table: CodedTable,
    n_queries: int,
    *,
    free: Sequence[bool] | None = None,
    value_window: float | None = None,
) -> Workload:
    """Half windows; always the same queries for the same people."""
    people = Decomposition.from_records(table.codes, table.sensitive, table.sizes, len(table.values))
    rng = np.random.default_rng(_QUERY_SEED)
    return window_workload(people, n_queries, free=free, value_window=value_window, rng=rng)


def curves(trial: Trial, *, coarse: bool) -> dict[str, Curve]:
    """Every scheme of Figure 5 over its parameter; fewer parameters if ``coarse``."""
    step = 4 if coarse else 1
    n_values = len(trial.table.values)
    groups = [2**power for power in range(1, 13)][::step]
    diversities = list(range(2, n_values + 1))[::step]
    distances = [round(0.05 * number, 2) for number in range(1, 21)][::step]
    found = [_exact(trial, "k-anonymity", "k", groups, lambda k: SplitRule(k=int(k)))]
    for kind in ("recursive", "entropy", "frequency", "distinct"):
        rule = partial(_diverse, kind)
        found.append(_exact(trial, f"l-diversity, {kind}", "l", diversities, rule))
    for distance in ("ordered", "equal"):
        for t_rule in ("children", "node"):
            rule = partial(_close, distance, t_rule)
            found.append(_exact(trial, f"t-closeness, {distance}, {t_rule}", "t", distances, rule))
    for name, kind, levels in (
        ("DP, kd", "kd", "leaf"),
        ("DP, kd, geometric", "kd", "geometric"),
        ("DP, quad", "quad", "leaf"),
        ("DP, cell", "cell", "leaf"),
    ):
        found.append(_noisy(trial, name, kind, levels, step))  # type: ignore[arg-type]  # names of the table above
    return {curve.name: curve for curve in found}


def heights(trial: Trial, *, coarse: bool) -> tuple[Curve, Curve]:
    """Figure 6(a): k = 8 and epsilon = 1 over the height."""
    used = range(2, 13, 5 if coarse else 1)
    exact = tuple(trial.exact(height, SplitRule(k=GROUP), height) for height in used)
    noisy = tuple(trial.noisy(height, 1.0, height=height) for height in used)
    return Curve("k-anonymity, k = 8", "height", exact), Curve("DP, kd, epsilon = 1", "height", noisy)


def data_sizes(trial: Trial, n_queries: int, *, coarse: bool) -> tuple[Curve, Curve]:
    """Figure 6(b): the same over the share of the people, taken at random; the smaller parts are in the larger."""
    table, order = trial.table, np.random.default_rng(6).permutation(trial.table.sensitive.size)
    exact, noisy = [], []
    for percent in range(10, 101, 45 if coarse else 10):
        part = Trial.of(table.part(order[: order.size * percent // 100]), n_queries, trial.n_seeds)
        exact.append(part.exact(percent, SplitRule(k=GROUP)))
        noisy.append(part.noisy(percent, 1.0))
    return (
        Curve("k-anonymity, k = 8", "percent", tuple(exact)),
        Curve("DP, kd, epsilon = 1", "percent", tuple(noisy)),
    )


def _exact(
    trial: Trial, name: str, parameter: str, values: Iterable[float], rule: Callable[[float], SplitRule]
) -> Curve:
    return Curve(name, parameter, tuple(trial.exact(value, rule(value)) for value in values))


def _diverse(kind: str, least: float) -> SplitRule:
    return SplitRule(diversity=kind, least=least)  # type: ignore[arg-type]  # a name of curves


def _close(distance: str, t_rule: str, t: float) -> SplitRule:
    return SplitRule(k=GROUP, t=t, distance=distance, t_rule=t_rule)  # type: ignore[arg-type]  # names of curves


def _noisy(trial: Trial, name: str, kind: PrivateTreeKind, levels: LevelBudget, step: int) -> Curve:
    epsilons = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)[:: min(step, 3)]
    return Curve(name, "epsilon", tuple(trial.noisy(one, one, kind, levels) for one in epsilons))
