"""How long work tells how far it is: a plain callable, so that nothing here knows a terminal."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with the stage's name, the steps done and the steps in all."""


def silent(_stage: str, _done: int, _total: int) -> None:
    """Report nothing."""
