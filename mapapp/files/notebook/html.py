"""An answer as a notebook shows it: key numbers with their errors, the first rows, notes, and the promise."""

from __future__ import annotations

from html import escape
from typing import Any, Final

from mapapp.answers import words
from mapapp.answers.results import Change, Result
from mapapp.files.reports.content import NUMERIC, KeyNumber, Table, shown, upright
from mapapp.files.reports.numbers import change_numbers, key_numbers
from mapapp.files.reports.tables import first_rows

_ROWS: Final = 10


def html_of(answer: Result, certificate: dict[str, Any]) -> str:
    """Return an answer as a piece of HTML without scripts or style sheets.

    Parameters
    ----------
    answer : Result
    certificate : dict
        Of its release.
    """
    about = answer.about
    side = {"work": "workers of ", "home": "residents of ", None: ""}[about.side]
    title = f"{about.title}: {side}{about.area}"
    only = f"<br>Only: {_text(about.filters)}" if about.filters else ""
    table = first_rows(answer, _ROWS)
    notes = "".join(f"<li>{_text(str(note))}</li>" for note in about.notes)
    parts = [
        f"<p><strong>{_text(title)}</strong><br>{_text(about.release)}{only}</p>",
        _numbers(_key_numbers(answer)),
        "" if table is None else _table(table),
        f"<ul>{notes}</ul>" if notes else "",
        f"<p>{_text(_promise(certificate))}</p>",
    ]
    return f"<div>{''.join(parts)}</div>"


def _key_numbers(answer: Result) -> tuple[KeyNumber, ...]:
    return change_numbers(answer.before, answer.after) if isinstance(answer, Change) else key_numbers(answer)


def _promise(certificate: dict[str, Any]) -> str:
    warning = "" if words.may_be_released(certificate) else "NOT FOR RELEASE. "
    grounds = f" · {words.grounds(certificate)}" if words.is_private(certificate) else ""
    return f"{warning}Synthetic workers · {words.promise(certificate)}{grounds}"


def _numbers(numbers: tuple[KeyNumber, ...]) -> str:
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{_text(each.label)}</th>'
        f"{_cell(each.kind, each.value)}"
        f"{_cell('error', each.error)}{_cell('text', each.caution)}</tr>"
        for each in numbers
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _table(table: Table) -> str:
    places = table.printed
    heads = "".join(f'<th scope="col">{_text(table.columns[place].head)}</th>' for place in places)
    rows = "".join(
        "<tr>" + "".join(_cell(table.columns[place].kind, row[place]) for place in places) + "</tr>"
        for row in table.rows
    )
    return (
        f"<table><caption>{_text(table.title)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _cell(kind: Any, value: Any) -> str:
    align = ' style="text-align:right"' if kind in NUMERIC else ' style="text-align:left"'
    return f"<td{align}>{_text(shown(kind, value))}</td>"


def _text(text: str) -> str:
    return escape(upright(text))
