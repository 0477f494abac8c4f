"""The types of a JSON document before its fields are checked."""

from collections.abc import Mapping
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object: `json.loads` does not type what it reads, so the code that reads a field checks its value."""
JsonMapping: TypeAlias = Mapping[str, Any]
"""The same, where it is only read."""
