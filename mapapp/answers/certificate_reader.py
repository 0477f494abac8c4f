"""Reading a release's certificate for those who answer questions from it: what they need is there and of its type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from geodata.errors import StoreError
from geodata.store import Store
from mapapp.answers.prior_terms import PriorTerms, is_weighted

CERTIFICATE: Final = "certificate.json"
_PROMISED: Final = ("epsilon", "epsilon_final", "delta")
_UNREADABLE: Final = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError)


def read_certificate(store: Store) -> dict[str, Any]:
    """Read the certificate of a release.

    Whether its claims hold is for `commutemap certify` to say; here it is made sure that they can be read.

    Raises
    ------
    StoreError
        A field that answers are made from is not of its type.
    """
    certificate = store.document(CERTIFICATE)
    try:
        if not isinstance(certificate.get("status", ""), str):
            raise TypeError("status")
        for name in _PROMISED:
            _require_number(name, certificate.get(name))
        if "accounting" in certificate and is_weighted(certificate):
            PriorTerms.of(certificate)
    except _UNREADABLE as error:
        raise StoreError(
            f"{store.path / CERTIFICATE}: cannot be made sense of ({type(error).__name__}: {str(error)[:80]}); do not "
            "use this release"
        ) from error
    return certificate


def _require_number(name: str, stated: Any) -> None:
    """Refuse what is neither nothing nor an amount."""
    if stated is None:
        return
    value = stated.get("value") if isinstance(stated, Mapping) else stated
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0 or math.isinf(value):
        raise TypeError(name)
