"""Light or dark: a theme that the visitor left to the system becomes what the system prefers.

Only the browser knows that preference. The page's script adds it to its requests (`assets/versions.js`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import flask

from mapapp.question.fields import Theme, ThemeChoice
from mapapp.question.view import View

HEADER: Final = "X-Color-Scheme"


def preferred_theme() -> Theme:
    """Return what the system of the visitor prefers; light if the request does not say."""
    return "dark" if flask.has_request_context() and flask.request.headers.get(HEADER) == "dark" else "light"


def shown_theme(view: View) -> Theme:
    """Return the theme that a visitor sees."""
    return shown_theme_of(view.theme)


def shown_theme_of(chosen: ThemeChoice) -> Theme:
    """Return the theme that a visitor sees who chose one, or left it to the system."""
    return preferred_theme() if chosen == "system" else chosen


def settle_theme(view: View) -> View:
    """Return a view with the theme that its visitor sees."""
    return replace(view, theme=shown_theme(view))
