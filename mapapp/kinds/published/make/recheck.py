"""Checks published counts from themselves alone: tables, sources, published totals, and the positions of dots."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import starmap
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pandas

from geodata.geography.elsewhere import postal_code
from geodata.json_objects import JsonObject
from geodata.sources.lodes import COUNTS, OD_NAME
from geodata.store.shown_margins import shown_segments
from geodata.store.store import Store
from geodata.store.zones import is_of_zones
from mapapp.answers.publication import BOUND_SCHEMA, open_publication
from mapapp.answers.published.certificate import (
    DECLARED_PROTECTION,
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
from mapapp.kinds.published.make.run import BANDS, column_totals, point_rows, segments_sentence

_LISTED: Final = ("od", "crosswalks", "characteristics")
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
    totals, homes = _Totals(store), _Homes(store)
    used = np.zeros(store.manifest["files"]["blocks.parquet"]["rows"], dtype=np.bool_)
    try:
        for rows in starmap(_Rows, frames_by_workplace(store, ("jobs", "points"))):
            jobs.add(rows)
            points.add(rows)
            dots.add(rows)
            totals.add(rows.jobs)
            homes.add(rows.jobs)
            used[rows.jobs["destination_index"].to_numpy()] = True
    except NotInOrder:
        return [CertificateCheck("order", False, "jobs and points are not in the order of workplaces")]
    return [
        check_files(store),
        check_sizes(store),
        *check_publication(store, certificate.publication),
        check_facts(store, np.flatnonzero(used)),
        *check_geography(store),
        _check_words(certificate, store.manifest),
        _check_sources(certificate, store.manifest),
        _check_homes(certificate, homes.outside),
        jobs.result(),
        points.result(),
        dots.result(),
        totals.result(certificate),
    ]


class _Rows(NamedTuple):
    """All rows of some workplaces."""

    jobs: pandas.DataFrame
    points: pandas.DataFrame


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
            placed, published = again[name].to_numpy(), rows.points[name].to_numpy()
            same &= (placed == published) | (np.isnan(placed) & np.isnan(published))
        self._n_astray += int(np.count_nonzero(~same))

    def result(self) -> CertificateCheck:
        """Say what was found."""
        return CertificateCheck(
            "dots",
            not self._n_astray,
            f"{self._n_astray:,} of {self._n_points:,} are not where the public key puts them",
        )


class _Homes:
    """Whether somebody who works in a state lives in another, by the code of the state of work."""

    def __init__(self, store: Store) -> None:
        self._state = store.table("blocks", ["block_id"])["block_id"].str[:2].to_numpy(dtype=str)
        self._has_states = not is_of_zones(store.manifest)
        self.outside: dict[str, bool] = {}

    def add(self, jobs: pandas.DataFrame) -> None:
        """Look at the jobs of some workplaces; zones are in no state whose file could be missing."""
        if not self._has_states:
            return
        work, home = (self._state[jobs[f"{end}_index"].to_numpy()] for end in ("destination", "origin"))
        for code in np.unique(work).tolist():
            self.outside[code] = self.outside.get(code, False) or bool(np.any(home[work == code] != code))


class _Totals:
    """Jobs by column of an OD file, of those attributes that the counts have."""

    def __init__(self, store: Store) -> None:
        self._shown = shown_segments(store.manifest)
        self._found = dict.fromkeys(
            (COUNTS[0], *(column for name in self._shown for column in BANDS[name])), 0
        )

    def add(self, jobs: pandas.DataFrame) -> None:
        """Count the jobs of some workplaces."""
        for name, n in column_totals(jobs, self._shown).items():
            self._found[name] += n

    def result(self, certificate: PublishedCertificate) -> CertificateCheck:
        """Compare with the totals that the certificate states: each published column is recovered."""
        stated = certificate.totals
        wrong = [name for name, n in self._found.items() if stated.get(name) != n]
        detail = (
            f"other jobs than published: {', '.join(wrong)}"
            if wrong
            else f"all {len(self._found)} published columns add up to those of the jobs: {stated[COUNTS[0]]:,} jobs"
        )
        return CertificateCheck("published totals", not wrong and set(stated) == set(self._found), detail)


def _check_words(certificate: PublishedCertificate, facts: JsonObject) -> CertificateCheck:
    """Check that what the certificate says of itself and of its publisher is what this program says of such counts."""
    publisher, segments = certificate.publisher, facts.get("segments")
    vintage = facts.get("vintage")
    is_generated = isinstance(vintage, dict) and vintage.get("blocks") == "generated"
    if publisher.declared:
        is_right = publisher.protection == DECLARED_PROTECTION and not publisher.reference
    else:
        is_right = publisher == (GENERATED if is_generated else LODES)
    wrong = [
        name
        for name, stated, wanted in (
            ("schema_version", certificate.schema_version, BOUND_SCHEMA),
            ("statement", certificate.statement, STATEMENT),
            ("segments_in_words", certificate.segments_in_words, segments_sentence(facts)),
            ("segments", segments, "joint" if is_generated or is_of_zones(facts) else "assigned"),
            ("points_in_words", certificate.points_in_words, POINTS),
            ("publisher", is_right, True),
        )
        if stated != wanted
    ]
    detail = f"differs in {', '.join(wrong)}" if wrong else certificate.statement
    return CertificateCheck("statement", not wrong, detail)


def _check_sources(certificate: PublishedCertificate, facts: JsonObject) -> CertificateCheck:
    """Check the list of files: each once, OD files of one year and job type, whose totals add up to those of all."""
    names = [source.file for source in certificate.sources]
    od = [source for source in certificate.sources if source.role in ("od", "flows")]
    totals = [source.totals for source in od if source.totals is not None]
    named = [match for source in od if (match := OD_NAME.match(source.file)) and match["year"]]
    wrong = {
        "a file twice": len(set(names)) != len(names),
        "no name of a file": any(not name.isprintable() or ".." in name for name in names),
        "no file of jobs": bool(totals) is (certificate.publisher == GENERATED),
        "another year or job type": any(
            (int(match["year"]), match["job_type"].upper()) != (facts.get("year"), facts.get("job_type"))
            for match in named
        ),
        "a list of what lists do not name": any(
            source.listed_sha256 is not None and source.role not in _LISTED for source in certificate.sources
        ),
        "totals": bool(totals)
        and certificate.totals
        != {name: sum(file_totals.get(name, 0) for file_totals in totals) for name in certificate.totals},
    }
    faults = [what for what, is_wrong in wrong.items() if is_wrong]
    n = certificate.n_compared
    detail = (
        ", ".join(faults) or f"{len(names)} files; the certificate says that {n} equal their publisher's list"
    )
    return CertificateCheck("sources", not faults, detail)


def _check_homes(certificate: PublishedCertificate, outside: Mapping[str, bool]) -> CertificateCheck:
    """Check which states of work lack the workers who live in others: `outside` says whether a state has some."""
    stated = set(certificate.homes_left_out)
    with_aux = {
        match["postal"].upper()
        for source in certificate.sources
        if (match := OD_NAME.match(source.file)) and match["part"].lower() == "aux"
    }
    lacking = {code for code, has in outside.items() if not has and postal_code(code) not in with_aux}
    generated = certificate.publisher == GENERATED
    good = generated or (stated <= {code for code, has in outside.items() if not has} and lacking <= stated)
    detail = (
        "as the jobs say"
        if good
        else f"without workers who live elsewhere: {', '.join(sorted(lacking)) or 'none'}"
    )
    return CertificateCheck("homes", good, detail)
