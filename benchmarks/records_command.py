"""Worker records by the command: `python -m benchmarks.records_command [--dataset D] [--records N] [--kept NAMES]`.

Generates a nation (or takes the dataset D) and makes records of it with `commutemap records`, each number of records in
a process of its own; then certifies and exports the last ones, asks questions about them, and serves them until the
address is printed. The first question prepares the records. Prints seconds by the clock, processor seconds, and the
peak of memory of each command: memory should not grow with the number of records, and time should in proportion.
Needs 35 GB of disk. Budget: 10 minutes and 8 GiB for 140 million workers on 2 cores; 5 s for Rhode Island.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks import commands
from benchmarks.replications import line, table
from geodata.store.store import open_store
from mapapp.kinds.records.make.workers import count_workers

SMALLEST: Final = ("--millions", "0.01", "--records", "1000", "--records", "3000")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", type=Path, default=None)
    parser.add_argument("--millions", type=float, default=140, help="of workers of the generated nation")
    parser.add_argument(
        "--records", type=int, action="append", help="how many, once or several times; one for each worker"
    )
    parser.add_argument("--kept", default="none", help="attributes that are kept from seeds")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only-records", action="store_true", help="neither certify, export, nor ask")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="commutemap-records-", dir=".") as name:
        folder = Path(name)
        dataset = chosen.dataset or folder / "generated.dataset"
        if chosen.dataset is None:
            commands.run("benchmarks.nation_data", dataset, "--millions", chosen.millions)
        n_workers = count_workers(open_store(dataset, "dataset", verify=False))
        table(
            f"{n_workers:,} workers, kept: {chosen.kept}",
            "records",
            "seconds",
            "processor seconds",
            "peak GiB",
        )
        records = folder / "x.records"
        for n in chosen.records or [n_workers]:
            shutil.rmtree(records, ignore_errors=True)
            options = ("--kept", chosen.kept, "--records", n, "--threads", chosen.threads, "--test-key")
            show("records", n, commands.commutemap("records", dataset, records, *options))
        if not chosen.only_records:
            show("certify", n, commands.run("mapapp.commands.cli", "certify", records))
            for form in ("parquet", "csv"):
                out = folder / f"export-{form}"
                show(f"export --to {form}", n, commands.commutemap("export", records, out, "--to", form))
            ask(records, n, {"COMMUTEMAP_HOME": str(folder / "home")})


def ask(records: Path, n: int, environment: Mapping[str, str]) -> None:
    """Put questions about the whole country, the first of which prepares the records; then serve them."""
    for analysis in ("profile", "profile", "cross-table"):
        asked = ("analyze", records, "--analysis", analysis, "--area", "all")
        show(f"analyze --analysis {analysis}", n, commands.commutemap(*asked, environment=environment))
    start = time.perf_counter()
    with commands.serving(records, environment=environment) as (pid, _):
        wall_s, (processor_s, peak_gib) = time.perf_counter() - start, commands.used_so_far(pid)
    served = commands.Finished(output="", wall_s=wall_s, processor_s=processor_s, peak_gib=peak_gib)
    show("serve", n, served)


def show(command: str, n: int, done: commands.Finished) -> None:
    """One line of the table."""
    line(f"`{command}`", f"{n:,}", f"{done.wall_s:.1f}", f"{done.processor_s:.1f}", f"{done.peak_gib:.2f}")


if __name__ == "__main__":
    main()
