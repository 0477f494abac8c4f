"""The page below a prefix, behind a proxy that removes it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mapapp.explore.server import create_app, listen
from tests.browser.conftest import PATIENCE_MS, Visit
from tests.explore.test_nginx import nginx
from tests.running_server import running


def test_the_map_works_below_a_prefix_that_the_proxy_removes(
    browser: Any, demo_release: Path, tmp_path: Path
) -> None:
    app = create_app([demo_release], prefix="/map/")
    server, inner = listen(app, port=0, trusted_proxies=["127.0.0.1"])
    port = int(re.findall(r":(\d+)/map/$", inner)[0])
    with running(server, inner), nginx(tmp_path, port, strips_prefix=True) as outer:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(PATIENCE_MS)
        visit = Visit(context.new_page(), f"{outer}/map")
        asked: list[str] = []
        visit.page.on("request", lambda request: asked.append(request.url))
        visit.page.on("pageerror", lambda error: visit.trouble.append(str(error)))
        visit.page.on(
            "response", lambda answer: visit.trouble.append(answer.url) if answer.status >= 400 else None
        )
        visit.go("/")
        visit.settle()
        visit.page.click("nav >> text=Method")
        visit.page.wait_for_selector(".text-page")
        assert visit.page.url.startswith(f"{outer}/map/method")
        context.close()
    assert visit.trouble == []
    ours = [url for url in asked if url.startswith("http")]
    assert len(ours) > 10
    assert [url for url in ours if not url.startswith(f"{outer}/map/")] == []
