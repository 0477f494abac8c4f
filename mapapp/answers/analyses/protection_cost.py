"""What protection costs: counts of synthetic workers compared with the published ones that they were drawn from."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas

_LEAST: Final = (0, 1, 10, 100, 1_000, 10_000)
"""Least published count of each class of rows."""


def differences_by_size(rows: pandas.DataFrame, public: tuple[bool, bool]) -> pandas.DataFrame | None:
    """Return the differences between drawn and published counts, by the size of the published count.

    Parameters
    ----------
    rows : DataFrame
        ``before``, ``after``, ``change``, and ``expected_error``, as in `Change.rows`.
    public : tuple of bool
        Which side is the published one.

    Returns
    -------
    DataFrame or None
        ``size`` (published workers), ``rows``, ``workers`` (published), ``mean_absolute_difference``,
        ``rms_difference``, ``stated_error`` (root mean square of the expected errors of the drawn counts; NaN without
        one), and ``compared`` (rows that have one); None unless one side is published and the other drawn.
    """
    if public == (False, False):
        return None
    published = rows["before" if public[0] else "after"].to_numpy(np.float64)
    difference = rows["change"].to_numpy(np.float64)
    error = rows["expected_error"].to_numpy(np.float64)
    of_class = np.searchsorted(_LEAST, published, side="right") - 1
    classes = []
    for number, least in enumerate(_LEAST):
        inside = of_class == number
        known = inside & ~np.isnan(error)
        if inside.any():
            classes.append(
                {
                    "size": _size(number, least),
                    "rows": int(inside.sum()),
                    "workers": int(published[inside].sum()),
                    "mean_absolute_difference": float(np.abs(difference[inside]).mean()),
                    "rms_difference": float(np.sqrt(np.mean(difference[inside] ** 2))),
                    "stated_error": float(np.sqrt(np.mean(error[known] ** 2)))
                    if known.any()
                    else float("nan"),
                    "compared": int(known.sum()),
                }
            )
    return pandas.DataFrame(classes)


def _size(number: int, least: int) -> str:
    if least == 0:
        return "0"
    if number == len(_LEAST) - 1:
        return f"{least:,} or more"
    return f"{least:,} to {_LEAST[number + 1] - 1:,}"
