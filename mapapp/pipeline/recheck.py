"""Checking a release from the release alone: its manifest, its tables, its certificate, and the two together.

What cannot be checked without the dataset: that the likelihood was what the keyed hash says, and that the draws were
made with a secret key. What can: everything a reader is asked to believe about the arithmetic.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas

from engine.coarsening import coarsen
from engine.parameters import SynthesisParameters
from geodata.distance import distance_matrix_mi
from geodata.schema import GEOGRAPHY, N_SEGMENTS, TRACTS, segment_code
from geodata.store import Store, open_store
from mapapp.certificate import CertificateCheck, check_certificate


def check_release(path: Path) -> list[CertificateCheck]:
    """Check a release from the release alone.

    Returns
    -------
    list of CertificateCheck
        Every claim, whether it holds, and the numbers.

    Raises
    ------
    StoreError
        When it is no release, or its files are not those of its manifest.
    """
    release = open_store(path, "release")
    checks = [
        CertificateCheck("manifest", True, f"{len(release.manifest['files'])} files, every sha256 as listed")
    ]
    certificate = release.document("certificate.json")
    jobs = release.table("jobs")
    blocks = release.table("blocks", ["tract_index", "elsewhere"])
    in_range = _check_jobs(jobs, len(blocks))
    checks.append(in_range)
    if not in_range.ok:
        return checks
    checks += check_certificate(certificate, counts_by_n(jobs))
    checks.append(_check_points(jobs, release.table("points")))
    checks.append(_check_public_inputs(release, certificate))
    checks.append(_check_support(release, certificate, jobs, blocks))
    return checks


def counts_by_n(jobs: pandas.DataFrame) -> dict[int, int]:
    """How many (destination block, segment) hold each number of workers."""
    per_synthesizer = jobs["count"].groupby(_synthesizer(jobs)).sum()
    n, times = np.unique(per_synthesizer.to_numpy(np.int64), return_counts=True)
    return {int(a): int(b) for a, b in zip(n, times, strict=True)}


def _synthesizer(jobs: pandas.DataFrame) -> np.ndarray[Any, np.dtype[np.int64]]:
    segment = segment_code(*(jobs[name].to_numpy(np.int64) for name in ("age", "earnings", "industry")))
    return np.asarray(jobs["destination_index"].to_numpy(np.int64) * N_SEGMENTS + segment)


def _check_jobs(jobs: pandas.DataFrame, n_blocks: int) -> CertificateCheck:
    """Every row names blocks that are there, a segment that exists and at least one worker, and no row twice."""
    places = jobs[["destination_index", "origin_index"]]
    bands = jobs[["age", "earnings", "industry"]]
    ok = bool(
        ((places >= 0) & (places < n_blocks)).all().all()
        and ((bands >= 1) & (bands <= 3)).all().all()
        and (jobs["count"] >= 1).all()
        and not jobs.drop(columns="count").duplicated().any()
    )
    return CertificateCheck("jobs", ok, f"{len(jobs):,} rows, {int(jobs['count'].sum()):,} synthetic workers")


def _check_points(jobs: pandas.DataFrame, points: pandas.DataFrame) -> CertificateCheck:
    """One point a synthetic worker, for the same destinations, origins and segments."""
    segment = segment_code(*(jobs[name].to_numpy(np.int64) for name in ("age", "earnings", "industry")))
    wanted = (
        jobs.assign(segment=segment).groupby(["destination_index", "origin_index", "segment"])["count"].sum()
    )
    found = points.groupby(["destination_index", "origin_index", "segment"]).size()
    ok = wanted.size == found.size and bool((wanted.sort_index() == found.sort_index()).all())
    return CertificateCheck("points", ok, f"{len(points):,} points for {int(jobs['count'].sum()):,} workers")


def _check_public_inputs(release: Store, certificate: dict[str, Any]) -> CertificateCheck:
    """The geography in the release is the one that the certificate names."""
    files = release.manifest["files"]
    stated = certificate["public_inputs"]
    wrong = [t.name for t in GEOGRAPHY if stated.get(t.name) != files[f"{t.name}.parquet"]["sha256"]]
    detail = f"differs: {', '.join(wrong)}" if wrong else f"{len(GEOGRAPHY)} tables as certified"
    return CertificateCheck("public geography", not wrong, detail)


def _check_support(
    release: Store, certificate: dict[str, Any], jobs: pandas.DataFrame, blocks: pandas.DataFrame
) -> CertificateCheck:
    """Support points counted again from the public geography: no row may claim more than there are.

    Editing removes points at random under the secret key, so fewer is possible; more is not.
    """
    parameters = SynthesisParameters.from_dict(certificate["parameters"]["synthesis"])
    tracts = release.table("tracts", list(TRACTS.columns))
    used = np.unique(blocks["tract_index"].to_numpy()[jobs["destination_index"].to_numpy()])
    lon, lat = tracts["lon_deg"].to_numpy(), tracts["lat_deg"].to_numpy()
    coarse = coarsen(
        distance_matrix_mi(lon[used], lat[used], lon, lat),
        tracts["puma_index"].to_numpy(np.int64),
        tracts["superpuma_index"].to_numpy(np.int64),
        tracts["population"].to_numpy(np.int64),
        q50_mi=parameters.q50_mi,
        q90_mi=parameters.q90_mi,
    )
    most = int(coarse.n_support.max())
    claimed = max(row["n_support_most"] for row in certificate["accounting"]["rows"])
    ok = claimed == most if parameters.editing == "none" else claimed <= most
    return CertificateCheck("support points", ok, f"at most {claimed} claimed, {most} before editing")
