"""Progress of long work: a bar on a terminal, one line a stage in a log, nothing when asked to be quiet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from geodata.progress import Progress as Report
from geodata.progress import silent

__all__ = ["Report", "shown", "silent"]


@contextmanager
def shown(*, quiet: bool = False) -> Iterator[Report]:
    """Yield a callable `report(stage, done, total)` that shows progress on standard error.

    A new stage name starts a new bar and completes the one before it.
    """
    if quiet:
        yield silent
    elif sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        yield _lines()


def _lines() -> Report:
    seen: set[str] = set()

    def report(stage: str, _done: int, _total: int) -> None:
        if stage not in seen:
            seen.add(stage)
            print(f"{stage} …", file=sys.stderr, flush=True)

    return report


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
