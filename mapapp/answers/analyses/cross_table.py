"""Cross tables: the workers of an area by one to three attributes together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from mapapp.answers.analyses import counts as counted
from mapapp.answers.analyses.measures import Number
from mapapp.answers.analyses.results import Result
from mapapp.answers.commutes.attributes import Attribute, Attributes
from mapapp.base.errors import UsageError
from mapapp.question.fields import MAX_NAMES

USUAL_ATTRIBUTES: Final = ("age", "earnings")
MOST_CELLS: Final = 20_000
"""Largest number of cells of a cross table."""
ALL: Final = ""
"""In place of a code: all values of the attribute."""
KEYS: Final = ("first", "second", "third")
"""Columns of the codes of a cell, one for each attribute; empty beyond the last attribute."""
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossTable(Result):
    """Workers or residents of an area, by attributes together.

    Attributes
    ----------
    by : tuple of str
        Names of the attributes.
    attributes : tuple of Attribute
        The attributes themselves.
    workers : Number
    cells : DataFrame
        ``first``, ``second``, ``third`` (codes of the values; empty beyond the last attribute), ``label``, and worker
        columns: every combination, including empty ones.
    totals : DataFrame
        The same columns for all values of one or two of the attributes, whose codes are empty; without rows if there
        is only one attribute.
    """

    by: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    workers: Number
    cells: pandas.DataFrame
    totals: pandas.DataFrame

    def with_findings(self, findings: Sequence[str]) -> dict[str, object]:
        """Return plain JSON values."""
        fields: dict[str, object] = Result.with_findings(self, findings)
        return fields | {"attributes": {attribute.name: attribute.title for attribute in self.attributes}}


def usual_attributes(known: Attributes) -> list[str]:
    """Return the attributes of a cross table if none are named: age and earnings, or the first ones that are shown."""
    if all(name in known.shown for name in USUAL_ATTRIBUTES):
        return list(USUAL_ATTRIBUTES)
    return [attribute.name for attribute in known][: len(USUAL_ATTRIBUTES)]


def chosen_attributes(known: Attributes, by: Sequence[str]) -> tuple[Attribute, ...]:
    """Return the attributes of a cross table by name.

    Raises
    ------
    UsageError
        If there are none, more than three, or one twice; if one does not exist; or if the table has too many cells.
    """
    names = list(by) or usual_attributes(known)
    if not names:
        raise UsageError("this release shows no attributes of workers, so it has no cross table")
    if isinstance(by, str) or not 1 <= len(names) <= MAX_NAMES or len(set(names)) < len(names):
        raise UsageError(
            f"by {str(by)[:60]!r}: give one to three different attributes, such as age and earnings"
        )
    attributes = tuple(known[name] for name in names)
    n_cells = math.prod(attribute.size for attribute in attributes)
    if n_cells > MOST_CELLS:
        raise UsageError(
            f"a cross table of {', '.join(names)} has {n_cells:,} cells; at most {MOST_CELLS:,} are counted; "
            "leave an attribute out"
        )
    return attributes


def cell_rows(attributes: Sequence[Attribute], counts: Ints) -> pandas.DataFrame:
    """Return a row for each combination of values; shares are of all workers."""
    return _rows(attributes, [((False,) * len(attributes), counts)], int(counts.sum()))


def total_rows(attributes: Sequence[Attribute], counts: Ints) -> pandas.DataFrame:
    """Return a row for each sum over all values of some, but not all, of the attributes."""
    summed = [
        axes
        for axes in itertools.product((False, True), repeat=len(attributes))
        if any(axes) and not all(axes)
    ]
    sums = [(axes, counts.sum(axis=tuple(np.flatnonzero(axes)), keepdims=True)) for axes in summed]
    return _rows(attributes, sums, int(counts.sum()))


def _rows(
    attributes: Sequence[Attribute], parts: Sequence[tuple[Sequence[bool], Ints]], whole: int
) -> pandas.DataFrame:
    keys = [key for axes, _ in parts for key in _keys(attributes, axes)]
    frame = pandas.DataFrame([key[0] for key in keys], columns=list(KEYS), dtype=object)
    frame["label"] = [key[1] for key in keys]
    workers = np.concatenate([part.ravel() for _, part in parts]) if parts else np.empty(0, dtype=np.int64)
    return frame.assign(**counted.columns(workers, whole))


def _keys(attributes: Sequence[Attribute], summed: Sequence[bool]) -> Iterator[tuple[tuple[str, ...], str]]:
    values = [
        [(ALL, "")] if is_sum else list(zip(attribute.codes, attribute.labels, strict=True))
        for attribute, is_sum in zip(attributes, summed, strict=True)
    ]
    for chosen in itertools.product(*values):
        codes = [code for code, _ in chosen] + [ALL] * (MAX_NAMES - len(chosen))
        yield tuple(codes), ", ".join(label for _, label in chosen if label)


def attribute_rows(counts: Sequence[tuple[Attribute, Ints]]) -> pandas.DataFrame:
    """Return a row for each value of each attribute: ``attribute``, ``title``, ``code``, ``label``, worker columns.

    Shares are within each attribute.
    """
    names = ["attribute", "title", "code", "label"]
    frames = [
        pandas.DataFrame(
            [
                (attribute.name, attribute.title, code, label)
                for code, label in zip(attribute.codes, attribute.labels, strict=True)
            ],
            columns=names,
        ).assign(**counted.columns(workers, int(workers.sum())))
        for attribute, workers in counts
    ]
    if frames:
        return pandas.concat(frames, ignore_index=True)
    nothing: dict[str, counted.Labels] = {name: np.empty(0, dtype=object) for name in names}
    return pandas.DataFrame(nothing | counted.columns(np.empty(0, dtype=np.int64), 0))
