"""Where stated errors are known to be off: a sentence for readers of releases by some mechanisms and units.

What it says was measured on Rhode Island (docs/validity.md, "Under mechanisms that redraw workers").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mapapp.answers.prior_terms import KEEP_OR_REDRAW, SPARSE, mechanism_of, unit_of

__all__ = ["error_caution"]

_TOO_LARGE: Final = "Expected errors of this release may be several times too large"

_BY_MECHANISM: Final[Mapping[str, str]] = {
    SPARSE: f"{_TOO_LARGE}: most home areas were filled by a public model, and little is known of how good that is.",
    KEEP_OR_REDRAW: f"{_TOO_LARGE} where ε is small: most workers were redrawn, and little is known of the others.",
}
_IN_PARTS: Final = (
    "The homes of {unit} were drawn together and then dealt out by chance, so counts of a part of it say more about "
    "the whole than about that part. Their expected errors suppose that the part may differ by a factor of about two."
)
_UNITS: Final = {"block": "each workplace block", "tract": "each workplace tract"}


def error_caution(certificate: Mapping[str, object]) -> str | None:
    """Return what readers should know of a release's expected errors; None if they were found to be right."""
    said = [_BY_MECHANISM.get(mechanism_of(certificate))]
    unit = _UNITS.get(unit_of(certificate))
    if unit is not None:
        said.append(_IN_PARTS.format(unit=unit))
    text = " ".join(each for each in said if each is not None)
    return text or None
