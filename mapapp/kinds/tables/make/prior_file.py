"""A prior that the publisher declares in a CSV file.

The file has the columns `row_id` and `column_id` (identifiers as in the table) and either `rate` or both `people` and
`value`. A `rate` is a fraction ("3/7") or a decimal ("0.125"), read exactly and used as it is. `people` and `value` are
counts of an earlier year or of another source; their rate is smoothed as that of a release is. If several tables have a
prior each, because they are about different jobs, a column `table` has the number of the `[[table]]` entry, from 1.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Final

from engine.errors import ParameterError
from engine.parameters import exact_fraction
from engine.suppression.rates import LARGEST_DENOMINATOR
from geodata.errors import SourceFileError
from mapapp.base.errors import UsageError

__all__ = ["PriorFile", "read_prior_file"]

_MOST_BYTES: Final = 1 << 30
_MOST_COUNT: Final = 10**8
_REMEDY: Final = 'see docs/tables.md, "The prior"'


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorFile:
    """What a CSV file declares.

    Attributes
    ----------
    path : Path
    sha256 : str
        Of the file.
    rates : dict of (row_id, column_id) to Fraction
        0 to 1; empty if the file has counts.
    counts : dict of (row_id, column_id) to (people, value)
        Empty if the file has rates.
    tables : dict of int to PriorFile
        The lines of each table, by its position, if the file has a column `table`; there are no others then.
    """

    path: Path
    sha256: str
    rates: dict[tuple[str, str], Fraction] = field(default_factory=dict)
    counts: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    tables: dict[int, PriorFile] = field(default_factory=dict)

    def of_table(self, table: int, is_alone: bool) -> PriorFile:
        """Return what the file declares of one table; see `Prior.of_table`."""
        if self.tables:
            if table not in self.tables:
                raise UsageError(
                    f"{self.path}: no line is about [[table]] {table + 1}; give its prior, with {table + 1} in the "
                    "column table"
                )
            return self.tables[table]
        if not is_alone:
            raise UsageError(
                f"{self.path}: these tables are about different jobs, so each needs a prior of its own; add a column "
                f"table with the number of the [[table]] entry, such as {table + 1}"
            )
        return self


def read_prior_file(path: Path) -> PriorFile:
    """Read a prior.

    Raises
    ------
    UsageError, SourceFileError
        The message names the line and what is wrong with it.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{path}: larger than 1 GiB; give fewer cells")
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceFileError(f"{path}: cannot be read as UTF-8 text ({type(error).__name__})") from error
    lines = csv.DictReader(text.splitlines(), strict=True)
    try:
        names = set(lines.fieldnames or ())
    except csv.Error as error:
        raise UsageError(f"{path}: line 1: not CSV ({error}); {_REMEDY}") from None
    has_rates = "rate" in names
    if not {"row_id", "column_id"} <= names or not (has_rates or {"people", "value"} <= names):
        raise UsageError(
            f"{path}: the first line needs the columns row_id, column_id, and rate, or people and value; {_REMEDY}"
        )
    sha256, tables = hashlib.sha256(content).hexdigest(), dict[int, PriorFile]()
    try:
        for row in lines:
            where = f"{path}: line {lines.line_num}"
            table = _table(row["table"], where) if "table" in names else -1
            _add(tables.setdefault(table, PriorFile(path=path, sha256=sha256)), row, has_rates, where)
    except csv.Error as error:
        raise UsageError(f"{path}: line {lines.line_num}: not CSV ({error}); {_REMEDY}") from None
    if "table" in names and tables:
        return PriorFile(path=path, sha256=sha256, tables=tables)
    return tables.get(-1, PriorFile(path=path, sha256=sha256))


def _add(declared: PriorFile, row: Mapping[str, str | None], has_rates: bool, where: str) -> None:
    """Add a line."""
    key = (row["row_id"] or "", row["column_id"] or "")
    if key in declared.rates or key in declared.counts:
        raise UsageError(f"{where}: {key[0]}, {key[1]} occurs twice; keep one")
    if has_rates:
        declared.rates[key] = _rate(row["rate"], where)
    else:
        declared.counts[key] = _counts(row["people"], row["value"], where)


def _table(text: str | None, where: str) -> int:
    if not (text or "").isdecimal() or not (text or "").isascii() or not 1 <= int(text or "") <= _MOST_COUNT:
        raise UsageError(f"{where}: table is {text!r}; give the number of the [[table]] entry, from 1")
    return int(text or "") - 1


def _rate(text: str | None, where: str) -> Fraction:
    try:
        rate = exact_fraction(text or "", "rate")
    except ParameterError as error:
        raise UsageError(f"{where}: {error}") from None
    if not 0 <= rate <= 1:
        raise UsageError(f"{where}: rate {text}: give a number from 0 to 1")
    if rate.denominator > LARGEST_DENOMINATOR:
        raise UsageError(
            f"{where}: rate {text}: give at most 9 decimals, or a fraction with a smaller denominator"
        )
    return rate


def _counts(people: str | None, value: str | None, where: str) -> tuple[int, int]:
    numbers = []
    for name, text in (("people", people), ("value", value)):
        if not (text or "").isdecimal() or not (text or "").isascii() or int(text or "") > _MOST_COUNT:
            raise UsageError(f"{where}: {name} is {text!r}; give a whole number from 0 to {_MOST_COUNT:,}")
        numbers.append(int(text or ""))
    if numbers[1] > numbers[0]:
        raise UsageError(f"{where}: value {numbers[1]:,} is above people {numbers[0]:,}; correct the line")
    return numbers[0], numbers[1]
