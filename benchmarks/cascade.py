"""The cascade beside plain draws: `python -m benchmarks.cascade [--dataset DIR] [--epsilon E] [--radii NEAR FAR]`.

Draws of the exponential mechanism under fixed keys, with and without the cascade and never cleaned, compared with the
confidential homes. Distances are between tracts.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks import rhode_island
from benchmarks.cleaning_ranges import FAR_STATES_MI, Sums
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed, SecretKey, attempt_key
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.kinds.release.make.batch import SynthesisSource, ThreadRunner, open_source
from mapapp.kinds.release.make.cascade import CascadeRunner

Ints = npt.NDArray[np.int64]

SMALLEST = ("--dataset", "{dataset}", "--draws", "1", "--units", "block")
UNITS: Final = ("block", "cell")


def drawn_homes(source: SynthesisSource, key: SecretKey) -> tuple[Ints, Ints]:
    """Workplace and home block of every synthetic worker, by workplace and segment."""
    kind = CascadeRunner if source.parameters.cascade else ThreadRunner
    runner = kind(source, threads=os.cpu_count() or 1)
    runner.certify()
    if isinstance(runner, CascadeRunner):
        for _ in runner.labels(key):
            pass
    work, home = [], []
    for part in runner.jobs(key):
        count = part["count"].astype(np.int64)
        work.append(np.repeat(part["destination_index"], count))
        home.append(np.repeat(part["origin_index"], count))
    return np.concatenate(work).astype(np.int64), np.concatenate(home).astype(np.int64)


def measure(data: AnalystData, source: SynthesisSource, n_draws: int) -> Sums:
    """Add up some draws, each under a key of its own."""
    sums = Sums.none()
    for draw in range(1, n_draws + 1):
        work, home = drawn_homes(source, attempt_key(SecretKey.for_tests(), draw))
        for panel in data.panels():
            here = np.isin(work, panel.inputs.destination)
            tract = data.geography.tract_of_block[home[here]].astype(np.int64)
            sums.add(panel, tract, data.geography.tracts.n_tracts)
    return sums


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    rhode_island.add_dataset_options(parser)
    parser.add_argument("--epsilon", default="4")
    parser.add_argument("--radii", nargs=2, type=float, default=(12.0, 25.0), metavar=("NEAR", "FAR"))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--units", nargs="+", choices=UNITS, default=UNITS)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    near, far = chosen.radii
    privacy = PrivacyParameters(epsilon=chosen.epsilon, delta="1e-6", accountant="sound")
    with tempfile.TemporaryDirectory() as folder:
        data = AnalystData.open(rhode_island.given_or_imported(chosen, Path(folder)))
        plain = SynthesisParameters(
            mechanism="exponential",
            editing="none",
            q75_mi=None,
            tract_radius_mi=near,
            puma_radius_mi=far,
            far_state_miles=FAR_STATES_MI,
        )
        print(
            "| unit, cascade | average commute, miles | largest error of a range, points | KL all / small | "
            "in another cell, % all / small | rmse of tract flows read as 10–49 / 50–99 / 100–499 |"
        )
        print("|---|---|---|---|---|---|")
        for unit in chosen.units:
            for cascade in (False, True):
                parameters = replace(plain, unit=unit, cascade=cascade)
                source = open_source(
                    data.store, PublicSeed.for_tests(), privacy, parameters, threads=os.cpu_count() or 1
                )
                name = f"{unit}, {'on' if cascade else 'off'}"
                print(measure(data, source, chosen.draws).row(name), flush=True)


if __name__ == "__main__":
    main()
