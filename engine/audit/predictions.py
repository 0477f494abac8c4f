"""What an attacker predicts for each worker, and how firmly."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine._arrays import FloatArray

__all__ = ["Predictions"]


class Predictions(NamedTuple):
    """One predicted value of the sensitive attribute for each victim.

    Attributes
    ----------
    value : int64[N]
        The value that the attacker believes in most. Ties go to the value of greater prior, then to the lower code.
    belief : float64[N]
        The attacker's belief in that value, from 0 to 1.
    """

    value: npt.NDArray[np.int64]
    belief: FloatArray
