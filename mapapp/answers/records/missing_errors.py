"""Why some numbers of worker records have no expected error, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from mapapp.answers.about import Note
from mapapp.answers.flows import Pick

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
DISTANCES: Final = "Distances have no ±: homes were placed to fit a range of distances, not at the real ones."


def reasons(
    picks: Iterable[Pick | None], is_whole: Callable[[Pick], tuple[bool, bool]], *, has_distances: bool
) -> tuple[Note, ...]:
    """Return a note for each reason why a number or a row of an answer has no expected error.

    Parameters
    ----------
    picks : iterable of Pick
        What its numbers and rows count.
    is_whole : callable
        Returns whether a pick's work area consists of whole tracts, and its home area of whole PUMAs.
    has_distances : bool
        Whether it has distances.
    """
    texts: dict[str, None] = {}
    for pick in picks:
        if pick is None:
            continue
        work, home = is_whole(pick)
        if not work:
            texts[PARTS_OF_TRACTS] = None
        if not home:
            texts[PARTS_OF_PUMAS] = None
        if len(texts) == 2:
            break
    if has_distances:
        texts[DISTANCES] = None
    return tuple(Note(NO_ERROR, text) for text in texts)
