"""Importing worker records: `python -m benchmarks.worker_import FOLDER [--workers N] [--form csv] [--scratch DIR]`.

FOLDER holds census files with OD files of one state. The workers are invented: each has a workplace and a home of an
OD row, drawn at random, and random attributes. They are written as a file, and `commutemap import` reads it in a
process of its own. The table has the wall and processor time of the whole import, geography included, and the most
memory it used.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet

from benchmarks import commands
from geodata.sources.lodes import read_od
from geodata.sources.recognize import sources_in

SMALLEST = ("{data}", "--workers", "500")
_ROWS_AT_ONCE: Final = 1_000_000
_SECTORS: Final = 20
_SCHEMA: Final = """
[workplace]
column = "work"
[home]
column = "home"
[age]
column = "age"
bands = [{{ from = 14, below = 30 }}, {{ from = 30, below = 55 }}, {{ from = 55 }}]
[earnings]
column = "earnings"
bands = [{{ from = 0, below = 1251 }}, {{ from = 1251, below = 3334 }}, {{ from = 3334 }}]
[attributes.sector]
values = [{values}]
derives = {{ industry = [{groups}] }}
[attributes.sex]
values = ["1", "2"]
[attributes.education]
values = ["1", "2", "3", "4", "5"]
"""


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worker_import", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=5_000_000)
    parser.add_argument("--form", choices=("csv", "csv.gz", "parquet"), default="csv")
    parser.add_argument("--scratch", type=Path, help="where the file and the dataset are put")
    return parser


def invented(folder: Path, n_workers: int) -> Iterator[pandas.DataFrame]:
    """Yield rows of workers over the pairs of blocks in a folder's OD files of states with a main file."""
    read = [read_od(path) for path in sources_in(folder)[0].od]
    files = [file for file in read if file.state_id in {main.state_id for main in read if main.main}]
    work, home = (np.concatenate([getattr(file, end) for file in files]) for end in ("work", "home"))
    random = np.random.default_rng(1)
    for start in range(0, n_workers, _ROWS_AT_ONCE):
        n = min(_ROWS_AT_ONCE, n_workers - start)
        pair = random.integers(0, work.size, n)
        yield pandas.DataFrame(
            {
                "work": pandas.Series(work[pair]).astype(str).str.zfill(15),
                "home": pandas.Series(home[pair]).astype(str).str.zfill(15),
                "age": random.integers(14, 80, n),
                "earnings": random.integers(0, 9_000, n),
                "sector": random.integers(1, _SECTORS + 1, n),
                "sex": random.integers(1, 3, n),
                "education": random.integers(1, 6, n),
            }
        )


def write(path: Path, parts: Iterator[pandas.DataFrame]) -> None:
    """Write rows in the form that the path's suffix names."""
    if path.suffix == ".parquet":
        writer = None
        for part in parts:
            table = pyarrow.Table.from_pandas(part, preserve_index=False)
            writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
        return
    with gzip.open(path, "wb", compresslevel=1) if path.suffix == ".gz" else path.open("wb") as stream:
        for number, part in enumerate(parts):
            part.to_csv(stream, index=False, header=number == 0)


def main(arguments: Sequence[str] | None = None) -> None:
    options = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        file, schema = Path(folder, f"workers.{options.form}"), Path(folder, "workers.toml")
        write(file, invented(options.folder, options.workers))
        values = ", ".join(f'"{number}"' for number in range(1, _SECTORS + 1))
        groups = ", ".join(str(1 + number * 3 // _SECTORS) for number in range(_SECTORS))
        schema.write_text(_SCHEMA.format(values=values, groups=groups), encoding="utf-8")
        given = ("--from", options.folder, "--workers", file, "--schema", schema, "-q")
        done = commands.run("mapapp.commands.cli", "import", Path(folder, "d"), *given)
        print("| workers | form | file, GB | wall s | processor s | million rows a minute | peak GiB |")
        print("|---|---|---|---|---|---|---|")
        print(
            f"| {options.workers:,} | {options.form} | {file.stat().st_size / 1e9:.2f} | {done.wall_s:.1f} | "
            f"{done.processor_s:.1f} | {options.workers * 60e-6 / done.wall_s:.2f} | {done.peak_gib:.2f} |"
        )


if __name__ == "__main__":
    main()
