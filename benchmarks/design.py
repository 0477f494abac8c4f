"""Validity by closed form, and the designed setting, on Rhode Island: `python -m benchmarks.design [--data DIR]`.

Destinations are blocks; KL is between the real home tracts and the posterior expectation on the grid of 29 cells around
the workplace tract, weighted by workers; a small destination has 1 to 9. The first table has RI, MA and CT alone, as in
other people's measurements, and every destination's workers in one synthesizer.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.domain_editing import commutemap
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from geodata.store import open_store
from mapapp.pipeline.expected import Expected, Homes, expected_validity, grid_of
from mapapp.pipeline.inputs import Inputs, read_inputs

WHOLE_EARTH_MI = 12_500.0

REFERENCE = (
    ("paper", "4.6", 6.9, 22.6, "0.248"),
    ("sound", "8.98", 6.9, 22.6, "0.241"),
    ("sound", "8.98", 10.0, 30.0, "0.110"),
    ("sound", "8.98", 15.0, 40.0, "0.085"),
    ("sound", "8.98", 25.0, 60.0, "0.043"),
    ("sound", "8.98", WHOLE_EARTH_MI, WHOLE_EARTH_MI, "0.244"),
    ("sound", "7.0", 10.0, 30.0, "0.18"),
)


def one_segment(inputs: Inputs) -> Inputs:
    """All segments of a destination in one synthesizer."""
    first = np.flatnonzero(np.diff(inputs.destination, prepend=-1))
    return replace(
        inputs,
        destination=inputs.destination[first],
        segment=np.zeros_like(first),
        tract=inputs.tract[first],
        worker_ptr=np.append(inputs.worker_ptr[first], inputs.worker_ptr[-1]),
    )


def without_elsewhere(inputs: Inputs) -> Inputs:
    """Only the imported states: workers who live in other states, and those units, left out."""
    elsewhere = inputs.tracts["elsewhere"].to_numpy(bool)
    row = np.cumsum(~elsewhere) - 1
    blocks = inputs.blocks.assign(tract_index=row[inputs.tract_of_block])
    stays = ~elsewhere[inputs.tract_of_block[inputs.worker_origin]]
    synthesizer = np.repeat(np.arange(inputs.destination.size), inputs.count)[stays]
    used, count = np.unique(synthesizer, return_counts=True)
    tract_of_destination = row[inputs.destination_tract[inputs.tract[used]]]
    destination_tract, tract = np.unique(tract_of_destination, return_inverse=True)
    return replace(
        inputs,
        blocks=blocks,
        tracts=inputs.tracts[~elsewhere].reset_index(drop=True),
        prior=inputs.prior.iloc[:0],
        destination_tract=destination_tract,
        destination=inputs.destination[used],
        segment=inputs.segment[used],
        tract=tract.astype(np.int32),
        worker_ptr=np.append(0, np.cumsum(count)),
        worker_origin=inputs.worker_origin[stays],
    )


def real_homes(inputs: Inputs) -> Homes:
    return Homes(cell=grid_of(inputs), origin_tract=inputs.tract_of_block[inputs.worker_origin])


def uniform_setting(
    accountant: str, epsilon: str, tract_radius_mi: float, puma_radius_mi: float
) -> tuple[PrivacyParameters, SynthesisParameters]:
    """Equal weights at the least alpha, min_retention 0.025."""
    privacy = PrivacyParameters(
        epsilon=epsilon,
        delta="1e-6",
        min_retention="0.025",
        accountant=accountant,  # type: ignore[arg-type]  # one of the literals
    )
    parameters = SynthesisParameters(
        prior="uniform",
        strength=0.0,
        retention_scale=0.0,
        tract_radius_mi=tract_radius_mi,
        puma_radius_mi=puma_radius_mi,
    )
    return privacy, parameters


def measured(
    inputs: Inputs, homes: Homes, setting: tuple[PrivacyParameters, SynthesisParameters]
) -> Expected:
    return expected_validity(PublicSeed.for_tests(), inputs, homes, *setting)


def reference_table(inputs: Inputs, homes: Homes) -> None:
    print("| accountant | epsilon | radii, mi | support points | KL all | KL small | KL small, elsewhere |")
    print("|---|---|---|---|---|---|---|")
    for accountant, epsilon, near, far, theirs in REFERENCE:
        found = measured(inputs, homes, uniform_setting(accountant, epsilon, near, far))
        radii = "none" if near == WHOLE_EARTH_MI else f"{near:g} / {far:g}"
        row = f"| {accountant} | {epsilon} | {radii} | {found.n_support:.0f} | {found.kl_all:.4f} "
        print(row + f"| {found.kl_small:.4f} | {theirs} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--dataset", type=Path, help="a dataset of Rhode Island, instead of importing --data")
    options = parser.parse_args()
    if options.dataset is None and not options.data.is_dir():
        sys.exit(f"no {options.data}: name the folder of Census files with --data")
    with tempfile.TemporaryDirectory() as folder:
        dataset = options.dataset or Path(folder) / "ri.dataset"
        if options.dataset is None:
            commutemap("import", dataset, "--from", options.data)
        inputs = read_inputs(open_store(dataset, "dataset"))
    three_states = one_segment(without_elsewhere(inputs))
    reference_table(three_states, real_homes(three_states))


if __name__ == "__main__":
    main()
