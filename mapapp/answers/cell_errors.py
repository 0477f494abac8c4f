"""The expected error of one cell of a flow matrix as it is shown: of two units, of all other units, or of a total."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pandas

from mapapp.answers import grids, served_answers
from mapapp.answers.areas import Areas
from mapapp.answers.commute_pick import Pick
from mapapp.answers.grids import Limit
from mapapp.answers.picks import PickOf, of_flow_matrix, pick_of_rows
from mapapp.answers.results import FlowMatrix
from mapapp.answers.served_release import ServedRelease
from mapapp.question.question import Question


def error_of_cell(
    release: ServedRelease, question: Question, row: int, column: int, limit: Limit
) -> float | None:
    """Return the expected error of a cell, by its position in the matrix with totals; None if it is not known.

    Raises
    ------
    IndexError
        If there is no such row or column.
    """
    question = release.areas.usual.settled(question)
    answer = cast(FlowMatrix, served_answers.result(release, question))
    return release.analyses.errors.of_count(_pick(release.areas, answer, row, column, limit))


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
