"""What a certificate of records states, made again: attributes, plan, structure, and every field that follows.

The plan is that of the stated choices. A learned structure is taken from the certificate, as are the numbers that only
the workers could tell; even these must be possible.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Final

import msgspec
from msgspec import UNSET, structs

from engine.records.structure import RECORDS_PER_CELL, Structure, count_cells
from geodata.json_objects import JsonMapping
from geodata.store.store import Store
from geodata.workers.schema import Attribute, WorkerSchema
from mapapp.answers.claims import as_json
from mapapp.answers.records.claims import AccountantName, ModelClaims, RecordsCertificate, SeedClaims
from mapapp.kinds.base.certificate import TEST_KEY_REASON, CertificateCheck
from mapapp.kinds.base.certificate_comparison import compare_again
from mapapp.kinds.base.overlapping_publications import GIVEN_SEGMENTS
from mapapp.kinds.base.persons import has_persons
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
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.paper import PAPER_REASON
from mapapp.kinds.records.make.plan import Plan, learning_rules, plan_records

__all__ = [
    "STANDARD",
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

_NOT_COMPARED: Final = ("schema_version", "versions", "beside", "beside_in_words")
_MOST_TOGETHER: Final = 3


def stated_attributes(store: Store, stated: RecordsCertificate) -> RecordAttributes:
    """The attributes over the geography of the records, with what the certificate says of the further ones."""
    further = [
        Attribute.from_fact(as_json(attribute))
        for attribute in stated.attributes
        if attribute.name not in STANDARD
    ]
    never = () if stated.model.never is UNSET else stated.model.never
    schema = WorkerSchema(
        attributes=tuple(further), never=tuple(never), has_persons=has_persons(store.manifest)
    )
    return attributes_over(store, schema, missing=stated.model.missing_attributes)


def stated_plan(attributes: RecordAttributes, stated: RecordsCertificate) -> Plan:
    """The plan that the stated choices give."""
    counts, split = stated.records, stated.split
    choice = Choice(
        model_epsilon=stated.model.epsilon.fraction,
        delta=stated.promise.add_remove.delta.fraction or None,
        n_records=counts.wanted,
        split=(Fraction(split.seeds), Fraction(split.parameters), Fraction(split.structure)),
        structure=stated.model.structure,
        top_up=True,
        given_segments=stated.whole_record == GIVEN_SEGMENTS,
        anyway=True,
        jobs_per_person=None if stated.promise.person is UNSET else stated.promise.person.jobs,
    )
    if stated.seeds is not None:
        choice = _add_seeds(choice, stated.seeds, stated.accountant, top_up=counts.top_up)
    return plan_records(attributes, counts.wanted, choice)


def _add_seeds(choice: Choice, seeds: SeedClaims, accountant: AccountantName, *, top_up: bool) -> Choice:
    return replace(
        choice,
        kept=seeds.kept,
        n_tries=seeds.tries,
        min_seeds=seeds.min_plausible_seeds,
        threshold_epsilon=Fraction(seeds.threshold_epsilon),
        similarity=Fraction(seeds.similarity),
        forced_fail=Fraction(seeds.forced_fail),
        seed_floor=seeds.seed_floor,
        n_min=seeds.n_min,
        accountant=accountant,
        top_up=top_up,
    )


def check_counts(stated: RecordsCertificate, plan: Plan, n_rows: int) -> CertificateCheck:
    """Tries, candidates that passed, and records add up, and as many rows are there."""
    counts = stated.records
    passed, total = counts.n_passed, counts.n_total
    expected = plan.n_total if plan.choice.top_up or not passed else passed
    ok = total == n_rows == expected and passed <= counts.n_tried and counts.topped_up == total - passed
    if plan.seeds is not None and stated.seeds is not None:
        ok = ok and stated.seeds.passed == passed and counts.n_tried == plan.seeds.n_tries
    detail = (
        f"{passed:,} of {counts.n_tried:,} tries passed, {counts.topped_up:,} drawn from the model, "
        f"{n_rows:,} in all"
    )
    return CertificateCheck("numbers of records", ok, detail)


def check_errors(stated: RecordsCertificate, plan: Plan, structure: Structure) -> CertificateCheck:
    """Terms of expected errors are there for every combination of attributes, as the program writes them.

    The numbers themselves come from the private model, and are taken on trust.
    """
    terms, names = stated.expected_error, plan.attributes.names
    complete = stated.records.n_total == plan.n_total
    places = [
        combination
        for size in range(1, _MOST_TOGETHER + 1)
        for combination in combinations(range(len(names)), size)
    ]
    expected = [
        (tuple(names[place] for place in combination), structure.covers(combination))
        for combination in (places if complete else [])
    ]
    if terms is None or [(term.attributes, term.is_covered) for term in terms] != expected:
        return CertificateCheck("expected errors", False, "not those of all combinations")
    numbers = (
        number
        for term in terms
        for number in (
            term.constant,
            term.per_worker,
            term.per_worker_squared,
            term.of_empty,
            term.per_worker_of_small,
        )
        if number is not msgspec.UNSET
    )
    ok = all(number == float(f"{number:.4g}") for number in numbers)
    return CertificateCheck("expected errors", ok, f"{len(terms)} combinations" if ok else "not rounded")


def check_trusted(stated: RecordsCertificate, plan: Plan, structure: Structure) -> CertificateCheck:
    """What cannot be made again is possible: reasons, confidential inputs, and a learned structure."""
    wrong = []
    reasons = [TEST_KEY_REASON] if TEST_KEY_REASON in stated.status_reasons else []
    reasons += [PAPER_REASON] if plan.choice.accountant == "paper" else []
    reasons += reasons_of_homes(stated.publication.facts if stated.publication else {})
    if stated.status_reasons != reasons:
        wrong.append("status_reasons")
    inputs = set(stated.confidential_inputs)
    has_further = not set(plan.attributes.names) <= set(STANDARD)
    if inputs != {"jobs", "workers"} and (has_further or inputs != {"jobs"}):
        wrong.append("confidential_inputs")
    is_learned = plan.choice.structure == "learned"
    if is_learned and (stated.model.learned is None or not _may_be_learned(plan, structure)):
        wrong.append("learned structure")
    detail = f"impossible: {', '.join(wrong)}" if wrong else "possible"
    return CertificateCheck("what is taken on trust", not wrong, detail)


def _may_be_learned(plan: Plan, structure: Structure) -> bool:
    """Whether learning can give a structure: required parents come first, and no table is larger than allowed."""
    rules = learning_rules(plan)
    for child, parents in enumerate(structure.parents):
        required = tuple(parent for parent, _ in rules.first_parents(structure.domain, child))
        kept = list(zip(parents, structure.buckets[child], strict=True))
        n_cells = count_cells(structure.domain, child, kept, rules.possible)
        if parents[: len(required)] != required or (
            len(parents) > len(required) and n_cells * RECORDS_PER_CELL > plan.n_parameters
        ):
            return False
    return True


def check_again(
    store: Store, stated: RecordsCertificate, document: JsonMapping, plan: Plan, structure: Structure
) -> CertificateCheck:
    """Write the certificate again from the records, and compare it field by field, number by number."""
    learned = stated.model.learned
    made = Made(
        structure=structure,
        n_passed=stated.records.n_passed,
        n_total=stated.records.n_total,
        expected_error=stated.expected_error,
        fewest_records=learned.fewest_records if learned and plan.choice.structure == "learned" else None,
    )
    again = make_records_certificate(
        store,
        plan,
        made,
        reasons=stated.status_reasons,
        confidential_inputs=stated.confidential_inputs,
        beside=stated.beside,
        characteristics=store.manifest.get("characteristics", ()),
    )
    if stated.promise.in_words == earlier_promise_in_words(plan):
        again = structs.replace(
            again, promise=structs.replace(again.promise, in_words=stated.promise.in_words)
        )
    return compare_again(as_json(again), document, "the records", skipped=_NOT_COMPARED)


def stated_structure(plan: Plan, model: ModelClaims) -> Structure:
    """The public structure, or the learned one that the certificate states."""
    if plan.choice.structure == "public":
        return plan.structure.structure
    attributes = plan.attributes
    rules = learning_rules(plan)
    parents = [tuple(attributes.place(parent) for parent in model.parents[name]) for name in attributes.names]
    return Structure(
        domain=attributes.domain,
        parents=tuple(parents),
        buckets=tuple(
            tuple(bucket for _, bucket in rules.with_buckets(attributes.domain, child, of_child))
            for child, of_child in enumerate(parents)
        ),
        possible=tuple(attributes.possible),
    )
