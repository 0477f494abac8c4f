"""What this process has finished that stays although it ends early: places written, and charges of ledgers.

A command that is stopped, fails, or cannot print its result says it from here. Only the first few places are named: a
server writes files without end.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_MOST_NAMED: Final = 3

_places: list[str] = []
_charges: list[str] = []
_unnamed: list[int] = [0]


def keep_place(path: Path) -> None:
    """Note a file or folder that is complete."""
    if len(_places) < _MOST_NAMED:
        _places.append(_shown(path))
    else:
        _unnamed[0] += 1


def keep_charge(words: str) -> None:
    """Note what a ledger was charged, in words that follow "the ledger of"."""
    _charges.append(words)


def forget_kept() -> None:
    """Begin again, as a new command does."""
    _places.clear()
    _charges.clear()
    _unnamed[0] = 0


def kept_places() -> str:
    """Places that are complete, in words; empty if there are none."""
    more = [f"{_unnamed[0]:,} more"] if _unnamed[0] else []
    return " and ".join([*_places, *more])


def kept_charges() -> str:
    """What ledgers were charged, as clauses that end a sentence; empty if nothing was."""
    return "".join(f"; the ledger of {each}" for each in _charges)


def _shown(path: Path) -> str:
    """A path as a user would type it: relative if it is below the current folder."""
    try:
        return str(path.relative_to(os.getcwd()))
    except (OSError, ValueError):
        return str(path)
