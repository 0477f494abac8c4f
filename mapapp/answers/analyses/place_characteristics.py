"""Published characteristics of the places of an area: counts of LODES that were copied into a release, not drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from geodata.json_objects import JsonObject
from geodata.sources.characteristics import GROUPS, TOTAL
from geodata.store.schema import CHARACTERISTIC_CODES
from geodata.store.store import Store
from mapapp.answers import words
from mapapp.answers.areas.selection import Selected
from mapapp.question.fields import Side

_FILES: Final[dict[Side, str]] = {
    "work": "workplace area characteristics (WAC)",
    "home": "residence area characteristics (RAC)",
}
_TITLES: Final[dict[Side, str]] = {
    "work": "All jobs here, as LODES publishes them",
    "home": "All jobs of residents, as LODES publishes them",
}


class CharacteristicClass(NamedTuple):
    """A class of jobs: its label, its jobs, and their share of the group."""

    label: str
    jobs: int
    share: float


@dataclass(frozen=True, slots=True)
class AreaCharacteristics:
    """What LODES says about an area.

    Attributes
    ----------
    title : str
    source : str
        Where the counts are from, in a sentence.
    jobs : int
        All jobs.
    groups : dict of str to tuple of CharacteristicClass
        Classes by the title of their group. Groups of which the files say nothing are left out.
    """

    title: str
    source: str
    jobs: int
    groups: dict[str, tuple[CharacteristicClass, ...]]


class PlaceCharacteristics:
    """The published characteristics that a release has; most have none."""

    def __init__(self, store: Store) -> None:
        self._store = store
        listed = store.manifest.get("characteristics") or ()
        self._files: tuple[JsonObject, ...] = tuple(listed) if store.has_table("characteristics") else ()

    def of(self, chosen: Selected, side: Side) -> AreaCharacteristics | None:
        """Add up the jobs at the blocks of an area (side "work"), or of their residents; None without such a file."""
        files = [file for file in self._files if file.get("end") == side]
        if not files:
            return None
        block, counts = self._counts[side]
        if chosen.blocks is not None:
            counts = counts[np.isin(block, chosen.blocks)]
        total = dict(zip(CHARACTERISTIC_CODES, counts.sum(axis=0, dtype=np.int64).tolist(), strict=True))
        groups = {}
        for group in GROUPS:
            jobs = [int(total[code]) for code in group.codes]
            if sum(jobs):
                groups[group.title] = tuple(
                    CharacteristicClass(label, n, n / sum(jobs))
                    for label, n in zip(group.labels, jobs, strict=True)
                )
        return AreaCharacteristics(_TITLES[side], _source(files, side), int(total[TOTAL]), groups)

    @cached_property
    def _counts(self) -> dict[Side, tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]:
        """Blocks and counts, int32[n, codes], of each end."""
        table = self._store.table("characteristics")
        codes, found = list(CHARACTERISTIC_CODES), {}
        sides: tuple[Side, ...] = ("work", "home")
        for side in sides:
            rows = table[table["end"] == side]
            found[side] = rows["block_index"].to_numpy(np.int32), rows[codes].to_numpy(np.int32)
        return found


def _source(files: list[JsonObject], side: Side) -> str:
    """Where counts are from, in one sentence."""
    years = sorted({str(file["year"]) for file in files if file.get("year")})
    kinds = sorted({str(file["job_type"]) for file in files if file.get("job_type")})
    said = " ".join(["LODES", _FILES[side], *([words.listed(years)] if years else [])])
    jobs = f", job type {words.listed(kinds)}" if kinds else ""
    names = words.listed(sorted(str(file["file"]) for file in files))
    return f"Source: {said}{jobs} ({names}). Not drawn, and without the filters above."
