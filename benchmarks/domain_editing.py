"""Support points and domain editing on Rhode Island: `python -m benchmarks.domain_editing [--data DIR]`.

Two releases. The first has the gravity prior, which gives every populated place some mass, so that nothing is edited.
The second takes the first as its prior ("last year's release", `--prior-release`), as OnTheMap did from 2003 on: its
zeros are what editing works on. Prints support points by level and the share of confidential workers whose support
point was eliminated, which only the analyst may see.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import rhode_island
from benchmarks.commands import commutemap_json
from engine.parameters import Prior, PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from geodata.store.store import open_store
from mapapp.kinds.release.make.batch import open_source

LEVELS = ("tract", "PUMA", "SuperPUMA", "remainder")
SMALLEST = ("--dataset", "{dataset}")


def levels(release: Path, prior: Prior) -> str:
    """Mean support points by level, made again from a release under the test key."""
    privacy = PrivacyParameters(epsilon="4.6", delta="1e-6", min_retention="0.025")
    parameters = SynthesisParameters(prior=prior)
    source = open_source(open_store(release, "release"), PublicSeed.for_tests(), privacy, parameters)
    n_tracts = source.workplaces.tract.size
    support = source.support(source.workplaces.tract)
    mean = np.bincount(support.coarsening.support_level, minlength=4) / n_tracts
    return ", ".join(f"{name} {value:.1f}" for name, value in zip(LEVELS, mean, strict=True))


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    rhode_island.add_dataset_options(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        dataset = rhode_island.given_or_imported(chosen, place)
        print("| prior | support points: least, mean, greatest | by level (mean) | edited out |")
        print("|---|---|---|---|")
        options: dict[Prior, tuple[object, ...]] = {
            "gravity": ("--prior", "gravity"),
            "flows": ("--prior-release", place / "gravity"),
        }
        options_of_all = ("--preset", "onthemap-v3", "--test-key")
        for prior, of_prior in options.items():
            release = place / prior
            result = commutemap_json("synthesize", dataset, release, *options_of_all, *of_prior)
            n = result["n_support"]
            row = f"| {prior} | {n['least']}, {n['mean']}, {n['greatest']} | {levels(release, prior)} "
            real = commutemap_json("validate", dataset, release)["summary"]
            print(row + f"| {real['edited_out_all']:.2%} |")


if __name__ == "__main__":
    main()
