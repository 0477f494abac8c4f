"""One analysis of two releases, beside each other."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas

from mapapp.answers.counted import cautions
from mapapp.answers.entries import entry_of
from mapapp.answers.results import Change, Note, Result, check_answers
from mapapp.errors import UsageError


def change(before: Result, after: Result) -> Change:
    """The later answer against the earlier; a row that one of them has not counts 0 workers there.

    Parameters
    ----------
    before, after : Result
        Of the same analysis, asked in the same way of two releases.

    Raises
    ------
    UsageError
        When they are answers to different questions.
    """
    check_answers(before, after)
    if type(before) is not type(after) or isinstance(before, Change) or _asked(before) != _asked(after):
        raise UsageError(
            f"{before.about.title} of {before.about.release} and {after.about.title} of {after.about.release} "
            "do not compare: ask both the same way"
        )
    table, keys = main_table(before)
    names = entry_of(before).names
    earlier, later = (getattr(result, table).set_index(keys) for result in (before, after))
    index = later.index.union(earlier.index, sort=False)
    columns: dict[str, Any] = {
        name: later[name]
        .reindex(index)
        .where(later[name].reindex(index).notna(), earlier[name].reindex(index))
        for name in names
    }
    count = [part["workers"].reindex(index, fill_value=0).to_numpy(np.int64) for part in (earlier, later)]
    error = [part["expected_error"].reindex(index).to_numpy(np.float64) for part in (earlier, later)]
    rows = pandas.DataFrame(columns, index=index).reset_index()
    share = np.full(len(rows), np.nan)
    np.divide(count[1] - count[0], count[0], out=share, where=count[0] > 0)
    rows = rows.assign(
        before=count[0],
        after=count[1],
        change=count[1] - count[0],
        change_share=share,
        expected_error=np.hypot(*error),
        # As the smaller count says; against somebody, nobody is as unsure as one.
        caution=cautions(np.maximum(np.minimum(*count), np.minimum(np.maximum(*count), 1))),
    )
    earlier_name, later_name = Change(about=after.about, before=before, after=after, rows=rows).names
    about = dataclasses.replace(
        after.about,
        title=f"{after.about.title}: change",
        release=f"{earlier_name} → {later_name}",
        version=f"{before.about.version} → {after.about.version}",
        year=f"{before.about.year} → {after.about.year}",
        notes=after.about.notes + _notes(before, after),
    )
    return Change(about=about, presenter=after.presenter, before=before, after=after, rows=rows)


def main_table(result: Result) -> tuple[str, list[str]]:
    """Name of the table of an answer whose rows are compared, and the columns that say which row is which."""
    entry = entry_of(result)
    return entry.compared, list(entry.keys)


def _asked(result: Result) -> tuple[Any, ...]:
    about = result.about
    extra = [getattr(result, name, None) for name in ("layer", "edges_mi", "home_layer", "work_layer")]
    return (about.side, about.area_text, about.filters, *extra)


def _notes(before: Result, after: Result) -> tuple[Note, ...]:
    notes = [Note("both-noisy", "Both releases are noisy, each by itself: small changes mean nothing.")]
    if before.about.n_blocks != after.about.n_blocks:
        text = (
            f"The area has {before.about.n_blocks:,} blocks in the earlier release and {after.about.n_blocks:,} in "
            "the later: its blocks were drawn anew in between, and so may its units."
        )
        notes.append(Note("other-blocks", text))
    if before.about.job_type != after.about.job_type:
        text = f"The releases hold different jobs: {before.about.job_type} and {after.about.job_type}."
        notes.append(Note("other-jobs", text))
    return tuple(notes)
