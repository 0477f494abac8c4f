"""Which jobs a table is about: all of the dataset's, or those of some workplaces, ages, earnings, or industries.

Only what is public about every job can limit a table. The number of people in each of its cells is then still public:
it is a sum over public numbers of workers by workplace, age, earnings, and industry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from mapapp.answers.areas.areas import Areas
from mapapp.answers.tables.certificate import AreaClaim, JobsClaim
from mapapp.base.errors import UsageError
from mapapp.question.area_text import Everything, Unit, parse_area
from mapapp.question.filters import CHARACTERISTICS, Filters

__all__ = ["Jobs"]

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Which jobs a table is about.

    Attributes
    ----------
    filters : Filters
        Bands of age, earnings, and industry.
    work_area : str
        Where the workplaces are: units, as :mod:`mapapp.question.area_text` writes them, or the name of one; empty for
        everywhere.
    work_area_name : str
        Its name in words, once it was found in a store; see :meth:`locate`.
    """

    filters: Filters = field(default_factory=Filters)
    work_area: str = ""
    work_area_name: str = ""

    @classmethod
    def from_options(cls, given: Mapping[str, object]) -> Self:
        """Read `age`, `earnings`, `industry` (numbers, or text such as "1,2") and `work-area`; missing or None: all.

        Raises
        ------
        UsageError
        """
        area = given.get("work-area")
        if area is not None and not isinstance(area, str):
            raise UsageError(f"--work-area {str(area)[:40]}: give the name of a unit, or level:identifier")
        bands = {name: _bands(name, given.get(name)) for name in CHARACTERISTICS}
        filters = Filters(bands["age"], bands["earnings"], bands["industry"])
        return cls(filters=filters, work_area=(area or "").strip())

    @classmethod
    def from_claim(cls, stated: JobsClaim) -> Self:
        """Read what a certificate says; the opposite of :meth:`claim`."""
        area = stated.work_area or AreaClaim(area="", name="")
        filters = Filters(stated.age, stated.earnings, stated.industry)
        return cls(filters=filters, work_area=area.area, work_area_name=area.name)

    def claim(self) -> JobsClaim:
        """Return what the certificate says of the jobs."""
        kept = self.filters
        return JobsClaim(
            age=tuple(kept.age),
            earnings=tuple(kept.earnings),
            industry=tuple(kept.industry),
            work_area=AreaClaim(area=self.work_area, name=self.work_area_name) if self.work_area else None,
            in_words=self.in_words,
        )

    @property
    def are_all(self) -> bool:
        """Whether the table is about all jobs."""
        return self == type(self)()

    @property
    def in_words(self) -> str:
        """Which jobs, in words that can follow what is counted; empty for all jobs."""
        bands = {name: getattr(self.filters, name) for name in CHARACTERISTICS}
        words = [
            f"{name} {' or '.join(CHARACTERISTICS[name][band - 1] for band in kept)}"
            for name, kept in bands.items()
            if kept
        ]
        words += [f"workplaces in {self.work_area_name or self.work_area}"] * bool(self.work_area)
        return "; ".join(words)

    def locate(self, areas: Areas) -> Self:
        """Return the same jobs, with the area as identifiers and as a name.

        Raises
        ------
        UsageError
            The store has no such area, or it does not consist of units.
        """
        if not self.work_area:
            return self
        steps = parse_area(areas.find(self.work_area))
        if not all(isinstance(step.part, Unit | Everything) for step in steps):
            raise UsageError(
                f"--work-area {self.work_area[:60]}: give units, such as county:44007 or "
                '"county:44007 +county:44003"; drawn areas cannot limit a table'
            )
        selected = areas.select(steps)
        return replace(self, work_area=selected.text, work_area_name=selected.name)

    def work_blocks(self, areas: Areas, n_blocks: int) -> Bools:
        """Return the blocks whose workplaces are in the area: bool[blocks]; the area must be located."""
        inside = np.ones(n_blocks, dtype=np.bool_)
        blocks = areas.blocks([self.work_area]) if self.work_area else None
        if blocks is not None:
            inside[:] = False
            inside[blocks] = True
        return inside

    def among(self, columns: Mapping[str, npt.NDArray[np.generic]]) -> Bools:
        """Return which rows of jobs have the right age, earnings, and industry; workplaces are not looked at."""
        kept = np.ones(len(columns["count"]), dtype=np.bool_)
        for name in CHARACTERISTICS:
            if bands := getattr(self.filters, name):
                kept &= np.isin(columns[name], bands)
        return kept

    def has_bands_in_common(self, jobs: Jobs) -> bool:
        """Return whether a job could have an age, earnings, and an industry of both."""
        pairs = [(getattr(self.filters, name), getattr(jobs.filters, name)) for name in CHARACTERISTICS]
        return all(not first or not second or set(first) & set(second) for first, second in pairs)


def _bands(name: str, given: object) -> tuple[int, ...]:
    if given is None or given == "":
        return ()
    parts: Sequence[object] = [given]
    if isinstance(given, str):
        parts = [int(part) if part.strip().isdecimal() else part for part in given.split(",")]
    elif isinstance(given, Sequence):
        parts = [int(part) if isinstance(part, str) and part.isdecimal() else part for part in given]
    if not parts or not all(isinstance(band, int) and not isinstance(band, bool) for band in parts):
        raise UsageError(f"--{name} {str(given)[:40]}: give bands from 1 to 3, such as --{name} 1,2")
    return tuple(band for band in parts if isinstance(band, int))
