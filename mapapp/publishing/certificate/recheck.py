"""Checking a release from the release alone: its files, its tables, and its certificate made again.

The support points, the prior weights and everything in the certificate follow from public tables, from the seed of
domain editing and from the numbers of workers, all of which a release carries. So the certificate is written a
second time and compared. Taken on trust remain: that the likelihood was the one behind the keyed hash, that the
draws were made as described, and that their key was secret (the published test key is recognised).
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas
import shapely

from engine.errors import EngineError
from engine.parameters import SynthesisParameters
from engine.points import place_points
from engine.streams import PublicSeed, SecretKey
from geodata.errors import StoreError
from geodata.schema import N_SEGMENTS
from geodata.store import Store, open_store
from mapapp.answers.publication import is_bound
from mapapp.publishing.batch import SynthesisSource, open_source, read_cells
from mapapp.publishing.batch_workers import prepare_all
from mapapp.publishing.beside import check_beside
from mapapp.publishing.certificate.certificate import CertificateCheck, check_certificate, software_versions
from mapapp.publishing.certificate.mechanism import read_privacy
from mapapp.publishing.certificate.publication_check import (
    check_facts,
    check_files,
    check_publication,
    check_sizes,
)
from mapapp.publishing.certificate.terms import LATER_FIELDS, Certificate
from mapapp.publishing.chosen_setting import check_design
from mapapp.publishing.inputs import segment_of
from mapapp.publishing.promise import make_certificate
from mapapp.publishing.run import TEST_KEY_REASON

__all__ = ["check_places", "check_points", "check_release", "counts_by_n"]

_FITTED = (
    "accounting",
    "construction",
    "preconditions",
    "readings",
    "worst_synthesizer",
    "epsilon_final",
    "lone_worker",
    "mechanism",
)
_AGREE = 1e-6  # relative; other machines may round the last digits of a fitted prior differently
_SAMPLE = 20_000
_BESIDE_DEG = 2e-5  # about 2 m: points are stored in single precision


def check_release(path: Path) -> list[CertificateCheck]:
    """Check a release from the release alone.

    Returns
    -------
    list of CertificateCheck
        Every claim, whether it holds, and the numbers.

    Raises
    ------
    StoreError
        When it is no release, its files are not those of its manifest, or its certificate cannot be read.
    """
    release = open_store(path, "release")
    certificate = _read_certificate(release)
    jobs, points = release.table("jobs"), release.table("points")
    checks = [check_files(release), check_sizes(release)]
    if all(check.ok for check in checks):
        checks.append(_check_jobs(release, jobs))
    if not all(check.ok for check in checks):
        return checks
    checks += [
        *check_publication(release, certificate),
        check_facts(release, jobs["destination_index"].to_numpy()),
    ]
    checks += [check_points(jobs, points), check_places(release, points)]
    try:
        checks += check_certificate(certificate, counts_by_n(jobs))
        source = _source(release, certificate)
        checks.append(_check_again(source, certificate))
        checks.append(_check_key(source, certificate, points))
        if "beside" in certificate:
            checks.append(check_beside(certificate))
        if "design" in certificate["construction"]:
            checks.append(check_design(release, certificate))
    except (EngineError, KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        checks.append(
            CertificateCheck("certificate", False, f"cannot be interpreted ({type(error).__name__})")
        )
    return checks


def counts_by_n(jobs: pandas.DataFrame) -> dict[int, int]:
    """How many (destination block, segment) hold each number of workers."""
    synthesizer = jobs["destination_index"].to_numpy(np.int64) * N_SEGMENTS + segment_of(jobs)
    n, times = np.unique(jobs["count"].groupby(synthesizer).sum().to_numpy(np.int64), return_counts=True)
    return {int(a): int(b) for a, b in zip(n, times, strict=True)}


def _read_certificate(release: Store) -> Certificate:
    try:
        certificate = release.document("certificate.json")
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{release.path}/certificate.json: not readable ({error}); do not use this release"
        ) from error
    if not isinstance(certificate, dict):
        raise StoreError(f"{release.path}/certificate.json: not a certificate; do not use this release")
    return certificate


def _check_jobs(release: Store, jobs: pandas.DataFrame) -> CertificateCheck:
    """Every row names blocks that are there, a segment that exists and at least one worker, and no row twice."""
    n_blocks = release.manifest["files"]["blocks.parquet"]["rows"]
    places = jobs[["destination_index", "origin_index"]]
    bands = jobs[["age", "earnings", "industry"]]
    ok = bool(
        len(jobs)
        and ((places >= 0) & (places < n_blocks)).all().all()
        and ((bands >= 1) & (bands <= 3)).all().all()
        and (jobs["count"] >= 1).all()
        and not jobs.drop(columns="count").duplicated().any()
    )
    return CertificateCheck("jobs", ok, f"{len(jobs):,} rows, {int(jobs['count'].sum()):,} synthetic workers")


def check_points(jobs: pandas.DataFrame, points: pandas.DataFrame) -> CertificateCheck:
    """One point a synthetic worker, for the same destinations, origins and segments."""
    names = ["destination_index", "origin_index", "segment"]
    wanted = jobs.assign(segment=segment_of(jobs)).groupby(names)["count"].sum()
    found = points.groupby(names).size()
    ok = wanted.size == found.size and bool((wanted == found.reindex(wanted.index)).all())
    return CertificateCheck("points", ok, f"{len(points):,} points for {int(jobs['count'].sum()):,} workers")


def check_places(release: Store, points: pandas.DataFrame, *, every: int | None = None) -> CertificateCheck:
    """Points lie in the cells of their blocks; of many points, a regular sample, or one of `every` so many."""
    chosen = points.iloc[:: every or max(len(points) // _SAMPLE, 1)]
    cell_of = _cells_of(release, chosen)
    astray = 0
    for end, block in (("home", "origin_index"), ("work", "destination_index")):
        lon, lat = (chosen[f"{end}_{axis}_deg"].to_numpy(np.float64) for axis in ("lon", "lat"))
        cell = cell_of[chosen[block].to_numpy()]
        has_cell = ~shapely.is_missing(cell)
        place = shapely.points(np.where(has_cell, lon, 0.0), np.where(has_cell, lat, 0.0))
        astray += int((has_cell & ~shapely.dwithin(cell, place, _BESIDE_DEG)).sum())
        astray += int((~has_cell & ~np.isnan(lon)).sum())
    return CertificateCheck(
        "places", astray == 0, f"{astray} of {2 * len(chosen):,} sampled points outside their block"
    )


def _cells_of(release: Store, points: pandas.DataFrame) -> npt.NDArray[np.object_]:
    """Cells of the blocks of some points, by block; None for all other blocks, and for those without a cell."""
    wanted = np.zeros(release.manifest["files"]["blocks.parquet"]["rows"], dtype=np.bool_)
    wanted[points["origin_index"]], wanted[points["destination_index"]] = True, True
    cell_of = np.full(wanted.size, None, dtype=object)
    for part in release.batches("cells"):
        block = part["block_index"].to_numpy()
        found = part.filter(wanted[block])
        cell_of[block[wanted[block]]] = shapely.from_wkb(found["geometry"].to_numpy())
    return cell_of


def _source(release: Store, certificate: Certificate) -> SynthesisSource:
    """What the release says it was made from."""
    return open_source(
        release,
        PublicSeed(certificate["construction"]["editing_seed"]),
        read_privacy(certificate["parameters"]),
        SynthesisParameters.from_dict(certificate["parameters"]["synthesis"]),
    )


def _check_again(source: SynthesisSource, certificate: Certificate) -> CertificateCheck:
    """Make the certificate again from the public tables, and compare it field by field."""
    again = make_certificate(
        source.store,
        [batch.certified for batch in prepare_all(source, threads=os.cpu_count() or 1)],
        source.prior,
        source.seed,
        source.privacy,
        source.parameters,
        confidential_inputs=certificate["confidential_inputs"],
        reasons=(TEST_KEY_REASON,) if TEST_KEY_REASON in certificate["status_reasons"] else (),
        design=certificate["construction"].get("design"),
        versions=certificate["versions"],
    )
    if is_bound(certificate):
        del again["schema_version"]  # checked with the other fields; the publication has a check of its own
    for field in LATER_FIELDS:
        if field not in certificate:
            again.pop(field, None)
    differs = [
        field
        for field, value in again.items()
        if not (_same(value, certificate.get(field)) if field in _FITTED else value == certificate.get(field))
    ]
    if set(certificate["versions"]) != set(software_versions()):
        differs.append("versions")
    detail = f"differs in {', '.join(differs)}" if differs else f"all {len(again)} fields match"
    return CertificateCheck("made again from public tables", not differs, detail)


def _same(one: object, other: object) -> bool:
    """Equal, numbers to within rounding."""
    if isinstance(one, Mapping):
        return (
            isinstance(other, Mapping)
            and set(one) == set(other)
            and all(_same(one[k], other[k]) for k in one)
        )
    if isinstance(one, list | tuple):
        return isinstance(other, list | tuple) and len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, int | float) and not isinstance(one, bool):
        if not isinstance(other, int | float) or isinstance(other, bool) or not math.isfinite(other):
            return False
        return abs(one - other) <= _AGREE * max(abs(one), abs(other))
    return bool(one == other)


def _check_key(
    source: SynthesisSource, certificate: Certificate, points: pandas.DataFrame
) -> CertificateCheck:
    """Draw the workplace points again under the published test key: in a release of another key none agrees."""
    used = np.zeros(source.geography.n_blocks, dtype=np.bool_)
    used[points["destination_index"].to_numpy()] = True
    cells = read_cells(source.store, used)
    same, first = 0, 0
    for batch in range(source.workplaces.n_batches):
        inputs = source.inputs(batch)
        drawn = place_points(
            SecretKey.for_tests(), inputs.destination, inputs.segment, inputs.worker_ptr, None, cells
        )
        rows = slice(first, first + drawn.work_lon_deg.size)
        lon, lat = (points[f"work_{axis}_deg"].to_numpy()[rows] for axis in ("lon", "lat"))
        same += int(np.count_nonzero((drawn.work_lon_deg == lon) & (drawn.work_lat_deg == lat)))
        first = rows.stop
    is_test = same > 0.5 * len(points)
    ok = is_test == (TEST_KEY_REASON in certificate["status_reasons"])
    return CertificateCheck("test key", ok, "made with the published test key" if is_test else "not used")
