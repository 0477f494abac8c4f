"""How an answer is looked at, which is no part of a question."""

from __future__ import annotations

Bounds = tuple[float, float, float, float]
"""West, south, east and north of what a map shows, degrees."""
