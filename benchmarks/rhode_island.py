"""Rhode Island 2019, the real dataset of the benchmarks, from the Census files beside the checkout."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.commands import commutemap

DATA = Path(__file__).parents[2] / "shared" / "data"


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Add `--data`."""
    parser.add_argument("--data", type=Path, default=DATA, help="folder of Census files")


def add_dataset_options(parser: argparse.ArgumentParser) -> None:
    """Add `--data` and `--dataset`."""
    add_data_option(parser)
    parser.add_argument("--dataset", type=Path, help="a dataset of Rhode Island, instead of importing --data")


def given_or_imported(chosen: argparse.Namespace, folder: Path) -> Path:
    """The dataset of `--dataset`, or one imported from `--data` into the folder; exits without either."""
    return Path(chosen.dataset) if chosen.dataset is not None else import_dataset(folder, chosen.data)


def import_dataset(folder: Path, data: Path) -> Path:
    """Import the files into the folder; exit if they are missing."""
    if not data.is_dir():
        sys.exit(f"no {data}: name the folder of Census files with --data")
    commutemap("import", folder / "ri.dataset", "--from", data)
    return folder / "ri.dataset"


def synthesize(dataset: Path) -> Path:
    """Make a release with the preset onthemap-v3 under the test key beside the dataset."""
    release = dataset.with_suffix(".release")
    commutemap("synthesize", dataset, release, "--preset", "onthemap-v3", "--test-key")
    return release


def make_release(folder: Path, data: Path) -> Path:
    """Import the files and make such a release, both in the folder."""
    return synthesize(import_dataset(folder, data))
