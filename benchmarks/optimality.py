"""Errors as multiples of the least possible: `python -m benchmarks.optimality [--sizes 4x3 8x5] [--epsilon 2]`.

A linear program over all epsilon-differentially private mechanisms on tables of n workers over k support points, with
the number of workers public, finds the smallest expected number of misplaced workers: averaged over all tables, and in
the worst table. Averaging a mechanism over all relabelings of the points keeps its privacy and its error, so one
variable for each orbit of pairs (real table, released table) is enough. Beside it: the same error of the engine's
mechanisms and of two from `engine.comparison`, exactly, but for the projected noise, of which copies are drawn.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, exp, factorial, prod

import numpy as np
from scipy import sparse, stats
from scipy.optimize import brentq, linprog, minimize_scalar

from engine.accountant.sound_bound import least_sound_weight
from engine.comparison.randomizing import geometric_histogram
from engine.errors import EngineError
from engine.mechanisms.dirichlet_multinomial import Synthesizers
from engine.mechanisms.thetas import THETA_BITS, exponential_epsilon, inverse_theta
from engine.streams import SecretKey
from engine.support.support_table import SupportTable

SMALLEST = ("--sizes", "2x3", "--epsilon", "2", "--copies", "50")
DELTA = "1e-6"
"""Delta of the Dirichlet-multinomial mechanism alone; the others have none."""

COLUMNS = (
    "exponential",
    "with the simpler bounds",
    "equalized",
    "priced",
    "keep-or-redraw",
    "projected geometric",
    "Dirichlet-multinomial",
)

Table = tuple[int, ...]
Orbit = tuple[tuple[int, int], ...]
Errors = Mapping[Table, float]
"""Expected number of misplaced workers by partition: the real table, with its points in falling order."""


@dataclass(frozen=True, slots=True)
class Best:
    """The least possible error, averaged over all tables and in the worst table."""

    average: float
    worst: float


def tables(n: int, k: int) -> Iterator[Table]:
    """Every table of n workers over k points."""
    if k == 1:
        yield (n,)
        return
    for count in range(n + 1):
        for rest in tables(n - count, k - 1):
            yield (count, *rest)


def orbit_of(real: Sequence[int], released: Sequence[int]) -> Orbit:
    """The pair up to a relabeling of the points that is the same for both tables."""
    return tuple(sorted(zip(real, released, strict=True), reverse=True))


def n_tables_of(partition: Table) -> int:
    """How many tables become this partition when their points are sorted."""
    return factorial(len(partition)) // prod(factorial(times) for times in Counter(partition).values())


def misplaced(orbit: Orbit) -> int:
    """How many workers are in another point."""
    return sum(max(real - released, 0) for real, released in orbit)


def neighbors(orbit: Orbit) -> set[Orbit]:
    """The orbits of pairs with the same released table and a real table that differs in one worker's home."""
    found = set()
    for left, (count, _) in enumerate(orbit):
        for entered in range(len(orbit)):
            if count and entered != left:
                changed = [list(pair) for pair in orbit]
                changed[left][0] -= 1
                changed[entered][0] += 1
                found.add(tuple(sorted(((real, released) for real, released in changed), reverse=True)))
    return found


def _real(orbit: Orbit) -> Table:
    return tuple(sorted((real for real, _ in orbit), reverse=True))


class Program:
    """The linear program of one size; epsilon only changes a factor."""

    def __init__(self, n: int, k: int) -> None:
        outputs = list(tables(n, k))
        self.partitions = sorted({tuple(sorted(table, reverse=True)) for table in outputs})
        self.share = np.array([n_tables_of(each) for each in self.partitions]) / len(outputs)
        sizes = [Counter(orbit_of(each, released) for released in outputs) for each in self.partitions]
        number = {orbit: i for i, orbit in enumerate(orbit for each in sizes for orbit in each)}
        self.n_orbits = len(number)
        row = np.repeat(np.arange(len(sizes)), [len(each) for each in sizes])
        times = np.array([count for each in sizes for count in each.values()], dtype=float)
        error = np.array([misplaced(orbit) for orbit in number], dtype=float)
        shape = (len(sizes), self.n_orbits)
        self.total = sparse.csr_array((times, (row, np.arange(self.n_orbits))), shape=shape)
        self.error = sparse.csr_array((times * error, (row, np.arange(self.n_orbits))), shape=shape)
        # How many tables of one partition are at each distance, in workers, from a table of another.
        place = {partition: i for i, partition in enumerate(self.partitions)}
        self.tables_at = np.zeros((len(sizes), len(sizes), n + 1))
        for real, each in enumerate(sizes):
            for orbit, count in each.items():
                partition = tuple(sorted((released for _, released in orbit), reverse=True))
                self.tables_at[real, place[partition], misplaced(orbit)] += count
        self.moves = np.array(
            sorted(
                {
                    (place[_real(one)], place[_real(other)])
                    for partition in self.partitions
                    for one in [orbit_of(partition, partition)]
                    for other in neighbors(one)
                }
            )
        ).reshape(-1, 2)
        pairs = [(number[one], number[other]) for one in number for other in neighbors(one)]
        self._one, self._other = np.array(pairs).reshape(-1, 2).T

    def best(self, epsilon: float) -> Best:
        """Solve for the average and for the worst table."""
        ones = np.ones(self._one.size)
        rows = np.arange(self._one.size)
        shape = (rows.size, self.n_orbits)
        ratio = sparse.csr_array((ones, (rows, self._one)), shape=shape) - sparse.csr_array(
            (exp(epsilon) * ones, (rows, self._other)), shape=shape
        )
        average = _minimum(self.share @ self.error, ratio, np.zeros(rows.size), self.total)
        # The worst table's error is one more variable, at least as large as every table's.
        n = len(self.partitions)
        above = sparse.hstack([self.error, sparse.csr_array(-np.ones((n, 1)))])
        limited = sparse.vstack([sparse.hstack([ratio, sparse.csr_array((rows.size, 1))]), above])
        total = sparse.hstack([self.total, sparse.csr_array((n, 1))])
        aim = np.append(np.zeros(self.n_orbits), 1.0)
        return Best(average, _minimum(aim, limited, np.zeros(rows.size + n), total))


def _minimum(aim: np.ndarray, limited: sparse.sparray, limits: np.ndarray, total: sparse.sparray) -> float:
    found = linprog(aim, A_ub=limited, b_ub=limits, A_eq=total, b_eq=np.ones(total.shape[0]), method="highs")
    if found.status != 0:
        raise RuntimeError(f"the linear program was not solved: {found.message}")
    return float(found.fun)


def moves_of(partition: Table) -> list[int]:
    """How many tables are 0, 1, ..., n workers away."""
    n, k = sum(partition), len(partition)
    ways = {(0, 0): 1}  # (workers removed, points that lose some): ways
    for count in partition:
        grown: Counter[tuple[int, int]] = Counter(ways)
        for (removed, points), times in ways.items():
            for here in range(1, count + 1):
                grown[removed + here, points + 1] += times
        ways = grown
    moves = [0] * (n + 1)
    for (removed, points), times in ways.items():
        moves[removed] += times * (comb(k - points - 1 + removed, removed) if points < k else 0**removed)
    return moves


def exponential_errors(partitions: Sequence[Table], theta: float) -> Errors:
    """Errors of the exponential mechanism with this theta."""
    errors = {}
    for partition in partitions:
        weight = np.array(moves_of(partition)) * theta ** np.arange(sum(partition) + 1)
        errors[partition] = float(weight @ np.arange(weight.size) / weight.sum())
    return errors


def exact_theta(n: int, k: int, epsilon: str) -> float:
    """Theta of the exact ratio, as the engine uses it."""
    return float(Fraction(1 << THETA_BITS, inverse_theta(exponential_epsilon(epsilon), k, n)))


def bounded_theta(n: int, k: int, epsilon: float) -> float:
    """Theta of the simpler bounds (2 - (1 - theta)^(k-1)) / theta and 1 / theta^2."""
    half = exp(-epsilon / 2)
    if n == 1:
        return exp(-epsilon)

    def excess(theta: float) -> float:
        return float((2 - (1 - theta) ** (k - 1)) / theta - exp(epsilon))

    return min(half, brentq(excess, 1e-12, 1)) if excess(1) < 0 else half


def weighted_errors(program: Program, theta: float, weight: np.ndarray) -> np.ndarray:
    """Errors by partition of P(m | x) proportional to theta^d(x, m) g(m), the weight g given by partition."""
    moved = np.arange(program.tables_at.shape[2])
    chance = program.tables_at * theta**moved
    errors: np.ndarray = ((chance * moved).sum(axis=2) @ weight) / (chance.sum(axis=2) @ weight)
    return errors


def equalized_errors(program: Program, epsilon: float) -> np.ndarray | None:
    """Errors of the exponential mechanism with a public weight g(m) >= 0 that makes all normalizers equal.

    The sum of theta^d(x, m) g(m) over m is 1 for all x: then theta = e^-epsilon is enough, since neighbors' distances
    to any table differ by one at most. None where a weight would be negative.
    """
    near = (program.tables_at * exp(-epsilon) ** np.arange(program.tables_at.shape[2])).sum(axis=2)
    weight = np.linalg.solve(near, np.ones(near.shape[0]))
    return weighted_errors(program, exp(-epsilon), weight) if weight.min() >= 0 else None


def priced_errors(program: Program, epsilon: float) -> np.ndarray:
    """Errors with g(m) = c^(occupied points of m), for the c from 0.02 to 1 that needs the least theta.

    Theta is the least at which no ratio of neighbors passes e^epsilon, found over all partitions.
    """
    occupied = np.array([np.count_nonzero(partition) for partition in program.partitions])
    moved = np.arange(program.tables_at.shape[2])
    one, other = program.moves.T

    def log_theta(price: float) -> float:
        def excess(log_theta: float) -> float:
            total = (program.tables_at * exp(log_theta) ** moved).sum(axis=2) @ price**occupied
            return float(np.log((total[one] / total[other]).max()) - log_theta - epsilon)

        # 1/theta is e^epsilon at most; at theta = 1 no ratio differs from 1.
        return float(brentq(excess, -epsilon - 1e-9, 0))

    prices = np.geomspace(0.02, 1, 40).tolist()
    first = min(range(len(prices)), key=lambda at: log_theta(prices[at]))
    around = prices[max(first - 1, 0)], prices[min(first + 1, len(prices) - 1)]
    price = float(minimize_scalar(log_theta, bounds=around, method="bounded").x)
    return weighted_errors(program, exp(log_theta(price)), price**occupied)


def redrawn_errors(partitions: Sequence[Table], epsilon: float) -> Errors:
    """Errors of keep-or-redraw: a point's own workers stay and others arrive independently."""
    k = len(partitions[0])
    stays, arrives = exp(epsilon) / (exp(epsilon) - 1 + k), 1 / (exp(epsilon) - 1 + k)
    errors = {}
    for partition in partitions:
        n = sum(partition)
        errors[partition] = 0.0
        for count in partition:
            own = stats.binom.pmf(np.arange(count + 1), count, stays)
            others = stats.binom.pmf(np.arange(n - count + 1), n - count, arrives)
            law = np.convolve(own, others)
            errors[partition] += float(np.maximum(count - np.arange(law.size), 0) @ law)
    return errors


def dirichlet_errors(partitions: Sequence[Table], epsilon: str) -> Errors | None:
    """Errors of Algorithm 1 with the least weight of the sound accountant, without pruning; None if no weight holds."""
    n, k = sum(partitions[0]), len(partitions[0])
    try:
        weight = float(least_sound_weight(n, n, k, 1, Fraction(epsilon), DELTA).weight)
    except EngineError:
        return None
    released = np.arange(n + 1)
    errors = {}
    for partition in partitions:
        each = [
            stats.betabinom.pmf(released, n, weight + count, (k - 1) * weight + n - count)
            @ np.maximum(count - released, 0)
            for count in partition
        ]
        errors[partition] = float(sum(each))
    return errors


def projected_errors(partitions: Sequence[Table], epsilon: str, copies: int) -> Errors:
    """Mean errors of two-sided geometric noise with projection, over copies drawn with the test key."""
    n, k = sum(partitions[0]), len(partitions[0])
    real = np.repeat(np.array(partitions), copies, axis=0)
    drawn = geometric_histogram(
        SecretKey.for_tests(),
        Synthesizers(
            tract=np.zeros(len(real), np.int32),
            destination=np.arange(len(real)),
            segment=np.zeros(len(real), np.int64),
            worker_ptr=n * np.arange(len(real) + 1),
            worker_point=np.repeat(np.tile(np.arange(k, dtype=np.int32), len(real)), real.ravel()),
            min_prior_weight=np.ones(len(real), np.int64),
        ),
        SupportTable(
            support_ptr=np.array([0, k]),
            base_weight=np.ones(k, np.int64),
            retention=np.full(k, 1 << 32),
        ),
        epsilon=epsilon,
    )
    owner = np.repeat(np.arange(len(real)), n)
    released = np.zeros_like(real)
    np.add.at(released, (owner, drawn.synthetic_point), 1)
    mean = np.maximum(real - released, 0).sum(axis=1).reshape(-1, copies).mean(axis=1)
    return dict(zip(partitions, mean.tolist(), strict=True))


def mechanisms_of(program: Program, epsilon: str, copies: int) -> list[Errors | None]:
    """Errors of every mechanism, in the order of `COLUMNS`."""
    partitions, value = program.partitions, float(Fraction(epsilon))
    n, k = sum(partitions[0]), len(partitions[0])

    def by_partition(errors: np.ndarray | None) -> Errors | None:
        return None if errors is None else dict(zip(partitions, errors.tolist(), strict=True))

    return [
        exponential_errors(partitions, exact_theta(n, k, epsilon)),
        exponential_errors(partitions, bounded_theta(n, k, value)),
        by_partition(equalized_errors(program, value)),
        by_partition(priced_errors(program, value)),
        redrawn_errors(partitions, value),
        projected_errors(partitions, epsilon, copies),
        dirichlet_errors(partitions, epsilon),
    ]


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", default=["2x5", "4x4", "6x3", "6x5", "8x4"], metavar="NxK")
    parser.add_argument("--epsilon", nargs="+", default=["1", "2", "4", "6"])
    parser.add_argument("--copies", type=int, default=2000, help="draws of each table with projected noise")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    options = argument_parser().parse_args(arguments)
    print("Misplaced workers of the best private mechanism, and of others in multiples of it: mean over all")
    print("tables; in parentheses, of the worst table.\n")
    columns = ["n, k, epsilon", "best", *COLUMNS, "orbits, s"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for size in options.sizes:
        n, k = (int(part) for part in size.split("x"))
        program = Program(n, k)
        for epsilon in options.epsilon:
            start = time.perf_counter()
            best = program.best(float(Fraction(epsilon)))
            solved_s = time.perf_counter() - start
            cells = [f"{best.average:.4g} ({best.worst:.4g})"]
            for errors in mechanisms_of(program, epsilon, options.copies):
                if errors is None:
                    cells.append("none")
                    continue
                each = np.array([errors[partition] for partition in program.partitions])
                cells.append(f"{each @ program.share / best.average:.4g} ({each.max() / best.worst:.4g})")
            print(
                f"| {n}, {k}, {epsilon} | {' | '.join(cells)} | {program.n_orbits:,}, {solved_s:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
