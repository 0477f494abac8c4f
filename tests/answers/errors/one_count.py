"""The expected error of one count, asked for as a test has it: a share by tract, a table of workplaces, and a count."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas

from mapapp.answers.errors.expected_error import CountError, ExpectedErrors


def error_of_count(
    errors: ExpectedErrors,
    home_share: npt.ArrayLike,
    workplaces: pandas.DataFrame,
    counts: Mapping[int, int],
) -> CountError:
    """Return the expected error of a count of the workers of one work area.

    Parameters
    ----------
    errors : ExpectedErrors
    home_share : float[n_tracts]
    workplaces : DataFrame
        `tract_index`, `n_workers`, `n_synthesizers`.
    counts : mapping of int to int
        The count by workplace tract; tracts with 0 may be omitted.
    """
    n, times = (workplaces[name].to_numpy(np.float64) for name in ("n_workers", "n_synthesizers"))
    by_tract = np.zeros((1, np.size(home_share)))
    by_tract[0, list(counts)] = list(counts.values())
    home = np.asarray(home_share, dtype=np.float64)[None]
    return errors.of_counts(home, by_tract, workplaces["tract_index"].to_numpy(np.int64), n, times[None])[0]
