"""`commutemap import --zones --flows`: zones of any country, and the trips between them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from engine.garbage_collection import no_collection
from geodata.json_objects import JsonObject
from mapapp.base.errors import UsageError
from mapapp.base.progress import show_progress
from mapapp.commands.import_checks import (
    COUNTS_OF_HOMES,
    budget_of,
    budget_writer,
    earlier_imports,
    require_never_confidential,
    undeclared_lines,
)
from mapapp.commands.options import Options, print_result

if TYPE_CHECKING:
    from geodata.zones.importing import ImportedZones, ZoneFiles

Function = TypeVar("Function", bound=Callable[..., object])

_FILE: Final = click.Path(path_type=Path, dir_okay=False)
_ALONE: Final = ("zones", "flows", "outline", "round_counts", "explain", "place", "unit_of_count")
_AMERICAN: Final = (
    *(
        "directory",
        "od",
        "xwalk",
        "tracts",
        "blocks",
        "tract_puma",
        "puma_names",
        "population",
        "prior_flows",
    ),
    *("basemap", "characteristics", "public_characteristics", "workers", "drop_faulty", "residents_only"),
    *("job_type", "geography_of"),
)
_SUFFIXES: Final = re.compile(r"\.(published|dataset)$")


def zone_options(function: Function) -> Function:
    """Add the options of zones and flows."""
    for option in reversed(
        (
            click.option(
                "--zones",
                type=_FILE,
                metavar="FILE",
                help="Zones of any country: polygons or points with a column of codes, or a table with latitude and "
                "longitude.",
            ),
            click.option(
                "--flows",
                type=_FILE,
                metavar="FILE",
                help="Trips between the zones: CSV or Parquet with origin, destination, and count, one row a trip, "
                "or a "
                "matrix.",
            ),
            click.option(
                "--place",
                default=None,
                metavar="NAME",
                help="With --zones: name of the whole region.  [default: DATASET's]",
            ),
            click.option(
                "--unit-of-count",
                default=None,
                metavar="NOUN",
                help="With --zones: what is counted, such as pupils, or person/people.  [default: commuters]",
            ),
            click.option(
                "--outline",
                type=_FILE,
                metavar="FILE",
                help="With --zones that are points: the area that they divide.",
            ),
            click.option(
                "--round",
                "round_counts",
                is_flag=True,
                help="With --zones and --published: round counts that are not whole.",
            ),
            click.option(
                "--explain",
                is_flag=True,
                help="With --zones: only print what the columns are taken for, as a file for --schema.",
            ),
        )
    ):
        function = option(function)
    return function


def import_of_zones(dataset: Path, as_json: bool, quiet: bool, options: Options) -> bool:
    """Import zones and flows if the options name them; return whether they do."""
    if options["zones"] is None:
        alone = next((name for name in _ALONE if options[name]), None)
        if alone is not None:
            raise UsageError(
                f"--{alone.replace('_counts', '').replace('_', '-')} goes with --zones; add it, or "
                "leave this out"
            )
        return False
    _check_options(options)
    from geodata.zones.importing import ZoneFiles, explain_columns

    files = ZoneFiles(
        zones=options["zones"], flows=options["flows"], schema=options["schema"], outline=options["outline"]
    )
    if options["explain"]:
        text = explain_columns(files).toml()
        print_result({"schema": text}, [text.rstrip()], as_json=as_json)
        return True
    with no_collection():
        if options["published"]:
            _publish(dataset, files, as_json, quiet, options)
        else:
            _import(dataset, files, as_json, quiet, options)
    return True


def _check_options(options: Options) -> None:
    """Refuse options that do not go with zones, before any file is read."""
    if options["flows"] is None:
        raise UsageError("--zones needs --flows, the trips between the zones")
    other = next((name for name in _AMERICAN if options[name]), None)
    if other is not None:
        name = "from" if other == "directory" else other.replace("_", "-")
        raise UsageError(f"--{name} and --zones: zones need no files of the Census Bureau; leave out one")
    if options["published"]:
        for name in ("counts_are_public", "budget_epsilon", "budget_delta"):
            if options[name] is not None:
                raise UsageError(
                    f"--{name.replace('_', '-')} and --published: published counts have none; leave out one"
                )
        if options["declare_public"] is None:
            raise UsageError(
                "--zones and --published: say who published the flows with --declare-public 'publisher, title, address'"
            )
    elif options["declare_public"] is not None:
        raise UsageError("--declare-public goes with --published; add it, or leave this out")
    elif options["round_counts"]:
        raise UsageError(
            "--round goes with --published: where counts are weights, a row is not a person, and no promise holds"
        )


def _place(dataset: Path, options: Options) -> str:
    """Name of the whole region: as given, or that of the folder."""
    given = options["place"] or options["title"]
    if given is not None:
        return str(given)
    return _SUFFIXES.sub("", dataset.name).replace("-", " ").replace("_", " ").capitalize() or "The region"


_NOUN: Final = re.compile(r"[^\W\d_][^\W\d_ -]{0,28}[^\W\d_]")


def unit_of_count(text: str | None) -> tuple[str, str]:
    """Return what is counted, singular and plural: of "pupils", or of "person/people".

    Raises
    ------
    UsageError
        It is not one noun, or its singular is not given and does not follow.
    """
    one, slash, many = (text or "commuters").strip().partition("/")
    if not slash:
        one, many = one.removesuffix("s"), one
    if not all(map(_NOUN.fullmatch, (one, many))) or one == many:
        raise UsageError(
            f"--unit-of-count {str(text)[:40]!r}: give a plural such as pupils, or singular and plural such as "
            "person/people"
        )
    return one, many


def _publish(counts: Path, files: ZoneFiles, as_json: bool, quiet: bool, options: Options) -> None:
    from mapapp.kinds.published.make.run import declared_publisher
    from mapapp.kinds.published.make.zones import publish_zones

    declared = declared_publisher(options["declare_public"])
    require_never_confidential(counts, [files.flows])
    with show_progress(quiet=quiet) as report:
        made, read = publish_zones(
            counts,
            files,
            place=_place(counts, options),
            declared=declared,
            count=unit_of_count(options["unit_of_count"]),
            title=options["title"],
            year=options["year"],
            rounded=options["round_counts"],
            progress=report,
        )
    result = {
        "published": str(counts),
        "published_digest": made.digest,
        "publisher": declared.name,
        "counted": list(read.counted),
        **_public_result(read),
    }
    lines = [
        f"{counts}: {made.facts['title']}, {made.facts['n_jobs']:,} {_noun(read)}, as published by {declared.name}",
        *_lines(read),
        *(f"  note      {line}" for line in read.counted),
        f"  {made.certificate.statement}",
        f"next: commutemap serve {counts}",
    ]
    print_result(result, lines, as_json=as_json)


def _import(dataset: Path, files: ZoneFiles, as_json: bool, quiet: bool, options: Options) -> None:
    from geodata.importing.importing import write_dataset
    from geodata.store.public_counts import COUNTS_ARE_PUBLIC, public_counts_reference
    from geodata.store.store import refuse_existing
    from geodata.zones.importing import import_zones

    refuse_existing(dataset)
    budget = budget_of(options["budget_epsilon"], options["budget_delta"])
    declared = options["counts_are_public"]
    facts: JsonObject = {COUNTS_ARE_PUBLIC: None if declared is None else public_counts_reference(declared)}
    with show_progress(quiet=quiet) as report:
        read = import_zones(
            files,
            place=_place(dataset, options),
            title=options["title"],
            year=options["year"],
            count=unit_of_count(options["unit_of_count"]),
            progress=report,
        )
        if budget is not None:
            from mapapp.kinds.base.ledger_entry import budget_fact  # loads the accountant, and all of numba

            facts |= {"budget": budget_fact(*budget)}
        imported = replace(read.imported, facts=read.imported.facts | facts)
        write_dataset(dataset, imported, finish=budget_writer(budget), progress=report)
    earlier = earlier_imports(dataset, imported.facts)
    result = {
        "dataset": str(dataset),
        "same_files": [str(path) for path in earlier],
        "confidential": list(read.counted),
        **_public_result(read),
    }
    lines = [
        f"{dataset}: {imported.facts['title']}, {imported.facts['n_jobs']:,} {_noun(read)}",
        *_lines(read),
        *(f"  counted   CONFIDENTIAL: {line}" for line in read.counted),
        "  promise   a release of this dataset protects where each trip begins, and no more",
        *undeclared_lines(imported.facts),
        *(
            f"  note      {path.name} was imported from the same files and has a ledger: what is published from both "
            f"adds up (commutemap ledger {path.name} {dataset.name})"
            for path in earlier
        ),
        f"next: commutemap synthesize {dataset} {_SUFFIXES.sub('', dataset.name)}.release",
    ]
    print_result(result, lines, as_json=as_json)


def _noun(read: ImportedZones) -> str:
    return str(read.imported.facts["zones"]["count"][1])


def _public_result(read: ImportedZones) -> dict[str, object]:
    facts = read.imported.facts
    return {name: value for name, value in facts.items() if name not in COUNTS_OF_HOMES}


def _lines(read: ImportedZones) -> list[str]:
    facts = read.imported.facts
    return [
        *(
            f"  read      {source['file']}: {source['role']}, {source['rows']:,} rows"
            for source in facts["sources"]
        ),
        *(f"  note      {note}" for note in facts["notes"]),
    ]
