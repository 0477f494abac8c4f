"""A prior that the publisher declares in a CSV file.

The file has the columns `row_id` and `column_id` (identifiers as in the table) and either `rate` or both `people` and
`value`. A `rate` is a fraction ("3/7") or a decimal ("0.125"), read exactly and used as it is. `people` and `value` are
counts of an earlier year or of another source; their rate is smoothed as that of a release is.
"""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

from engine.errors import ParameterError
from engine.parameters import exact_fraction
from engine.suppression.rates import LARGEST_DENOMINATOR
from geodata.errors import SourceFileError
from mapapp.errors import UsageError

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
    """

    path: Path
    sha256: str
    rates: dict[tuple[str, str], Fraction]
    counts: dict[tuple[str, str], tuple[int, int]]


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
    names = set(lines.fieldnames or ())
    has_rates = "rate" in names
    if not {"row_id", "column_id"} <= names or not (has_rates or {"people", "value"} <= names):
        raise UsageError(
            f"{path}: the first line needs the columns row_id, column_id, and rate, or people and value; {_REMEDY}"
        )
    rates: dict[tuple[str, str], Fraction] = {}
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    try:
        for row in lines:
            key, where = (row["row_id"] or "", row["column_id"] or ""), f"{path}: line {lines.line_num}"
            if key in rates or key in counts:
                raise UsageError(f"{where}: {key[0]}, {key[1]} occurs twice; keep one")
            if has_rates:
                rates[key] = _rate(row["rate"], where)
            else:
                counts[key] = _counts(row["people"], row["value"], where)
    except csv.Error as error:
        raise UsageError(f"{path}: line {lines.line_num}: not CSV ({error}); {_REMEDY}") from None
    return PriorFile(path=path, sha256=hashlib.sha256(content).hexdigest(), rates=rates, counts=counts)


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
