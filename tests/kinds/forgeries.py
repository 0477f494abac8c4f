"""Forged certificates: another value, nearly the same or of another type, in any place of one."""

from __future__ import annotations

import copy
from collections.abc import Iterator

from geodata.json_objects import JsonObject
from mapapp.kinds.base.certificate_comparison import is_written_alike

__all__ = ["forged", "forgeries", "general", "leaves"]

_Place = tuple[str | int, ...]


def leaves(value: object, place: _Place = ()) -> Iterator[tuple[_Place, object]]:
    """Every place of a document; of long lists, the first and the last item."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from leaves(each, (*place, name))
        yield place, value
    elif isinstance(value, list):
        for at in sorted({0, len(value) - 1} if value else ()):
            yield from leaves(value[at], (*place, at))
        yield place, value
    else:
        yield place, value


def forgeries(value: object) -> list[object]:
    """Other values in the place of one, some of them nearly the same."""
    return [other for other in _others(value) if not is_written_alike(other, value)]


def _others(value: object) -> list[object]:
    if isinstance(value, bool):
        return [not value, int(value), None]
    if isinstance(value, int):
        return [value + 1, value - 1, float(value), str(value), None]
    if isinstance(value, float):
        return [value * 1.5 + 0.25, -value - 1, int(value) if value.is_integer() else 0, float("inf"), None]
    if isinstance(value, str):
        fraction = [f"{int(value) * 2}/2"] if value.isdigit() else []
        return [value + "1", value[:-1], *fraction, [value], None]
    if isinstance(value, list):
        return [value[:-1] if value else [0], [*value, *value[-1:]], {}, None] + [value[::-1]] * (
            len(value) > 1 and value != value[::-1]
        )
    if isinstance(value, dict):
        return [{**value, "more": 1}, dict(list(value.items())[:-1]), [], None]
    return [0, "", []]


def forged(document: JsonObject, place: _Place, value: object) -> JsonObject:
    """A copy with another value at a place."""
    if not place:
        return value if isinstance(value, dict) else {}
    head, *rest = place
    copied = copy.copy(document)
    copied[head] = forged(document[head], tuple(rest), value) if rest else value  # type: ignore[index]  # lists, too
    return copied


def general(place: _Place) -> str:
    """A place without the numbers of items, except the first of all."""
    return "/".join("*" if isinstance(part, int) else part for part in place)
