"""`commutemap import`: turn source files into a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

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
from mapapp.commands.import_zones import import_of_zones, zone_options
from mapapp.commands.options import (
    STORE,
    Option,
    Options,
    config_option,
    json_option,
    print_result,
    quiet_option,
)

if TYPE_CHECKING:
    from geodata.importing.importing import Imported
    from geodata.sources.recognize import Sources
    from mapapp.answers.published.certificate import PublishedCertificate

FILES = click.Path(path_type=Path, dir_okay=False)

_ROLES = {
    "od": "od",
    "xwalk": "crosswalks",
    "tracts": "tracts",
    "blocks": "blocks",
    "tract_puma": "tract_puma",
    "puma_names": "puma_names",
    "population": "population",
    "prior_flows": "prior_flows",
    "basemap": "base_map",
    "characteristics": "characteristics",
    "workers": "workers",
    "schema": "worker_schema",
}


_NOT_PUBLIC = (
    "characteristics of places are read only with --public-characteristics, because an agency's own file of residences "
    "counts real homes"
)


@click.command("import")
@click.argument("dataset", type=STORE)
@click.option(
    "--from",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of published files; each is recognized by its content.",
)
@click.option("--od", type=FILES, multiple=True, help="LODES OD file, main or aux.")
@click.option("--xwalk", type=FILES, multiple=True, help="LODES geography crosswalk.")
@click.option(
    "--tracts", type=FILES, multiple=True, help="Tract polygons (shapefile zip, GeoPackage, GeoJSON)."
)
@click.option(
    "--blocks", type=FILES, multiple=True, help="Block polygons (shapefile zip, GeoPackage, GeoJSON)."
)
@click.option("--tract-puma", type=FILES, multiple=True, help="Tract-to-PUMA relationship file.")
@click.option("--puma-names", type=FILES, multiple=True, help="Names of PUMAs.")
@click.option("--population", type=FILES, multiple=True, help="Centers of population, or block populations.")
@click.option("--prior-flows", type=FILES, multiple=True, help="Public tract-to-tract flows (CTPP).")
@click.option(
    "--basemap", type=FILES, multiple=True, help="Water, roads, or rails (TIGER/Line), or names (GNIS)."
)
@click.option(
    "--characteristics",
    type=FILES,
    multiple=True,
    help="LODES workplace or residence characteristics (WAC, RAC), of all workers or of one segment.",
)
@click.option(
    "--public-characteristics",
    is_flag=True,
    help="Read WAC and RAC files, and copy them into every publication. Only for published files: an agency's own RAC "
    "file counts real homes.",
)
@click.option(
    "--workers",
    type=FILES,
    multiple=True,
    help="Worker records instead of OD files: CSV or Parquet, one row a worker.",
)
@click.option(
    "--schema", type=FILES, help="What the columns of the worker records, or of zones and flows, mean (TOML)."
)
@click.option(
    "--counts-are-public",
    default=None,
    metavar="REFERENCE",
    help="With --workers or --zones: where the numbers of jobs by workplace, age, earnings, and industry are "
    "published already. "
    "Releases show them exactly, so without this, no release of the dataset is for release.",
)
@click.option(
    "--drop-faulty",
    is_flag=True,
    help="Leave out worker records with faults; one whose home alone is faulty keeps its job, with home unknown. By "
    "default, records with faults are refused. Either way, DATASET.edits.csv lists them.",
)
@click.option(
    "--residents-only",
    is_flag=True,
    help="Import jobs without the workers who live in other states, such as an OD main file without its aux file. "
    "Numbers of workers then depend on homes, so nothing made from the dataset is for release.",
)
@click.option(
    "--published",
    is_flag=True,
    help="The files are published already, as LODES is: make published counts that anybody may read, with nothing "
    "drawn, "
    "instead of a confidential dataset.",
)
@click.option(
    "--year",
    type=int,
    default=None,
    help="With --published: year of the files to read, of several. With --zones: year of the flows.",
)
@click.option(
    "--job-type",
    default=None,
    help="With --published: job type of the files to read, of several, such as JT01.",
)
@click.option(
    "--declare-public",
    default=None,
    metavar="TEXT",
    help="With --published, of files that are not named as LODES files are: 'publisher, title, address'.",
)
@click.option(
    "--geography-of",
    type=STORE,
    default=None,
    metavar="COUNTS",
    help="With --published: share the geography of published counts of another year, made from the same geographic "
    "files.",
)
@zone_options
@click.option("--title", default=None, help="Title of the dataset.  [default: (states and year)]")
@click.option("--budget-epsilon", default=None, help="Total epsilon that all releases together may spend.")
@click.option("--budget-delta", default=None, help="Total delta that all releases together may spend.")
@config_option
@json_option
@quiet_option
def import_(dataset: Path, directory: Path | None, as_json: bool, quiet: bool, **options: Option) -> None:
    """Import source files, as the Census Bureau publishes them, into a confidential DATASET; or, with --zones and
    --flows, zones of any country and the trips between them.

    With --published, files that are public already become published counts: "serve", "analyze", and all other commands
    on releases read them, and nothing is drawn.

    \b
    Examples:
      commutemap import ri.dataset --from census-files/
      commutemap import ri.published --from census-files/ --published
      commutemap import ri.dataset --od ri_od_main.csv.gz --od ri_od_aux.csv.gz --xwalk ri_xwalk.csv.gz
      commutemap import ri.dataset --from census-files/ --workers workers.parquet --schema workers.toml
      commutemap import leeds.dataset --zones leeds_zones.csv --flows leeds_flows.csv
    """
    if import_of_zones(dataset, as_json, quiet, {**options, "directory": directory}):
        return
    if options["published"]:
        _import_published(dataset, directory, as_json, quiet, options)
        return
    _require_published(options)
    # Nearly all objects are kept: collecting finds nothing to free among some hundred thousand shapes.
    with no_collection(), _confidential_lines_first(as_json):
        imported, unused = _import(dataset, directory, quiet, options)
    earlier = earlier_imports(dataset, imported.facts)
    print_result(*_summary(dataset, imported, unused, earlier), as_json=as_json)


@contextmanager
def _confidential_lines_first(as_json: bool) -> Iterator[None]:
    """Print what is wrong with worker records, before the one line that refuses them is on standard error."""
    from geodata.errors import FaultyRecordsError

    try:
        yield
    except FaultyRecordsError as error:
        print_result({"edits": error.edits}, list(error.confidential_lines), as_json=as_json)
        raise


def _require_published(options: Options) -> None:
    """Refuse options that only published counts have."""
    for name in ("declare_public", "geography_of", "year", "job_type"):
        if options[name] is not None:
            raise UsageError(f"--{name.replace('_', '-')} goes with --published; add it, or leave this out")


_NOT_WITH_PUBLISHED = (
    "workers",
    "schema",
    "drop_faulty",
    "counts_are_public",
    "residents_only",
    "budget_epsilon",
    "budget_delta",
)


def _import_published(
    counts: Path, directory: Path | None, as_json: bool, quiet: bool, options: Options
) -> None:
    """Make published counts of what the options name, and say what was made."""
    from mapapp.kinds.published.make.run import declared_publisher, import_published

    for name in _NOT_WITH_PUBLISHED:
        if options[name]:
            raise UsageError(
                f"--{name.replace('_', '-')} and --published: published counts have none; leave out one"
            )
    declared = options["declare_public"]
    publisher = None if declared is None else declared_publisher(declared)
    sources, unused = _sources(directory, {**options, "public_characteristics": True})
    require_never_confidential(counts, sources.od)
    with no_collection(), show_progress(quiet=quiet) as report:
        made = import_published(
            counts,
            sources,
            year=options["year"],
            job_type=options["job_type"],
            title=options["title"],
            declared=publisher,
            geography=options["geography_of"],
            progress=report,
        )
    certificate = made.certificate
    publisher_name = certificate.publisher.name
    result = {
        "published": str(counts),
        "published_digest": made.digest,
        "n_jobs": made.facts["n_jobs"],
        "publisher": publisher_name,
        "files": {source.file: source.checksum for source in certificate.sources},
        "unused": {str(path): why for path, why in unused.items()},
        "notes": [*made.facts.get("notes", []), *_list_notes(certificate)],
    }
    lines = [
        f"{counts}: {_title_and_jobs(made.facts)}, as published by {publisher_name}",
        *(f"  read      {source.file}: {source.role}, {source.checksum}" for source in certificate.sources),
        *(f"  not read  {path.name}: {why}" for path, why in unused.items()),
        *(f"  note      {note}" for note in [*made.facts.get("notes", []), *_list_notes(certificate)]),
        f"  {certificate.statement}",
        f"next: commutemap serve {counts}",
    ]
    print_result(result, lines, as_json=as_json)


def _list_notes(certificate: PublishedCertificate) -> list[str]:
    """What to add so that readers can see that the files are the publisher's."""
    if not certificate.is_unproven:
        return []
    return [
        "nothing shows that these files are the Bureau's; add its lodes_STATE.sha256sum to the folder, and they are "
        "compared with it"
    ]


def _import(
    dataset: Path, directory: Path | None, quiet: bool, options: Options
) -> tuple[Imported, dict[Path, str]]:
    """Import what the options name; return what was imported, and the files that were not read."""
    from geodata.importing.importing import import_dataset, write_dataset
    from geodata.store.store import refuse_existing
    from geodata.workers.edits import Editing

    refuse_existing(dataset)
    budget = budget_of(options["budget_epsilon"], options["budget_delta"])
    declared = _declared_counts(options)
    sources, unused = _sources(directory, options)
    with show_progress(quiet=quiet) as report:
        imported = import_dataset(
            sources,
            title=options["title"],
            public_characteristics=options["public_characteristics"],
            residents_only=options["residents_only"],
            scratch=dataset.absolute().parent,
            editing=Editing(
                drop_faulty=options["drop_faulty"], report=dataset.with_name(f"{dataset.name}.edits.csv")
            ),
            progress=report,
        )
        imported = replace(imported, facts=imported.facts | declared)
        if budget is not None:
            from mapapp.kinds.base.ledger_entry import budget_fact  # loads the accountant, and all of numba

            imported = replace(imported, facts=imported.facts | {"budget": budget_fact(*budget)})
        write_dataset(dataset, imported, finish=budget_writer(budget), progress=report)
    return imported, unused


def _sources(directory: Path | None, options: Options) -> tuple[Sources, dict[Path, str]]:
    """Return the files of the folder; files named individually replace those with the same role."""
    from geodata.sources.recognize import Sources, sources_in

    named = {role: options[option] for option, role in _ROLES.items() if options[option]}
    if "worker_schema" in named:
        named["worker_schema"] = (options["schema"],)
    public = bool(options["public_characteristics"])
    _check_options(named, public=public, drop_faulty=bool(options["drop_faulty"]))
    if directory is None and not named:
        raise UsageError("nothing to import: name a folder with --from, or files with --od and --xwalk")
    in_folder, unused = (
        (Sources(), {}) if directory is None else sources_in(directory, characteristics=public)
    )
    if "workers" in named:
        unused |= dict.fromkeys(in_folder.od, "an OD file; the jobs are counted from the worker records")
        in_folder = replace(in_folder, od=())
    if not public:
        unused |= dict.fromkeys(in_folder.characteristics, _NOT_PUBLIC)
        in_folder = replace(in_folder, characteristics=())
    sources = replace(in_folder, **named)
    used = {path.resolve() for paths in sources.roles().values() for path in paths}
    return sources, {path: why for path, why in unused.items() if path.resolve() not in used}


def _check_options(named: Mapping[str, tuple[Path, ...]], *, public: bool, drop_faulty: bool) -> None:
    """Refuse options that do not go together, before any file is read."""
    if "characteristics" in named and not public:
        raise UsageError(f"--characteristics {named['characteristics'][0]}: {_NOT_PUBLIC}")
    if "workers" in named and "od" in named:
        raise UsageError("--workers and --od: jobs come from worker records or from OD files; leave out one")
    if "workers" in named and "worker_schema" not in named:
        raise UsageError("--workers needs --schema, a file that says what the columns mean")
    if drop_faulty and "workers" not in named:
        raise UsageError("--drop-faulty is about worker records; name them with --workers")
    if "worker_schema" in named and "workers" not in named:
        raise UsageError("--schema describes worker records; name them with --workers")


def _declared_counts(options: Options) -> JsonObject:
    """Return the fact that the counts of worker records are public, or that nobody has said so; else nothing."""
    from geodata.store.public_counts import COUNTS_ARE_PUBLIC, public_counts_reference

    declared = options["counts_are_public"]
    if not options["workers"]:
        if declared is not None:
            raise UsageError(
                "--counts-are-public is about the counts of worker records; name them with --workers"
            )
        return {}
    return {COUNTS_ARE_PUBLIC: None if declared is None else public_counts_reference(declared)}


def _assigned_lines(assigned: JsonObject | None) -> list[str]:
    """What no promise covers of a source without joint segments: counted from real homes."""
    if assigned is None or not assigned["looked_at"]:
        return []
    share = assigned["ruled_out"] / max(assigned["colleagues"], 1)
    return [
        f"  segments  CONFIDENTIAL: {assigned['assigned']:,} of {assigned['jobs']:,} jobs had their segment assigned; "
        f"of {assigned['looked_at']:,} looked at, {assigned['changing']:,} decide the segment of a colleague. Of "
        f"{assigned['colleagues']:,} pairs of colleagues drawn, {share:.0%} could not have lived in each other's block "
        "without changing a published number. No release covers this (docs/privacy-promise.md, What is not promised)"
    ]


def _title_and_jobs(facts: JsonObject) -> str:
    """Return the title of what was imported, and how many jobs of which type it has."""
    from mapapp.answers.publication import jobs_of_type

    return f"{facts['title']}, {facts['n_jobs']:,} {jobs_of_type(str(facts.get('job_type') or ''))}"


def _summary(
    dataset: Path, imported: Imported, unused: dict[Path, str], earlier: list[Path]
) -> tuple[dict[str, object], list[str]]:
    """Return the result of an import, as data and as text lines."""
    facts, edits = imported.facts, imported.edits
    lines = [f"{dataset}: {_title_and_jobs(facts)}"]
    lines += [f"  read      {source['file']}: {source['role']}" for source in facts["sources"]]
    lines += [f"  not read  {path.name}: {why}" for path, why in unused.items()]
    lines += [f"  note      {note}" for note in facts["notes"]]
    lines += [f"  edits     {rule}" for rule in facts.get("edit_rules", ())]
    lines += _assigned_lines(facts.get("assigned_segments"))
    lines += undeclared_lines(facts)
    lines += [
        f"  note      {path.name} was imported from the same files and has a ledger: what is published from both "
        f"adds up (commutemap ledger {path.name} {dataset.name})"
        for path in earlier
    ]
    result = {
        "dataset": str(dataset),
        "same_files": [str(path) for path in earlier],
        "unused": {str(p): why for p, why in unused.items()},
        **{name: value for name, value in facts.items() if name not in COUNTS_OF_HOMES},
    }
    if edits is None:
        return result, lines
    return result | {"edits": edits.to_dict()}, [*lines, *edits.lines()]
