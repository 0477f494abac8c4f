"""Measures that a planner understands, from compared homes: tables, headline numbers, and these in words.

`validate`, the workbench and a dry run state the same measures by this one definition. Errors of inflow and of flows
are root mean squares, as the ± on pages is, so what occurred can be compared with what is stated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas

from engine.validity import FLOW_SIZES
from mapapp.answers.errors.stated_errors import StatedErrors
from mapapp.kinds.base.compared_homes import ComparedHomes

__all__ = [
    "PlainMeasures",
    "area_table",
    "average_commutes",
    "flow_table",
    "plain_measures",
    "plain_of",
    "plain_tables",
    "read_sizes",
    "stated_table",
    "top_table",
]

_SHOWN_SIZES: Final = ("3-9", "10-49", "100-499")
"""Flows whose error is one of the headline numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainMeasures:
    """What a planner asks first.

    Attributes
    ----------
    inflow : dict of str to float
        Root mean squared error of the inflow of areas as a share of their mean inflow, by level of area; empty if only
        a sample was compared.
    top_found : float
        How many of the ten largest home tracts of a workplace tract are right, in the mean.
    top_error : float
        Error of their counts, as a share of them.
    flows : dict of str to float
        Root mean squared error of a flow between tracts, by the size that is read.
    real_mi, drawn_mi : float
        Average commute between blocks; NaN where they are not known.
    stated : StatedErrors or None
        What the pages of a release state on average, of the same inflow and flows.
    """

    inflow: Mapping[str, float]
    top_found: float
    top_error: float
    flows: Mapping[str, float]
    real_mi: float
    drawn_mi: float
    stated: StatedErrors | None = None

    @property
    def commute_error(self) -> float:
        """Error of the average commute as a share of it; NaN if nobody commutes."""
        return abs(self.drawn_mi - self.real_mi) / self.real_mi if self.real_mi > 0 else math.nan

    def lines(self) -> list[tuple[str, str]]:
        """A name and a sentence for each measure; for the analyst alone if the homes are real."""
        inflow = ", ".join(f"{error:.1%} for a {level}" for level, error in self.inflow.items())
        flows = ", ".join(f"{size}: ±{error:.1f}" for size, error in self.flows.items())
        return [
            *([("inflow", f"root mean squared error {inflow}")] if inflow else []),
            (
                "top home areas",
                f"{self.top_found:.1f} of the ten largest home tracts are right, their counts off by "
                f"{self.top_error:.0%}",
            ),
            ("tract flows", f"root mean squared error by the count read: {flows}"),
            *self._stated_lines(),
            *([] if math.isnan(self.real_mi) else [("average commute", self._commutes())]),
        ]

    def _stated_lines(self) -> list[tuple[str, str]]:
        """What pages state of inflow and flows."""
        if self.stated is None:
            return []
        inflow = ", ".join(f"{error:.1%} for a {level}" for level, error in self.stated.inflow.items())
        flows = ", ".join(f"{size}: ±{error:.1f}" for size, error in self.stated.flows.items())
        return [
            ("stated on pages", "; ".join(part for part in (inflow and f"inflow {inflow}", flows) if part))
        ]

    def _commutes(self) -> str:
        off = "" if math.isnan(self.commute_error) else f": off by {self.commute_error:.0%}"
        return f"{self.real_mi:.1f} mi real, {self.drawn_mi:.1f} mi synthetic (between blocks){off}"

    def to_dict(self) -> dict[str, object]:
        """Plain values for `--json`; average commutes that are not known are None."""
        known = not math.isnan(self.real_mi)
        return {
            "inflow": dict(self.inflow),
            "top_found": self.top_found,
            "top_error": self.top_error,
            "flows": dict(self.flows),
            **(
                {}
                if self.stated is None
                else {"stated": {"inflow": dict(self.stated.inflow), "flows": dict(self.stated.flows)}}
            ),
            "real_mi": self.real_mi if known else None,
            "drawn_mi": self.drawn_mi if known else None,
        }

    def errors(self) -> dict[str, str]:
        """The measures as errors alone, by what they are errors of: to compare settings side by side."""
        flows = {size: self.flows[size] for size in _SHOWN_SIZES if size in self.flows}
        commute = (
            {} if math.isnan(self.real_mi) else {"The average commute is off by": _share(self.commute_error)}
        )
        return {
            **{f"Inflow of a {level} is off by": _share(error) for level, error in self.inflow.items()},
            "Of the ten largest home tracts, right": f"{self.top_found:.1f}",
            "Their counts are off by": _share(self.top_error),
            **{
                f"A flow of {size.replace('-', '–')} between tracts is": f"± {error:.1f}"
                for size, error in flows.items()
            },
            **commute,
        }


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1%}"


def plain_measures(compared: Sequence[ComparedHomes], *, is_sample: bool) -> PlainMeasures:
    """The measures of compared parts."""
    real_mi, drawn_mi = average_commutes(compared)
    return plain_of(plain_tables(compared, is_sample=is_sample), real_mi, drawn_mi)


def average_commutes(compared: Sequence[ComparedHomes]) -> tuple[float, float]:
    """Average commutes between blocks in miles, of the real workers and of those drawn."""
    n_workers = np.sum([part.n_workers for part in compared], axis=0)
    real, drawn = np.sum([part.miles for part in compared], axis=0) / n_workers
    return float(real), float(drawn)


def plain_of(tables: Mapping[str, pandas.DataFrame], real_mi: float, drawn_mi: float) -> PlainMeasures:
    """The measures from their tables and the average commutes."""
    flows = tables["flows"]
    read = flows[(flows["by"] == "read") & (flows["n_flows"] > 0) & (flows["size"] != "0")]
    top = tables["top_areas"]
    top = top[top["workers_in_top"] == "all"]
    inflow = {}
    if "in_out" in tables:
        table = tables["in_out"]
        table = table[table["count"].str.startswith("inflow") & (table["real"] > 0)]
        shares = table["root_mean_square_error"] / (table["real"] / table["n_areas"])
        inflow = dict(zip(table["level"], shares, strict=True))
    return PlainMeasures(
        inflow=inflow,
        top_found=10 * float(top["share_found"].iloc[0]),
        top_error=float(top["relative_error"].iloc[0]),
        flows=dict(zip(read["size"], read["root_mean_square_error"], strict=True)),
        real_mi=real_mi,
        drawn_mi=drawn_mi,
        stated=None if "stated" not in tables else _stated_of(tables["stated"]),
    )


def stated_table(stated: StatedErrors) -> pandas.DataFrame:
    """What pages state on average: rows of inflow by level, as a share, and of flows by size, in workers."""
    rows = [("inflow", level, error) for level, error in stated.inflow.items()]
    rows += [("flows", size, error) for size, error in stated.flows.items()]
    return pandas.DataFrame(rows, columns=["number", "of", "root_mean_square_error"])


def _stated_of(table: pandas.DataFrame) -> StatedErrors:
    by_number = {
        number: dict(zip(rows["of"], rows["root_mean_square_error"], strict=True))
        for number, rows in table.groupby("number")
    }
    return StatedErrors(inflow=by_number.get("inflow", {}), flows=by_number.get("flows", {}))


def plain_tables(compared: Sequence[ComparedHomes], *, is_sample: bool) -> dict[str, pandas.DataFrame]:
    """Errors of flows and largest home areas; of all destination tracts together, also of inflow and outflow."""
    tables = {"flows": flow_table(compared), "top_areas": top_table(compared)}
    return tables if is_sample else tables | {"in_out": area_table(compared)}


def read_sizes() -> dict[str, tuple[int, int | None]]:
    """The sizes of flows whose errors are stated, by name: all that are read but 0."""
    return {_size(first, last): (first, last) for first, last in FLOW_SIZES if first > 0}


def _size(first: int, last: int | None) -> str:
    if last is None:
        return f"{first} or more"
    return str(first) if first == last else f"{first}-{last}"


def flow_table(compared: Sequence[ComparedHomes]) -> pandas.DataFrame:
    """Errors of tract-to-tract flows by size: of the real count, and of the count that a user reads."""
    rows = []
    for by in ("real", "read"):
        sums = np.asarray(sum(np.stack(part.flows[by]) for part in compared))
        for (first, last), (n, real, read, absolute, square) in zip(FLOW_SIZES, sums.T, strict=True):
            row: dict[str, object] = {
                "by": by,
                "size": _size(first, last),
                "n_flows": int(n),
                "real": int(real),
                "drawn": int(read),
            }
            row |= {
                "mean_error": (read - real) / n if n else math.nan,
                "mean_absolute_error": absolute / n if n else math.nan,
                "root_mean_square_error": math.sqrt(square / n) if n else math.nan,
            }
            rows.append(row)
    return pandas.DataFrame(rows)


def top_table(compared: Sequence[ComparedHomes]) -> pandas.DataFrame:
    """How the ten largest home tracts of workplace tracts fare, by how many workers these have in them."""
    n_top, n_found, real, absolute = (
        np.concatenate([getattr(part.top, name) for part in compared])
        for name in ("n_top", "n_found", "real", "absolute")
    )
    rows = []
    for first, last in ((1, 99), (100, 499), (500, None), (1, None)):
        in_class = (real >= first) & (real <= (last or np.inf))
        rows.append(
            {
                "workers_in_top": "all" if (first, last) == (1, None) else _size(first, last),
                "n_workplace_tracts": int(in_class.sum()),
                "mean_listed": float(n_top[in_class].mean()) if in_class.any() else math.nan,
                "mean_found": float(n_found[in_class].mean()) if in_class.any() else math.nan,
                "share_found": float(n_found[in_class].sum() / n_top[in_class].sum())
                if in_class.any()
                else math.nan,
                "mean_absolute_error": float(absolute[in_class].sum() / n_top[in_class].sum())
                if in_class.any()
                else math.nan,
                "relative_error": float(absolute[in_class].sum() / real[in_class].sum())
                if in_class.any()
                else math.nan,
            }
        )
    return pandas.DataFrame(rows)


def area_table(compared: Sequence[ComparedHomes]) -> pandas.DataFrame:
    """Errors of inflow, outflow and interior workers of areas, by level; areas without any are left out."""
    rows = []
    for level in compared[0].areas:
        residents, interior, employed = (
            np.asarray(sum(getattr(part.areas[level], name) for part in compared))
            for name in ("residents", "interior", "employed")
        )
        for name, (real, read) in (
            ("lives and works there", interior),
            ("inflow: works there only", employed - interior),
            ("outflow: lives there only", residents - interior),
        ):
            has_workers = (real > 0) | (read > 0)
            error = np.abs(read - real)[has_workers].astype(np.float64)
            total = int(real.sum())
            rows.append(
                {
                    "level": level,
                    "count": name,
                    "n_areas": int(has_workers.sum()),
                    "real": total,
                    "drawn": int(read.sum()),
                    "mean_absolute_error": float(error.mean()) if error.size else math.nan,
                    "root_mean_square_error": math.sqrt(float((error**2).mean())) if error.size else math.nan,
                    "relative_error": float(error.sum() / total) if total else math.nan,
                }
            )
    return pandas.DataFrame(rows)
