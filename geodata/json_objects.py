"""JSON documents of stores: their types before their fields are checked, and how they are written."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object: `json.loads` does not type what it reads, so the code that reads a field checks its value."""
JsonMapping: TypeAlias = Mapping[str, Any]
"""The same, where it is only read."""


def document_text(content: Mapping[str, object]) -> str:
    """The text of a JSON document as stores have it."""
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
