"""Names of units, split into the name itself and the place it is in.

Names are data and may contain commas, parentheses or anything else: `Bridgeport town (Fairfield, CT)`, `Barnstable,
Dukes & Nantucket District, MA`. Only two endings give a location: the county that `mapapp.answers.areas.areas` appends
to the name of a tract, and the postal abbreviations of states that the Census Bureau appends to names.

Sentences leave out more: :func:`spoken_name` returns `Providence` for `Providence city, RI`, and keeps `Kent County`.
People omit even more when they type. :func:`base_name` returns their short form, such as `Kent` for `Kent County, RI`;
it is only compared with typed text, never shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from geodata.store.store import Store

_OF_A_TRACT: Final = re.compile(r"((?:census )?tract [^,]+), (.+)", re.IGNORECASE | re.DOTALL)
_OF_STATES: Final = re.compile(r"(.+), ([A-Z]{2}(?:-[A-Z]{2})*)", re.DOTALL)
_IN_BRACKETS: Final = re.compile(r"(.+) \([^()]+, [A-Z]{2}(?:-[A-Z]{2})*\)", re.DOTALL)
_OUTSIDE: Final = " (outside the area)"
_LEGAL: Final = re.compile(
    r"(.+?) (?:city and borough|city and county|census area|charter township|metro government|plantation|"
    r"municipality|municipio|township|borough|village|county|parish|city|town|cdp)",
    re.IGNORECASE | re.DOTALL,
)
"""A name, and the legal description that the Census Bureau appends to it."""


_STATE_AT_END: Final = re.compile(r", ([A-Z]{2}(?:-[A-Z]{2})*)\)?$")
_SPOKEN_WITHOUT: Final = re.compile(
    r"(.+?) (?:charter township|plantation|township|borough|village|city|town|CDP)", re.DOTALL
)
"""A name, and the description of a kind of place that people leave out when they speak; a county keeps its own."""


def name_parts(name: str) -> tuple[str, str]:
    """Split a name into the name itself and its location, which may be empty."""
    match = _OF_A_TRACT.fullmatch(name) or _OF_STATES.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def unplaced_name(name: str) -> str:
    """Return a name without its location: `Lincoln town` for `Lincoln town (Providence, RI)`."""
    own = name_parts(name)[0]
    match = _IN_BRACKETS.fullmatch(own)
    return match[1] if match else own


def spoken_name(name: str) -> str:
    """Return a name as a sentence says it: `Providence` for `Providence city, RI`; `Kent County` stays."""
    own = unplaced_name(name)
    match = _SPOKEN_WITHOUT.fullmatch(own)
    return match[1] if match else own


def name_with_state(name: str) -> str:
    """Return the spoken name with its state: `Coventry, RI` for `Coventry town (Kent, RI)`."""
    state = _STATE_AT_END.search(name)
    return f"{spoken_name(name)}, {state[1]}" if state else spoken_name(name)


def shorter_names(name: str) -> tuple[str, str, str]:
    """Return the spoken name, the spoken name with its state, and the name without its location, shortest first."""
    own = unplaced_name(name)
    match, state = _SPOKEN_WITHOUT.fullmatch(own), _STATE_AT_END.search(name)
    spoken = match[1] if match else own
    return spoken, f"{spoken}, {state[1]}" if state else spoken, own


def base_name(name: str) -> str:
    """Return a name without its location and its legal description: `Providence` for `Providence city, RI`."""
    own = unplaced_name(name).removesuffix(_OUTSIDE)
    match = _LEGAL.fullmatch(own)
    return match[1] if match else own


def spellings(name: str) -> set[str]:
    """Return the names by which people call an area: its whole name, and shorter forms with and without location."""
    own, place = name_parts(name)
    short = {unplaced_name(name), base_name(name)}
    where = {place, name_parts(place)[0]} - {""}
    return {name, own, name_with_state(name), *short, *(f"{form} {at}" for form in short for at in where)}


def readable_names(names: Sequence[str]) -> list[str]:
    """Return names of the units of a layer as people say them, as long as each means one unit.

    `Bristol town (Bristol, RI)` and `Providence city, RI` become `Bristol, RI` and `Providence, RI`. A name keeps its
    legal description, and then its county, as long as it needs them to differ from the others. Names that do not end
    with a state are kept whole.
    """
    forms = [_forms(name) for name in names]
    counts = [Counter(form) for form in zip(*forms, strict=True)]
    return [
        next((text for text, count in zip(form, counts, strict=True) if count[text] == 1), form[-1])
        for form in forms
    ]


def _forms(name: str) -> tuple[str, str, str]:
    """Return a name without legal description and county, without county, and whole."""
    states, base = _STATE_AT_END.search(name), base_name(name)
    if states is None or base in ("", name):
        return (name,) * 3
    return f"{base}, {states[1]}", f"{unplaced_name(name)}, {states[1]}", name


def state_names(store: Store, state_ids: Sequence[str]) -> list[str]:
    """Names of states by identifier; the identifier itself if the release does not have such a state."""
    names: dict[str, str] = dict(store.table("states", ["state_id", "name"]).itertuples(index=False))
    return [names.get(state_id, state_id) for state_id in state_ids]
