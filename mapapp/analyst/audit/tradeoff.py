"""What attackers learn at equal error: every scheme over its parameter, held against each release.

Accuracy is interpolated linearly in the error between neighboring parameters of a scheme. Outside its range a scheme
does not reach the release's error, and nothing is extrapolated. A parameter that even all workers together do not meet
is left out: its single leaf breaks the rule that the scheme promises.

Source: docs/replications/rhode-island.md, "At equal error".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas

__all__ = ["ABOUT", "compare_at_equal_error", "interpolate_accuracy"]

ABOUT: Final = ("all", "1")
"""For whom leakage is compared: all workers, and lone workers, who are where schemes differ."""


def interpolate_accuracy(errors: Sequence[float], accuracies: Sequence[float], at: float) -> float | None:
    """Return the accuracy at an error, between the neighboring points of a scheme; None outside its range.

    Parameters
    ----------
    errors, accuracies : sequence of float
        Of the scheme's parameters, in any order.
    at : float
    """
    order = np.argsort(errors, kind="stable")
    known = np.asarray(errors, dtype=np.float64)[order]
    if not known.size or not known[0] <= at <= known[-1]:
        return None
    return float(np.interp(at, known, np.asarray(accuracies, dtype=np.float64)[order]))


def compare_at_equal_error(schemes: pandas.DataFrame) -> pandas.DataFrame:
    """Compare every release with every scheme at the release's error.

    Parameters
    ----------
    schemes : DataFrame
        Table `schemes`; rows of releases have the scheme "release".

    Returns
    -------
    DataFrame
        target, release, n, median_relative_error, leakage (lookup accuracy of the release), scheme, scheme_leakage (NaN
        where the scheme does not reach the error), reached.
    """
    rows = []
    for target in schemes["target"].unique():
        for n in ABOUT:
            of_class = schemes[(schemes["target"] == target) & (schemes["n"] == n)]
            releases = of_class[of_class["scheme"] == "release"]
            others = of_class[of_class["scheme"] != "release"]
            for release in releases.to_dict("records"):
                for scheme in others["scheme"].unique():
                    line = others[(others["scheme"] == scheme) & others["meets_rule"]]
                    at = float(release["median_relative_error"])
                    scheme_leakage = interpolate_accuracy(
                        line["median_relative_error"].to_list(), line["lookup"].to_list(), at
                    )
                    rows.append(
                        {
                            "target": target,
                            "release": release["label"],
                            "n": n,
                            "median_relative_error": at,
                            "leakage": float(release["lookup"]),
                            "scheme": scheme,
                            "scheme_leakage": float("nan") if scheme_leakage is None else scheme_leakage,
                            "reached": scheme_leakage is not None,
                        }
                    )
    return pandas.DataFrame(rows)
