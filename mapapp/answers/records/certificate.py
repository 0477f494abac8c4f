"""What answers read of the certificate of worker records: attributes, the model's edges, and expected errors."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import msgspec

from geodata.errors import StoreError
from geodata.store.store import Store
from mapapp.answers.analyses.about import Note
from mapapp.answers.claims import read_claims
from mapapp.answers.commutes.attributes import Attribute, Attributes, attributes_of, in_sentence
from mapapp.answers.commutes.prepared import attribute_columns
from mapapp.answers.errors.certificate_terms import ErrorTerms
from mapapp.answers.publication import is_of_records
from mapapp.answers.records.claims import RecordsCertificate, listed_attributes

NO_EDGE = "no-edge"
"""Code of the note that the model leaves out how some attributes of an answer go together."""


def read_attributes(store: Store, certificate: Mapping[str, object]) -> Attributes:
    """Return the attributes of a publication.

    Raises
    ------
    StoreError
        If the certificate of worker records does not list them as it should.
    """
    try:
        return attributes_of(certificate, attribute_columns(store))
    except msgspec.ValidationError as error:
        raise StoreError(
            f"{store.path / 'certificate.json'}: its attributes cannot be read ({error}); do not use these records"
        ) from error


def read_records_certificate(store: Store) -> RecordsCertificate:
    """Read the whole certificate of worker records.

    Raises
    ------
    StoreError
        A field is missing or holds something else than it should.
    """
    return read_claims(store, RecordsCertificate, "do not use these records")


def edges_of(certificate: Mapping[str, object]) -> set[frozenset[str]]:
    """Return the pairs of attributes that the model draws together: each attribute with each of its parents."""
    model = certificate.get("model")
    parents = model.get("parents") if isinstance(model, Mapping) else None
    if not isinstance(parents, Mapping):
        return set()
    return {
        frozenset((str(name), str(parent)))
        for name, listed in parents.items()
        if isinstance(listed, Sequence) and not isinstance(listed, str)
        for parent in listed
    }


def edge_cautions(certificate: Mapping[str, object], attributes: Sequence[Attribute]) -> tuple[Note, ...]:
    """Return a caution for a cross table with attributes that the model does not draw together."""
    if not is_of_records(certificate):
        return ()
    terms, known, derived = ErrorTerms(certificate), edges_of(certificate), derived_from(certificate)

    def is_linked(one: str, other: str) -> bool:
        stated = terms.is_covered(frozenset(derived.get(name, (name, ()))[0] for name in (one, other)))
        return bool(known & _pairs(one, other, derived)) if stated is None else stated

    apart = [
        f"{in_sentence(one.title)} and {in_sentence(other.title)}"
        for one, other in itertools.combinations(attributes, 2)
        if not is_linked(one.name, other.name)
    ]
    if not apart:
        return ()
    which = "; ".join(apart)
    text = (
        f"The model has no direct link between {which}. How they go together is known only through the attributes "
        "that both depend on, so true differences may be flattened, and ± does not include that."
    )
    return (Note(NO_EDGE, text),)


def _pairs(one: str, other: str, derived: Mapping[str, tuple[str, Sequence[int]]]) -> set[frozenset[str]]:
    """Return the links that would join two attributes; one that is derived is drawn as its source."""
    names = [{name, derived.get(name, (name, ()))[0]} for name in (one, other)]
    found = {frozenset(pair) for pair in itertools.product(*names)}
    return found | {pair for pair in found if len(pair) == 1}


def derived_from(certificate: Mapping[str, object]) -> dict[str, tuple[str, Sequence[int]]]:
    """Return the source of each attribute that is derived, and the band of each value of the source.

    An example is the industry group of a sector.
    """
    return {
        name: (each.name, groups)
        for each in listed_attributes(certificate)
        for name, groups in (each.derives or {}).items()
    }
