"""Distance bands: which edges are allowed, and the label of each band.

Addresses, setup files, batch files, command options and Python all use this check.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from mapapp.base.errors import UsageError

EDGES_MI: Final = (10.0, 25.0, 50.0)
"""The default ends of distance bands."""
MAX_EDGES: Final = 20
MAX_EDGE_MI: Final = 25_000.0
"""No great-circle distance on Earth exceeds half of this."""
ALLOWED: Final = f"up to {MAX_EDGES} increasing distances in miles, above 0 and at most {MAX_EDGE_MI:,.0f}"


def check_edges(edges_mi: Iterable[float]) -> tuple[float, ...]:
    """Return the edges of distance bands, miles, as a tuple of float.

    Raises
    ------
    UsageError
        If they are not as `ALLOWED` says.
    """
    try:
        edges = tuple(map(float, edges_mi))
    except (TypeError, ValueError):
        raise UsageError(f"distance bands {str(edges_mi)[:40]!r}: give {ALLOWED}") from None
    rising = all(low < high for low, high in pairwise((0.0, *edges)))
    if (
        len(edges) > MAX_EDGES
        or not rising
        or not all(map(math.isfinite, edges))
        or max(edges, default=0) > MAX_EDGE_MI
    ):
        shown = ",".join(f"{edge:g}" for edge in edges[:8]) + ("…" if len(edges) > 8 else "")
        raise UsageError(f"distance bands {shown}: give {ALLOWED}")
    return edges


def band_labels(edges_mi: Sequence[float]) -> list[str]:
    """Return the labels of the distance bands between edges, nearest first: one band more than edges."""
    if not edges_mi:
        return ["Any distance"]
    text = [f"{edge:g}" for edge in edges_mi]
    between = [f"{low} to {high} miles" for low, high in pairwise(text)]
    return [f"Under {text[0]} miles", *between, f"{text[-1]} miles or more"]
