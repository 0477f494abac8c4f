"""Published counts of zones of any country: two files that are public already, and nothing drawn but dots."""

from __future__ import annotations

from pathlib import Path

from engine.precompile import STAGES, ensure_compiled
from geodata.store.store import refuse_existing
from geodata.zones.importing import ImportedZones, ZoneFiles, import_zones
from mapapp.answers.published.certificate import PublisherClaim, SourceClaim
from mapapp.base.progress import Report, silent
from mapapp.kinds.published.make.run import PublishedImport, published_claims, write_published


def publish_zones(
    path: Path,
    files: ZoneFiles,
    *,
    place: str,
    declared: PublisherClaim,
    count: tuple[str, str] = ("commuter", "commuters"),
    title: str | None = None,
    year: int | None = None,
    rounded: bool = False,
    threads: int = 2,
    progress: Report = silent,
) -> tuple[PublishedImport, ImportedZones]:
    """Make published counts of zones and flows.

    Parameters
    ----------
    path : Path
        Where there is nothing yet.
    files : ZoneFiles
    place : str
        Name of the whole region.
    declared : PublisherClaim
        Who published the flows.
    count : tuple of str
        What is counted, singular and plural.
    title, year : optional
    rounded : bool
        Round counts that are not whole.
    threads : int
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    GeodataError
        Nothing is left at `path`.
    """
    refuse_existing(path)
    ensure_compiled(lambda: progress("compiling kernels (once)", 0, 0), {"points": STAGES["points"]})
    read = import_zones(
        files,
        place=place,
        title=title,
        year=year,
        count=count,
        is_published=True,
        rounded=rounded,
        progress=progress,
    )
    imported = read.imported
    sizes = {file.name: file.stat().st_size for file in (files.zones, files.flows)}
    sources = [
        SourceClaim(
            file=str(source["file"]),
            role=str(source["role"]),
            bytes=sizes[str(source["file"])],
            rows=int(source["rows"]),
            sha256=str(source["sha256"]),
            listed_sha256=None,
            totals=imported.totals.get(str(source["file"])),
        )
        for source in imported.facts["sources"]
    ]
    (totals,) = imported.totals.values()
    certificate = published_claims(
        publisher=declared, homes_left_out=[], sources=sources, totals=totals, facts=imported.facts
    )
    made = write_published(path, imported, certificate, None, threads, progress)
    return made, read
