"""Checks published counts from themselves alone: tables, sources, published totals, and the positions of dots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pandas

from geodata.sources.lodes import COUNTS
from geodata.store.store import Store
from mapapp.answers.publication import BOUND_SCHEMA, open_publication
from mapapp.answers.published.certificate import (
    GENERATED,
    LODES,
    POINTS,
    STATEMENT,
    PublishedCertificate,
    read_published_certificate,
)
from mapapp.kinds.base.block_cells import read_cells
from mapapp.kinds.base.certificate import CertificateCheck
from mapapp.kinds.base.publication_check import (
    check_facts,
    check_files,
    check_geography,
    check_publication,
    check_sizes,
)
from mapapp.kinds.base.row_checks import JobsCheck, PointsCheck
from mapapp.kinds.base.rows_in_order import NotInOrder, frames_by_workplace
from mapapp.kinds.published.make.run import column_totals, point_rows, segments_sentence

_PLACES: Final = ("home_lon_deg", "home_lat_deg", "work_lon_deg", "work_lat_deg")


def check_published(path: Path) -> list[CertificateCheck]:
    """Check published counts.

    Raises
    ------
    StoreError
        They cannot be opened at all.
    """
    store = open_publication(path, "published")
    certificate = read_published_certificate(store)
    jobs = JobsCheck(store.manifest["files"]["blocks.parquet"]["rows"])
    points, dots = PointsCheck(), _DotsCheck(store)
    totals = _Totals()
    used = np.zeros(store.manifest["files"]["blocks.parquet"]["rows"], dtype=np.bool_)
    try:
        for rows in _rows(store):
            jobs.add(rows)
            points.add(rows)
            dots.add(rows)
            totals.add(rows.jobs)
            used[rows.jobs["destination_index"].to_numpy()] = True
    except NotInOrder:
        return [CertificateCheck("order", False, "jobs and points are not in the order of workplaces")]
    return [
        check_files(store),
        check_sizes(store),
        *check_publication(store, certificate.publication),
        check_facts(store, np.flatnonzero(used)),
        *check_geography(store),
        _check_words(certificate, store.manifest.get("segments")),
        _check_sources(certificate),
        jobs.result(),
        points.result(),
        dots.result(),
        totals.result(certificate),
    ]


class _Rows:
    """All rows of some workplaces."""

    def __init__(self, jobs: pandas.DataFrame, points: pandas.DataFrame) -> None:
        self.jobs = jobs
        self.points = points


def _rows(store: Store) -> Iterator[_Rows]:
    for jobs, points in frames_by_workplace(store, ("jobs", "points")):
        yield _Rows(jobs, points)


class _DotsCheck:
    """Every dot is where the public key puts it."""

    def __init__(self, store: Store) -> None:
        n_blocks = store.manifest["files"]["blocks.parquet"]["rows"]
        self._cells = read_cells(store, np.ones(n_blocks, dtype=np.bool_))
        self._n_points = self._n_astray = 0

    def add(self, rows: _Rows) -> None:
        """Place the dots of some workplaces again."""
        again = pandas.concat([pandas.DataFrame(part) for part in point_rows(rows.jobs, self._cells)])
        self._n_points += len(rows.points)
        if len(again) != len(rows.points):
            self._n_astray += len(rows.points)
            return
        same = np.ones(len(again), dtype=np.bool_)
        for name in _PLACES:
            one, other = again[name].to_numpy(), rows.points[name].to_numpy()
            same &= (one == other) | (np.isnan(one) & np.isnan(other))
        self._n_astray += int(np.count_nonzero(~same))

    def result(self) -> CertificateCheck:
        """Say what was found."""
        return CertificateCheck(
            "dots",
            not self._n_astray,
            f"{self._n_astray:,} of {self._n_points:,} are not where the public key puts them",
        )


class _Totals:
    """Jobs by column of an OD file."""

    def __init__(self) -> None:
        self._found = dict.fromkeys(COUNTS, 0)

    def add(self, jobs: pandas.DataFrame) -> None:
        """Count the jobs of some workplaces."""
        for name, n in column_totals(jobs).items():
            self._found[name] += n

    def result(self, certificate: PublishedCertificate) -> CertificateCheck:
        """Compare with the totals that the certificate states: each published column is recovered."""
        stated = certificate.totals
        wrong = [name for name in COUNTS if stated.get(name) != self._found[name]]
        detail = (
            f"other jobs than published: {', '.join(wrong)}"
            if wrong
            else f"all {len(COUNTS)} published columns add up to those of the jobs: {stated[COUNTS[0]]:,} jobs"
        )
        return CertificateCheck("published totals", not wrong and set(stated) == set(COUNTS), detail)


def _check_words(certificate: PublishedCertificate, segments: object) -> CertificateCheck:
    """Check that what the certificate says of itself is what this program says."""
    wrong = [
        name
        for name, found, wanted in (
            ("schema_version", certificate.schema_version, BOUND_SCHEMA),
            ("statement", certificate.statement, STATEMENT),
            ("segments_in_words", certificate.segments_in_words, segments_sentence(segments)),
            ("points_in_words", certificate.points_in_words, POINTS),
            (
                "publisher",
                certificate.publisher.declared or certificate.publisher in (LODES, GENERATED),
                True,
            ),
        )
        if found != wanted
    ]
    return CertificateCheck(
        "statement", not wrong, f"differs in {', '.join(wrong)}" if wrong else certificate.statement
    )


def _check_sources(certificate: PublishedCertificate) -> CertificateCheck:
    """Check that the OD files are listed, each once and with totals that add up to those of all; the demo has none."""
    names = [source.file for source in certificate.sources]
    totals = [source.totals for source in certificate.sources if source.totals is not None]
    generated = certificate.publisher == GENERATED
    good = bool(totals) is not generated and len(set(names)) == len(names)
    if totals:
        good = good and all(set(each) == set(COUNTS) for each in totals)
        good = good and certificate.totals == {
            name: sum(each.get(name, 0) for each in totals) for name in COUNTS
        }
    detail = (
        f"{len(names)} files, {certificate.n_compared} of them equal to their publisher's list of checksums"
        if good
        else "the OD files are not listed as they should be"
    )
    return CertificateCheck("sources", good, detail)
