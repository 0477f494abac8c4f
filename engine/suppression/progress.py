"""How long computations report how far they are."""

from collections.abc import Callable

__all__ = ["Progress", "silent"]

Progress = Callable[[str, int, int], None]
"""Called with the stage, how many of its steps are done, and how many there are; 0 and 0 if nobody knows."""


def silent(_stage: str, _done: int, _total: int) -> None:
    """Report no progress."""
