"""Validity by closed form, and the designed setting, on Rhode Island: `python -m benchmarks.design [--data DIR]`.

Destinations are blocks; KL is between the real home tracts and the posterior expectation on the grid of 29 cells around
the workplace tract, weighted by workers; a small destination has 1 to 9. The first table has RI, MA and CT alone and
every destination's workers in one synthesizer, as in other people's measurements, which stand beside it. The second
has the settings that `mapapp.kinds.release.choose.design_by_validity` chooses from public data, what it expects of them
on simulated homes, and what they come to on the real ones. The third asks how much the choice depends on the simulated
homes, the fourth what strength and retention can do at fixed radii.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks import rhode_island
from benchmarks.imported_states import geography_without, jobs_without, tracts_elsewhere
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from geodata.store.schema import N_SEGMENTS
from geodata.store.store import Store, open_store
from mapapp.kinds.base.geography import Geography, Workplaces, read_geography, read_workplaces
from mapapp.kinds.base.inputs import WorkplaceCounts, segment_of
from mapapp.kinds.release.choose.design_by_validity import WHOLE_EARTH_MI, design_parameters
from mapapp.kinds.release.choose.expected_validity import Expected, HomeTracts, expected_validity, grid_around
from mapapp.kinds.release.choose.public_part import PublicPart, Towns
from mapapp.kinds.release.make.prior import public_prior

REFERENCE = (
    ("paper", "4.6", 6.9, 22.6, "0.248"),
    ("sound", "8.98", 6.9, 22.6, "0.241"),
    ("sound", "8.98", 10.0, 30.0, "0.110"),
    ("sound", "8.98", 15.0, 40.0, "0.085"),
    ("sound", "8.98", 25.0, 60.0, "0.043"),
    ("sound", "8.98", WHOLE_EARTH_MI, WHOLE_EARTH_MI, "0.244"),
    ("sound", "7.0", 10.0, 30.0, "0.18"),
)
SMALLEST = ("--dataset", "{dataset}", "--rows", "1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """A dataset, or a part of one, with its real homes."""

    geography: Geography
    workplaces: Workplaces
    counts: WorkplaceCounts
    homes: HomeTracts


def read_workers(store: Store, *, elsewhere: bool) -> Workers:
    """All workers; without `elsewhere` only the imported states, units and workers of others left out."""
    geography = read_geography(store)
    workplaces = read_workplaces(store, geography)
    is_out = tracts_elsewhere(store) & (not elsewhere)
    jobs = jobs_without(store, geography, is_out)
    order = np.lexsort((segment_of(jobs), jobs["destination_index"]))
    jobs = jobs.iloc[np.repeat(order, jobs["count"].to_numpy()[order])]
    kept = geography_without(geography, is_out)
    synthesizer = jobs["destination_index"].to_numpy(np.int64) * N_SEGMENTS + segment_of(jobs)
    distinct, count = np.unique(synthesizer, return_counts=True)
    tract_of = kept.tract_of_block[distinct // N_SEGMENTS].astype(np.int64)
    destination_tract, tract = np.unique(tract_of, return_inverse=True)
    return Workers(
        geography=kept,
        workplaces=replace(
            workplaces, tract=destination_tract, n_workers=np.bincount(tract, count).astype(np.int64)
        ),
        counts=WorkplaceCounts(
            destination_tract=destination_tract,
            destination=distinct // N_SEGMENTS,
            segment=distinct % N_SEGMENTS,
            tract=tract.astype(np.int32),
            count=count,
        ),
        homes=HomeTracts(
            cell=grid_around(kept.tracts, destination_tract)[1],
            origin_tract=kept.tract_of_block[jobs["origin_index"]].astype(np.int64),
        ),
    )


def one_segment(workers: Workers) -> Workers:
    """All segments of a destination in one synthesizer."""
    counts = workers.counts
    first = np.flatnonzero(np.diff(counts.destination, prepend=-1))
    merged = replace(
        counts,
        destination=counts.destination[first],
        tract=counts.tract[first],
        count=np.add.reduceat(counts.count, first),
    )
    return replace(workers, counts=merged)


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


def measured(workers: Workers, privacy: PrivacyParameters, parameters: SynthesisParameters) -> Expected:
    prior = public_prior(workers.geography, workers.workplaces, parameters)
    seed, tracts = PublicSeed.for_tests(), workers.geography.tracts
    return expected_validity(seed, tracts, prior, workers.counts, workers.homes, privacy, parameters)


def reference_table(workers: Workers, most: int | None) -> None:
    print("| accountant | epsilon | radii, mi | support points | KL all | KL small | KL small, elsewhere |")
    print("|---|---|---|---|---|---|---|")
    for accountant, epsilon, near, far, theirs in REFERENCE[:most]:
        found = measured(workers, *uniform_setting(accountant, epsilon, near, far))
        row = f"| {accountant} | {epsilon} | {radii_of(near, far)} | {found.n_support:.0f} | {found.kl_all:.4f} "
        print(row + f"| {found.kl_small:.4f} | {theirs} |", flush=True)


def radii_of(near: float, far: float) -> str:
    return " / ".join("none" if mi == WHOLE_EARTH_MI else f"{mi:g}" for mi in (near, far))


def default_row(name: str, workers: Workers, epsilon_final: str) -> None:
    privacy = PrivacyParameters(
        epsilon=epsilon_final, delta="1e-6", min_retention="0.025", accountant="sound"
    )
    found = measured(workers, privacy, SynthesisParameters(prior="gravity"))
    row = (
        f"| {name}, default setting | {epsilon_final} | 6.23 / 21.54 | 0.025 | 1 | {found.n_support:.0f} | | "
    )
    print(row + f"| {found.kl_all:.4f} | {found.kl_small:.4f} | |", flush=True)


def designed_row(name: str, workers: Workers, epsilon_final: str, concentration: float = 25.0) -> None:
    public = PublicPart(
        geography=workers.geography,
        workplaces=workers.workplaces,
        sample=workers.counts,
        towns=Towns.of_pumas(workers.geography.tracts),
    )
    began = time.perf_counter()
    privacy, parameters, facts = design_parameters(public, epsilon_final, "1e-6", concentration=concentration)
    seconds = time.perf_counter() - began
    found = measured(workers, privacy, parameters)
    chosen = f"{radii_of(*parameters.coarsening_radii_mi)} | {float(privacy.min_retention):g} | {parameters.strength:g}"
    row = f"| {name} | {epsilon_final} | {chosen} | {found.n_support:.0f} | {facts['expected_kl_all']:.4f} "
    row += f"| {facts['expected_kl_small']:.4f} | {found.kl_all:.4f} | {found.kl_small:.4f} | {seconds:.0f} |"
    print(row, flush=True)


def design_header() -> None:
    print(
        "\n| workers | epsilon_final | radii, mi | min_retention | strength | support points | expected KL all ",
        end="",
    )
    print("| small | real KL all | small | s |\n" + "|---" * 11 + "|")


def design_tables(three_states: Workers, everybody: Workers, most: int | None) -> None:
    variants = (
        ("RI, MA, CT, one synthesizer", one_segment(three_states)),
        ("RI, MA, CT, 27 segments", three_states),
        ("all states, one synthesizer", one_segment(everybody)),
        ("all states, 27 segments", everybody),
    )
    design_header()
    for (name, workers), epsilon_final in list(product(variants, ("8.98", "7", "6.5", "6")))[:most]:
        designed_row(name, workers, epsilon_final)
    default_row("all states, 27 segments", everybody, "8.98")
    design_header()
    for concentration, epsilon_final in list(product((5.0, 25.0, np.inf), ("8.98", "6.5")))[:most]:
        name = f"all states, 27 segments, concentration {concentration:g}"
        designed_row(name, everybody, epsilon_final, concentration)


def tuned_table(workers: Workers, most: int | None) -> None:
    """Strength and retention at fixed radii: what they can and cannot do."""
    print(
        "\n| epsilon_final | radii, mi | min_retention | strength | KL all | KL small |\n" + "|---" * 6 + "|"
    )
    for epsilon_final, near, far in (("8.98", 25.0, 40.0), ("6.5", 12.0, 25.0)):
        settings = [("1", strength) for strength in (0.0, 0.02, 0.1, 0.3, 1.0)]
        for least, strength in [*settings, ("0.3", 0.0), ("0.1", 0.0), ("0.025", 0.0)][:most]:
            privacy = PrivacyParameters(
                epsilon=epsilon_final, delta="1e-6", min_retention=least, accountant="sound"
            )
            parameters = SynthesisParameters(
                strength=strength, retention_scale=0.0, tract_radius_mi=near, puma_radius_mi=far
            )
            found = measured(workers, privacy, parameters)
            row = f"| {epsilon_final} | {radii_of(near, far)} | {least} | {strength:g} | {found.kl_all:.4f} "
            print(row + f"| {found.kl_small:.4f} |", flush=True)


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    rhode_island.add_dataset_options(parser)
    parser.add_argument("--rows", type=int, help="largest number of rows in each table")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    options = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(rhode_island.given_or_imported(options, Path(folder)), "dataset")
        three_states, everybody = (read_workers(store, elsewhere=elsewhere) for elsewhere in (False, True))
    reference_table(one_segment(three_states), options.rows)
    design_tables(three_states, everybody, options.rows)
    tuned_table(one_segment(three_states), options.rows)


if __name__ == "__main__":
    main()
