"""The result of measuring validity: headline numbers, and flat tables for everything else.

CONFIDENTIAL. All of it is computed from confidential counts. It is for the analyst's screen and files, never for
publication, logs or addresses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NotRequired, TypedDict

import pandas

from mapapp.kinds.base.plain_measures import PlainMeasures, plain_of

Basis = Literal["closed form", "simulated", "release"]

Plain = object
"""Text, a number, a truth value, None, or a list or dict of these: what JSON holds."""

CONFIDENTIAL: Final = "confidential: computed from confidential counts, not for publication"


class Scope(TypedDict):
    """How much of the dataset was measured."""

    tracts_measured: int
    tracts: int
    workers_measured: int
    workers: int
    is_sample: bool


class EpsilonPart(TypedDict):
    """A summand of epsilon_final, and its name."""

    name: str
    value: float


class ExpectedPromise(TypedDict):
    """What a certificate would say.

    `refusal` says why no release would be made with the setting; None if one would. `lone_worker` is that of the
    certificate, for the measured tracts.
    """

    mechanism: str
    accountant: str
    epsilon_final: float
    delta: float
    delta_bound: float | None
    parts: list[EpsilonPart]
    refusal: str | None
    lone_worker: dict[str, Plain]


class MeasuredRelease(TypedDict):
    """The release that was measured, and what its certificate says."""

    path: str
    status: str
    epsilon_final: float
    delta: float
    is_of_these_counts: bool


class Facts(TypedDict):
    """What was measured. Of a release also the basis of its closed form, and which release it is."""

    scope: Scope
    parameters: dict[str, dict[str, Plain]]
    certificate: ExpectedPromise
    closed_form: NotRequired[Basis]
    release: NotRequired[MeasuredRelease]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """Measures of one setting, or of one release.

    Attributes
    ----------
    basis : {"closed form", "simulated", "release"}
        A setting in closed form, a setting of which some draws were taken (mechanisms that have no closed form), or
        a release that was drawn.
    facts : Facts
        What was measured: `scope` (how many destination tracts and workers of how many), `parameters` and
        `certificate` (see `mapapp.analyst.validity.validity`).
    summary : dict of str to float
        The headline numbers, by the names that `mapapp.analyst.validity.validity` lists.
    tables : dict of str to DataFrame
        By the names that `mapapp.analyst.validity.validity` lists; flat, each as good as a CSV file.
    """

    basis: Basis
    facts: Facts
    summary: dict[str, float]
    tables: dict[str, pandas.DataFrame]

    @property
    def kl_all(self) -> float:
        """KL divergence in nats, weighted by workers, over all destinations."""
        return self.summary["kl_all"]

    @property
    def kl_small(self) -> float:
        """The same over destinations of 1 to 9 workers; NaN if no destination is that small."""
        return self.summary["kl_small"]

    @property
    def plain(self) -> PlainMeasures | None:
        """What a planner asks first; None for a setting that was not drawn."""
        if "flows" not in self.tables:
            return None
        real, drawn = (self.summary[f"distance_blocks_{which}_mi"] for which in ("real", "drawn"))
        return plain_of(self.tables, real, drawn)

    def to_dict(self, *, tables: bool = True) -> dict[str, Plain]:
        """Plain values for JSON: numbers that are missing or infinite become None and "infinite"."""
        result: dict[str, Plain] = {
            "confidential": CONFIDENTIAL,
            "basis": self.basis,
            "facts": plain_values(self.facts),
            "summary": plain_values(self.summary),
        }
        if tables:
            result["tables"] = {
                name: [plain_values(row) for row in table.to_dict("records")]
                for name, table in self.tables.items()
            }
        return result


def plain_values(value: object) -> Plain:
    """Make numbers and containers plain for JSON: missing numbers become None, infinite ones "infinite"."""
    if isinstance(value, Mapping):
        return {str(key): plain_values(element) for key, element in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(element) for element in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "infinite"
    return value
