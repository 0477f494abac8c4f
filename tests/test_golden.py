"""The golden figures are those that their command computes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden import golden, pdp

FOLDER = Path(__file__).with_name("golden")
LARGEST_BYTES = 33_000


def compare(
    found: Any,
    wanted: Any,
) -> None:
    """Figures agree to 1e-7; everything else exactly."""
    if isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for name, value in wanted.items():
            compare(found[name], value)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            compare(one, other)
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=1e-7, abs=1e-12)
    else:
        assert found == wanted


def test_the_command_computes_the_stored_figures() -> None:
    found, wanted = pdp.regenerated(), golden("pdp")
    for one, other in zip(
        found["exact_failure_probability"], wanted["exact_failure_probability"], strict=True
    ):
        if other["exact_delta"] > 0.999999:  # several tables fail surely, and rounding picks one
            one["worst_table"] = other["worst_table"]
    compare(found, wanted)


def test_every_file_is_small_valid_and_described() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    files = sorted(FOLDER.glob("*.json"))
    assert files
    for file in files:
        assert isinstance(json.loads(file.read_text(encoding="utf-8")), dict)
        assert file.stat().st_size < LARGEST_BYTES, f"{file.name} is too large for a figure file"
        assert f"`{file.name}`" in readme, f"{file.name} is not described in the README"
