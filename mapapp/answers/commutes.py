"""What the map's first view asks of a release: how many, how far, which tracts, and where to draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy
import pandas

from mapapp.answers.flows import Flows, Pick
from mapapp.question.address import Side
from mapapp.question.filters import Filters

BANDS: Final = (
    "Same block",
    "Under 1 mile",
    "1 to 4 miles",
    "4 to 10 miles",
    "10 to 25 miles",
    "25 to 100 miles",
    "100 to 500 miles",
    "500 miles or more",
)
BAND_EDGES_MI: Final = (1.0, 4.0, 10.0, 25.0, 100.0, 500.0)  # lower edges; see docs/method.md, section 10
_WITHIN_10_MI: Final = 1 + BAND_EDGES_MI.index(10.0)
_OTHER: Final[dict[Side, Side]] = {"work": "home", "home": "work"}


@dataclass(frozen=True, slots=True)
class Question:
    """Whose commutes: those with their `side` end in `blocks`, of the kept bands.

    Attributes
    ----------
    side : {"work", "home"}
        Which end of a commute lies in `blocks`.
    blocks : numpy.ndarray of int32 or None
        Positions in `blocks`, ascending; None for every block.
    age, earnings, industry : sequence of int
        Bands 1..3 to keep; empty for all.
    """

    side: Side
    blocks: Any
    age: Sequence[int] = ()
    earnings: Sequence[int] = ()
    industry: Sequence[int] = ()

    @property
    def pick(self) -> Pick:
        """The same for the database."""
        return Pick.at(self.side, self.blocks, Filters(self.age, self.earnings, self.industry))

    @property
    def shown_end(self) -> Side:
        """The other end; the `side` itself without chosen blocks."""
        return self.side if self.blocks is None else _OTHER[self.side]


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers about the commutes a question picks.

    Attributes
    ----------
    workers : int
        How many synthetic workers.
    median_mi : float
        Median great-circle distance, miles; NaN without workers.
    within_10_mi : int
        Workers with a distance below 10 miles.
    inside : int
        Workers whose other end lies in the chosen blocks too.
    elsewhere : int
        Workers whose home is an elsewhere unit, so that only its state is known.
    bands : pandas.DataFrame
        `band` (text) and `workers`, one row a distance band, in order.
    tracts : pandas.DataFrame
        `tract_index` and `workers` at the other end (at the `side` end without chosen blocks), most first.
    """

    workers: int
    median_mi: float
    within_10_mi: int
    inside: int
    elsewhere: int
    bands: Any
    tracts: Any


class Commutes:
    """The workers of one release, as the map's first view wants them.

    Parameters
    ----------
    flows : Flows
    blocks : DataFrame
        ``tract_index`` and ``elsewhere`` of every block.
    """

    def __init__(self, flows: Flows, blocks: Any) -> None:
        self._flows = flows
        self._tract = blocks["tract_index"].to_numpy()
        self._elsewhere = blocks["elsewhere"].to_numpy()

    def summary(self, question: Question) -> Summary:
        """Count, median, bands and tracts of the commutes that a question picks."""
        pick = question.pick
        block, workers = self._flows.by_block(pick, question.shown_end)
        bands = self._flows.distances(pick, question.side, BAND_EDGES_MI, own_block=True).workers.sum(axis=1)
        n = int(workers.sum())
        median = self._flows.median_mi(pick)
        inside = workers if question.blocks is None else workers[numpy.isin(block, question.blocks)]
        return Summary(
            workers=n,
            median_mi=float("nan") if median is None else median,
            within_10_mi=int(bands[: _WITHIN_10_MI + 1].sum()),
            inside=int(inside.sum()),
            elsewhere=self._n_elsewhere(pick, question.shown_end, block, workers),
            bands=pandas.DataFrame({"band": BANDS, "workers": bands}),
            tracts=self._by_tract(block, workers),
        )

    def points(self, question: Question) -> dict[str, Any]:
        """Where the other ends are: float32 arrays `lon_deg`, `lat_deg`; elsewhere homes have no place.

        Without chosen blocks they are the ends on the `side` itself, as in `summary`.
        """
        return self._flows.places(question.pick, question.shown_end)

    def _n_elsewhere(self, pick: Pick, end: Side, block: Any, workers: Any) -> int:
        if end == "work":
            block, workers = self._flows.by_block(pick, "home")
        return int(workers[self._elsewhere[block]].sum())

    def _by_tract(self, block: Any, workers: Any) -> Any:
        counts = numpy.bincount(self._tract[block], weights=workers).astype(numpy.int64)
        tract = numpy.flatnonzero(counts)
        frame = pandas.DataFrame({"tract_index": tract, "workers": counts[tract]})
        return frame.sort_values(["workers", "tract_index"], ascending=[False, True], ignore_index=True)
