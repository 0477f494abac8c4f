"""Workers as a source without joint segments has them: homes by workplace block, and one band at a time.

Where whole blocks or tracts are drawn from such a source, joint segments are computed from margins of workplaces, so a
joint cell of a release has nothing to do with one of the dataset. Its blocks and margins are those of the source.

Source: docs/audit.md, "Sources without joint segments".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from engine.parameters import SynthesisParameters
from geodata.store.schema import N_SEGMENTS
from mapapp.analyst.audit.audited import AuditedPart
from mapapp.analyst.audit.questions import Target
from mapapp.kinds.base.geography import Ints
from mapapp.kinds.base.inputs import Inputs

__all__ = ["NOT_COMPARED", "merge_by_margin", "merge_part_by_margin", "why_by_margin"]

NOT_COMPARED: Final = (
    "other schemes are not compared with it: their trees and queries combine age, earnings, and industry, "
    "which the source does not"
)


def merge_by_margin(inputs: Inputs, target: Target) -> tuple[Inputs, Ints]:
    """Workers by workplace block alone or, where earnings or industry are asked for, by block and band.

    Returns
    -------
    tuple of (Inputs, int64[W])
        A segment has only the band that is asked for; the others are the first. And where each worker was in `inputs`.
    """
    bands = {"earnings": inputs.segment // 3 % 3 * 3, "industry": inputs.segment % 3}
    segment = bands.get(target, np.zeros_like(inputs.segment))
    block = np.repeat(np.arange(inputs.destination_ptr.size - 1), np.diff(inputs.destination_ptr))
    _, first, cell = np.unique(block * N_SEGMENTS + segment, return_index=True, return_inverse=True)
    order = np.argsort(np.repeat(cell, inputs.count), kind="stable")
    count = np.bincount(cell, inputs.count, first.size).astype(np.int64)  # exact below 2**53
    merged = replace(
        inputs,
        destination=inputs.destination[first],
        segment=segment[first],
        tract=inputs.tract[first],
        worker_ptr=np.append(0, np.cumsum(count)),
        worker_origin=inputs.worker_origin[order],
    )
    return merged, order


def merge_part_by_margin(part: AuditedPart, target: Target) -> AuditedPart:
    """Real and synthetic workers of some destination tracts, both merged by :func:`merge_by_margin`."""
    real, order = merge_by_margin(part.panel.inputs, target)
    drawn, _ = merge_by_margin(replace(part.drawn, worker_origin=part.home_block), target)
    panel = replace(part.panel, inputs=real, home_tract=part.panel.home_tract[order])
    return replace(part, panel=panel, drawn=drawn, home_block=drawn.worker_origin)


def why_by_margin(parameters: SynthesisParameters) -> str:
    """Say what workers are compared by, and which attackers know less for it."""
    return (
        f"workers drawn by {parameters.unit} are compared by workplace block, and for earnings and industry by block "
        "and band, since the source has no joint segments; so no attacker knows the other bands of a worker, naive "
        "Bayes neither"
    )
