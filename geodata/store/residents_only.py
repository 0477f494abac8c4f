"""States of work whose dataset has only the workers who live there, so that numbers of workers depend on homes.

A release publishes the number of workers of each workplace and segment unchanged. If workers who live elsewhere are
left out, this number says of each worker whether the home is in the state.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from geodata.store.store import Store

__all__ = ["RESIDENTS_ONLY", "add_residents_only", "residents_only_states"]

RESIDENTS_ONLY: Final = "residents_only"
"""Fact of a manifest: codes of these states."""


def residents_only_states(dataset: Store) -> list[str]:
    """Return the codes of states of work that count as residents only.

    A dataset says it. In one of an earlier version, a state where somebody works counts as such unless a worker there
    lives in another.

    Parameters
    ----------
    dataset : Store
        A dataset; of an earlier one, the column of homes is read.
    """
    if RESIDENTS_ONLY in dataset.manifest:
        return list(dataset.manifest[RESIDENTS_ONLY])
    stated = [str(state) for state in dataset.manifest.get("destination_states", [])]
    state = dataset.table("blocks", ["state_id"])["state_id"].to_numpy(dtype=str)
    code, number = np.unique(state, return_inverse=True)
    worked_in, commuted_into = np.zeros((2, code.size), dtype=np.bool_)
    for part in dataset.batches("jobs", ["destination_index", "origin_index"]):
        work, home = (number[part[name].to_numpy()] for name in ("destination_index", "origin_index"))
        worked_in[work] = True
        commuted_into[work[work != home]] = True
    lacking = set(code[worked_in & ~commuted_into].tolist())
    return [state_id for state_id in stated if state_id in lacking]


def add_residents_only(dataset: Store) -> Store:
    """Return the dataset with this fact in its manifest, whatever its version; nothing on disk changes."""
    return dataset.add_facts(**{RESIDENTS_ONLY: residents_only_states(dataset)})
