"""A schema file: which columns of a file of worker records hold what, and the public values of every attribute."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, NoReturn, TypeAlias, TypeVar

from geodata.errors import GeodataError, SourceFileError
from geodata.geography.elsewhere import states
from geodata.json_objects import JsonObject
from geodata.store.schema import JOB_LABELS
from geodata.text import parse_toml
from geodata.workers.schema import Attribute, Never, WorkerSchema, usual_parents

PlaceUnit = Literal["block", "tract"]
DIGITS: Final[dict[PlaceUnit, int]] = {"block": 15, "tract": 11}
"""Digits of the code of a place."""

_ANY_REST: Final = "*"
_TOP: Final = ("year", "job_type", "workplace", "home", *JOB_LABELS, "person", "attributes", "never")
_ATTRIBUTE: Final = ("title", "column", "values", "bands", "parents", "derives", "published")
_LARGEST_SCHEMA: Final = 1 << 20  # bytes
_JOB_TYPE: Final = re.compile(r"JT\d\d")
_YEARS: Final = range(1900, 2101)

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceColumn:
    """A column of block or tract codes, and the texts that stand for no known place."""

    column: str
    unit: PlaceUnit
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Values:
    """Position of the value that each cell stands for, by the cell's text, or by how it begins: '31*'."""

    position: Mapping[str, int]

    def find(self, word: str | None) -> int:
        """Position of a cell's value, by the longest beginning that is listed; -1 if it has none."""
        if word is None:
            return -1
        if word in self.position and not word.endswith(_ANY_REST):
            return self.position[word]
        beginnings = (word[:length] + _ANY_REST for length in range(len(word), 0, -1))
        return next((self.position[beginning] for beginning in beginnings if beginning in self.position), -1)


@dataclass(frozen=True, slots=True)
class Bands:
    """Bands of a number, without gaps: band i holds numbers from `ends[i]` to below `ends[i + 1]`."""

    ends: tuple[float, ...]


Coder: TypeAlias = Values | Bands


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedColumn:
    """A column from which an attribute is read.

    Attributes
    ----------
    name : str
        The attribute.
    column : str
        Its column in the file.
    coder : Values or Bands
        How a cell becomes the position of a value.
    is_published : bool
        Otherwise its cells are checked and then left behind, so that no model and no publication can have them.
    """

    name: str
    column: str
    coder: Coder
    is_published: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerColumns:
    """What a schema file says.

    Attributes
    ----------
    path : Path
        The schema file.
    sha256 : str
        Of its bytes.
    n_lines : int
        Its lines.
    workplace, home : PlaceColumn
        Where the codes of both places are.
    work_states : tuple of str, optional
        Codes of the states whose workplaces are imported; by default those of the crosswalks.
    coded : tuple of CodedColumn
        Attributes of the job that are not derived, then the further attributes.
    person : str, optional
        The column that says whose job a row is.
    schema : WorkerSchema
        The further attributes.
    year : int, optional
    job_type : str, optional
    """

    path: Path
    sha256: str
    n_lines: int
    workplace: PlaceColumn
    home: PlaceColumn
    work_states: tuple[str, ...] | None
    coded: tuple[CodedColumn, ...]
    person: str | None
    schema: WorkerSchema
    year: int | None
    job_type: str | None

    @property
    def columns(self) -> list[str]:
        """Every column of the file that is read, each once."""
        named = [self.workplace.column, self.home.column, *(coded.column for coded in self.coded)]
        return list(dict.fromkeys([*named, *([] if self.person is None else [self.person])]))


def read_worker_columns(path: Path) -> WorkerColumns:
    """Read and check a schema file.

    Raises
    ------
    SourceFileError
        The file cannot be read or is not TOML, a key is unknown, missing, or has the wrong type, or the attributes are
        not possible. The message names the file and the key.
    """
    content = _content(path)
    try:
        document = parse_toml(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SourceFileError(f"{path}: not UTF-8 text; save it as UTF-8") from error
    except ValueError as error:
        raise SourceFileError(f"{path}: not TOML ({error}); correct the file") from error
    return _Reader(path).read(document, content)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            content = stream.read(_LARGEST_SCHEMA + 1)
    except OSError as error:
        raise SourceFileError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    if len(content) > _LARGEST_SCHEMA:
        raise SourceFileError(f"{path}: larger than 1 MiB, so it is not a schema; check the path")
    return content


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the parts of one schema file; every refusal names the file."""

    path: Path

    def read(self, document: JsonObject, content: bytes) -> WorkerColumns:
        self._refuse_unknown_keys("the schema", document, _TOP)
        workplace = self._table(document, "workplace")
        attributes = self._table(document, "attributes") if "attributes" in document else {}
        read = [self._attribute(name, self._entry(attributes, name)) for name in attributes]
        schema = self._make_checked(
            lambda: WorkerSchema(
                attributes=tuple(attribute for attribute, column in read if column.is_published),
                never=self._never(document),
                has_persons="person" in document,
            )
        )
        jobs = [self._job_column(document, name, schema) for name in JOB_LABELS]
        return WorkerColumns(
            path=self.path,
            sha256=hashlib.sha256(content).hexdigest(),
            n_lines=len(content.splitlines()),
            workplace=self._place("workplace", workplace, ("column", "unit", "states")),
            home=self._place("home", self._table(document, "home"), ("column", "unit", "missing")),
            work_states=self._states(workplace),
            coded=(*(column for column in jobs if column is not None), *(column for _, column in read)),
            person=self._person(document),
            schema=schema,
            year=self._year(document.get("year")),
            job_type=self._job_type(document.get("job_type")),
        )

    def _place(self, name: str, table: JsonObject, allowed: tuple[str, ...]) -> PlaceColumn:
        self._refuse_unknown_keys(f"[{name}]", table, allowed)
        unit = table.get("unit", "block")
        if not isinstance(unit, str) or unit not in DIGITS:
            self._refuse(f"{name}.unit is {unit!r}; it must be 'block' or 'tract'")
        column = self._text(table, "column", f"[{name}]")
        missing = table.get("missing", [])
        if not isinstance(missing, list) or not all(isinstance(text, str) for text in missing):
            self._refuse(f'{name}.missing must be a list of texts, such as ["", "999999999999999"]')
        return PlaceColumn(
            column=column,
            unit="block" if unit == "block" else "tract",
            missing=frozenset(text.strip() for text in missing),
        )

    def _states(self, workplace: JsonObject) -> tuple[str, ...] | None:
        if "states" not in workplace:
            return None
        listed = workplace["states"]
        if not isinstance(listed, list) or not listed or not all(isinstance(state, str) for state in listed):
            self._refuse('workplace.states must be a list of states, such as ["44"] or ["RI"]')
        codes = {state.postal: code for code, state in states().items()}
        state_codes = [codes.get(str(state).upper(), str(state)) for state in listed]
        wrong = next((code for code in state_codes if not re.fullmatch(r"\d\d", code)), None)
        if wrong is not None:
            self._refuse(f"workplace.states lists {wrong!r}; write a postal code or two digits")
        return tuple(dict.fromkeys(state_codes))

    def _job_column(self, document: JsonObject, name: str, schema: WorkerSchema) -> CodedColumn | None:
        """The column of age, earnings, or industry; None if another attribute derives it."""
        source = schema.derived_from.get(name)
        if source is not None:
            if name in document:
                self._refuse(f"[{name}] is given, but {source.name!r} derives {name}; remove one of the two")
            return None
        if name not in document:
            self._refuse(f"[{name}] is missing; name its column, or let an attribute derive {name}")
        table = self._table(document, name)
        where = f"[{name}]"
        self._refuse_unknown_keys(where, table, ("column", "values", "bands"))
        coder, _, labels = self._coder(where, table)
        n_values = len(labels)
        if any(
            "label" in entry
            for entry in [*table.get("values", ()), *table.get("bands", ())]
            if isinstance(entry, dict)
        ):
            self._refuse(f"{where} has a label, but maps show the published ones; remove it")
        if n_values != 3:
            self._refuse(
                f"{where} has {n_values} values; it must have 3, in this order: {'; '.join(_labels_of(name))}"
            )
        return CodedColumn(name=name, column=self._text(table, "column", where), coder=coder)

    def _attribute(self, name: str, table: JsonObject) -> tuple[Attribute, CodedColumn]:
        where = f"[attributes.{name}]"
        self._refuse_unknown_keys(where, table, _ATTRIBUTE)
        coder, codes, labels = self._coder(where, table)
        derives = self._derives(where, table)
        parents = self._parents(where, table)
        attribute = self._make_checked(
            lambda: Attribute(
                name=name,
                title=self._text(table, "title", where, default=name.replace("_", " ").capitalize()),
                codes=codes,
                labels=labels,
                parents=usual_parents(derives) if parents is None else parents,
                derives=derives,
            )
        )
        column = self._text(table, "column", where, default=name)
        is_published = table.get("published", True)
        if not isinstance(is_published, bool):
            self._refuse(f"{where} published is {is_published!r}; it must be true or false")
        if not is_published and (parents is not None or derives):
            self._refuse(f"{where} is not published, so it has no parents, and derives nothing; remove both")
        return attribute, CodedColumn(name=name, column=column, coder=coder, is_published=is_published)

    def _derives(self, where: str, table: JsonObject) -> dict[str, tuple[int, ...]]:
        derives = table.get("derives", {})
        if not isinstance(derives, dict) or not all(
            isinstance(groups, list) and all(type(group) is int for group in groups)
            for groups in derives.values()
        ):
            self._refuse(f"{where} derives must be a table such as {{ industry = [1, 1, 2, 3] }}")
        return {name: tuple(groups) for name, groups in derives.items()}

    def _parents(self, where: str, table: JsonObject) -> tuple[str, ...] | None:
        parents = table.get("parents")
        if parents is None:
            return None
        if not isinstance(parents, list) or not all(isinstance(parent, str) for parent in parents):
            self._refuse(f'{where} parents must be a list of attributes, such as ["industry", "earnings"]')
        return tuple(parents)

    def _person(self, document: JsonObject) -> str | None:
        if "person" not in document:
            return None
        table = self._table(document, "person")
        self._refuse_unknown_keys("[person]", table, ("column",))
        return self._text(table, "column", "[person]")

    def _never(self, document: JsonObject) -> tuple[Never, ...]:
        """Combinations that never occur: a code, or a list of codes, of each attribute."""
        listed = document.get("never", [])
        example = 'such as never = [{ age = 1, education = ["E1", "E2"] }]'
        if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
            self._refuse(f"never must be a list of combinations, {example}")
        never = [
            {name: codes if isinstance(codes, list) else [codes] for name, codes in entry.items()}
            for entry in listed
        ]
        codes = (code for combination in never for of_name in combination.values() for code in of_name)
        if not all(isinstance(code, str) or type(code) is int for code in codes):
            self._refuse(f"never lists something that is no code; write texts or whole numbers, {example}")
        return tuple(
            {name: tuple(str(code).strip() for code in of_name) for name, of_name in combination.items()}
            for combination in never
        )

    def _coder(self, where: str, table: JsonObject) -> tuple[Coder, tuple[str, ...], tuple[str, ...]]:
        """How cells become positions, and the code and label of each value."""
        if ("values" in table) is ("bands" in table):
            self._refuse(f"{where} must have either `values` or `bands`")
        kind = "values" if "values" in table else "bands"
        listed = table[kind]
        if not isinstance(listed, list) or not listed:
            self._refuse(f"{where} {kind} must be a list with at least one entry")
        return self._values(where, listed) if kind == "values" else self._bands(where, listed)

    def _values(self, where: str, listed: list[object]) -> tuple[Values, tuple[str, ...], tuple[str, ...]]:
        position: dict[str, int] = {}
        codes, labels = [], []
        for number, entry in enumerate(listed):
            table = entry if isinstance(entry, dict) else {"code": entry}
            self._refuse_unknown_keys(f"{where} value {number + 1}", table, ("code", "label", "cells"))
            code = self._cell(where, number, table.get("code"))
            cells = table.get("cells", [code])
            if not isinstance(cells, list) or not cells:
                self._refuse(f"{where} value {number + 1}: cells must be a list of texts")
            for cell in cells:
                text = "" if cell == "" else self._cell(where, number, cell)
                if text in position:
                    self._refuse(f"{where} lists the code {text!r} twice; give each value its own")
                position[text] = number
            codes.append(code)
            labels.append(self._text(table, "label", f"{where} value {number + 1}", default=code))
        return Values(position), tuple(codes), tuple(labels)

    def _cell(self, where: str, number: int, cell: object) -> str:
        if type(cell) is int:
            return str(cell)
        if not isinstance(cell, str) or not cell.strip():
            self._refuse(f"{where} value {number + 1}: its code is {cell!r}; write a text or a whole number")
        return cell.strip()

    def _bands(self, where: str, listed: list[object]) -> tuple[Bands, tuple[str, ...], tuple[str, ...]]:
        ends, labels = [], []
        for number, entry in enumerate(listed):
            band = f"{where} band {number + 1}"
            table = entry if isinstance(entry, dict) else {}
            self._refuse_unknown_keys(band, table, ("from", "below", "label"))
            first, last = number == 0, number == len(listed) - 1
            low = self._end(band, table, "from", default=-math.inf if first else None)
            high = self._end(band, table, "below", default=math.inf if last else None)
            if not low < high:
                self._refuse(f"{band}: from {low:g} is not less than below {high:g}")
            ends.append((low, high))
            labels.append(self._text(table, "label", band, default=_band_label(low, high)))
        for number, ((_, before), (low, _)) in enumerate(pairwise(ends)):
            if low != before:
                self._refuse(
                    f"{where} bands {number + 1} and {number + 2} {'overlap' if low < before else 'leave a gap'}: one "
                    f"ends below {before:g}, the next begins from {low:g}; make the two equal"
                )
        codes = tuple(str(number + 1) for number in range(len(ends)))
        return Bands((ends[0][0], *(high for _, high in ends))), codes, tuple(labels)

    def _end(self, band: str, table: JsonObject, key: str, *, default: float | None) -> float:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            self._refuse(f"{band}: {key} is {value!r}; it must be a number")
        return float(value)

    def _year(self, year: object) -> int | None:
        if year is not None and (type(year) is not int or year not in _YEARS):
            self._refuse(f"year is {year!r}; it must be a whole number, such as 2019")
        return year if isinstance(year, int) else None

    def _job_type(self, job_type: object) -> str | None:
        if job_type is not None and (not isinstance(job_type, str) or not _JOB_TYPE.fullmatch(job_type)):
            self._refuse(f"job_type is {job_type!r}; it must be one of LODES, such as 'JT00' for all jobs")
        return job_type if isinstance(job_type, str) else None

    def _refuse_unknown_keys(self, where: str, table: JsonObject, allowed: Collection[str]) -> None:
        unknown = next((key for key in table if key not in allowed), None)
        if unknown is not None:
            self._refuse(f"{where} has the unknown key {unknown!r}; allowed are {', '.join(allowed)}")

    def _table(self, document: JsonObject, name: str) -> JsonObject:
        if name not in document:
            self._refuse(f"[{name}] is missing; name its column")
        return self._entry(document, name)

    def _entry(self, document: JsonObject, name: str) -> JsonObject:
        table = document[name]
        if not isinstance(table, dict):
            self._refuse(f"{name} is {table!r}; it must be a table with a column and more")
        return table

    def _text(self, table: JsonObject, key: str, where: str, *, default: str | None = None) -> str:
        text = table.get(key, default)
        if not isinstance(text, str) or not text.strip() or not text.isprintable():
            self._refuse(f"{where} {key} is {text!r}; it must be visible text on one line")
        return text

    def _make_checked(self, make: Callable[[], _Result]) -> _Result:
        try:
            return make()
        except SourceFileError:
            raise
        except GeodataError as error:
            raise SourceFileError(f"{self.path}: {error}") from error

    def _refuse(self, what: str) -> NoReturn:
        raise SourceFileError(f"{self.path}: {what}")


def _labels_of(name: str) -> tuple[str, ...]:
    return next(labels for attribute, labels in JOB_LABELS.items() if attribute == name)


def _band_label(low: float, high: float) -> str:
    if math.isinf(low):
        return f"below {high:g}"
    return f"{low:g} or more" if math.isinf(high) else f"{low:g} to below {high:g}"
