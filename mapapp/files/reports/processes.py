"""Work in several processes that a Ctrl-C, an error or a kill ends together, and that leaves nothing behind."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from geodata.errors import GeodataError
from mapapp.errors import UsageError

Task = TypeVar("Task")
Done = TypeVar("Done")


def each_done(work: Callable[[Task], Done], tasks: Sequence[Task], *, workers: int) -> Iterator[Done]:
    """Yield what `work` makes of each task, as it comes.

    Parameters
    ----------
    work : callable
        Can be pickled where there are several workers; each process has a copy of its own for all its tasks.
    tasks : sequence
    workers : int
        Processes; one is this process itself.

    Raises
    ------
    UsageError, GeodataError
        As `work` raises them; the others are stopped.
    """
    workers = min(workers, len(tasks))
    if workers <= 1:
        yield from map(work, tasks)
        return
    crew = [_Worker(work) for _ in range(workers)]
    try:
        waiting = list(reversed(tasks))
        for member in crew:
            member.give(waiting.pop())
        busy = {member.pipe: member for member in crew}
        while busy:
            for pipe in wait(list(busy)):
                member = busy[pipe]  # type: ignore[index]  # wait() may return sockets, too
                done = member.take()
                if waiting:
                    member.give(waiting.pop())
                else:
                    del busy[member.pipe]
                yield done
    finally:
        for member in crew:
            member.stop()


class _Worker:
    """One process."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        context = multiprocessing.get_context("spawn")  # threads of libraries do not survive a fork
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(work, theirs), daemon=True)
        # Ctrl-C is for whoever waits here; a new process has the mask of the one that makes it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def give(self, task: Any) -> None:
        """Have it work on something."""
        self.pipe.send(task)

    def take(self) -> Any:
        """What it made."""
        try:
            failed, found = self.pipe.recv()
        except (EOFError, ConnectionError):
            raise UsageError(
                "a process was killed, perhaps for want of memory; give fewer --workers, and it goes on from here"
            ) from None
        if failed:
            raise found
        return found

    def stop(self) -> None:
        """End it, whatever it does."""
        self.pipe.close()
        self._process.terminate()
        self._process.join()


def _serve(work: Callable[[Any], Any], pipe: Connection) -> None:
    """Work on what comes until nobody is there any more."""
    with suppress(EOFError, ConnectionError):
        while True:
            pipe.send(_tried(work, pipe.recv()))


def _tried(work: Callable[[Any], Any], task: Any) -> tuple[bool, Any]:
    """Whether it failed, and what it made, or the error."""
    try:
        return False, work(task)
    except (UsageError, GeodataError, OSError, MemoryError) as error:
        return True, error
    except Exception as error:  # a bug, which the process that waits shall report as one
        return True, RuntimeError(repr(error))
