"""Tract-to-PUMA relationship files, and the names of PUMAs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas

from geodata.errors import SourceRowError
from geodata.sources.reading import FIRST_DATA_LINE, TextTable, check_codes, read_header, read_table
from geodata.sources.vintage import keep_table_vintage

PUMA_COLUMNS = ("PUMA5CE", "PUMACE", "PUMA")
NAME_COLUMNS = ("PUMA NAME", "PUMA_NAME", "PUMANAME", "NAMELSAD", "NAME")
_SUFFIX = re.compile(r"(00|10|20)$")  # of the census: STATEFP20, PUMACE10


@dataclass(frozen=True, slots=True)
class Pumas:
    """Which PUMA each tract belongs to.

    Attributes
    ----------
    of_tract : Series
        Tract identifier to PUMA identifier (state code and five digits).
    names : Series
        PUMA identifier to name; empty without a file of names.
    files, name_files : tuple of TextTable
        The files used, for the record.
    vintage : str or None
        "2010" or "2020" if a file's name says so.
    """

    of_tract: pandas.Series
    names: pandas.Series
    files: tuple[TextTable, ...]
    name_files: tuple[TextTable, ...]
    vintage: str | None


def is_tract_puma(header: Sequence[str]) -> bool:
    """Whether a header is that of a tract-to-PUMA file."""
    names = set(_plain_columns(header))
    return {"STATEFP", "COUNTYFP", "TRACTCE"} <= names and bool(names & set(PUMA_COLUMNS))


def is_puma_names(header: Sequence[str]) -> bool:
    """Whether a header is that of a file of PUMA names."""
    names = set(_plain_columns(header))
    return "STATEFP" in names and bool(names & set(PUMA_COLUMNS)) and bool(names & set(NAME_COLUMNS))


def read_pumas(tract_puma: Sequence[Path], puma_names: Sequence[Path], vintage: int) -> Pumas:
    """Read relationship files and names.

    Parameters
    ----------
    tract_puma, puma_names : sequence of Path
        As published, with or without a byte-order mark. Files whose names give another vintage than the
        crosswalk's are skipped if other files fit.
    vintage : int
        Of the crosswalk's blocks.

    Raises
    ------
    SourceFileError, SourceRowError
        A column is missing, a code has the wrong length, a tract is in two PUMAs, or all files are of another vintage.
    """
    relations = [_relation(path) for path in keep_table_vintage(tract_puma, vintage, "PUMAs of tracts")]
    labels = [_labels(path) for path in keep_table_vintage(puma_names, vintage, "names of PUMAs")]
    of_tract, names = _join_series(relations, "PUMAs"), _join_series(labels, "names")
    years = {year for text, _ in relations for year in ("2010", "2020") if year in text.path.name}
    files, name_files = (tuple(text for text, _ in group) for group in (relations, labels))
    return Pumas(of_tract, names, files, name_files, years.pop() if len(years) == 1 else None)


def _plain_columns(header: Sequence[str]) -> dict[str, str]:
    """Column names as written, by the same in upper case and without the suffix of a census."""
    return {_SUFFIX.sub("", name.upper()): name for name in reversed(header)}


def _relation(path: Path) -> tuple[TextTable, pandas.Series]:
    text, column = _open_table(path, PUMA_COLUMNS, ("STATEFP", "COUNTYFP", "TRACTCE"))
    state = check_codes(text, column["STATEFP"], 2, "state").to_pandas()
    county = check_codes(text, column["COUNTYFP"], 3, "county").to_pandas()
    tract = check_codes(text, column["TRACTCE"], 6, "tract").to_pandas()
    puma = check_codes(text, column["PUMA"], 5, "PUMA").to_pandas()
    return text, pandas.Series(
        (state + puma).to_numpy(), index=(state + county + tract).to_numpy(), dtype="str"
    )


def _labels(path: Path) -> tuple[TextTable, pandas.Series]:
    text, column = _open_table(path, PUMA_COLUMNS, ("STATEFP",))
    plain = _plain_columns(text.table.column_names)
    named = next(plain[name] for name in NAME_COLUMNS if name in plain)
    state = check_codes(text, column["STATEFP"], 2, "state").to_pandas()
    puma = check_codes(text, column["PUMA"], 5, "PUMA").to_pandas()
    name = text.column(named).to_pandas().str.strip()
    return text, pandas.Series(name.to_numpy(), index=(state + puma).to_numpy(), dtype="str")


def _open_table(
    path: Path, choices: Sequence[str], needed: Sequence[str]
) -> tuple[TextTable, dict[str, str]]:
    plain = _plain_columns(read_header(path))
    puma = next((plain[name] for name in choices if name in plain), choices[0])
    column = {name: plain.get(name, name) for name in needed} | {"PUMA": puma}
    return read_table(path, required=column.values(), latin_1=True), column


def _join_series(parts: Sequence[tuple[TextTable, pandas.Series]], what: str) -> pandas.Series:
    if not parts:
        return pandas.Series([], index=pandas.Index([], dtype="str"), dtype="str")
    joined = pandas.concat([series for _, series in parts])
    first: pandas.Series = joined[~joined.index.duplicated()]
    for text, series in parts:
        differs = series.to_numpy() != first.reindex(series.index).to_numpy()
        if differs.any():
            row = int(differs.argmax())
            key = series.index[row]
            raise SourceRowError(
                f"{text.path}: line {row + FIRST_DATA_LINE}: {key} has two {what}, {first[key]} and "
                f"{series.iloc[row]}; "
                "give files of one vintage"
            )
    return first
