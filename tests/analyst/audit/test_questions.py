"""The questions of an audit against plain counting of the stores' tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas
import pytest

from engine.audit.lookup import lookup, lookup_without_victim
from mapapp.analyst.audit.audited import AuditedPart, audited_release
from mapapp.analyst.audit.questions import Areas, QuestionPart, Target, ask
from mapapp.analyst.validity.confidential_parts import AnalystData


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
        n_tracts = len(np.unique(part.guess))
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


@pytest.mark.parametrize("target", ["home point", "home tract", "home county"])
def test_homes_are_looked_up_in_the_block_and_segment(
    data: AnalystData, parts: list[AuditedPart], target: Target
) -> None:
    """The attackers who sort by every key find the same."""
    for part, question in zip(parts, asked(data, parts, target), strict=True):
        inputs = part.panel.inputs
        cell = np.repeat(np.arange(inputs.count.size), inputs.count)
        keys = [cell, np.repeat(inputs.tract, inputs.count).astype(np.int64)]
        require_lookups(question, keys, keys)


@pytest.mark.parametrize(("target", "step"), [("earnings", 3), ("industry", 1)])
def test_segments_are_looked_up_by_block_and_home(
    data: AnalystData, parts: list[AuditedPart], target: Target, step: int
) -> None:
    """Keys are the workplace block and the other bands, with the home tract and without."""
    tract_of_block = data.geography.tract_of_block.astype(np.int64)
    for part, question in zip(parts, asked(data, parts, target), strict=True):
        inputs = part.panel.inputs
        rest = inputs.segment - inputs.segment // step % 3 * step
        margin = np.repeat(inputs.destination * 27 + rest, inputs.count)
        homes = (inputs.worker_origin, part.home_block)
        fine, released_fine = (
            margin * data.geography.tracts.n_tracts + tract_of_block[home] for home in homes
        )
        require_lookups(question, [fine, margin], [released_fine, margin])


def require_lookups(
    question: QuestionPart,
    keys: list[npt.NDArray[np.int64]],
    released_keys: list[npt.NDArray[np.int64]],
) -> None:
    truth, prior = question.truth, question.prior
    expected = (
        lookup(released_keys, question.released, keys, prior),
        lookup_without_victim(keys, truth, prior),
        lookup(keys, truth, keys, prior),
    )
    for found, wanted in zip(question.lookups, expected, strict=True):
        np.testing.assert_array_equal(found.value, wanted.value)
        np.testing.assert_array_equal(found.belief, wanted.belief)
