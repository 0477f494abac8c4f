"""The validity of worker records: headline numbers, flat tables, and lines for a person.

CONFIDENTIAL. All of it is computed from confidential workers. It is for the analyst's screen and files, never for
publication, logs or addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import pandas

from mapapp.analyst.validity.result import CONFIDENTIAL, Plain, plain_values
from mapapp.kinds.base.plain_measures import PlainMeasures, plain_of

__all__ = ["RecordsFacts", "RecordsValidity", "distance_matrix"]


class RecordsScope(TypedDict):
    """Numbers of real workers and of records."""

    workers: int
    records: int


class MeasuredRecords(TypedDict):
    """The records that were measured, and what their certificate says."""

    path: str
    status: str
    is_of_these_workers: bool


class RecordsFacts(TypedDict):
    """What was measured: `promise` has epsilon and delta of both readings."""

    scope: RecordsScope
    promise: dict[str, float]
    records: MeasuredRecords


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsValidity:
    """Measures of worker records.

    Attributes
    ----------
    facts : RecordsFacts
    summary : dict of str to float
        The headline numbers, by the names that `mapapp.kinds.records.measure.validity` lists.
    tables : dict of str to DataFrame
        By the names that `mapapp.kinds.records.measure.validity` lists.
    """

    facts: RecordsFacts
    summary: dict[str, float]
    tables: dict[str, pandas.DataFrame]

    @property
    def plain(self) -> PlainMeasures:
        """What a planner asks first."""
        real, drawn = (self.summary[f"distance_blocks_{which}_mi"] for which in ("real", "drawn"))
        return plain_of(self.tables, real, drawn)

    @property
    def promise(self) -> str:
        """Epsilon in both readings, and delta."""
        stated = self.facts["promise"]
        return (
            f"epsilon {stated['epsilon_add_remove']:.3f} add/remove, {stated['epsilon_replace_one']:.3f} replace-one, "
            f"delta {stated['delta_replace_one']:g}"
        )

    def to_dict(self) -> dict[str, Plain]:
        """Plain values for JSON."""
        return {
            "confidential": CONFIDENTIAL,
            "basis": "records",
            "facts": plain_values(self.facts),
            "summary": plain_values(self.summary),
            "tables": {
                name: [plain_values(row) for row in table.to_dict("records")]
                for name, table in self.tables.items()
            },
        }

    def lines(self) -> list[str]:
        """Sentences and tables for a person."""
        scope, summary = self.facts["scope"], self.summary
        lines = [
            f"CONFIDENTIAL, not for publication: {scope['records']:,} worker records, {scope['workers']:,} real "
            "workers",
            f"  promise          {self.promise}",
            *(f"  {name:<17}{text}" for name, text in self.plain.lines()),
            *(
                f"  {title:<17}{summary[name]:.3f} on average, {summary[f'{name}_largest']:.3f} at most "
                f"(noise floor {summary[f'{name}_noise_floor']:.3f})"
                for name, title in (("attributes", "each attribute"), ("pairs", "each pair"))
            ),
            "",
            "  total variation distance from the real workers, and the noise floor: that of a resample of them",
            *_distance_lines(self.tables["combinations"], "attributes", "cells"),
            "",
            *_distance_lines(self.tables["attributes"], "attribute", "values"),
            "",
            "  pairs: the records below the diagonal, the noise floor above it, single attributes on it",
            *_matrix_lines(self.tables["attributes"], self.tables["pairs"]),
        ]
        if not self.facts["records"]["is_of_these_workers"]:
            lines.append("  note: the certificate commits to other workers than this dataset's")
        return lines


def _distance_lines(table: pandas.DataFrame, names: str, cells: str) -> list[str]:
    width = max(len(str(name)) for name in (names, *table[names]))
    lines = [f"  {names:<{width}}{cells:>10}{'distance':>10}{'noise':>8}"]
    for row in table.to_dict("records"):
        n_cells = row["n_values"] if "n_values" in row else row["n_cells"]
        lines.append(
            f"  {row[names]:<{width}}{n_cells:>10,}{row['distance']:>10.3f}{row['noise_floor']:>8.3f}"
        )
    return lines


def _matrix_lines(attributes: pandas.DataFrame, pairs: pandas.DataFrame) -> list[str]:
    names: Sequence[str] = list(attributes["attribute"])
    matrix = distance_matrix(attributes, pairs)
    width = max(map(len, names))
    lines = ["  " + " " * (width + 4) + "".join(f"{number:>6}" for number in range(1, len(names) + 1))]
    for number, name in enumerate(names):
        values = "".join(f"{value:>6.3f}" for value in matrix.iloc[number])
        lines.append(f"  {number + 1:>2}  {name:<{width}}{values}")
    return lines


def distance_matrix(attributes: pandas.DataFrame, pairs: pandas.DataFrame) -> pandas.DataFrame:
    """Return all distances of one and of two attributes as a square.

    Records below the diagonal, the noise floor above it, and records of single attributes on it.
    """
    names = list(attributes["attribute"])
    matrix = pandas.DataFrame(0.0, index=names, columns=names)
    for row in attributes.to_dict("records"):
        matrix.loc[row["attribute"], row["attribute"]] = row["distance"]
    for row in pairs.to_dict("records"):
        matrix.loc[row["second"], row["first"]] = row["distance"]
        matrix.loc[row["first"], row["second"]] = row["noise_floor"]
    return matrix
