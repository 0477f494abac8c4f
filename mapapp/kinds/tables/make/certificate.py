"""The certificate of a table: what is promised, what is not, and what the decisions were made from.

It is a function of public inputs and of the released values, so that `certify` writes it again and compares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import msgspec

from engine.suppression.sum_tree import DecidedTree
from engine.suppression.suppressed import share_delta
from geodata.store.public_counts import COUNTS_ARE_PUBLIC
from geodata.store.schema import GEOGRAPHY
from geodata.store.store import Store
from mapapp.answers.claims import BesideClaim, ExactNumber
from mapapp.answers.publication import CLAIMS_SCHEMA
from mapapp.answers.tables.certificate import (
    BreachClaim,
    Decide,
    KeyedHashes,
    PriorClaim,
    PromiseClaim,
    TableCertificate,
)
from mapapp.kinds.base.certificate import FOR_RELEASE, NOT_FOR_RELEASE, public_hashes, software_versions
from mapapp.kinds.base.overlapping_publications import beside_in_words
from mapapp.kinds.tables.make.forest import Forest
from mapapp.kinds.tables.make.frames import name_of

__all__ = ["TEST_KEY_REASON", "Promise", "make_table_certificate"]

TEST_KEY_REASON: Final = "test key: asked for by the publisher, for trying things out"

DOES_NOT_PROMISE: Final = (
    "It is not differential privacy. It holds on average over the data that the prior makes likely, not for all data.",
    "It is void if the prior is wrong, or if people's commutes depend on each other, as in households, car pools, and "
    "firms.",
    "It does not compose. Two tables of the same people made apart from each other have no joint promise.",
    "It does not protect against insiders: someone who knows all other people of a cell learns about the last one from "
    "its count.",
    "It does not account for a synthetic release, or any other publication, of the same jobs.",
    "Numbers of people by workplace, age, earnings, and industry are public; nothing is claimed about what they give "
    "away.",
)
_COUNTS_OF_RECORDS: Final = (
    "Numbers of people by workplace, age, earnings, and industry are shown exactly; nothing is claimed about what they "
    "give away."
)
_PRIOR_DECLARED: Final = (
    "Where the prior comes from cannot be checked: the publisher declares it. If it was fitted to the jobs of the "
    "table, nothing is promised."
)
_SAMPLED: Final = (
    "Decisions were sampled with secret coins (Algorithm 3 of Nabar and Mishra), so nobody can replay them."
)


class Promise(NamedTuple):
    """What a table promises, and how it is decided."""

    epsilon: Fraction
    delta: Fraction
    decide: Decide


def make_table_certificate(
    store: Store,
    forest: Forest,
    decided: Sequence[DecidedTree],
    *,
    promise: Promise,
    prior: PriorClaim,
    reasons: Sequence[str],
    confidential_inputs: Mapping[str, str],
    beside: Sequence[BesideClaim],
) -> TableCertificate:
    """Write the claims of a table's certificate; `mapapp.answers.publication.bind_publication` completes them.

    Parameters
    ----------
    store : Store
        The dataset, or the table itself under check; only hashes of its geography are read.
    forest, decided
        What was decided, and how, for each set of jobs.
    promise : Promise
    prior : PriorClaim
        Where the prior comes from; its smoothing is added.
    reasons : sequence of str
        Why the table is not for release.
    confidential_inputs : mapping of str to str
        Keyed hashes.
    beside : sequence of BesideClaim
        From `publications_beside`.
    """
    not_promised = [*DOES_NOT_PROMISE]
    if COUNTS_ARE_PUBLIC in store.manifest:
        not_promised[-1] = _COUNTS_OF_RECORDS
    more = [_PRIOR_DECLARED] if prior.origin != "release" else []
    more += [_SAMPLED] if promise.decide == "sampled" else []
    n_decisions = len(forest)
    smoothing = [nodes.plan.smoothing for nodes in forest.trees]
    return TableCertificate(
        schema_version=CLAIMS_SCHEMA,
        kind="table",
        status=NOT_FOR_RELEASE if reasons else FOR_RELEASE,
        status_reasons=list(reasons),
        promise=PromiseClaim(
            name="epsilon_semantic_privacy",
            epsilon=ExactNumber.of(promise.epsilon),
            delta=ExactNumber.of(promise.delta),
            decide=promise.decide,
            in_words=promise_in_words(promise.epsilon, promise.delta),
        ),
        decisions=n_decisions,
        decision_delta=ExactNumber.of(share_delta(promise.delta, n_decisions)),
        remainders=forest.has_remainders,
        tables=[spec.claim() for spec in forest.specs],
        prior=msgspec.structs.replace(prior, smoothing=smoothing[0] if len(smoothing) == 1 else smoothing),
        breach=_breach_claim(forest, decided),
        does_not_promise=[*not_promised, *more],
        public_inputs=public_hashes(store, GEOGRAPHY),
        confidential_inputs=KeyedHashes(**confidential_inputs),
        versions=software_versions(),
        beside=list(beside),
        beside_in_words=beside_in_words(beside, "table"),
    )


def promise_in_words(epsilon: Fraction, delta: Fraction) -> str:
    """Return the promise as a sentence."""
    return (
        f"If the prior is right, then with a probability of at least {float(1 - delta):.6g} the table changes no "
        "belief about one person (that the person is counted in a cell, or is not) by more than "
        f"{float(epsilon):.6g} times that belief. Which cells are suppressed says nothing about their counts."
    )


def _breach_claim(forest: Forest, decided: Sequence[DecidedTree]) -> BreachClaim | None:
    """Where a table stopped; None if it did not. What is named is released."""
    breach = forest.breach(decided)
    if breach is None:
        return None
    position, nodes, place = breach
    table = f" in table {nodes.table_of(place) + 1}" if len(forest.trees) > 1 else ""
    return BreachClaim(
        position=position,
        in_words=(
            f"The table stopped at decision {position + 1:,} of {len(forest):,} "
            f"({name_of(nodes, place)}{table}): its released count is outside its safe interval, so the promise does "
            "not hold for it, and everything after it is suppressed. The prior does not seem to fit."
        ),
    )
