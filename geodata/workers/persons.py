"""Persons behind worker records: which of a person's jobs is the first, the second, and so on.

Identifiers are hashed with a key that nobody keeps, and leave no trace but the number of each job among its person's.
Numbers follow from a person's own rows, and never from homes: the best paid job is the first.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas.util
import pyarrow

JOB_NUMBER: Final = "job_number"
"""Column of `workers`: 0 for a person's first job. It is no attribute, and in no publication."""
MOST_JOBS: Final = 1 << 15
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)

Words = npt.NDArray[np.uint64]


class PersonJobs:
    """Collects the persons of rows while they are read, and then numbers their jobs.

    Memory grows by 16 bytes a row.
    """

    def __init__(self) -> None:
        self._key = secrets.token_hex(8)
        self._persons: list[Words] = []
        self._orders: list[Words] = []

    def hashes(self, identifiers: pyarrow.DictionaryArray, rows: npt.NDArray[np.bool_]) -> Words:
        """Keyed 64-bit hashes of the identifiers of some rows; two persons of a nation rarely have the same."""
        words = identifiers.dictionary.to_numpy(zero_copy_only=False)
        of_word = pandas.util.hash_array(words, hash_key=self._key, categorize=False).astype(np.uint64)
        index = identifiers.indices.fill_null(0).to_numpy(zero_copy_only=False)
        hashed: Words = of_word[index[rows]] if of_word.size else np.zeros(0, dtype=np.uint64)
        return hashed

    def add(self, persons: Words, columns: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Add rows in their order: hashes of the persons, and columns of `workers`."""
        order = (3 - columns["earnings"].astype(np.int64)).astype(np.uint64) << np.uint64(62)
        mixed = np.zeros(persons.size, dtype=np.uint64)
        for name in sorted(set(columns) - {"origin_index", JOB_NUMBER}):
            mixed = (mixed ^ columns[name].astype(np.int64).astype(np.uint64)) * _FACTOR
            mixed ^= mixed >> np.uint64(29)
        self._persons.append(persons)
        self._orders.append(order | (mixed >> np.uint64(2)))

    def numbers(self) -> npt.NDArray[np.int16]:
        """The number of each row among those of its person, in the order in which rows were added: int16[n].

        Of rows that differ in nothing but the home, the one that comes first in the file is the first.
        """
        persons = np.concatenate([*self._persons, np.zeros(0, dtype=np.uint64)])
        orders = np.concatenate([*self._orders, np.zeros(0, dtype=np.uint64)])
        by_person = np.lexsort((orders, persons))
        is_first = np.append(True, np.diff(persons[by_person]) != 0)[: persons.size]
        start = np.maximum.accumulate(np.where(is_first, np.arange(persons.size), 0))
        numbers = np.empty(persons.size, dtype=np.int16)
        numbers[by_person] = np.minimum(np.arange(persons.size) - start, MOST_JOBS - 1)
        return numbers
