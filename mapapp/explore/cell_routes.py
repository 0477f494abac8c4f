"""Addresses of the expected errors of single cells of a flow matrix, which take too long to compute for all at once."""

from __future__ import annotations

import json
from typing import Final

import flask

from mapapp.answers import words
from mapapp.answers.cell_errors import error_of_cell
from mapapp.answers.entries import ENTRIES
from mapapp.answers.grids import Limit
from mapapp.answers.served_release import ServedRelease
from mapapp.explore import versioned
from mapapp.explore.callbacks.views import Views
from mapapp.explore.pages.answer_matrix import MOST_UNITS
from mapapp.question.address import Address, to_query

PATH: Final = "cells/"
_OWN: Final = {"row": MOST_UNITS, "column": MOST_UNITS}
"""What the script adds to the query of a view; the last position is that of the totals."""


def cells_url(prefix: str, release: ServedRelease, address: Address) -> str:
    """Address of the cells of a matrix, to which the page's script adds a row and a column; empty without errors."""
    if not release.analyses.errors.is_known:
        return ""
    query = to_query(Address(question=address.question))
    return f"{prefix}{PATH}{release.slug}/{release.version}.json{query}"


def register(server: flask.Flask, views: Views) -> None:
    """Serve the expected errors of cells."""

    @server.get(f"{views.prefix}{PATH}<slug>/<version>.json")
    def cell(slug: str, version: str) -> flask.Response:
        release, address, own = versioned.asked(views, slug, version, _OWN)
        question = address.question
        if set(own) != set(_OWN) or not question.is_complete or not ENTRIES[question.analysis].pairs:
            flask.abort(404)
        limit = Limit(MOST_UNITS, MOST_UNITS)
        try:
            error = error_of_cell(release, question, own["row"], own["column"], limit)
        except IndexError:
            flask.abort(404)
        return versioned.kept(json.dumps({"error": words.error_text(error), "size": error}).encode())
