"""Numbers of jobs at workplaces that nobody has declared public: what shows them exactly is not for release.

Source: docs/privacy-promise.md, "What counts as public".
"""

from __future__ import annotations

from collections.abc import Mapping

from geodata.store.public_counts import COUNTS_ARE_PUBLIC
from geodata.store.store import Store
from geodata.store.zones import is_of_zones
from mapapp.base.errors import UsageError
from mapapp.kinds.base.certificate import UNDECLARED_COUNTS_REASON, UNDECLARED_FLOWS_REASON
from mapapp.kinds.base.residents_only import reasons_of_homes

__all__ = ["reasons_of_counts", "reasons_of_facts", "require_declared"]


def require_declared(dataset: Store) -> None:
    """Refuse (UsageError) to write a document from numbers of jobs that nobody has declared public."""
    if reasons_of_counts(dataset.manifest):
        raise UsageError(
            "everything in a justification follows from the numbers of jobs, and nobody has declared that they are "
            "public; declare it with `commutemap declare DATASET --counts-are-public`"
        )


def reasons_of_counts(facts: Mapping[str, object]) -> list[str]:
    """Return why a release or table with these facts is not for release: it shows confidential numbers of jobs.

    Parameters
    ----------
    facts : mapping of str to object
        Of a manifest. Records do not show these numbers.
    """
    if facts.get(COUNTS_ARE_PUBLIC, "") is not None:
        return []
    return [UNDECLARED_FLOWS_REASON if is_of_zones(facts) else UNDECLARED_COUNTS_REASON]


def reasons_of_facts(facts: Mapping[str, object]) -> list[str]:
    """Return every reason that the facts of a manifest give against a release or table, which shows these numbers."""
    return [*reasons_of_homes(facts), *reasons_of_counts(facts)]
