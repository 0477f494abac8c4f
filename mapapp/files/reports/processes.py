"""Work in several processes, which Ctrl-C, an error or a kill ends together without leftovers."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

from geodata.errors import GeodataError
from mapapp.base.errors import UsageError

Task = TypeVar("Task")
Done = TypeVar("Done")


def each_done(work: Callable[[Task], Done], tasks: Sequence[Task], *, workers: int) -> Iterator[Done]:
    """Yield the result of `work` for each task as it finishes.

    Parameters
    ----------
    work : callable
        Must be picklable if there are several workers; each process uses one copy for all its tasks.
    tasks : sequence
    workers : int
        Number of processes. This process is one of them, since another one first imports what this one has.

    Raises
    ------
    UsageError, GeodataError
        Errors raised by `work`; they stop the other tasks.
    """
    workers = min(workers, len(tasks))
    if workers <= 1:
        yield from map(work, tasks)
        return
    crew = [_Worker(work) for _ in range(workers - 1)]
    try:
        waiting = list(reversed(tasks))
        _hand_out(waiting, crew)
        while waiting or any(member.n_owed for member in crew):
            if waiting:
                yield work(waiting.pop())
            busy = {member.pipe: member for member in crew if member.n_owed}
            for pipe in wait(list(busy), timeout=0 if waiting else None):
                done = busy[pipe].take()  # type: ignore[index]  # wait() is typed to return sockets, too
                _hand_out(waiting, crew)
                yield done
    finally:
        for member in crew:
            member.stop()


def _hand_out(waiting: list[Task], crew: Sequence[_Worker[Task, Done]]) -> None:
    """Give every process a task, and one ahead while there are many, as results are taken only between own tasks."""
    for n_ahead in (1, 2):
        for member in crew:
            if member.n_owed < n_ahead <= len(waiting):
                member.give(waiting.pop())


class _Worker(Generic[Task, Done]):
    """One worker process."""

    def __init__(self, work: Callable[[Task], Done]) -> None:
        context = multiprocessing.get_context("spawn")  # library threads do not survive a fork
        self.n_owed = 0
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(work, theirs), daemon=True)
        # Only the waiting process handles Ctrl-C; a child process inherits this signal mask.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def give(self, task: Task) -> None:
        """Send a task to the process."""
        self.pipe.send(task)
        self.n_owed += 1

    def take(self) -> Done:
        """Return the result of the process."""
        try:
            failed, found = self.pipe.recv()
        except (EOFError, ConnectionError):
            raise UsageError(
                "a worker process was killed, perhaps for lack of memory; run again with fewer --workers to continue"
            ) from None
        self.n_owed -= 1
        if failed:
            raise found
        done: Done = found
        return done

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.pipe.close()
        self._process.terminate()
        self._process.join()


def _serve(work: Callable[..., object], pipe: Connection) -> None:
    """Work on tasks until the pipe is closed."""
    with suppress(EOFError, ConnectionError):
        while True:
            pipe.send(_tried(work, pipe.recv()))


def _tried(work: Callable[..., object], task: object) -> tuple[bool, object]:
    """Whether the task failed, and its result or error."""
    try:
        return False, work(task)
    except (UsageError, GeodataError, OSError, MemoryError) as error:
        return True, error
    except Exception as error:  # a bug, which the waiting process reports as one
        return True, RuntimeError(repr(error))
