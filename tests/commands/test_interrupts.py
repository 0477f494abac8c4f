"""Signals that end a command, each in a process of its own."""

import signal
import subprocess
import sys

import pytest

BEGIN = """
import gc, os, signal, sys, time
from mapapp.base.interrupts import raise_on_interrupt, ignore_interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
def press():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
"""


def said(code: str) -> tuple[str, str]:
    """What a program prints, on both streams; one that hangs shows where."""
    with subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-c", BEGIN + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)
            out, err = process.communicate()
    return out, err


def test_a_second_ctrl_c_does_not_interrupt_the_cleanup() -> None:
    code = """
raise_on_interrupt()
try:
    try:
        press()
    finally:
        press()
        press()
        print("cleaned up")
except KeyboardInterrupt:
    print("stopped")
"""
    assert said(code) == ("cleaned up\nstopped\n", "")


@pytest.mark.parametrize(
    "dropped",
    [
        "class Dropping:\n    def __del__(self): press()\nDropping()",
        "def collected(phase, info):\n    gc.callbacks.clear()\n    press()\n"
        "gc.callbacks.append(collected)\ngc.collect()",
    ],
    ids=["finalizer", "collector"],
)
def test_an_interrupt_that_python_drops_is_raised_again(dropped: str) -> None:
    code = f"""
raise_on_interrupt()
try:
    exec({dropped!r})
    print("dropped")
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    print("stopped")
"""
    out, err = said(code)
    assert out.endswith("stopped\n")
    assert err == ""


def test_an_ignored_signal_stays_ignored() -> None:
    code = """
signal.signal(signal.SIGINT, signal.SIG_IGN)
raise_on_interrupt()
press()
print("went on")
"""
    assert said(code) == ("went on\n", "")


def test_a_finished_command_is_not_interrupted() -> None:
    assert said("raise_on_interrupt(); ignore_interrupts(); press(); print('done')") == ("done\n", "")


def test_another_error_that_python_drops_is_shown() -> None:
    code = """
raise_on_interrupt()
class Failing:
    def __del__(self): raise ValueError("shown")
Failing()
"""
    out, err = said(code)
    assert out == ""
    assert "ValueError: shown" in err


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=lambda each: str(each),
)
def test_every_signal_that_ends_a_process_cleans_up(number: int, code: int) -> None:
    program = f"""
from mapapp.base.interrupts import exit_code
raise_on_interrupt()
try:
    try:
        os.kill(os.getpid(), {number:d})
        time.sleep(60)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
        press()
        print("cleaned up")
except KeyboardInterrupt as error:
    print(exit_code(error))
"""
    assert said(program) == (f"cleaned up\n{code}\n", "")


def test_a_hangup_that_nohup_ignores_stays_ignored() -> None:
    code = """
signal.signal(signal.SIGHUP, signal.SIG_IGN)
raise_on_interrupt()
os.kill(os.getpid(), signal.SIGHUP)
time.sleep(0.2)
print("went on")
"""
    assert said(code) == ("went on\n", "")


def test_a_signal_that_python_drops_keeps_its_exit_code() -> None:
    code = """
from mapapp.base.interrupts import exit_code
raise_on_interrupt()
class Dropping:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.2)
try:
    Dropping()
    while True:
        time.sleep(0.01)
except KeyboardInterrupt as error:
    print(exit_code(error))
"""
    assert said(code) == ("143\n", "")
