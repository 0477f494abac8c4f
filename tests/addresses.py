"""Addresses, and questions with their views, from fields by name."""

from __future__ import annotations

from typing import Any

from mapapp.answers.release import Release
from mapapp.question.address import Address
from mapapp.question.question import Question, SettledQuestion
from mapapp.question.view import View


def address_of(release: str = "", against: str = "", *, embed: bool = False, **fields: Any) -> Address:
    """An address with some fields of its question or its view."""
    return Address(release=release, against=against, embed=embed).having(**fields)


def shown(**fields: Any) -> tuple[Question, View]:
    """A question and how its answer is shown."""
    address = address_of(**fields)
    return address.question, address.view


def settled(release: Release | Release, question: Question) -> SettledQuestion:
    """A question with the usual layers of a release for those that it leaves open."""
    return release.areas.usual.settle(question)
