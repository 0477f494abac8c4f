"""Many years of one state as published counts: import, disk, memory, opening, and lines over all years.

The files of one year are imported again under the names of other years, so that only names differ:
`python -m benchmarks.published_years census-files --years 22`
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

from geodata.sources.recognize import Sources, sources_in
from mapapp.answers.analyses.over_years import over_years
from mapapp.answers.release import Release
from mapapp.kinds.published.make.run import import_published

SMALLEST = ("{data}", "--years", "2")
_YEAR = re.compile(r"_(\d{4})\.csv")


def argument_parser() -> argparse.ArgumentParser:
    """Options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="published files of one state and year")
    parser.add_argument("--years", type=int, default=22)
    return parser


def of_year(sources: Sources, folder: Path, year: int) -> Sources:
    """The same files, linked under the names of another year."""
    folder.mkdir()
    named = {}
    for field in fields(sources):
        places = []
        for path in getattr(sources, field.name):
            place = folder / _YEAR.sub(f"_{year}.csv", path.name)
            os.symlink(path.resolve(), place)
            places.append(place)
        named[field.name] = tuple(places)
    return replace(sources, **named)


def disk_bytes(stores: Sequence[Path]) -> int:
    """What some stores take on the disk; a file that they share counts once."""
    states = [file.stat() for store in stores for file in store.iterdir()]
    return sum({(state.st_dev, state.st_ino): state.st_size for state in states}.values())


def _memory_mib() -> float:
    """What this process holds now, without files that are only mapped."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.findall(r"RssAnon:\s+(\d+)", status)[0]) / 1024


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table."""
    options = argument_parser().parse_args(arguments)
    sources = sources_in(options.folder)[0]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ["COMMUTEMAP_HOME"] = str(home / "home")
        stores: list[Path] = []
        spent = []
        for year in range(2002, 2002 + options.years):
            start = time.process_time()
            store = home / f"{year}.published"
            import_published(
                store, of_year(sources, home / f"files-{year}", year), geography=stores[0] if stores else None
            )
            spent.append(time.process_time() - start)
            stores.append(store)
        rows = [("import of the first year, processor s", spent[0])]
        rows.append(("import of each further year, processor s", sum(spent[1:]) / max(len(spent) - 1, 1)))
        jobs = [
            sum((store / f"{name}.parquet").stat().st_size for name in ("jobs", "points")) for store in stores
        ]
        one, every = disk_bytes(stores[:1]), disk_bytes(stores)
        rows.append(("disk of one year, MB", one / 1e6))
        rows.append(("disk of all years, MB", every / 1e6))
        rows.append(
            ("the same beside jobs and points, times one year", (every - sum(jobs)) / (one - jobs[0]))
        )
        start, memory = time.process_time(), _memory_mib()
        first = Release.open(stores[0])
        rows.append(("opening the first year, once, processor s", time.process_time() - start))
        first.destinations()
        opened, start = _memory_mib(), time.process_time()
        releases = [first, *(Release.open(store) for store in stores[1:])]
        further = (time.process_time() - start) / max(len(stores) - 1, 1)
        rows.append(("opening each further year, once, processor s", further))
        del releases
        start = time.perf_counter()
        releases = [Release.open(store) for store in stores]
        rows.append(("opening all years again, s", time.perf_counter() - start))
        rows.append(("memory before, with one year, with all, MiB", memory))
        rows += [("with one year", opened), ("with all", _memory_mib())]
        start = time.process_time()
        county = first.destinations(layer="county", side="home").units["unit_id"].iloc[0]
        over_years([release.inflow_outflow(f"county:{county}") for release in releases])
        per_year = 1000 * (time.process_time() - start) / len(stores)
        rows.append(("inflow and outflow over all years, processor ms a year", per_year))
        print("| what | figure |\n|---|---|")
        for what, figure in rows:
            print(f"| {what} | {figure:,.2f} |")


if __name__ == "__main__":
    main()
