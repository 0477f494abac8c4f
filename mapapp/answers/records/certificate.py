"""What answers read of the certificate of worker records: attributes, the model's edges, and expected errors."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from geodata.store.store import Store
from mapapp.answers.analyses.about import Note
from mapapp.answers.claims import read_claims
from mapapp.answers.commutes.attributes import Attribute, in_sentence
from mapapp.answers.errors.certificate_terms import ErrorTerms
from mapapp.answers.publication import is_of_records
from mapapp.answers.records.claims import RecordsCertificate, records_claims

NO_EDGE = "no-edge"
"""Code of the note that the model leaves out how some attributes of an answer go together."""


def read_records_certificate(store: Store) -> RecordsCertificate:
    """Read the whole certificate of worker records.

    Raises
    ------
    StoreError
        A field is missing or holds something else than it should.
    """
    return read_claims(store, RecordsCertificate, "do not use these records")


def edge_cautions(certificate: Mapping[str, object], attributes: Sequence[Attribute]) -> tuple[Note, ...]:
    """Return a caution for a cross table with attributes that the model does not draw together."""
    if not is_of_records(certificate):
        return ()
    claims = records_claims(certificate)
    terms, derived = ErrorTerms(claims.expected_error or (), claims.attributes), derived_from(claims)
    known = {frozenset((name, parent)) for name, listed in claims.model.parents.items() for parent in listed}

    def is_linked(first: str, second: str) -> bool:
        stated = terms.is_covered(frozenset(derived.get(name, (name, ()))[0] for name in (first, second)))
        return bool(known & _pairs(first, second, derived)) if stated is None else stated

    apart = [
        f"{in_sentence(first.title)} and {in_sentence(second.title)}"
        for first, second in itertools.combinations(attributes, 2)
        if not is_linked(first.name, second.name)
    ]
    if not apart:
        return ()
    which = "; ".join(apart)
    text = (
        f"The model has no direct link between {which}. How they go together is known only through the attributes "
        "that both depend on, so true differences may be flattened, and such counts have no ±."
    )
    return (Note(NO_EDGE, text),)


def _pairs(first: str, second: str, derived: Mapping[str, tuple[str, Sequence[int]]]) -> set[frozenset[str]]:
    """Return the links that would join two attributes; one that is derived is drawn as its source."""
    names = [{name, derived.get(name, (name, ()))[0]} for name in (first, second)]
    pairs = {frozenset(pair) for pair in itertools.product(*names)}
    return pairs | {pair for pair in pairs if len(pair) == 1}


def derived_from(certificate: RecordsCertificate) -> dict[str, tuple[str, Sequence[int]]]:
    """Return the source of each attribute that is derived, and the band of each value of the source.

    An example is the industry group of a sector.
    """
    return {
        name: (attribute.name, groups)
        for attribute in certificate.attributes
        for name, groups in (attribute.derives or {}).items()
    }
