"""Sentences that pages and reports share."""

from __future__ import annotations

import pytest

from mapapp.answers import words


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["A"], "A"),
        (["A", "B"], "A and B"),
        (["A", "B", "C"], "A, B, and C"),
    ],
)
def test_names_are_joined_as_in_a_sentence(names: list[str], text: str) -> None:
    assert words.listed(names) == text


def test_only_numbers_of_residents_lack_workers_who_work_elsewhere() -> None:
    assert words.coverage(["A", "B"], of_residents=False) == "Only workplaces in A and B are covered."
    assert words.coverage(["A", "B", "C"], of_residents=True) == (
        "Only workplaces in A, B, and C are covered, so residents who work elsewhere are not counted."
    )
    assert words.coverage([], of_residents=True) == ""
