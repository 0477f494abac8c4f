"""Checking worker records from themselves alone: files, rows, and the certificate written again.

Attributes, structure, and promise are functions of public tables and of stated choices, so they are made again and
compared. Taken on trust remain what only the workers could tell: how many candidates passed, the errors to expect,
which structure was learned and from about how many records, that the draws were made as described, and that their key
was secret (the published test key is recognized). Also the analyst's word: the choices themselves, labels and parents
of further attributes, versions of software, and which publications were known.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from engine.errors import EngineError
from engine.records.placing import commute_bands
from engine.records.structure import Structure
from engine.streams import SecretKey
from geodata.errors import GeodataError, StoreError
from geodata.json_objects import JsonMapping, JsonObject
from geodata.schema import RECORDS
from geodata.store import Store, open_store
from mapapp.answers.publication import BOUND_FIELD, BOUND_SCHEMA, CERTIFICATE
from mapapp.errors import UsageError
from mapapp.publishing.beside import check_beside
from mapapp.publishing.certificate.publication_check import (
    check_facts,
    check_files,
    check_publication,
    check_sizes,
    is_written_alike,
)
from mapapp.publishing.certificate.recheck import check_places, check_points
from mapapp.publishing.certificate.terms import CertificateCheck, require_hashes
from mapapp.publishing.records.attributes import BAND, RecordAttributes
from mapapp.publishing.records.certificate import FIELDS
from mapapp.publishing.records.placement import RecordRows, job_rows, point_rows
from mapapp.publishing.records.stated import (
    STANDARD,
    check_again,
    check_counts,
    check_errors,
    check_trusted,
    stated_attributes,
    stated_plan,
    stated_structure,
)
from mapapp.publishing.run import TEST_KEY_REASON

__all__ = ["check_records"]

_UNREADABLE: Final = (
    EngineError,
    GeodataError,
    UsageError,
    KeyError,
    TypeError,
    ValueError,
    ArithmeticError,
    AttributeError,
    IndexError,
)
_JOB: Final = ("age", "earnings", "industry")


def check_records(path: Path) -> list[CertificateCheck]:
    """Check worker records from themselves alone.

    Returns
    -------
    list of CertificateCheck
        Every claim, whether it holds, and the numbers.

    Raises
    ------
    StoreError
        They are no records, their files are not those of the manifest, or the certificate cannot be read.
    """
    store = open_store(path, "records")
    try:
        certificate = store.document(CERTIFICATE)
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{path}/{CERTIFICATE}: not readable ({type(error).__name__}); do not use these records"
        ) from error
    rows, points, jobs = (store.table(name) for name in ("records", "points", "jobs"))
    checks = [_check_columns(store, certificate), check_sizes(store)]
    if not all(check.ok for check in checks):
        return checks
    checks += [
        *check_publication(store, certificate),
        check_facts(store, rows["destination_index"].to_numpy()),
        check_points(jobs, points),
        _check_same_workers(rows, points),
        check_places(store, points),
    ]
    try:
        checks += _claims(store, certificate, rows, jobs)
    except _UNREADABLE as error:
        checks.append(
            CertificateCheck("certificate", False, f"cannot be interpreted ({type(error).__name__})")
        )
    return checks


def _check_columns(store: Store, certificate: JsonMapping) -> CertificateCheck:
    """Files and columns as usual; of `records`, the further columns are the certificate's attributes."""
    check = check_files(store)
    try:
        stated = {each["name"] for each in certificate["attributes"]} - set(STANDARD)
    except (KeyError, TypeError):
        return CertificateCheck("files and columns", False, "the certificate does not list its attributes")
    strange = sorted((set(store.columns("records")) - set(RECORDS.columns)) ^ stated)
    if strange:
        return CertificateCheck("files and columns", False, f"unexpected or missing: {', '.join(strange)}")
    return check


def _check_same_workers(rows: pandas.DataFrame, points: pandas.DataFrame) -> CertificateCheck:
    """Row i of `records` and of `points` are the same worker, and rows are in the order that says nothing."""
    names = ["destination_index", "origin_index"]
    same = len(rows) == len(points) and bool((rows[names].to_numpy() == points[names].to_numpy()).all())
    segment = RecordRows(columns=_columns(rows)).segment
    same = same and bool((segment == points["segment"].to_numpy()).all())
    order = np.lexsort([rows[name].to_numpy() for name in _sort_names(rows)[::-1]])
    sorted_rows = rows.iloc[order].reset_index(drop=True)
    in_order = bool(sorted_rows.equals(rows.reset_index(drop=True)))
    wrong = [
        *([] if same else ["rows differ from points"]),
        *([] if in_order else ["not in the usual order"]),
    ]
    return CertificateCheck("records and points", not wrong, "; ".join(wrong) or f"{len(rows):,} workers")


def _sort_names(rows: pandas.DataFrame) -> list[str]:
    first = ["destination_index", "age", "earnings", "industry", "origin_index", "distance_band"]
    return [*first, *(name for name in rows.columns if name not in first)]


def _columns(rows: pandas.DataFrame) -> dict[str, npt.NDArray[np.generic]]:
    return {str(name): rows[name].to_numpy() for name in rows}


def _claims(
    store: Store, certificate: JsonObject, rows: pandas.DataFrame, jobs: pandas.DataFrame
) -> list[CertificateCheck]:
    checks = [_check_schema(certificate)]
    if not checks[0].ok:
        return checks
    attributes = stated_attributes(store, certificate)
    plan = stated_plan(attributes, certificate)
    structure = stated_structure(plan, certificate["model"])
    checks += [
        _check_jobs(rows, jobs),
        _check_values(rows, attributes),
        _check_bands(rows, structure, attributes),
        check_counts(certificate, plan, len(rows)),
        check_errors(certificate, plan, structure),
        check_trusted(certificate, plan, structure),
        check_again(store, certificate, plan, structure),
        check_beside(certificate, "records"),
        _check_key(store, certificate, rows, attributes),
    ]
    require_hashes(certificate["public_inputs"], certificate["confidential_inputs"])
    return checks


def _check_schema(certificate: JsonMapping) -> CertificateCheck:
    strange = sorted(set(certificate) ^ {*FIELDS, BOUND_FIELD})
    stated = [certificate.get(name) for name in ("schema_version", "kind")]
    ok = not strange and is_written_alike(stated, [BOUND_SCHEMA, "records"])
    detail = f"unexpected or missing: {strange}" if strange else f"all {len(FIELDS) + 1} fields"
    return CertificateCheck("schema", ok, detail)


def _check_jobs(rows: pandas.DataFrame, jobs: pandas.DataFrame) -> CertificateCheck:
    """`jobs` counts the records."""
    counted = pandas.DataFrame(job_rows(RecordRows(columns=_columns(rows))))
    same = counted.equals(jobs[list(counted.columns)].reset_index(drop=True))
    return CertificateCheck(
        "jobs", same, f"{len(jobs):,} rows" + ("" if same else " do not count the records")
    )


def _check_values(rows: pandas.DataFrame, attributes: RecordAttributes) -> CertificateCheck:
    """Every value is in its domain, workplaces are covered, and what is derived follows from its source."""
    wrong = []
    tract = attributes.geography.tract_of_block[rows["destination_index"].to_numpy()]
    if not np.isin(tract, attributes.work_tract).all():
        wrong.append("workplaces outside the states that are covered")
    for attribute in attributes.attributes:
        if attribute.name in rows and attribute.name not in (*_JOB, BAND):
            values = rows[attribute.name].to_numpy()
            if values.size and (values.min() < 0 or values.max() >= len(attribute.codes)):
                wrong.append(f"values of {attribute.name}")
                continue
            wrong += [
                f"{name} does not follow from {attribute.name}"
                for name, groups in attribute.derives.items()
                if (np.array(groups)[values] != rows[name].to_numpy()).any()
            ]
    wrong += [f"{name} is missing but varies" for name in attributes.missing if (rows[name] != 1).any()]
    detail = f"{len(attributes.names)} attributes" if not wrong else f"wrong: {', '.join(wrong)}"
    return CertificateCheck("values of attributes", not wrong, detail)


def _check_bands(
    rows: pandas.DataFrame, structure: Structure, attributes: RecordAttributes
) -> CertificateCheck:
    """Distance bands are possible between the PUMAs if the structure sees to it; how many homes lie in theirs."""
    work, home = rows["destination_index"].to_numpy(), rows["origin_index"].to_numpy()
    band = rows["distance_band"].to_numpy()
    share = float((commute_bands(attributes.ground, work, home) == band).mean())
    rule = next(each for each in attributes.possible if each.attribute == attributes.place(BAND))
    parents = dict(zip(structure.parents[rule.attribute], structure.buckets[rule.attribute], strict=True))
    if all(parent in parents and parents[parent] is None for parent in rule.given):
        geography = attributes.geography
        puma = geography.tracts.puma[geography.tract_of_block]
        place = np.zeros(geography.tracts.puma_members[0].size - 1, dtype=np.int64)
        place[attributes.work_puma] = np.arange(attributes.work_puma.size)
        if not rule.table[place[puma[work]], puma[home], band].all():
            return CertificateCheck(
                "distance bands", False, "some are impossible between the PUMAs of work and home"
            )
    return CertificateCheck("distance bands", True, f"{share:.1%} of homes lie in the band that was drawn")


def _check_key(
    store: Store, certificate: Mapping[str, object], rows: pandas.DataFrame, attributes: RecordAttributes
) -> CertificateCheck:
    """Recognize points that were drawn under the published test key."""
    reasons = certificate["status_reasons"]
    stated = isinstance(reasons, list) and TEST_KEY_REASON in reasons
    drawn = point_rows(
        SecretKey.for_tests(), RecordRows(columns=_columns(rows)), store, attributes.geography.n_blocks
    )
    points = store.table("points")
    same = np.ones(len(points), dtype=np.bool_)
    for name in ("work_lon_deg", "work_lat_deg"):
        same &= points[name].to_numpy() == drawn[name]
    is_test = int(np.count_nonzero(same)) > len(points) / 2
    detail = "made with the published test key" if is_test else "not used"
    return CertificateCheck("test key", is_test == stated, detail)
