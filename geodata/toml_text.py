"""TOML files that users write."""

from __future__ import annotations

import tomllib

from geodata.json_objects import JsonObject

_DEEPEST = 50  # what follows may print a value, which takes a call for every level


def parsed_toml(text: str) -> JsonObject:
    """Return what a TOML document says.

    Raises
    ------
    ValueError
        It is not TOML, or its values are nested too deep. The message is one line.
    """
    try:
        document: JsonObject = tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"its values are nested more than {_DEEPEST} deep") from None
    level: list[object] = [document]
    for _ in range(_DEEPEST):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return document
    raise ValueError(f"its values are nested more than {_DEEPEST} deep")


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
