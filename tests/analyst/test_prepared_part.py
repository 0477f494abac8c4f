"""Parts that are prepared once: the same measures as without, and nothing shared that a setting changes."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas
import pytest

from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from mapapp.analyst.validity import prepared_part
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.analyst.validity.prepared_part import prepared_key
from mapapp.analyst.validity.validity import measure_setting
from mapapp.kinds.release.make.support import build_domain

PRIVACY = PrivacyParameters(epsilon="8.98", delta="1e-6", accountant="sound", min_retention="0.025")
START = SynthesisParameters(mechanism="dirichlet-multinomial")
SAME_POINTS = (
    replace(START, strength=3.0),
    replace(START, retention_scale=5.0),
    replace(START, mechanism="exponential"),
)
OTHER_POINTS = (
    replace(START, tract_radius_mi=3.0, puma_radius_mi=20.0),
    replace(START, prior="uniform"),
    replace(START, q50_mi=5.0),
    replace(START, editing="none"),
    replace(START, far_state_miles=300.0),
)


@pytest.fixture(scope="module")
def data(demo_dataset: Path) -> AnalystData:
    return AnalystData.open(demo_dataset)


@pytest.mark.parametrize("parameters", [*SAME_POINTS, *OTHER_POINTS])
def test_a_prepared_part_gives_the_measures_of_a_new_one(
    data: AnalystData, parameters: SynthesisParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure_setting(data, PRIVACY, START)
    measure_setting(data, PRIVACY, parameters)
    again = measure_setting(data, PRIVACY, parameters, draw=True)
    monkeypatch.setattr(AnalystData, "keeps", lambda *_: False)
    new = measure_setting(data, PRIVACY, parameters, draw=True)
    assert again.summary == pytest.approx(new.summary, rel=0, nan_ok=True)
    for name, table in new.tables.items():
        pandas.testing.assert_frame_equal(again.tables[name], table, check_exact=True)


def test_only_what_changes_the_points_is_prepared_again(
    demo_dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, made = AnalystData.open(demo_dataset), list[SynthesisParameters]()

    def counted(seed: PublicSeed, *given: object) -> object:
        made.append(given[-1])  # type: ignore[arg-type]  # the parameters come last
        return build_domain(seed, *given)  # type: ignore[arg-type]  # as they were given

    monkeypatch.setattr("mapapp.analyst.validity.prepared_part.build_domain", counted)
    for parameters in (START, *SAME_POINTS, START):
        measure_setting(data, PRIVACY, parameters)
    assert set(made) == {START}
    parts = len(made)
    for parameters in OTHER_POINTS:
        measure_setting(data, PRIVACY, parameters)
    assert len(made) == parts * (1 + len(OTHER_POINTS))


def test_every_parameter_is_in_the_key_or_without_effect(data: AnalystData) -> None:
    (panel, *_) = data.panels(np.array([0]))
    key = prepared_key(panel, PublicSeed.for_tests(), START)
    names = {each.name for each in fields(START)}
    assert names >= prepared_part._WITHOUT_EFFECT
    assert len(list(key)) == 2 + len(names - prepared_part._WITHOUT_EFFECT)  # type: ignore[call-overload]  # a tuple
    assert prepared_key(panel, PublicSeed("00" * 32), START) != key
