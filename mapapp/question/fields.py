"""The fields of a question, each declared once: its kind, default, allowed values and spellings.

The page's address, setup files, batch files and command options are all generated from this table.
`mapapp.question.analyses` says which analyses use which field.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from geodata.store.characteristic_groups import GROUP_OF, GROUPS, LABEL_OF
from mapapp.base.errors import UsageError
from mapapp.question.analyses import ANALYSES, Show
from mapapp.question.area_text import MAX_TEXT
from mapapp.question.cost import MAX_PARTS
from mapapp.question.distance_bands import ALLOWED, check_edges
from mapapp.question.filters import ATTRIBUTE_FORM, BANDS, attribute_texts, is_attribute_name

Side = Literal["work", "home"]
Theme = Literal["light", "dark"]
ThemeChoice = Literal["light", "dark", "system"]
Per = Literal["area", "share", "square-mile"]
DotColor = Literal["plain", "age", "earnings", "industry"]
Kind = Literal["choice", "steps", "layer", "miles", "bands", "attributes", "names", "flag", "count"]
MAX_LAYER_NAME: Final = 24
MAX_COUNT: Final = 1_000_000
MAX_NAMES: Final = 3
"""Number of attributes that one cross table can have."""
USUAL: Final = "usual"
"""In place of a layer: the one that people name, as `mapapp.answers.areas.usual_layers` chooses it."""


USUAL_CHARACTERISTIC: Final = "CNS16"
"""Health care and social assistance, the largest sector of the United States."""


class NotAllowed(UsageError):
    """A value that a field does not allow; the message says what it allows."""


FieldValue: TypeAlias = Any
"""A value of a field. Its type follows from the field's `kind`, which is data of the table below."""
Values: TypeAlias = dict[str, FieldValue]
"""Values of fields or of command options, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field.

    Attributes
    ----------
    name : str
        Name of the attribute; the same in a setup file.
    kind : {"choice", "steps", "layer", "miles", "bands", "attributes", "names", "flag", "count"}
    default : object
        Value if a question does not set the field.
    help : str
        One line of help; also that of the command option that sets the field.
    address : str
        Name in an address.
    choices : tuple of str
        Allowed values of a choice.
    unknown : str
        Note on the page for a value that it ignores; `{}` is the value.
    is_optional : bool
        Whether a setup file leaves the field out if it has its default.
    """

    name: str
    kind: Kind
    default: FieldValue
    help: str
    address: str
    choices: tuple[str, ...] = ()
    unknown: str = ""
    is_optional: bool = False

    @property
    def allowed(self) -> str:
        """What the field allows, for an error message."""
        return {
            "choice": f"one of {', '.join(self.choices)}",
            "steps": f"at most {MAX_PARTS} steps",
            "layer": "the name of a layer",
            "miles": ALLOWED,
            "bands": "bands 1, 2, and 3",
            "attributes": f"a list; each part is {ATTRIBUTE_FORM}",
            "names": f"a list of at most {MAX_NAMES} attributes, such as sex and education",
            "flag": "true or false",
            "count": f"a whole number up to {MAX_COUNT:,}",
        }[self.kind]

    def check(self, value: object) -> FieldValue:
        """Return a JSON or TOML value in the form that the field stores.

        Raises
        ------
        NotAllowed
            If the value is not allowed; the message says what is.
        """
        return _CHECKS[self.kind](self, value)


def _choice(field: Field, value: object) -> str:
    if not isinstance(value, str) or value not in field.choices:
        raise NotAllowed(field.allowed)
    return value


def _flag(field: Field, value: object) -> bool:
    if not isinstance(value, bool):
        raise NotAllowed(field.allowed)
    return value


def _layer(field: Field, value: object) -> str:
    if not isinstance(value, str) or len(value) > MAX_LAYER_NAME:
        raise NotAllowed(field.allowed)
    return value


def _count(field: Field, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
        raise NotAllowed(field.allowed)
    return value


def _read_list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise NotAllowed("a list")
    return value


def _steps(field: Field, value: object) -> tuple[str, ...]:
    steps = _read_list(value)
    if len(steps) > MAX_PARTS:
        raise NotAllowed(field.allowed)
    # As long as commands and batch files allow, because a report on such an area contains it as a setup.
    texts = [step for step in steps if isinstance(step, str) and 0 < len(step) <= MAX_TEXT]
    if len(texts) < len(steps):
        raise NotAllowed(f"texts of at most {MAX_TEXT:,} characters")
    return tuple(dict.fromkeys(texts))


def _miles(field: Field, value: object) -> tuple[float, ...]:
    try:
        return check_edges(map(number_or_nan, _read_list(value)))
    except NotAllowed:
        raise
    except UsageError:
        raise NotAllowed(field.allowed) from None


def number_or_nan(value: object) -> float:
    """Return a number, or NaN, which fails every check."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    return float(value) if abs(value) < 1e9 else math.nan


def _bands(field: Field, value: object) -> tuple[int, ...]:
    given = _read_list(value)
    bands = [band for band in given if isinstance(band, int) and not isinstance(band, bool) and band in BANDS]
    if len(bands) < len(given):
        raise NotAllowed(field.allowed)
    return kept_bands(bands)


def _attributes(field: Field, value: object) -> tuple[str, ...]:
    try:
        return attribute_texts(_read_list(value))
    except NotAllowed:
        raise
    except UsageError:
        raise NotAllowed(field.allowed) from None


def _names(field: Field, value: object) -> tuple[str, ...]:
    names = [name for name in _read_list(value) if is_attribute_name(name)]
    if len(names) < len(_read_list(value)) or len(set(names)) > MAX_NAMES:
        raise NotAllowed(field.allowed)
    return tuple(dict.fromkeys(map(str, names)))


def kept_bands(bands: Iterable[int]) -> tuple[int, ...]:
    """Return bands 1..3 in order, each once; empty if all are present."""
    kept = tuple(sorted(set(bands)))
    return kept if len(kept) < len(BANDS) else ()


def characteristic_named(text: str) -> str:
    """Return the column of WAC and RAC files that a text names: by its name, or by words of its label.

    Raises
    ------
    UsageError
        If no column, or more than one, is named so.
    """
    if text.upper() in GROUP_OF:
        return text.upper()
    wanted = text.casefold().split()
    named = {code: f"{GROUP_OF[code].title} {label}".casefold() for code, label in LABEL_OF.items()}
    matches = [code for code, label in named.items() if wanted and all(word in label for word in wanted)]
    exact = [code for code, label in LABEL_OF.items() if label.casefold() == " ".join(wanted)]
    if len(exact or matches) == 1:
        return (exact or matches)[0]
    if matches:
        several = "; ".join(f"{code} ({LABEL_OF[code]})" for code in matches[:4])
        raise UsageError(f"characteristic {text[:40]!r} could be {several}; give the column")
    titles = ", ".join(f"{group.codes[0]} … ({group.title})" for group in GROUPS)
    raise UsageError(f"characteristic {text[:40]!r} does not exist; give one of {titles}")


_CHECKS: Final = {
    "choice": _choice,
    "steps": _steps,
    "layer": _layer,
    "miles": _miles,
    "bands": _bands,
    "attributes": _attributes,
    "names": _names,
    "flag": _flag,
    "count": _count,
}


def _index_by_name(*fields: Field) -> dict[str, Field]:
    return {field.name: field for field in fields}


QUESTION: Final = _index_by_name(
    Field(
        name="analysis",
        kind="choice",
        default="destinations",
        help="Analysis to run; see docs/analyses.md.",
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
        unknown="The side {} is neither work nor home; work is used.",
    ),
    Field(
        name="areas",
        kind="steps",
        default=(),
        help="Steps of the area, written as in docs/api.md; empty for everything.",
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
        default=USUAL,
        help="Layer of the rows of comparison, destinations, job-balance, and characteristics: county, town, city, "
        "zip, metro, tract, … (usual: the one that people name).",
        address="layer",
        unknown="This release has no layer {}; the usual areas are shown.",
    ),
    Field(
        name="home_layer",
        kind="layer",
        default=USUAL,
        help="Layer of the rows of a flow matrix.",
        address="home_layer",
        unknown="This release has no layer {}; homes are counted by the usual areas.",
    ),
    Field(
        name="work_layer",
        kind="layer",
        default=USUAL,
        help="Layer of the columns of a flow matrix.",
        address="work_layer",
        unknown="This release has no layer {}; workplaces are counted by the usual areas.",
    ),
    Field(
        name="edges",
        kind="miles",
        default=(),
        help="Ends of the distance bands, in miles.",
        address="edges",
    ),
    Field(
        name="age",
        kind="bands",
        default=(),
        help="Age bands to include, such as 1,2 (1: 29 or younger, 2: 30 to 54, 3: 55 or older).",
        address="age",
    ),
    Field(
        name="earnings",
        kind="bands",
        default=(),
        help="Earnings bands to include (1: $1,250 a month or less, 2: $1,251 to $3,333, 3: more).",
        address="earnings",
    ),
    Field(
        name="industry",
        kind="bands",
        default=(),
        help="Industry groups to include (1: goods producing, 2: trade and transportation, 3: other services).",
        address="industry",
    ),
    Field(
        name="attributes",
        kind="attributes",
        default=(),
        help="Value of an attribute of worker records to include, such as sex:F. Repeatable.",
        address="attribute",
        is_optional=True,
    ),
    Field(
        name="characteristic",
        kind="choice",
        default=USUAL_CHARACTERISTIC,
        help="Class of jobs that characteristics counts by unit: a column of WAC and RAC files, such as CNS16, or its "
        "label, such as 'health care'.",
        address="characteristic",
        choices=tuple(GROUP_OF),
        unknown="There is no characteristic {}; health care is shown.",
        is_optional=True,
    ),
    Field(
        name="by",
        kind="names",
        default=(),
        help="Attributes of a cross table, one to three, such as sex,education.  [default: (age,earnings)]",
        address="by",
        is_optional=True,
    ),
)
"""The fields of :class:`mapapp.question.question.Question`, by name."""

VIEW: Final = _index_by_name(
    Field(
        name="show",
        kind="choice",
        default="points",
        help="How the map shows the answer, if the analysis allows it.",
        address="show",
        choices=get_args(Show),
        unknown="Workers cannot be shown as {}; points are shown.",
    ),
    Field(
        name="theme",
        kind="choice",
        default="system",
        help="Colors of the page; by default those that the reader's system prefers.",
        address="theme",
        choices=get_args(ThemeChoice),
        unknown="The theme is light or dark, not {}; your system's preference is used.",
    ),
    Field(
        name="every",
        kind="flag",
        default=False,
        help="Whether the table shows all of its rows.",
        address="every",
        unknown="The rows to show cannot be {}; the first rows are shown.",
    ),
    Field(
        name="least",
        kind="count",
        default=0,
        help="Flows of fewer workers are not drawn as lines; by default, the largest are drawn.",
        address="least",
        unknown="The smallest flow to draw cannot be {}; the largest flows are drawn.",
    ),
    Field(
        name="per",
        kind="choice",
        default="square-mile",
        help="What areas show: workers per square mile as colors; or as circles, workers or their share of all.",
        address="per",
        choices=get_args(Per),
        unknown="Areas cannot show workers per {}; workers per square mile are shown.",
    ),
    Field(
        name="color",
        kind="choice",
        default="plain",
        help="Attribute that colors dots; plain dots show only which end of the commutes they are.",
        address="color",
        choices=get_args(DotColor),
        unknown="Dots cannot be colored by {}; they show only homes or workplaces.",
        is_optional=True,
    ),
    Field(
        name="morning",
        kind="flag",
        default=False,
        help="Whether the map of dots has the slider on which they move from home to work.",
        address="morning",
        unknown="The morning cannot be {}; the dots stay where they are.",
        is_optional=True,
    ),
)
"""The fields of :class:`mapapp.question.view.View`, by name."""
