"""How long every export of a release takes, and how large it is: `python -m benchmarks.exports [RELEASE …]`.

Without a release: Rhode Island, where its files are, made first under the test key. Each command runs in a process of
its own, on a release that was asked before; seconds are by the clock and of processor time, which other work on the
machine hardly touches, and GiB is the most memory of that process.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.analyses import make_rhode_island
from benchmarks.end_to_end import measure

EXPORTS: Final = (
    ("lodes", ()),
    ("points", ()),
    ("csv", ()),
    ("xlsx", ()),
    ("geojson", ()),
    ("kml", ()),
    ("shp", ()),
    ("gpkg", ()),
    ("gpkg", ("--layer", "state", "--with", "points")),
    ("gpkg", ("--layer", "state", "--with", "flows")),
    ("geojson", ("--layer", "state", "--with", "points")),
    ("shp", ("--layer", "state", "--with", "points")),
)


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", type=Path, nargs="*")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        releases = chosen.releases or [make_rhode_island(Path(folder), chosen.data)]
        for release in releases:
            print(
                f"\n{release.name}\n\n| export | seconds | of processor | GiB | MB |\n|---|---|---|---|---|"
            )
            report(release, Path(folder) / release.name)


def report(release: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    measure("analyze", release, "--analysis", "profile", "-o", folder / "first.json")
    for number, (form, more) in enumerate(EXPORTS):
        target = folder / f"{number}"
        before = processor_seconds()
        seconds, gib = measure("export", release, target, "--to", form, *more)
        spent = processor_seconds() - before
        size = sum(file.stat().st_size for file in target.iterdir()) / 1e6
        name = f"{form} {' '.join(more)}".strip()
        print(f"| {name} | {seconds:.1f} | {spent:.1f} | {gib:.2f} | {size:.1f} |", flush=True)


def processor_seconds() -> float:
    """Of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
