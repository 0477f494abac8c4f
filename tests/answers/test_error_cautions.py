"""What readers learn of stated errors that are known to be off."""

from __future__ import annotations

import pytest

from mapapp.answers.promise.method import error_caution


def certificate(**synthesis: str) -> dict[str, object]:
    return {"parameters": {"synthesis": synthesis}}


def test_errors_that_were_found_to_be_right_need_no_caution() -> None:
    assert error_caution(certificate(mechanism="exponential")) is None
    assert error_caution(certificate(mechanism="exponential", unit="cell")) is None
    assert error_caution(certificate(mechanism="dirichlet-multinomial")) is None
    assert error_caution(certificate()) is None


@pytest.mark.parametrize("unit", ["block", "tract"])
def test_larger_units_say_that_parts_of_them_were_dealt_out(unit: str) -> None:
    text = error_caution(certificate(mechanism="exponential", unit=unit))
    assert text is not None
    assert f"each workplace {unit}" in text
    assert "too small" not in text
