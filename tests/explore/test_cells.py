"""The expected errors of the cells of a flow matrix, which the page asks for one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from mapapp.answers import served_answers, words
from mapapp.answers.analyses import grids
from mapapp.answers.release import Release, open_releases
from mapapp.explore.answer_routes import cells_url, error_of_cell
from mapapp.explore.server import create_app
from mapapp.question.address import Address
from mapapp.question.question import Question
from tests.addresses import settled

MATRIX = Question(analysis="flow-matrix", home_layer="county", work_layer="county")
WHOLE = grids.Limit(100, 100)


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return next(iter(open_releases([demo_release]).values()))


@pytest.fixture(scope="module")
def client(demo_release: Path) -> FlaskClient:
    client: FlaskClient = create_app([demo_release]).server.test_client()
    return client


@pytest.fixture(scope="module")
def answer(release: Release) -> Any:
    found: Any = served_answers.result(release, settled(release, MATRIX))
    return release.with_errors(found, len(found.cells))


def test_a_cell_has_the_error_of_its_row_in_the_list(release: Release, answer: Any) -> None:
    _, homes, works = grids.matrix(answer, WHOLE)
    place = {
        end: {unit: at for at, unit in enumerate(units["unit_id"])}
        for end, units in (("h", homes), ("w", works))
    }
    for row in answer.cells.head(5).itertuples():
        at = place["h"][row.home_id], place["w"][row.work_id]
        assert error_of_cell(release, settled(release, MATRIX), *at, WHOLE) == pytest.approx(
            row.expected_error
        )


def test_totals_have_the_errors_of_the_margins(release: Release, answer: Any) -> None:
    _, homes, works = grids.matrix(answer, WHOLE)
    of_homes = answer.homes.set_index("unit_id")["expected_error"]
    assert error_of_cell(release, settled(release, MATRIX), 0, len(works), WHOLE) == pytest.approx(
        of_homes[homes["unit_id"][0]]
    )
    assert error_of_cell(release, settled(release, MATRIX), len(homes), 0, WHOLE) == 0, (
        "counts by workplace are exact"
    )


def test_the_rest_counts_all_its_units(release: Release, answer: Any) -> None:
    counts, homes, works = grids.matrix(answer, grids.Limit(3, 2))
    assert homes["kind"].tolist()[-1] == works["kind"].tolist()[-1] == "other"
    rows, columns = grids.units_at(answer, grids.Limit(3, 2))
    for at, units in enumerate(rows):
        assert counts[at, -1] == answer.homes.merge(units[["kind", "unit_id"]])["workers"].sum()
    for at, units in enumerate(columns):
        assert counts[-1, at] == answer.works.merge(units[["kind", "unit_id"]])["workers"].sum()
    error = error_of_cell(release, settled(release, MATRIX), 2, 1, grids.Limit(3, 2))
    assert error is not None
    assert np.isfinite(error)


def test_the_page_asks_for_one_cell(release: Release, client: FlaskClient) -> None:
    url = cells_url("/", release, Address(question=MATRIX))
    found = client.get(f"{url}&row=0&column=1")
    error = error_of_cell(release, settled(release, MATRIX), 0, 1, WHOLE)
    assert found.json == {"error": words.error_text(error), "size": error}
    assert words.error_text(error).startswith("± ")
    assert "immutable" in found.headers["Cache-Control"]


@pytest.mark.parametrize("own", ["", "&row=0", "&row=x&column=0", "&row=101&column=0", "&row=99&column=0"])
def test_other_addresses_are_not_found(release: Release, client: FlaskClient, own: str) -> None:
    url = cells_url("/", release, Address(question=MATRIX))
    assert client.get(f"{url}{own}").status_code == 404
    other = cells_url("/", release, Address(question=Question(areas=("all",))))
    assert client.get(f"{other}&row=0&column=0").status_code == 404
