"""The error that a release's mechanism is expected to make in a count; the one place where it is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def expected_errors(certificate: dict[str, Any], workers: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Root mean square error of counts of workers, in workers; NaN where the certificate does not tell."""
    return np.full(np.shape(workers), np.nan)
