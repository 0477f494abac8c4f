"""Work beside a server ends before the process does."""

import subprocess
import sys

BEGIN = """
import atexit, sys, threading
from mapapp.explore.background import run_in_background
"""


def printed(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_the_process_asks_the_work_to_stop_and_waits_for_it() -> None:
    code = """
begun, stopping = threading.Event(), threading.Event()
def work():
    print("begun", flush=True)
    begun.set()
    stopping.wait()
    print("ended", flush=True)
run_in_background(work, stop=stopping.set)
begun.wait()
print("exiting", flush=True)
"""
    assert printed(code) == ["begun", "exiting", "ended"]


def test_work_that_has_ended_is_not_asked_to_stop() -> None:
    code = """
done = threading.Event()
run_in_background(done.set, stop=lambda: print("asked"))
done.wait()
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join()
"""
    assert printed(code) == []
