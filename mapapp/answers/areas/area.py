"""One area or landmark that can be chosen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Area:
    """One area that can be chosen.

    Attributes
    ----------
    key : str
        `level:identifier`, as in the address; a circle for a landmark.
    level : str
        A key of `LEVEL_LABELS`.
    unit_id : str
        Identifier within the level; for a landmark that of its county, which may be empty.
    name : str
        Name for readers.
    full_name : str
        Name in the source, if it is longer: `Bristol town (Bristol, RI)` for `Bristol, RI`.
    """

    key: str
    level: str
    unit_id: str
    name: str
    full_name: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The full name, and the name for readers if it differs."""
        return tuple(dict.fromkeys((self.full_name or self.name, self.name)))
