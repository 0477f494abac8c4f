"""Progress bars for long work, shown on a terminal unless --quiet is given."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from geodata.progress import Progress as Report
from geodata.progress import silent

__all__ = ["Report", "part_of", "show_progress", "silent"]


def part_of(report: Report, first: int, total: int, *, width: int = 1, stage: str | None = None) -> Report:
    """Return a function that reports the progress of some parts of a work as progress of the whole.

    Parameters
    ----------
    report : callable
        Takes the progress of the whole, in hundredths of a part.
    first, width : int
        How many parts come before these, and how many these are.
    total : int
        Number of parts of the whole, which take about the same time.
    stage : str, optional
        What the whole is doing; by default what the part says.
    """

    def within(own_stage: str, done: int, of: int) -> None:
        report(stage or own_stage, 100 * first + 100 * width * done // max(of, 1), 100 * total)

    return within


@contextmanager
def show_progress(*, quiet: bool = False) -> Iterator[Report]:
    """Yield `report(stage, done, total)`, which shows progress if standard error is a terminal.

    A new stage name completes the current bar and starts another.
    """
    if quiet or not sys.stderr.isatty():
        # In a log or a pipe a bar is noise, and an error must remain the only line.
        yield silent
    else:
        with _bar() as report:
            yield report


@contextmanager
def _bar() -> Iterator[Report]:
    columns = (TextColumn("{task.description:<44}"), BarColumn(30), TimeElapsedColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True)) as bar:

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                for earlier in tasks.values():
                    bar.update(earlier, total=1, completed=1)
                tasks[stage] = bar.add_task(stage, total=total or None)
            bar.update(tasks[stage], completed=done, total=total or None)

        yield report
        for task in tasks.values():
            bar.update(task, total=1, completed=1)
