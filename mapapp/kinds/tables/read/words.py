"""What a published table says in words: what it counts, what it promises, and why a cell has a star.

A star's reason is a public function of the people, the prior, and the counts printed before. No sentence here says
anything about a suppressed count.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from mapapp.answers.promise.chapters import Chapter
from mapapp.answers.tables.certificate import PriorClaim
from mapapp.answers.words import plain
from mapapp.kinds.tables.read.published import Cell, OneTable, PublishedTable, Reason, TablePromise
from mapapp.kinds.tables.read.served_table import ServedTable

STAR: Final = "*"
"""What is printed for a suppressed count."""
REASON_TITLES: Final[dict[Reason, str]] = {
    "too-small": "Too small to be safe whatever its value",
    "not-shown-safe": "Could not be shown to be safe",
    "stopped": "The table had stopped",
}
"""The reason of a star in a few words."""
_CHARACTERISTICS: Final = {"age": "age", "earnings": "earnings", "industry": "industry"}
_EXAMPLE: Final = Fraction(1, 5)


def says_itself(table: OneTable) -> bool:
    """Return whether the title of a table already says what it counts."""
    title = table.title.casefold()
    return table.counts.in_words.casefold() in title and table.jobs.casefold() in title


def counted_sentence(table: OneTable) -> str:
    """Return what a table counts, in a sentence or two."""
    words = table.counts.in_words
    unit = unit_word(table)
    only = f" Only jobs with: {table.jobs}." if table.jobs else ""
    if table.is_flows:
        return f"{_capital(words)}, for each {unit} of work.{only}"
    listed = " and ".join(_CHARACTERISTICS.get(name, name) for name in table.columns)
    by = f", by {listed}" if listed else ""
    return f"{_capital(words)}, for each {unit}{by}.{only}"


def printed_sentence(table: OneTable) -> str:
    """Return how many counts are printed, and how many people they cover."""
    share, what = table.released_share, "flows" if table.is_flows else "counts"
    whom = "of the workers" if table.is_flows else "of the people"
    covered = "" if math.isnan(share) else f", with {percent(share)} {whom}"
    return f"{table.n_released:,} of {table.n_cells:,} {what} are printed{covered}."


def unit_word(table: OneTable) -> str:
    """Return what one row unit is called within a sentence."""
    word = table.row_label.split(" (")[0].strip()
    return word if word.isupper() else f"{word[:1].lower()}{word[1:]}"


def promise_sentence(promise: TablePromise, *, of_flows: bool = False) -> str:
    """Return the promise in a sentence and an example; `of_flows` says that it is about homes."""
    what = "lives in any one place" if of_flows else "is among those counted"
    epsilon, low, high = promise.epsilon, _EXAMPLE * (1 - promise.epsilon), _EXAMPLE * (1 + promise.epsilon)
    return (
        f"If the prior is right, then with a probability of at least {percent(1 - promise.delta)} nothing printed here "
        f"changes the chance that any one worker {what} by more than {percent(epsilon)} of what the prior says. A "
        f"chance of {percent(_EXAMPLE)}, for example, stays between {percent(low)} and {percent(high)}."
    )


def limits(published: PublishedTable) -> tuple[str, ...]:
    """Return what the promise does not cover, in the words of the certificate."""
    return tuple(published.claims.does_not_promise)


def prior_sentence(prior: PriorClaim) -> str:
    """Return where the prior comes from."""
    if prior.origin != "release":
        return f"The prior comes from a file; its origin is {prior.origin}."
    year = f" of {prior.year}" if prior.year else ""
    return f"The prior comes from a synthetic release{year} (digest {str(prior.digest)[:12]}…)."


def how_decided(promise: TablePromise) -> str:
    """Return how the stars were placed, in one sentence."""
    if promise.decide == "sampled":
        how = "Whether a count is printed was decided by drawing many tables from the prior"
    else:
        how = "Whether a count is printed was worked out from public numbers alone"
    return (
        f"{how}, before the count was looked at. So the stars say nothing about the counts below them, and there is no "
        "rounding and no noise: a printed count is exact."
    )


def star_reason(reason: str, cell: Cell, promise: TablePromise) -> str:
    """Return why a cell is suppressed, in a sentence that claims only what is public and true."""
    if reason == "too-small":
        return (
            f"Too small to be safe whatever its value: with {people(cell.people)}, no count could be printed without "
            f"changing what is believed about one of them by more than {percent(promise.epsilon)}."
        )
    if reason == "stopped":
        return (
            "Suppressed because the table stopped before this cell: a count printed earlier fell outside its safe "
            "interval, and nothing was decided after that."
        )
    how = "simulated tables did not show" if promise.decide == "sampled" else "it could not be shown"
    return (
        f"Suppressed before its count was looked at: {how} that the chance of an unsafe count is at most "
        f"{percent(promise.decision_delta)}."
    )


def reason_words(reason: str) -> str:
    """Return the reason of a star in a few words within a sentence; empty for an unknown one."""
    title = next((words for name, words in REASON_TITLES.items() if name == reason), "")
    return f"{title[:1].lower()}{title[1:]}"


def interval_words(cell: Cell) -> str:
    """Return the safe interval of a cell; empty if no count would be safe or the cell had no decision of its own."""
    if cell.low > cell.high or not cell.people or cell.state == "derived":
        return ""
    span = f"{cell.low:,}" if cell.low == cell.high else f"between {cell.low:,} and {cell.high:,}"
    if cell.value >= 0:
        return f"The count was publishable if {span}."
    return (
        f"Counts {span} would have been safe."
        if cell.low != cell.high
        else f"Only a count of {span} would have been safe."
    )


def cell_lines(cell: Cell, promise: TablePromise) -> list[str]:
    """Return what is known about a cell, a sentence each: its count or why there is none, people, and interval."""
    if not cell.people:
        return ["Nobody works in this cell."]
    prior = "" if math.isnan(cell.rate) else f" The prior says {percent(cell.rate)}."
    if cell.value < 0:
        lines = [
            star_reason(cell.reason, cell, promise),
            f"{_capital(people(cell.people))} in this cell.{prior}",
        ]
    else:
        share = percent(cell.value / cell.people)
        derived = ["No decision of its own: the printed counts determine it."] * (cell.state == "derived")
        lines = [f"{cell.value:,} of {people(cell.people)}: {share}.{prior}", *derived]
    interval = interval_words(cell)
    return [*lines, interval] if interval else lines


def people(number: int) -> str:
    """Return a number of workers in words."""
    return "1 worker" if number == 1 else f"{number:,} workers"


def percent(share: float | Fraction) -> str:
    """Return a share as a percentage with up to three significant digits, never rounded to 0 or 100."""
    value = 100 * float(share)
    if not 0 < value < 100:
        return f"{value:.0f}%"
    if value > 99:  # what is missing to 100 decides
        digits = 1 - math.floor(math.log10(100 - value))
    else:
        digits = 1 if value >= 10 else 1 - math.floor(math.log10(value))
    return f"{value:.{min(max(digits, 1), 12)}f}".rstrip("0").rstrip(".") + "%"


def facts_of(published: PublishedTable) -> list[tuple[str, str]]:
    """Return the certificate of a table as terms and values."""
    promise = published.promise
    named = [f"{claim.kind} {str(claim.digest)[:12]}…" for claim in published.claims.beside]
    return [
        ("ε (epsilon)", _exact(promise.epsilon)),
        ("δ (delta)", _exact(promise.delta)),
        ("Decisions", f"{promise.n_decisions:,}"),
        ("δ of a decision", plain(float(promise.decision_delta))),
        (
            "Decided",
            "by drawing (Algorithm 3)" if promise.decide == "sampled" else "exactly, without drawing",
        ),
        ("Published beside", ", ".join(named) or "nothing named"),
        ("Table digest", f"{published.version}…"),
    ]


def _exact(number: Fraction) -> str:
    return f"{float(number):g}"


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


# Plain-language text on tables with suppressed cells, for the Method page.


def table_chapters(table: ServedTable) -> list[Chapter]:
    """Return the sections of text on one published table."""
    published = table.published
    counted = tuple(f"{part.title}: {counted_sentence(part)}" for part in published.tables)
    return [
        Chapter(
            title="Tables with suppressed cells",
            parts=(
                "A table has exact counts. Nothing is rounded, and no noise is added. Some cells have a star instead, "
                "because their count could say too much about one person.",
                counted,
                "In most published tables a small count gets a star, and further counts get stars so that totals do "
                "not give the first away. The totals, the stars, and the rule together often do give it away. Here the "
                "stars are placed without looking at the counts below them.",
                (
                    "How many people are in each cell is shown exactly. The prior, from an earlier year or another "
                    "source, says what share of them to expect in the count.",
                    "For each cell, the safe interval has the counts that change no belief about any one of its people "
                    "by more than the promise allows.",
                    "The chance that the count falls outside that interval is worked out from the prior and from what "
                    "was already printed. If it is small enough, the count is printed; otherwise the cell gets a star. "
                    "The count itself plays no part in that decision.",
                ),
                "So a star has a public reason: for example, a cell with few people is too small to be safe whatever "
                "its value.",
                promise_sentence(published.promise),
                prior_sentence(published.claims.prior),
            ),
        ),
        Chapter(title="What a table does not promise", parts=(limits(published),)),
    ]
