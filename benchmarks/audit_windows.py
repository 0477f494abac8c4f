"""How errors of counts depend on the windows that are counted: `python -m benchmarks.audit_windows DATASET RELEASE…`.

The audit lays places on a grid over the tracts with workplaces, and homes beyond it are on its edge. Here the grid is
wider by some degrees on every side. Each row has the share of workers in the median window, and the median relative
error of counts by home and workplace window, age, and industry (the question about earnings): of each release, and of a
k-anonymous tree. By default it uses the small demo.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt

from benchmarks.commands import commutemap
from mapapp.analyst.audit.audited import audited_release
from mapapp.analyst.audit.comparison import draw_queries, error_of_release, scheme_rows
from mapapp.analyst.audit.questions import Areas
from mapapp.analyst.audit.records import HOME_GRID, CodedBlocks
from mapapp.analyst.audit.run import audited_workers
from mapapp.analyst.audit.schemes import read_schemes
from mapapp.analyst.validity.confidential_parts import AnalystData

MARGINS_DEG = (0.0, 0.1, 0.25, 0.5, 1.0)
SMALLEST = ("--margins", "0.1")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", type=Path, nargs="?")
    parser.add_argument("releases", type=Path, nargs="*")
    parser.add_argument("--margins", type=float, nargs="+", default=MARGINS_DEG, help="degrees")
    parser.add_argument("--against", default="k=16")
    return parser


def measure(dataset: Path, releases: Sequence[Path], margins: Sequence[float], against: str) -> None:
    """Print a row for each margin."""
    data = AnalystData.open(dataset)
    blocks = CodedBlocks.read(data, Areas.read(data.store, data.geography))
    found = []
    for path in releases:
        records = audited_workers(data, audited_release(data, path), ["earnings"], keeps_records=True).records
        assert records is not None
        found.append(records)
    (scheme,) = read_schemes((against,))
    print(f"| wider by | workers in a window | {' | '.join(path.name for path in releases)} | {against} |")
    print(f"|---|---|{'---|' * len(releases)}---|")
    for margin in margins:
        wider = replace(blocks, grid=_grid(data, margin))
        about = draw_queries("earnings", found[0], wider)
        share = median(about.workload.true_count.tolist()) / about.n.size
        errors = [error_of_release(about, records, wider) for records in found]
        tree = next(iter(scheme_rows(scheme, about)))["median_relative_error"]
        cells = " | ".join(f"{error:.1%}" for error in [*errors, tree])
        print(f"| {margin:g}° | {share:.2%} | {cells} |", flush=True)


def _grid(data: AnalystData, margin_deg: float) -> npt.NDArray[np.int32]:
    """The codes of all blocks on a grid that is wider than that of :class:`CodedBlocks`."""
    places = data.store.table("blocks", ["lon_deg", "lat_deg"]).to_numpy(np.float64)
    inside = places[np.isin(data.geography.tract_of_block, data.tract)]
    low, high = inside.min(axis=0) - margin_deg, inside.max(axis=0) + margin_deg
    cell = np.floor((places - low) / (high - low) * HOME_GRID)
    codes: npt.NDArray[np.int32] = np.clip(cell, 0, HOME_GRID - 1).astype(np.int32)
    return codes


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    if chosen.dataset is not None:
        measure(chosen.dataset, chosen.releases, chosen.margins, chosen.against)
        return
    with tempfile.TemporaryDirectory() as folder:
        dataset, release = Path(folder, "demo.dataset"), Path(folder, "demo.release")
        commutemap("demo", dataset, "-q")
        commutemap("synthesize", dataset, release, "--test-key", "-q")
        measure(dataset, [release], chosen.margins, chosen.against)


if __name__ == "__main__":
    main()
