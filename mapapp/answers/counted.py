"""Counts with their share, expected error and caution."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas

from geodata.schema import N_SEGMENTS
from mapapp.answers.measures import Number, caution
from mapapp.question.filters import BANDS, CHARACTERISTICS, bands_of

Ints = npt.NDArray[np.int64]


def number(workers: int) -> Number:
    """Return one count, without its expected error."""
    return Number(int(workers), None, caution(int(workers)))


def columns(workers: Ints, whole: Any) -> dict[str, Any]:
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
    """Sort a table by workers, most first, and then by identifiers."""
    by = ["workers", *names]
    return frame.sort_values(by, ascending=[False] + [True] * len(names), ignore_index=True)
