"""Priors of tables: the chance that a person has the counted value, as an exact fraction."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.arrays import as_int
from engine.errors import ParameterError

__all__ = ["LARGEST_DENOMINATOR", "Rates"]

LARGEST_DENOMINATOR = 2**31 - 1
"""With denominators up to this, products of a rate and a number of people stay below 2^63."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rates:
    """One exact rate for each cell: numerator / denominator, strictly between 0 and 1.

    Parameters
    ----------
    numerator, denominator : int64[C]
        0 < numerator < denominator ≤ 2^31 - 1. They need not be in lowest terms.

    Raises
    ------
    ParameterError
        The arrays have different lengths, a denominator is too large, or a rate is not strictly between 0 and 1.
    """

    numerator: npt.NDArray[np.int64]
    denominator: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        numerator = as_int("numerator", self.numerator)
        denominator = as_int("denominator", self.denominator, high=LARGEST_DENOMINATOR)
        if numerator.size != denominator.size:
            raise ParameterError(
                f"{numerator.size} numerators and {denominator.size} denominators: give one of each per cell"
            )
        outside = np.flatnonzero((numerator <= 0) | (numerator >= denominator))
        if outside.size:
            at = int(outside[0])
            raise ParameterError(
                f"the rate of cell {at} is {numerator[at]}/{denominator[at]}: a rate must be above 0 and below 1; "
                "smooth the prior, or leave the cell out"
            )
        object.__setattr__(self, "numerator", numerator)
        object.__setattr__(self, "denominator", denominator)

    def __len__(self) -> int:
        """Number of rates."""
        return self.numerator.size

    def fraction(self, at: int) -> Fraction:
        """The rate of one cell."""
        return Fraction(int(self.numerator[at]), int(self.denominator[at]))
