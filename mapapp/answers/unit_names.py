"""Names of units: what a unit is called, and where it lies, if its name says so.

Names are data, and a name may hold commas, brackets or anything else: `Bridgeport town (Fairfield, CT)`, `Barnstable,
Dukes & Nantucket District, MA`. Only two endings say where a unit lies: the county behind the name of a tract, which
`mapapp.answers.areas` puts there, and the postal abbreviations of states that the Census Bureau puts behind names.
"""

from __future__ import annotations

import re
from typing import Final

_OF_A_TRACT: Final = re.compile(r"((?:census )?tract [^,]+), (.+)", re.IGNORECASE | re.DOTALL)
_OF_STATES: Final = re.compile(r"(.+), ([A-Z]{2}(?:-[A-Z]{2})*)", re.DOTALL)


def name_parts(name: str) -> tuple[str, str]:
    """Split a name into what the unit is called, and where it lies; the second part may be empty."""
    found = _OF_A_TRACT.fullmatch(name) or _OF_STATES.fullmatch(name)
    return (found[1], found[2]) if found else (name, "")
