"""Limits of the listening server: connections, bodies and deadlines, all counted and none timed."""

from __future__ import annotations

import inspect
import resource
import socket
import threading
import time
from contextlib import ExitStack, suppress
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any, cast

import pytest
from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask, ThreadedTaskDispatcher, WSGITask

from mapapp.base.errors import UsageError
from mapapp.explore.listener import server as listener
from mapapp.explore.listener.channel import Channel
from mapapp.explore.listener.connections import Connection
from mapapp.explore.listener.gate import UnsentBytes
from mapapp.explore.listener.limits import Limits, affordable_connections
from mapapp.explore.listener.server import FairQueue
from tests.explore.listening import (
    GET,
    OTHER_CLIENT,
    Listening,
    is_closed,
    listening,
    read_all,
    read_answer,
    status,
    temporary_bytes,
    wait_until,
)


def head(length: int, path: str = "/upload", more: str = "") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: here\r\nContent-Length: {length}\r\n{more}\r\n".encode()


def crowd(stack: ExitStack, server: Listening, n: int, client: str = "127.0.0.1") -> list[socket.socket]:
    return [stack.enter_context(server.connect(client)) for _ in range(n)]


# Connections


def test_300_connections_of_one_address_are_all_answered() -> None:
    with listening() as server, ExitStack() as stack:
        office = crowd(stack, server, 300)
        for each in office:
            each.sendall(GET)
        assert [read_answer(each)[0] for each in office] == [200] * 300
        server.wait_for("connections", 300)


def test_1100_idle_connections_of_one_address_leave_room_for_others() -> None:
    if affordable_connections(2_000) < 2_000:
        pytest.skip("this system allows too few open files")
    with listening() as server, ExitStack() as stack:
        crowd(stack, server, 1_100, OTHER_CLIENT)
        with server.connect() as visitor:
            visitor.sendall(GET)
            assert read_answer(visitor)[0] == 200
        server.wait_for("connections", 400)


def test_above_its_limit_an_address_loses_the_connection_that_has_waited_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wake = listener.Server.pull_trigger

    def wake_late(server: listener.Server) -> None:
        """Leave time for a connection between a response's end and the last lines of its thread."""
        time.sleep(0.2)
        wake(server)

    monkeypatch.setattr(listener.Server, "pull_trigger", wake_late)
    with listening(limits={"connections_per_address": 3}) as server, ExitStack() as stack:
        server.gate.settling_s = 0
        first, second, third = crowd(stack, server, 3)
        server.wait_for("connections", 3)
        first.sendall(GET)
        assert read_answer(first)[0] == 200
        fourth = crowd(stack, server, 1)[0]
        wait_until(lambda: is_closed(second), "the second connection has waited longest")
        for each in (first, third, fourth):
            each.sendall(GET)
            assert read_answer(each)[0] == 200


def test_idle_connections_are_closed_before_half_sent_requests() -> None:
    with listening(limits={"connections_per_address": 3}) as server, ExitStack() as stack:
        server.gate.settling_s = 0
        sending, reading, idle = crowd(stack, server, 3)
        sending.sendall(head(100) + b"half")
        reading.sendall(GET[:20])
        server.wait_for("requests", 1)
        crowd(stack, server, 1)
        wait_until(lambda: is_closed(idle), "the idle connection goes first")
        assert not is_closed(reading)
        crowd(stack, server, 1)  # replaces the idle one that came before it
        sending.sendall(b"x" * 96)
        assert read_answer(sending)[0] == 200


def test_connections_that_came_just_now_are_not_replaced() -> None:
    with listening(limits={"connections_per_address": 3}) as server, ExitStack() as stack:
        server.gate.settling_s = 3_600
        kept = crowd(stack, server, 3)
        assert status(read_all(crowd(stack, server, 1)[0])) == 503
        assert [is_closed(each) for each in kept] == [False] * 3


def test_the_whole_limit_is_at_the_cost_of_the_client_with_most_connections() -> None:
    with listening(limits={"connections": 10}) as server, ExitStack() as stack:
        server.gate.settling_s = 0
        few = crowd(stack, server, 2)
        server.wait_for("connections", 2)
        many = crowd(stack, server, 20, OTHER_CLIENT)
        few += crowd(stack, server, 2)
        wait_until(lambda: sum(is_closed(each) for each in many) == 14, "14 of the many are closed")
        for each in few:
            each.sendall(GET)
            assert read_answer(each)[0] == 200


def slow_for_the_other_client() -> tuple[threading.Event, Any]:
    """An application that answers OTHER_CLIENT only after the event."""
    go_on = threading.Event()

    def slow(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if environ["REMOTE_ADDR"] == OTHER_CLIENT:
            go_on.wait(timeout=60)
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    return go_on, slow


def test_a_full_server_closes_connections_in_use_of_the_client_with_most() -> None:
    go_on, slow = slow_for_the_other_client()
    with listening(application=slow, limits={"connections": 6}, threads=8) as server, ExitStack() as stack:
        for each in crowd(stack, server, 6, OTHER_CLIENT):
            each.sendall(GET)
        server.wait_for("requests", 6)
        with server.connect() as visitor:
            visitor.sendall(GET)
            assert read_answer(visitor)[0] == 200
        go_on.set()


def test_connections_of_a_trusted_proxy_have_no_limit_of_their_own() -> None:
    from mapapp.explore.listener.proxies import TrustedProxies

    with (
        listening(limits={"connections_per_address": 3}, proxies=TrustedProxies(["127.0.0.1"])) as server,
        ExitStack() as stack,
    ):
        for each in crowd(stack, server, 20):
            each.sendall(GET)
            assert read_answer(each)[0] == 200
        server.wait_for("connections", 20)


@pytest.mark.parametrize("name", ["connections", "head_s", "uploads"])
def test_a_limit_is_more_than_nothing(name: str) -> None:
    with pytest.raises(UsageError, match=f"limit {name} is 0; it must be more than 0"):
        Limits(**{name: 0})


def test_too_few_open_files_mean_fewer_connections(monkeypatch: pytest.MonkeyPatch) -> None:

    def refuse(*_given: Any) -> None:
        raise ValueError("not allowed to raise the limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (1_024, 4_096))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert affordable_connections(2_000) == (1_024 - 256) // 2
    assert affordable_connections(300) == 300


def test_threads_take_the_clients_in_turn() -> None:
    queue = FairQueue(most_threads=6)
    for client, number in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("b", 6)]:
        queue.append(cast(Any, SimpleNamespace(requests=[SimpleNamespace(key=client)], number=number)))
    assert len(queue) == 6
    assert [cast(Any, queue.popleft().channel).number for _ in range(6)] == [1, 4, 5, 2, 6, 3]
    assert not queue


def test_one_client_has_half_of_the_threads_at_most() -> None:
    go_on, slow = slow_for_the_other_client()
    with listening(application=slow, threads=4) as server, ExitStack() as stack:
        held = crowd(stack, server, 10, OTHER_CLIENT)
        for each in held:
            each.sendall(GET)
        server.wait_for("requests", 10)
        with server.connect() as visitor:
            for _ in range(5):
                visitor.sendall(GET)
                assert read_answer(visitor)[0] == 200
        go_on.set()
        assert [read_answer(each)[0] for each in held] == [200] * 10


# Bodies


def test_bodies_that_no_address_takes_are_refused_before_they_are_sent() -> None:
    before = temporary_bytes()
    with listening() as server, ExitStack() as stack:
        for each in crowd(stack, server, 30):
            each.sendall(head(32 << 20, "/nowhere"))
            answer = read_all(each)
            assert status(answer) == 413
            assert answer.endswith(b"413 Request Entity Too Large: this address accepts no request body\n")
        assert server.gate.counts["requests"] == 0
        assert server.asked == []
    assert temporary_bytes() == before


def test_unfinished_uploads_of_all_addresses_are_limited() -> None:
    before = temporary_bytes()
    with listening(limits={"uploads": 3, "uploads_per_address": 2}) as server, ExitStack() as stack:
        senders = crowd(stack, server, 5) + crowd(stack, server, 5, OTHER_CLIENT)
        for each in senders[:2]:
            each.sendall(head(8 << 20) + b"x" * (4 << 20))
        server.wait_for("uploads", 2)
        for each in senders[2:5]:
            each.sendall(head(8 << 20))
            assert status(read_all(each)) == 503
        senders[5].sendall(head(8 << 20) + b"x" * (4 << 20))
        server.wait_for("uploads", 3)
        for each in senders[6:]:
            each.sendall(head(8 << 20))
            assert status(read_all(each)) == 503
        assert temporary_bytes() - before <= 3 * (8 << 20)
        senders[0].sendall(b"x" * (4 << 20))
        assert read_answer(senders[0])[0] == 200
        for each in senders:
            each.close()
        server.wait_for("uploads", 0)
        server.wait_for("connections", 0)
    assert temporary_bytes() == before


def test_small_bodies_are_held_in_memory_within_a_limit_at_the_cost_of_the_largest_sender() -> None:
    before = temporary_bytes()
    limits = {"unfinished_bytes": 3_000_000, "small_body_bytes": 1_000_000}
    with listening(limits=limits) as server, ExitStack() as stack:
        honest = server.connect()
        stack.enter_context(honest)
        honest.sendall(head(1_000) + b"x" * 500)
        server.wait_for("unfinished_bytes", 500)
        greedy = crowd(stack, server, 20, OTHER_CLIENT)
        for each in greedy:
            with suppress(ConnectionError):
                each.sendall(head(1_000_000) + b"x" * 900_000)
        wait_until(lambda: sum(is_closed(each) for each in greedy) == 17, "17 of 20 senders are closed")
        assert server.gate.counts["unfinished_bytes"] <= 3_000_000
        assert temporary_bytes() == before
        honest.sendall(b"x" * 500)
        assert read_answer(honest)[0] == 200


@pytest.mark.parametrize(
    ("request_bytes", "code"),
    [
        (head(33 << 20), 413),
        (head(5, "/upload", "Expect: 100-continue\r\n").replace(b"/upload", b"/no"), 413),
        (head(5).replace(b"POST", b"PUT"), 413),
        (head(5).replace(b"POST", b"GET"), 413),
        (b"POST /upload HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"POST /no HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n", 413),
        (b"POST /upload HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"POST /upload HTTP/1.1\r\nHost: here\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /upload HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
        (b"POST /upload HTTP/1.1\r\nHost: here\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: here\r\nX: " + b"x" * 200_000, 431),
        (b"GET / HTTP/1.1\r\nHost: here\r\n" + b"X: y\r\n" * 40_000, 431),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (b"GET /\r\nX\r\n\r\n", 400),
    ],
)
def test_a_refusal_is_one_line_and_the_end_of_the_connection(request_bytes: bytes, code: int) -> None:
    with listening() as server, server.connect() as sock:
        with suppress(ConnectionError):  # the server may refuse before all has been sent
            sock.sendall(request_bytes)
        answer = read_all(sock)
        assert status(answer) == code
        lines, _, body = answer.partition(b"\r\n\r\n")
        assert body.count(b"\n") == 1
        assert b"Server:" not in lines
        assert b"waitress" not in answer
        sock.close()
        server.wait_for("connections", 0)
        assert server.gate.counts == {"connections": 0, "requests": 0, "uploads": 0, "unfinished_bytes": 0}
        assert server.asked == []


def test_a_client_that_sends_on_can_read_its_refusal_and_is_disconnected_then() -> None:
    with listening() as server, server.connect() as sock:
        sock.sendall(head(32 << 20, "/nowhere") + b"x" * (1 << 20))
        assert status(read_all(sock)) == 413
        server.wait_for("connections", 0)  # although the client has not closed
        assert server.asked == []


def test_what_follows_a_refused_head_is_not_taken_for_requests() -> None:
    with listening() as server:
        answer = server.send(head(10_000, "/nowhere") + GET * 50)
        assert answer.count(b"HTTP/1.1 ") == 1
        assert server.asked == []


def test_refusals_need_no_thread() -> None:
    """All threads are busy, and a body that is not accepted is refused nevertheless."""
    go_on = threading.Event()

    def slow(_environ: Any, start_response: Any) -> list[bytes]:
        go_on.wait(timeout=60)
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    with listening(application=slow) as server, ExitStack() as stack:
        for each in crowd(stack, server, 6):
            each.sendall(GET)
        server.wait_for("requests", 6)
        assert status(server.send(head(5, "/nowhere"))) == 413
        go_on.set()
        server.wait_for("requests", 0)


def test_a_body_is_invited_only_where_it_is_accepted() -> None:
    with listening() as server, server.connect() as sock:
        sock.sendall(head(5, more="Expect: 100-continue\r\n"))
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"12345")
        assert read_answer(sock)[0] == 200
        assert server.asked[-1]["body"] == 5


def test_a_request_without_a_body_waits_for_no_invitation() -> None:
    with listening() as server, server.connect() as sock:
        for _ in range(2):
            sock.sendall(GET[:-2] + b"Expect: 100-continue\r\n\r\n")
            assert read_answer(sock)[0] == 200


# Deadlines


@pytest.mark.parametrize("beginning", [GET[:20], head(1_000), b"\r\n"], ids=["head", "body", "blank"])
def test_a_byte_now_and_then_does_not_extend_a_deadline(beginning: bytes) -> None:
    with listening(limits={"head_s": 0.3, "body_s": 0.3}) as server, server.connect() as sock:
        sock.sendall(beginning)
        sock.settimeout(0.05)
        answer = b""
        while not answer:
            with suppress(TimeoutError):
                answer = read_all(sock)
                break
            with suppress(ConnectionError):
                sock.sendall(b"x")
        assert status(answer) == 408
        sock.close()
        server.wait_for("connections", 0)
        assert server.gate.counts["requests"] == 0


def test_blank_lines_do_not_keep_an_idle_connection() -> None:
    with listening(limits={"idle_s": 0.3}) as server, server.connect() as sock:
        while not is_closed(sock):
            with suppress(ConnectionError):
                sock.sendall(b"\r\n\r\n")
            time.sleep(0.02)
        server.wait_for("connections", 0)


def test_a_client_that_does_not_read_is_disconnected_and_its_thread_is_free() -> None:
    def long(_environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Length", str(64 << 20))])
        return [bytes(1 << 20)] * 64

    with listening(application=long, limits={"stalled_s": 1}, threads=1) as server, ExitStack() as stack:
        for _ in range(2):
            stalled = stack.enter_context(server.connect(receive_bytes=4_096))
            stalled.sendall(GET)
        server.wait_for("requests", 2)
        server.wait_for("connections", 0)
        server.wait_for("requests", 0)
        with server.connect() as reader:
            reader.sendall(GET)
            n_bytes = 0
            while n_bytes < 64 << 20:
                n_bytes += len(reader.recv(1 << 20))


def test_unsent_responses_are_within_a_limit() -> None:
    def long(_environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Length", str(12 << 20))])
        return [bytes(12 << 20)]

    with listening(application=long, limits={"unsent_bytes": 20 << 20}) as server, ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(server.connect(receive_bytes=4_096)).sendall(GET)
        wait_until(lambda: 1 <= server.gate.counts["connections"] <= 3, "the rest is disconnected")


def test_a_response_is_not_queued_beyond_the_limit_on_unsent_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        listener, "_CHECK_S", 3_600.0
    )  # nothing but the responses themselves may apply the limit
    queued: list[int] = []
    started: list[str] = []

    def long(_environ: Any, start_response: Any) -> list[bytes]:
        started.append(_environ["REMOTE_PORT"])
        start_response("200 OK", [("Content-Length", str(12 << 20))])
        return [bytes(12 << 20)]

    class Recorded(Channel):
        def write_soon(self, data: Any) -> int:
            n_bytes = super().write_soon(data)
            channels = list(self.server.active_channels.values())
            queued.append(sum(channel.total_outbufs_len for channel in channels))
            return n_bytes

    monkeypatch.setattr(listener.Server, "channel_class", Recorded)
    limits = {"unsent_bytes": 14 << 20}  # two responses never fit, whatever the system's buffers take of one
    with listening(application=long, limits=limits, threads=8) as server, ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(server.connect(receive_bytes=4_096)).sendall(GET)
        wait_until(lambda: len(started) == 8, "every request is worked on")
        server.wait_for("connections", 1)
        assert max(queued) <= 14 << 20
    assert server.gate.unsent.total == 0


def test_room_is_made_only_for_parts_that_still_wait() -> None:
    unsent = UnsentBytes(14)
    first, second, third = (cast(Connection, object()) for _ in range(3))
    assert unsent.take(first, 12)
    assert not unsent.take(second, 12)
    assert unsent.in_the_way() == [first]
    assert not unsent.take(second, 12)  # it looks again before the first connection is closed
    unsent.give(first)
    assert unsent.in_the_way() == []
    assert unsent.take(second, 12)
    assert unsent.in_the_way() == []
    assert not unsent.take(third, 12)
    unsent.stop_waiting(third)  # its client has left
    assert unsent.in_the_way() == []
    assert not unsent.take(third, 15)  # never fits
    assert unsent.in_the_way() == []
    assert unsent.total == 12


def test_a_response_longer_than_the_limit_is_not_sent() -> None:
    def long(_environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Length", str(3 << 20))])
        return [bytes(3 << 20)]

    with listening(application=long, limits={"unsent_bytes": 2 << 20}) as server:
        assert len(server.send(GET)) < 2 << 20
        server.wait_for("requests", 0)


# What the subclasses rely on


def test_waitress_has_the_internals_that_are_overridden() -> None:
    assert version("waitress").split(".")[0] == "3"
    overridden = {
        HTTPChannel: ("received", "send", "handle_close", "del_channel", "service"),
        HTTPRequestParser: ("received", "parse_header", "close"),
        TcpWSGIServer: (
            "run",
            "readable",
            "handle_accept",
            "add_task",
            "maintenance",
            "fix_addr",
        ),
        WSGITask: ("get_environment",),
        ErrorTask: ("execute", "set_close_on_finish", "write"),
    }
    for owner, names in overridden.items():
        assert [name for name in names if not callable(getattr(owner, name, None))] == []
    assert list(inspect.signature(HTTPChannel.__init__).parameters)[1:] == [
        "server",
        "sock",
        "addr",
        "adj",
        "map",
    ]
    assert list(inspect.signature(HTTPRequestParser.__init__).parameters) == ["self", "adj"]
    used = {
        HTTPChannel.received: ("self.parser_class(self.adj)", "self.server.add_task(self)", "requests_lock"),
        HTTPChannel.service: ("self.requests[0]", "request.error", "request.close()", "close_when_flushed"),
        HTTPRequestParser.received: ("headers_finished", "body_bytes_received", "except ParsingError"),
        TcpWSGIServer.run: ("map=self._map", "self.task_dispatcher.shutdown()"),
        wasyncore.poll2: ("obj.readable()", "map.get(fd)"),
        ThreadedTaskDispatcher.handler_thread: ("self.queue.popleft()", "not self.queue"),
        ThreadedTaskDispatcher.add_task: ("self.queue.append(task)", "len(self.queue)"),
    }
    for function, texts in used.items():
        source = inspect.getsource(function)
        assert [text for text in texts if text not in source] == [], function.__qualname__
