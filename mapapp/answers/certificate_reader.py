"""Reads a release's certificate and checks that the fields answers need are present and have the right types."""

from __future__ import annotations

from typing import Final

import msgspec

from geodata.errors import StoreError
from geodata.json_objects import JsonObject
from geodata.store.store import Store
from mapapp.answers.claims import Amount, refusal
from mapapp.answers.errors.certificate_terms import check_terms
from mapapp.answers.publication import is_of_records, is_published
from mapapp.answers.records.claims import RecordsCertificate

CERTIFICATE: Final = "certificate.json"


class _Stated(msgspec.Struct, frozen=True):
    value: Amount


class _Promised(msgspec.Struct, frozen=True):
    """What answers need of the promise, if it is stated; certificates of earlier versions state plain numbers."""

    status: str = ""
    epsilon: _Stated | Amount | None = None
    epsilon_final: _Stated | Amount | None = None
    delta: _Stated | Amount | None = None


def read_certificate(store: Store) -> JsonObject:
    """Read the certificate of a release or of records.

    `commutemap certify` checks whether its claims hold; this function only makes sure that they can be read.

    Raises
    ------
    StoreError
        If a field of records, or one of a release that answers need, has the wrong type.
    """
    certificate = store.document(CERTIFICATE)
    of_records = is_of_records(certificate)
    try:
        msgspec.convert(certificate, RecordsCertificate if of_records else _Promised)
        if "accounting" in certificate:
            check_terms(certificate)
    except (ValueError, LookupError, ArithmeticError) as error:
        raise StoreError(
            f"{store.path / CERTIFICATE}: cannot be interpreted ({type(error).__name__}: {refusal(error)}); do not use "
            f"{'these records' if of_records else 'this release'}"
        ) from error
    return certificate


def promise_of(certificate: JsonObject) -> JsonObject:
    """Return a certificate's promise as a short dictionary, as in `About.promise`."""
    mechanism, construction = certificate.get("mechanism"), certificate.get("construction")
    construction = construction if isinstance(construction, dict) else {}
    numbers = {
        name: value.get("value") if isinstance(value, dict) else value
        for name in ("epsilon_final", "delta")
        for value in (certificate.get(name),)
    }
    return (
        ({"kind": certificate["kind"]} if is_of_records(certificate) or is_published(certificate) else {})
        | {"status": certificate.get("status")}
        | ({"status_reasons": certificate["status_reasons"]} if certificate.get("status_reasons") else {})
        | numbers
        | {"accountant": certificate.get("accountant")}
        | ({"mechanism": mechanism.get("name")} if isinstance(mechanism, dict) else {})
        | ({"preset": construction["preset"]} if "preset" in construction else {})
    )
