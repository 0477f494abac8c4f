"""Stated errors beside those that occurred, on the small demo: finds a ± that is twice too large or too small.

Real counts are those of the dataset, for the same picks of commutes. The draws are keyed, so the ratios do not vary.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest

from commutemap import Release, open_release
from engine.parameters import PrivacyParameters, SynthesisParameters
from geodata.store.store import open_store
from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.commutes.attributes import Attributes
from mapapp.answers.commutes.flows import Flows
from mapapp.answers.commutes.prepared import prepare
from mapapp.answers.records.claims import ValueClaim, records_claims
from mapapp.kinds.records.make.attributes import read_attributes
from mapapp.kinds.records.make.workers import read_codes
from mapapp.kinds.release.make.run import run_synthesis
from mapapp.question.fields import Side
from tests.sharing import made_once

SIDES: Final[tuple[Side, ...]] = ("work", "home")

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
    rows: list[Any] = list(profile.itertuples())
    errors = [float(row.workers - by_value[row.attribute, row.code]) for row in rows]
    assert len(errors) > 40
    assert 0.6 < ratio(errors, profile["expected_error"].tolist()) < 1.5


def _values(records: Release) -> list[tuple[str, list[ValueClaim]]]:
    return [(claim.name, list(claim.values)) for claim in records_claims(records.certificate).attributes]


@pytest.fixture(scope="module")
def cleaned_release(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of the small demo as the recommended preset draws it, under the test key."""

    def make(folder: Path) -> None:
        dataset = Path(shutil.copytree(demo_dataset, folder / "d"))
        privacy = PrivacyParameters(epsilon="6.5", delta="1e-6", min_retention="1", accountant="sound")
        parameters = SynthesisParameters(mechanism="exponential", clean=True)
        run_synthesis(dataset, folder / "x.release", privacy, parameters, test_key=True)

    return made_once(tmp_path_factory, "cleaned_release", make) / "x.release"


@pytest.mark.parametrize("fixture", ["demo_release", "cleaned_release"])
def test_errors_of_releases_are_neither_twice_too_large_nor_twice_too_small(
    fixture: str, demo_dataset: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    release, dataset = open_release(request.getfixturevalue(fixture)), open_store(demo_dataset, "dataset")
    real = Flows(prepare(dataset, home=tmp_path), dataset, Attributes())
    units = release.comparison(layer="county").units
    errors, stated = [], []
    for unit in units[(units["kind"] == "unit") & (units["workers"] > 0)]["unit_id"]:
        for side in SIDES:
            answer = release.destinations(f"county:{unit}", layer="puma", side=side, errors=True)
            pick_of = entry_of(answer).counts(release.areas, answer)[1]["units"]
            rows: list[Any] = list(answer.units.head(10).itertuples())
            for row in rows:
                pick = pick_of(row)
                assert pick is not None
                errors.append(float(row.workers - real.by_segment(pick).sum()))
                stated.append(float(row.expected_error))
    assert len(errors) >= 20
    assert 0.6 < ratio(errors, stated) < 1.5
