"""Which numbers of workers a release shows exactly: by block or by tract, and by which of age, earnings, and industry.

A release shows the number of workers of each workplace and segment. Where not all of these numbers are public, it can
show fewer: workers are told apart by some of age, earnings, and industry only, or workplaces by tract. The jobs are
summed before anything else reads them, so draw, certificate, and choice of a setting follow from the sums. The numbers
that are left are still exact.

Source: docs/worker-records.md, "Fewer numbers".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas

from geodata.json_objects import JsonObject
from geodata.store.schema import JOBS
from geodata.store.shown_margins import SEGMENTS_BY, WORKPLACES_BY, shown_segments
from geodata.store.store import Store
from geodata.workers.places import center_blocks
from mapapp.base.errors import UsageError
from mapapp.kinds.base.certificate import CertificateCheck
from mapapp.question.filters import CHARACTERISTICS

__all__ = [
    "WHOLE_DATASET",
    "DatasetView",
    "ShownMargins",
    "WorkplaceUnit",
    "add_shown_margins",
    "check_margins",
]

WorkplaceUnit = Literal["block", "tract"]
_NONE = "none"
_DROPPED = 1
"""Code of a band that is not shown, the same for every worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMargins:
    """What tells apart the workers whose number is shown.

    Attributes
    ----------
    segments : tuple of str
        Of age, earnings, and industry, in this order.
    workplaces : {"block", "tract"}
    """

    segments: tuple[str, ...] = tuple(CHARACTERISTICS)
    workplaces: WorkplaceUnit = "block"

    def __post_init__(self) -> None:
        if self.segments != tuple(name for name in CHARACTERISTICS if name in self.segments):
            raise ValueError(f"segments {self.segments!r}: some of {tuple(CHARACTERISTICS)}, in this order")
        if self.workplaces not in get_args(WorkplaceUnit):
            raise ValueError(f"workplaces {self.workplaces!r}: block or tract")

    @classmethod
    def of_text(cls, segments: str | None, workplaces: str) -> ShownMargins:
        """Return what options say: names joined by commas, or the word none.

        Raises
        ------
        UsageError
            A name is not age, earnings, or industry, or is given twice; or workplaces are no such unit.
        """
        if workplaces not in get_args(WorkplaceUnit):  # a misspelled "tract" must not show blocks
            raise UsageError(f"--workplaces {workplaces}: give block or tract")
        unit: WorkplaceUnit = "tract" if workplaces == "tract" else "block"
        if segments is None:
            return cls(workplaces=unit)
        names = [] if segments.strip() == _NONE else [name.strip() for name in segments.split(",")]
        wrong = [name for name in names if name not in CHARACTERISTICS]
        if wrong or len(set(names)) < len(names):
            raise UsageError(
                f"--segments {segments}: give some of {', '.join(CHARACTERISTICS)}, each once, joined by commas, or "
                "none"
            )
        return cls(segments=tuple(name for name in CHARACTERISTICS if name in names), workplaces=unit)

    @classmethod
    def of_facts(cls, facts: Mapping[str, object]) -> ShownMargins:
        """Return what a manifest says; one that says nothing shows everything."""
        return cls(
            segments=shown_segments(facts),
            workplaces="tract" if facts.get(WORKPLACES_BY) == "tract" else "block",
        )

    def facts_of(self, manifest: Mapping[str, object]) -> JsonObject:
        """Return what changes in a manifest; nothing where everything is shown, as in releases of earlier versions."""
        facts: JsonObject = {}
        if len(self.segments) < 2 and "segments" in manifest:
            facts["segments"] = (
                "joint"  # sources have one band at a time for each pair of blocks: none is assigned
            )
        if self.segments != tuple(CHARACTERISTICS):
            facts[SEGMENTS_BY] = list(self.segments)
        if self.workplaces != "block":
            facts[WORKPLACES_BY] = self.workplaces
        return facts

    @property
    def is_whole(self) -> bool:
        """Whether everything is shown."""
        return not self.facts_of({})

    @property
    def dropped(self) -> list[str]:
        """Those of age, earnings, and industry that are not shown."""
        return [name for name in CHARACTERISTICS if name not in self.segments]


ALL_MARGINS = ShownMargins()
"""By block, age, earnings, and industry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetView:
    """What a release reads in place of a dataset's own tables.

    Attributes
    ----------
    margins : ShownMargins
        Which numbers of workers it shows; nothing else of the jobs is read.
    last_release : Path or None
        An earlier release, whose workers are the flows of the prior instead of the dataset's.
    """

    margins: ShownMargins = ALL_MARGINS
    last_release: Path | None = None


WHOLE_DATASET = DatasetView()


def add_shown_margins(dataset: Store, margins: ShownMargins) -> Store:
    """Return the dataset with its jobs summed to what is shown; nothing on disk changes.

    A band that is not shown is 1 for every worker. All jobs of a tract are put into the block nearest to its center,
    which follows from public places alone.
    """
    if margins.is_whole:
        return dataset
    jobs = dataset.table("jobs", [*JOBS.columns])
    for name in margins.dropped:
        jobs[name] = np.int8(_DROPPED)
    if margins.workplaces == "tract":
        jobs["destination_index"] = _tract_block_of(dataset)[jobs["destination_index"]]
    keys = ["destination_index", "age", "earnings", "industry", "origin_index"]
    summed = jobs.groupby(keys, sort=True)["count"].sum().reset_index()
    rows = summed[[*JOBS.columns]].astype(JOBS.columns)
    return dataset.replace_table("jobs", rows, **margins.facts_of(dataset.manifest))


def check_margins(release: Store) -> list[CertificateCheck]:
    """Check that a release that says that it shows fewer numbers shows no others; no check for one that shows all."""
    margins = ShownMargins.of_facts(release.manifest)
    if margins.is_whole:
        return []
    jobs = release.table("jobs", [*JOBS.columns])
    wrong = [f"{name} differs between workers" for name in margins.dropped if (jobs[name] != _DROPPED).any()]
    used = np.unique(jobs["destination_index"].to_numpy())
    if margins.workplaces == "tract" and (_tract_block_of(release)[used] != used).any():
        wrong.append("a workplace is not the block nearest to its tract's center")
    detail = "; ".join(wrong) or f"by {' and '.join([margins.workplaces, *margins.segments])} only"
    return [CertificateCheck("numbers shown", not wrong, detail)]


def _tract_block_of(store: Store) -> npt.NDArray[np.int32]:
    """For each block, the one that stands for its tract: int32[blocks]."""
    blocks: pandas.DataFrame = store.table("blocks", ["tract_index", "lon_deg", "lat_deg"])
    tracts = store.table("tracts", ["lon_deg", "lat_deg"])
    block: npt.NDArray[np.int64] = center_blocks(blocks, tracts)[blocks["tract_index"].to_numpy(np.int64)]
    return block.astype(np.int32)
