"""Counts with their share, expected error and caution, and tables of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas
from pandas.api.extensions import ExtensionArray

from geodata.store.schema import N_SEGMENTS
from mapapp.answers.analyses.measures import Number, caution
from mapapp.answers.areas.layer_units import LayerUnits
from mapapp.question.filters import BANDS, CHARACTERISTICS, bands_of

Ints = npt.NDArray[np.int64]
ALL: Final = tuple(CHARACTERISTICS)
Labels = ExtensionArray | npt.NDArray[np.generic]
"""A column of a table."""


def number(workers: int) -> Number:
    """Return one count, without its expected error."""
    return Number(int(workers), None, caution(int(workers)))


def columns(workers: Ints, whole: int | Ints) -> dict[str, Labels]:
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


def bands(by_segment: Ints, shown: Sequence[str] = ALL) -> pandas.DataFrame:
    """Return workers of each band of each characteristic: ``characteristic``, ``band``, ``label``, worker columns.

    Only those of age, earnings, and industry that are `shown`, here and in the other tables.
    """
    return _keep_shown(
        pandas.DataFrame(_BANDS | columns(band_sums(by_segment), int(by_segment.sum()))), shown
    )


def _keep_shown(rows: pandas.DataFrame, shown: Sequence[str]) -> pandas.DataFrame:
    """Return the rows about characteristics that are shown."""
    if len(shown) == len(CHARACTERISTICS):
        return rows
    return rows[rows["characteristic"].isin(list(shown))].reset_index(drop=True)


def bands_by_group(groups: Mapping[str, Ints], shown: Sequence[str] = ALL) -> pandas.DataFrame:
    """Return workers of each band for each group of workers: ``group``, and the columns of :func:`bands`."""
    workers = np.array([band_sums(by_segment) for by_segment in groups.values()])
    whole = np.array([by_segment.sum() for by_segment in groups.values()])
    names = pandas.array(list(groups), dtype="str").repeat(workers.shape[1])
    labels = {name: pandas.Series(column).array for name, column in _BANDS.items()}
    of = np.tile(np.arange(workers.shape[1]), len(groups))
    rows = pandas.DataFrame(
        {"group": names}
        | {name: column.take(of) for name, column in labels.items()}
        | columns(workers.ravel(), whole.repeat(workers.shape[1]))
    )
    return _keep_shown(rows, shown)


def segments(by_segment: Ints, shown: Sequence[str] = ALL) -> pandas.DataFrame:
    """Return workers of each joint segment: ``age``, ``earnings``, ``industry``, ``label``, worker columns.

    A characteristic that is not shown has band 0.
    """
    if len(shown) == len(CHARACTERISTICS):
        return pandas.DataFrame(_SEGMENTS | columns(by_segment, int(by_segment.sum())))
    keys = list(itertools.product(*(BANDS if name in shown else (0,) for name in CHARACTERISTICS)))
    hidden = tuple(axis for axis, name in enumerate(CHARACTERISTICS) if name not in shown)
    sums = by_segment.reshape((len(BANDS),) * len(CHARACTERISTICS)).sum(axis=hidden).ravel()
    return pandas.DataFrame(_labels_of(keys) | columns(sums, int(by_segment.sum())))


def margins(by_segment: Ints, shown: Sequence[str] = ALL) -> pandas.DataFrame:
    """Return workers by two characteristics: columns as of :func:`segments`, with band 0 for every band of a third.

    Without rows unless all three are shown: two that are shown are the segments themselves.
    """
    cube = by_segment.reshape(len(BANDS), len(BANDS), len(BANDS))
    whole = np.zeros([size + 1 for size in cube.shape], dtype=np.int64)
    for axis in range(cube.ndim):
        whole[tuple(0 if dimension == axis else slice(1, None) for dimension in range(cube.ndim))] = cube.sum(
            axis=axis
        )
    counts = whole[tuple(np.asarray(_MARGINS[name]) for name in CHARACTERISTICS)]
    rows = pandas.DataFrame(_MARGINS | columns(counts, int(by_segment.sum())))
    return rows if len(shown) == len(CHARACTERISTICS) else rows.iloc[:0]


def _labels_of(keys: Sequence[tuple[int, ...]]) -> dict[str, Labels]:
    """Return the bands of each characteristic, 0 for all of them, and their labels together, as columns."""
    labels: dict[str, Labels] = {
        name: np.array([key[place] for key in keys]) for place, name in enumerate(CHARACTERISTICS)
    }
    texts = [
        ", ".join(
            labels[band - 1] for band, labels in zip(key, CHARACTERISTICS.values(), strict=True) if band
        )
        for key in keys
    ]
    return labels | {"label": pandas.array([text or "All workers" for text in texts], dtype="str")}


_BANDS: Final[dict[str, Labels]] = {
    "characteristic": pandas.array([name for name in CHARACTERISTICS for _ in BANDS], dtype="str"),
    "band": np.array([band for _ in CHARACTERISTICS for band in BANDS]),
    "label": pandas.array([label for labels in CHARACTERISTICS.values() for label in labels], dtype="str"),
}
_SEGMENTS: Final = _labels_of([bands_of(segment) for segment in range(N_SEGMENTS)])
_MARGINS: Final = _labels_of(
    [key for key in itertools.product((0, *BANDS), repeat=len(CHARACTERISTICS)) if key.count(0) == 1]
)
"""What rows of tables are about, as columns: the same in every answer."""


def cautions(workers: Ints) -> ExtensionArray:
    """Return `caution` for many counts."""
    return _CAUTIONS.take(np.searchsorted([1, 3, 10], workers, side="right"))


_CAUTIONS: Final = pandas.array([caution(0), caution(1), caution(3), caution(10)], dtype="str")


def band_sums(by_segment: Ints) -> Ints:
    """Sum joint segments to the three bands of age, earnings, and industry: int64[…, 27] to int64[…, 9]."""
    cube = by_segment.reshape(*by_segment.shape[:-1], len(BANDS), len(BANDS), len(BANDS))
    return np.concatenate(
        [cube.sum(axis=(-2, -1)), cube.sum(axis=(-3, -1)), cube.sum(axis=(-3, -2))], axis=-1
    )


def unit_table(units: LayerUnits, workers: Ints) -> pandas.DataFrame:
    """Return the units that have workers, with their places and worker columns, most workers first."""
    rows = units.most_first(np.flatnonzero(workers > 0), workers)
    listed = units.table(rows, "unit_id", "name", "kind", "lon_deg", "lat_deg")
    return pandas.DataFrame(listed | columns(workers[rows], int(workers.sum())))


def n_places(units: pandas.DataFrame) -> int:
    """Return the number of units and far states in a table of units; the row of blocks in no unit is no place."""
    return int((units["kind"] != "none").sum())


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
    named: dict[str, Labels] = {}
    for end, units, code in (("home", homes, part[0]), ("work", works, part[1])):
        for name, column in (("id", "unit_id"), ("name", "name"), ("kind", "kind")):
            named[f"{end}_{name}"] = units.rows[column].to_numpy(dtype=object)[code]
    return pandas.DataFrame(named | columns(part[2], total))


def label_rows(
    name: str, keys: Iterable[int | str], labels: Iterable[str], workers: Ints | list[int]
) -> pandas.DataFrame:
    """Return a table with a column of keys, called `name`, their labels, and worker columns."""
    counts = np.asarray(workers, dtype=np.int64)
    return pandas.DataFrame({name: list(keys), "label": list(labels)} | columns(counts, int(counts.sum())))
