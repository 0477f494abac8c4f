"""The UCI Adult table as C13 uses it: five quasi-identifiers, and the occupation as the sensitive attribute.

Codes follow the natural order where there is one (education by years of school, hours, income), and else the alphabet.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

ATTRIBUTES = ("workclass", "education-num", "sex", "hours-per-week", "Y")
SENSITIVE = "occupation"
_HOURS = 99
_SHAPE = {"workclass": 7, "education-num": 16, "sex": 2, "hours-per-week": _HOURS, "Y": 2}
_VALUES = 14


@dataclass(frozen=True, slots=True)
class CodedTable:
    """People with coded attributes.

    Attributes
    ----------
    codes : int64[N, d]
    sensitive : int64[N]
    sizes : int64[d]
    values : tuple of str
        Names of the sensitive values.
    """

    codes: npt.NDArray[np.int64]
    sensitive: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    values: tuple[str, ...]

    def part(self, rows: npt.NDArray[np.int64]) -> CodedTable:
        """The same attributes, and some of the people."""
        return CodedTable(self.codes[rows], self.sensitive[rows], self.sizes, self.values)


def read_adult(data: Path) -> CodedTable | None:
    """The training file's people without missing values; None without the file."""
    file = data / "adult" / "adult.data.gz"
    if not file.is_file():
        return None
    frame = pd.read_csv(file, skipinitialspace=True, na_values="?").dropna()
    columns = []
    for name in ATTRIBUTES:
        if name == "hours-per-week":
            columns.append(frame[name].to_numpy() - 1)
        else:
            columns.append(np.unique(frame[name].to_numpy(), return_inverse=True)[1])
    values, sensitive = np.unique(frame[SENSITIVE].to_numpy().astype(str), return_inverse=True)
    return CodedTable(np.column_stack(columns), sensitive, _sizes(), tuple(values.tolist()))


def generated_table(n_people: int) -> CodedTable:
    """People of the same attributes whose occupation depends on their education: to try a program on."""
    rng = np.random.default_rng(2013)
    sizes = _sizes()
    codes = rng.integers(0, sizes, (n_people, sizes.size))
    sensitive = (codes[:, 1] + rng.integers(0, 4, n_people)) % _VALUES
    return CodedTable(codes, sensitive, sizes, tuple(f"occupation {number}" for number in range(_VALUES)))


def _sizes() -> npt.NDArray[np.int64]:
    return np.array([_SHAPE[name] for name in ATTRIBUTES])
