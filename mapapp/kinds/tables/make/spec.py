"""What a table counts: its rows, its columns, and which workers its values count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, Literal, Self, get_args

import msgspec

from engine.errors import ParameterError
from engine.parameters import exact_fraction
from mapapp.answers.areas.areas import Areas
from mapapp.answers.areas.levels import level_label, level_named
from mapapp.answers.tables.certificate import Counted, FlowsClaim, LayerClaim, TableClaim, Totals
from mapapp.base.errors import UsageError
from mapapp.kinds.tables.make.jobs import Jobs
from mapapp.kinds.tables.make.options import ONE_TABLE
from mapapp.question.filters import CHARACTERISTICS

__all__ = ["Counts", "TableSpec", "check_epsilon_and_delta"]

Kind = Literal["same-unit", "outside-state", "beyond", "flows"]

_ENTRY: Final = frozenset((*(option.flag for option in ONE_TABLE.values()), "title"))
_MOST_MILES: Final = 3_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Which of a cell's workers its value counts.

    Attributes
    ----------
    kind : {"same-unit", "outside-state", "beyond", "flows"}
        Those who live in the unit of the rows where they work; who live in another state than the one where they
        work; whose home block and workplace block have internal points more than `miles` apart (great circle; for a
        home outside the map, the center of its state); or, in a table of flows, those who live in the unit of the
        column.
    miles : float or None
        Of "beyond".
    """

    kind: Kind
    miles: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise UsageError(_counts_refusal(self.kind))
        if (self.kind == "beyond") != (self.miles is not None):
            raise UsageError(_counts_refusal(self.kind))
        if self.miles is not None and not (math.isfinite(self.miles) and 0 <= self.miles <= _MOST_MILES):
            raise UsageError(
                f"--counts beyond={self.miles:g}: give a number of miles from 0 to {_MOST_MILES:,.0f}"
            )

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read "same-unit", "outside-state" or "beyond=25".

        Raises
        ------
        UsageError
            It is none of these.
        """
        kind, has_miles, miles = text.partition("=")
        if kind == "beyond" and has_miles:
            try:
                distance = float(miles)
            except ValueError:
                raise UsageError(_counts_refusal(text)) from None
            return cls(kind="beyond", miles=distance)
        if has_miles or kind not in ("same-unit", "outside-state"):
            raise UsageError(_counts_refusal(text))
        return cls(kind=kind)  # type: ignore[arg-type]  # compared with the two names above

    def in_words(self, row_label: str, home_label: str = "") -> str:
        """Return what the values count, in words."""
        if self.kind == "same-unit":
            return f"workers who live in the {row_label} where they work"
        if self.kind == "outside-state":
            return "workers who live in another state than the one where they work"
        if self.kind == "beyond":
            return f"workers who live more than {self.miles:g} miles from where they work"
        return f"workers by the {home_label} where they live"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpec:
    """One table.

    Attributes
    ----------
    rows : str
        Layer of the workplaces, such as "county" or "ctycsub".
    columns : tuple of str
        Of CHARACTERISTICS, in the order of the table; empty for a table of flows.
    counts : Counts
    flows : str
        Layer of the homes in a table of flows; otherwise empty.
    totals : {"none", "rows", "columns", "both"}
        Which sums are decided before the cells.
    jobs : Jobs
        Which jobs the table is about.
    title : str
    """

    rows: str
    columns: tuple[str, ...] = ()
    counts: Counts
    flows: str = ""
    totals: Totals = "none"
    jobs: Jobs = field(default_factory=Jobs)
    title: str = ""

    def __post_init__(self) -> None:
        unknown = [name for name in self.columns if name not in CHARACTERISTICS]
        if unknown:
            raise UsageError(
                f"--columns {unknown[0]}: how many people work where by {unknown[0][:40]!r} is not public in this "
                f"dataset; allowed: {', '.join(CHARACTERISTICS)}"
            )
        if len(set(self.columns)) != len(self.columns):
            raise UsageError(f"--columns {','.join(self.columns)}: name each column once")
        if (self.counts.kind == "flows") != bool(self.flows) or bool(self.flows) == bool(self.columns):
            raise UsageError(
                "give --columns with --counts, or --flows alone: a table counts either columns or flows"
            )
        if self.totals not in get_args(Totals):
            raise UsageError(f"--totals {self.totals}: give one of {', '.join(get_args(Totals))}")
        if self.flows and self.totals != "none":
            raise UsageError(
                f"--totals {self.totals} with --flows: the workers of a place are public already, and inflow together "
                "with outflow cannot be decided exactly; leave out --totals"
            )

    @classmethod
    def from_options(cls, given: Mapping[str, object]) -> Self:
        """Read the options of one table.

        Parameters
        ----------
        given : mapping
            `rows`, `columns` (text or list), `counts`, `flows`, `totals`, `title`, and those of
            `Jobs.from_options`; missing or None if not given.

        Raises
        ------
        UsageError
        """
        rows, flows = (_text(given, name) for name in ("rows", "flows"))
        if not rows:
            raise UsageError("--rows is missing: name the layer of the workplaces, such as --rows town")
        counts = _text(given, "counts")
        if flows and counts:
            raise UsageError(f"--counts {counts} with --flows {flows}: flows count homes; leave one out")
        if not flows and not counts:
            raise UsageError(
                "--counts is missing: give same-unit, outside-state, or beyond=MILES; or --flows LAYER"
            )
        return cls(
            rows=level_named(rows),
            columns=_names(given.get("columns")),
            counts=Counts(kind="flows") if flows else Counts.from_text(counts),
            flows=level_named(flows) if flows else "",
            totals=_text(given, "totals") or "none",  # type: ignore[arg-type]  # checked in __post_init__
            jobs=Jobs.from_options(given),
            title=_text(given, "title"),
        )

    @classmethod
    def from_entry(cls, entry: Mapping[str, object]) -> Self:
        """Read a `[[table]]` entry of a TOML file; its keys are those of `from_options`.

        Raises
        ------
        UsageError
        """
        given = {key.replace("_", "-"): value for key, value in entry.items()}
        unknown = sorted(set(given) - _ENTRY)
        if unknown:
            raise UsageError(
                f"[[table]]: unknown key {unknown[0][:40]!r}; allowed: {', '.join(sorted(_ENTRY))}; a table can be "
                "limited to jobs only by what is public about all of them"
            )
        return cls.from_options(given)

    @classmethod
    def from_claim(cls, stated: TableClaim) -> Self:
        """Read what a certificate says of a table; the opposite of :meth:`claim`."""
        columns, counts = stated.columns, stated.counts
        return cls(
            rows=stated.rows.layer,
            columns=() if isinstance(columns, FlowsClaim) else columns,
            counts=Counts(kind=counts.kind, miles=counts.miles),
            flows=columns.flows if isinstance(columns, FlowsClaim) else "",
            totals=stated.totals,
            jobs=Jobs() if stated.jobs is msgspec.UNSET else Jobs.from_claim(stated.jobs),
            title=stated.title,
        )

    def locate(self, areas: Areas) -> Self:
        """Return the same table, with the area of its jobs as identifiers; see `Jobs.locate`."""
        return replace(self, jobs=self.jobs.locate(areas))

    def claim(self) -> TableClaim:
        """Return what the certificate says of the table."""
        return TableClaim(
            title=self.shown_title,
            rows=LayerClaim(layer=self.rows, label=label_of(self.rows)),
            columns=FlowsClaim(flows=self.flows) if self.flows else self.columns,
            counts=Counted(
                kind=self.counts.kind,
                miles=self.counts.miles,
                in_words=self.counts.in_words(
                    unit_word(self.rows), unit_word(self.flows) if self.flows else ""
                ),
            ),
            totals=self.totals,
            jobs=msgspec.UNSET if self.jobs.are_all else self.jobs.claim(),
        )

    @property
    def shown_title(self) -> str:
        """The given title, or one that says what the table counts."""
        if self.title:
            return self.title
        what = self.counts.in_words(unit_word(self.rows), unit_word(self.flows) if self.flows else "")
        by = "" if self.flows else f", by {' and '.join(self.columns)}"
        only = "" if self.jobs.are_all else f" (only {self.jobs.in_words})"
        return f"{what[0].upper()}{what[1:]}, by {unit_word(self.rows)} of work{by}{only}"


def label_of(layer: str) -> str:
    """Return the label of a layer."""
    return level_label(layer)


def unit_word(layer: str) -> str:
    """Return the word for a unit of a layer, for use within a sentence."""
    word = label_of(layer).split(" (")[0]
    return word if word.isupper() or word[:3].isupper() else word[0].lower() + word[1:]


def check_epsilon_and_delta(epsilon: object, delta: object) -> tuple[Fraction, Fraction]:
    """Return epsilon and delta exactly.

    Raises
    ------
    UsageError
        One of them is not a number above 0 and below 1.
    """
    return _read_within(epsilon, "epsilon", _WHY_EPSILON), _read_within(delta, "delta", _WHY_DELTA)


_WHY_EPSILON: Final = "from 1 on, a zero in the table would count as safe"
_WHY_DELTA: Final = "it is the chance that a belief moves further than epsilon allows"


def _read_within(given: object, name: str, why: str) -> Fraction:
    try:
        value = exact_fraction(str(given), name)
    except ParameterError as error:
        raise UsageError(f"--{error}") from None
    if not 0 < value < 1:
        raise UsageError(f"--{name} {given}: give a number above 0 and below 1; {why}")
    return value


def _counts_refusal(text: str) -> str:
    return f"--counts {text[:40]}: give same-unit, outside-state, or beyond=MILES"


def _text(given: Mapping[str, object], name: str) -> str:
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UsageError(f"--{name} {value!r}: a text is needed")
    return value


def _names(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, Sequence) or not all(isinstance(name, str) for name in value):
        raise UsageError(f"--columns {value!r}: give names separated by commas, such as industry,earnings")
    return tuple(name.strip() for name in value)
