"""Every place where mypy is told to look away says which finding it means, and why."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("engine", "geodata", "mapapp", "commutemap", "tests", "benchmarks")
MARK = re.compile(r"# type: ignore\b")
WITH_REASON = re.compile(r"# type: ignore\[[a-z, -]+\]  # \w+")


def marks(path: Path) -> list[str]:
    """The comments of a file that silence mypy, each with its line number."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return [
        f"{path.relative_to(ROOT)}:{token.start[0]}: {token.string}"
        for token in tokens
        if token.type == tokenize.COMMENT and MARK.match(token.string)
    ]


def test_every_ignored_finding_has_its_code_and_reason() -> None:
    found = [mark for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") for mark in marks(path)]
    assert found
    assert [mark for mark in found if not WITH_REASON.search(mark)] == []
