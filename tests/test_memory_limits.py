"""Every cache of a server has its limits from one module, and docs/serving.md states the total."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from geodata.geography import area_reader
from mapapp.base import memory_limits

ROOT = Path(__file__).parents[1]
SERVES = (
    *("mapapp/answers", "mapapp/question", "mapapp/show", "mapapp/explore"),
    *("mapapp/kinds/tables/read", "mapapp/kinds/tables/page"),
)


def test_caches_of_a_server_have_no_limits_of_their_own() -> None:
    limits = [
        f"{file}:{limit.value.lineno}: {ast.unparse(limit.value)}"
        for room in SERVES
        for file in sorted((ROOT / room).rglob("*.py"))
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and re.match(r"ResultCache\b", ast.unparse(call.func))
        for limit in call.keywords
        if limit.arg in ("max_entries", "max_size")
    ]
    assert limits
    assert [limit for limit in limits if " memory_limits." not in limit] == []


def test_the_documented_total_is_that_of_the_limits() -> None:
    documented = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    assert f"that is {memory_limits.most_bytes(1, 1) >> 20:,} MiB in all" in documented
    assert area_reader.MEMORY_BYTES == memory_limits.UPLOAD_PROCESS_BYTES
