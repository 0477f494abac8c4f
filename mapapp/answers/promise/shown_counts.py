"""Which numbers of workers at workplaces a release shows exactly, and whether they are public without it, in words."""

from __future__ import annotations

from collections.abc import Mapping

from geodata.store.public_counts import COUNTS_ARE_PUBLIC
from geodata.store.shown_margins import SEGMENTS_BY, WORKPLACES_BY, shown_segments
from geodata.text import list_names

__all__ = ["counts_caveat", "counts_sentence", "workplaces_note"]


def counts_sentence(facts: Mapping[str, object]) -> str:
    """Return what readers are told of the numbers of workers at workplaces.

    Parameters
    ----------
    facts : mapping of str to object
        Of a release's manifest.
    """
    if COUNTS_ARE_PUBLIC not in facts:
        counted = _counted_by(facts, comma=",")
        return f"How many people work in {counted} is already public. Where each of them lives is not."
    reference = facts[COUNTS_ARE_PUBLIC]
    shown = f"This release shows exactly how many people work in {_counted_by(facts)}."
    if reference is None:
        return (
            f"{shown} These numbers come from confidential records, and nobody has declared that they are public, so "
            "this release is not for release. Where each of the people lives is protected; what these numbers say "
            "about them is not."
        )
    return (
        f"{shown} The agency that holds the records declares that these numbers are public already ({reference}). "
        "Where each of the people lives is not."
    )


def counts_caveat(facts: Mapping[str, object]) -> str | None:
    """Return what the certificate says of these numbers where they are from worker records, or not all are shown."""
    if not {COUNTS_ARE_PUBLIC, SEGMENTS_BY, WORKPLACES_BY} & set(facts):
        return None
    declared = ""
    if COUNTS_ARE_PUBLIC in facts:
        reference = facts[COUNTS_ARE_PUBLIC]
        declared = (
            " Nobody has declared that they are public."
            if reference is None
            else f" Whoever imported the worker records declared that they are public: {reference}."
        )
    counted = _counted_by(facts, comma=",")
    return (
        f"The numbers of workers in {counted} are shown exactly, and no part of them is protected. "
        f"Where all workers counted together share an attribute, it follows for each of them with certainty.{declared}"
    )


def workplaces_note(facts: Mapping[str, object]) -> str | None:
    """Return what readers of any answer must know if workplaces are known by tract; None if by block."""
    if facts.get(WORKPLACES_BY) != "tract":
        return None
    return (
        "Numbers of workers are exact by census tract of work, and not known for smaller areas: all jobs of a tract "
        "are placed at the block nearest to its center."
    )


def _counted_by(facts: Mapping[str, object], *, comma: str = "") -> str:
    """What workers are counted by: "a block, by age, earnings, and industry"; a `comma` ends the list."""
    workplace = "a census tract" if facts.get(WORKPLACES_BY) == "tract" else "a block"
    names = shown_segments(facts)
    return f"{workplace}, by {list_names(list(names))}{comma}" if names else workplace
