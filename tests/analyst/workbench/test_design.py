"""What Design on Tune may choose from, and the setting that it finds."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from engine.parameters import Unit
from mapapp.analyst.workbench.design_callbacks import chosen_line, design, search_for
from mapapp.analyst.workbench.panels import distance_card, validity_card
from mapapp.analyst.workbench.session import Session
from mapapp.analyst.workbench.setting import Setting, preset_values, read_setting, values_of
from mapapp.analyst.workbench.side_by_side import dialog
from mapapp.analyst.workbench.tune_page import controls
from mapapp.base.errors import UsageError
from mapapp.base.progress import silent
from mapapp.kinds.release.choose.public_part import read_public_part
from mapapp.kinds.release.choose.setting_choice import Choice, choose_setting
from mapapp.kinds.release.make.options import ReleaseOptions
from mapapp.kinds.release.make.settings import designed_choice, parameters_of
from tests.analyst.workbench.test_lab import parts, texts

PUBLISHED = read_setting(preset_values("onthemap-v3", has_flows=True))
RECOMMENDED = read_setting(preset_values("recommended", has_flows=True))


def test_by_default_design_chooses_numbers_alone() -> None:
    found = search_for(RECOMMENDED, any_mechanism=False, any_unit=False, cleans=True)
    assert found == (RECOMMENDED, Choice(units=("cell",), most_exposed=0.5))
    page = controls(preset_values("recommended", has_flows=True), has_flows=True)
    boxes = {box.id: box.checked for box in parts(page, "Checkbox")}
    assert boxes == {"design-mechanism": False, "design-unit": False}


def test_mechanisms_with_a_delta_are_compared_if_the_current_one_has_a_delta() -> None:
    """As the command compares them with and without `--delta 0`."""
    for setting, delta in ((PUBLISHED, "1e-6"), (RECOMMENDED, "0")):
        start, choice = search_for(setting, any_mechanism=True, any_unit=True, cleans=True)
        auto = designed_choice(ReleaseOptions(mechanism="auto", unit="auto", delta=delta))
        assert auto is not None
        assert (choice.mechanisms, choice.units) == (auto.mechanisms, get_args(Unit))
        assert choice.units == auto.units
        assert start.privacy.epsilon == setting.privacy.epsilon
        assert (start.parameters.mechanism, start.parameters.clean) == ("exponential", True)


def test_the_setting_found_is_that_of_the_command_and_fits_the_controls(session: Session) -> None:
    setting, facts = design(
        session, search_for(RECOMMENDED, any_mechanism=True, any_unit=True, cleans=True), silent
    )
    # Cleaning is as the page's control says.
    options = ReleaseOptions(mechanism="auto", unit="auto", delta="0", clean=True)
    choice = designed_choice(options)
    assert choice is not None
    public = read_public_part(session.store)
    _, parameters, stated = choose_setting(public, *parameters_of(session.path, options), choice)
    assert replace(setting.parameters, prior=parameters.prior) == parameters
    assert read_setting(values_of(setting)).parameters == setting.parameters
    assert facts == stated
    assert f"out of {facts['settings_tried']} settings" in chosen_line({**facts})
    second = {"runner_up": "unit cell, radii 4 and 15 mi", "expected_misplaced_of_runner_up": 0.3}
    assert chosen_line({**facts, **second}).endswith(
        "Runner-up: unit cell, radii 4 and 15 mi, 30.0% misplaced."
    )


def test_what_not_all_mechanisms_take_is_refused_in_one_line() -> None:
    replication = Setting(PUBLISHED.privacy, replace(PUBLISHED.parameters, replication=True))
    with pytest.raises(UsageError, match="turn replication off"):
        search_for(replication, any_mechanism=True, any_unit=False, cleans=True)
    paper = Setting(replace(PUBLISHED.privacy, accountant="paper"), PUBLISHED.parameters)
    with pytest.raises(UsageError, match="that the sound accountant certifies"):
        search_for(paper, any_mechanism=False, any_unit=False, cleans=True)


def test_the_page_says_which_numbers_leave_cleaning_out_and_why_the_average_commute_is_not_in_the_pdf(
    session: Session,
) -> None:
    said = {
        cleaned: [
            "".join(texts(card(session.show("tab", read_setting(values)))))
            for card in (validity_card, distance_card)
        ]
        for cleaned, values in ((True, session.start), (False, {**session.start, "clean": "off"}))
    }
    assert "KL and IMSE are of draws before cleaning" in said[True][0]
    assert "These averages are of draws before cleaning" in said[True][1]
    assert not any("clean" in text for text in said[False])
    assert "leaves out the average commute" in "".join(texts(dialog()))
