"""What `--design auto` chooses by drawing: `python -m benchmarks.drawn_design [--data DIR | --dataset DIR] [--rows N]`.

For several promises: the setting that is chosen from public data, alone or among mechanisms and units, the share of
workers that it is expected to misplace on simulated homes, what it misplaces on the real ones, the runner-up, and the
processor time of the choice. Far states are pooled from 300 miles on, and the exponential mechanism cleans. The last
column is confidential for any dataset but this one, whose homes are public.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import rhode_island
from engine.parameters import Mechanism, SynthesisParameters, Unit
from engine.precompile import ensure_compiled
from geodata.store.store import Store, open_store
from mapapp.kinds.base.geography import read_workplaces
from mapapp.kinds.base.inputs import WorkplaceCounts, read_inputs
from mapapp.kinds.release.choose.design_by_reader_errors import COMPARED_MECHANISMS, design_by_drawing
from mapapp.kinds.release.choose.expected_validity import HomeTracts, grid_around
from mapapp.kinds.release.choose.misplacement import Misplacement
from mapapp.kinds.release.choose.public_part import PublicPart, Towns, read_public_part

CELL: tuple[Unit, ...] = ("cell",)
UNITS: tuple[Unit, ...] = ("cell", "block", "tract")
ALONE: tuple[Mechanism, ...] = ()
CHOICES: tuple[tuple[str, tuple[Unit, ...], tuple[Mechanism, ...]], ...] = (
    ("4", CELL, ALONE),
    ("6.5", CELL, ALONE),
    ("8.98", CELL, ALONE),
    ("2", CELL, COMPARED_MECHANISMS),
    ("4", CELL, COMPARED_MECHANISMS),
    ("6.5", CELL, COMPARED_MECHANISMS),
    ("8.98", CELL, COMPARED_MECHANISMS),
    ("1", UNITS, COMPARED_MECHANISMS),
    ("2", UNITS, COMPARED_MECHANISMS),
    ("4", UNITS, COMPARED_MECHANISMS),
    ("6.5", UNITS, COMPARED_MECHANISMS),
)
BASE = SynthesisParameters(mechanism="exponential", far_state_miles=300.0, clean=True)
SMALLEST = ("--dataset", "{dataset}", "--rows", "1")


def real_homes(store: Store, public: PublicPart, towns: Towns) -> Misplacement:
    """All workers of a dataset at their real homes."""
    workplaces = read_workplaces(store, public.geography, n_batches=1)
    inputs = read_inputs(store, public.geography, workplaces, 0)
    homes = HomeTracts(
        cell=grid_around(public.geography.tracts, inputs.destination_tract)[1],
        origin_tract=public.geography.tract_of_block[inputs.worker_origin].astype(np.int64),
    )
    everybody = PublicPart(
        geography=public.geography, workplaces=workplaces, sample=WorkplaceCounts.of(inputs), towns=towns
    )
    return Misplacement(everybody, BASE, homes)


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drawn_design", description=__doc__)
    rhode_island.add_dataset_options(parser)
    parser.add_argument("--rows", type=int, default=len(CHOICES), help="choices to make")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    options = argument_parser().parse_args(arguments)
    ensure_compiled(lambda: None)
    print("| epsilon | units | chosen | radii, mi | settings | expected | real homes | runner-up | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(rhode_island.given_or_imported(options, Path(folder)), "dataset")
        public = read_public_part(store)
        real = real_homes(store, public, public.towns)
        for epsilon, units, mechanisms in CHOICES[: options.rows]:
            began = time.process_time()
            privacy, chosen, facts = design_by_drawing(
                public, epsilon, base=BASE, units=units, mechanisms=mechanisms
            )
            seconds = time.process_time() - began
            name = f"{chosen.mechanism} by {chosen.unit}" if mechanisms else f"({chosen.mechanism})"
            radii = " / ".join(f"{radius:g}" for radius in chosen.coarsening_radii_mi)
            print(
                f"| {epsilon} | {', '.join(units)} | {name} | {radii} | {facts['settings_tried']} "
                f"| {facts['expected_misplaced']:.1%} | {real.count_misplaced(privacy, chosen).share:.1%} "
                f"| {facts['runner_up']}: {facts['expected_misplaced_of_runner_up']:.1%} | {seconds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
