"""The mark beside a number that has no expected error: a link to the note that says why."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from mapapp.answers.about import About, Note
from mapapp.answers.words import aria


def note_id(mark: str) -> str:
    """The id of the note that a mark refers to."""
    return f"no-error-{mark}"


def without_error(about: About, name: str) -> Component | None:
    """The marks beside a number, or a row of a table, that has no expected error; None without a stated reason."""
    return marks(about, about.no_errors.get(name, ""))


def marks(about: About, text: str) -> Component | None:
    """A link for each letter in a text such as ``(a, b)``, with the reason as its name and its tip."""
    notes = about.marked_notes
    letters = [letter for letter in text.strip("()").split(", ") if letter in notes]
    if not letters:
        return None
    links = [
        html.A(
            f"({letter})",
            href=f"#{note_id(letter)}",
            title=notes[letter],
            className="no-error",
            **aria(label=f"No ±, note {letter}: {notes[letter]}"),
        )
        for letter in letters
    ]
    return html.Span([" no ± ", *links], className="error")


def note_item(note: Note) -> Component:
    """A note in a list; marks lead to it if it has one."""
    return html.Li(str(note), id=note_id(note.mark), tabIndex=-1) if note.mark else html.Li(str(note))
