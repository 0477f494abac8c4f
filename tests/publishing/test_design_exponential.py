"""Radii and unit of the exponential mechanism, chosen from public data."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import ParameterError
from engine.parameters import SynthesisParameters
from geodata.store import open_store
from mapapp.publishing.chosen_setting import Choice, choose_setting, design_lines
from mapapp.publishing.design_exponential import _misplaced, design_exponential
from mapapp.publishing.public_part import PublicPart, read_public_part
from tests.commands.running import run_here

BASE = SynthesisParameters(mechanism="exponential")


@pytest.fixture(scope="module")
def public(demo_dataset: Path) -> PublicPart:
    return read_public_part(open_store(demo_dataset, "dataset"))


def test_a_unit_is_chosen_among_those_allowed(public: PublicPart) -> None:
    privacy, parameters, facts = design_exponential(public, "6.5", base=BASE, units=("block",))
    assert (str(privacy.epsilon), parameters.unit) == ("13/2", "block")
    assert parameters.mechanism == "exponential"
    assert facts["units"] == ["block"]
    assert parameters.tract_radius_mi is not None
    assert 0 < facts["expected_misplaced"] < 1
    assert facts["expected_misplaced"] <= (facts["expected_misplaced_of_runner_up"] or 1.0)


def test_less_is_misplaced_at_a_larger_epsilon(public: PublicPart) -> None:
    at = {e: design_exponential(public, e, base=BASE, units=("cell",))[2] for e in ("2", "8")}
    assert at["8"]["expected_misplaced"] < at["2"]["expected_misplaced"]


def test_the_unit_grows_as_epsilon_falls(public: PublicPart) -> None:
    chosen = {
        e: design_exponential(public, e, base=BASE, units=("cell", "tract"))[1].unit for e in ("1", "9")
    }
    assert chosen == {"1": "tract", "9": "cell"}


def test_misplaced_workers_are_half_the_absolute_differences() -> None:
    """Against a plain count, with one worker of four in another place."""
    group, real, drawn = (np.array(values) for values in ([0, 0, 1, 1], [2, 2, 0, 1], [2, 0, 1, 0]))
    assert _misplaced(group, real, drawn, 3) == pytest.approx(1 / 4)


def test_without_a_unit_or_within_another_mechanism_nothing_is_chosen(public: PublicPart) -> None:
    with pytest.raises(ParameterError, match="no unit"):
        design_exponential(public, "6.5", base=BASE, units=())
    privacy = design_exponential(public, "6.5", base=BASE, units=("cell",))[0]
    with pytest.raises(ParameterError, match="no setting is chosen"):
        choose_setting(public, privacy, SynthesisParameters(mechanism="laplace"), Choice())


def test_the_recommended_preset_is_made_and_its_choice_repeated(demo_dataset: Path, tmp_path: Path) -> None:
    dataset, release = tmp_path / "d.dataset", tmp_path / "r.release"
    shutil.copytree(demo_dataset, dataset)
    command = ["synthesize", dataset, release, "--preset", "recommended", "--test-key", "--quiet"]
    assert run_here(*command).code == 0
    certificate: dict[str, Any] = json.loads((release / "certificate.json").read_text())
    assert certificate["epsilon_final"]["value"] == 6.5
    assert certificate["delta"]["value"] == 0
    assert len(design_lines(certificate)) == 2
    checked = run_here("certify", release)
    assert checked.code == 0
    assert "the same setting is chosen again" in checked.out
