"""The certificate of worker records: what is promised, how the records were made, and what is not promised.

All of it but what the private model and the tries gave (numbers that passed, errors to expect, a learned structure)
is a function of public inputs, so that `certify` writes it again and compares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Final

import msgspec

from engine.records.acceptance import Acceptance
from engine.records.entropy import entropy_sensitivity
from engine.records.learned import epsilon_of_one_entropy, needed_entropies
from engine.records.structure import Structure
from geodata.json_objects import JsonMapping
from geodata.store.store import Store
from mapapp.answers.claims import Amounts, BesideClaim, ExactNumber, PersonClaim, ReadingClaim
from mapapp.answers.promise.chance_words import chance_in_words
from mapapp.answers.publication import CLAIMS_SCHEMA
from mapapp.answers.records.claims import (
    AttributeClaim,
    CoarserParent,
    DroppedParent,
    ErrorTerm,
    LearnedClaims,
    ModelClaims,
    PartClaim,
    RecordNumbers,
    RecordsCertificate,
    RecordsPromise,
    SeedClaims,
    Split,
)
from mapapp.kinds.base.certificate import FOR_RELEASE, NOT_FOR_RELEASE, public_hashes, software_versions
from mapapp.kinds.base.ledger_entry import RecordsSpent, SpentPart
from mapapp.kinds.base.overlapping_publications import (
    GIVEN_CELLS,
    GIVEN_SEGMENTS,
    beside_in_words,
    known_of_records,
)
from mapapp.kinds.base.persons import person_amounts
from mapapp.kinds.records.make import privacy_costs
from mapapp.kinds.records.make.choice import DEFAULT_DELTA
from mapapp.kinds.records.make.plan import Plan, learning_rules
from mapapp.kinds.records.make.privacy_costs import SeedPlan

__all__ = [
    "Made",
    "earlier_promise_in_words",
    "make_records_certificate",
    "spent_by",
    "unit_of",
]

_FEW: Final = 0.001
_READABLE: Final = 20
_UPWARD: Final = Context(prec=3, rounding=ROUND_CEILING)
_UNIT: Final = {
    None: "The whole record of one worker. A person with two jobs is two workers.",
    GIVEN_SEGMENTS: "One worker's home and further attributes, given workplace and segment, which another publication "
    "of the same jobs shows. A person with two jobs is two workers.",
    GIVEN_CELLS: "One worker's home and further attributes, given workplace and segment, as far as a table of the same "
    "jobs leaves them open. A person with two jobs is two workers.",
}
_KNOWN_IN_WORDS: Final = {
    None: "The promise is about a worker's whole record, workplace included, as long as no publication of the same "
    "jobs shows exact numbers of workers by workplace and segment, as releases and tables do.",
    GIVEN_SEGMENTS: "A release of the same jobs shows exact numbers of workers by workplace and segment. So the "
    "promise about whole records is void for a reader of both. What is left is the promise about a worker's home and "
    "further attributes, given workplace and segment.",
    GIVEN_CELLS: "A table of the same jobs shows exact numbers of workers by its areas of work and by segment, and in "
    "released cells of workers whose home is of some kind. So the promise about whole records is void for a reader of "
    "both. What is left: whatever odds the table leaves between two records that one worker may have, these records "
    "change them by no more than the factor of the promise. The two have no joint promise.",
}
_DOES_NOT_PROMISE: Final = (
    "No row is a person. A row may agree with a real worker in some or all attributes; the promise limits what that "
    "can say about the worker, and does not rule it out.",
    "The number of records is public, and so is the number of workers if it was not chosen otherwise; it is not "
    "protected.",
    "It protects single workers, not facts about a whole workplace, such as that most of its workers commute far.",
    "Homes, workplaces, and points within a tract are drawn from public population, not from workers.",
    "Nothing marks the records that were drawn from the model; only their number is published.",
)
_MARGINS: Final = (
    "The dataset was made from counts of jobs (LODES). If these have margins of segments only, a rule assigned joint "
    "segments to workers before synthesis; the promise is about the workers after that step."
)
_SEEDS: Final = (
    "Plausible deniability of a single record is not the promise: it says how many other workers could have been the "
    "seed, not what several records say together. The promise is epsilon and delta."
)
_NO_RECORDS_PASSED: Final = (
    "No candidate made from a seed passed its test: all records were drawn from the model, and the tries are charged "
    "all the same."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a run found beside the records.

    Attributes
    ----------
    structure : Structure
        The one that was used.
    n_passed, n_total : int
        Candidates that passed; records in all.
    expected_error : list of ErrorTerm or None
        Terms of the expected errors of counts, by combination of attributes.
    fewest_records : int or None
        Of a learned structure: the noisy lower bound of the records from which it was learned.
    """

    structure: Structure
    n_passed: int
    n_total: int
    expected_error: Sequence[ErrorTerm] | None = None
    fewest_records: int | None = None


def make_records_certificate(
    store: Store,
    plan: Plan,
    made: Made | None,
    *,
    reasons: Sequence[str],
    confidential_inputs: Mapping[str, str],
    beside: Sequence[BesideClaim],
    characteristics: Sequence[JsonMapping],
) -> RecordsCertificate:
    """Write the claims of a certificate of records; `mapapp.answers.publication.bind_publication` completes them.

    Parameters
    ----------
    store : Store
        The dataset, or the records under check; only hashes of its public tables are read.
    plan : Plan
    made : Made or None
        None before anything is drawn: the ledger needs the promise only.
    reasons : sequence of str
        Why the records are not for release.
    confidential_inputs : mapping of str to str
        Keyed hashes.
    beside : sequence of BesideClaim
        From `publications_beside`.
    characteristics : sequence of mapping
        Published characteristics of places that are copied from the dataset.
    """
    charged = _amounts(plan.replace_one)
    known = known_of_records(beside, "records") or (GIVEN_SEGMENTS if plan.choice.given_segments else None)
    return RecordsCertificate(
        schema_version=CLAIMS_SCHEMA,
        kind="records",
        status=NOT_FOR_RELEASE if reasons else FOR_RELEASE,
        status_reasons=list(reasons),
        accountant=plan.choice.accountant,
        epsilon=charged.epsilon,
        delta=charged.delta,
        epsilon_final=charged.epsilon,
        readings={
            "differential_privacy": ReadingClaim(
                epsilon=charged.epsilon, delta=charged.delta, holds_for="all records together"
            )
        },
        unit_of_protection=unit_of(known),
        promise=RecordsPromise(
            name="epsilon_delta",
            add_remove=_amounts(plan.add_remove),
            replace_one=charged,
            in_words=_promise_in_words(plan),
            person=_person_claim(plan),
        ),
        parts=tuple(
            PartClaim(
                name=part.name,
                share=str(part.share),
                add_remove=_amounts(part.add_remove),
                replace_one=_amounts(part.replace_one),
            )
            for part in plan.parts
        ),
        seeds=None if plan.seeds is None else _seed_claims(plan, plan.seeds, made),
        model=_model_claims(plan, made),
        attributes=tuple(
            msgspec.convert(attribute.as_fact(), AttributeClaim) for attribute in plan.attributes.attributes
        ),
        resampling_order=plan.attributes.names,
        split=Split(**dict(zip(Split.__struct_fields__, map(str, plan.split), strict=True))),
        records=_record_numbers(plan, made),
        expected_error=None if made is None or made.expected_error is None else tuple(made.expected_error),
        whole_record=known or True,
        whole_record_in_words=_KNOWN_IN_WORDS[known],
        does_not_promise=_not_promised(plan, made, has_workers="workers" in confidential_inputs),
        characteristics=[dict(facts) for facts in characteristics],
        public_inputs=public_hashes(store),
        confidential_inputs=dict(confidential_inputs),
        versions=software_versions(),
        beside=list(beside),
        beside_in_words=beside_in_words(beside, "records"),
    )


def spent_by(plan: Plan) -> RecordsSpent:
    """Return what the ledger's entry says beside the replace-one reading."""
    return RecordsSpent(
        epsilon=plan.add_remove.epsilon,
        delta=plan.add_remove.delta,
        n_tries=None if plan.seeds is None else plan.seeds.n_tries,
        n_min=None if plan.seeds is None else plan.seeds.n_min,
        parts=tuple(
            SpentPart(name=part.name, share=part.share, **part.replace_one._asdict()) for part in plan.parts
        ),
    )


def unit_of(known: str | None) -> str:
    """Return the sentence that says what is protected: whole records, or what is left beside a publication."""
    return _UNIT[known]


def _amounts(amounts: privacy_costs.Amounts) -> Amounts:
    return Amounts(epsilon=ExactNumber.of(amounts.epsilon), delta=ExactNumber.of(amounts.delta))


def _promise_in_words(plan: Plan) -> str:
    delta = plan.add_remove.delta
    return _promise_but(
        plan, f", except with a probability of at most {chance_in_words(delta)}" if delta else ""
    )


def earlier_promise_in_words(plan: Plan) -> str:
    """Return the sentence as certificates had it that printed delta as a decimal, such as 1e-06."""
    delta = plan.add_remove.delta
    return _promise_but(plan, f", except with a probability of {float(delta):.3g}" if delta else "")


def _promise_but(plan: Plan, but: str) -> str:
    alone, replaced = plan.add_remove, plan.replace_one
    return (
        f"Whatever is published, it is at most {_factor(alone.epsilon)} times as likely with one worker's record "
        f"as without it, and the other way round{but}. With one worker's record replaced by any other, it is at most "
        f"{_factor(replaced.epsilon)} times as likely{but and ', with the delta of that reading'}."
    )


def _person_claim(plan: Plan) -> PersonClaim | msgspec.UnsetType:
    """What a person is promised whose jobs beyond a public number are left out."""
    jobs, alone, replaced = plan.jobs_per_person, plan.add_remove, plan.replace_one
    if jobs is None:
        return msgspec.UNSET
    with_or_without = person_amounts(alone.epsilon, alone.delta, jobs)
    epsilon, delta = person_amounts(replaced.epsilon, replaced.delta, jobs)
    return PersonClaim(
        jobs=jobs,
        amounts=Amounts(epsilon=ExactNumber.of(epsilon), delta=ExactNumber.of(delta)),
        in_words=f"Records are made from at most {jobs} jobs of a person, the best paid ones, which are chosen without "
        f"regard to homes; how many were left out is confidential. So a person is promised epsilon "
        f"{float(with_or_without[0]):g} and delta {float(with_or_without[1]):g} with or without all these jobs, and "
        f"epsilon {float(epsilon):g} and delta {float(delta):g} with the person replaced by another. Persons are not "
        "matched between years, so each year's bound adds.",
    )


def _factor(epsilon: Fraction) -> str:
    """e^epsilon in words, rounded up: it is a promise."""
    if epsilon >= _READABLE:
        return f"e^{math.ceil(epsilon):,}"
    return f"{float(_UPWARD.create_decimal_from_float(math.exp(epsilon))):.3g}"


def _seed_claims(plan: Plan, seeds: SeedPlan, made: Made | None) -> SeedClaims:
    acceptance = seeds.acceptance
    return SeedClaims(
        min_plausible_seeds=acceptance.min_plausible_seeds,
        similarity=str(seeds.similarity),
        threshold_epsilon=str(acceptance.threshold_epsilon),
        forced_fail=str(acceptance.forced_fail),
        seed_floor=acceptance.seed_floor,
        kept=plan.attributes.names[: seeds.kept],
        n_min=seeds.n_min,
        tries=seeds.n_tries,
        passed=None if made is None else made.n_passed,
        rdp_order=None if seeds.rdp_order is None else float(f"{seeds.rdp_order:.6g}"),
        records_in_words=_seeds_in_words(acceptance),
    )


def _seeds_in_words(acceptance: Acceptance) -> str:
    """How many workers a released record has for plausible seeds, but for a small share."""
    floor = acceptance.seed_floor
    always = "" if floor is None else f" and always at least {floor:,}"
    usual = math.floor(acceptance.seeds_but_for(_FEW))
    return (
        f"Behind each record made from a seed are at least {usual:,} workers who share its kept attributes, but for a "
        f"share of at most {_FEW:g} of the candidates{always}."
    )


def _model_claims(plan: Plan, made: Made | None) -> ModelClaims:
    names = plan.attributes.names
    structure = plan.structure.structure if made is None else made.structure
    public = plan.choice.structure == "public"
    return ModelClaims(
        epsilon=ExactNumber.of(plan.model_epsilon),
        structure=plan.choice.structure,
        parents={
            name: tuple(names[parent] for parent in structure.parents[place])
            for place, name in enumerate(names)
        },
        coarser_parents=tuple(
            CoarserParent(attribute=names[child], parent=names[parent], groups=int(bucket.max()) + 1)
            for child in range(len(names))
            for parent, bucket in zip(structure.parents[child], structure.buckets[child], strict=True)
            if bucket is not None
        ),
        dropped_parents=tuple(
            DroppedParent(
                attribute=names[child],
                parent=names[parent],
                why=f"with it, the table would have more cells than a thirtieth of {plan.n_parameters:,} records",
            )
            for child, parent in (plan.structure.dropped if public else ())
        ),
        missing_attributes=tuple(plan.attributes.missing),
        n_parameters=plan.n_parameters,
        cells={name: structure.n_cells(place) for place, name in enumerate(names)},
        learned=None if made is None else _learned_claims(plan, made.fewest_records),
        never=tuple(dict(never) for never in plan.attributes.never) or msgspec.UNSET,
    )


def _learned_claims(plan: Plan, fewest_records: int | None) -> LearnedClaims | None:
    """How a learned structure was learned; all of it follows from the plan and from the noisy number of records."""
    if fewest_records is None:
        return None
    n_entropies = len(needed_entropies(len(plan.attributes.names), learning_rules(plan)))
    delta = plan.choice.delta or DEFAULT_DELTA
    entropy_epsilon = epsilon_of_one_entropy(plan.model_epsilon, delta, n_entropies)
    return LearnedClaims(
        n_entropies=n_entropies,
        entropy_epsilon=str(entropy_epsilon),
        fewest_records=fewest_records,
        noise_bits=float(f"{entropy_sensitivity(fewest_records) / float(entropy_epsilon):.6g}"),
    )


def _record_numbers(plan: Plan, made: Made | None) -> RecordNumbers:
    n_passed, n_total = (0, plan.n_total) if made is None else (made.n_passed, made.n_total)
    return RecordNumbers(
        n_tried=0 if plan.seeds is None else plan.seeds.n_tries,
        n_passed=n_passed,
        topped_up=n_total - n_passed,
        n_total=n_total,
        wanted=plan.n_total,
        top_up=plan.choice.top_up,
    )


def _not_promised(plan: Plan, made: Made | None, *, has_workers: bool) -> list[str]:
    sentences = [*_DOES_NOT_PROMISE]
    if not has_workers:
        sentences.append(_MARGINS)
    if plan.seeds is not None:
        sentences.append(_SEEDS)
        if made is not None and not made.n_passed:
            sentences.append(_NO_RECORDS_PASSED)
    return sentences
