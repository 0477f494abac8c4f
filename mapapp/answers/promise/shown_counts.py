"""Which numbers of workers at workplaces a release shows exactly, and whether they are public without it, in words."""

from __future__ import annotations

from collections.abc import Mapping

from geodata.store.public_counts import COUNTS_ARE_PUBLIC

__all__ = ["counts_caveat", "counts_sentence"]


def counts_sentence(facts: Mapping[str, object]) -> str:
    """Return what readers are told of the numbers of workers at workplaces.

    Parameters
    ----------
    facts : mapping of str to object
        Of a release's manifest.
    """
    if COUNTS_ARE_PUBLIC not in facts:
        return f"How many people work in {_WORKPLACE}, {_BY}, is already public. Where each of them lives is not."
    reference = facts[COUNTS_ARE_PUBLIC]
    shown = f"This release shows exactly how many people work in {_WORKPLACE}, {_BY}."
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
    """Return what the certificate of a release from worker records says of these numbers; None for other sources."""
    if COUNTS_ARE_PUBLIC not in facts:
        return None
    reference = facts[COUNTS_ARE_PUBLIC]
    declared = (
        "Nobody has declared that they are public."
        if reference is None
        else f"Whoever imported the worker records declared that they are public: {reference}."
    )
    return (
        f"The numbers of workers in {_WORKPLACE}, {_BY}, are shown exactly, and no part of them is protected. Where "
        f"all workers counted together share an attribute, it follows for each of them with certainty. {declared}"
    )


_WORKPLACE = "a block"
_BY = "by age, earnings, and industry"
