"""Sweeps of worker records: what a row holds, fingerprints, and choices that are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mapapp.analyst.sweep.sweep import Axis
from mapapp.base.errors import UsageError
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.measure import sweep
from mapapp.kinds.records.measure.draws import draw_key, draw_plan
from mapapp.kinds.records.measure.margins import MARGIN_TITLES, MARGINS
from mapapp.kinds.records.measure.sweep import RECORD_COLUMNS, run_records_sweep, swept_choices
from mapapp.kinds.records.measure.sweep_picture import records_sweep_figure
from mapapp.kinds.records.measure.sweep_result import sweep_lines
from mapapp.kinds.records.measure.workers import RecordWorkers


@pytest.fixture(scope="module")
def real(demo_dataset: Path) -> RecordWorkers:
    return RecordWorkers.open(demo_dataset)


def axis(name: str, *values: object) -> Axis:
    return Axis(name=name, values=tuple((str(value), value) for value in values))


def test_a_row_holds_the_promise_and_the_means_of_its_draws(real: RecordWorkers) -> None:
    axes = [axis("kept", 2, 1), axis("min-seeds", 100)]
    choices = swept_choices(real, Choice, axes)
    assert [each.axis_values for each in choices] == [
        {"kept": "2", "min-seeds": "100"},
        {"kept": "1", "min-seeds": "100"},
    ]
    first, second = run_records_sweep(real, choices, draws=2)
    plan = choices[0].plan
    assert plan is not None
    assert plan.seeds is not None
    drawn = [draw_plan(real, plan, draw_key(number)) for number in range(2)]
    values = first.values
    assert list(values) == list(RECORD_COLUMNS)
    assert values["kept"] == "work_puma, home_puma"
    assert values["epsilon_replace_one"] == float(plan.replace_one.epsilon)
    assert values["pass_rate"] == pytest.approx(
        np.mean([each.n_passed for each in drawn]) / plan.seeds.n_tries
    )
    for name in MARGINS:
        after = np.mean([real.margins.distances(each.codes)[name] for each in drawn])
        before = np.mean([real.margins.distances(each.passed)[name] for each in drawn])
        assert values[name] == pytest.approx(after)
        assert values[f"{name}_before"] == pytest.approx(before)
        assert values[f"{name}_floor"] == real.margins.noise_floor(plan.n_total)[name]
    low, mean, high = (values[f"pairs{end}"] for end in ("_low", "", "_high"))
    assert isinstance(low, float)
    assert isinstance(mean, float)
    assert isinstance(high, float)
    assert low < mean < high
    assert values["fingerprint"] != second.values["fingerprint"]
    lines = sweep_lines(axes, [first, second])
    assert lines[0].startswith("CONFIDENTIAL, not for publication")
    assert "mean of 2 draws" in lines[0]
    assert sum("before" in line for line in lines) == 3, "a line for each choice, and the legend"


def test_a_row_that_is_known_is_not_measured_again(
    real: RecordWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = swept_choices(real, Choice, [axis("kept", "none")])
    (row,) = run_records_sweep(real, choices, draws=1)
    assert row.values["pass_rate"] is None
    assert row.values["pairs_before"] is None
    monkeypatch.setattr(sweep, "draw_plan", None)
    (again,) = run_records_sweep(real, choices, draws=1, kept={str(row.values["fingerprint"]): row.values})
    assert again == row
    with pytest.raises(TypeError):
        list(run_records_sweep(real, choices, draws=2, kept={str(row.values["fingerprint"]): row.values}))


def test_a_choice_that_is_refused_is_a_row_that_says_why(real: RecordWorkers) -> None:
    axes = [axis("kept", 1, 2), axis("min-seeds", 100, 10**9)]
    with pytest.raises(UsageError, match=r"--over min-seeds=1000000000: "):
        swept_choices(real, Choice, axes)
    both = [axis("kept", "none", 2), axis("min-seeds", None, 100)]
    choices = swept_choices(real, Choice, both)
    assert [bool(each.refusal) for each in choices] == [False, True, True, False]
    assert "--min-seeds with --kept none" in str(choices[1].refusal)
    (row,) = run_records_sweep(
        real,
        [sweep.SweptChoice(axis_values={"kept": "2"}, refusal="too few seeds")],
        draws=1,
    )
    assert row.values["refusal"] == "too few seeds"
    assert row.values["workers"] is None
    assert any("no records: too few seeds" in line for line in sweep_lines([axis("kept", 2)], [row]))


@pytest.mark.parametrize("kept", ["0", "99", "two", "-1", "²"])
def test_kept_is_a_number_of_attributes(real: RecordWorkers, kept: str) -> None:
    with pytest.raises(UsageError, match=r"--over kept=.*: give how many of the first attributes"):
        swept_choices(real, Choice, [axis("kept", kept)])


def test_records_that_the_engine_refuses_are_a_row_too(
    real: RecordWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    (choice,) = swept_choices(real, Choice, [axis("kept", 1), axis("min-seeds", 100)])
    monkeypatch.setattr(real, "_codes", real.codes[:1000])
    (row,) = run_records_sweep(real, [choice], draws=1)
    assert "became seeds" in str(row.values["refusal"])
    assert row.values["epsilon_add_remove"] is not None


def test_the_picture_has_a_panel_for_each_margin(real: RecordWorkers) -> None:
    axes = [axis("min-seeds", 100, 200), axis("kept", 1)]
    choices = swept_choices(real, Choice, axes)
    rows = [row.to_dict() for row in run_records_sweep(real, choices, draws=1)]
    figure = records_sweep_figure(
        ["min-seeds", "kept"], rows, margins=MARGIN_TITLES, title="t", stamp="secret"
    )
    panels = [panel for panel in figure.axes if panel.get_visible()]
    assert [panel.get_title() for panel in panels][:2] == ["work × home PUMA", "home PUMA × earnings"]
    assert all("ε" in label.get_text() for label in panels[0].get_xticklabels())
    assert figure.get_supxlabel() == "secret"
    empty = records_sweep_figure(
        ["kept"],
        [{"asked": {"kept": "1"}, "pairs": None}],
        margins=MARGIN_TITLES,
        title="t",
        stamp="nothing was measured",
    )
    assert not any(panel.get_visible() for panel in empty.axes)
