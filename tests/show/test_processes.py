"""Tasks of several processes, of which the one that asks is the first."""

from __future__ import annotations

import os
import signal
import time

import pytest

from mapapp.base.errors import UsageError
from mapapp.show.reports.batch import each_done


def numbered(task: int) -> tuple[int, int]:
    """A task's number and its process."""
    return task, os.getpid()


class FailsElsewhere:
    """Work that fails in every process but the one that made it."""

    def __init__(self, number: int | None) -> None:
        self.home = os.getpid()
        self.number = number

    def __call__(self, task: int) -> int:
        """Return the task, raise, or end the process by the signal."""
        time.sleep(0.2)
        if os.getpid() == self.home:
            return task
        if self.number is not None:
            os.kill(os.getpid(), self.number)
        raise UsageError(f"task {task} does not work")


@pytest.mark.parametrize("n_tasks", [0, 1, 12])
def test_every_task_is_done_once_by_this_process_and_another(n_tasks: int) -> None:
    found = dict(each_done(numbered, range(n_tasks), workers=2))
    assert sorted(found) == list(range(n_tasks))
    processes = set(found.values())
    assert len(processes) == min(n_tasks, 2)
    assert n_tasks == 0 or os.getpid() in processes


@pytest.mark.parametrize(
    ("number", "message"), [(None, "does not work"), (signal.SIGKILL, "a worker process was killed")]
)
def test_a_failure_in_another_process_stops_the_tasks(number: int | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        list(each_done(FailsElsewhere(number), range(60), workers=2))
