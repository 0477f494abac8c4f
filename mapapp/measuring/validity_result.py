"""What measuring validity gives: numbers for a headline, flat tables for everything else.

CONFIDENTIAL. All of it is computed from confidential counts. It is for the analyst's screen and files, never for
publication, logs or addresses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import pandas

Basis = Literal["closed form", "simulated", "release"]

CONFIDENTIAL: Final = "confidential: computed from confidential counts, not for publication"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """Measures of one setting, or of one release.

    Attributes
    ----------
    basis : {"closed form", "simulated", "release"}
        A setting in closed form, a setting of which some draws were taken (mechanisms that have no closed form), or
        a release that was drawn.
    facts : dict
        What was measured: `scope` (how many destination tracts and workers of how many), `parameters` and
        `certificate` (see `mapapp.measuring.validity`).
    summary : dict of str to float
        The headline numbers, by the names that `mapapp.measuring.validity` lists.
    tables : dict of str to DataFrame
        By the names that `mapapp.measuring.validity` lists; flat, each as good as a CSV file.
    """

    basis: Basis
    facts: dict[str, Any]
    summary: dict[str, float]
    tables: dict[str, pandas.DataFrame]

    @property
    def kl_all(self) -> float:
        """KL divergence in nats, weighted by workers, over all destinations."""
        return self.summary["kl_all"]

    @property
    def kl_small(self) -> float:
        """The same over destinations of 1 to 9 workers; NaN where there are none."""
        return self.summary["kl_small"]

    def to_dict(self, *, tables: bool = True) -> dict[str, Any]:
        """Plain values for JSON: numbers that are missing or infinite become None and "infinite"."""
        result: dict[str, Any] = {
            "confidential": CONFIDENTIAL,
            "basis": self.basis,
            "facts": _plain(self.facts),
            "summary": _plain(self.summary),
        }
        if tables:
            result["tables"] = {
                name: [_plain(row) for row in table.to_dict("records")] for name, table in self.tables.items()
            }
        return result


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "infinite"
    return value
