"""The two or three sentences that an answer begins with on pages, in reports and on the command line."""

from __future__ import annotations

from typing import Final

import pandas

from geodata.text import list_names
from mapapp.answers import words
from mapapp.answers.analyses.change import largest_change
from mapapp.answers.analyses.entries import clause_of, entry_of, headline_of
from mapapp.answers.analyses.over_years import OverYears
from mapapp.answers.analyses.results import Change, Result, error_of_change, published_sides
from mapapp.answers.errors.error_marks import has_row_errors, within_errors
from mapapp.answers.findings.words import (
    EVERYWHERE,
    LEAST_WORKERS,
    amount_of,
    and_work,
    capital,
    covered_in,
    people_who,
    spoken_names,
    where,
    where_of,
)
from mapapp.answers.wording import reader_text

__all__ = ["added_findings", "findings", "standings"]

_MOST_ADDED: Final = 2
_N_CHANGES: Final = 3
_NO_ERROR: Final = ", without a ±: the errors of the two are not stated"
_WORK_THERE: Final = "work{s} in {work}"


def findings(result: Result) -> tuple[str, ...]:
    """Return the sentences that say what an answer found; they order and compare counts by expected errors."""
    if isinstance(result, OverYears):
        sentences = result.findings()
    elif isinstance(result, Change):
        sentences = _of_change(result)
    else:
        sentences = tuple(entry_of(result).findings(result))
    return tuple(reader_text(sentence, result.about.nouns) for sentence in sentences)


def added_findings(result: Result) -> tuple[str, ...]:
    """Return at most two sentences that say more than the key numbers, for a page that shows those beside them."""
    sentences = findings(result)
    if isinstance(result, Change | OverYears):
        return sentences[:_MOST_ADDED]
    n_repeated = entry_of(result).n_counting_sentences
    tails = [sentence.partition("; ")[2] for sentence in sentences[:n_repeated]]
    more = (*(capital(tail) for tail in tails if tail), *sentences[n_repeated:])
    return more[:_MOST_ADDED]


def standings(result: Result) -> tuple[str, ...]:
    """Return why publications of an answer are not for release, and what they promise, for text without a banner."""
    parts = (result.before, result.after) if isinstance(result, Change) else (result,)
    return tuple(dict.fromkeys(filter(None, (words.standing(part.about.promise) for part in parts))))


def _of_change(change: Change) -> tuple[str, ...]:
    return tuple(text for text in (_of_headlines(change), _of_rows(change)) if text)


def _of_headlines(change: Change) -> str:
    """Return by how much the first number has changed, or that it is the same within twice its error."""
    before, after = headline_of(change.before), headline_of(change.after)
    step, (first, second) = after.value - before.value, change.names
    error = error_of_change(before, after, published_sides(change.before, change.after))
    people, over_time = _people(change.after), change.words.noun == "change"
    if not step:
        return f"{capital(_both(change))} count the same number of {people}: {after.value:,}."
    size = amount_of(abs(step), error)
    off = size.error or (_NO_ERROR if error is None and _has_errors(change) else "")
    if error is not None and abs(step) <= 2 * error:
        noun = change.words.noun
        return (
            f"The number of {people} is the same within twice its error: {before.value:,} in {first} and "
            f"{after.value:,} in {second}, a {noun} of {step:+,}{size.error}."
        )
    share = f" ({100 * abs(step) / before.value:.1f}%)" if before.value >= LEAST_WORKERS else ""
    if over_time:
        verb = "rose" if step > 0 else "fell"
        return f"The number of {people} {verb} by {size.text}{share} from {first} to {second}{off}."
    more = "more" if step > 0 else "fewer"
    return f"{second} counts {size.text} {more} {people}{share} than {first}{off}."


def _has_errors(change: Change) -> bool:
    """Whether expected errors were asked for, so that a reader would take a number without one as exact."""
    return any(has_row_errors(answer) for answer in (change.before, change.after))


def _both(change: Change) -> str:
    return list_names(list(change.names))


def _people(answer: Result) -> str:
    """Return the people that an answer counts, such as "people who work in Providence"."""
    about, clause = answer.about, clause_of(answer)
    those = f" in the chosen groups ({about.filters})" if about.filters else ""
    counted = entry_of(answer).counted
    if counted is not None:
        return f"{counted(answer)}{those}"
    if not clause:
        here = where(about)
        if about.area_side == "work" or here == EVERYWHERE:
            return f"{people_who(about, those)} work {here}"
        return f"{people_who(about, those)} live {here}{and_work(about, here)}"
    ends = dict(zip(("home", "work"), _ends(answer), strict=True))
    if ends["home"] == EVERYWHERE:
        clause = _WORK_THERE
    here = where(about) if " | " not in about.area_text else ""
    for name, place in {"here": here, **ends}.items():
        clause = clause.replace(f"in {{{name}}}", place)
    clause = clause.replace("{covered}", covered_in(about))
    return f"{people_who(about, those)} {clause.replace('{s}', '')}"


def _ends(answer: Result) -> tuple[str, str]:
    """Return where the home area and the work area of an answer with two areas are."""
    names = answer.about.area.removeprefix("homes: ").partition("; workplaces: ")[::2]
    texts = answer.about.area_text.partition(" | ")[::2]
    home, work = (where_of(name, text) for name, text in zip(names, texts, strict=True))
    return home, work


def _of_rows(change: Change) -> str:
    """Return the rows that changed most, as far as their errors allow."""
    entry = entry_of(change.after)
    rows = largest_change(change.rows)
    known = rows[rows["expected_error"].notna()]
    if len(known) < 2:
        return ""
    clear = known[~within_errors(known["change"], known["expected_error"])]
    noun = change.words.noun
    if clear.empty:
        return f"None of the {len(known)} largest {noun}s exceeds twice its ±."
    names = _row_names(clear, entry.names)
    steps = zip(names, clear["change"].tolist(), clear["expected_error"].tolist(), strict=True)
    texts = [f"{name} ({_step(step, error, entry.measure.kind)})" for name, step, error in steps][:_N_CHANGES]
    what = f"the largest {noun}s" if len(texts) > 1 else f"the largest {noun}"
    return f"{list_names(texts)} {'are' if len(texts) > 1 else 'is'} {what} beyond the errors."


def _row_names(rows: pandas.DataFrame, columns: tuple[str, ...]) -> list[str]:
    names_by_column = [spoken_names([str(name) for name in rows[column].tolist()]) for column in columns]
    return [" to ".join(names) for names in zip(*names_by_column, strict=True)]


def _step(change: float, error: float, kind: str) -> str:
    if kind == "ratio":
        return words.ratio_change(change) + words.ratio_error(error, sign=", ±")
    size = amount_of(abs(int(change)), error)
    number = size.text.removeprefix("about ").removeprefix("exactly ")
    return f"{'+' if change > 0 else '−'}{number}{size.error if error else ''}"
