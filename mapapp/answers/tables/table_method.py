"""Plain-language text on tables with suppressed cells, for the Method page."""

from __future__ import annotations

from mapapp.answers.chapters import Chapter
from mapapp.answers.tables import table_words
from mapapp.answers.tables.served_table import ServedTable


def table_chapters(table: ServedTable) -> list[Chapter]:
    """Return the sections of text on one published table."""
    published = table.published
    counted = tuple(f"{each.title}: {table_words.counted_sentence(each)}" for each in published.tables)
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
                    "How many people are in each cell is public. The prior, from an earlier year or another source, "
                    "says what share of them to expect in the count.",
                    "For each cell, the safe interval has the counts that change no belief about any one of its people "
                    "by more than the promise allows.",
                    "The chance that the count falls outside that interval is worked out from the prior and from what "
                    "was already printed. If it is small enough, the count is printed; otherwise the cell gets a star. "
                    "The count itself plays no part in that decision.",
                ),
                "So a star has a public reason: for example, a cell with few people is too small to be safe whatever "
                "its value.",
                table_words.promise_sentence(published.promise),
                table_words.prior_sentence(published.claims.prior),
            ),
        ),
        Chapter(title="What a table does not promise", parts=(table_words.limits(published),)),
    ]
