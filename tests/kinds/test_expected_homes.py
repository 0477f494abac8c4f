"""Expected measures of a setting in a planner's words: from public data alone, and better where more may be said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.parameters import PrivacyParameters, SynthesisParameters
from geodata.store.store import open_store
from mapapp.analyst.validity.validity import AnalystData, measure_release
from mapapp.answers.release import Release
from mapapp.kinds.base.inputs import WorkplaceCounts
from mapapp.kinds.base.plain_measures import PlainMeasures
from mapapp.kinds.release.choose.public_part import (
    PublicPart,
    PublicPriors,
    public_part_of,
    read_public_part,
)
from mapapp.kinds.release.make import plan
from mapapp.kinds.release.make.plan import plan_synthesis, simulated_inputs
from tests.changed_datasets import with_other_homes

EXPONENTIAL = SynthesisParameters(prior="flows", mechanism="exponential", clean=True, far_state_miles=300.0)


def expected(dataset: Path, epsilon: str, parameters: SynthesisParameters) -> PlainMeasures:
    privacy = PrivacyParameters(epsilon=epsilon, delta="1e-6", accountant="sound")
    return plan_synthesis(dataset, privacy, parameters, test_key=True).plain


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
    inputs = simulated_inputs(public, PublicPriors(public, EXPONENTIAL).gravity)
    assert inputs.worker_origin.size == inputs.worker_ptr[-1] == 3000
    people = store.table("blocks", ["population"])["population"].to_numpy()
    assert (people[inputs.worker_origin] > 0).all()


def test_a_dry_run_and_validate_state_what_pages_state(demo_dataset: Path, demo_release: Path) -> None:
    """Finds one error for a page, another one for the analyst who validates, and a third one for a dry run."""
    validity = measure_release(AnalystData.open(demo_dataset, (demo_release,)), demo_release)
    assert validity.plain is not None
    stated = validity.plain.stated
    assert stated is not None
    release = Release.open(demo_release)
    inflows, errors = [], []
    for county in release.comparison(layer="county").units.query("kind == 'unit' and workers > 0")["unit_id"]:
        answer = release.inflow_outflow(f"county:{county}", errors=True)
        if answer.inflow.value >= 1:
            assert answer.inflow.expected_error is not None
            inflows.append(answer.inflow.value)
            errors.append(answer.inflow.expected_error)
    assert stated.inflow["county"] == pytest.approx(np.sqrt(np.mean(np.square(errors))) / np.mean(inflows))
    certificate = release.certificate
    privacy = PrivacyParameters.from_dict(certificate["parameters"]["privacy"])
    parameters = SynthesisParameters.from_dict(certificate["parameters"]["synthesis"])
    planned = plan_synthesis(demo_dataset, privacy, parameters, test_key=True).plain
    assert set(planned.inflow) == set(stated.inflow)
    # Other homes: those of the release are drawn from real ones, those of the plan from simulated ones.
    for level, error in stated.inflow.items():
        assert 0.5 < planned.inflow[level] / error < 2
    for size in ("3-9", "10-49"):
        assert 0.5 < planned.flows[size] / stated.flows[size] < 2


def test_a_sample_of_workplace_tracts_has_no_inflow(
    demo_dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finds an inflow of areas of whose workplaces only some were drawn."""

    def first_tract(*arguments: Any) -> PublicPart:
        public = public_part_of(*arguments)
        kept = public.sample.tract == 0
        columns = ("destination", "segment", "tract", "count")
        one = WorkplaceCounts(
            destination_tract=public.sample.destination_tract[:1],
            **{name: getattr(public.sample, name)[kept] for name in columns},
        )
        return replace(public, sample=one)

    monkeypatch.setattr(plan, "public_part_of", first_tract)
    found = expected(demo_dataset, "6.5", EXPONENTIAL)
    assert found.inflow == {}
    assert found.flows
