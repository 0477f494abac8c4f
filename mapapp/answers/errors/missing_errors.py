"""Why some numbers of worker records have no expected error: in words, with a mark that stands beside such a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import ascii_lowercase
from typing import Final

from mapapp.answers.about import Note

NO_ERROR: Final = "no-error"
"""Code of the notes that say why a number has no ±."""
NOT_STATED: Final = "The certificate states no expected errors, so no number has a ±."
PARTS_OF_TRACTS: Final = (
    "A work area has a ± if it is made of whole census tracts, as a county is. Within a tract, workplaces were placed "
    "by public population, so smaller areas have none."
)
PARTS_OF_PUMAS: Final = (
    "A home area has a ± if it is made of whole PUMAs, which are census areas of about 100,000 people or more. Within "
    "a PUMA, homes were placed by public population and distance, so smaller areas have none."
)
UNCOVERED: Final = (
    "The certificate states errors for some combinations of attributes, work areas, and home areas. This combination "
    "is not one of them, so it has no ±."
)
PUBLIC_NUMBER: Final = "The number of all records is public and fixed in advance, so it has no ±."
DISTANCES: Final = "Distances have no ±: homes were placed to fit a range of distances, not at the real ones."
DIFFERENCES: Final = "A difference of two counts has no ±: the errors of the two are not independent."
SUMS: Final = "The certificate states no error for the sum of all other rows, so it has no ±."
FIRST_ROWS: Final = "Expected errors were computed for the first rows of a long table only."
_IN_ORDER: Final = (
    NOT_STATED,
    PUBLIC_NUMBER,
    PARTS_OF_TRACTS,
    PARTS_OF_PUMAS,
    UNCOVERED,
    DISTANCES,
    DIFFERENCES,
    SUMS,
    FIRST_ROWS,
)


def marked_notes(reasons: Mapping[str, Iterable[str]]) -> tuple[tuple[Note, ...], dict[str, str]]:
    """Return a note for each reason, and the mark of every number and table that lacks expected errors.

    Parameters
    ----------
    reasons : mapping of str to iterable of str
        Reasons, such as `DISTANCES`, by the name of the number or the table.
    """
    given = {name: set(texts) for name, texts in reasons.items()}
    used = [text for text in _IN_ORDER if any(text in texts for texts in given.values())]
    mark_of = dict(zip(used, ascii_lowercase, strict=False))
    marks = {
        name: f"({', '.join(mark_of[text] for text in used if text in texts)})"
        for name, texts in given.items()
        if texts
    }
    return tuple(Note(NO_ERROR, text, mark_of[text]) for text in used), marks
