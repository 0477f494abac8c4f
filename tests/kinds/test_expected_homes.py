"""Expected measures of a setting in a planner's words: from public data alone, and better where more may be said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.parameters import PrivacyParameters, SynthesisParameters
from geodata.store.store import open_store
from mapapp.kinds.base.compared_homes import Places
from mapapp.kinds.base.inputs import Inputs, WorkplaceCounts
from mapapp.kinds.base.plain_measures import PlainMeasures
from mapapp.kinds.release.choose.public_part import (
    PublicPriors,
    public_distribution,
    read_public_part,
    simulated_homes,
)
from mapapp.kinds.release.make import plan
from mapapp.kinds.release.make.plan import expected_plain, simulated_inputs
from tests.changed_datasets import with_other_homes

EXPONENTIAL = SynthesisParameters(prior="flows", mechanism="exponential", clean=True, far_state_miles=300.0)


def expected(dataset: Path, epsilon: str, parameters: SynthesisParameters) -> PlainMeasures:
    store = open_store(dataset, "dataset", verify=False)
    privacy = PrivacyParameters(epsilon=epsilon, delta="1e-6", accountant="sound")
    return expected_plain(read_public_part(store), Places.read(store), privacy, parameters)


@pytest.fixture(scope="module")
def other_homes(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_other_homes(demo_dataset, tmp_path_factory.mktemp("other") / "d.dataset")


@pytest.mark.parametrize(
    "parameters",
    [
        EXPONENTIAL,
        SynthesisParameters(prior="flows"),
        SynthesisParameters(mechanism="exponential", unit="tract", editing="none"),
    ],
)
def test_it_is_the_same_whatever_the_confidential_homes_are(
    demo_dataset: Path, other_homes: Path, parameters: SynthesisParameters
) -> None:
    one, other = (expected(dataset, "6.5", parameters) for dataset in (demo_dataset, other_homes))
    assert one.to_dict() == other.to_dict()
    assert set(one.inflow) == {"tract", "town", "county"}
    assert one.to_dict()["real_mi"] is None
    assert not any("commute" in name for name in (*one.errors(), *dict(one.lines())))


def test_a_weaker_promise_makes_smaller_errors(demo_dataset: Path) -> None:
    strict, loose = (expected(demo_dataset, epsilon, EXPONENTIAL) for epsilon in ("2", "9"))
    assert loose.top_found > strict.top_found
    assert loose.top_error < strict.top_error
    assert all(loose.inflow[level] < strict.inflow[level] for level in strict.inflow)


def test_simulated_homes_are_blocks_of_the_simulated_tracts_with_people(demo_dataset: Path) -> None:
    store = open_store(demo_dataset, "dataset", verify=False)
    public = read_public_part(store)
    inputs = simulated_inputs(public, PublicPriors(public, EXPONENTIAL).gravity, common_error=1.0)
    assert inputs.worker_origin.size == inputs.worker_ptr[-1] == 3000
    people = store.table("blocks", ["population"])["population"].to_numpy()
    assert (people[inputs.worker_origin] > 0).all()


def test_homes_differ_from_the_gravity_model_in_many_workplaces_alike(demo_dataset: Path) -> None:
    """The error that is common to all workplaces shows in the residents of a tract; others nearly cancel out."""
    public = read_public_part(open_store(demo_dataset, "dataset", verify=False))
    gravity = PublicPriors(public, EXPONENTIAL).gravity
    n_tracts = public.geography.tracts.n_tracts
    usual = np.bincount(public.sample.tract, public.sample.count) @ public_distribution(public, gravity)
    off = []
    for common_error in (0.0, 1.0):
        homes = simulated_homes(public, gravity, 1e9, common_error=common_error).origin_tract
        residents = np.bincount(homes, minlength=n_tracts)
        large = usual > 30
        off.append(np.sqrt(np.mean((residents[large] / usual[large] - 1) ** 2)))
    assert off[0] < 0.3
    assert 0.4 < off[1] < 1.6


def test_areas_and_flows_are_read_from_two_simulations(
    demo_dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The common error counts in the inflow of areas, and in no flow between tracts."""
    usual = expected(demo_dataset, "6.5", EXPONENTIAL)
    monkeypatch.setattr(plan, "_COMMON_ERROR", 0.0)
    without = expected(demo_dataset, "6.5", EXPONENTIAL)
    assert usual.inflow != without.inflow
    assert usual.flows == without.flows
    assert (usual.top_found, usual.top_error) == (without.top_found, without.top_error)


def test_a_sample_of_workplace_tracts_needs_one_simulation(
    demo_dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(demo_dataset, "dataset", verify=False)
    public = read_public_part(store)
    kept = public.sample.tract == 0
    one = WorkplaceCounts(
        destination_tract=public.sample.destination_tract[:1],
        **{name: getattr(public.sample, name)[kept] for name in ("destination", "segment", "tract", "count")},
    )
    asked = []

    def counted(*arguments: Any, **options: Any) -> Inputs:
        asked.append(options["common_error"])
        return simulated_inputs(*arguments, **options)

    monkeypatch.setattr(plan, "simulated_inputs", counted)
    privacy = PrivacyParameters(epsilon="6.5", delta="1e-6", accountant="sound")
    found = expected_plain(replace(public, sample=one), Places.read(store), privacy, EXPONENTIAL)
    assert found.inflow == {}
    assert asked == [0.0]
