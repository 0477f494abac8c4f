"""Group sizes and pass rates, against plain counting and against a run's own candidates."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from engine.records.acceptance import Acceptance
from engine.records.groups import GroupTable
from geodata.store.store import open_store
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.plan import plan_records
from mapapp.kinds.records.measure.draws import draw_key, draw_plan
from mapapp.kinds.records.measure.groups import group_sizes
from mapapp.kinds.records.measure.workers import RecordWorkers

Codes = npt.NDArray[np.int32]

DOMAIN = (3, 4, 5)
TEST = Acceptance(min_plausible_seeds=6, threshold_epsilon="0.5", forced_fail="0.1")


@pytest.fixture(scope="module")
def workers(demo_dataset: Path) -> RecordWorkers:
    return RecordWorkers(open_store(demo_dataset, "dataset", verify=False))


@pytest.fixture(scope="module")
def codes() -> Codes:
    random = np.random.default_rng(3)
    return np.stack([random.integers(0, size, 200) for size in DOMAIN], axis=1).astype(np.int32)


def test_sizes_are_plain_counts_of_every_prefix(codes: Codes) -> None:
    found = group_sizes(codes, DOMAIN)
    assert [one.kept for one in found] == [0, 1, 2, 3]
    for one in found:
        groups = Counter(tuple(row[: one.kept]) for row in codes.tolist())
        by_size = Counter(groups.values())
        assert one.size.tolist() == sorted(by_size)
        assert one.n_workers.tolist() == [size * by_size[size] for size in sorted(by_size)]
        assert one.n_groups == len(groups)
        for least in (1, 4, 7, 200, 201):
            inside = sum(size for size in groups.values() if size >= least)
            assert one.share_in(least) == pytest.approx(inside / 200)


def test_the_engine_counts_the_same_groups(codes: Codes) -> None:
    for one in group_sizes(codes, DOMAIN):
        size = GroupTable.of(codes[:, : one.kept], DOMAIN[: one.kept]).size
        assert sorted(size[size > 0].tolist()) == sorted(
            np.repeat(one.size, one.n_workers // one.size).tolist()
        )


def test_the_pass_rate_is_the_mean_of_exact_chances(codes: Codes) -> None:
    a = Fraction(math.exp(-0.5))
    for one in group_sizes(codes, DOMAIN)[1:]:
        groups = Counter(tuple(row[: one.kept]) for row in codes.tolist())
        exact = sum(size * TEST.exact_chance(size, a) for size in groups.values()) / 200
        assert one.pass_rate(TEST) == pytest.approx(float(exact), rel=1e-12)


def test_without_kept_attributes_nothing_is_tested(codes: Codes) -> None:
    assert group_sizes(codes, DOMAIN)[0].pass_rate(TEST) == 1.0


def test_as_many_pass_in_a_run_as_the_rate_says(workers: RecordWorkers) -> None:
    """A run with the test key, whose seeds are those of `seed_sizes`: within five standard deviations."""
    choice = Choice(kept=workers.attributes.names[:2], min_seeds=50)
    plan = workers.plan(choice)
    assert plan.seeds is not None
    rate = workers.seed_sizes(plan.split)[2].pass_rate(plan.seeds.acceptance)
    drawn = draw_plan(workers, plan, draw_key(0))
    tries = plan.seeds.n_tries
    assert 0.1 < rate < 0.9
    assert abs(drawn.n_passed / tries - rate) < 5 * math.sqrt(rate * (1 - rate) / tries)


def test_a_plan_is_made_once(workers: RecordWorkers) -> None:
    assert workers.plan(Choice()) is workers.plan(Choice())
    assert workers.n_workers == len(workers.codes)


@pytest.mark.parametrize(
    "given",
    [{"min_seeds": 200}, {"epsilon": Fraction(20)}, {"min_seeds": 200, "threshold_epsilon": Fraction(1, 8)}],
)
def test_a_plan_that_keeps_more_is_that_of_the_command(demo_dataset: Path, given: dict[str, Any]) -> None:
    """Its test is not searched for again."""
    workers = RecordWorkers(open_store(demo_dataset, "dataset", verify=False))
    first, second = (Choice(kept=workers.attributes.names[:kept], **given) for kept in (1, 3))
    assert workers.plan(first).choice == first
    found = workers.plan(second)
    stated = plan_records(workers.attributes, workers.n_workers, second)
    assert (found.choice, found.seeds, found.parts) == (second, stated.seeds, stated.parts)
    assert (found.split, found.model_epsilon) == (stated.split, stated.model_epsilon)
