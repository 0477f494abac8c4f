"""What the replications of the papers share: their two datasets, parts of them, and small pictures.

Rhode Island 2019 is LODES, which is synthetic itself and public: as P08 did with OnTheMap Version 2, the replications
take it for the truth, and may show what a real dataset's analyst must keep. The metro demo is generated.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import rhode_island
from benchmarks.commands import commutemap
from benchmarks.imported_states import geography_without, jobs_without, tracts_elsewhere
from benchmarks.readme_picture import slimmed
from geodata.store.store import Store, open_store
from mapapp.analyst.sweep.picture import picture_bytes
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.kinds.base.geography import read_workplaces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_BYTES = 150_000
_JOBS = ["destination_index", "origin_index", "age", "earnings", "industry"]


def replication_parser(description: str | None) -> argparse.ArgumentParser:
    """The parser of a replication's options."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    rhode_island.add_dataset_options(parser)
    parser.add_argument("--only", nargs="+", choices=("ri", "metro"), default=("ri", "metro"))
    parser.add_argument("--size", default="metro", help="of the demo country")
    images = Path(__file__).parents[1] / "docs" / "images"
    parser.add_argument("--output", type=Path, default=images, help="folder of the pictures")
    return parser


@contextmanager
def datasets(options: argparse.Namespace) -> Iterator[tuple[dict[str, Path], Path]]:
    """Yield the datasets by short name, and a folder to work in. Without Rhode Island's files: the demo alone."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        found = {}
        if "ri" in options.only and (options.dataset is not None or options.data.is_dir()):
            found["ri"] = rhode_island.given_or_imported(options, place)
        elif "ri" in options.only:
            print(
                f"no {options.data}: Rhode Island is left out; name the folder of Census files with --data",
                file=sys.stderr,
            )
        if "metro" in options.only:
            commutemap("demo", place / "metro", "--size", options.size)
            found["metro"] = place / "metro"
        yield found, place


def one_synthesizer(store: Store) -> Store:
    """All workers of a workplace block in one segment, and so in one synthesizer."""
    jobs = store.table("jobs")
    for name in _JOBS[2:]:
        jobs[name] = jobs[name].to_numpy() * 0 + 1
    merged = jobs.groupby(_JOBS, as_index=False)[["count"]].sum()
    return store.replace_table("jobs", merged.astype(jobs.dtypes.to_dict()))


def without_elsewhere(store: Store) -> AnalystData:
    """The imported states alone: units beyond them, and workers who live there, are left out.

    Names of tracts are not those of the store afterwards; nothing here reads them.
    """
    data = AnalystData(store)
    full = data.geography
    is_out = tracts_elsewhere(store)
    data.store = store.replace_table("jobs", jobs_without(store, full, is_out))
    data.geography = geography_without(full, is_out)
    data.workplaces = read_workplaces(data.store, data.geography)
    return data


def opened(path: Path) -> Store:
    """A dataset, verified."""
    return open_store(path, "dataset")


def save(figure: Figure, path: Path) -> None:
    """Keep a picture as a PNG of few colours."""
    content = slimmed(picture_bytes(figure, "png"))
    if len(content) > MAX_BYTES:
        sys.exit(f"{path} has {len(content):,} bytes; {MAX_BYTES:,} are the most")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    print(f"\n{path.name}: {len(content):,} bytes", file=sys.stderr)


def table(*head: str) -> None:
    """Head of a Markdown table."""
    print(f"\n| {' | '.join(head)} |\n{'|---' * len(head)}|")


def line(*cells: object) -> None:
    """A row of it; numbers with four digits after the point."""
    print(
        f"| {' | '.join(f'{cell:.4f}' if isinstance(cell, float) else str(cell) for cell in cells)} |",
        flush=True,
    )
