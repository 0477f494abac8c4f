"""What every state of a page must pass: axe-core finds nothing serious, nothing is too wide or too small to touch."""

from __future__ import annotations

from typing import Final

from tests.browser.conftest import Visit

TOUCH_PX: Final = 44
_SMALL_TARGETS: Final = """([least, within]) => {
  const targets = document.querySelector(within).querySelectorAll(
    "a[href], button:not([disabled]), input:not([type=hidden]), select, textarea, summary, [role=option], .modebar-btn"
  );
  const small = [];
  for (const target of targets) {
    if (target.closest("[inert]")) continue;
    if (!target.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const boxes = [target, ...(target.labels ?? [])].map((each) => each.getBoundingClientRect());
    const width = Math.max(...boxes.map((box) => box.width));
    const height = Math.max(...boxes.map((box) => box.height));
    const isForReadersOnly = Math.max(width, height) <= 1 || boxes[0].right < 0;
    const text = (element) => element.textContent.trim();
    const isWithinText = getComputedStyle(target).display === "inline" && text(target) !== text(target.parentElement);
    if (isForReadersOnly || isWithinText) continue;
    if (Math.min(width, height) < least - 0.5)
      small.push(`${target.outerHTML.slice(0, 160)}: ${Math.round(width)} x ${Math.round(height)}`);
  }
  return small;
}"""


def assert_accessible(visit: Visit, what: str) -> None:
    """Nothing that axe-core calls serious, and nothing wider than the window."""
    from axe_playwright_python.sync_playwright import Axe

    bad = [
        (one["id"], [node["html"][:200] for node in one["nodes"][:3]])
        for one in Axe().run(visit.page).response["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert bad == [], what
    visit.wait_until("() => document.documentElement.scrollWidth <= innerWidth")


def assert_large_enough_to_touch(visit: Visit, what: str, within: str = "body") -> None:
    """Every control within an element is at least 44 pixels wide and high, as success criterion 2.5.5 of WCAG 2.2 asks.

    Links within text are excepted there, too. The label of a control counts as part of it.
    """
    small = visit.page.evaluate(_SMALL_TARGETS, [TOUCH_PX, within])
    assert not small, f"{what}: {small}"
