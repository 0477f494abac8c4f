"""Validity of a setting before drawing: parts against the whole, closed form against drawing, every mechanism."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, get_args

import numpy as np
import pandas
import pytest

from engine.errors import EngineError, ParameterError
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from mapapp.analyst.validity import confidential_parts
from mapapp.analyst.validity import part as validity_part
from mapapp.analyst.validity.drawn import open_release
from mapapp.analyst.validity.validity import AnalystData, measure_release, measure_setting
from mapapp.kinds.base.inputs import WorkplaceCounts, read_inputs
from mapapp.kinds.release.choose.expected_validity import HomeTracts, expected_validity, grid_around
from mapapp.kinds.release.make.settings import privacy_of

PRIVACY = privacy_of(accountant="sound", delta="1e-6", min_retention="0.025")
PAPER = privacy_of(accountant="paper", delta="1e-6", min_retention="0.025")
FLOWS = SynthesisParameters(prior="flows")


@pytest.fixture(scope="module")
def data(demo_dataset: Path) -> AnalystData:
    return AnalystData.open(demo_dataset)


def test_it_agrees_with_the_measure_that_designs_settings(data: AnalystData) -> None:
    """Where no point is eliminated; the two read the store in different ways."""
    parameters = SynthesisParameters(prior="gravity")
    inputs = read_inputs(data.store, data.geography, data.workplaces, 0)
    homes = HomeTracts(
        cell=grid_around(data.geography.tracts, inputs.destination_tract)[1],
        origin_tract=data.geography.tract_of_block[inputs.worker_origin].astype(np.int64),
    )
    assert data.workplaces.n_batches == 1
    expected = expected_validity(
        PublicSeed.for_tests(),
        data.geography.tracts,
        data.prior(parameters),
        WorkplaceCounts.of(inputs),
        homes,
        PRIVACY,
        parameters,
    )
    found = measure_setting(data, PRIVACY, parameters)
    table = found.tables["destinations"]
    np.testing.assert_allclose(table["kl"], expected.kl, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(table["imse"], expected.imse, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(table["n_workers"], expected.n_workers)
    assert found.kl_all == pytest.approx(expected.kl_all)
    assert found.kl_small == pytest.approx(expected.kl_small)
    assert found.summary["n_support"] == pytest.approx(expected.n_support)


@pytest.mark.parametrize("parameters", [FLOWS, SynthesisParameters()])
def test_parts_are_as_good_as_the_whole(
    data: AnalystData, parameters: SynthesisParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = measure_setting(data, PRIVACY, parameters)
    monkeypatch.setattr(confidential_parts, "_PAIRS_OF_PART", 3 * data.geography.tracts.n_tracts)
    monkeypatch.setattr(confidential_parts, "_KEPT_PAIRS", 0)
    parts = measure_setting(AnalystData(data.store), PRIVACY, parameters)
    assert whole.summary == pytest.approx(parts.summary, nan_ok=True)
    for name, table in whole.tables.items():
        other = parts.tables[name]
        assert list(table.columns) == list(other.columns)
        for column in table:
            if table[column].dtype.kind == "f":
                np.testing.assert_allclose(
                    table[column], other[column], rtol=1e-9, atol=1e-12, err_msg=column
                )
            else:
                assert table[column].tolist() == other[column].tolist()


def test_a_sample_is_those_rows_of_the_whole(data: AnalystData) -> None:
    sample = data.sample(5)
    whole, part = (measure_setting(data, PRIVACY, FLOWS, tracts=tracts) for tracts in (None, sample))
    assert part.facts["scope"]["is_sample"]
    assert part.facts["scope"]["tracts_measured"] == sample.size == 5
    assert not whole.facts["scope"]["is_sample"]
    assert whole.facts["scope"]["workers_measured"] == whole.facts["scope"]["workers"]
    tracts = whole.tables["tracts"]
    mine = tracts[tracts["position"].isin(sample)].reset_index(drop=True)
    np.testing.assert_allclose(part.tables["tracts"]["kl"], mine["kl"])
    assert part.tables["tracts"]["n_workers"].tolist() == mine["n_workers"].tolist()


@pytest.mark.parametrize(("privacy", "prior"), [(PRIVACY, "flows"), (PAPER, "gravity"), (PRIVACY, "uniform")])
def test_closed_form_agrees_with_drawing(
    data: AnalystData, privacy: PrivacyParameters, prior: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sampler itself, 60 times under the test key; shares within four standard errors of 29 cells of all workers.

    The closed form uses the mean of the kept prior mass, which is worth a tenth of a percent here.
    """
    parameters = SynthesisParameters(prior=prior)
    closed = measure_setting(data, privacy, parameters)
    monkeypatch.setattr(validity_part, "N_DRAWS", 60)
    monkeypatch.setattr(validity_part, "NO_CLOSED_FORM", get_args(Mechanism))
    drawn = measure_setting(data, privacy, parameters)
    for who in ("all", "small"):
        one, other = (found.tables["ranges"][f"posterior_{who}"] for found in (closed, drawn))
        np.testing.assert_allclose(one, other, atol=0.006)
    assert drawn.summary["imse_all"] == pytest.approx(closed.summary["imse_all"], rel=0.03)
    assert drawn.summary["imse_small"] == pytest.approx(closed.summary["imse_small"], rel=0.03)
    assert drawn.summary["distance_expected_mi"] == pytest.approx(
        closed.summary["distance_expected_mi"], rel=0.02
    )


def test_a_drawn_setting_is_measured_as_the_release_that_it_would_be(
    data: AnalystData, demo_release: Path
) -> None:
    """The release was drawn with the same test key, so every number is the same."""
    release = measure_release(data, demo_release)
    drawn = open_release(data, demo_release)
    setting = measure_setting(data, drawn.privacy, drawn.parameters, draw=True)
    assert setting.plain is not None
    assert release.plain is not None
    for name in ("flows", "top_areas", "in_out"):
        pandas.testing.assert_frame_equal(setting.tables[name], release.tables[name])
    assert release.plain.stated is not None, "what pages state is known of a release alone"
    assert setting.plain.lines() == replace(release.plain, stated=None).lines()
    assert list(setting.plain.inflow) == ["tract", "town", "county"]
    assert setting.plain.commute_error == pytest.approx(release.plain.commute_error)
    sample = measure_setting(data, drawn.privacy, drawn.parameters, draw=True, tracts=data.sample(3))
    assert "in_out" not in sample.tables
    assert sample.plain is not None
    assert not sample.plain.inflow
    assert measure_setting(data, drawn.privacy, drawn.parameters).plain is None


def test_every_mechanism_and_editing_is_measured(data: AnalystData) -> None:
    for parameters, privacy in (
        *((SynthesisParameters(prior="flows", mechanism=name), PRIVACY) for name in get_args(Mechanism)),
        (SynthesisParameters(prior="flows", editing="drop", replication=True), PAPER),
        (SynthesisParameters(prior="flows", editing="none"), PAPER),
    ):
        found = measure_setting(data, privacy, parameters)
        assert found.basis == ("simulated" if parameters.mechanism == "exponential" else "closed form")
        for name in ("kl_all", "kl_small", "imse_all", "imse_small"):
            assert 0 < found.summary[name] < 5
        ranges = found.tables["ranges"]
        np.testing.assert_allclose(ranges.filter(regex="likelihood|posterior").sum(), 1.0)
        assert found.summary["edited_out_all"] == 0 or parameters.editing != "none"
        json.dumps(found.to_dict(), allow_nan=False)
    assert found.tables["support"].set_index(["when", "name"])["mean"]["before editing", "all"] > 0


def test_no_noise_loses_nothing(data: AnalystData) -> None:
    whole_earth = SynthesisParameters(
        prior="uniform", strength=0.0, tract_radius_mi=12_500.0, puma_radius_mi=12_500.0
    )
    privacy = PrivacyParameters(epsilon=60, delta="1e-6", accountant="sound")
    found = measure_setting(data, privacy, whole_earth)
    assert 0 <= found.kl_all < 1e-3
    likelihood, posterior = (found.tables["ranges"][f"{name}_all"] for name in ("likelihood", "posterior"))
    np.testing.assert_allclose(likelihood, posterior, atol=1e-3)
    np.testing.assert_allclose(
        found.tables["destinations"]["real_mi"], found.tables["destinations"]["expected_mi"], atol=0.5
    )


def test_the_parts_of_the_promise_add_up(data: AnalystData) -> None:
    for privacy in (PRIVACY, PAPER):
        facts = measure_setting(data, privacy, FLOWS).facts["certificate"]
        assert sum(part["value"] for part in facts["parts"]) == pytest.approx(facts["epsilon_final"])
        assert facts["delta_bound"] is not None
        assert facts["delta"] is not None
        assert facts["delta_bound"] <= facts["delta"] == 1e-6
        assert facts["refusal"] is None


def test_a_setting_that_no_release_would_be_made_with_says_so(data: AnalystData) -> None:
    with pytest.raises(EngineError):
        measure_setting(data, PrivacyParameters(epsilon="1e-18", delta="1e-6", accountant="sound"), FLOWS)


@pytest.mark.parametrize("tracts", [[-1], [10**6], [1, 1], [], [0.5]])
def test_tracts_that_are_none_are_refused(data: AnalystData, tracts: list[Any]) -> None:
    with pytest.raises(ParameterError, match="tracts"):
        measure_setting(data, PRIVACY, FLOWS, tracts=np.array(tracts))


def test_it_can_be_cancelled(data: AnalystData) -> None:
    class Stopped(Exception):
        pass

    def stop(_stage: str, _done: int, _total: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        measure_setting(data, PRIVACY, FLOWS, report=stop)


def test_the_result_says_that_it_is_confidential(data: AnalystData) -> None:
    stated = measure_setting(data, PRIVACY, FLOWS).to_dict(tables=False)["confidential"]
    assert "not for publication" in str(stated)


@pytest.mark.parametrize("privacy", [PRIVACY, PAPER])
def test_measuring_a_setting_calls_no_code_of_the_certificate(
    data: AnalystData, privacy: PrivacyParameters
) -> None:
    called: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            called.add(frame.f_globals.get("__name__", ""))

    sys.setprofile(note)
    try:
        measure_setting(data, privacy, FLOWS, tracts=data.sample(2))
    finally:
        sys.setprofile(None)
    assert "mapapp.kinds.release.make.certified_weights" in called
    assert [name for name in called if name.startswith("mapapp.kinds.release.certificate")] == []
