"""The limit on the size of one question to a public server, checked before any work begins.

On the command line and in Python an area may have more steps (`mapapp.question.area_text`), because people spend their
own processor time there. Everything that reaches the server is checked: addresses of pages and files, clicks, drawings,
uploads and setups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from geodata.geography import area_shapes
from mapapp.base.errors import UsageError
from mapapp.question.area_text import DRAWN

MAX_PARTS: Final = 200
MAX_DRAWN_PARTS: Final = 20
MAX_VERTICES: Final = 5_000
_WITH_CORNERS: Final = ("shape", "line", "near")
_REMEDY: Final = "remove some, or use the command commutemap analyze, which accepts more"


class TooCostly(UsageError):
    """A question is larger than a public server accepts."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The size of a question.

    Attributes
    ----------
    n_steps : int
        Number of steps of both areas together.
    n_drawn : int
        Number of circles, rings, boxes, shapes and corridors among them; each is compared with the blocks around it.
    n_vertices : int
        Number of corners of its shapes and lines.
    """

    n_steps: int
    n_drawn: int
    n_vertices: int


def cost_of(areas: Iterable[str]) -> Cost:
    """Return the cost of areas or single steps, given as text; invalid text is allowed and nothing is decoded."""
    steps = [step.lstrip("+-&").partition(":") for area in areas for step in area.split()]
    shapes = [text.rpartition(":")[2] for kind, _, text in steps if kind in _WITH_CORNERS]
    return Cost(
        n_steps=len(steps),
        n_drawn=sum(kind in DRAWN for kind, _, _ in steps),
        # A line may also be given as numbers, two for each corner.
        n_vertices=sum(max(area_shapes.n_vertices(text), text.count(",") // 2) for text in shapes),
    )


def check_cost(areas: Iterable[str]) -> None:
    """Raise TooCostly if areas are larger than one question may be."""
    cost = cost_of(areas)
    for count, most, what in (
        (cost.n_steps, MAX_PARTS, "parts in its areas"),
        (cost.n_drawn, MAX_DRAWN_PARTS, "drawn parts (circles, rings, boxes, shapes, and corridors)"),
        (cost.n_vertices, MAX_VERTICES, "corners in its drawn shapes and lines"),
    ):
        if count > most:
            raise TooCostly(
                f"this question has {count:,} {what}; this server accepts at most {most:,}: {_REMEDY}"
            )
