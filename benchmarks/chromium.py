"""The Chromium of the benchmarks that measure or photograph a page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.browser.conftest import FLAGS, MAP_AT_REST, PATIENCE_MS, find_chromium

__all__ = ["MAP_AT_REST", "PATIENCE_MS", "browsing"]


@contextmanager
def browsing() -> Iterator[Any]:
    """Yield a Playwright browser; closed at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        yield browser
        browser.close()
