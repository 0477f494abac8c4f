"""`commutemap demo`: generate a country with confidential jobs."""

from __future__ import annotations

import os
from pathlib import Path

import click

from mapapp.base.errors import UsageError
from mapapp.base.progress import show_progress
from mapapp.commands.options import STORE, json_option, print_result, quiet_option


@click.command()
@click.argument("dataset", type=STORE)
@click.option(
    "--size",
    type=click.Choice(["small", "metro", "state"]),
    default="metro",
    show_default=True,
    help="3 thousand, 312 thousand, or 5 million workers.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=1,
    show_default=True,
    help="The same seed gives the same country.",
)
@click.option(
    "--sources",
    type=STORE,
    default=None,
    help="Also write the worker records, their schema, and the public files from which `commutemap import` makes the "
    "same workers, and WAC and RAC files of their jobs, into this new folder.",
)
@click.option(
    "--published",
    is_flag=True,
    help="Write the same jobs as published counts instead of a confidential dataset: nobody in the country is real.",
)
@json_option
@quiet_option
def demo(
    dataset: Path, size: str, seed: int, sources: Path | None, published: bool, as_json: bool, quiet: bool
) -> None:
    """Generate a demo country and its confidential jobs as DATASET.

    Every worker also has a sex, race, ethnicity, education, NAICS sector, and firm size.

    A state of 5 million workers takes three minutes on 2 cores, 5 GiB of memory, and 20 MB of disk.

    \b
    Example:
      commutemap demo demo.dataset --size metro --seed 7
      commutemap demo demo.dataset --size small --sources demo-files
      commutemap demo demo.published --published
    """
    from geodata.demo import write_demo
    from geodata.demo.source_files import write_source_files
    from geodata.store.store import open_store, refuse_existing

    if published:
        _publish(dataset, size, seed, sources, as_json, quiet)
        return
    if sources is not None:
        if Path(os.path.abspath(sources)) == Path(os.path.abspath(dataset)):
            raise UsageError(f"--sources {sources}: this is the place of the dataset; name another one")
        refuse_existing(sources)
    with show_progress(quiet=quiet) as report:
        facts = write_demo(dataset, size=size, seed=seed, progress=report)
        if sources is not None:
            write_source_files(open_store(dataset, "dataset"), sources, report)
    result = {"dataset": str(dataset), "title": facts["title"], "jobs": facts["n_jobs"], "seed": seed}
    lines = [f"{dataset}: {facts['title']}, {facts['n_jobs']:,} jobs"]
    if sources is not None:
        result["sources"] = str(sources)
        lines.append(f"{sources}: its worker records, their schema, and the public files, to import")
    print_result(result, lines, as_json=as_json)


def _publish(path: Path, size: str, seed: int, sources: Path | None, as_json: bool, quiet: bool) -> None:
    """Write the country as published counts, and say what was made."""
    from mapapp.kinds.published.make.run import publish_generated

    if sources is not None:
        raise UsageError(f"--sources {sources}: goes with a dataset; leave it out, or leave out --published")
    with show_progress(quiet=quiet) as report:
        made = publish_generated(path, size=size, seed=seed, progress=report)
    facts = made.facts
    result = {"published": str(path), "title": facts["title"], "jobs": facts["n_jobs"], "seed": seed}
    print_result(
        result, [f"{path}: {facts['title']}, {facts['n_jobs']:,} jobs, as published"], as_json=as_json
    )
