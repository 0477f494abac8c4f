"""A certificate that was made again from a publication, compared with the one that was published.

What follows from public inputs and stated choices cannot be forged, because it is written again. Whole numbers,
fractions, and texts must be the same. Only where other machines may round the last digits of a fitted number
differently do floats have to agree to within 1e-6, relative.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping

from mapapp.kinds.base.certificate import Certificate, CertificateCheck, software_versions

__all__ = ["compare_again", "is_written_alike"]

_ROUNDING = 1e-6


def compare_again(
    again: Certificate,
    certificate: Certificate,
    made_from: str,
    *,
    skipped: Collection[str] = (),
    with_floats: Collection[str] = (),
) -> CertificateCheck:
    """Compare a certificate field by field with the one made again.

    Parameters
    ----------
    again, certificate : mapping
        Fields that only `certificate` has are not looked at.
    made_from : str
        What it was made again from, for the name of the check.
    skipped : collection of str
        Fields that have a check of their own.
    with_floats : collection of str
        Fields whose floats may differ by rounding.
    """
    differs = [
        name
        for name, value in again.items()
        if name not in skipped
        and not (_is_near if name in with_floats else is_written_alike)(value, certificate.get(name))
    ]
    if set(certificate["versions"]) != set(software_versions()):
        differs.append("versions")
    detail = f"differs in {', '.join(differs)}" if differs else f"all {len(again)} fields match"
    return CertificateCheck(f"made again from {made_from}", not differs, detail)


def is_written_alike(first: object, second: object) -> bool:
    """Whether two values read from JSON are written alike: 1, 1.0 and true differ."""
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def _is_near(again: object, stated: object) -> bool:
    """Whether two values are the same but for the rounding of floats; a fraction and its float are the same exactly."""
    if isinstance(again, Mapping) and "exact" not in again:
        return (
            isinstance(stated, Mapping)
            and set(again) == set(stated)
            and all(_is_near(value, stated[name]) for name, value in again.items())
        )
    if isinstance(again, list | tuple):
        return isinstance(stated, list) and len(again) == len(stated) and all(map(_is_near, again, stated))
    if isinstance(again, float):
        if not isinstance(stated, int | float) or isinstance(stated, bool):
            return False
        return math.isclose(again, stated, rel_tol=_ROUNDING)
    return is_written_alike(again, stated)
