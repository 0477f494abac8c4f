"""Responses between processes arrive as they were sent, and a visitor who leaves is reported once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapapp.explore.processes import messages
from mapapp.explore.processes.messages import Left, receive_response, send_response
from mapapp.explore.processes.worker import Departure

HEADERS = [("Content-Type", "text/plain"), ("Vary", "a"), ("Vary", "b")]


@contextmanager
def connected() -> Iterator[tuple[Connection, Connection]]:
    ours, theirs = Pipe()
    with ours, theirs:
        yield ours, theirs


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Do some work on another thread during the block."""
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join(30)
        assert not thread.is_alive()


def received(parts: list[bytes]) -> tuple[bytes, bool]:
    """A response after it was sent, and whether it came in a file."""
    with (
        connected() as (ours, theirs),
        beside(lambda: send_response(theirs, 200, HEADERS, parts)),
    ):
        found = receive_response(ours, lambda: False)
        assert (found.status, list(found.headers)) == (200, HEADERS)
        if isinstance(found.body, bytes):
            return found.body, False
        with found.body as file:
            return file.read(), True


@settings(max_examples=60, deadline=None)
@given(parts=st.lists(st.binary(max_size=40), max_size=8), held=st.integers(1, 60), part=st.integers(1, 20))
def test_parts_arrive_in_order(parts: list[bytes], held: int, part: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(messages, "_HELD_BYTES", held)
        patch.setattr(messages, "_PART_BYTES", part)
        body, is_file = received(parts)
    assert body == b"".join(parts)
    assert is_file == (len(body) >= held)


def test_a_long_response_is_not_held_in_memory() -> None:
    long = [bytes([n]) * (3 << 20) for n in range(4)]
    assert received(long) == (b"".join(long), True)


def test_a_process_that_ends_in_the_middle_is_noticed() -> None:
    with connected() as (ours, theirs):
        theirs.send(messages.Answered(200, (), b"beginning", has_more=True))
        theirs.close()
        with pytest.raises(EOFError):
            receive_response(ours, lambda: False)


def test_a_visitor_who_leaves_is_reported_once() -> None:
    departure: list[bool] = []

    def work(theirs: Connection) -> None:
        said = Departure(theirs, threading.Event())
        while not said():
            pass
        departure.append(said())
        send_response(theirs, 400, [], [b"left"])

    with connected() as (ours, theirs), beside(lambda: work(theirs)):
        assert receive_response(ours, lambda: True).body == b"left"
        assert theirs.recv() == Left()
        assert not theirs.poll(0.5)
    assert departure == [True]


def test_nobody_has_left_until_it_is_said_or_the_process_ends() -> None:
    with connected() as (_, theirs):
        ending = threading.Event()
        assert not Departure(theirs, ending)()
        ending.set()
        assert Departure(theirs, ending)()
