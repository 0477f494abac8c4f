"""The benchmarks that open a page, at their smallest size, in the browser of the other tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.benchmark_runs import benchmark_names, check_results, run_smallest

pytestmark = [pytest.mark.browser]


@pytest.mark.parametrize("name", benchmark_names(in_browser=True))
def test_a_benchmark_of_the_page_runs_at_its_smallest_size(
    name: str, browser: Any, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import chromium

    @contextmanager
    def shared() -> Iterator[Any]:
        yield browser

    monkeypatch.setattr(chromium, "browsing", shared)
    check_results(name, run_smallest(name, request, tmp_path), tmp_path)
