"""Whether the program still writes the same bytes: digests of a broad set of its output, to compare two commits.

    python -m tests.kept_bytes --dataset ri.dataset -o before.json            # at one commit
    python -m tests.kept_bytes --dataset ri.dataset --against before.json     # at another; exit code 1 if any differ

Everything is made under the test key. Publications are compared file by file, answers and reports whole; the
GeoPackage by its rows, because its pages are SQLite's own business. Releases of the dataset, if one is given, are
compared as well; both commits need the same one, because every import has a key of its own.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from benchmarks.commands import commutemap, run

ANALYSES = (
    "destinations",
    "profile",
    "cross-table",
    "comparison",
    "distance-direction",
    "inflow-outflow",
    "job-balance",
    "paired",
    "flow-matrix",
)
ANSWER_FORMATS = ("csv", "json", "xlsx", "geojson")
REPORT_FORMATS = ("pdf", "html", "xlsx")
EXPORTS = ("lodes", "gpkg", "shp", "kml", "geojson", "csv", "xlsx", "points")
SCHEMES = (
    *("k=8", "l=3", "l-distinct=3", "l-entropy=2", "l-frequency=2", "t=0.3:k=8", "t-ordered=0.3:k=8"),
    *("kd=1", "quad=1", "hybrid=1", "cell=1", "exponential=2"),
)
PRIOR = {
    "81001": 0.9,
    "81003": 0.35,
    "81005": 0.3,
    "81007": 0.6,
    "81009": 0.3,
    "81011": 0.55,
    "82001": 0.4,
    "82003": 0.6,
    "82005": 0.3,
    "82007": 0.25,
    "82009": 0.7,
}
"""The share of workers of each county of the small demo who live where they work, as docs/tables.md has it."""
DATE = ("--date", "2026-01-31")


def digests(folder: Path, given: Path | None) -> Iterator[tuple[str, str]]:
    """Make everything in the folder; yields each file's name and the SHA-256 of what it holds."""
    commutemap("demo", folder / "demo.dataset", "--size", "small")
    datasets = [folder / "demo.dataset"]
    if given is not None:
        datasets.append(shutil.copytree(given, folder / "given.dataset"))
    for dataset in datasets:
        yield from _publications(dataset, is_demo=dataset.stem == "demo")
    release = folder / "demo-recommended.release"
    yield from _answers(release)
    yield from _exports(release)
    yield from _confidential(folder / "demo.dataset", release)
    few = ("--coarse", "--generated", 500, "--queries", 100, "--seeds", 1)
    c13 = run("benchmarks.c13_adult", *few, "--output", folder)
    yield "c13_adult", _of_text(c13.output)


def _publications(dataset: Path, *, is_demo: bool) -> Iterator[tuple[str, str]]:
    made = []
    for preset in ("recommended", "onthemap-v3"):
        release = dataset.with_name(f"{dataset.stem}-{preset}.release")
        commutemap("synthesize", dataset, release, "--preset", preset, "--test-key")
        made.append(release)
    if is_demo:
        records = dataset.with_suffix(".records")
        commutemap("records", dataset, records, "--test-key")
        made.append(records)
        table, prior = dataset.with_suffix(".table"), dataset.with_name("prior.csv")
        lines = [f"{county},{industry},{PRIOR[county]}" for county in PRIOR for industry in (1, 2, 3)]
        prior.write_text("\n".join(["row_id,column_id,rate", *lines, ""]), encoding="utf-8")
        rows = ("--rows", "county", "--columns", "industry", "--counts", "same-unit")
        commutemap("table", dataset, table, *rows, "--prior", prior, "--delta", "0.1", "--test-key")
        made.append(table)
    for publication in made:
        for path in sorted(publication.rglob("*")):
            if path.is_file():
                yield f"{publication.name}/{path.relative_to(publication)}", _of_file(path)


def _answers(release: Path) -> Iterator[tuple[str, str]]:
    for analysis in ANALYSES:
        for ending in ANSWER_FORMATS:
            path = release.with_name(f"{analysis}.{ending}")
            commutemap("analyze", release, "--analysis", analysis, "-o", path)
            yield path.name, _of_file(path)
        for ending in REPORT_FORMATS:
            path = release.with_name(f"{analysis}-report.{ending}")
            commutemap("report", release, "--analysis", analysis, *DATE, "-o", path)
            yield path.name, _of_file(path)


def _exports(release: Path) -> Iterator[tuple[str, str]]:
    for kind in EXPORTS:
        path = release.with_name(f"export-{kind}")
        commutemap("export", release, path, "--to", kind, *(DATE if kind == "lodes" else ()))
        parts = [each for each in sorted(path.rglob("*")) if each.is_file()] if path.is_dir() else [path]
        for part in parts:
            yield (
                str(part.relative_to(release.parent)),
                _of_rows(part) if part.suffix == ".gpkg" else _of_file(part),
            )


def _confidential(dataset: Path, release: Path) -> Iterator[tuple[str, str]]:
    against = [word for scheme in SCHEMES for word in ("--against", scheme)]
    for name, arguments in {
        "validate": ("validate", dataset, release),
        "audit": ("audit", dataset, release, *against),
        "audit-all": ("audit", dataset, release, "--question", "all"),
        "audit-setting": ("audit", dataset, "--setting", "recommended", "--setting", "onthemap-v3"),
        "sweep": ("sweep", dataset, "--over", "unit=cell,block,tract", "--seeds", "1"),
    }.items():
        text = commutemap(*arguments, "--json").output
        yield name, _of_text(text.replace(str(dataset.parent), ""))


def _of_rows(path: Path) -> str:
    with closing(sqlite3.connect(path)) as database:
        return _of_text(
            "\n".join(line for line in database.iterdump() if not line.startswith('INSERT INTO "rtree_'))
        )


def _of_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def main() -> None:
    """Print or write the digests, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", type=Path, help="make releases of this dataset, too")
    parser.add_argument("-o", dest="output", type=Path, help="write the digests to this file")
    parser.add_argument("--against", type=Path, help="compare with the digests in this file")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = dict(digests(Path(folder), chosen.dataset))
    if chosen.output:
        chosen.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if chosen.against:
        before = json.loads(chosen.against.read_text(encoding="utf-8"))
        differing = sorted(name for name in before | found if before.get(name) != found.get(name))
        print(*differing, f"{len(found)} digests, {len(differing)} differ", sep="\n")
        sys.exit(bool(differing))


if __name__ == "__main__":
    main()
