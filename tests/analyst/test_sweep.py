"""Sweeps: the grid of settings, what a row says, what is kept in the file, and draws against a release."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters
from engine.validity import cell_counts, kl_of_counts, squared_error, total_variation, weighted_mean
from geodata.store.store import open_store
from mapapp.analyst.sweep import sweep
from mapapp.analyst.sweep.file import SweepFile
from mapapp.analyst.sweep.sweep import (
    COLUMNS,
    DRAWN,
    Axis,
    SweptRow,
    drawn_measures,
    run_sweep,
    swept_settings,
)
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.analyst.validity.tract_workers import read_panel
from mapapp.analyst.validity.validity import Validity, measure_setting
from mapapp.base.errors import UsageError
from mapapp.kinds.base.geography import read_workplaces
from mapapp.kinds.base.option import replace_values
from mapapp.kinds.release.choose.setting_choice import Choice
from mapapp.kinds.release.make.options import ReleaseOptions
from mapapp.kinds.release.make.run import run_synthesis

OPTIONS = ReleaseOptions(preset="onthemap-v3")


@pytest.fixture(scope="module")
def data(demo_dataset: Path) -> AnalystData:
    return AnalystData.open(demo_dataset)


def axis(name: str, *values: Any) -> Axis:
    return Axis(name=name, values=tuple((str(value), value) for value in values))


def swept(
    data: AnalystData, *axes: Axis, options: dict[str, Any] | None = None, **how: Any
) -> list[SweptRow]:
    settings = swept_settings(data, replace_values(OPTIONS, options or {}), axes)
    return list(run_sweep(data, settings, tracts=data.sample(3), **how))


def test_a_grid_has_every_combination_in_order(data: AnalystData) -> None:
    settings = swept_settings(
        data, OPTIONS, [axis("epsilon", "2", "4.6"), axis("accountant", "sound", "paper")]
    )
    assert [tuple(one.axis_values.values()) for one in settings] == [
        ("2", "sound"),
        ("2", "paper"),
        ("4.6", "sound"),
        ("4.6", "paper"),
    ]
    assert [one.privacy and float(one.privacy.epsilon) for one in settings] == pytest.approx(
        [6.38202663, 2.0, 8.98202663, 4.6]
    )
    assert {one.parameters and one.parameters.prior for one in settings} == {"flows"}


def test_a_row_is_what_measuring_that_setting_gives(data: AnalystData) -> None:
    settings = swept_settings(data, OPTIONS, [axis("strength", 0.0, 3.0)])
    rows = list(run_sweep(data, settings, tracts=data.sample(3)))
    for setting, row in zip(settings, rows, strict=True):
        assert setting.privacy is not None
        assert setting.parameters is not None
        found = measure_setting(data, setting.privacy, setting.parameters, tracts=data.sample(3))
        for name in ("kl_all", "kl_small", "imse_all", "kept_prior_mass", "n_support"):
            assert row.values[name] == found.summary[name]
        assert row.values["epsilon_final"] == pytest.approx(8.98202663)
        assert row.values["tracts_measured"] == 3
        assert set(row.values) == set(COLUMNS)
    assert number(rows[0], "kept_prior_mass") < number(rows[1], "kept_prior_mass")


def number(row: SweptRow, name: str) -> float:
    value = row.values[name]
    assert isinstance(value, float)
    return value


def test_a_setting_that_cannot_be_certified_is_a_row_that_says_why(data: AnalystData) -> None:
    rows = swept(data, axis("epsilon-final", "1e-18", "8"))
    assert rows[0].values["kl_all"] is None
    assert "epsilon" in str(rows[0].values["refusal"])
    assert rows[0].values["epsilon_final"] == 1e-18
    assert rows[1].values["refusal"] is None
    assert 0 < number(rows[1], "kl_all") < 5


def test_a_combination_that_contradicts_itself_is_a_row_and_a_value_that_fits_nowhere_is_refused(
    data: AnalystData,
) -> None:
    rows = swept(data, axis("tract-radius", 5.0, 50.0), axis("puma-radius", 10.0, 60.0))
    assert [row.values["refusal"] is None for row in rows] == [True, True, False, True]
    assert "puma_radius_mi" in str(rows[2].values["refusal"])
    assert (rows[2].values["tract_radius_mi"], rows[2].values["puma_radius_mi"]) == (50.0, 10.0)
    assert len({row.values["fingerprint"] for row in rows}) == 4
    with pytest.raises(UsageError, match="--over tract-radius=90"):
        swept_settings(data, OPTIONS, [axis("tract-radius", 5.0, 90.0), axis("puma-radius", 10.0, 60.0)])
    with pytest.raises(UsageError, match="--over epsilon=0"):
        swept_settings(data, OPTIONS, [axis("epsilon", "4", "0")])


def test_every_mechanism_is_measured_and_nothing_is_released(data: AnalystData) -> None:
    before = sorted(entry.name for entry in data.store.path.iterdir())
    names = ("dirichlet-multinomial", "exponential")
    rows = swept(data, axis("mechanism", *names), seeds=2)
    assert [row.values["mechanism"] for row in rows] == list(names)
    for row in rows:
        low, mean, high = (number(row, f"kl_drawn_all{end}") for end in ("_low", "", "_high"))
        assert low < mean < high
        assert mean > 0
        json.dumps(row.to_dict(), allow_nan=False)
    assert sorted(entry.name for entry in data.store.path.iterdir()) == before


def test_units_of_drawing_can_vary(data: AnalystData) -> None:
    options = {"mechanism": "exponential", "unit": None, "epsilon_final": "2"}
    rows = swept(data, axis("unit", "cell", "block", "tract"), options=options, seeds=1)
    assert [row.values["unit"] for row in rows] == ["cell", "block", "tract"]
    # At this epsilon larger units lose fewer workers to noise.
    for_cells, for_blocks, _ = (number(row, "kl_drawn_all") for row in rows)
    assert for_cells > for_blocks > 0
    assert len({row.values["fingerprint"] for row in rows}) == 3
    with pytest.raises(UsageError, match=r"--over unit=block: .*exponential mechanism only"):
        swept_settings(data, OPTIONS, [axis("unit", "block")])


def test_far_states_and_cleaning_can_vary(data: AnalystData) -> None:
    options = {"mechanism": "exponential", "unit": None, "epsilon_final": "2"}
    axes = axis("far-state-miles", "none", 100.0), axis("clean", False, True)
    rows = swept(data, *axes, options=options, seeds=1)
    shown = [(row.values["far_state_miles"], row.values["clean"]) for row in rows]
    assert shown == [("none", "off"), ("none", "on"), ("100", "off"), ("100", "on")]
    apart, apart_clean, pooled, _ = rows
    assert pooled.values["n_support"] != apart.values["n_support"]
    # Cleaning comes after the draw: the closed form does not change.
    assert apart.values["kl_all"] == apart_clean.values["kl_all"]
    assert apart.values["kl_drawn_all"] != apart_clean.values["kl_drawn_all"]
    assert len({row.values["fingerprint"] for row in rows}) == 4
    with pytest.raises(UsageError, match=r"--over clean=True: .*exponential mechanism only"):
        swept_settings(data, OPTIONS, [axis("clean", True)])


def test_a_designed_setting_is_chosen_for_each_promise(
    data: AnalystData, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[float, Any]] = []

    def chosen(_public: Any, given: PrivacyParameters, _base: SynthesisParameters, choice: Choice) -> Any:
        asked.append((float(given.epsilon), choice.priors))
        privacy = PrivacyParameters(
            epsilon=given.epsilon, delta=given.delta, min_retention=1, accountant="sound"
        )
        return privacy, SynthesisParameters(strength=0.0, tract_radius_mi=9.0, puma_radius_mi=9.0), {}

    monkeypatch.setattr(sweep, "choose_setting", chosen)
    rows = swept(data, axis("epsilon-final", "8", "9"), options={"design": "auto"})
    assert asked == [(8.0, ()), (9.0, ())]
    assert [row.values["tract_radius_mi"] for row in rows] == [9.0, 9.0]
    assert [row.values["min_retention"] for row in rows] == [1.0, 1.0]


def test_what_is_kept_is_not_measured_again(
    data: AnalystData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "s.csv"
    axes = [axis("epsilon-final", "1e-18", "8", "9")]
    first = SweepFile(place)
    for row in swept(data, *axes, seeds=2):
        first.append(row)
    assert place.stat().st_mode & 0o777 == 0o600
    assert place.read_text().count("not for publication") == 3
    whole = place.read_bytes()
    place.write_bytes(whole[: whole.rfind(b"\n", 0, -1) + 40])  # killed in the middle of the last row
    measured: list[Any] = []
    original = measure_setting

    def counted(*arguments: Any, **options: Any) -> Validity:
        measured.append(arguments[1])
        return original(*arguments, **options)

    monkeypatch.setattr(sweep, "measure_setting", counted)
    second = SweepFile(place)
    rows = swept(data, *axes, seeds=2, kept=second.kept)
    assert [float(privacy.epsilon) for privacy in measured] == [9.0]
    for row in rows:
        second.append(row)
    assert place.read_bytes() == whole
    # Another sample, number of draws or dataset is another measurement.
    again = SweepFile(place)
    settings = swept_settings(data, OPTIONS, axes)
    assert {sweep.fingerprint(data, one, data.sample(3), 2) for one in settings} == set(again.kept)
    for tracts, seeds in ((None, 2), (data.sample(2), 2), (data.sample(3), 0)):
        assert not {sweep.fingerprint(data, one, tracts, seeds) for one in settings} & set(again.kept)


def test_another_dataset_is_another_measurement(data: AnalystData) -> None:
    (setting,) = swept_settings(data, OPTIONS, [axis("epsilon", "4")])
    other = AnalystData(
        data.store.replace_table("prior", data.store.table("prior").iloc[1:], last_release={"release": "r"})
    )
    assert sweep.fingerprint(data, setting, None, 0) != sweep.fingerprint(other, setting, None, 0)


def test_values_come_back_as_they_were(data: AnalystData, tmp_path: Path) -> None:
    file = SweepFile(tmp_path / "s.csv")
    rows = swept(data, axis("epsilon", "23/5", "4"), seeds=1)
    for row in rows:
        file.append(row)
        file.append(row)
    assert list(SweepFile(tmp_path / "s.csv").kept.values()) == [row.values for row in rows]


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"\xff\xfe", b"", b"no line end"])
def test_another_file_is_not_touched(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "s.csv"
    place.write_bytes(content)
    with pytest.raises(UsageError, match="already exists"):
        SweepFile(place)
    assert place.read_bytes() == content
    with pytest.raises(UsageError, match="no such directory"):
        SweepFile(tmp_path / "none" / "s.csv")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="already exists"):
        SweepFile(tmp_path / "link")


def test_the_first_draw_is_the_release_of_the_test_key(demo_dataset: Path, tmp_path: Path) -> None:
    """Measured independently of the sweep, on the store that `synthesize` writes."""
    dataset = Path(shutil.copytree(demo_dataset, tmp_path / "d"))
    data = AnalystData.open(dataset)
    privacy = PrivacyParameters(epsilon=8, delta="1e-6", min_retention="0.1", accountant="sound")
    for mechanism in get_args(Mechanism):
        parameters = SynthesisParameters(prior="flows", mechanism=mechanism)
        draws = drawn_measures(data, privacy, parameters, 3)
        run_synthesis(dataset, tmp_path / mechanism, privacy, parameters, test_key=True)
        (real,) = data.panels()
        store = open_store(tmp_path / mechanism, "release")
        drawn = read_panel(store, data.geography, read_workplaces(store, data.geography), real.position)
        ptr, n = by_destination(real)
        cells = [cell_counts(ptr, panel.cell[tracts(panel), panel.home_tract]) for panel in (real, drawn)]
        small = n <= 9
        for name, values in (
            ("kl_drawn", kl_of_counts(*cells)),
            ("imse_drawn", squared_error(*cells)),
            ("moved", total_variation(*cells)),
        ):
            assert draws[f"{name}_all"][0] == pytest.approx(weighted_mean(values, n))
            assert draws[f"{name}_small"][0] == pytest.approx(weighted_mean(values, n, small))
        assert set(draws) == set(DRAWN)
        for name in DRAWN:
            assert np.unique(draws[name]).size == 3 or name.startswith("infinite"), "draws are of their own"


def by_destination(panel: Any) -> tuple[Any, Any]:
    start = np.flatnonzero(np.diff(panel.inputs.destination, prepend=-1))
    ptr = np.append(panel.inputs.worker_ptr[start], panel.inputs.worker_ptr[-1])
    return ptr, np.diff(ptr)


def tracts(panel: Any) -> Any:
    return np.repeat(panel.inputs.tract, panel.inputs.count)


def test_draws_scatter_about_what_is_expected(data: AnalystData) -> None:
    """Mean squared error in closed form against 40 draws: within four standard errors of their mean."""
    privacy = PrivacyParameters(epsilon=8, delta="1e-6", min_retention="0.1", accountant="sound")
    parameters = SynthesisParameters(prior="flows")
    draws = drawn_measures(data, privacy, parameters, 40)
    closed = measure_setting(data, privacy, parameters).summary
    for who in ("all", "small"):
        values = draws[f"imse_drawn_{who}"]
        assert (
            abs(values.mean() - closed[f"imse_{who}"])
            < 4 * values.std(ddof=1) / 40**0.5 + 0.01 * values.mean()
        )


def test_intervals_are_those_of_student() -> None:
    found = sweep.mean_and_interval("kl_drawn_all", np.array([1.0, 3.0]))
    assert found["kl_drawn_all"] == 2.0
    assert found["kl_drawn_all_high"] == pytest.approx(2 + 12.706205)  # t of one degree of freedom, times 1
    assert sweep.mean_and_interval("x", np.array([1.0])) == {"x": 1.0, "x_low": None, "x_high": None}
    assert sweep.mean_and_interval("x", np.array([np.nan, np.nan]))["x"] is None
