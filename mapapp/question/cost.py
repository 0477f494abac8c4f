"""What one visitor may ask of a public server in one question, counted before any work begins.

An area on the command line or in Python may have more steps (`mapapp.question.area_text`): there, people spend their
own processor time. Every way into the server counts here: addresses of pages and files, clicks, drawings, uploads,
setups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from geodata import area_shapes
from mapapp.errors import UsageError
from mapapp.question.area_text import DRAWN

MAX_PARTS: Final = 200
MAX_DRAWN_PARTS: Final = 20
MAX_VERTICES: Final = 5_000
_REMEDY: Final = "remove some, or use the command commutemap analyze, which takes more"


class TooCostly(UsageError):
    """A question costs more than a public server gives to one visitor at a time."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What grows with a question.

    Attributes
    ----------
    n_steps : int
        Steps of its areas, both together.
    n_drawn : int
        Circles, rings, boxes and shapes among them, each of which is compared with the blocks around it.
    n_vertices : int
        Corners of its shapes.
    """

    n_steps: int
    n_drawn: int
    n_vertices: int


def cost_of(areas: Iterable[str]) -> Cost:
    """Cost of areas or of single steps, as text; nothing is decoded, and nothing need be well written."""
    steps = [step.lstrip("+-&").partition(":") for area in areas for step in area.split()]
    shapes = [text for kind, _, text in steps if kind == "shape"]
    return Cost(
        n_steps=len(steps),
        n_drawn=sum(kind in DRAWN for kind, _, _ in steps),
        n_vertices=sum(map(area_shapes.n_vertices, shapes)),
    )


def check_cost(areas: Iterable[str]) -> None:
    """Raise TooCostly, in one line, if areas are more than one question may have."""
    cost = cost_of(areas)
    for count, most, what in (
        (cost.n_steps, MAX_PARTS, "parts in its areas"),
        (cost.n_drawn, MAX_DRAWN_PARTS, "drawn parts (circles, rings, boxes and shapes)"),
        (cost.n_vertices, MAX_VERTICES, "corners in its drawn shapes"),
    ):
        if count > most:
            raise TooCostly(
                f"this question has {count:,} {what}, and this server answers at most {most:,}: {_REMEDY}"
            )
