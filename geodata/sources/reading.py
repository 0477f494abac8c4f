"""Reading text tables as published: plain or gzipped, with or without a byte-order mark, text kept as text."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute
import pyarrow.csv

from geodata.errors import SourceFileError, SourceRowError

if TYPE_CHECKING:
    import pandas

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_RAGGED = re.compile(r"(Row #(?P<row>\d+): )?Expected (?P<wanted>\d+) columns, got (?P<found>\d+)")
_HEXADECIMAL = re.compile(rb"0[xX]")
FIRST_DATA_LINE = 2  # the header is line 1
_DELIMITERS = (",", ";", "\t", "|")
_REPEATED = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
LARGEST = 2**31 - 1  # what a store has room for
_KINDS = {
    "": "blank",
    "-[0-9]+": "negative",
    "[0-9]{1,3}(,[0-9]{3})+": "written with commas",
    r"-?[0-9]*\.[0-9]*": "not whole (it has a decimal point)",
    r"-?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+": "in scientific notation",
}


@dataclass(frozen=True, slots=True)
class TextTable:
    """A text table in memory.

    Attributes
    ----------
    path : Path
        Where it came from.
    table : pyarrow.Table
        Its columns; text unless read as whole numbers.
    sha256 : str
        Of the file's bytes as published (compressed where it is).
    """

    path: Path
    table: pyarrow.Table
    sha256: str

    @property
    def rows(self) -> int:
        """Rows of data."""
        return int(self.table.num_rows)

    def column(self, name: str) -> pyarrow.Array:
        """One column as a pyarrow array."""
        return self.table.column(name).combine_chunks()

    def drop_columns(self) -> TextTable:
        """The file for the record, with the number of its rows but no columns, whose memory is given back."""
        return replace(self, table=self.table.select([]))

    def refuse(self, row: int, problem: str, remedy: str) -> NoReturn:
        """Raise SourceRowError for a row counted from zero."""
        raise SourceRowError(f"{self.path}: line {row + FIRST_DATA_LINE}: {problem}; {remedy}")


def read_bytes(path: Path) -> tuple[bytes, str]:
    """Content of a file, decompressed if it is gzip, and the sha256 of the file itself.

    Raises
    ------
    SourceFileError
        The file cannot be read, is empty, or its compression is truncated or damaged.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SourceFileError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    digest = hashlib.sha256(raw).hexdigest()
    if raw.startswith(_GZIP_MAGIC):
        try:
            raw = gzip.decompress(raw)
        except (EOFError, OSError, zlib.error) as error:
            raise SourceFileError(
                f"{path}: the gzip file is truncated or damaged ({error}); download it again"
            ) from error
    if not raw or raw.isspace():  # unlike strip, neither copies the file
        raise SourceFileError(f"{path}: the file is empty; download it again")
    return raw.removeprefix(_BYTE_ORDER_MARK), digest


def read_header(path: Path) -> list[str]:
    """Column names of a text table, from its first bytes only; [] when it is not text.

    Raises
    ------
    SourceFileError
        When the file cannot be read, or is gzip that cannot be decompressed.
    """
    try:
        line = _first_line(path).decode("utf-8")
    except UnicodeDecodeError:
        return []
    try:
        return _split(line) if line.isprintable() else []
    except csv.Error:
        return []


class TextHeader(NamedTuple):
    """Column names of a text table as they are spelled, and what separates its columns."""

    names: list[str]
    delimiter: str


def text_header(path: Path) -> TextHeader | None:
    """Header of a text table with any usual separator; None if the file is not such a table.

    Raises
    ------
    SourceFileError
        As :func:`read_header`.
    """
    start = _first_line(path)
    try:
        line = start.decode("utf-8")
    except UnicodeDecodeError:
        line = start.decode("latin-1")
    if not line.replace("\t", " ").isprintable() or line.lstrip()[:1] in ("{", "[", "<"):
        return None
    delimiter = max(_DELIMITERS, key=line.count)
    try:
        names = _split(line, delimiter)
    except csv.Error:
        return None
    return TextHeader(names, delimiter) if len(names) > 1 else None


def _first_line(path: Path) -> bytes:
    """The first line of a file, decompressed if it is gzip, without the marks around it."""
    try:
        with path.open("rb") as stream:
            start = stream.read(65_536)
    except OSError as error:
        raise SourceFileError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    if start.startswith(_GZIP_MAGIC):
        try:
            start = zlib.decompressobj(wbits=31).decompress(start, 65_536)
        except zlib.error as error:
            raise SourceFileError(f"{path}: the gzip file is damaged ({error}); download it again") from error
    return start.removeprefix(_BYTE_ORDER_MARK).split(b"\n", 1)[0].strip(b"\r")


def read_table(
    path: Path,
    *,
    required: Iterable[str],
    whole: Sequence[str] = (),
    latin_1: bool = False,
    repeats: re.Pattern[str] | None = None,
    may_be_empty: bool = False,
    delimiter: str = ",",
) -> TextTable:
    """Read a table with a header, whose columns are separated by commas or by `delimiter`.

    Parameters
    ----------
    path : Path
        Plain or gzipped.
    required : iterable of str
        Columns that must exist, in upper or lower case and any order. Other columns are read as text, and
        their names become lower case.
    whole : sequence of str
        Columns to read as int64; the first row where one is not a whole number 0 … 2³¹ − 1 is refused. The
        message does not quote it: it may be a confidential count.
    latin_1 : bool
        Read a file that is not UTF-8 as Latin-1, as the bureau's lists of names are.
    repeats : re.Pattern, optional
        Columns whose names it matches are read with a dictionary of their distinct values.
    may_be_empty : bool
        Accept a header without rows.

    Raises
    ------
    SourceFileError
        The file cannot be read, is truncated, empty, not UTF-8 or ragged, has only a header, or lacks a column.
    SourceRowError
        A cell of a `whole` column is not a whole number in range.
    """
    content, digest = read_bytes(path)
    if latin_1:
        content = _as_utf8(content)
    header = _header(path, content, [*required, *whole], delimiter)
    types: dict[str, pyarrow.DataType] = {
        name: _REPEATED if repeats is not None and repeats.match(name) else pyarrow.string()
        for name in header
    }
    numbers = types | {name: pyarrow.int64() for name in whole}
    try:
        if whole and _HEXADECIMAL.search(content):  # pyarrow would read 0x1 as 1
            _refuse_first_not_whole(
                TextTable(path, _parse_table(content, header, types, delimiter), digest), whole
            )
        result = TextTable(path, _parse_table(content, header, numbers, delimiter), digest)
    except pyarrow.ArrowInvalid as error:
        text = TextTable(path, _parse_text(path, content, header, types, delimiter, error), digest)
        _refuse_first_not_whole(text, whole)
        raise SourceFileError(
            f"{path}: not a table of text and numbers ({_shorten_error(error)}); check the file"
        ) from error
    if result.rows == 0:
        if may_be_empty:
            return result
        raise SourceFileError(f"{path}: a header and no rows; download it again")
    for name in whole:
        if not _all_in_range(result.column(name)):
            text = TextTable(path, _parse_table(content, header, types, delimiter), digest)
            _refuse_first_not_whole(text, whole)
    return result


def check_codes(
    text: TextTable, name: str, digits: int, meaning: str, *, quoted: bool = True, lost_zeros: bool = False
) -> pyarrow.Array:
    """Return a column after checking that every cell has exactly `digits` digits.

    A message quotes the cell only if `quoted`: a home is confidential. With `lost_zeros`, a cell may lack the zero with
    which it begins.

    Raises
    ------
    SourceRowError
        For the first cell that does not.
    """
    column = text.column(name)
    repeats = pyarrow.types.is_dictionary(column.type)
    values = column.dictionary if repeats else column
    short = f"|[1-9][0-9]{{{digits - 2}}}" if lost_zeros else ""
    good = pyarrow.compute.match_substring_regex(values, f"^([0-9]{{{digits}}}{short})$")
    if repeats:
        good = good.take(column.indices)
    row = pyarrow.compute.index(good, False).as_py()
    if row >= 0:
        text.refuse(
            row,
            f"{name} is {column[row].as_py()!r}, a {meaning} has {digits} digits"
            if quoted
            else f"{name} is no code of a {meaning}, which has {digits} digits",
            "check that leading zeros were kept, or download the file again",
        )
    return column


def code_numbers(codes: pandas.Series) -> npt.NDArray[np.int64]:
    """Return codes of digits as numbers: int64, in the order of the rows."""
    return np.asarray(pyarrow.array(codes).cast(pyarrow.int64()).to_numpy())


def _as_utf8(content: bytes) -> bytes:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1").encode("utf-8")
    return content


def _split(line: str, delimiter: str = ",") -> list[str]:
    return [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]


def _header(path: Path, content: bytes, wanted: Sequence[str], delimiter: str) -> list[str]:
    try:
        line = io.BytesIO(content).readline().decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceFileError(f"{path}: not UTF-8 text; save it as UTF-8") from error
    try:
        columns = _split(line.rstrip("\r\n"), delimiter)
    except csv.Error as error:
        raise SourceFileError(f"{path}: its header is not comma-separated text; check the file") from error
    called = {name.lower(): name for name in wanted}
    names = [called.get(name.lower(), name.lower()) for name in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SourceFileError(f"{path}: column {twice[0]!r} occurs twice in the header; remove one")
    _check_columns(path, columns, wanted)
    return names


def _check_columns(path: Path, header: list[str], required: Sequence[str]) -> None:
    lower = {name.lower() for name in header}
    missing = [name for name in required if name.lower() not in lower]
    if missing:
        raise SourceFileError(
            f"{path}: column {missing[0]!r} is missing (found {', '.join(header[:8])}"
            f"{', …' if len(header) > 8 else ''}); check that this is the right file"
        )


def _parse_table(
    content: bytes,
    header: list[str],
    types: dict[str, pyarrow.DataType],
    delimiter: str,
    *,
    threads: bool = True,
) -> pyarrow.Table:
    return pyarrow.csv.read_csv(
        pyarrow.BufferReader(content),
        read_options=pyarrow.csv.ReadOptions(
            column_names=header, skip_rows=1, block_size=16 << 20, use_threads=threads
        ),
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=types, strings_can_be_null=False, null_values=[], check_utf8=True
        ),
    )


def _parse_text(
    path: Path,
    content: bytes,
    header: list[str],
    types: dict[str, pyarrow.DataType],
    delimiter: str,
    first: Exception,
) -> pyarrow.Table:
    try:
        return _parse_table(
            content, header, types, delimiter, threads=False
        )  # with one thread, errors name the row
    except pyarrow.ArrowInvalid as error:
        if "UTF8" in str(error):
            raise SourceFileError(f"{path}: not UTF-8 text; save it as UTF-8") from error
        ragged = _RAGGED.search(str(error))
        place = f"line {ragged['row']}: " if ragged and ragged["row"] else ""
        cells = (
            f"{ragged['found']} cells, but the header has {ragged['wanted']}"
            if ragged
            else _shorten_error(error)
        )
        raise SourceFileError(f"{path}: {place}{cells}; download it again") from first


def _all_in_range(column: pyarrow.Array) -> bool:
    bounds = pyarrow.compute.min_max(column).as_py()
    return bool(column.null_count == 0 and bounds["min"] >= 0 and bounds["max"] <= LARGEST)


def _refuse_first_not_whole(text: TextTable, whole: Sequence[str]) -> None:
    worst: tuple[int, str] | None = None
    for name in whole:
        row = pyarrow.compute.index(_are_whole(text.column(name)), False).as_py()
        if row >= 0 and (worst is None or row < worst[0]):
            worst = (row, name)
    if worst is not None:
        row, name = worst
        wrong = what_is_wrong(text.column(name)[row].as_py().strip())
        text.refuse(row, f"{name} is {wrong}; it must be a whole number of 0 or more", "correct the row")


def _are_whole(column: pyarrow.Array) -> pyarrow.Array:
    """Whether each cell is a whole number in range."""
    digits = pyarrow.compute.match_substring_regex(column, "^ *[0-9]{1,18} *$")
    number = pyarrow.compute.if_else(digits, pyarrow.compute.utf8_trim(column, " "), "0").cast("int64")
    return pyarrow.compute.and_(digits, pyarrow.compute.less_equal(number, LARGEST))


def what_is_wrong(cell: str) -> str:
    """Say why a cell is no whole number in range."""
    # In words, because the value may be a confidential count.
    if re.fullmatch(r"[0-9]+", cell):
        return "too large"
    for pattern, words in _KINDS.items():
        if re.fullmatch(pattern, cell):
            return words
    return "not a number"


def _shorten_error(error: Exception) -> str:
    # What follows a second colon may be a whole row of the file.
    return ": ".join(" ".join(str(error).split()).split(": ")[:2])
