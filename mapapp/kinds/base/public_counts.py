"""Numbers of jobs at workplaces that nobody has declared public: what shows them exactly is not for release.

Source: docs/privacy-promise.md, "What counts as public".
"""

from __future__ import annotations

from collections.abc import Mapping

from geodata.store.public_counts import COUNTS_ARE_PUBLIC
from mapapp.kinds.base.certificate import UNDECLARED_COUNTS_REASON

__all__ = ["reasons_of_counts"]


def reasons_of_counts(facts: Mapping[str, object]) -> list[str]:
    """Return why a release or table with these facts is not for release: it shows confidential numbers of jobs.

    Parameters
    ----------
    facts : mapping of str to object
        Of a manifest. Records do not show these numbers.
    """
    return [UNDECLARED_COUNTS_REASON] if facts.get(COUNTS_ARE_PUBLIC, "") is None else []
