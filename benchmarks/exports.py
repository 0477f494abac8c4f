"""How long every export of a release takes, and how large it is: `python -m benchmarks.exports [RELEASE …]`.

Without a release: Rhode Island, where its files are, made first under the test key. Each command runs in a process of
its own, on a release that was asked before; seconds are by the clock and of processor time, which other work on the
machine hardly touches, and GiB is the most memory of that process.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks import rhode_island
from benchmarks.commands import commutemap

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
SMALLEST = ("{release}", "--only", "csv")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", type=Path, nargs="*")
    rhode_island.add_data_option(parser)
    parser.add_argument("--only", nargs="+", metavar="FORMAT", help="measure these formats alone")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        releases = chosen.releases or [rhode_island.make_release(Path(folder), chosen.data)]
        for release in releases:
            print(
                f"\n{release.name}\n\n| export | seconds | of processor | GiB | MB |\n|---|---|---|---|---|"
            )
            report(release, Path(folder) / release.name, chosen.only)


def report(release: Path, folder: Path, only: list[str] | None) -> None:
    folder.mkdir(exist_ok=True)
    commutemap("analyze", release, "--analysis", "profile", "-o", folder / "first.json")
    for number, (form, more) in enumerate(EXPORTS):
        if only and form not in only:
            continue
        target = folder / f"{number}"
        done = commutemap("export", release, target, "--to", form, *more)
        size = sum(file.stat().st_size for file in target.iterdir()) / 1e6
        name = f"{form} {' '.join(more)}".strip()
        print(
            f"| {name} | {done.wall_s:.1f} | {done.processor_s:.1f} | {done.peak_gib:.2f} | {size:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
