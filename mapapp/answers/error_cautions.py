"""Where stated errors are known to be off: a sentence for readers of releases by some units.

What it says was measured on Rhode Island (docs/theory/expected-errors.md, "Under the exponential mechanism").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mapapp.answers.errors.certificate_terms import unit_of

__all__ = ["error_caution"]

_IN_PARTS: Final = (
    "The homes of {unit} were drawn together and then dealt out by chance, so counts of a part of it say more about "
    "the whole than about that part. Their expected errors suppose that the part may differ by a factor of about two."
)
_UNITS: Final = {"block": "each workplace block", "tract": "each workplace tract"}


def error_caution(certificate: Mapping[str, object]) -> str | None:
    """Return what readers should know of a release's expected errors; None if they were found to be right."""
    unit = _UNITS.get(unit_of(certificate))
    return None if unit is None else _IN_PARTS.format(unit=unit)
