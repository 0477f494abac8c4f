"""The questions of an audit against plain counting of the stores' tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import pytest

from mapapp.measuring.analyst import AnalystData
from mapapp.measuring.audit.audited import AuditedPart, audited_release
from mapapp.measuring.audit.questions import Areas, QuestionPart, Target, ask


@pytest.fixture(scope="module")
def data(demo_dataset: Path) -> AnalystData:
    return AnalystData.open(demo_dataset)


@pytest.fixture(scope="module")
def parts(data: AnalystData, demo_release: Path) -> list[AuditedPart]:
    release = audited_release(data, demo_release)
    return [release.part(panel) for panel in data.panels()]


def asked(data: AnalystData, parts: list[AuditedPart], target: Target) -> list[QuestionPart]:
    areas = Areas.read(data.store, data.geography)
    return [ask(target, part, data.geography, areas) for part in parts]


@pytest.mark.parametrize("target", ["home tract", "home county"])
def test_homes_are_those_of_the_tables(
    data: AnalystData, parts: list[AuditedPart], demo_dataset: Path, demo_release: Path, target: Target
) -> None:
    column = {"home tract": "tract_index", "home county": "county_id"}[target]
    blocks = pandas.read_parquet(demo_dataset / "blocks.parquet")
    for which, store in (("truth", demo_dataset), ("released", demo_release)):
        jobs = pandas.read_parquet(store / "jobs.parquet")
        expected = jobs.groupby(blocks[column].to_numpy()[jobs["origin_index"]])["count"].sum()
        values = np.concatenate([getattr(part, which) % part.n_values for part in asked(data, parts, target)])
        counted = np.bincount(values)
        assert sorted(counted[counted > 0]) == sorted(expected[expected > 0])


@pytest.mark.parametrize("target", ["home point", "home tract", "home county"])
def test_public_shares_sum_to_one_in_every_workplace_tract(
    data: AnalystData, parts: list[AuditedPart], target: Target
) -> None:
    for part in asked(data, parts, target):
        n_tracts = int(part.keys[1].max()) + 1
        assert part.prior.sum() == pytest.approx(n_tracts)
        assert np.all((part.truth >= 0) & (part.truth < part.prior.size))
        np.testing.assert_allclose(part.belief, part.prior[part.guess])
        assert np.all(part.prior[part.truth] <= part.belief + 1e-12)


@pytest.mark.parametrize("target", ["earnings", "industry"])
def test_public_margins_are_the_majority_of_block_and_segment(
    data: AnalystData, parts: list[AuditedPart], demo_dataset: Path, target: Target
) -> None:
    jobs = pandas.read_parquet(demo_dataset / "jobs.parquet")
    known = ["destination_index", "age", "industry" if target == "earnings" else "earnings"]
    table = jobs.groupby([*known, target])["count"].sum()
    right = table.groupby(known).max().sum()
    found = sum(int((part.guess == part.truth).sum()) for part in asked(data, parts, target))
    assert found == right


def test_the_synthetic_homes_of_a_block_and_segment_are_permuted_without_effect(
    data: AnalystData, parts: list[AuditedPart]
) -> None:
    """Keys of synthetic workers depend on the block and segment and on the home, never on the order of the rows."""
    for part in asked(data, parts, "earnings"):
        assert np.array_equal(part.keys[1], part.released_keys[1])
        assert np.array_equal(np.sort(part.keys[0] // data.geography.tracts.n_tracts), np.sort(part.keys[1]))
