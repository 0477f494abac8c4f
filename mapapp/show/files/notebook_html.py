"""The notebook view of an answer: key numbers with errors, the first rows, notes, and the promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mapapp.answers import words
from mapapp.answers.analyses.results import Change, Result
from mapapp.show.reports.content import NUMERIC, KeyNumber
from mapapp.show.reports.html import render
from mapapp.show.reports.numbers import change_numbers, key_numbers
from mapapp.show.reports.tables import first_rows

_ROWS: Final = 10


def html_of(answer: Result, certificate: Mapping[str, object]) -> str:
    """Return an answer as an HTML fragment without scripts or style sheets.

    Parameters
    ----------
    answer : Result
    certificate : dict
        The certificate of its release.
    """
    about = answer.about
    side = {"work": "workers of ", "home": "residents of ", None: ""}[about.side]
    title = f"{about.title}: {side}{about.area}"
    return render(
        "notebook_answer.html",
        title=title,
        about=about,
        numbers=_key_numbers(answer),
        numeric=NUMERIC,
        table=first_rows(answer, _ROWS),
        promise=_promise(certificate),
    )


def _key_numbers(answer: Result) -> tuple[KeyNumber, ...]:
    return change_numbers(answer.before, answer.after) if isinstance(answer, Change) else key_numbers(answer)


def _promise(certificate: Mapping[str, object]) -> str:
    warning = "" if words.may_be_released(certificate) else "NOT FOR RELEASE. "
    return f"{warning}{words.origin(certificate)}"
