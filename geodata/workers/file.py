"""Files of worker records, read a batch at a time: text, plain or gzipped, or Parquet."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from geodata.errors import SourceFileError
from geodata.sources.reading import FIRST_DATA_LINE, read_header

BATCH_BYTES: Final = 32 << 20
_BATCH_ROWS: Final = 500_000
_PARQUET_BUFFER_BYTES: Final = 1 << 20
_PARQUET_MAGIC: Final = b"PAR1"
_GZIP_MAGIC: Final = b"\x1f\x8b"
_BYTES: Final = (
    pyarrow.types.is_binary,
    pyarrow.types.is_large_binary,
    pyarrow.types.is_binary_view,
    pyarrow.types.is_fixed_size_binary,
)
_CELL: Final = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
_NO_CELLS: Final = pyarrow.array([], _CELL)


class Fault(NamedTuple):
    """Cells of one column that are wrong for one reason: confidential.

    Attributes
    ----------
    column, reason : str
        The reason is public: it follows from the schema and the geography.
    numbers : tuple of int
        Lines or rows of the file.
    values : tuple of str
        What the cells hold.
    """

    column: str
    reason: str
    numbers: tuple[int, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorkerBatch:
    """Some rows of a file of worker records.

    Attributes
    ----------
    file : WorkerFile
        Where they are from.
    numbers : int64[n_rows]
        What people call each row: its line of a text file, or its row of a Parquet file, from 1 on.
    columns : dict of str to Array
        The columns that the schema names. Cells of a text file are dictionaries of text.
    ragged : tuple of int
        Lines among them that have more or fewer cells than the header. They are no rows of the batch.
    """

    file: WorkerFile
    numbers: npt.NDArray[np.int64]
    columns: dict[str, pyarrow.Array]
    ragged: tuple[int, ...] = ()

    @property
    def n_rows(self) -> int:
        """Rows in the batch."""
        return len(next(iter(self.columns.values())))

    def fault(self, rows: npt.NDArray[np.integer], column: str, reason: str) -> Fault:
        """The faults of the cells that a column has in some rows of the batch, counted from 0."""
        values = self.columns[column].take(pyarrow.array(rows)).to_pylist()
        shown = tuple("" if value is None else str(value) for value in values)
        return Fault(column, reason, tuple(self.numbers[rows].tolist()), shown)


@dataclass(frozen=True, slots=True)
class WorkerFile:
    """A file of worker records whose columns are known.

    Attributes
    ----------
    path : Path
    parquet : bool
        Parquet; else text, plain or gzipped.
    header : tuple of str
        Its columns.
    wanted : dict of str to str
        Columns to read, and what the file calls each: in upper or lower case.
    """

    path: Path
    parquet: bool
    header: tuple[str, ...]
    wanted: dict[str, str]

    @classmethod
    def of(cls, path: Path, columns: Sequence[str]) -> WorkerFile:
        """Look at the columns of a file.

        Raises
        ------
        SourceFileError
            The file cannot be read, is empty, or lacks a column, or two of its columns have the same name.
        """
        parquet = _starts_with(path, _PARQUET_MAGIC)
        header = tuple(_parquet_header(path) if parquet else read_header(path))
        if not header:
            raise SourceFileError(f"{path}: neither Parquet nor text with a header; check the path")
        wanted = {name: _find_column(path, header, name) for name in columns}
        if parquet:
            _check_types(path, wanted.values())
        return cls(path, parquet, header, wanted)

    def batches(self) -> Iterator[WorkerBatch]:
        """Yield the rows in order.

        Raises
        ------
        SourceFileError
            The file is truncated, not UTF-8, or has no rows. The message quotes no row.
        """
        is_empty = True
        with self._translate_errors():
            for batch in self._parquet_batches() if self.parquet else self._text_batches():
                if batch.n_rows or batch.ragged:
                    is_empty = False
                    yield batch
        if is_empty:
            raise SourceFileError(f"{self.path}: a header and no rows; check the file")

    def _parquet_batches(self) -> Iterator[WorkerBatch]:
        # With a buffer, a column of a large row group is read piece by piece.
        first = 1
        with pyarrow.parquet.ParquetFile(self.path, buffer_size=_PARQUET_BUFFER_BYTES) as source:
            for batch in source.iter_batches(batch_size=_BATCH_ROWS, columns=list(self.wanted.values())):
                yield WorkerBatch(self, first + np.arange(batch.num_rows), self._columns(batch))
                first += batch.num_rows

    def _text_batches(self) -> Iterator[WorkerBatch]:
        # Not by `open_csv`: where the disk is faster than we are, it holds up to 32 blocks that it has read ahead.
        n_lines = 0
        for number, block in enumerate(self._text_blocks()):
            ragged: list[int] = []
            rows = self._parse_block(block, n_lines, ragged, skip_header=number == 0)
            first = n_lines + (FIRST_DATA_LINE if number == 0 else 1)
            numbers = np.setdiff1d(first + np.arange(rows.num_rows + len(ragged)), ragged)
            at = 0
            for batch in rows.to_batches():
                own = numbers[at : at + batch.num_rows]
                yield WorkerBatch(self, own, self._columns(batch))
                at += batch.num_rows
            if ragged:
                yield WorkerBatch(self, numbers[:0], dict.fromkeys(self.wanted, _NO_CELLS), tuple(ragged))
            n_lines += block.count(b"\n")

    def _columns(self, rows: pyarrow.RecordBatch | pyarrow.Table) -> dict[str, pyarrow.Array]:
        """Columns by their names in the schema."""
        return {name: rows.column(column) for name, column in self.wanted.items()}

    def _text_blocks(self) -> Iterator[bytes]:
        """Yield the content in blocks of whole lines: as many bytes as `BATCH_BYTES`, and the rest of a line."""
        compression = "gzip" if _starts_with(self.path, _GZIP_MAGIC) else None
        with pyarrow.input_stream(str(self.path), compression=compression) as stream:
            begun = b""
            while content := stream.read(BATCH_BYTES):
                end = content.rfind(b"\n") + 1
                if end:
                    yield begun + content[:end]
                begun = content[end:] if end else begun + content
                if len(begun) > 2 * BATCH_BYTES:
                    raise pyarrow.ArrowInvalid("CSV: a line is longer than a block")
            if begun:
                yield begun

    def _parse_block(
        self, block: bytes, n_lines: int, ragged: list[int], *, skip_header: bool
    ) -> pyarrow.Table:
        """The rows of a block of text before which there are so many lines; lines with other cells go to `ragged`."""

        def remember(row: pyarrow.csv.InvalidRow) -> str:
            if row.number is None:
                return "error"
            ragged.append(n_lines + row.number)
            return "skip"

        no_rows = pyarrow.table(dict.fromkeys(self.wanted.values(), _NO_CELLS))
        if not block.strip():
            return no_rows
        try:
            return pyarrow.csv.read_csv(
                pyarrow.BufferReader(block),
                # The header is read as this class reads it: without a byte-order mark or spaces.
                pyarrow.csv.ReadOptions(
                    column_names=list(self.header),
                    skip_rows=int(skip_header),
                    block_size=len(block),
                    use_threads=False,
                ),
                pyarrow.csv.ParseOptions(invalid_row_handler=remember),
                pyarrow.csv.ConvertOptions(
                    column_types=dict.fromkeys(self.header, _CELL),
                    include_columns=list(self.wanted.values()),
                    strings_can_be_null=False,
                    null_values=[],
                ),
            )
        except pyarrow.ArrowInvalid:
            # A block of such lines alone is an error by itself.
            if len(ragged) < block.count(b"\n") - skip_header + (not block.endswith(b"\n")):
                raise
            return no_rows

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (pyarrow.ArrowException, OSError, zlib.error) as error:
            raise SourceFileError(f"{self.path}: {_describe_error(str(error))}") from error


def _describe_error(error: str) -> str:
    """What is wrong with a file, without a quotation from it."""
    lower = error.lower()
    if "utf8" in lower or "utf-8" in lower:
        return "not UTF-8 text; save it as UTF-8"
    if "truncated" in lower or "zlib" in lower or "gzip" in lower:
        return "the gzip file is truncated or damaged; write it again"
    if "csv" in lower:
        return "not a table of comma-separated cells; check the file"
    return "cannot be read to its end; write it again"


def _starts_with(path: Path, magic: bytes) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(len(magic)) == magic
    except OSError as error:
        raise SourceFileError(f"{path}: cannot be read ({error.strerror}); check the path") from error


def _parquet_header(path: Path) -> list[str]:
    try:
        return list(pyarrow.parquet.read_schema(path).names)
    except (pyarrow.ArrowException, OSError) as error:
        raise SourceFileError(f"{path}: a damaged Parquet file; write it again") from error


def _check_types(path: Path, names: Iterable[str]) -> None:
    """Refuse columns whose cells are not single texts, numbers, or dates."""
    schema = pyarrow.parquet.read_schema(path)
    for name in names:
        kind = schema.field(name).type
        plain = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
        if pyarrow.types.is_nested(plain) or any(is_bytes(plain) for is_bytes in _BYTES):
            raise SourceFileError(
                f"{path}: column {name!r} is of type {str(kind)[:60]}; write it as text or as a number"
            )


def _find_column(path: Path, header: Sequence[str], name: str) -> str:
    """What the file calls a column; an exact spelling wins over another case."""
    same = [column for column in header if column == name] or [
        column for column in header if column.lower() == name.lower()
    ]
    if not same:
        shown = ", ".join(header[:8]) + (", …" if len(header) > 8 else "")
        raise SourceFileError(
            f"{path}: column {name!r} of the schema is missing (found {shown}); correct the schema or the file"
        )
    if len(same) > 1:
        raise SourceFileError(f"{path}: column {name!r} occurs twice in the header; rename one")
    return same[0]


def text_of(column: pyarrow.Array) -> pyarrow.Array:
    """Cells as a dictionary of text, without spaces around them; numbers of a Parquet file in plain digits."""
    if pyarrow.types.is_dictionary(column.type):
        words = pyarrow.compute.utf8_trim_whitespace(column.dictionary.cast(pyarrow.string()))
        return pyarrow.DictionaryArray.from_arrays(column.indices, words)
    if pyarrow.types.is_floating(column.type):
        column = _convert_to_whole(column)
    return text_of(column.cast(pyarrow.string()).dictionary_encode())


def _convert_to_whole(column: pyarrow.Array) -> pyarrow.Array:
    try:
        return column.cast(pyarrow.int64())
    except pyarrow.ArrowInvalid:
        return column
