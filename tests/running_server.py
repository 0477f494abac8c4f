"""A server of the program in a thread of this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from waitress import wasyncore


@contextmanager
def running(server: Any, address: str) -> Iterator[str]:
    """Run what `listen` returned; yields the address without its last slash. All threads have ended afterwards."""
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield address.rstrip("/")
    finally:
        server.task_dispatcher.shutdown()
        with server.trigger.lock:  # otherwise an earlier pull could close the trigger before this one
            server.trigger.thunks.append(
                lambda: wasyncore.close_all(server._map)
            )  # in the server's own thread
            server.trigger.pull_trigger()
        thread.join(timeout=5)
        assert not thread.is_alive()
