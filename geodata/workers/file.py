"""Files of worker records, read a batch at a time: text, plain or gzipped, or Parquet."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import pyarrow
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from geodata.errors import SourceFileError, SourceRowError
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


@dataclass(frozen=True, slots=True)
class WorkerBatch:
    """Some rows of a file of worker records.

    Attributes
    ----------
    file : WorkerFile
        Where they are from.
    first_row : int
        Rows of data before them.
    columns : dict of str to Array
        The columns that the schema names. Cells of a text file are dictionaries of text.
    """

    file: WorkerFile
    first_row: int
    columns: dict[str, pyarrow.Array]

    @property
    def n_rows(self) -> int:
        """Rows in the batch."""
        return len(next(iter(self.columns.values())))

    def refuse(self, row: int, problem: str, remedy: str) -> NoReturn:
        """Raise SourceRowError for a row of the batch, counted from zero."""
        raise SourceRowError(
            f"{self.file.path}: {self.file.place(self.first_row + row)}: {problem}; {remedy}"
        )


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

    def place(self, row: int) -> str:
        """What people call a row of data: the line of a text file, or the row of a Parquet file from 1 on."""
        return f"row {row + 1}" if self.parquet else f"line {row + FIRST_DATA_LINE}"

    def batches(self) -> Iterator[WorkerBatch]:
        """Yield the rows in order.

        Raises
        ------
        SourceFileError
            The file is truncated, not UTF-8, or ragged, or has no rows. The message quotes no row.
        """
        first = 0
        with self._translate_errors():
            for batch in self._parquet_batches() if self.parquet else self._text_batches():
                if batch.num_rows:
                    yield WorkerBatch(
                        self, first, {name: batch.column(column) for name, column in self.wanted.items()}
                    )
                    first += batch.num_rows
        if first == 0:
            raise SourceFileError(f"{self.path}: a header and no rows; check the file")

    def _parquet_batches(self) -> Iterator[pyarrow.RecordBatch]:
        # With a buffer, a column of a large row group is read piece by piece.
        with pyarrow.parquet.ParquetFile(self.path, buffer_size=_PARQUET_BUFFER_BYTES) as source:
            yield from source.iter_batches(batch_size=_BATCH_ROWS, columns=list(self.wanted.values()))

    def _text_batches(self) -> Iterator[pyarrow.RecordBatch]:
        # Not by `open_csv`: where the disk is faster than we are, it holds up to 32 blocks that it has read ahead.
        n_lines = 0
        for number, block in enumerate(self._text_blocks()):
            yield from self._parse_block(block, n_lines, skip_header=number == 0).to_batches()
            n_lines += block.count(b"\n")

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

    def _parse_block(self, block: bytes, n_lines: int, *, skip_header: bool) -> pyarrow.Table:
        """The rows of a block of text before which there are so many lines."""
        ragged: list[pyarrow.csv.InvalidRow] = []

        def remember(row: pyarrow.csv.InvalidRow) -> str:
            ragged.append(row)
            return "skip"

        if not block.strip():
            return pyarrow.table({name: pyarrow.array([], _CELL) for name in self.wanted.values()})
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
        finally:  # a block of ragged rows alone is an error by itself
            if ragged:
                self._refuse_ragged(ragged[0], n_lines)

    def _refuse_ragged(self, row: pyarrow.csv.InvalidRow, n_lines: int) -> NoReturn:
        place = f"line {n_lines + row.number}: " if row.number is not None else "a row has "
        raise SourceFileError(
            f"{self.path}: {place}{row.actual_columns} cells, but the header has {row.expected_columns}; "
            "correct the row"
        )

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
