"""What an answer says about itself: its question, its source, and the notes that must be read with it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Final

import pandas

from geodata.json_objects import JsonObject
from mapapp.answers.wording import Nouns
from mapapp.question.fields import Side

ASSIGNED_TOGETHER: Final = "assigned"
"""Code of the note that counts by two of age, earnings, and industry were not published, but assigned."""


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence to show with the numbers.

    Attributes
    ----------
    code : str
        Identifies the note for programs; its text may change.
    text : str
    mark : str
        Letter that stands beside the numbers to which the note applies; empty if it applies to all.
    """

    code: str
    text: str
    mark: str = ""

    def __str__(self) -> str:
        return f"({self.mark}) {self.text}" if self.mark else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The question and the source of an answer.

    Attributes
    ----------
    analysis : str
        Name on the command line, such as ``inflow-outflow``.
    title : str
        Title for readers.
    release, version : str
        Title of the release, and the first digits of its manifest's sha256.
    year : int, str, or None
        Year of the jobs, None if the release does not state it; the years of an answer about several, as text.
    job_type : str
        As the release states it; empty if it does not.
    side : {"work", "home"} or None
        Which end of a commute is in the area; None if both ends matter.
    area, area_text : str
        The area in words, and as text (`mapapp.question.area_text`); empty for the whole release.
    n_blocks, n_edge_blocks : int
        Number of blocks in the area, and of block cells that its drawn border cuts.
    filters : str
        Which workers are included, in words; empty for all.
    kept_bands : tuple of three tuples of int
        The same as bands of age, earnings, and industry; empty for all.
    kept_attributes : tuple of str
        The same as values of further attributes, such as ``sex:F``; empty for all.
    promise : dict
        ``status``, ``epsilon_final``, ``delta``, ``accountant``, and where stated ``mechanism`` and ``preset`` of the
        certificate; ``status_reasons`` if it is not for release, and ``kind`` if it is one of worker records.
    notes : tuple of Note
        Notes that must be read with the numbers.
    covered : tuple of str
        Names of the states whose workplaces are counted; empty if the release does not say. Not in `to_dict`.
    no_errors : dict of str to str
        By name of a number or a table, the mark of the notes that say why it has, or why some of its rows have, no
        expected error, such as ``(a, b)``; empty unless the answer is about worker records and has errors.
    nouns : Nouns or None
        What is counted in a publication of zones of any country; None in others. Not in `to_dict`.
    """

    analysis: str
    title: str
    release: str
    version: str
    year: int | str | None = None
    job_type: str = ""
    side: Side | None = None
    area: str = ""
    area_text: str = ""
    n_blocks: int = 0
    n_edge_blocks: int = 0
    filters: str = ""
    kept_bands: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] = ((), (), ())
    kept_attributes: tuple[str, ...] = ()
    promise: JsonObject = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    covered: tuple[str, ...] = ()
    no_errors: dict[str, str] = field(default_factory=dict)
    nouns: Nouns | None = None

    def has_note(self, code: str) -> bool:
        """Return whether one of the notes has this code."""
        return any(note.code == code for note in self.notes)

    @property
    def marked_notes(self) -> dict[str, str]:
        """Texts of the notes that marks beside numbers refer to, by mark."""
        return {note.mark: note.text for note in self.notes if note.mark}

    @property
    def area_side(self) -> Side:
        """The side of an answer that is about one area."""
        assert self.side is not None, f"{self.analysis} is not about one area"
        return self.side

    def to_dict(self) -> JsonObject:
        """Return plain values, with notes as text; without values of attributes or marks if there are none."""
        fields = dataclasses.asdict(self) | {"notes": list(map(str, self.notes))}
        del fields["covered"], fields["nouns"]
        for name in ("kept_attributes", "no_errors"):
            if not fields[name]:
                del fields[name]
        return fields


def far_notes(units: pandas.DataFrame) -> tuple[Note, ...]:
    """Return the note on people who live in states outside the area, if a table of units has any."""
    far = units["workers"].to_numpy()[(units["kind"] == "elsewhere").to_numpy()]
    n, n_states = int(far.sum()), len(far)
    if not n:
        return ()
    text = (
        f"{n:,} of these people live{'s' * (n == 1)} outside the mapped area, in {n_states:,} other "
        f"state{'s' * (n_states != 1)}, listed at the end of the table. Some employers report all jobs at a head "
        "office, so people who live far away may work elsewhere."
    )
    return (Note("far-homes", text),)


def edge_notes(n_edge_blocks: int) -> tuple[Note, ...]:
    """Return the note that a drawn border cuts blocks, if it does."""
    if not n_edge_blocks:
        return ()
    text = (
        f"The drawn border cuts {n_edge_blocks:,} block{'s' * (n_edge_blocks != 1)}; "
        "each counts entirely on the side of its internal point."
    )
    return (Note("cut-blocks", text),)
