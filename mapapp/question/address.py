"""The address of the page: a release, a question, and how to show the answer.

The page stores its whole state in the address, so a link, a bookmark and the back button all restore the same view. An
address can contain anything, so it is checked here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

from mapapp.base.errors import UsageError
from mapapp.question.cost import TooCostly, check_cost
from mapapp.question.distance_bands import ALLOWED, check_edges
from mapapp.question.fields import (
    MAX_COUNT,
    MAX_LAYER_NAME,
    QUESTION,
    VIEW,
    Field,
    FieldValue,
    NotAllowed,
    Values,
    kept_bands,
)
from mapapp.question.filters import BANDS
from mapapp.question.question import Question
from mapapp.question.view import View

SAME: Final = "same"
"""Short for the steps of the first area, if the area at the other end has the same steps."""
MAX_STEP_LENGTH: Final = 20_000
MAX_QUERY_LENGTH: Final = 60_000
_RELEASES: Final = {
    "release": "There is no release {}; the first one is shown.",
    "against": "There is no release {} to compare with.",
}
_EMBED: Final = "embed"
_FIELDS: Final = QUESTION | VIEW


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The contents of an address.

    Attributes
    ----------
    release : str
        Name of the release; empty for the first one served.
    against : str
        Name of an earlier release to compare with; empty for no comparison.
    question : Question
    view : View
    embed : bool
        Whether the page shows only the map and its answer, within another page.
    """

    release: str = ""
    against: str = ""
    question: Question = dataclasses.field(default_factory=Question)
    view: View = dataclasses.field(default_factory=View)
    embed: bool = False

    def having(self, **changes: object) -> Address:
        """Return a copy with some fields of the question or of the view changed, by name."""
        of_question: Values = {name: value for name, value in changes.items() if name in QUESTION}
        of_view: Values = {name: value for name, value in changes.items() if name not in QUESTION}
        return replace(
            self, question=replace(self.question, **of_question), view=replace(self.view, **of_view)
        )

    def value(self, name: str) -> FieldValue:
        """Return the value of a field of the question or of the view."""
        return getattr(self.question if name in QUESTION else self.view, name)


def to_query(address: Address) -> str:
    """Return the query of an address: empty, or `?` and all values other than defaults, in a fixed order."""
    pairs = [(name, getattr(address, name)) for name in _RELEASES if getattr(address, name)]
    for name, field in _FIELDS.items():
        value = address.value(name)
        is_same = name == "others" and value and value == address.question.areas
        pairs += [(field.address, text) for text in ([SAME] if is_same else _written(field, value))]
    pairs += [(_EMBED, "1")] * address.embed
    return "?" + urlencode(pairs, quote_via=quote, safe=":,") if pairs else ""


def query_of(question: Question, view: View | None = None) -> str:
    """Return the query of a question for the first release served."""
    return to_query(Address(question=question, view=view or View()))


def _written(field: Field, value: FieldValue) -> Iterator[str]:
    """Yield the texts of one field; none for its default."""
    if field.kind in ("steps", "attributes"):
        yield from value
    elif field.kind == "names":
        yield from ([",".join(value)] if value else ())
    elif value != field.default:
        yield ("all" if value is True else numbers_text(value) if isinstance(value, tuple) else str(value))


def numbers_text(numbers: Iterable[float]) -> str:
    """Return numbers separated by commas, with every significant digit and no trailing `.0`."""
    return ",".join(repr(number).removesuffix(".0") for number in numbers)


def from_query(
    query: str | None,
    *,
    releases: Iterable[str],
    is_area: Callable[[str, str], bool],
    is_layer: Callable[[str, str], bool],
    is_attribute: Callable[[str, str], bool] = lambda _release, _text: True,
) -> tuple[Address, tuple[str, ...]]:
    """Read the query of an address; also return a note for the reader on each part that was left out.

    Parameters
    ----------
    query : str or None
        With or without its `?`; it may contain anything.
    releases : iterable of str
        Names of the releases that are served.
    is_area, is_layer : callable
        `is_area(release, step)` returns whether that release has what a step of an area names;
        `is_layer(release, layer)` whether it has that layer. `release` is as in the address.
    is_attribute : callable
        `is_attribute(release, text)` returns whether that release has an attribute, given by its name, and the values
        after it, if there are some.
    """
    text = query.removeprefix("?") if isinstance(query, str) else ""  # a forged request can contain anything
    if len(text) > MAX_QUERY_LENGTH:
        return Address(), ("The address is too long and was ignored.",)
    notes: list[str] = []
    given = _given(text, notes)
    served = ("", *releases)
    named = {name: _chosen(given[name], served, sentence, notes) for name, sentence in _RELEASES.items()}
    release = named["release"]

    def read(field: Field) -> FieldValue:
        texts = given[field.address]
        if field.kind == "steps":
            return _areas(texts, lambda area: is_area(release, area), notes)
        if field.kind == "layer":
            return _layer(field, texts, lambda layer: is_layer(release, layer), notes)
        if field.kind in ("attributes", "names"):
            return _known_attributes(field, texts, lambda text: is_attribute(release, text), notes)
        return _READ[field.kind](field, texts, notes)

    values: Values = {name: read(field) for name, field in _FIELDS.items()}
    address = Address(
        **named,
        question=Question(**{name: values[name] for name in QUESTION}),
        view=View(**{name: values[name] for name in VIEW}),
        embed=_chosen(given[_EMBED], ("", "1"), "The address can have embed=1, not {}.", notes) == "1",
    )
    return address, tuple(dict.fromkeys(notes))


def _given(text: str, notes: list[str]) -> dict[str, list[str]]:
    """Return the texts of every known part of an address; without its areas if there are too many."""
    values: dict[str, list[str]] = {
        name: [] for name in (*_RELEASES, _EMBED, *(field.address for field in _FIELDS.values()))
    }
    for name, value in parse_qsl(text, keep_blank_values=True, max_num_fields=None, errors="replace"):
        if name in values:
            values[name].append(value)
        else:
            notes.append(f"The address has an unknown part, {_short(name)}, which was ignored.")
    both = [QUESTION[name].address for name in ("areas", "others")]
    if values[both[1]] == [SAME]:
        values[both[1]] = values[both[0]]
    try:
        check_cost([area for name in both for area in dict.fromkeys(values[name])])
    except TooCostly as error:  # some of the areas would be a different question, so use none
        notes.append(f"{str(error)[0].upper()}{str(error)[1:]}.")
        values |= {name: [] for name in both}
    return values


def _chosen(given: list[str], allowed: tuple[str, ...], unknown: str, notes: list[str]) -> str:
    if not given:
        return allowed[0]
    if given[-1] in allowed:
        return given[-1]
    notes.append(unknown.format(_short(given[-1])))
    return allowed[0]


def _choice(field: Field, given: list[str], notes: list[str]) -> str:
    rest = tuple(choice for choice in field.choices if choice != field.default)
    return _chosen(given, (field.default, *rest), field.unknown, notes)


def _flag(field: Field, given: list[str], notes: list[str]) -> bool:
    return _chosen(given, ("", "all"), field.unknown, notes) == "all"


def _count(field: Field, given: list[str], notes: list[str]) -> int:
    if not given:
        return int(field.default)
    text = given[-1]
    if text.isascii() and text.isdigit() and len(text) <= len(str(MAX_COUNT)) and int(text) <= MAX_COUNT:
        return int(text)
    notes.append(field.unknown.format(_short(text)))
    return int(field.default)


def _layer(field: Field, given: list[str], is_layer: Callable[[str], bool], notes: list[str]) -> str:
    if not given or given[-1] == field.default:
        return str(field.default)
    if len(given[-1]) <= MAX_LAYER_NAME and is_layer(given[-1]):
        return given[-1]
    notes.append(field.unknown.format(_short(given[-1])))
    return str(field.default)


def _areas(given: list[str], is_area: Callable[[str], bool], notes: list[str]) -> tuple[str, ...]:
    known = []
    for area in dict.fromkeys(given):
        if len(area) <= MAX_STEP_LENGTH and is_area(area):
            known.append(area)
        else:
            notes.append(f"There is no area {_short(area)} in this release; it was left out.")
    return tuple(known)


def _known_attributes(
    field: Field, given: list[str], is_attribute: Callable[[str], bool], notes: list[str]
) -> FieldValue:
    """Return the attributes that a release has, of those in an address."""
    parts = given if field.kind == "attributes" else [name for text in given for name in text.split(",")]
    known: list[str] = []
    for part in parts:
        try:
            fits = bool(field.check([*known, part])) and is_attribute(part)
        except NotAllowed:
            fits = False
        if fits:
            known.append(part)
        else:
            notes.append(f"There is no attribute {_short(part)} in this release; it was left out.")
    return field.check(known)


def edges_of(text: str) -> tuple[float, ...] | None:
    """Parse distance bands as people type them, such as `5, 10, 25`; None if they are not allowed."""
    parts = [part for part in text.replace(";", ",").replace(" ", ",").split(",") if part]
    try:
        return check_edges(map(float, parts))
    except (ValueError, UsageError):
        return None


def _miles(_: Field, given: list[str], notes: list[str]) -> tuple[float, ...]:
    edges = edges_of(given[-1]) if given else ()
    if edges is None:
        notes.append(f"Distance bands must be {ALLOWED}, not {_short(given[-1])}.")
    return edges or ()


def _bands(field: Field, given: list[str], notes: list[str]) -> tuple[int, ...]:
    known = {str(band): band for band in BANDS}
    parts = [part for value in given for part in value.split(",")]
    notes.extend(
        f"{_short(part)} is not an {field.name} band; bands are 1, 2, and 3."
        for part in parts
        if part not in known
    )
    return kept_bands(known[part] for part in parts if part in known)


_READ: Final[dict[str, Callable[[Field, list[str], list[str]], FieldValue]]] = {
    "choice": _choice,
    "flag": _flag,
    "miles": _miles,
    "bands": _bands,
    "count": _count,
}


def _short(text: str) -> str:
    """Return untrusted text in a form that is safe to show: printable and short."""
    clean = "".join(character if character.isprintable() else "�" for character in text[:40])
    return f"“{clean}{'…' if len(text) > 40 else ''}”"
