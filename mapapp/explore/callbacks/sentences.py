"""Questions that a visitor types as a sentence into the search box."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mapapp.answers.release import Release
from mapapp.answers.result_cache import ResultCache
from mapapp.answers.sentence_names import SentenceNames
from mapapp.answers.served_years import releases_of_years
from mapapp.base.errors import UsageError
from mapapp.explore.callbacks.views import Views
from mapapp.question.address import Address
from mapapp.question.question import EVERYTHING, Question
from mapapp.question.sentence.asked import Asked, ask_in_words

PREFIX: Final = "ask:"
"""Begins the value of a search result that is a question."""
_LEAST_WORDS: Final = 2
_KEPT_SENTENCES: Final = 200


def asked_in(release: Release, text: str, chosen: tuple[str, ...] = ()) -> Asked:
    """What a sentence asks of a release, where `chosen` are the steps of the area that "this town" means.

    A sentence that was read lately, such as a chosen search result, is not read again.

    Raises
    ------
    UsageError
        If the sentence is empty or too long.
    """
    read = release.once(("sentences",), lambda: ResultCache[Asked](max_entries=_KEPT_SENTENCES))
    names = release.once(("sentence names",), lambda: SentenceNames(release.areas, release.attributes))
    return read.get_or_make((text, chosen), lambda: ask_in_words(text, names, chosen))


def question_option(
    release: Release, text: str, *, is_name: bool, chosen: tuple[str, ...] = ()
) -> dict[str, object] | None:
    """The search result for a typed sentence; None if the sentence is only a name that the search has found."""
    try:
        asked = asked_in(release, text, chosen)
    except UsageError:
        return None
    if len(text.split()) < _LEAST_WORDS and not (asked.question.attributes or asked.question.by):
        return None  # a single word is a name, unless it is one of workers, such as "women"
    parts = [each.label for each in asked.understood]
    is_only_name = is_name and len(parts) == 2 and asked.understood[0].said == ""
    if asked.is_empty or is_only_name or len(asked.unknown) > len(parts):
        return None
    return {"group": "Ask", "items": [{"value": PREFIX + text, "label": " · ".join(parts)}]}


def asked_address(views: Views, address: Address, text: str) -> tuple[Address, str]:
    """The address of what a sentence asks, and what was understood, assumed, and left out.

    Raises
    ------
    UsageError
        If the sentence is empty or too long, or if it asks nothing.
    """
    release = views.release(address)
    asked = asked_in(release, text, address.question.areas)
    if asked.is_empty:
        raise UsageError("Nothing in this sentence names a place or asks for something.")
    view = address.view if asked.show is None else replace(address.view, show=asked.show)
    shown, against, notes = _of_years(views, release, asked)
    question, kept = _with_area(asked, address)
    found = Address(
        release=address.release if shown is release else shown.slug,
        against=against.slug if against is not None else "",
        question=question,
        view=replace(view, every=False),
    )
    unknown = [f"“{words[:40]}” was not understood and was left out." for words in asked.unknown]
    understood = " · ".join(each.label for each in asked.understood)
    return found, " ".join([f"Understood: {understood}.", *kept, *asked.notes, *notes, *unknown])


def _with_area(asked: Asked, address: Address) -> tuple[Question, list[str]]:
    """The question of a sentence, and a note if it names no area but needs one.

    The chosen area is kept: `women in this town`. Without one, everything is counted.
    """
    question = asked.question
    if question.is_complete or question.entry.n_needed != 1:
        return question, []
    chosen = address.question.areas
    note = (
        "The sentence names no area, so the chosen one is kept."
        if chosen
        else ("The sentence names no area, so everybody is counted.")
    )
    return replace(question, areas=chosen or (EVERYTHING,)), [note]


def _of_years(views: Views, release: Release, asked: Asked) -> tuple[Release, Release | None, list[str]]:
    """The release of the year that a sentence names, the release to compare it with, and notes on years not served."""
    by_year = {int(each.year): each for each in releases_of_years(release, views.releases.values())}
    notes = [
        f"No release of {year} is served."
        for year in (asked.year, asked.against_year)
        if year is not None and year not in by_year
    ]
    shown = by_year.get(asked.year, release) if asked.year is not None else release
    against = by_year.get(asked.against_year) if asked.against_year is not None else None
    return shown, against if against is not shown else None, notes
