"""Deciding large tables: `python -m benchmarks.suppression [--cells N] [--rows N]`.

Tables of generated people, all drawn from their prior. Yes-or-no cells, as many as the blocks of a nation have
segments. Flows between the counties of a nation: each origin with more than 0.5 expected workers is tried. Two rows
with both totals, of the size of a state's two districts by 27 segments, and wider. And a table of the size of a
state's towns by nine segments, which is also decided by the paper's sampling. Keys and seeds are fixed, so that every
run decides the same tables. Certifying a table is the same computation as deciding it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.streams import SecretKey
from engine.suppression.both_totals import TwoWayTable, suppress_two_way
from engine.suppression.cells import suppress_cells
from engine.suppression.rates import Rates
from engine.suppression.rows import expected_rows, suppress_rows
from engine.suppression.sampled import sampling_plan, suppress_cells_sampled
from engine.suppression.sum_tree import DecidedTree
from engine.suppression.suppressed import Decided, share_delta

SMALLEST: Final = (
    *("--cells", "300", "--rows", "12", "--small", "10", "--runs", "1"),
    *("--two-rows", "3", "70", "--two-rows", "2", "90"),
)
TWO_ROWS: Final = ((27, 9000), (100, 1000))
EPSILON: Final = Fraction(1, 2)
DELTA: Final = Fraction(1, 10)
UNITS: Final = 2**30
N_WORKERS: Final = 140_000_000
SEGMENTS: Final = 9
KEY: Final = SecretKey.for_tests()

Ints = npt.NDArray[np.int64]


class Cells(NamedTuple):
    """A table of yes-or-no cells."""

    people: Ints
    rates: Rates
    values: Ints


class Rows(NamedTuple):
    """A table of rows with tried origins."""

    people: Ints
    ptr: Ints
    rates: Rates
    values: Ints


def make_cells(n: int, mean: float) -> Cells:
    """Cells whose sizes vary like those of workplaces, with as many rates."""
    random = np.random.default_rng(1)
    people = random.poisson(mean * random.gamma(0.5, 2, n))
    chance = random.beta(1.5, 3, n)
    numerator = np.clip((chance * UNITS).astype(np.int64), 1, UNITS - 1)
    rates = Rates(numerator=numerator, denominator=np.full(n, UNITS))
    return Cells(people, rates, random.binomial(people, numerator / UNITS))


def make_rows(n: int) -> Rows:
    """Flows between counties at random places: an origin's share falls with its distance."""
    random = np.random.default_rng(2)
    size = random.lognormal(9.5, 1.4, n)
    people = np.maximum((size / size.sum() * N_WORKERS * n / 3143).astype(np.int64), 1)
    x, y = random.random((2, n)) * 60
    ptr, numerator, values = [0], [], []
    for row in range(n):
        distance = np.hypot(x - x[row], y - y[row])
        mass = size * np.exp(-3 * np.sqrt(distance))
        share = np.maximum((mass / mass.sum() * 0.999 * UNITS).astype(np.int64), 1)
        tried = share[people[row] * share > UNITS // 2]
        tried = np.sort(tried)[::-1]
        numerator.append(tried)
        chances = np.append(tried, UNITS - tried.sum()) / UNITS
        values.append(random.multinomial(people[row], chances)[:-1])
        ptr.append(ptr[-1] + tried.size)
    shares = np.concatenate(numerator)
    rates = Rates(numerator=shares, denominator=np.full(shares.size, UNITS))
    return Rows(people, np.array(ptr), rates, np.concatenate(values))


def make_two_rows(n_columns: int, mean: float) -> tuple[TwoWayTable, Ints]:
    """Two rows of cells whose sizes vary a little, and the row totals, column totals, and cells."""
    random = np.random.default_rng(3)
    people = 1 + random.poisson(mean * random.gamma(4, 0.25, 2 * n_columns))
    numerator = np.clip((random.beta(3, 6, 2 * n_columns) * UNITS).astype(np.int64), 1, UNITS - 1)
    table = TwoWayTable(
        shape=(2, n_columns),
        type_ptr=np.arange(2 * n_columns + 1),
        type_people=people,
        type_rates=Rates(numerator=numerator, denominator=np.full(2 * n_columns, UNITS)),
    )
    cells = random.binomial(people, numerator / UNITS).reshape(2, n_columns)
    return table, np.concatenate((cells.sum(axis=1), cells.sum(axis=0), cells.ravel()))


def decide_two_rows(table: TwoWayTable, values: Ints) -> DecidedTree:
    return suppress_two_way(table, values, epsilon=EPSILON, decision_delta=share_delta(DELTA, values.size))


def decide_cells(table: Cells, threads: int) -> Decided:
    q = share_delta(DELTA, table.people.size)
    return suppress_cells(
        table.people, table.rates, table.values, epsilon=EPSILON, decision_delta=q, threads=threads
    )


def decide_by_sampling(table: Cells) -> Decided:
    q = share_delta(DELTA, table.people.size)
    return suppress_cells_sampled(
        table.people, table.rates, table.values, epsilon=EPSILON, decision_delta=q, key=KEY
    )


def decide_rows(table: Rows) -> Decided:
    q = share_delta(DELTA, table.values.size)
    return suppress_rows(
        table.people, table.ptr, table.rates, table.values, epsilon=EPSILON, decision_delta=q
    )


def seconds(decide: Callable[[], object], runs: int) -> list[float]:
    """Wall seconds of each run; one run beforehand compiles."""
    taken = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        decide()
        taken.append(time.perf_counter() - start)
    return taken[1:]


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", type=int, default=2_000_000)
    parser.add_argument("--rows", type=int, default=3143)
    parser.add_argument("--small", type=int, default=351, help="cells that are also decided by sampling")
    parser.add_argument(
        "--two-rows",
        type=int,
        nargs=2,
        action="append",
        metavar=("COLUMNS", "PEOPLE"),
        help="people of a cell",
    )
    parser.add_argument("--runs", type=int, default=3)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    print("| table | decisions | released | share of the people or flows in them | median s | range s |")
    print("|---|---|---|---|---|---|")
    cells = make_cells(chosen.cells, N_WORKERS / 2_000_000)
    for threads in (1, 2):
        name = f"yes-or-no cells, {threads} thread{'s'[: threads - 1]}"
        decided = decide_cells(cells, threads)
        show(name, decided, cells.people, seconds(partial(decide_cells, cells, threads), chosen.runs))
    rows = make_rows(chosen.rows)
    flows = decide_rows(rows)
    show("flows between counties", flows, rows.values, seconds(partial(decide_rows, rows), chosen.runs))
    for n_columns, mean in chosen.two_rows or TWO_ROWS:
        show_two_rows(n_columns, mean, chosen.runs)
    q = share_delta(DELTA, rows.values.size)
    dry = expected_rows(rows.people, rows.ptr, rows.rates, epsilon=EPSILON, decision_delta=q)
    print(f"\nA dry run of the flows agrees on {np.mean(dry == flows.released):.2%} of the decisions.\n")
    compare_with_sampling(make_cells(chosen.small, 500), chosen.runs)


def show_two_rows(n_columns: int, mean: int, runs: int) -> None:
    """One line of the first table, with both totals."""
    table, values = make_two_rows(n_columns, mean)
    found = decide_two_rows(table, values)
    cells = Decided(found.released[n_columns + 2 :], *found[1:4])
    show(
        f"2 × {n_columns} with both totals, {mean:,} people a cell ({values.size:,} decisions)",
        cells,
        table.type_people,
        seconds(partial(decide_two_rows, table, values), runs),
    )


def show(name: str, decided: Decided, people: Ints, taken: list[float]) -> None:
    """One line of the first table."""
    share = people[decided.released].sum() / people.sum()
    print(
        f"| {name} | {people.size:,} | {decided.released.mean():.1%} | {share:.1%} "
        f"| {statistics.median(taken):.2f} | {min(taken):.2f}–{max(taken):.2f} |"
    )


def compare_with_sampling(table: Cells, runs: int) -> None:
    """The second table: one thread, the same safe intervals."""
    samples, most = sampling_plan(share_delta(DELTA, table.people.size))
    exact, drawn = decide_cells(table, 1), decide_by_sampling(table)
    assert exact.low.tolist() == drawn.low.tolist()
    assert exact.high.tolist() == drawn.high.tolist()
    fast = statistics.median(seconds(partial(decide_cells, table, 1), 10 * runs))
    slow = statistics.median(seconds(partial(decide_by_sampling, table), runs))
    print(f"Sampling: {samples:,} samples a cell, at most {most} of them unsafe.\n")
    print("| rule | cells | released | s | times the exact rule |")
    print("|---|---|---|---|---|")
    print(f"| exact | {table.people.size} | {exact.released.sum()} | {fast:.5f} | 1 |")
    print(f"| sampled | {table.people.size} | {drawn.released.sum()} | {slow:.3f} | {slow / fast:,.0f} |")


if __name__ == "__main__":
    main()
