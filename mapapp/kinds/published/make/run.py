"""Opens published counts: source files → checked against their publisher's list → imported → points → publication."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from engine.placement.points import CellTriangles, place_points
from engine.precompile import STAGES, ensure_compiled
from engine.streams import SecretKey
from geodata.demo import generate
from geodata.errors import SourceFileError
from geodata.importing.importing import Imported, import_dataset, import_jobs
from geodata.json_objects import JsonObject
from geodata.sources.checksums import agrees, listed_sha256, parse_checksums, version_of
from geodata.sources.lodes import AGE, COUNTS, EARNINGS, INDUSTRY
from geodata.sources.recognize import Sources
from geodata.store.schema import BASE_TABLES, COPIED_TABLES, GEOGRAPHY
from geodata.store.shown_margins import shown_segments
from geodata.store.store import (
    Store,
    StoreWriter,
    open_store,
    refuse_existing,
    sha256_of,
    store_digest,
    write_store,
)
from mapapp.answers.claims import as_json
from mapapp.answers.publication import CERTIFICATE, CLAIMS_SCHEMA, bind_publication, public_facts
from mapapp.answers.published.certificate import (
    DECLARED_PROTECTION,
    GENERATED,
    JOINT,
    LODES,
    NO_SEGMENTS,
    POINTS,
    SEGMENTS,
    STATEMENT,
    PublishedCertificate,
    PublisherClaim,
    SourceClaim,
    read_published_certificate,
)
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.block_cells import read_cells
from mapapp.kinds.base.certificate import software_versions
from mapapp.kinds.base.inputs import synthesizers_of

_LODES_NAME: Final = re.compile(r"^[a-z]{2}_od_(main|aux)_JT0[0-5]_(19|20)\d\d\.csv(\.gz)?$", re.IGNORECASE)
_YEAR_AND_TYPE: Final = re.compile(r"_(?P<job_type>JT0[0-5])_(?P<year>(19|20)\d\d)", re.IGNORECASE)
_PLACED: Final = ("crosswalks", "tracts", "blocks", "tract_puma", "puma_names", "population", "base_map")
"""Roles of the files that decide the geography."""
BANDS: Final = {"age": AGE, "earnings": EARNINGS, "industry": INDUSTRY}
"""Columns of an OD file by attribute, in the order of `COUNTS`."""
_SHARED: Final = (*GEOGRAPHY, *BASE_TABLES)
"""Tables that all years of a state have alike."""
_OF_A_YEAR: Final = ("od", "characteristics", "checksums", "versions")
"""Roles of the files that do not decide the geography."""
_VINTAGE_OF: Final = {"5": 2000, "6": 2010, "7": 2010, "8": 2020}
"""Census year of the blocks by format version of LODES: a version file of other blocks is about other files."""
_LONGEST: Final = 300
_ROWS_AT_ONCE: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedImport:
    """What an import of published counts reports.

    Attributes
    ----------
    path : Path
    digest : str
    certificate : PublishedCertificate
    facts : dict
        Facts of the import: title, year, n_jobs, notes, and so on.
    """

    path: Path
    digest: str
    certificate: PublishedCertificate
    facts: JsonObject


def declared_publisher(text: str) -> PublisherClaim:
    """Return the publisher that a declaration names: "publisher, title, address".

    Raises
    ------
    UsageError
        One of the three is missing.
    """
    name, _, rest = text.partition(",")
    title, _, address = rest.rpartition(",")
    parts = [part.strip() for part in (name, title, address)]
    if not all(parts) or not text.isprintable() or len(text) > _LONGEST:
        raise UsageError(
            f"--declare-public {text[:60]!r}: give publisher, title, and address, such as "
            "'City of Leeds, Commuters 2021, https://example.org/commuters', in one line of at most 300 characters"
        )
    return PublisherClaim(
        name=parts[0],
        title=parts[1],
        address=parts[2],
        protection=DECLARED_PROTECTION,
        reference="",
        declared=True,
    )


def import_published(
    path: Path,
    sources: Sources,
    *,
    year: int | None = None,
    job_type: str | None = None,
    title: str | None = None,
    declared: PublisherClaim | None = None,
    geography: Path | None = None,
    threads: int = 2,
    progress: Report = silent,
) -> PublishedImport:
    """Make published counts of published files; nothing is drawn but the positions of dots within blocks.

    Parameters
    ----------
    path : Path
        Where there is nothing yet.
    sources : Sources
        Files by role. Worker records are refused.
    year, job_type : optional
        Of the files that are read, if there are several; the names of LODES files say both.
    title : str, optional
        By default made of states and year.
    declared : PublisherClaim, optional
        Who published files that are not named as LODES files are.
    geography : Path, optional
        Published counts of another year, made from the same geographic files: their geography is shared.
    threads : int
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    GeodataError, UsageError
        Nothing is left at `path`.
    """
    refuse_existing(path)
    sources = _chosen(sources, year, job_type)
    publisher = _publisher_of(sources, declared)
    equal = _compare_with_lists(sources)
    ensure_compiled(lambda: progress("compiling kernels (once)", 0, 0), {"points": STAGES["points"]})
    shared = None if geography is None else _shared_geography(geography, sources)
    imported = _import_sources(sources, title, shared, threads, progress)
    certificate = _certificate(imported, sources, publisher, equal, shared)
    return write_published(path, imported, certificate, shared, threads, progress)


def publish_generated(
    path: Path, *, size: str, seed: int, threads: int = 2, progress: Report = silent
) -> PublishedImport:
    """Make published counts of a generated country, in which nobody is real; `geodata.demo.generate` has sizes."""
    refuse_existing(path)
    ensure_compiled(lambda: progress("compiling kernels (once)", 0, 0), {"points": STAGES["points"]})
    tables, facts = generate(size, seed, progress)
    totals = column_totals(tables["jobs"])
    certificate = published_claims(
        publisher=GENERATED, homes_left_out=[], sources=[], totals=totals, facts=facts
    )
    return write_published(path, Imported(tables=tables, facts=facts), certificate, None, threads, progress)


def write_published(
    path: Path,
    imported: Imported,
    certificate: PublishedCertificate,
    shared: Store | None,
    threads: int,
    progress: Report,
) -> PublishedImport:
    """Write published counts, with a dot for each job; `shared` has their geography if they lack it."""
    with write_store(path, "published") as writer:
        writer.facts(**public_facts(imported.facts))
        _write_geography(writer, imported, shared)
        writer.table("jobs", imported.tables["jobs"])
        progress("placing dots", 0, 0)
        cells = read_cells(_place_of(writer, shared), _used_blocks(imported, shared), threads=threads)
        with writer.stream("points") as stream:
            for rows in point_rows(imported.tables["jobs"], cells):
                stream.write(rows)
        claims = as_json(certificate)
        bound = bind_publication(claims, public_facts(imported.facts), writer.list_files())
        writer.document(CERTIFICATE, bound)
    return PublishedImport(
        path=path, digest=store_digest(path), certificate=certificate, facts=imported.facts
    )


def column_totals(jobs: pandas.DataFrame, shown: Sequence[str] = tuple(BANDS)) -> dict[str, int]:
    """Return the jobs of some rows of `jobs` by column of an OD file; `shown` are the attributes that have any."""
    count = jobs["count"].to_numpy()
    totals = {COUNTS[0]: int(count.sum())}
    for name in shown:
        columns = BANDS[name]
        by_band = np.bincount(jobs[name].to_numpy() - 1, count, minlength=len(columns))  # exact below 2**53
        totals |= dict(zip(columns, by_band.astype(np.int64).tolist(), strict=True))
    return totals


def point_rows(jobs: pandas.DataFrame, cells: CellTriangles) -> Iterator[dict[str, npt.NDArray[np.generic]]]:
    """Yield the rows of `points` for rows of `jobs` in the order of workplaces, some workplaces at a time.

    Positions are drawn from the published test key, because they hide nothing.
    """
    key = SecretKey.for_tests()
    work = jobs["destination_index"].to_numpy()
    starts = np.append(np.flatnonzero(np.diff(work, prepend=-1)), work.size)
    cuts = np.unique(
        starts[
            np.searchsorted(
                starts, np.arange(0, work.size + _ROWS_AT_ONCE, _ROWS_AT_ONCE).clip(max=work.size)
            )
        ]
    )
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        part = jobs.iloc[first:last]
        destination, segment, worker_ptr, home = synthesizers_of({str(n): part[n].to_numpy() for n in part})
        n_workers = np.diff(worker_ptr)
        drawn = place_points(key, destination, segment, worker_ptr, home, cells)
        yield {
            "destination_index": np.repeat(destination.astype(np.int32), n_workers),
            "origin_index": home,
            "segment": np.repeat(segment.astype(np.int8), n_workers),
            "home_lon_deg": drawn.home_lon_deg,
            "home_lat_deg": drawn.home_lat_deg,
            "work_lon_deg": drawn.work_lon_deg,
            "work_lat_deg": drawn.work_lat_deg,
        }


def _chosen(sources: Sources, year: int | None, job_type: str | None) -> Sources:
    """Return the files of one year and job type; a prior is of no use, because nothing is drawn.

    Raises
    ------
    UsageError
        There are files of several years or job types, and none was chosen; or none is of the chosen one.
    """
    files = {role: getattr(sources, role) for role in ("od", "characteristics")}
    for option, field, wanted in (("--year", "year", year), ("--job-type", "job_type", job_type)):
        named = {path: _YEAR_AND_TYPE.search(path.name) for path in (*files["od"], *files["characteristics"])}
        stated = {path: str(match[field]).upper() for path, match in named.items() if match}
        if wanted is None and len({stated[path] for path in files["od"] if path in stated}) > 1:
            there = ", ".join(sorted(set(stated.values())))
            raise UsageError(f"the folder has OD files of {there}; choose one with {option}")
        if wanted is not None:
            kept = {path for path in named if stated.get(path) == str(wanted).upper()}
            files = {role: tuple(path for path in paths if path in kept) for role, paths in files.items()}
            if not files["od"]:
                there = ", ".join(sorted(set(stated.values()))) or "none that its name states"
                raise UsageError(f"{option} {wanted}: no OD file is of it; the folder has {there}")
    return replace(sources, prior_flows=(), **files)


def _publisher_of(sources: Sources, declared: PublisherClaim | None) -> PublisherClaim:
    if sources.workers:
        raise UsageError(
            f"{sources.workers[0]}: worker records are not published counts; leave out --published"
        )
    if not sources.od:
        raise SourceFileError("no OD file given; add STATE_od_main_JT00_YEAR.csv.gz")
    for path in sources.od:
        if _is_exported(path.parent):
            raise UsageError(
                f"{path}: exported by CommuteMap, so not as its publisher published it; open the publication that it "
                "is from, or download the published files"
            )
    strange = [path for path in sources.od if not _LODES_NAME.match(path.name)]
    if strange and declared is None:
        raise UsageError(
            f"{strange[0]}: not named as LODES files are, so it is not known to be public; if it is, say who published "
            "it with --declare-public 'publisher, title, address'"
        )
    return declared or LODES


def _is_exported(folder: Path) -> bool:
    """Whether a folder is an export of a publication: drawn workers must not be taken for published jobs."""
    try:
        origin = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(origin, dict) and "CommuteMap" in json.dumps(origin)


def _compare_with_lists(sources: Sources) -> dict[str, str]:
    """Return the sha256 that their publisher's lists state for files, by name; each file has been compared with it.

    Raises
    ------
    SourceFileError
        A file differs, or two lists do.
    """
    listed: dict[str, tuple[str, Path]] = {}
    for path in sources.checksums:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SourceFileError(f"{path}: cannot be read ({error}); download it again") from error
        for name, digest in parse_checksums(text).items():
            stated, first = listed.setdefault(name, (digest, path))
            if stated != digest:
                raise SourceFileError(
                    f"{path}: states another sha256 of {name} than {first}; keep one of the lists"
                )
    equal = {}
    for file in (*sources.od, *sources.crosswalks, *sources.characteristics):
        sha256 = listed_sha256({name: digest for name, (digest, _) in listed.items()}, file.name)
        if sha256 is None:
            continue
        if not agrees(file, sha256):
            source = (listed.get(file.name) or listed[file.name.removesuffix(".gz")])[1]
            raise SourceFileError(
                f"{file}: its sha256 is not the one that {source.name} states; download it again"
            )
        equal[file.name] = sha256
    return equal


def _shared_geography(path: Path, sources: Sources) -> Store:
    """Open the published counts whose geography is shared.

    Raises
    ------
    UsageError
        They were made from other geographic files.
    """
    store = open_store(path, "published")
    stated = {
        source.file: source.sha256
        for source in read_published_certificate(store).sources
        if source.role != "od"
    }
    placed = [(role, file) for role in _PLACED for file in getattr(sources, role)]
    for role, file in placed:
        is_unread = role == "base_map" and file.name not in stated  # such as water of another county
        if not is_unread and stated.get(file.name) != sha256_of(file):
            raise UsageError(f"{path}: made from another {file.name}, so its geography cannot be shared")
    return store


def _import_sources(
    sources: Sources, title: str | None, shared: Store | None, threads: int, progress: Report
) -> Imported:
    if shared is None:
        return import_dataset(
            sources,
            title=title,
            public_characteristics=True,
            is_published=True,
            threads=threads,
            progress=progress,
        )
    blocks = shared.table("blocks")
    imported = import_jobs(sources, blocks, int(shared.manifest["vintage"]["blocks"]), progress)
    same = {name: shared.manifest[name] for name in ("vintage", "layers") if name in shared.manifest}
    named = {} if title is None else {"title": title}
    return Imported(tables=imported.tables, facts=imported.facts | same | named, totals=imported.totals)


def _write_geography(writer: StoreWriter, imported: Imported, shared: Store | None) -> None:
    for table in (*GEOGRAPHY, *COPIED_TABLES):
        if table.name in imported.tables:
            writer.table(table.name, imported.tables[table.name])
        elif shared is not None and shared.has_table(table.name) and table in _SHARED:
            writer.share_table(shared, table.name)


def _place_of(writer: StoreWriter, shared: Store | None) -> Store:
    """A store whose cells can be read: the shared one, or the one that is being written."""
    return shared or Store(writer.directory, "published", {"files": writer.list_files()})


def _used_blocks(imported: Imported, shared: Store | None) -> npt.NDArray[np.bool_]:
    n_blocks = (
        len(imported.tables["blocks"])
        if shared is None
        else shared.manifest["files"]["blocks.parquet"]["rows"]
    )
    used = np.zeros(n_blocks, dtype=np.bool_)
    jobs = imported.tables["jobs"]
    used[jobs["destination_index"].to_numpy()] = used[jobs["origin_index"].to_numpy()] = True
    return used


def _certificate(
    imported: Imported,
    sources: Sources,
    publisher: PublisherClaim,
    equal: Mapping[str, str],
    shared: Store | None,
) -> PublishedCertificate:
    listed: list[SourceClaim] = []
    size_of = {path.name: path.stat().st_size for paths in sources.roles().values() for path in paths}
    read: Sequence[Mapping[str, object]] = [
        *imported.facts["sources"],
        *(
            {
                "file": file["file"],
                "role": "characteristics",
                "sha256": file["sha256"],
                "rows": file.get("rows", 0),
            }
            for file in imported.facts.get("characteristics", [])
        ),
    ]
    for source in read:
        name = str(source["file"])
        listed.append(
            SourceClaim(
                file=name,
                role=str(source["role"]),
                bytes=size_of.get(name, 0),
                rows=int(str(source["rows"])),
                sha256=str(source["sha256"]),
                listed_sha256=equal.get(name),
                totals=imported.totals.get(name),
            )
        )
    if shared is not None:
        listed += [
            source for source in read_published_certificate(shared).sources if source.role not in _OF_A_YEAR
        ]
    for role in ("checksums", "versions"):
        listed += [_of_text(path, role) for path in getattr(sources, role)]
    vintage = imported.facts["vintage"]["blocks"]
    stated = [version_of(path.read_text(encoding="utf-8", errors="replace")) for path in sources.versions]
    stated = [pair for pair in stated if pair[0] is None or _VINTAGE_OF.get(pair[0][0]) == vintage]
    formats, vintages = (
        ({version for version in versions if version} for versions in zip(*stated, strict=True))
        if stated
        else (set(), set())
    )
    return published_claims(
        publisher=publisher,
        homes_left_out=list(imported.facts.get("residents_only", [])),
        sources=listed,
        totals={name: sum(totals[name] for totals in imported.totals.values()) for name in COUNTS},
        facts=imported.facts,
        format_version=", ".join(sorted(formats)) or None,
        data_vintage=", ".join(sorted(vintages)) or None,
    )


def _of_text(path: Path, role: str) -> SourceClaim:
    """A list of checksums or a version file, by the state that it is of, since all version files have one name."""
    content = path.read_bytes()
    return SourceClaim(
        file=f"{path.parent.name}/{path.name}" if role == "versions" else path.name,
        role=role,
        bytes=len(content),
        rows=content.count(b"\n"),
        sha256=hashlib.sha256(content).hexdigest(),
        listed_sha256=None,
        totals=None,
    )


def published_claims(
    *,
    publisher: PublisherClaim,
    homes_left_out: list[str],
    sources: list[SourceClaim],
    totals: dict[str, int],
    facts: Mapping[str, object],
    format_version: str | None = None,
    data_vintage: str | None = None,
) -> PublishedCertificate:
    """Return the certificate of published counts, before it binds their tables."""
    return PublishedCertificate(
        schema_version=CLAIMS_SCHEMA,
        kind="published",
        status="for release",
        statement=STATEMENT,
        publisher=publisher,
        format_version=format_version,
        data_vintage=data_vintage,
        homes_left_out=homes_left_out,
        sources=sources,
        totals=totals,
        segments_in_words=segments_sentence(facts),
        points_in_words=POINTS,
        versions=software_versions(),
    )


def segments_sentence(facts: Mapping[str, object]) -> str:
    """Return what is said of counts by two attributes, from the facts of a manifest."""
    if not shown_segments(facts):
        return NO_SEGMENTS
    return JOINT if facts.get("segments") == "joint" else SEGMENTS
