"""Addresses of the expected errors of single cells of a flow matrix, which take too long to compute for all at once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final, cast

import flask
import pandas

from mapapp.answers import grids, served_answers, words
from mapapp.answers.areas import Areas
from mapapp.answers.commute_pick import Pick
from mapapp.answers.entries import ENTRIES
from mapapp.answers.grids import Limit
from mapapp.answers.picks import PickOf, of_flow_matrix, pick_of_rows
from mapapp.answers.release import Release
from mapapp.answers.results import FlowMatrix
from mapapp.explore import versioned
from mapapp.explore.callbacks.views import Views
from mapapp.explore.pages.answer_matrix import MOST_UNITS
from mapapp.question.address import Address, to_query
from mapapp.question.question import SettledQuestion

PATH: Final = "cells/"
_OWN: Final = {"row": MOST_UNITS, "column": MOST_UNITS}
"""What the script adds to the query of a view; the last position is that of the totals."""


def cells_url(prefix: str, release: Release, address: Address) -> str:
    """Address of the cells of a matrix, to which the page's script adds a row and a column; empty without errors."""
    if not release.errors.is_known:
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
            error = error_of_cell(release, views.settle(address), own["row"], own["column"], limit)
        except IndexError:
            flask.abort(404)
        return versioned.kept(json.dumps({"error": words.error_text(error), "size": error}).encode())


def error_of_cell(
    release: Release, question: SettledQuestion, row: int, column: int, limit: Limit
) -> float | None:
    """Return the expected error of a cell, by its position in the matrix with totals; None if it is not known.

    Raises
    ------
    IndexError
        If there is no such row or column.
    """
    answer = cast(FlowMatrix, served_answers.result(release, question))
    return release.errors.of_count(_pick(release.areas, answer, row, column, limit))


def _pick(areas: Areas, answer: FlowMatrix, row: int, column: int, limit: Limit) -> Pick:
    numbers, picks = of_flow_matrix(areas, answer)
    homes, works = grids.units_at(answer, limit)
    home = _margin(numbers["workers"], picks["homes"], [*homes, None][row])
    work = _margin(numbers["workers"], picks["works"], [*works, None][column])
    return replace(home, work=work.work)


def _margin(whole: Pick, pick_of: PickOf, units: pandas.DataFrame | None) -> Pick:
    """Return the pick of the units of a row or of a column; of the whole matrix for its total."""
    if units is None:
        return whole
    found = pick_of_rows(pick_of, units)
    assert found is not None, "a matrix has units of its layers only"
    return found
