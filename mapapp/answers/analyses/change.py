"""The change of an answer between two releases."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas
from pandas.api.extensions import ExtensionArray

from mapapp.answers.analyses.about import Note
from mapapp.answers.analyses.counts import cautions
from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.analyses.entry import MeasureEntry
from mapapp.answers.analyses.protection_cost import differences_by_size
from mapapp.answers.analyses.results import Change, Result, check_answers, published_sides
from mapapp.answers.publication import is_published
from mapapp.base.errors import UsageError

_COST: Final = (
    "One of the two was published as it is, and the other was drawn. "
    "If it was drawn from these counts, their {noun} is the error of the drawn workers."
)
_OTHER_JOBS: Final = "One of the two was published as it is, and the other was drawn, from other jobs."
_NOISE: Final = {
    (False, False): "Both releases contain independent noise, so small {noun}s mean nothing.",
    (True, False): _COST,
    (False, True): _COST,
}
NO_ROW: Final = "not in one of the releases"
"""Why the ratio of a row has no change: one of the two answers lacks the row."""


def change(before: Result, after: Result) -> Change:
    """Compare a later answer with an earlier one; a row that is missing in one of them counts as 0 workers.

    Parameters
    ----------
    before, after : Result
        Answers of two releases to the same question.

    Raises
    ------
    UsageError
        If they are answers to different questions.
    """
    check_same_question(before, after)
    table, keys = main_table(before)
    entry = entry_of(before)
    earlier, later = (getattr(result, table).set_index(keys) for result in (before, after))
    index = later.index.union(earlier.index, sort=False)
    columns: dict[str, object] = {
        name: later[name]
        .reindex(index)
        .where(later[name].reindex(index).notna(), earlier[name].reindex(index))
        for name in entry.names
    }
    both = [part.reindex(index) for part in (earlier, later)]
    value = [_measure_rows(part, entry.measure) for part in both]
    public = published_sides(before, after)
    error = [
        np.zeros(len(index)) if is_public else part[entry.measure.error].to_numpy(np.float64)
        for part, is_public in zip(both, public, strict=True)
    ]
    rows = pandas.DataFrame(columns, index=index).reset_index()
    share = np.full(len(rows), np.nan)
    np.divide(value[1] - value[0], value[0], out=share, where=value[0] > 0)
    rows = rows.assign(
        before=value[0],
        after=value[1],
        change=value[1] - value[0],
        change_share=share,
        expected_error=np.hypot(*error),
        caution=_cautions(both, entry.measure),
    )
    comparison = Change(
        about=after.about,
        presenter=after.presenter,
        before=before,
        after=after,
        rows=rows,
        sizes=differences_by_size(rows, public) if entry.measure.kind == "count" else None,
    )
    about = dataclasses.replace(
        after.about,
        title=f"{after.about.title}: {comparison.words.noun}",
        release=" → ".join(comparison.names),
        version=f"{before.about.version} → {after.about.version}",
        year=" → ".join(dict.fromkeys(str(answer.about.year or "") for answer in (before, after))),
        notes=(*(dataclasses.replace(note, mark="") for note in after.about.notes), *_notes(comparison)),
        no_errors={},
    )
    return dataclasses.replace(comparison, about=about)


def check_same_question(before: Result, after: Result) -> None:
    """Raise UsageError if two answers are not to the same question."""
    check_answers(before, after)
    if (
        type(before) is not type(after)
        or isinstance(before, Change)
        or _question_key(before) != _question_key(after)
    ):
        raise UsageError(
            f"cannot compare {before.about.title} of {before.about.release} with {after.about.title} of "
            f"{after.about.release}; ask both releases the same question"
        )
    shown = [_characteristics(result) for result in (before, after)]
    if shown[0] != shown[1]:
        raise UsageError(
            f"cannot compare {before.about.release} with {after.about.release}: they do not both show the same of age, "
            "earnings, and industry"
        )


def _characteristics(result: Result) -> list[str]:
    """Return the characteristics that the rows of an answer are about; empty if its rows are about something else."""
    rows: pandas.DataFrame = getattr(result, main_table(result)[0])
    return [] if "characteristic" not in rows else rows["characteristic"].unique().tolist()


def _measure_rows(
    rows: pandas.DataFrame, measure: MeasureEntry
) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    """Return the measure of one answer: counts, with 0 for missing rows, or ratios, with NaN for missing ones."""
    column = rows[measure.column]
    return column.fillna(0).to_numpy(np.int64) if measure.kind == "count" else column.to_numpy(np.float64)


def _cautions(
    both: Sequence[pandas.DataFrame], measure: MeasureEntry
) -> ExtensionArray | npt.NDArray[np.object_]:
    """Return the caution of the smaller count (0 counts as 1 if the other is positive), or why a ratio is missing."""
    if measure.kind == "ratio":
        earlier, later = (part["caution"].fillna(NO_ROW).to_numpy(object) for part in both)
        return np.where(later == "", earlier, later)
    count = [_measure_rows(part, measure) for part in both]
    return cautions(np.maximum(np.minimum(*count), np.minimum(np.maximum(*count), 1)))


def main_table(result: Result) -> tuple[str, list[str]]:
    """Return the name of the table whose rows are compared, and the columns that identify a row."""
    entry = entry_of(result)
    return entry.compared, list(entry.keys)


_FIELDS: Final = ("layer", "edges_mi", "home_layer", "work_layer", "characteristic")
"""Further fields of an answer that say what its question is."""


def _question_key(result: Result) -> tuple[object, ...]:
    about = result.about
    extra = [getattr(result, name, None) for name in _FIELDS]
    return (about.side, about.area_text, about.filters, *extra)


def _notes(comparison: Change) -> tuple[Note, ...]:
    before, after, (first, second) = comparison.before, comparison.after, comparison.words.releases
    noun = comparison.words.noun
    public = published_sides(before, after)
    same = (before.about.year, before.about.job_type) == (after.about.year, after.about.job_type)
    said = _NOISE[public] if same or not any(public) else _OTHER_JOBS
    notes = [Note("both-noisy", said.format(noun=noun))]
    if entry_of(after).is_published:
        notes = []
    elif is_published(before.about.promise) and is_published(after.about.promise):
        notes = [
            Note("both-noisy", f"Their publisher protects both with noise, so small {noun}s mean little.")
        ]
    if before.about.n_blocks != after.about.n_blocks:
        text = (
            f"The area has {before.about.n_blocks:,} blocks in the {first} release and {after.about.n_blocks:,} in "
            f"the {second} one: its blocks were redrawn in between, and its larger units may have been, too."
        )
        notes.append(Note("other-blocks", text))
    if before.about.job_type != after.about.job_type:
        text = f"The releases contain different types of jobs: {before.about.job_type} and {after.about.job_type}."
        notes.append(Note("other-jobs", text))
    return tuple(notes)


def largest_change(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of a change, largest increase or decrease first."""
    return rows.loc[rows["change"].abs().sort_values(ascending=False, kind="stable").index]
