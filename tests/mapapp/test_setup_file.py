"""A saved view opens as it was, and no other file does harm."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from mapapp.callbacks.setup_file import MAX_BYTES, query_of
from mapapp.errors import UsageError


def file(content: bytes) -> dict[str, Any]:
    return {"name": "x", "size": len(content), "content": base64.b64encode(content).decode()}


def test_a_saved_view_gives_its_query() -> None:
    setup = {"commutemap": "setup", "version": 1, "query": "?area=county:1"}
    assert query_of(file(json.dumps(setup).encode())) == "?area=county:1"


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        {},
        {"content": 5},
        {"content": "not base64!"},
        file(b"\xff\xfe"),
        file(b"{}"),
        file(b"[1]"),
        file(b'{"commutemap": "setup", "query": 5}'),
        file(b"[" * 100_000),
        {"content": "A" * (2 * MAX_BYTES + 4)},
    ],
)
def test_other_files_are_refused_in_one_line(given: Any) -> None:
    with pytest.raises(UsageError) as refused:
        query_of(given)
    assert "\n" not in str(refused.value)
