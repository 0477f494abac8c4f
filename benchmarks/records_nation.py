"""Records of a nation in chunks, by the engine alone: `python -m benchmarks.records_nation [--workers N]`.

Invents workers of 2,351 PUMAs with tracts, chunk by chunk, counts them into the tables of the public structure, learns
the model, and draws as many records, chunk by chunk; then tries candidates from a share of the workers as seeds.
Prints processor seconds and seconds by the clock of each step, and the peak of memory. Budget: 10 minutes and 8 GiB for
140 million workers, and 60 s for 10 million tries.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.replications import line, table
from engine.records.acceptance import Acceptance
from engine.records.candidates import draw_candidates
from engine.records.drawing import draw_records
from engine.records.groups import GroupTable
from engine.records.structure import COMMUTE_PARENTS, Possible, PublicStructure, public_structure
from engine.records.tables import Codes, FamilyCounts, Model, learn_model
from engine.streams import SecretKey

SMALLEST: Final = ("--workers", "20000", "--pumas", "40", "--tries", "2000")
KEY: Final = SecretKey.for_tests()
CHUNK: Final = 1 << 20
TRACTS_EACH: Final = 31
STATES: Final = 51
BANDS: Final = 7
KEPT: Final = 2

Ints = npt.NDArray[np.int64]


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=140_000_000)
    parser.add_argument("--pumas", type=int, default=2_351)
    parser.add_argument("--tries", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=2)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    table(
        f"{chosen.workers:,} workers, {chosen.threads} threads",
        "seconds",
        "processor seconds",
        "peak GiB so far",
    )
    with measured("public structure"):
        public = structure_of(chosen.pumas, chosen.workers)
    counts, invented = FamilyCounts(public.structure), [0.0]
    with measured("inventing the workers and counting them"):
        for first in range(0, chosen.workers, CHUNK):
            start = time.perf_counter()
            codes = invented_workers(min(CHUNK, chosen.workers - first), chosen.pumas, first)
            invented[0] += time.perf_counter() - start
            counts.add(codes, threads=chosen.threads)
    line("of that, inventing them", f"{invented[0]:.1f}", "–", "–")
    with measured("model"):
        model = learn_model(counts, public.structure, epsilon=1, key=KEY, threads=chosen.threads)
    with measured("drawing as many records"):
        for first in range(0, chosen.workers, CHUNK):
            n = min(CHUNK, chosen.workers - first)
            draw_records(model, n, first=first, key=KEY, threads=chosen.threads)
    try_candidates(model, chosen)
    cells = public.structure.families.cell_ptr[-1]
    print(f"\n{cells:,} cells; parents {public.structure.parents}; coarsened {public.coarsened}")
    print(f"dropped {public.dropped}")


def try_candidates(model: Model, chosen: argparse.Namespace) -> None:
    """Candidates from a chunk of seeds: their cost does not depend on the number of seeds."""
    seeds = invented_workers(min(8 * CHUNK, chosen.workers), chosen.pumas, 0)
    acceptance = Acceptance(min_plausible_seeds=500, threshold_epsilon="0.035", forced_fail="0.02")
    with measured(f"group table of {len(seeds):,} seeds"):
        groups = GroupTable.of(seeds[:, :KEPT], model.structure.domain[:KEPT])
    with measured(f"{chosen.tries:,} tries, {KEPT} attributes kept"):
        for first in range(0, chosen.tries, CHUNK):
            n = min(CHUNK, chosen.tries - first)
            draw_candidates(
                seeds, groups, acceptance, model, n=n, first=first, key=KEY, threads=chosen.threads
            )


def structure_of(n_pumas: int, n_workers: int) -> PublicStructure:
    """The public structure of commutes, where parents that have no room enter by states."""
    names = list(COMMUTE_PARENTS)
    domain = (n_pumas, n_pumas, 3, 3, 3, n_pumas * TRACTS_EACH, BANDS)
    tracts = np.arange(n_pumas * TRACTS_EACH) // TRACTS_EACH
    state = np.arange(n_pumas) * STATES // n_pumas
    return public_structure(
        domain,
        [[names.index(parent) for parent in parents] for parents in COMMUTE_PARENTS.values()],
        n_workers,
        coarser={0: state, 1: state},
        possible=[
            Possible(attribute=5, given=(0,), table=tracts[None, :] == np.arange(n_pumas)[:, None]),
        ],
    )


def invented_workers(n: int, n_pumas: int, seed: int) -> Codes:
    """Workers who live near their work, most often."""
    rng = np.random.default_rng(seed)
    codes = np.empty((n, 7), dtype=np.int32)
    work = rng.integers(0, n_pumas, n)
    away = (rng.standard_exponential(n) ** 3).astype(np.int64)
    home = (work + away) % n_pumas
    codes[:, 0], codes[:, 1] = work, home
    codes[:, 2] = (work + rng.integers(0, 2, n)) % 3
    codes[:, 3] = (home + codes[:, 2] + rng.integers(0, 2, n)) % 3
    codes[:, 4] = (codes[:, 3] + rng.integers(0, 3, n)) % 3
    codes[:, 5] = work * TRACTS_EACH + rng.integers(0, TRACTS_EACH, n)
    codes[:, 6] = np.minimum(away, BANDS - 1)
    return codes


@contextmanager
def measured(name: str) -> Iterator[None]:
    """Print what a step costs."""
    start, spent = time.perf_counter(), time.process_time()
    yield
    wall, spent = time.perf_counter() - start, time.process_time() - spent
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    line(name, f"{wall:.1f}", f"{spent:.1f}", f"{peak:.2f}")


if __name__ == "__main__":
    main()
