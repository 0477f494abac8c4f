"""Stated errors beside those that occurred, on the small demo: finds a ± that is twice too large or too small.

Real counts are those of the dataset, for the same picks of commutes. The draws are keyed, so the ratios do not vary.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from commutemap import Release, open_release
from geodata.store.store import open_store
from mapapp.answers.records.claims import ValueClaim, records_claims
from mapapp.kinds.records.make.attributes import read_attributes
from mapapp.kinds.records.make.workers import read_codes

Floats = npt.NDArray[np.float64]


def ratio(errors: Sequence[float], stated: Sequence[float]) -> float:
    """Root mean square of errors as multiples of the stated ones."""
    assert min(stated) > 0, "no drawn number is exact"
    return float(np.sqrt(np.mean((np.array(errors) / np.array(stated)) ** 2)))


def test_errors_of_records_are_neither_twice_too_large_nor_twice_too_small(
    demo_dataset: Path, seedless_records: Path
) -> None:
    records, dataset = open_release(seedless_records), open_store(demo_dataset, "dataset")
    attributes = read_attributes(dataset)
    codes = np.concatenate(list(read_codes(dataset, attributes)))
    by_value = {
        (name, value.code): int((codes[:, place] == number).sum())
        for place, (name, values) in enumerate(_values(records))
        for number, value in enumerate(values)
    }
    profile = records.profile("all", errors=True).attributes
    errors = [row.workers - by_value[row.attribute, row.code] for row in profile.itertuples()]
    assert len(errors) > 40
    assert 0.6 < ratio(errors, profile["expected_error"].tolist()) < 1.5


def _values(records: Release) -> list[tuple[str, list[ValueClaim]]]:
    return [(claim.name, list(claim.values)) for claim in records_claims(records.certificate).attributes]
