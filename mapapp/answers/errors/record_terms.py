"""The expected error of a count of worker records, from the terms that their certificate states.

The publisher simulates the noise and the sampling of the published model, and fits the squared error of the cells of
some combinations of attributes: a constant, a part in proportion to the count, and one in proportion to its square
(docs/theory/synthetic-records.md). A count is a sum of such cells. Errors of counts that the terms do not cover are
not stated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast


@dataclass(frozen=True, slots=True)
class ErrorTerm:
    """The squared expected error of one cell of a combination of attributes.

    Attributes
    ----------
    attributes : frozenset of str
    constant : float
        Squared workers.
    per_worker : float
        Squared workers for each worker that the cell counts.
    per_worker_squared : float
        Share of the squared count.
    is_covered : bool
        Whether the model draws these attributes together. If not, the error lacks what the model leaves out.
    """

    attributes: frozenset[str]
    constant: float
    per_worker: float
    per_worker_squared: float
    is_covered: bool

    def error(self, count: int, n_cells: int) -> float:
        """Return the expected error of a count that is the sum of some cells, in workers."""
        n_filled = min(n_cells, count)  # the constant counts for cells that are not empty
        return math.sqrt(
            self.constant * n_filled + self.per_worker * count + self.per_worker_squared * count**2
        )


class ErrorTerms:
    """The terms of one certificate.

    Parameters
    ----------
    certificate : mapping

    Raises
    ------
    KeyError, TypeError, ValueError
        If its terms cannot be read.
    """

    def __init__(self, certificate: Mapping[str, object]) -> None:
        listed = cast(Sequence[Mapping[str, object]], certificate.get("expected_error") or ())
        self._terms = sorted(
            map(_term, listed), key=lambda term: (len(term.attributes), sorted(term.attributes))
        )
        self._sizes = {
            str(each["name"]): len(cast(Sequence[object], each["values"]))
            for each in cast(Sequence[Mapping[str, object]], certificate.get("attributes") or ())
        }

    def is_covered(self, names: frozenset[str]) -> bool | None:
        """Return whether the model draws some attributes together; None if the certificate does not say."""
        return next((term.is_covered for term in self._terms if term.attributes == names), None)

    @property
    def are_stated(self) -> bool:
        """Whether the certificate states any term."""
        return bool(self._terms)

    def error(self, count: int, values: Mapping[str, int]) -> float | None:
        """Return the expected error of a count, in workers; None if no term covers it.

        Parameters
        ----------
        count : int
        values : mapping of str to int
            How many values of each attribute it covers, for the attributes that restrict it.
        """
        wanted = frozenset(values)
        found = next((term for term in self._terms if wanted <= term.attributes), None)
        if found is None:
            return None
        more = [self._sizes.get(name, 1) for name in found.attributes - wanted]
        return found.error(count, math.prod(values.values()) * math.prod(more))


def _term(stated: Mapping[str, object]) -> ErrorTerm:
    numbers = [float(cast(float, stated[name])) for name in ("constant", "per_worker", "per_worker_squared")]
    if not all(number >= 0 and math.isfinite(number) for number in numbers):
        raise ValueError("a term of the expected error is negative")
    names = cast(Sequence[str], stated["attributes"])
    return ErrorTerm(
        frozenset(map(str, names)), numbers[0], numbers[1], numbers[2], stated["is_covered"] is True
    )
