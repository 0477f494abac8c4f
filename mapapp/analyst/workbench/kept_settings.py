"""Settings that the analyst keeps under a name, to compare them side by side.

They live in the program's memory for all tabs of one run, so they survive a reload of the page and end with the
program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final

from mapapp.analyst.validity.validity import Validity
from mapapp.analyst.workbench.results import Extent
from mapapp.analyst.workbench.setting import Setting, Values
from mapapp.base.errors import UsageError

__all__ = ["LONGEST_NAME", "MOST_KEPT", "KeptSetting", "KeptSettings"]

MOST_KEPT: Final = 6
LONGEST_NAME: Final = 24
_LETTERS: Final = "ABCDEFGHIJ"

Measured = tuple[Validity, Extent]
"""What was measured of a setting, and on which workplace tracts."""


@dataclass(frozen=True, slots=True)
class KeptSetting:
    """A setting with its name.

    Attributes
    ----------
    name : str
    setting : Setting
    values : mapping
        Of the controls that make it.
    measured : Measured or None
        What is known of it so far: confidential.
    """

    name: str
    setting: Setting
    values: Values
    measured: Measured | None = None


class KeptSettings:
    """The kept settings of one run, oldest first. Safe to use from several threads.

    Parameters
    ----------
    measured : callable
        Returns the measurements of a setting, or None if they are no longer kept.
    """

    def __init__(self, measured: Callable[[Setting], Measured | None]) -> None:
        self._measured = measured
        self._kept: dict[str, KeptSetting] = {}
        self._lock = Lock()

    def keep(self, name: str, setting: Setting, values: Values) -> str:
        """Keep a setting, by default under the next letter, and return its name.

        Raises
        ------
        UsageError
            The name is too long, cannot be printed or is taken, or as many settings are kept as there may be.
        """
        name = " ".join(name.split()) or self.next_name()
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise UsageError(
                f"the name has {len(name)} characters; give at most {LONGEST_NAME} that can be printed"
            )
        with self._lock:
            if name in self._kept:
                raise UsageError(f"{name} is kept already; give another name, or delete it first")
            if len(self._kept) >= MOST_KEPT:
                raise UsageError(f"{MOST_KEPT} settings are kept, and no more fit; delete one first")
            self._kept[name] = KeptSetting(name, setting, values)
        return name

    def delete(self, name: str) -> None:
        """Delete a setting, if there is one by that name."""
        with self._lock:
            self._kept.pop(name, None)

    def get(self, name: str) -> KeptSetting | None:
        """A setting by its name."""
        with self._lock:
            return self._kept.get(name)

    def all(self) -> list[KeptSetting]:
        """All of them with what was measured since they were kept."""
        with self._lock:
            for name, kept in self._kept.items():
                measured = self._measured(kept.setting)
                if measured is not None:
                    self._kept[name] = replace(kept, measured=measured)
            return list(self._kept.values())

    def next_name(self) -> str:
        """The first letter that is free."""
        return next(letter for letter in _LETTERS if letter not in self._kept)
