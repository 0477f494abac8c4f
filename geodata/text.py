"""Text: names and titles that UTF-8 can hold, which those of files need not be, lists in words, and TOML."""

from __future__ import annotations

import tomllib
from pathlib import Path

from geodata.json_objects import JsonObject


def is_utf8(text: str) -> bool:
    """Whether a text can be written as UTF-8; Python keeps other bytes of a name as halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def escape_to_utf8(name: str | Path) -> str:
    """Return a name with its other bytes written as escapes, for messages."""
    return str(name).encode(errors="backslashreplace").decode()


def list_names(names: list[str]) -> str:
    """Join names as in a sentence, "A, B, and C"; empty without names."""
    if len(names) > 2:
        return f"{', '.join(names[:-1])}, and {names[-1]}"
    return " and ".join(names)


# TOML files that users write.

_DEEPEST = 50  # what follows may print a value, which takes a call for every level


def parse_toml(text: str) -> JsonObject:
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
