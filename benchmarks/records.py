"""Trying candidates: `python -m benchmarks.records [--seeds N ...] [--tries N] [--runs N] [--promises]`.

Generated workers with the attributes of Rhode Island's: work PUMA, home PUMA, industry, earnings, age, work tract,
and distance band, the first four kept. One thread, processor time. First the time of a candidate against the number
of seeds. Then counting plausible seeds by a look-up, against compiled scans of all seeds: one that computes the
chance of every seed, as the paper's authors' tool does, and one that stops at the first kept attribute that differs.
With `--promises`, what tries cost by the sound accountant and by Theorem 1; nothing random enters that.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.jit import lean_jit
from engine.kernels.arrays import Indices, Ints
from engine.records.acceptance import Acceptance
from engine.records.candidates import draw_candidates
from engine.records.choosing import TriesPlan, best_threshold_epsilon
from engine.records.drawing import draw_records
from engine.records.groups import GroupTable
from engine.records.kernels.candidates import GroupArrays, group_size
from engine.records.kernels.model import ModelTables, configuration_of
from engine.records.structure import Structure
from engine.records.tables import Model, learn_model
from engine.records.theorem_one import best_paper_promise
from engine.streams import SecretKey

SMALLEST: Final = ("--seeds", "500", "--tries", "400", "--runs", "1", "--promises")
DOMAIN: Final = (7, 138, 3, 3, 3, 241, 7)
PARENTS: Final = ((), (0,), (0, 1), (0, 1, 2), (0, 1, 2, 3), (0, 2), (0, 1))
KEPT: Final = 4
KEY: Final = SecretKey.for_tests()
SCANNED: Final = 12
"""Candidates whose seeds are counted by a scan."""
PROMISED: Final = (
    (10_000, 500),
    (100_000, 500),
    (100_000, 2000),
    (476_789, 500),
    (476_789, 1000),
    (476_789, 2000),
)
N_WORKERS: Final = 476_789


class World(NamedTuple):
    """Seeds, their groups, and a model of them."""

    seeds: npt.NDArray[np.int32]
    groups: GroupTable
    model: Model
    acceptance: Acceptance


def make_world(n: int) -> World:
    """Workers whose homes are near their work: shares of PUMAs fall like those of a state's."""
    rng = np.random.default_rng(1)
    work = np.minimum(rng.geometric(0.3, n) - 1, 6)
    home = np.minimum(rng.geometric(0.12, n) - 1 + 3 * work, 137)
    small = [rng.binomial(2, 0.3 + 0.05 * (work % 3)) for _ in range(3)]
    tract = np.minimum(rng.geometric(0.03, n) - 1 + 20 * work, 240)
    band = np.minimum(np.abs(home - 3 * work) // 3, 6)
    seeds = np.stack([work, home, *small, tract, band], axis=1).astype(np.int32)
    model = learn_model(seeds, Structure(domain=DOMAIN, parents=PARENTS), epsilon=1, key=KEY)
    k = max(2, min(1000, n // 300))
    rate = Fraction(35, 2) / k
    acceptance = Acceptance(min_plausible_seeds=k, threshold_epsilon=rate, forced_fail="0.02")
    return World(seeds, GroupTable.of(seeds[:, :KEPT], DOMAIN[:KEPT]), model, acceptance)


@lean_jit
def scan_chances(candidates: Indices, seeds: Indices, kept: int, model: ModelTables, counts: Ints) -> None:
    """Count the seeds whose chance of a candidate is above 0, computing the chance of every seed."""
    families, sums = model.families, model.sums
    for at in range(candidates.shape[0]):
        row, n_plausible = candidates[at], 0
        for seed in range(seeds.shape[0]):
            chance = 1.0
            for attribute in range(kept):
                chance *= row[attribute] == seeds[seed, attribute]
            for attribute in range(kept, row.size):
                number = configuration_of(families, attribute, row)
                start, stop = families.cell_ptr[number], families.cell_ptr[number + 1]
                cell = start + row[attribute] - families.first[number]
                weight = sums[cell] - (sums[cell - 1] if cell > start else 0)
                chance *= weight / sums[stop - 1]
            n_plausible += chance > 0
        counts[at] = n_plausible


@lean_jit
def scan_kept(candidates: Indices, seeds: Indices, kept: int, counts: Ints) -> None:
    """Count the seeds that agree on the kept attributes, each up to the first difference."""
    for at in range(candidates.shape[0]):
        n_plausible = 0
        for seed in range(seeds.shape[0]):
            attribute = 0
            while attribute < kept and candidates[at, attribute] == seeds[seed, attribute]:
                attribute += 1
            n_plausible += attribute == kept
        counts[at] = n_plausible


@lean_jit
def look_up(candidates: Indices, groups: GroupArrays, counts: Ints) -> None:
    """Count the seeds of every candidate by the group table."""
    for at in range(candidates.shape[0]):
        counts[at] = group_size(groups, candidates[at])


def seconds(act: Callable[[], object], runs: int) -> float:
    """Median processor seconds; one run beforehand compiles."""
    taken = []
    for _ in range(runs + 1):
        start = time.process_time()
        act()
        taken.append(time.process_time() - start)
    return statistics.median(taken[1:])


def show_candidates(world: World, tries: int, runs: int) -> float:
    """One line of the first table; seconds of a candidate."""
    draw = partial(
        draw_candidates, world.seeds, world.groups, world.acceptance, world.model, n=tries, key=KEY
    )
    passed = draw().n_passed
    each = seconds(draw, runs) / tries
    table = seconds(lambda: GroupTable.of(world.seeds[:, :KEPT], DOMAIN[:KEPT]), runs)
    n = world.seeds.shape[0]
    print(f"| {n:,} | {passed / tries:.3f} | {each * 1e6:.2f} | {table / each:,.0f} |")
    return each


def show_counting(world: World, candidate_s: float, runs: int) -> None:
    """The second table: seconds for each candidate, and how many look-ups or candidates that is."""
    records = draw_records(world.model, 20_000, key=KEY)
    counts = np.empty(records.shape[0], dtype=np.int64)
    arrays, few = world.groups.arrays, records[:SCANNED]
    by_table = seconds(lambda: look_up(records, arrays, counts), 5 * runs) / records.shape[0]
    whole, early = np.empty((2, SCANNED), dtype=np.int64)
    scanned = seconds(lambda: scan_chances(few, world.seeds, KEPT, world.model.tables, whole), runs) / SCANNED
    stopped = seconds(lambda: scan_kept(few, world.seeds, KEPT, early), runs) / SCANNED
    assert whole.tolist() == early.tolist() == counts[:SCANNED].tolist()
    print(
        "\n| counting the seeds of a candidate | µs | times a look-up | whole candidate, times one with a look-up |"
    )
    print("|---|---|---|---|")
    for name, each in (
        ("scan, the chance of every seed", scanned),
        ("scan, kept attributes up to the first difference", stopped),
        ("look-up", by_table),
    ):
        with_rest = (candidate_s + each) / candidate_s if each > by_table else 1.0
        print(f"| {name} | {each * 1e6:,.3f} | {each / by_table:,.0f} | {with_rest:,.0f} |")


def show_promises() -> None:
    """The third table, with the best rate of noise for each accountant."""
    print(
        "\n| tries | k | Theorem 1, composed | sound | sound, similarity 1 | the same, one record replaced |"
    )
    print("|---|---|---|---|---|---|")
    for tries, k in PROMISED:
        found = []
        for similarity in (4, 1):
            plan = TriesPlan(
                n_min=N_WORKERS, n_tries=tries, delta="1e-6", forced_fail="0.02", similarity=similarity
            )
            rate = best_threshold_epsilon(k, plan)
            acceptance = Acceptance(min_plausible_seeds=k, threshold_epsilon=rate, forced_fail="0.02")
            found.append(plan.promise(acceptance))
        by_theorem = best_paper_promise(k, similarity=4, n_tries=tries, delta="1e-6")
        paper = math.inf if by_theorem is None else by_theorem.epsilon
        sound = [f"{float(one.epsilon):.2f}" for one in found]
        replaced = f"{float(found[1].epsilon_replace_one):.2f}"
        print(f"| {tries:,} | {k:,} | {paper:,.0f} | {' | '.join(sound)} | {replaced} |")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[3000, 30_000, 300_000, 3_000_000])
    parser.add_argument("--tries", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--promises", action="store_true", help="also print what tries cost")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    print("| seeds | passed | µs a candidate | building the table, in candidates |")
    print("|---|---|---|---|")
    shown: tuple[World, float] | None = None
    for n in chosen.seeds:
        world = make_world(n)
        each = show_candidates(world, chosen.tries, chosen.runs)
        if shown is None or n <= 300_000:
            shown = world, each
    if shown is not None:
        show_counting(*shown, chosen.runs)
    if chosen.promises:
        show_promises()


if __name__ == "__main__":
    main()
