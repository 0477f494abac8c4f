"""The margins on which settings of worker records are compared: distances from the real workers, and their noise floor.

    margins = RecordMargins(attributes, real)
    margins.distances(drawn), margins.noise_floor(len(drawn))

The margins are those of the table in docs/replications/rhode-island.md, "Distances of worker records", and the means
over all single attributes and all pairs. Distances are those of :mod:`mapapp.kinds.records.measure.validity`.
CONFIDENTIAL, all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from mapapp.kinds.records.make.attributes import RecordAttribute
from mapapp.kinds.records.measure.validity import COMBINATIONS, TableDistances

__all__ = ["MARGINS", "MARGIN_TITLES", "RecordMargins"]

Codes = npt.NDArray[np.int32]

MARGIN_TITLES: Final[Mapping[str, str]] = {
    "work_home": "work × home PUMA",
    "home_earnings": "home PUMA × earnings",
    "band_industry": "distance × industry",
    "work_tract": "work tract",
    "four_way": "work × home PUMA × industry × earnings",
    "singles": "single attributes, on average",
    "pairs": "pairs of attributes, on average",
}
"""Every margin, in words."""

MARGINS: Final = tuple(MARGIN_TITLES)
_COMBINATIONS: Final = dict(zip(MARGINS, COMBINATIONS, strict=False))


class RecordMargins:
    """Real workers, held for comparison with records that are drawn one after the other.

    Parameters
    ----------
    attributes : sequence of RecordAttribute
    real : int32[n, m]
        Codes of the real workers, one column per attribute.
    """

    def __init__(self, attributes: Sequence[RecordAttribute], real: Codes) -> None:
        self._attributes = attributes
        self._real = real
        self._floors: dict[int, dict[str, float]] = {}

    def distances(self, drawn: Codes) -> dict[str, float]:
        """Return the total variation distance of some records from the real workers, by margin.

        A margin whose attributes the dataset lacks is left out.

        Parameters
        ----------
        drawn : int32[r, m]
            At least one record.
        """
        pairs = self._both(drawn)
        # The noise floor depends on the number of records alone.
        self._floors.setdefault(len(drawn), {name: floor for name, (_, floor) in pairs.items()})
        return {name: distance for name, (distance, _) in pairs.items()}

    def noise_floor(self, n_records: int) -> dict[str, float]:
        """Return the distances of a resample of so many real workers: what chance alone gives."""
        if n_records not in self._floors:
            self.distances(self._real[np.arange(n_records) % len(self._real)])
        return self._floors[n_records]

    def _both(self, drawn: Codes) -> dict[str, tuple[float, float]]:
        tables = TableDistances(self._attributes, self._real, drawn)
        names = [attribute.name for attribute in self._attributes]
        pairs = {
            name: tables.of(combination)
            for name, combination in _COMBINATIONS.items()
            if tables.has(combination)
        }
        for name, n_attributes in (("singles", 1), ("pairs", 2)):
            distances = np.array([tables.of(some) for some in combinations(names, n_attributes)])
            if distances.size:
                pairs[name] = (float(distances[:, 0].mean()), float(distances[:, 1].mean()))
        return pairs
