"""Sentences that pages and reports share."""

from __future__ import annotations

import pytest

from geodata.text import list_names
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
    assert list_names(names) == text


def test_only_numbers_of_residents_lack_workers_who_work_elsewhere() -> None:
    assert words.coverage(["A", "B"], of_residents=False) == "Only workplaces in A and B are covered."
    assert words.coverage(["A", "B", "C"], of_residents=True) == (
        "Only workplaces in A, B, and C are covered, so residents who work elsewhere are not counted."
    )
    assert words.coverage([], of_residents=True) == ""


def test_only_a_certificate_that_says_so_lets_a_release_be_published() -> None:
    assert words.may_be_released({"status": "for release"})
    for certificate in ({}, {"status": None}, {"status": "not for release"}, {"status": "for release?"}):
        assert not words.may_be_released(certificate)
