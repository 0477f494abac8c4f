"""The order of the rows of `workers`: by workplace, segment, home, and the further attributes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from geodata.store.schema import N_SEGMENTS, segment_code

Ints = npt.NDArray[np.int64]
_LARGEST_KEY = 2**62


def sort_workers(
    columns: Mapping[str, npt.NDArray[np.generic]], n_blocks: int, domains: Mapping[str, int]
) -> dict[str, npt.NDArray[np.generic]]:
    """Sort workers like `jobs`, and workers of one job by their further attributes.

    The result depends on the workers alone, not on the order in which a file lists them.

    Parameters
    ----------
    columns : mapping of str to array
        Columns of `workers`.
    n_blocks : int
        Rows of `blocks`.
    domains : mapping of str to int
        Number of values of each further attribute.

    Returns
    -------
    dict of str to array
        Arrays of the same types, each sorted.
    """
    destination = columns["destination_index"].astype(np.int64)
    first = int(destination.min()) if destination.size else 0
    n_destinations = int(destination.max()) - first + 1 if destination.size else 1
    age, earnings, industry = (columns[name].astype(np.int64) for name in ("age", "earnings", "industry"))
    parts = [
        (destination - first, n_destinations),
        (segment_code(age, earnings, industry), N_SEGMENTS),
        (columns["origin_index"].astype(np.int64), n_blocks),
        *((columns[name].astype(np.int64), size) for name, size in domains.items()),
    ]
    keys = _pack_keys(parts)
    order = np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(keys[::-1])
    return {name: values[order] for name, values in columns.items()}


def _pack_keys(parts: list[tuple[Ints, int]]) -> list[Ints]:
    """Join columns of codes into as few keys as fit 62 bits; the first key is the most significant."""
    keys: list[Ints] = []
    room = 0
    for codes, size in parts:
        if keys and room * size < _LARGEST_KEY:
            keys[-1] = keys[-1] * size + codes
            room *= size
        else:
            keys.append(codes)
            room = size
    return keys
