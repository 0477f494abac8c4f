"""What a certificate of records states, made again: attributes, plan, structure, and every field that follows.

The plan is that of the stated choices. A learned structure is taken from the certificate, as are the numbers that only
the workers could tell; even these must be possible.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import combinations
from typing import Final, get_args

from engine.errors import EngineError
from engine.parameters import exact_fraction
from engine.records.structure import RECORDS_PER_CELL, Structure, count_cells
from geodata.errors import GeodataError
from geodata.json_objects import JsonMapping
from geodata.store.store import Store
from geodata.workers.schema import Attribute, WorkerSchema
from mapapp.answers.publication import BOUND_FIELD
from mapapp.base.errors import UsageError
from mapapp.kinds.base.certificate import TEST_KEY_REASON, CertificateCheck
from mapapp.kinds.base.certificate_comparison import compare_again, is_written_alike
from mapapp.kinds.base.overlapping_publications import GIVEN_SEGMENTS
from mapapp.kinds.base.residents_only import reasons_of_homes
from mapapp.kinds.records.make.attributes import (
    BAND,
    HOME_PUMA,
    WORK_PUMA,
    WORK_TRACT,
    RecordAttributes,
    attributes_over,
)
from mapapp.kinds.records.make.certificate import Made, earlier_promise_in_words, make_records_certificate
from mapapp.kinds.records.make.choice import AccountantName, Choice, StructureName
from mapapp.kinds.records.make.paper import PAPER_REASON
from mapapp.kinds.records.make.plan import Plan, learning_rules, plan_records

__all__ = [
    "STANDARD",
    "UNREADABLE",
    "check_again",
    "check_counts",
    "check_errors",
    "check_trusted",
    "stated_attributes",
    "stated_plan",
    "stated_structure",
]

STANDARD: Final = (WORK_PUMA, HOME_PUMA, WORK_TRACT, BAND, "industry", "earnings", "age")
"""Attributes that records have without a schema of workers."""

UNREADABLE: Final = (
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
"""What a certificate that was tampered with can raise where its statements are read."""

_NOT_COMPARED: Final = ("schema_version", "versions", "beside", "beside_in_words")
_TERMS: Final = ("constant", "per_worker", "per_worker_squared")
_MOST_TOGETHER: Final = 3
_VERSION: Final = re.compile(r"[0-9][0-9A-Za-z.+!-]{0,60}|not installed")


def stated_attributes(store: Store, certificate: JsonMapping) -> RecordAttributes:
    """The attributes over the geography of the records, with what the certificate says of the further ones."""
    further = [each for each in certificate["attributes"] if each["name"] not in STANDARD]
    schema = WorkerSchema(attributes=tuple(map(Attribute.from_fact, further)))
    return attributes_over(store, schema, missing=certificate["model"]["missing_attributes"])


def stated_plan(attributes: RecordAttributes, certificate: JsonMapping) -> Plan:
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


def check_counts(certificate: JsonMapping, plan: Plan, n_rows: int) -> CertificateCheck:
    """Tries, candidates that passed, and records add up, and as many rows are there."""
    counts = certificate["records"]
    passed, total, tried = (_whole(counts[name]) for name in ("n_passed", "n_total", "n_tried"))
    expected = plan.n_total if plan.choice.top_up or not passed else passed
    ok = total == n_rows == expected and passed <= tried and counts["topped_up"] == total - passed
    if plan.seeds is not None:
        ok = ok and certificate["seeds"]["passed"] == passed and tried == plan.seeds.n_tries
    detail = f"{passed:,} of {tried:,} tries passed, {counts['topped_up']:,} drawn from the model, {n_rows:,} in all"
    return CertificateCheck("numbers of records", ok, detail)


def check_errors(certificate: JsonMapping, plan: Plan, structure: Structure) -> CertificateCheck:
    """Terms of expected errors are there for every combination of attributes, as the program writes them.

    The numbers themselves come from the private model, and are taken on trust.
    """
    terms, names = certificate["expected_error"], plan.attributes.names
    complete = certificate["records"]["n_total"] == plan.n_total
    places = [each for size in range(1, _MOST_TOGETHER + 1) for each in combinations(range(len(names)), size)]
    expected = [
        {"attributes": [names[place] for place in each], "is_covered": structure.covers(each)}
        for each in (places if complete else [])
    ]
    about = [{name: each[name] for name in each if name not in _TERMS} for each in terms]
    ok = is_written_alike(about, expected) and all(
        set(_TERMS) <= set(each) and all(_is_term(each[name]) for name in _TERMS) for each in terms
    )
    return CertificateCheck("expected errors", ok, f"{len(terms)} combinations" if ok else "cannot be read")


def _is_term(value: object) -> bool:
    return type(value) is float and 0 <= value < math.inf and value == float(f"{value:.4g}")


def check_trusted(certificate: JsonMapping, plan: Plan, structure: Structure) -> CertificateCheck:
    """What cannot be made again is possible: reasons, versions, confidential inputs, and a learned structure."""
    wrong = []
    reasons = [TEST_KEY_REASON] if TEST_KEY_REASON in certificate["status_reasons"] else []
    reasons += [PAPER_REASON] if plan.choice.accountant == "paper" else []
    reasons += reasons_of_homes(certificate[BOUND_FIELD]["facts"])
    if not is_written_alike(certificate["status_reasons"], reasons):
        wrong.append("status_reasons")
    versions = certificate["versions"].values()
    if not all(isinstance(each, str) and _VERSION.fullmatch(each) for each in versions):
        wrong.append("versions")
    inputs = set(certificate["confidential_inputs"])
    has_further = not set(plan.attributes.names) <= set(STANDARD)
    if inputs != {"jobs", "workers"} and (has_further or inputs != {"jobs"}):
        wrong.append("confidential_inputs")
    if plan.choice.structure == "learned" and not _may_be_learned(certificate, plan, structure):
        wrong.append("learned structure")
    detail = f"impossible: {', '.join(wrong)}" if wrong else "possible"
    return CertificateCheck("what is taken on trust", not wrong, detail)


def _may_be_learned(certificate: JsonMapping, plan: Plan, structure: Structure) -> bool:
    """Whether learning can give a structure: required parents come first, and no table is larger than allowed."""
    rules = learning_rules(plan)
    if certificate["model"]["learned"]["fewest_records"] < 2:
        return False
    for child, parents in enumerate(structure.parents):
        required = tuple(parent for one, parent in rules.required if one == child)
        kept = list(zip(parents, structure.buckets[child], strict=True))
        n_cells = count_cells(structure.domain, child, kept, rules.possible)
        if parents[: len(required)] != required or (
            len(parents) > len(required) and n_cells * RECORDS_PER_CELL > plan.n_parameters
        ):
            return False
    return True


def check_again(store: Store, certificate: JsonMapping, plan: Plan, structure: Structure) -> CertificateCheck:
    """Write the certificate again from the records, and compare it field by field, number by number."""
    counts, learned = certificate["records"], certificate["model"]["learned"]
    is_learned = plan.choice.structure == "learned"
    made = Made(
        structure=structure,
        n_passed=counts["n_passed"],
        n_total=counts["n_total"],
        expected_error=certificate["expected_error"],
        fewest_records=_whole(learned["fewest_records"]) if is_learned else None,
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
    if certificate["promise"]["in_words"] == earlier_promise_in_words(plan):
        again["promise"]["in_words"] = earlier_promise_in_words(plan)
    return compare_again(again, certificate, "the records", skipped=_NOT_COMPARED)


def stated_structure(plan: Plan, model: JsonMapping) -> Structure:
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
