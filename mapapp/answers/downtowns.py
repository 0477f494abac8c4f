"""The core of a place: its neighboring tracts with the most jobs per square mile, such as "Downtown Providence".

Releases have no downtowns, and neither has the census. The core begins with the densest tract of the place. Then the
densest of its neighbors joins, again and again, while it has at least half the density of the tracts so far, up to
six tracts. So a second center elsewhere in the city does not count, and neither do quiet streets around the first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import shapely

from geodata.geography.area_shapes import square_miles
from mapapp.answers.areas.area import Area
from mapapp.answers.areas.areas import Areas
from mapapp.answers.areas.search import CENTERS
from mapapp.answers.areas.unit_names import spoken_name
from mapapp.answers.commutes.flows import Flows
from mapapp.answers.commutes.pick import Pick
from mapapp.question.area_text import Step, Units
from mapapp.question.filters import Filters
from mapapp.question.sentence.meanings import Place

Value = TypeVar("Value")


class CountedPlaces(Protocol):
    """What is needed of a release (:class:`mapapp.answers.opened_release.OpenedRelease`)."""

    @property
    def areas(self) -> Areas:
        """Its areas."""

    @property
    def flows(self) -> Flows:
        """Its commutes."""

    def once(self, key: tuple[Hashable, ...], make: Callable[[], Value]) -> Value:
        """Return what was made for a key, made on first use."""


MOST_TRACTS: Final = 6
LEAST_DENSITY: Final = 0.5
"""Of a neighbor, as a share of the density of the tracts that it joins."""
_TRACT: Final = "tract"
_MOST_INSIDE: Final = 0.5
"""A tract is in a place if at least this share of its blocks is."""


@dataclass(frozen=True, slots=True)
class Downtown:
    """The core of a place.

    Attributes
    ----------
    step : str
        Its tracts as a step of an area, which has its name.
    name : str
        Such as "Downtown Providence".
    n_tracts : int
    """

    step: str
    name: str
    n_tracts: int

    @property
    def words(self) -> str:
        """What it is, for readers."""
        several = "tract" if self.n_tracts == 1 else f"{self.n_tracts} neighboring tracts"
        return f"{self.name}: the {several} with the most jobs per square mile"


def densest_cluster(
    jobs: npt.NDArray[np.integer], square_mi: npt.NDArray[np.float64], neighbors: Sequence[Sequence[int]]
) -> list[int]:
    """Return the core of a place, densest first; nothing without jobs.

    Parameters
    ----------
    jobs : int[tracts]
    square_mi : float64[tracts]
        Area of each tract, above 0.
    neighbors : sequence of sequence of int
        Positions of the tracts that touch each.
    """
    density = np.asarray(jobs) / square_mi
    if not density.size or density.max() <= 0:
        return []
    chosen = [int(density.argmax())]
    while len(chosen) < MOST_TRACTS:
        around = {near for tract in chosen for near in neighbors[tract]} - set(chosen)
        if not around:
            break
        densest = max(sorted(around), key=lambda tract: density[tract])
        if density[densest] < LEAST_DENSITY * jobs[chosen].sum() / square_mi[chosen].sum():
            break
        chosen.append(densest)
    return chosen


def downtown_named(release: CountedPlaces, text: str) -> Downtown | None:
    """Return the core that a text names, such as "downtown Providence"; None for any other text.

    A place whose own name begins so, such as Central Falls, is no core.
    """
    words = text.strip().split(" ", 1)
    if len(words) < 2 or words[0].casefold() not in CENTERS:
        return None
    names = release.areas.names
    if names.meant_by(text):
        return None
    meant = names.meant_by(words[1])
    return downtown_of(release, meant[0], words[0].capitalize()) if len(meant) == 1 else None


def downtown_of(release: CountedPlaces, place: Area, word: str = "Downtown") -> Downtown | None:
    """Return the core of a place, called by one of `CENTERS`; None if it has no tracts with jobs."""
    tracts = release.once(("downtown", place.key), lambda: _core_of(release, place))
    if not tracts:
        return None
    name = f"{word} {spoken_name(place.name)}"
    return Downtown(str(Step("+", Units(_TRACT, tracts), name)).removeprefix("+"), name, len(tracts))


def core_place(release: CountedPlaces, area: Area, word: str) -> Place | None:
    """Return the core of an area as a sentence uses it, with a note that says what it is."""
    core = downtown_of(release, area, word)
    return None if core is None else Place(core.step, core.name, f"{core.words}.")


def _core_of(release: CountedPlaces, place: Area) -> tuple[str, ...]:
    """Return identifiers of the tracts of a core, densest first."""
    if not release.areas.has_units(_TRACT) or place.key not in release.areas:
        return ()
    units, blocks = release.areas.units(_TRACT), release.areas.select(place.key).blocks
    inside = units.n_blocks if blocks is None else np.bincount(units.code[blocks], minlength=len(units.rows))
    rows = np.flatnonzero(units.is_unit & (inside > 0) & (inside >= _MOST_INSIDE * units.n_blocks))
    shapes = [release.areas.outlines.of_unit(_TRACT, units.ids[row]) for row in rows]
    drawn = np.array([shape is not None and not shape.is_empty for shape in shapes], dtype=bool)
    rows, outlines = (
        rows[drawn],
        np.array([shape for shape, there in zip(shapes, drawn, strict=True) if there]),
    )
    if not rows.size:
        return ()
    jobs = units.of(*release.flows.by_block(Pick.at("work", blocks, Filters()), "work"))[rows]
    return tuple(
        units.ids[rows[at]] for at in densest_cluster(jobs, square_miles(outlines), _touching(outlines))
    )


def _touching(shapes: npt.NDArray[np.object_]) -> list[list[int]]:
    """Return, for each shape, the positions of the others that it touches."""
    shape, neighbor = shapely.STRtree(shapes).query(shapes, predicate="intersects")
    return [neighbor[(shape == at) & (neighbor != at)].tolist() for at in range(len(shapes))]
