"""Counts with their share, expected error and caution, and tables of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from geodata.schema import N_SEGMENTS
from mapapp.answers.layer_units import LayerUnits
from mapapp.answers.measures import Number, caution
from mapapp.question.filters import BANDS, CHARACTERISTICS, bands_of

Ints = npt.NDArray[np.int64]
KINDS: Final = ("unit", "none", "elsewhere")
"""Kinds of rows of a table of units, in their order."""


def number(workers: int) -> Number:
    """Return one count, without its expected error."""
    return Number(int(workers), None, caution(int(workers)))


def columns(workers: Ints, whole: int | Ints) -> dict[str, npt.NDArray[np.generic]]:
    """Return the worker columns of a table.

    Parameters
    ----------
    workers : int64[rows]
    whole : int or int64[rows]
        Total that shares refer to; if it is 0, shares are 0.
    """
    count = np.asarray(workers, dtype=np.int64)
    return {
        "workers": count,
        "share": count / np.maximum(whole, 1),
        "expected_error": np.full(count.shape, np.nan),
        "caution": cautions(count),
    }


def bands(by_segment: Ints) -> pandas.DataFrame:
    """Return workers of each band of each characteristic: ``characteristic``, ``band``, ``label``, worker columns."""
    rows = [(name, band, labels[band - 1]) for name, labels in CHARACTERISTICS.items() for band in BANDS]
    frame = pandas.DataFrame(rows, columns=["characteristic", "band", "label"])
    return frame.assign(**columns(band_sums(by_segment), int(by_segment.sum())))


def segments(by_segment: Ints) -> pandas.DataFrame:
    """Return workers of each joint segment: ``age``, ``earnings``, ``industry``, ``label``, worker columns."""
    bands = [bands_of(segment) for segment in range(N_SEGMENTS)]
    frame = pandas.DataFrame(bands, columns=list(CHARACTERISTICS))
    frame["label"] = [
        ", ".join(labels[band - 1] for band, labels in zip(each, CHARACTERISTICS.values(), strict=True))
        for each in bands
    ]
    return frame.assign(**columns(by_segment, int(by_segment.sum())))


def margins(by_segment: Ints) -> pandas.DataFrame:
    """Return workers by two characteristics: columns as of :func:`segments`, with band 0 for every band of a third."""
    every = (0, *BANDS)
    rows = [key for key in itertools.product(every, repeat=len(CHARACTERISTICS)) if key.count(0) == 1]
    cube = by_segment.reshape(len(BANDS), len(BANDS), len(BANDS))
    counts = [int(cube[tuple(slice(None) if band == 0 else band - 1 for band in key)].sum()) for key in rows]
    frame = pandas.DataFrame(rows, columns=list(CHARACTERISTICS))
    frame["label"] = [
        ", ".join(
            labels[band - 1] for band, labels in zip(key, CHARACTERISTICS.values(), strict=True) if band
        )
        for key in rows
    ]
    return frame.assign(**columns(np.array(counts, dtype=np.int64), int(by_segment.sum())))


def cautions(workers: Ints) -> npt.NDArray[np.object_]:
    """Return `caution` for many counts."""
    words = np.array([caution(0), caution(1), caution(3), caution(10)], dtype=object)
    return words[np.searchsorted([1, 3, 10], workers, side="right")]


def band_sums(by_segment: Ints) -> Ints:
    """Sum joint segments to the three bands of age, earnings, and industry: int64[…, 27] to int64[…, 9]."""
    cube = by_segment.reshape(*by_segment.shape[:-1], len(BANDS), len(BANDS), len(BANDS))
    return np.concatenate(
        [cube.sum(axis=(-2, -1)), cube.sum(axis=(-3, -1)), cube.sum(axis=(-3, -2))], axis=-1
    )


def most_first(frame: pandas.DataFrame, *names: str) -> pandas.DataFrame:
    """Sort a table by workers, most first, and then by identifiers.

    In a table of units, workers in no unit come after the units, and states outside the area come last.
    """
    rank = frame["kind"].map(KINDS.index) if "kind" in frame.columns else pandas.Series(0, index=frame.index)
    by = ["rank", "workers", *names]
    ordered = frame.assign(rank=rank).sort_values(by, ascending=[True, False] + [True] * len(names))
    return ordered.drop(columns="rank").reset_index(drop=True)


def unit_table(units: LayerUnits, workers: Ints) -> pandas.DataFrame:
    """Return the units that have workers, with their places and worker columns, most workers first."""
    rows = units.rows[["unit_id", "name", "kind", "lon_deg", "lat_deg"]]
    rows = rows.assign(**columns(workers, int(workers.sum())))
    return most_first(rows[workers > 0], "unit_id")


def pair_table(
    homes: LayerUnits, works: LayerUnits, part: tuple[Ints, Ints, Ints], total: int
) -> pandas.DataFrame:
    """Return pairs of units, with worker columns.

    Parameters
    ----------
    homes, works : LayerUnits
    part : tuple of int64[rows]
        Row of the home unit, row of the work unit, and workers.
    total : int
        Workers that shares refer to.
    """
    named: dict[str, npt.NDArray[np.generic]] = {}
    for end, units, code in (("home", homes, part[0]), ("work", works, part[1])):
        for name, column in (("id", "unit_id"), ("name", "name"), ("kind", "kind")):
            named[f"{end}_{name}"] = units.rows[column].to_numpy(dtype=object)[code]
    return pandas.DataFrame(named | columns(part[2], total))


def labeled(
    name: str, keys: Iterable[int | str], labels: Iterable[str], workers: Ints | list[int]
) -> pandas.DataFrame:
    """Return a table with a column of keys, called `name`, their labels, and worker columns."""
    counts = np.asarray(workers, dtype=np.int64)
    frame = pandas.DataFrame({name: list(keys), "label": list(labels)})
    return frame.assign(**columns(counts, int(counts.sum())))
