"""Times at which looking for garbage is wasted: where very many objects are made, and nearly all of them stay."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_collection"]


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect no garbage for as long as the block lasts. Reference counts still free what they always do.

    Threads may hold several such blocks at once: collection begins again when the one that stopped it ends.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
