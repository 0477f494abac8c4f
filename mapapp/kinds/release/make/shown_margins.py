"""Which numbers of workers a release shows exactly: by block or by tract, and by which of age, earnings, and industry.

A release shows the number of workers of each workplace and segment. Where not all of these numbers are public, it can
show fewer: workers are told apart by some of age, earnings, and industry only, or workplaces by tract. The jobs are
summed before anything else reads them, so draw, certificate, and choice of a setting follow from the sums. The numbers
that are left are still exact.

Source: docs/worker-records.md, "Fewer numbers".
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from geodata.store.schema import JOBS
from geodata.store.store import Store
from geodata.workers.places import center_blocks
from mapapp.kinds.base.certificate import CertificateCheck
from mapapp.kinds.release.make.margin_options import ShownMargins

__all__ = ["add_shown_margins", "check_margins"]

_DROPPED: Final = 1
"""Code of a band that is not shown, the same for every worker."""


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
    detail = "; ".join(wrong) or f"{margins.words} only"
    return [CertificateCheck("numbers shown", not wrong, detail)]


def _tract_block_of(store: Store) -> npt.NDArray[np.int32]:
    """For each block, the one that stands for its tract: int32[blocks]."""
    blocks: pandas.DataFrame = store.table("blocks", ["tract_index", "lon_deg", "lat_deg"])
    tracts = store.table("tracts", ["lon_deg", "lat_deg"])
    block: npt.NDArray[np.int64] = center_blocks(blocks, tracts)[blocks["tract_index"].to_numpy(np.int64)]
    return block.astype(np.int32)
