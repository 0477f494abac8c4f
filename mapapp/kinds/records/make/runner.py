"""All stages of drawing records, one after the other, and the runner that does their tasks on this process's threads.

`mapapp.kinds.cluster` has the runner of a cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from engine.records.topping_up import count_groups
from engine.streams import SecretKey
from geodata.progress import work_in_order
from mapapp.base.progress import Report, silent
from mapapp.kinds.records.make.drawing import Fitted, RecordSource, chunks_of, sums_of_missing
from mapapp.kinds.records.make.sorted_parts import PlacedBlocks, cut_ranges
from mapapp.kinds.records.make.tasks import (
    Drawing,
    PartFiles,
    Placing,
    Range,
    RecordWork,
    RowsOfRange,
    Trying,
    collect_range,
    draw_part,
    place_part,
    save_array,
    try_part,
)

__all__ = ["DrawnParts", "RecordRunner", "ThreadRecordRunner", "chunk_size", "draw_parts", "sorted_rows"]

Ints = npt.NDArray[np.int64]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_MOST_AT_ONCE: Final = 1 << 20
_FEWEST_AT_ONCE: Final = 1 << 15
_CHUNKS_PER_THREAD: Final = 4


class RecordRunner(Protocol):
    """Does the tasks of a stage; what they leave is the same for every runner and every size of chunks."""

    @property
    def files(self) -> PartFiles:
        """Where the parts are."""
        ...

    @property
    def threads(self) -> int:
        """About how many tasks are done at a time."""
        ...

    def begin(self, fitted: Fitted, key: SecretKey) -> None:
        """Take what was learned from the workers; before all stages."""
        ...

    def each(
        self, stage: str, task: Callable[[RecordWork, _Item], int], items: Sequence[_Item]
    ) -> Iterator[int]:
        """Do one task for each item; yield their results in the order of the items."""
        ...

    def rows(self, stage: str, ranges: Sequence[Range]) -> Iterator[RowsOfRange]:
        """Collect ranges of workplaces; yield their rows in the order of the ranges."""
        ...


class ThreadRecordRunner:
    """Threads of this process, each doing one task.

    Parameters
    ----------
    folder : Path
        For the parts.
    threads : int
    report : callable
        Progress.
    """

    def __init__(self, folder: Path, *, threads: int, report: Report = silent) -> None:
        self.files = PartFiles(folder, "records")
        self.threads = threads
        self._work: RecordWork | None = None
        self._report = report

    def begin(self, fitted: Fitted, key: SecretKey) -> None:
        """As in `RecordRunner`."""
        self._work = RecordWork(fitted.source, key, self.files, threads=self.threads, seeds=fitted.seeds)

    def each(
        self, stage: str, task: Callable[[RecordWork, _Item], _Result], items: Sequence[_Item]
    ) -> Iterator[_Result]:
        """As in `RecordRunner`."""
        work = self._work
        assert work is not None
        self._report(stage, 0, len(items))
        results = work_in_order(lambda item: task(work, item), items, self.threads)
        for done, result in enumerate(results, 1):
            yield result
            self._report(stage, done, len(items))

    def rows(self, stage: str, ranges: Sequence[Range]) -> Iterator[RowsOfRange]:
        """As in `RecordRunner`."""
        assert self._work is not None
        self._report("cutting block cells", 0, 0)
        assert self._work.cells is not None  # by all threads, before each begins with a range
        yield from self.each(stage, collect_range, ranges)


@dataclass(frozen=True, slots=True)
class DrawnParts:
    """All records of a plan, drawn and placed, in parts that are sorted by workplace.

    Attributes
    ----------
    n_passed, n_total : int
        Candidates that passed, and records in all.
    n_parts : int
    """

    n_passed: int
    n_total: int
    n_parts: int


def draw_parts(runner: RecordRunner, source: RecordSource) -> DrawnParts:
    """Draw all records of a plan: candidates that pass, and what brings them up to the total."""
    plan = source.plan
    passed = [] if plan.seeds is None else _try_all(runner, plan.seeds.n_tries)
    n_passed = sum(passed)
    if n_passed and not plan.choice.top_up:
        _place_all(runner, passed)
        return DrawnParts(n_passed, n_passed, len(passed))
    if n_passed:
        save_array(runner.files.missing, sums_of_missing(source, _count_passed(runner, source, len(passed))))
    _place_all(runner, passed)
    n_more = max(plan.n_total - n_passed, 0)
    chunks = chunks_of(n_more, chunk_size(n_more, runner.threads))
    drawing = [
        Drawing(len(passed) + number, chunk, n_passed + chunk.first, bool(n_passed))
        for number, chunk in enumerate(chunks)
    ]
    for _ in runner.each("topping up" if n_passed else "drawing records", draw_part, drawing):
        pass
    return DrawnParts(n_passed, n_passed + n_more, len(passed) + len(chunks))


def sorted_rows(runner: RecordRunner, drawn: DrawnParts, n_blocks: int) -> Iterator[RowsOfRange]:
    """Yield the rows of all records, range by range of workplaces."""
    blocks = PlacedBlocks(n_blocks)
    for number in range(drawn.n_parts):
        blocks.add(runner.files.part(number))
    save_array(runner.files.used, blocks.used)
    bounds = cut_ranges(blocks.n_working, chunk_size(drawn.n_total, runner.threads))
    ranges = [Range(number, ends, drawn.n_parts) for number, ends in enumerate(bounds)]
    yield from runner.rows("writing the records", ranges)


def chunk_size(n: int, threads: int) -> int:
    """How many records are drawn at a time: enough for all threads to have some, and not more than memory holds."""
    wanted = -(-n // (threads * _CHUNKS_PER_THREAD))
    return min(max(wanted, _FEWEST_AT_ONCE), _MOST_AT_ONCE)


def _try_all(runner: RecordRunner, n_tries: int) -> list[int]:
    """Try all candidates; how many passed of each chunk."""
    chunks = chunks_of(n_tries, chunk_size(n_tries, runner.threads))
    trying = [Trying(number, chunk) for number, chunk in enumerate(chunks)]
    return list(runner.each("trying candidates", try_part, trying))


def _count_passed(runner: RecordRunner, source: RecordSource, n_parts: int) -> Ints:
    """How many candidates of each group passed."""
    counts = np.zeros(math.prod(source.plan.attributes.domain[: source.plan.kept]), dtype=np.int64)
    for number in range(n_parts):
        counts += count_groups(source.model, np.load(runner.files.codes(number)), source.plan.kept)
    return counts


def _place_all(runner: RecordRunner, passed: Sequence[int]) -> None:
    """Place the candidates that passed; each is addressed by how many passed before it."""
    if not passed:
        return
    before = np.append(0, np.cumsum(passed)).tolist()
    placing = [Placing(number, at) for number, at in enumerate(before[:-1])]
    for number, _ in enumerate(runner.each("placing candidates", place_part, placing)):
        runner.files.codes(number).unlink()
