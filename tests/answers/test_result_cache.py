"""The cache of results: what it keeps, and that callers of several threads compute a result once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mapapp.base.result_cache import ResultCache
from mapapp.base.watch import Refused, Watch, watch_work


def test_the_least_recently_used_result_is_evicted_first() -> None:
    cache: ResultCache[str] = ResultCache(max_entries=2)
    cache.put("a", "A")
    cache.put("b", "B")
    assert cache.get("a") == "A"
    cache.put("c", "C")
    assert ("a" in cache, "b" in cache, "c" in cache) == (True, False, True)
    assert cache.get("b") is None
    cache.clear()
    assert len(cache) == 0


def test_results_are_kept_up_to_a_size_and_the_newest_however_large() -> None:
    cache: ResultCache[bytes] = ResultCache(max_size=10, size_of=len)
    cache.put("a", b"1234")
    cache.put("b", b"123456")
    assert len(cache) == 2
    cache.put("b", b"1")  # replaces its size, too
    cache.put("c", b"12345")
    assert len(cache) == 3
    cache.put("d", b"x" * 99)
    assert (len(cache), cache.get("d")) == (1, b"x" * 99)


def test_callers_of_several_threads_compute_a_result_once() -> None:
    cache: ResultCache[int] = ResultCache()
    calls: list[int] = []
    began, go_on = threading.Event(), threading.Event()

    def make() -> int:
        calls.append(1)
        began.set()
        assert go_on.wait(60)
        return 7

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(cache.get_or_make, "key", make)
        assert began.wait(60)
        others = [pool.submit(cache.get_or_make, "key", make) for _ in range(3)]
        assert cache.get_or_make("another key", lambda: 8) == 8  # does not wait for them
        go_on.set()
        assert [one.result(60) for one in (first, *others)] == [7] * 4
    assert len(calls) == 1


def test_a_failure_is_not_kept_and_the_next_caller_tries_again() -> None:
    cache: ResultCache[int] = ResultCache()

    def fail() -> int:
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        cache.get_or_make("key", fail)
    assert cache.get_or_make("key", lambda: 3) == 3


def test_a_computation_may_ask_for_other_results_and_for_its_own() -> None:
    cache: ResultCache[int] = ResultCache()

    def make() -> int:
        return cache.get_or_make("part", lambda: 2) + cache.get_or_make("whole", lambda: 3)

    assert cache.get_or_make("whole", make) == 5
    assert cache.get("part") == 2


def test_a_caller_whose_visitor_has_left_stops_waiting() -> None:
    cache: ResultCache[int] = ResultCache()
    began, go_on = threading.Event(), threading.Event()

    def make() -> int:
        began.set()
        assert go_on.wait(60)
        return 1

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(cache.get_or_make, "key", make)
        assert began.wait(60)
        with watch_work(Watch(lambda: True, 60)), pytest.raises(Refused):
            cache.get_or_make("key", lambda: 2)
        go_on.set()
        assert first.result(60) == 1
    assert cache.get("key") == 1
