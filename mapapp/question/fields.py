"""The fields of a question, declared once: kind, default, what is allowed, and how each is spelled.

The address of the page, the setup file, the batch file and the options of commands are spellings made from this table.
Which analyses a field matters to is in `mapapp.question.analyses`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from mapapp.errors import UsageError
from mapapp.question.analyses import ANALYSES, Show
from mapapp.question.area_text import MAX_TEXT
from mapapp.question.cost import MAX_PARTS
from mapapp.question.distance_bands import ALLOWED, check_edges
from mapapp.question.filters import BANDS, CHARACTERISTICS

Side = Literal["work", "home"]
Theme = Literal["light", "dark"]
Kind = Literal["choice", "steps", "layer", "miles", "bands", "flag"]
MAX_LAYER_NAME: Final = 24


class NotAllowed(UsageError):
    """A value that a field does not take; the text says what it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field.

    Attributes
    ----------
    name : str
        Of the attribute; the same in a setup file.
    kind : {"choice", "steps", "layer", "miles", "bands", "flag"}
    default : object
        What a question has if nothing is said.
    help : str
        One line for people.
    address : str
        Its name in an address.
    choices : tuple of str
        Of a choice.
    unknown : str
        What a page says of a value that it leaves out; `{}` is the value.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    address: str
    choices: tuple[str, ...] = ()
    unknown: str = ""

    @property
    def allowed(self) -> str:
        """What it takes, for an error message."""
        return {
            "choice": f"one of {', '.join(self.choices)}",
            "steps": f"at most {MAX_PARTS} steps",
            "layer": "the name of a layer",
            "miles": ALLOWED,
            "bands": "bands 1, 2 and 3",
            "flag": "true or false",
        }[self.kind]

    def check(self, value: Any) -> Any:
        """Return a JSON or TOML value as the field keeps it.

        Raises
        ------
        NotAllowed
            Whatever the value is; the text is what the field takes.
        """
        return _CHECKS[self.kind](self, value)


def _choice(field: Field, value: Any) -> str:
    if not isinstance(value, str) or value not in field.choices:
        raise NotAllowed(field.allowed)
    return value


def _flag(field: Field, value: Any) -> bool:
    if not isinstance(value, bool):
        raise NotAllowed(field.allowed)
    return value


def _layer(field: Field, value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_LAYER_NAME:
        raise NotAllowed(field.allowed)
    return value


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise NotAllowed("a list")
    return value


def _steps(field: Field, value: Any) -> tuple[str, ...]:
    steps = _listed(value)
    if len(steps) > MAX_PARTS:
        raise NotAllowed(field.allowed)
    # As long as a command and a batch file allow: a report on such an area holds it as a setup.
    if any(not isinstance(step, str) or not 0 < len(step) <= MAX_TEXT for step in steps):
        raise NotAllowed(f"texts of at most {MAX_TEXT:,} characters")
    return tuple(dict.fromkeys(steps))


def _miles(field: Field, value: Any) -> tuple[float, ...]:
    try:
        return check_edges(map(number_or_nan, _listed(value)))
    except NotAllowed:
        raise
    except UsageError:
        raise NotAllowed(field.allowed) from None


def number_or_nan(value: Any) -> float:
    """A number, or NaN, which no check lets through."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e9 else math.nan


def _bands(field: Field, value: Any) -> tuple[int, ...]:
    bands = _listed(value)
    if any(isinstance(band, bool) or not isinstance(band, int) or band not in BANDS for band in bands):
        raise NotAllowed(field.allowed)
    return kept_bands(bands)


def kept_bands(bands: Iterable[int]) -> tuple[int, ...]:
    """Bands 1..3 in order, each once; empty for all of them."""
    found = tuple(sorted(set(bands)))
    return found if len(found) < len(BANDS) else ()


_CHECKS: Final = {
    "choice": _choice,
    "steps": _steps,
    "layer": _layer,
    "miles": _miles,
    "bands": _bands,
    "flag": _flag,
}


def _by_name(*fields: Field) -> dict[str, Field]:
    return {field.name: field for field in fields}


QUESTION: Final = _by_name(
    Field(
        name="analysis",
        kind="choice",
        default="destinations",
        help="Which analysis; see docs/analyses.md.",
        address="analysis",
        choices=tuple(ANALYSES),
        unknown="There is no analysis {}; Destinations is shown.",
    ),
    Field(
        name="side",
        kind="choice",
        default="work",
        help="Whether people work or live in the area.",
        address="side",
        choices=get_args(Side),
        unknown="The side {} is neither work nor home; work is taken.",
    ),
    Field(
        name="areas",
        kind="steps",
        default=(),
        help="Steps of the area, as docs/api.md writes them; everything if there are none.",
        address="area",
    ),
    Field(
        name="others",
        kind="steps",
        default=(),
        help="Steps of the area at the other end of the commutes, if the analysis has one.",
        address="other",
    ),
    Field(
        name="layer",
        kind="layer",
        default="tract",
        help="What a row of the table, and a colored unit of the map, is.",
        address="layer",
        unknown="Rows cannot be {}; this release has no such layer.",
    ),
    Field(
        name="home_layer",
        kind="layer",
        default="county",
        help="Rows of a flow matrix.",
        address="home_layer",
        unknown="Homes cannot be counted by {}; this release has no such layer.",
    ),
    Field(
        name="work_layer",
        kind="layer",
        default="county",
        help="Columns of a flow matrix.",
        address="work_layer",
        unknown="Workplaces cannot be counted by {}; this release has no such layer.",
    ),
    Field(
        name="edges",
        kind="miles",
        default=(),
        help="Miles at which distance bands end; 10, 25 and 50 if nothing is said.",
        address="edges",
    ),
    *(
        Field(name=name, kind="bands", default=(), help=f"Bands to keep: {'; '.join(labels)}.", address=name)
        for name, labels in CHARACTERISTICS.items()
    ),
)
"""The fields of :class:`mapapp.question.question.Question`, by name."""

VIEW: Final = _by_name(
    Field(
        name="show",
        kind="choice",
        default="points",
        help="How the map shows the answer, where its analysis can be shown so.",
        address="show",
        choices=get_args(Show),
        unknown="Workers cannot be shown as {}; points are taken.",
    ),
    Field(
        name="theme",
        kind="choice",
        default="light",
        help="Colors of the page.",
        address="theme",
        choices=get_args(Theme),
        unknown="Colors are light or dark, not {}.",
    ),
    Field(
        name="every",
        kind="flag",
        default=False,
        help="Whether the table shows all of its rows.",
        address="every",
        unknown="{} is not how many rows to show; the first ones are shown.",
    ),
)
"""The fields of :class:`mapapp.question.view.View`, by name."""
