"""Style sheets take colors, sizes of type, and most spaces from one file, and its colors can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.show.test_contrast import TEXT, contrast

ASSETS = Path(__file__).parent.parent / "assets"
TOKENS = (ASSETS / "tokens.css").read_text(encoding="utf-8")
SHEETS = [path for path in sorted(ASSETS.glob("*.css")) if path.name != "tokens.css"]
_PICTURE = re.compile(r'url\("[^"]*"\)')
_HEX = re.compile(r":[^;{}]*#[0-9a-fA-F]{3,8}\b[^;{}]*[;}]")
_SIZE = re.compile(r"font-size: ([^;}]+)|font: ([^/;}]+)/")
_IN_SCALE = re.compile(r"var\(--text-[a-z0-9]+\)( !important)?|[\d.]+em|inherit")


def declared(theme: str) -> dict[str, str]:
    """The tokens of a theme that are plain colors; dark has those of light that it leaves as they are."""
    light, _, dark = TOKENS.partition("@media screen")
    found = dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{3,6});", light))
    if theme == "dark":
        found |= dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{3,6});", dark))
    return {name: _six_digits(color) for name, color in found.items()}


def _six_digits(color: str) -> str:
    return f"#{2 * color[1]}{2 * color[2]}{2 * color[3]}" if len(color) == 4 else color


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda path: path.name)
def test_a_style_sheet_has_no_color_or_size_of_its_own(sheet: Path) -> None:
    text = _PICTURE.sub("", re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL))
    assert _HEX.findall(text) == []
    sizes = [plain or short for plain, short in _SIZE.findall(text)]
    assert [size for size in sizes if not _IN_SCALE.fullmatch(size.strip())] == []


def test_every_token_is_declared_and_used() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in SHEETS)
    used = set(re.findall(r"var\((--(?:text|space)-[\w-]+)", text))
    named = set(re.findall(r"(--(?:text|space)-[\w-]+):", TOKENS))
    assert used == named


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_on_every_ground(theme: str) -> None:
    colors = declared(theme)
    for ground in ("--paper", "--soft"):
        for text in ("--ink", "--quiet", "--link", "--home", "--work", "--stay", "--warn"):
            assert contrast(colors[text], colors[ground]) >= TEXT, (text, ground)
    assert contrast(colors["--ink"], colors["--note"]) >= TEXT
    for ground in ("--brand", "--workbench", "--alarm"):
        assert contrast(colors["--on-dark"], colors[ground]) >= TEXT, ground
