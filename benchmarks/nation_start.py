"""What a synthesis does before its first batch: `python -m benchmarks.nation_start DATASET [--threads 2] [--every K]`.

Prints for each step the clock, the processor time of all threads and of the one that waits for them, and what the step
cannot do without: hashing the files, decoding the columns. Times of the second of two rounds; kernels and laws of
tables, which are found once in a process, are found in the first.

Then certification of every Kth batch with the preset `onthemap-v3`: processor microseconds for each class of
synthesizers, those of the evidence alone for weights that are known, and how many workplace tracts share weights and
retentions with another, so that their classes could be certified together.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyarrow.parquet

from engine.accountant.sound import SoundAccounting, certify_sound_weights
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from engine.support.support_table import SupportTable
from geodata.store.store import open_store
from mapapp.kinds.base.geography import PUBLIC_COLUMNS, read_geography, read_workplaces
from mapapp.kinds.release.choose.public_part import public_part_of
from mapapp.kinds.release.choose.setting_choice import Choice, choose_setting
from mapapp.kinds.release.make.batch import SynthesisSource, source_of
from mapapp.kinds.release.make.certified_weights import certify_weights
from mapapp.kinds.release.make.options import Preset, ReleaseOptions
from mapapp.kinds.release.make.prior import FittedDecays, fit_decay
from mapapp.kinds.release.make.settings import parameters_of

SMALLEST = ("{dataset}", "--every", "1")
_GROUPS_AT_ONCE = 4

Made = TypeVar("Made")


class Spent(NamedTuple):
    """Seconds by the clock, of all threads, and of this one."""

    wall: float
    cpu: float
    own: float


class Steps:
    """Runs steps and remembers what each took."""

    def __init__(self) -> None:
        self.spent: dict[str, Spent] = {}

    def run(self, name: str, work: Callable[[], Made]) -> Made:
        """Run a step."""
        began = time.perf_counter(), time.process_time(), time.thread_time()
        made = work()
        ended = time.perf_counter(), time.process_time(), time.thread_time()
        self.spent[name] = Spent(*(end - start for start, end in zip(began, ended, strict=True)))
        return made


def setting(dataset: Path, preset: Preset) -> tuple[PrivacyParameters, SynthesisParameters]:
    """A preset whose radii are not chosen."""
    return parameters_of(dataset, ReleaseOptions(preset=preset, design="none", prior="gravity"))


def prepare(dataset: Path, threads: int, steps: Steps) -> None:
    """Do what precedes the first batch of a synthesis that chooses its radii."""
    privacy, parameters = setting(dataset, "recommended")
    store = steps.run("opening and verifying the dataset", lambda: open_store(dataset, "dataset"))
    geography = steps.run("reading geography", lambda: read_geography(store))
    workplaces = steps.run(
        "reading workplaces, listing synthesizers",
        lambda: read_workplaces(store, geography, listed=True, threads=threads),
    )
    fitted: FittedDecays = {}
    steps.run(
        "fitting the prior", lambda: fit_decay(geography, workplaces, parameters, fitted, threads=threads)
    )
    public = steps.run("sample, towns", lambda: public_part_of(store, geography, workplaces, fitted))
    steps.run(
        "choosing radii",
        lambda: choose_setting(public, privacy, parameters, Choice(), threads=threads),
    )


def decode(dataset: Path) -> None:
    """Read the public columns of `jobs`, and nothing more."""
    with pyarrow.parquet.ParquetFile(dataset / "jobs.parquet") as source:
        for first in range(0, source.num_row_groups, _GROUPS_AT_ONCE):
            groups = range(first, min(first + _GROUPS_AT_ONCE, source.num_row_groups))
            source.read_row_groups(list(groups), columns=PUBLIC_COLUMNS, use_threads=False)


def column_bytes(dataset: Path) -> int:
    """Bytes of the public columns of `jobs` on disk."""
    facts = pyarrow.parquet.read_metadata(dataset / "jobs.parquet")
    chunks = (
        facts.row_group(group).column(position)
        for group in range(facts.num_row_groups)
        for position in range(facts.num_columns)
    )
    return sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema in PUBLIC_COLUMNS)


def print_start(dataset: Path, threads: int) -> None:
    """The steps, and the two limits that are known."""
    for _ in range(2):
        steps = Steps()
        prepare(dataset, threads, steps)
    print("| step | clock, s | all threads, s | the waiting thread, s |\n|---|---|---|---|")
    for name, spent in steps.spent.items():
        print(f"| {name} | {spent.wall:.2f} | {spent.cpu:.2f} | {spent.own:.2f} |")
    total = [sum(part) for part in zip(*steps.spent.values(), strict=True)]
    print(f"| all | {total[0]:.2f} | {total[1]:.2f} | {total[2]:.2f} |")
    n_bytes = sum(file.stat().st_size for file in dataset.iterdir())
    steps.run("hashing", lambda: [sha256(file.read_bytes()).digest() for file in dataset.iterdir()])
    steps.run("decoding", lambda: decode(dataset))
    print("\n| must be done | GB | processor s |\n|---|---|---|")
    print(f"| hashing the dataset | {n_bytes / 1e9:.2f} | {steps.spent['hashing'].cpu:.2f} |")
    print(
        f"| decoding the public columns of `jobs` | {column_bytes(dataset) / 1e9:.3f} | "
        f"{steps.spent['decoding'].cpu:.2f} |"
    )


def opened(dataset: Path) -> SynthesisSource:
    """What the batches of a release with the preset `onthemap-v3` are made from."""
    store = open_store(dataset, "dataset", verify=False)
    geography = read_geography(store)
    workplaces = read_workplaces(store, geography, listed=True)
    return source_of(store, geography, workplaces, PublicSeed.for_tests(), *setting(dataset, "onthemap-v3"))


def tables_of(table: SupportTable) -> set[bytes]:
    """Digests of the weights and retentions of each tract, whatever the order of its points."""
    found = set()
    for first, last in zip(table.support_ptr[:-1].tolist(), table.support_ptr[1:].tolist(), strict=True):
        points = sorted(
            zip(table.base_weight[first:last].tolist(), table.retention[first:last].tolist(), strict=True)
        )
        found.add(sha256(repr(points).encode()).digest())
    return found


def print_certification(dataset: Path, every: int) -> None:
    """What certification costs and what it could share."""
    source = opened(dataset)
    n_tracts, n_classes, distinct = 0, 0, set[bytes]()
    for _ in range(2):  # the first time loads kernels
        steps, totals = Steps(), {"certifying": 0.0, "evidence": 0.0}
        n_tracts, n_classes = 0, 0
        for batch in range(0, source.workplaces.n_batches, every):
            counts = source.counts(batch)
            support = source.support(counts.destination_tract)
            found = steps.run("certifying", lambda: certify_weights(counts, support, source.privacy))  # noqa: B023
            accounting = found.accounting
            assert isinstance(accounting, SoundAccounting)
            steps.run(
                "evidence",
                lambda: certify_sound_weights(
                    found.prior,  # noqa: B023
                    found.classes,  # noqa: B023
                    accounting.min_weight,  # noqa: B023
                    source.privacy,
                    prune=accounting.prune,  # noqa: B023
                ),
            )
            for name in totals:
                totals[name] += steps.spent[name].cpu
            n_tracts += counts.destination_tract.size
            n_classes += found.classes.tract.size
            distinct |= tables_of(support.table)
    print("\n| certification | |\n|---|---|")
    print(f"| tracts looked at | {n_tracts:,} |")
    print(f"| with weights and retentions of their own | {len(distinct):,} |")
    print(f"| classes | {n_classes:,} |")
    print(f"| certifying, µs a class | {totals['certifying'] / n_classes * 1e6:.2f} |")
    print(f"| evidence for known weights alone, µs a class | {totals['evidence'] / n_classes * 1e6:.2f} |")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=int, default=40, help="certify every few batches only")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    print_start(chosen.dataset, chosen.threads)
    print_certification(chosen.dataset, chosen.every)


if __name__ == "__main__":
    main()
