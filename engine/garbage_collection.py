"""Pausing garbage collection while very many objects are made and nearly all of them are kept."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_collection"]


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause garbage collection during the block. Reference counting still frees objects as usual.

    Threads may be in several such blocks at once: collection resumes when the block that stopped it ends.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
