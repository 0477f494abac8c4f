"""How long-running work reports its progress: by a plain callable, so that nothing here depends on a terminal."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with the stage's name, the steps done and the total number of steps."""


def silent(_stage: str, _done: int, _total: int) -> None:
    """Report nothing."""
