"""What the address of the page says: a release, a question, and how its answer is looked at.

The address is the only memory of the page: what is not in it is not kept, so a link, a bookmark and the back button all
bring back the same view. What a stranger may have typed there is checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode

from mapapp.errors import UsageError
from mapapp.question.cost import TooCostly, check_cost
from mapapp.question.distance_bands import ALLOWED, check_edges
from mapapp.question.fields import MAX_LAYER_NAME, QUESTION, VIEW, Field, kept_bands
from mapapp.question.filters import BANDS
from mapapp.question.question import Question
from mapapp.question.view import View

MAX_STEP_LENGTH: Final = 20_000
MAX_QUERY_LENGTH: Final = 60_000
_RELEASES: Final = {
    "release": "There is no release {}; the first one is shown.",
    "against": "There is no release {} to compare with.",
}
_FIELDS: Final = QUESTION | VIEW


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """What an address says.

    Attributes
    ----------
    release, against : str
        Names of the release that is asked, empty for the first one served, and of an earlier one to compare it with,
        empty for none.
    question : Question
    view : View
    """

    release: str = ""
    against: str = ""
    question: Question = field(default_factory=Question)
    view: View = field(default_factory=View)

    def having(self, **changes: Any) -> Address:
        """The same with other values of fields of the question or of the view, by name."""
        of_question = {name: value for name, value in changes.items() if name in QUESTION}
        of_view = {name: value for name, value in changes.items() if name not in QUESTION}
        return replace(
            self, question=replace(self.question, **of_question), view=replace(self.view, **of_view)
        )

    def value(self, name: str) -> Any:
        """Value of a field of the question or of the view."""
        return getattr(self.question if name in QUESTION else self.view, name)


def to_query(address: Address) -> str:
    """Query of an address: empty, or `?` and what differs from the default, always in one order."""
    pairs = [(name, getattr(address, name)) for name in _RELEASES if getattr(address, name)]
    for name, each in _FIELDS.items():
        pairs += [(each.address, text) for text in _written(each, address.value(name))]
    return "?" + urlencode(pairs, quote_via=quote, safe=":,") if pairs else ""


def query_of(question: Question, view: View | None = None) -> str:
    """Query of the address of a question, for the first release that is served."""
    return to_query(Address(question=question, view=view or View()))


def _written(each: Field, value: Any) -> Iterator[str]:
    """Texts of one field; nothing for its default."""
    if each.kind == "steps":
        yield from value
    elif value != each.default:
        yield "all" if value is True else numbers_text(value) if isinstance(value, tuple) else str(value)


def numbers_text(numbers: Iterable[float]) -> str:
    """Numbers with commas between them, all their digits, and none that say nothing."""
    return ",".join(repr(number).removesuffix(".0") for number in numbers)


def from_query(
    query: str | None,
    *,
    releases: Iterable[str],
    is_area: Callable[[str, str], bool],
    is_layer: Callable[[str, str], bool],
) -> tuple[Address, tuple[str, ...]]:
    """Read the query of an address; also a note in plain words for each part of it that was left out.

    Parameters
    ----------
    query : str or None
        With or without its `?`; anything at all may be in it.
    releases : iterable of str
        Names of the releases that are served.
    is_area, is_layer : callable
        `is_area(release, step)` tells whether that release has what a step of an area names, `is_layer(release,
        layer)` whether it has that layer; `release` as in the address.
    """
    text = query.removeprefix("?") if isinstance(query, str) else ""  # a forged request holds anything
    if len(text) > MAX_QUERY_LENGTH:
        return Address(), ("The address was too long to be read and was left out.",)
    notes: list[str] = []
    given = _given(text, notes)
    served = ("", *releases)
    named = {name: _chosen(given[name], served, sentence, notes) for name, sentence in _RELEASES.items()}
    release = named["release"]

    def read(each: Field) -> Any:
        texts = given[each.address]
        if each.kind == "steps":
            return _areas(texts, lambda area: is_area(release, area), notes)
        if each.kind == "layer":
            return _layer(each, texts, lambda layer: is_layer(release, layer), notes)
        return _READ[each.kind](each, texts, notes)

    found = {name: read(each) for name, each in _FIELDS.items()}
    address = Address(
        **named,
        question=Question(**{name: found[name] for name in QUESTION}),
        view=View(**{name: found[name] for name in VIEW}),
    )
    return address, tuple(dict.fromkeys(notes))


def _given(text: str, notes: list[str]) -> dict[str, list[str]]:
    """Texts of every part of an address that is known; without its areas if they are too many."""
    values: dict[str, list[str]] = {
        name: [] for name in (*_RELEASES, *(one.address for one in _FIELDS.values()))
    }
    for name, value in parse_qsl(text, keep_blank_values=True, max_num_fields=None, errors="replace"):
        if name in values:
            values[name].append(value)
        else:
            notes.append(f"The address has a part this page does not know: {_short(name)}.")
    both = [QUESTION[name].address for name in ("areas", "others")]
    try:
        check_cost([area for name in both for area in dict.fromkeys(values[name])])
    except TooCostly as error:  # parts of an area would be another question: none is answered
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


def _choice(each: Field, given: list[str], notes: list[str]) -> str:
    rest = tuple(choice for choice in each.choices if choice != each.default)
    return _chosen(given, (each.default, *rest), each.unknown, notes)


def _flag(each: Field, given: list[str], notes: list[str]) -> bool:
    return _chosen(given, ("", "all"), each.unknown, notes) == "all"


def _layer(each: Field, given: list[str], is_layer: Callable[[str], bool], notes: list[str]) -> str:
    if not given or given[-1] == each.default:
        return str(each.default)
    if len(given[-1]) <= MAX_LAYER_NAME and is_layer(given[-1]):
        return given[-1]
    notes.append(each.unknown.format(_short(given[-1])))
    return str(each.default)


def _areas(given: list[str], is_area: Callable[[str], bool], notes: list[str]) -> tuple[str, ...]:
    known = []
    for area in dict.fromkeys(given):
        if len(area) <= MAX_STEP_LENGTH and is_area(area):
            known.append(area)
        else:
            notes.append(f"There is no area {_short(area)} in this release; it was left out.")
    return tuple(known)


def edges_of(text: str) -> tuple[float, ...] | None:
    """Distance bands as people write them, such as `5, 10, 25`; None if they are not allowed."""
    parts = [part for part in text.replace(";", ",").replace(" ", ",").split(",") if part]
    try:
        return check_edges(map(float, parts))
    except (ValueError, UsageError):
        return None


def _miles(_: Field, given: list[str], notes: list[str]) -> tuple[float, ...]:
    found = edges_of(given[-1]) if given else ()
    if found is None:
        notes.append(f"Distance bands are {ALLOWED}, not {_short(given[-1])}.")
    return found or ()


def _bands(each: Field, given: list[str], notes: list[str]) -> tuple[int, ...]:
    known = {str(band): band for band in BANDS}
    parts = [part for value in given for part in value.split(",")]
    notes.extend(
        f"{_short(part)} is no {each.name} band; bands are 1, 2 and 3." for part in parts if part not in known
    )
    return kept_bands(known[part] for part in parts if part in known)


_READ: Final[dict[str, Callable[[Field, list[str], list[str]], Any]]] = {
    "choice": _choice,
    "flag": _flag,
    "miles": _miles,
    "bands": _bands,
}


def _short(text: str) -> str:
    """A stranger's text, fit to be shown: printable, and not long."""
    clean = "".join(character if character.isprintable() else "�" for character in text[:40])
    return f"“{clean}{'…' if len(text) > 40 else ''}”"
