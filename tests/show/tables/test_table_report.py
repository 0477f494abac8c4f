"""The report on a table: every count and star, why stars are there, what is promised, and what is not."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import openpyxl
import pypdf
import pytest

from mapapp.commands.cli import run
from mapapp.kinds.tables.files.grid import grid_of
from mapapp.kinds.tables.files.report import table_report, write_table_report
from mapapp.kinds.tables.files.xlsx import table_xlsx
from mapapp.kinds.tables.read.published import PublishedTable
from mapapp.kinds.tables.read.served_table import ServedTable
from mapapp.kinds.tables.read.words import STAR
from mapapp.show.reports import Form
from tests.commands.running import refused
from tests.show.test_reports import Page


@pytest.fixture(scope="module")
def served(published: PublishedTable) -> ServedTable:
    return ServedTable(published, "demo")


def written(served: ServedTable, form: Form) -> bytes:
    stream = BytesIO()
    write_table_report(served, form, stream)
    return stream.getvalue()


def test_html_has_every_count_and_star(served: ServedTable) -> None:
    page = Page(written(served, "html"))
    grid = grid_of(served.published.tables[0])
    (shown,) = [rows for rows in page.tables if rows[0][1:] == list(grid.labels)]
    assert shown[1:] == [
        [name, *(f"{entry:,}" if isinstance(entry, int) else entry for entry in entries)]
        for name, entries in grid.rows
    ]
    assert STAR in {entry for row in shown for entry in row}


def test_it_says_what_is_promised_what_is_not_and_which_table_it_is(served: ServedTable) -> None:
    said = written(served, "html").decode()
    for text in served.published.certificate["does_not_promise"]:
        assert text in said
    assert served.published.digest in said
    assert "A printed count is exact, and a star has a public reason." in said
    assert "No record here is a real person" not in said
    assert "Synthetic workers" not in said


def test_the_stars_are_explained_by_reason(served: ServedTable) -> None:
    table = served.published.tables[0]
    stars = next(each for each in table_report(served).answers[0].printed if each.name == "stars")
    assert sum(int(str(row[1])) for row in stars.rows) == table.n_cells - table.n_released


def test_each_table_has_a_map_of_its_stars(served: ServedTable) -> None:
    answers = table_report(served).answers
    assert len(answers) == len(served.published.tables)
    for answer in answers:
        assert answer.map is not None
        assert "units have a suppressed cell" in answer.map.words


def test_a_pdf_has_the_counts_and_pages(served: ServedTable) -> None:
    reader = pypdf.PdfReader(BytesIO(written(served, "pdf")))
    text = " ".join(page.extract_text() for page in reader.pages)
    assert "The stars explained" in text
    assert "It is not differential privacy." in text


def test_the_workbook_is_the_exported_one(served: ServedTable) -> None:
    content = written(served, "xlsx")
    assert content == table_xlsx(served.published)
    assert "Stars" in openpyxl.load_workbook(BytesIO(content)).sheetnames


@pytest.mark.parametrize("form", ["html", "pdf"])
def test_the_command_writes_the_same_bytes(
    served: ServedTable, table_path: Path, tmp_path: Path, form: Form
) -> None:
    assert run(["report", str(table_path), "-q", "-o", str(tmp_path / f"x.{form}")]) == 0
    again = ServedTable(PublishedTable.open(table_path), "demo")
    assert (tmp_path / f"x.{form}").read_bytes() == written(again, form)


def test_questions_are_refused_for_a_table(table_path: Path, tmp_path: Path) -> None:
    ask = ("report", str(table_path), "-o", str(tmp_path / "x.pdf"))
    assert "--area does not apply to a table" in refused(*ask, "--area", "all")
    assert "give it alone" in refused(
        "report", str(table_path), str(table_path), "-o", str(tmp_path / "x.pdf")
    )
    assert "must end in" in refused("report", str(table_path), "-o", str(tmp_path / "x.doc"))
    assert list(tmp_path.iterdir()) == []
