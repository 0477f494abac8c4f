"""A section of text for the Method page and for reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A section of text: its title and paragraphs, with lists as tuples."""

    title: str
    parts: tuple[str | tuple[str, ...], ...]
