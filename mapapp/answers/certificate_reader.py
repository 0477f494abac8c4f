"""Reads a release's certificate and checks that the fields answers need are present and have the right types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from geodata.errors import StoreError
from geodata.json_objects import JsonObject
from geodata.store.store import Store
from mapapp.answers.errors.certificate_terms import check_terms
from mapapp.answers.publication import is_of_records, is_published

CERTIFICATE: Final = "certificate.json"
_PROMISED: Final = ("epsilon", "epsilon_final", "delta")
_UNREADABLE: Final = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError)


def read_certificate(store: Store) -> JsonObject:
    """Read the certificate of a release.

    `commutemap certify` checks whether its claims hold; this function only makes sure that they can be read.

    Raises
    ------
    StoreError
        If a field that answers need has the wrong type.
    """
    certificate = store.document(CERTIFICATE)
    try:
        if not isinstance(certificate.get("status", ""), str):
            raise TypeError("status")
        for name in _PROMISED:
            _require_number(name, certificate.get(name))
        if "accounting" in certificate:
            check_terms(certificate)
    except _UNREADABLE as error:
        raise StoreError(
            f"{store.path / CERTIFICATE}: cannot be interpreted ({type(error).__name__}: {str(error)[:80]}); do not "
            "use this release"
        ) from error
    return certificate


def _require_number(name: str, stated: object) -> None:
    """Raise TypeError unless the value is None or a nonnegative number."""
    if stated is None:
        return
    value = stated.get("value") if isinstance(stated, Mapping) else stated
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0 or math.isinf(value):
        raise TypeError(name)


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
        | numbers
        | {"accountant": certificate.get("accountant")}
        | ({"mechanism": mechanism.get("name")} if isinstance(mechanism, dict) else {})
        | ({"preset": construction["preset"]} if "preset" in construction else {})
    )
