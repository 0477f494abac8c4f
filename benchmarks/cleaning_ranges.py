"""Cleaning with other commute ranges: `python -m benchmarks.cleaning_ranges [--dataset DIR] [--radii NEAR FAR]`.

One keyed draw of the exponential mechanism by cell, cleaned with several lists of ranges and compared with the
confidential homes. Distances are between tracts, and counted in ranges that differ from all lists.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from benchmarks import rhode_island
from engine.mechanisms.cleaning import CLEANED_RANGES_MI, clean_points
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed, SecretKey
from engine.validity import SMALL_WORKPLACE, cell_counts, kl_of_counts, total_variation
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.analyst.validity.tract_workers import Panel
from mapapp.kinds.release.make import drawn_points
from mapapp.kinds.release.make.batch import draw_workers
from mapapp.kinds.release.make.certified_weights import certify_weights
from mapapp.kinds.release.make.prior import PublicPrior
from mapapp.kinds.release.make.support import build_support

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SMALLEST = ("--dataset", "{dataset}", "--epsilon", "4")
FAR_STATES_MI: Final = 300.0
MEASURED_MI: Final = (0, 2, 5, 8, 12, 20, 30, 50, 80, 150, 400, 10**9)
CLASSES: Final = ((10, 49), (50, 99), (100, 499))
FINE: Final = (0.5, 1.0, 2.0, 4.0, 7.0, 10.0, 15.0, 25.0, 40.0, 60.0, 100.0, 200.0, 500.0, 1000.0)


@dataclass(kw_only=True)
class Sums:
    """Sums over workplace tracts; of workers unless said otherwise."""

    miles: Floats  # real and drawn
    in_range: Ints  # [2, ranges]
    measures: Floats  # workers times KL and share moved, of all and of small workplaces
    workers: Floats  # of all and of small workplaces
    flows: Floats  # [classes, 2]: pairs of tracts, and their squared errors

    @classmethod
    def none(cls) -> Sums:
        return cls(
            miles=np.zeros(2),
            in_range=np.zeros((2, len(MEASURED_MI) - 1), dtype=np.int64),
            measures=np.zeros((2, 2)),
            workers=np.zeros(2),
            flows=np.zeros((len(CLASSES), 2)),
        )

    def add(self, panel: Panel, home: Ints, n_tracts: int) -> None:
        """Add one part of the tracts, whose workers were drawn to live in the tracts `home`."""
        inputs = panel.inputs
        tract = np.repeat(inputs.tract, inputs.count).astype(np.int64)
        ptr = inputs.worker_ptr[inputs.destination_ptr]
        n = np.diff(ptr).astype(np.float64)
        both = [cell_counts(ptr, panel.cell[tract, where]) for where in (panel.home_tract, home)]
        weight = np.stack([n, n * (n <= SMALL_WORKPLACE)])
        self.measures += np.stack([kl_of_counts(*both), total_variation(*both)]) @ weight.T
        self.workers += weight.sum(axis=1)
        n_flows = inputs.destination_tract.size * n_tracts
        flows = []
        for at, where in enumerate((panel.home_tract, home)):
            miles = panel.distance_mi[tract, where]
            self.miles[at] += miles.sum()
            self.in_range[at] += np.histogram(miles, MEASURED_MI)[0]
            flows.append(np.bincount(tract * n_tracts + where, minlength=n_flows))
        for number, (least, most) in enumerate(CLASSES):
            mine = (flows[1] >= least) & (flows[1] <= most)
            error = (flows[1] - flows[0])[mine].astype(np.float64)
            self.flows[number] += (error.size, float((error**2).sum()))

    def row(self, name: str) -> str:
        """The measures as a row of the table."""
        n = self.workers[0]
        worst = 100 * np.abs(self.in_range[1] - self.in_range[0]).max() / n
        kl, moved = self.measures / np.maximum(self.workers, 1)
        errors = " / ".join(f"{np.sqrt(squares / max(times, 1)):.1f}" for times, squares in self.flows)
        return (
            f"| {name} | {self.miles[1] / n:.1f} (real {self.miles[0] / n:.1f}) | {worst:.1f} | {kl[0]:.3f} / "
            f"{kl[1]:.3f} | {100 * moved[0]:.1f} / {100 * moved[1]:.1f} | {errors} |"
        )


def compared(near: float, far: float) -> dict[str, tuple[float, ...] | None]:
    """Lists of ranges by name; None does not clean."""
    return {
        "not cleaned": None,
        "as released": CLEANED_RANGES_MI,
        "and the radii": tuple(sorted({*CLEANED_RANGES_MI, near, far})),
        "only the radii and 300 miles": tuple(sorted({near, far, FAR_STATES_MI})),
        "10 and 100 miles": (10.0, 100.0),
        "twice as many": FINE,
    }


def drawn_homes(
    data: AnalystData,
    panel: Panel,
    prior: PublicPrior,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    ranges: tuple[float, ...] | None,
) -> Ints:
    """Home tract of every synthetic worker of a part, cleaned with some ranges."""
    inputs, geography = panel.inputs, data.geography
    parameters = replace(parameters, clean=ranges is not None)
    support = build_support(
        PublicSeed.for_tests(), geography.tracts, inputs.destination_tract, prior, privacy, parameters
    )
    weights = certify_weights(inputs, support, privacy, parameters.mechanism).of_synthesizers()
    with patch.object(
        drawn_points, "clean_points", partial(clean_points, ranges_mi=ranges or CLEANED_RANGES_MI)
    ):
        drawn = draw_workers(SecretKey.for_tests(), inputs, geography, support, weights, privacy, parameters)
    return geography.tract_of_block[drawn.home_block].astype(np.int64)


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    rhode_island.add_dataset_options(parser)
    parser.add_argument("--epsilon", default="6.5")
    parser.add_argument("--radii", nargs=2, type=float, default=(16.0, 25.0), metavar=("NEAR", "FAR"))
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    near, far = chosen.radii
    privacy = PrivacyParameters(epsilon=chosen.epsilon, delta="1e-6", accountant="sound")
    with tempfile.TemporaryDirectory() as folder:
        data = AnalystData.open(rhode_island.given_or_imported(chosen, Path(folder)))
        parameters = SynthesisParameters(
            prior="gravity" if data.geography.flows.empty else "flows",
            mechanism="exponential",
            q75_mi=None,
            tract_radius_mi=near,
            puma_radius_mi=far,
            far_state_miles=FAR_STATES_MI,
        )
        prior = data.prior(parameters)
        lists = compared(near, far)
        sums = {name: Sums.none() for name in lists}
        for panel in data.panels():
            for name, ranges in lists.items():
                home = drawn_homes(data, panel, prior, privacy, parameters, ranges)
                sums[name].add(panel, home, data.geography.tracts.n_tracts)
    print(
        "| ranges | average commute, miles | largest error of a range, points | KL all / small | "
        "in another cell, % all / small | rmse of tract flows of 10–49 / 50–99 / 100–499 |"
    )
    print("|---|---|---|---|---|---|")
    for name, each in sums.items():
        print(each.row(name))


if __name__ == "__main__":
    main()
