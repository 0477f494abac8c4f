"""What a picture of leakage against error shows: a line for each scheme, and a mark for each release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import pandas

from mapapp.show.content.palette import HOME, WORK

__all__ = ["MARK_COLORS", "Mark", "SchemeLine", "marks", "scheme_lines"]

MARK_COLORS: Final = (HOME, WORK, "#6a4c93", "#1b7f5c", "#b8860b", "#7f7f7f")
"""Colors of releases and settings, in their order."""
_LINE_COLORS: Final = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777")


class SchemeLine(NamedTuple):
    """One scheme over its parameter.

    Attributes
    ----------
    scheme : str
    color : str
    is_dashed : bool
        Whether an earlier line has the same color.
    points : DataFrame
        Rows of the table `schemes`, by rising error.
    """

    scheme: str
    color: str
    is_dashed: bool
    points: pandas.DataFrame


class Mark(NamedTuple):
    """One release or setting: its error, and the share of workers named right by lookup."""

    name: str
    color: str
    error: float
    found: float


def scheme_lines(rows: pandas.DataFrame) -> list[SchemeLine]:
    """Return the lines of one question and one class of workers.

    Parameters
    ----------
    rows : DataFrame
        Rows of the table `schemes`. Those whose scheme does not meet its own rule are left out, and those without any
        error, which have no place on a logarithmic axis.
    """
    lines = []
    schemes = [scheme for scheme in rows["scheme"].drop_duplicates() if scheme != "release"]
    drawn = rows[rows["meets_rule"] & (rows["median_relative_error"] > 0)]
    for number, scheme in enumerate(schemes):
        points = drawn[drawn["scheme"] == scheme].sort_values("median_relative_error")
        round_of_colors, at = divmod(number, len(_LINE_COLORS))
        if len(points):
            lines.append(SchemeLine(scheme, _LINE_COLORS[at], round_of_colors > 0, points))
    return lines


def marks(rows: pandas.DataFrame, names: Sequence[str]) -> list[Mark]:
    """Return the marks of one question and one class of workers.

    Parameters
    ----------
    rows : DataFrame
        Rows of the table `schemes`; those without any error are left out.
    names : sequence of str
        The releases and settings in order.
    """
    releases = rows[(rows["scheme"] == "release") & (rows["median_relative_error"] > 0)]
    return [
        Mark(
            row["label"],
            MARK_COLORS[list(names).index(row["label"]) % len(MARK_COLORS)],
            float(row["median_relative_error"]),
            float(row["lookup"]),
        )
        for row in releases.to_dict("records")
    ]
