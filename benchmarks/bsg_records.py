"""UCI Adult with the eleven attributes of Bindschaedler, Shokri and Gunter, as coded records.

Their data are of the American Community Survey of 2013; Adult is of the survey of 1994, and has the same kinds of
attributes. World area of birth is made from the native country. Buckets serve as parents only: age by 10 years, hours
by 15, and education with all degrees below a diploma as one and "diploma, but no degree" as another.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]

NAMES = (
    "age",
    "workclass",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "hours-per-week",
    "native-country",
    "Y",
)
SIZES = (74, 7, 16, 7, 14, 6, 5, 2, 99, 6, 2)
INCOME = NAMES.index("Y")

_AGES, _HOURS = np.arange(74) // 10, np.arange(99) // 15
_EDUCATION = np.array([0] * 8 + [1, 1] + list(range(2, 8)))
BUCKETS = {0: _AGES, 2: _EDUCATION, 8: _HOURS}

_AREAS = (
    {"United-States", "Outlying-US(Guam-USVI-etc)", "Puerto-Rico"},
    {
        "Mexico",
        "Cuba",
        "Jamaica",
        "Honduras",
        "Dominican-Republic",
        "El-Salvador",
        "Haiti",
        "Guatemala",
        "Nicaragua",
        "Columbia",
        "Ecuador",
        "Peru",
        "Trinadad&Tobago",
    },
    {
        "India",
        "Iran",
        "Philippines",
        "Cambodia",
        "Thailand",
        "Laos",
        "Taiwan",
        "China",
        "Japan",
        "Vietnam",
        "Hong",
    },
    {
        "England",
        "Germany",
        "Italy",
        "Poland",
        "Portugal",
        "France",
        "Ireland",
        "Scotland",
        "Greece",
        "Yugoslavia",
        "Hungary",
        "Holand-Netherlands",
    },
    {"Canada"},
)


@dataclass(frozen=True, slots=True)
class AdultRecords:
    """Coded records: int32[n, 11]."""

    codes: Codes


def read_adult(data: Path) -> AdultRecords | None:
    """Everybody without missing values in both files; None without the files."""
    files = [data / "adult" / f"adult.{name}.gz" for name in ("data", "test")]
    if not all(file.is_file() for file in files):
        return None
    people = pd.concat(
        [pd.read_csv(file, skipinitialspace=True, na_values="?").dropna() for file in files],
        ignore_index=True,
    )
    columns = [_coded(people[name].to_numpy(), name) for name in NAMES]
    return AdultRecords(np.column_stack(columns).astype(np.int32))


def _coded(values: npt.NDArray[np.generic], name: str) -> Ints:
    if name == "age":
        return values.astype(np.int64) - 17
    if name in ("hours-per-week", "education-num"):
        return values.astype(np.int64) - 1
    texts = values.astype(str)
    if name == "Y":
        return np.char.startswith(texts, ">").astype(np.int64)
    if name == "native-country":
        area = {country: at for at, countries in enumerate(_AREAS) for country in countries}
        return np.array([area.get(country, len(_AREAS)) for country in texts.tolist()], dtype=np.int64)
    return np.unique(texts, return_inverse=True)[1].astype(np.int64)


def generated_records(n_people: int) -> AdultRecords:
    """People of the same attributes whose income depends on age and education: to try a program on."""
    rng = np.random.default_rng(2017)
    codes = np.column_stack([rng.integers(0, size, n_people) for size in SIZES])
    codes[:, 2] = (codes[:, 2] + codes[:, 0] // 8) % 16
    codes[:, INCOME] = codes[:, 2] + rng.integers(-3, 4, n_people) > 8
    return AdultRecords(codes.astype(np.int32))
