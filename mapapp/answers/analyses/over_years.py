"""An answer over the years: the same question to several releases, each number with its expected error."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NoReturn

import pandas

from geodata.json_objects import JsonObject
from mapapp.answers import words
from mapapp.answers.analyses.about import About, Note
from mapapp.answers.analyses.change import change, check_same_question, main_table
from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.analyses.entry import NumberEntry, text_of
from mapapp.answers.analyses.measures import MEASURES, Value
from mapapp.answers.analyses.results import NUMBERS, NumbersOfSeveral, Result, check_answers
from mapapp.answers.publication import is_published
from mapapp.base.errors import UsageError

_NOISE: Final = Note(
    "years-noisy", "Every year contains independent noise, so small differences mean nothing."
)
_ONE_YEAR: Final = "{title} has {what}; take one of its answers"
_DRAWN: Final = ("count", "miles", "ratio")
N_ROWS: Final = 10
"""Number of rows of the main table to follow over the years: the largest of the last year."""


@dataclass(frozen=True, slots=True)
class YearValue:
    """A number in one year and its expected error (NaN if unknown), and both as text."""

    year: int
    value: float
    error: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OverYears(Result):
    """Answers of several years to one question.

    Attributes
    ----------
    answers : tuple of Result
        One for each year, earliest first.
    years : tuple of int
    by_year : DataFrame
        ``name``, ``label``, ``kind``, ``year``, ``value``, ``expected_error`` (NaN if unknown): the key numbers. As a
        table it is called ``numbers``.
    rows : DataFrame
        The names of the main table's rows, ``year``, ``value``, and ``expected_error``: the largest rows of the last
        year; a row that a year does not have counts as 0 workers there.
    """

    answers: tuple[Result, ...]
    years: tuple[int, ...]
    by_year: pandas.DataFrame
    rows: pandas.DataFrame

    @property
    def has_several(self) -> bool:
        """Whether it puts the answers of several releases side by side."""
        return True

    @property
    def title(self) -> str:
        """The title of what is shown, and its years."""
        return f"{self.answers[-1].about.title}: {self.about.area}, {self.years[0]} to {self.years[-1]}"

    def numbers(self) -> NumbersOfSeveral:
        """Return the key numbers by name, each with its value and expected error (None if unknown) by year."""
        numbers: NumbersOfSeveral = {}
        for row in _records(self.by_year):
            numbers.setdefault(row["name"], {})[row["year"]] = {
                "value": row["value"],
                "expected_error": row["expected_error"],
            }
        return numbers

    def tables(self) -> dict[str, pandas.DataFrame]:
        """Return the key numbers by year, and the largest rows by year."""
        return {NUMBERS: self.by_year, "rows": self.rows}

    def to_geodataframe(self, *, about: bool = False) -> NoReturn:
        """Raise UsageError: only the answers of single years have shapes."""
        raise UsageError(_ONE_YEAR.format(title=self.about.title, what="no shapes"))

    def plot(self, *_: object, **__: object) -> NoReturn:
        """Raise UsageError: only the answers of single years have a map."""
        raise UsageError(_ONE_YEAR.format(title=self.about.title, what="no map"))

    def _repr_html_(self) -> str:
        return self.by_year.to_html(index=False, na_rep="")

    def lines(self) -> list[tuple[str, list[YearValue]]]:
        """Return the label and the years of each key number that can be drawn as a line."""
        drawn = [number for number in entry_of(self.answers[-1]).numbers if number.kind in _DRAWN]
        return [
            (text_of(number.label, self.answers[-1]), [_of_year(number, answer) for answer in self.answers])
            for number in drawn
        ]

    def findings(self) -> tuple[str, ...]:
        """Return a sentence for each key number that says how it changed, and in which years more than its error.

        Then why publications among them are not for release, and what they promise.
        """
        sentences = []
        for _, rows in self.by_year[self.by_year["kind"] == "count"].groupby("name", sort=False):
            sentences.append(_sentence(rows))
        standings = (words.standing(answer.about.promise) for answer in self.answers)
        return (*sentences[:3], *dict.fromkeys(filter(None, standings)))

    def with_findings(self, findings: Sequence[str]) -> JsonObject:
        """Return the numbers and the rows of all years; of the answers themselves only ``about``."""
        return {
            "about": self.about.to_dict(),
            "title": self.title,
            "findings": list(findings),
            "years": list(self.years),
            "numbers": _records(self.by_year),
            "rows": _records(self.rows),
            "answers": [answer.about.to_dict() for answer in self.answers],
        }


def over_years(answers: Sequence[Result]) -> OverYears:
    """Put the answers of several years side by side, earliest first.

    Parameters
    ----------
    answers : sequence of Result
        Answers to the same question, each of another year.

    Raises
    ------
    UsageError
        If there are fewer than two, if two have the same year, if one has no year, or if their questions differ.
    """
    check_answers(*answers)
    years = sorted(year for answer in answers if isinstance(year := answer.about.year, int))
    if len(set(years)) < 2 or len(set(years)) < len(answers):
        listed = ", ".join(str(answer.about.year or "none") for answer in answers)
        raise UsageError(f"answers over the years need releases of different years; these are of: {listed}")
    ordered = sorted(answers, key=_year_of)
    for answer in ordered[1:]:
        check_same_question(ordered[0], answer)
    return OverYears(
        about=_about(ordered),
        presenter=ordered[-1].presenter,
        answers=tuple(ordered),
        years=tuple(years),
        by_year=_numbers(ordered),
        rows=_rows(ordered),
    )


def _year_of(answer: Result) -> int:
    """Return the year of an answer of one release, which has one."""
    return int(answer.about.year or 0)


def _about(answers: Sequence[Result]) -> About:
    """Return what the last answer says about itself, with the releases and the years of all, and the notes on them."""
    last = answers[-1].about
    own = {note.text for answer in answers for note in answer.about.notes}
    notes = {
        note.text: note
        for before, after in pairwise(answers)
        for note in change(before, after).about.notes
        if note.code != "both-noisy" and note.text not in own
    }
    is_public = entry_of(answers[-1]).is_published or is_published(last.promise)
    return dataclasses.replace(
        last,
        title=f"{last.title} over the years",
        release="; ".join(dict.fromkeys(answer.about.release for answer in answers)),
        version=", ".join(answer.about.version for answer in answers),
        year=", ".join(str(answer.about.year) for answer in answers),
        notes=(*(() if is_public else (_NOISE,)), *notes.values()),
    )


def _of_year(entry: NumberEntry, answer: Result) -> YearValue:
    value, error = _value_and_error(entry, answer)
    return YearValue(_year_of(answer), value, error, _text(entry.kind, value, error))


def _text(kind: str, value: float, error: float) -> str:
    if math.isnan(value):
        return "–"
    if kind == "miles":
        return f"{words.miles(value)} {words.miles_error(error)}".strip()
    if kind == "ratio":
        return f"{words.ratio(value)} {words.ratio_error(error)}".strip()
    return f"{value:,.0f} {words.error_text(error)}".strip()


def _numbers(answers: Sequence[Result]) -> pandas.DataFrame:
    records = [
        {
            "name": number.name,
            "label": text_of(number.label, answer),
            "kind": number.kind,
            "year": answer.about.year,
        }
        | dict(zip(("value", "expected_error"), _value_and_error(number, answer), strict=True))
        for number in entry_of(answers[-1]).numbers
        for answer in answers
    ]
    return pandas.DataFrame.from_records(records).astype({"value": "float64", "expected_error": "float64"})


def _value_and_error(entry: NumberEntry, answer: Result) -> tuple[float, float]:
    number: Value = entry.of(answer)
    value = number.value if isinstance(number, MEASURES) else number
    error = number.expected_error if isinstance(number, MEASURES) else None
    return math.nan if value is None else float(value), math.nan if error is None else float(error)


def _rows(answers: Sequence[Result]) -> pandas.DataFrame:
    table, keys = main_table(answers[-1])
    entry = entry_of(answers[-1])
    measure = entry.measure
    last = answers[-1].tables()[table]
    first = last.sort_values(measure.column, ascending=False, kind="stable").head(N_ROWS)
    named = first[list(dict.fromkeys([*keys, *entry.names]))]
    parts = []
    for answer in answers:
        numbers = answer.tables()[table][[*keys, measure.column, measure.error]]
        part = named.merge(numbers, on=keys, how="left").assign(year=answer.about.year)
        if measure.kind == "count":
            part[measure.column] = part[measure.column].fillna(0)
        parts.append(part)
    columns = [*named.columns, "year", measure.column, measure.error]
    rows = pandas.concat(parts, ignore_index=True)[columns]
    return rows.rename(columns={measure.column: "value", measure.error: "expected_error"}).astype(
        {"value": "float64", "expected_error": "float64"}
    )


def _sentence(rows: pandas.DataFrame) -> str:
    """Return how a count changed from the first year to the last, or that it is the same within twice its error."""
    first, last = rows.iloc[0], rows.iloc[-1]
    step = last["value"] - first["value"]
    error = math.hypot(first["expected_error"], last["expected_error"])
    label = str(last["label"])
    span = f"{first['value']:,.0f} in {first['year']} and {last['value']:,.0f} in {last['year']}"
    if math.isnan(error):
        return f"{label}: {span}."
    if step and abs(step) <= 2 * error:
        return (
            f"{label}: {span}. The difference is within twice its expected error ({words.error_text(error)})."
        )
    if not step:
        return f"{label}: {span}, the same."
    verb = "up" if step > 0 else "down"
    return f"{label}: {span}, {verb} by {abs(step):,.0f} ({words.error_text(error)})."


def _records(frame: pandas.DataFrame) -> list[JsonObject]:
    plain = frame.astype(object).where(frame.notna(), None)
    return [dict(zip(plain.columns, row, strict=True)) for row in plain.itertuples(index=False, name=None)]
