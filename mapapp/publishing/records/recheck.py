"""Checking worker records from themselves alone: files, rows, and the certificate written again.

Attributes, structure, and promise are functions of public tables and of stated choices, so they are made again and
compared. Taken on trust remain what only the workers could tell: how many candidates passed, the errors to expect, a
learned structure, that the draws were made as described, and that their key was secret (the published test key is
recognized).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, get_args

import numpy as np
import numpy.typing as npt
import pandas

from engine.errors import EngineError
from engine.parameters import exact_fraction
from engine.records.placing import commute_bands
from engine.records.structure import Structure
from engine.streams import SecretKey
from geodata.errors import GeodataError, StoreError
from geodata.json_objects import JsonMapping, JsonObject
from geodata.schema import RECORDS
from geodata.store import Store, open_store
from geodata.worker_schema import Attribute, WorkerSchema
from mapapp.answers.publication import BOUND_FIELD, BOUND_SCHEMA, CERTIFICATE
from mapapp.errors import UsageError
from mapapp.publishing.beside import check_beside
from mapapp.publishing.certificate.publication_check import (
    check_facts,
    check_files,
    check_publication,
    check_sizes,
)
from mapapp.publishing.certificate.recheck import check_places, check_points
from mapapp.publishing.certificate.terms import CertificateCheck, require_hashes
from mapapp.publishing.records.attributes import (
    BAND,
    HOME_PUMA,
    WORK_PUMA,
    WORK_TRACT,
    RecordAttributes,
    attributes_over,
)
from mapapp.publishing.records.certificate import FIELDS, GIVEN_SEGMENTS, Made, make_records_certificate
from mapapp.publishing.records.choice import AccountantName, Choice, StructureName
from mapapp.publishing.records.paper import PAPER_REASON
from mapapp.publishing.records.placement import RecordRows, job_rows, point_rows
from mapapp.publishing.records.plan import Plan, plan_records
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
_NOT_COMPARED: Final = ("schema_version", "versions", "beside", "beside_in_words")
_STANDARD: Final = (WORK_PUMA, HOME_PUMA, WORK_TRACT, BAND, "industry", "earnings", "age")
_JOB: Final = ("age", "earnings", "industry")
_TERMS: Final = ("constant", "per_worker", "per_worker_squared")


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
        stated = {each["name"] for each in certificate["attributes"]} - set(_STANDARD)
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
    attributes = _attributes(store, certificate)
    plan = _plan(attributes, certificate)
    structure = _stated_structure(plan, certificate["model"])
    checks += [
        _check_jobs(rows, jobs),
        _check_values(rows, attributes),
        _check_bands(rows, structure, attributes),
        _check_counts(certificate, plan, len(rows)),
        _check_errors(certificate, attributes),
        _check_again(store, certificate, plan, structure),
        check_beside(certificate, "records"),
        _check_key(store, certificate, rows, attributes),
    ]
    require_hashes(certificate["public_inputs"], certificate["confidential_inputs"])
    return checks


def _check_schema(certificate: JsonMapping) -> CertificateCheck:
    strange = sorted(set(certificate) ^ {*FIELDS, BOUND_FIELD})
    ok = not strange and certificate["schema_version"] == BOUND_SCHEMA and certificate["kind"] == "records"
    detail = f"unexpected or missing: {strange}" if strange else f"all {len(FIELDS) + 1} fields"
    return CertificateCheck("schema", ok, detail)


def _attributes(store: Store, certificate: JsonMapping) -> RecordAttributes:
    """The attributes over the geography of the records, with what the certificate says of the further ones."""
    further = [each for each in certificate["attributes"] if each["name"] not in _STANDARD]
    schema = WorkerSchema(attributes=tuple(map(Attribute.from_fact, further)))
    return attributes_over(store, schema, missing=certificate["model"]["missing_attributes"])


def _plan(attributes: RecordAttributes, certificate: JsonMapping) -> Plan:
    """The plan that the stated choices give."""
    seeds, model, counts = certificate["seeds"], certificate["model"], certificate["records"]
    structure: StructureName = model["structure"]
    accountant: AccountantName = certificate["accountant"]
    if structure not in get_args(StructureName) or accountant not in get_args(AccountantName):
        raise ValueError("unknown structure or accountant")
    shares = certificate["split"]
    split = tuple(exact_fraction(str(shares[name]), name) for name in ("seeds", "parameters", "structure"))
    delta = exact_fraction(str(certificate["promise"]["add_remove"]["delta"]["exact"]), "delta")
    choice = Choice(
        model_epsilon=exact_fraction(str(model["epsilon"]["exact"]), "epsilon"),
        delta=delta or None,
        n_records=_whole(counts["wanted"]),
        split=(split[0], split[1], split[2]),
        structure=structure,
        top_up=True,
        given_segments=certificate["whole_record"] == GIVEN_SEGMENTS,
        anyway=True,
    )
    if seeds is not None:
        choice = _with_seeds(choice, seeds, accountant, top_up=counts["top_up"] is True)
    return plan_records(attributes, _whole(counts["wanted"]), choice)


def _with_seeds(choice: Choice, seeds: JsonMapping, accountant: AccountantName, *, top_up: bool) -> Choice:
    floor = seeds["seed_floor"]
    return replace(
        choice,
        kept=tuple(map(str, seeds["kept"])),
        n_tries=_whole(seeds["tries"]),
        min_seeds=_whole(seeds["min_plausible_seeds"]),
        threshold_epsilon=exact_fraction(str(seeds["threshold_epsilon"]), "threshold_epsilon"),
        similarity=exact_fraction(str(seeds["similarity"]), "similarity"),
        forced_fail=exact_fraction(str(seeds["forced_fail"]), "forced_fail"),
        seed_floor=None if floor is None else _whole(floor),
        n_min=_whole(seeds["n_min"]),
        accountant=accountant,
        top_up=top_up,
    )


def _whole(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no whole number")
    return value


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


def _check_counts(certificate: JsonMapping, plan: Plan, n_rows: int) -> CertificateCheck:
    counts = certificate["records"]
    passed, total, tried = (_whole(counts[name]) for name in ("n_passed", "n_total", "n_tried"))
    expected = plan.n_total if plan.choice.top_up or not passed else passed
    ok = total == n_rows == expected and passed <= tried and counts["topped_up"] == total - passed
    if plan.seeds is not None:
        ok = ok and certificate["seeds"]["passed"] == passed and tried == plan.seeds.n_tries
    detail = f"{passed:,} of {tried:,} tries passed, {counts['topped_up']:,} drawn from the model, {n_rows:,} in all"
    return CertificateCheck("numbers of records", ok, detail)


def _check_errors(certificate: JsonMapping, attributes: RecordAttributes) -> CertificateCheck:
    """Terms of expected errors are numbers of 0 or more, for combinations of attributes that exist."""
    terms = certificate["expected_error"]
    known = set(attributes.names)
    ok = isinstance(terms, list) and all(
        set(each) == {"attributes", *_TERMS, "is_covered"}
        and set(each["attributes"]) <= known
        and isinstance(each["is_covered"], bool)
        and all(type(each[name]) in (int, float) and 0 <= each[name] < math.inf for name in _TERMS)
        for each in terms
    )
    return CertificateCheck("expected errors", ok, f"{len(terms)} combinations" if ok else "cannot be read")


def _check_again(
    store: Store, certificate: JsonMapping, plan: Plan, structure: Structure
) -> CertificateCheck:
    """Write the certificate again from the records, and compare it field by field."""
    counts = certificate["records"]
    made = Made(
        structure=structure,
        n_passed=counts["n_passed"],
        n_total=counts["n_total"],
        expected_error=certificate["expected_error"],
        learned=certificate["model"]["learned"],
    )
    again = make_records_certificate(
        store,
        plan,
        made,
        reasons=certificate["status_reasons"],
        confidential_inputs=certificate["confidential_inputs"],
        beside=certificate["beside"],
        characteristics=store.manifest.get("characteristics", ()),
    )
    differs = [name for name in again if name not in _NOT_COMPARED and again[name] != certificate[name]]
    if set(certificate["versions"]) != set(again["versions"]):
        differs.append("versions")
    reasons = certificate["status_reasons"]
    if (plan.choice.accountant == "paper") != (PAPER_REASON in reasons):
        differs.append("status")
    if (plan.choice.structure == "learned") == (made.learned is None):
        differs.append("learned structure")
    detail = f"differs in {', '.join(differs)}" if differs else f"all {len(again)} fields match"
    return CertificateCheck("made again from the records", not differs, detail)


def _stated_structure(plan: Plan, model: JsonMapping) -> Structure:
    """The public structure, or the learned one that the certificate states."""
    if plan.choice.structure == "public":
        return plan.structure.structure
    attributes = plan.attributes
    parents = [
        tuple(attributes.place(parent) for parent in model["parents"][name]) for name in attributes.names
    ]
    return Structure(
        domain=attributes.domain,
        parents=tuple(parents),
        buckets=tuple(tuple(attributes.buckets.get(parent) for parent in each) for each in parents),
        possible=tuple(attributes.possible),
    )


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
