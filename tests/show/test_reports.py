"""Reports reopened with other libraries: the numbers of the query, all rows, hostile names as text, the same bytes."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import openpyxl
import pypdf
import pypdfium2
import pytest

from mapapp.answers import served_answers
from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.analyses.measures import Number
from mapapp.answers.analyses.results import Result
from mapapp.answers.analyses.short_tables import shortened
from mapapp.answers.release import Release, names_of
from mapapp.base.errors import UsageError
from mapapp.question.address import from_query
from mapapp.question.analyses import ANALYSES
from mapapp.question.question import Question
from mapapp.show.content.map_content import MapContent
from mapapp.show.paper import base_map
from mapapp.show.paper.morning_picture import MOST_MOVING, morning_picture
from mapapp.show.reports import FORMS, Form, Report, build, write
from mapapp.show.reports.content import Column, Kind, Table, shown
from mapapp.show.reports.numbers import change_numbers
from mapapp.show.reports.part import Part
from mapapp.show.reports.pdf import _weights
from tests.addresses import settled
from tests.show.making import HOSTILE, PLACE, QUESTIONS, built, of, written


class Page(HTMLParser):
    """What a page has: tables as rows of texts, pictures, elements and links."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._in_cell = False
        self.feed(content.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._in_cell:
            self.tables[-1][-1][-1] += data


def main_rows(release: Release, state: Question) -> list[tuple[str, int]]:
    """Name and workers of every row of the main table, asked anew."""
    frame: Any = next(iter(served_answers.result(release, settled(release, state)).tables().values()))
    name = next(each for each in ("name", "home_name", "label", "band_label") if each in frame)
    return list(zip(frame[name].tolist(), frame["workers"].tolist(), strict=True))


def head_of(result: Result, table: str, column: str) -> str:
    """What a column of a table of workers is called: what its analysis declares, or what all others have."""
    own = entry_of(result).tables[table].columns.get(column)
    return {"workers": "Workers", "share": "Share"}[column] if own is None else own.head


def column(table: Table, place: int) -> list[Any]:
    """The values in a column."""
    return [row[place] for row in table.rows if row[place] is not None]


def test_there_is_a_report_on_every_analysis() -> None:
    assert set(QUESTIONS) == set(ANALYSES)


@pytest.mark.parametrize("name", QUESTIONS)
def test_html_has_every_row_of_the_query(releases: list[Release], name: str) -> None:
    state = QUESTIONS[name]
    page = Page(of(releases[0], name, "html"))
    wanted = sorted((name, f"{workers:,}") for name, workers in main_rows(releases[0], state))
    result = served_answers.result(releases[0], settled(releases[0], state))
    workers = head_of(result, next(iter(result.tables())), "workers")
    found = []
    for head, *rows in page.tables:
        if workers in head:
            at = head.index(workers)
            found.append(sorted((cell, row[at]) for row in rows for cell in row[:3]))
    assert any(set(wanted) <= set(rows) for rows in found)
    assert any(len(table) - 1 == len(wanted) for table in page.tables)


@pytest.mark.parametrize("name", QUESTIONS)
def test_xlsx_has_typed_numbers_of_every_row(releases: list[Release], name: str) -> None:
    state = QUESTIONS[name]
    book = openpyxl.load_workbook(BytesIO(of(releases[0], name, "xlsx")))
    result = served_answers.result(releases[0], settled(releases[0], state))
    for table, frame in result.tables().items():
        head, *rows = book[table].iter_rows(values_only=True)
        at = head.index(head_of(result, table, "workers"))
        assert [row[at] for row in rows] == frame["workers"].tolist()
        assert all(isinstance(row[at], int) for row in rows)
        share = head.index(head_of(result, table, "share"))
        assert [row[share] for row in rows] == pytest.approx(frame["share"].tolist())
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert not [cell for cell in cells if cell.data_type == "f"]
    numbers = [row[1] for row in book["numbers"].iter_rows(min_row=2, values_only=True)]
    wanted = [getattr(value, "value", value) for value in result.numbers().values()]
    assert numbers[: len(wanted)] == pytest.approx(wanted)


@pytest.mark.parametrize("name", QUESTIONS)
def test_pdf_has_the_numbers_as_text(releases: list[Release], name: str) -> None:
    state = QUESTIONS[name]
    document = pypdf.PdfReader(BytesIO(of(releases[0], name, "pdf")))
    text = "\n".join(page.extract_text() for page in document.pages)
    for row, workers in main_rows(releases[0], state)[:40]:
        assert f"{workers:,}" in text
        if "#" not in row:
            assert " ".join(row.split()[:2]) in " ".join(text.split())
    assert document.outline
    root: Any = document.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert root["/Lang"] == "en"
    assert document.xmp_metadata is not None
    assert "pdfuaid" in document.xmp_metadata.stream.get_data().decode()


@pytest.mark.parametrize(("paper", "size"), [("a4", (595, 842)), ("letter", (612, 792))])
def test_pages_of_a_pdf_have_their_size_and_are_not_blank(
    releases: list[Release], paper: Any, size: tuple[int, int]
) -> None:
    document = pypdfium2.PdfDocument(written(releases[:1], [PLACE], "pdf", paper=paper))
    for page in document:
        assert page.get_size() == pytest.approx(size, abs=1)
        grey = page.render(scale=0.5).to_pil().convert("L")
        assert sum(value < 160 for value in grey.tobytes()) > 20


@pytest.mark.parametrize("form", FORMS)
def test_the_same_report_has_the_same_bytes(releases: list[Release], form: Form) -> None:
    once = of(releases[0], "inflow-outflow", form)
    assert written(releases[:1], [QUESTIONS["inflow-outflow"]], form, rows=None) == once
    dated = written(releases[:1], [QUESTIONS["inflow-outflow"]], form, date=datetime.date(2026, 1, 31))
    assert dated != once


def test_a_hostile_name_is_text_everywhere(releases: list[Release]) -> None:
    page = Page(of(releases[0], "destinations", "html"))
    assert HOSTILE in page.texts
    assert not {tag for tag, _ in page.tags} & {"script", "b", "iframe", "object", "link"}
    book = openpyxl.load_workbook(BytesIO(of(releases[0], "destinations", "xlsx")))
    cell = book["Report"]["A1"]
    assert (cell.value, cell.data_type) == (HOSTILE, "s")
    text = pypdf.PdfReader(BytesIO(of(releases[0], "destinations", "pdf"))).pages[0].extract_text()
    assert '=1+1 #let $x$ "Q" \\ */ é' in " ".join(text.split())
    assert "[U+540D]" in text


def test_html_asks_nothing_of_anybody(releases: list[Release]) -> None:
    page = Page(written(releases, [PLACE], "html"))
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes), tag
        assert "style" not in attributes, tag
        for name in ("src", "href"):
            value = attributes.get(name) or ""
            assert not value or value.startswith(("data:image/", "#")), value[:40]
    policy = next(at["content"] for tag, at in page.tags if at.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_html_shows_a_morning_of_the_answer_s_workers(releases: list[Release]) -> None:
    """Finds lines that miss a worker's home or workplace, a sample that is not said, and a morning across a border."""
    question = QUESTIONS["destinations"]
    part = Part(question).settle(releases[0])
    content = MapContent(releases[0], part.question, part.view)
    drawn, moving = morning_picture(content)
    n_workers = len(served_answers.ends(releases[0], part.question).segment)
    assert drawn.count("<path ") == len(moving.group) == min(MOST_MOVING, n_workers) > 0
    page = written(releases[:1], [question], "html")
    assert drawn in page.decode()
    assert {moving.note, f" {moving.day}"} < set(Page(page).texts)
    west, north, east, south = (x * 2 * math.pi - math.pi for x in moving.box)
    frame = base_map.frame_of(content.bounds, 7.5, 5.6, 0.05)
    corners: dict[str, list[float]] = {"x": [], "y": []}
    for text in re.findall(r'd="M(-?\d+) (-?\d+)l(-?[\d.]+) (-?\d+)"', drawn):
        x, y, right, down = map(float, text)
        corners["x"] += [x, x + right]
        corners["y"] += [y, y + down]
    left, top = (x / frame.per_inch * 96 for x in (west - frame.west, frame.north + north))
    right, bottom = (x / frame.per_inch * 96 for x in (east - frame.west, frame.north + south))
    assert [min(corners["x"]), max(corners["x"])] == pytest.approx([left, right], abs=1)
    assert [min(corners["y"]), max(corners["y"])] == pytest.approx([top, bottom], abs=1)
    across = Page(written(releases[:1], [QUESTIONS["inflow-outflow"]], "html"))
    assert "details" not in {tag for tag, _ in across.tags}


def test_html_can_be_read_aloud(releases: list[Release]) -> None:
    content = written(releases, [PLACE, QUESTIONS["inflow-outflow"]], "html")
    page = Page(content)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(attributes.get("scope") for tag, attributes in page.tags if tag == "th")
    assert sum(tag == "caption" for tag, _ in page.tags) == sum(tag == "table" for tag, _ in page.tags)
    assert all(attributes.get("alt") for tag, attributes in page.tags if tag == "img")
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(names) == len(set(names))
    assert ("html", {"lang": "en"}) in page.tags


def test_certificate_and_checksums_stand_in_every_form(releases: list[Release]) -> None:
    import hashlib

    release = releases[0]
    digests = [
        hashlib.sha256((release.store.path / name).read_bytes()).hexdigest()
        for name in ("manifest.json", "certificate.json")
    ]
    html = of(release, "destinations", "html").decode()
    book = openpyxl.load_workbook(BytesIO(of(release, "destinations", "xlsx")))
    cells = " ".join(str(cell) for row in book["Provenance"].iter_rows(values_only=True) for cell in row)
    pages = pypdf.PdfReader(BytesIO(of(release, "destinations", "pdf"))).pages
    text = re.sub(r"[\s\u200b]", "", "".join(page.extract_text() for page in pages))
    for place in (html, cells, text):
        assert all(digest in place for digest in digests)
        assert "8.98" in place
        assert "sound" in place


def test_the_head_says_whether_privacy_is_protected_and_the_certificate_how(
    releases: list[Release],
) -> None:
    report = built(releases[0], "inflow-outflow")
    html = of(releases[0], "inflow-outflow", "html").decode()
    head, rest = html.split("<main>")
    assert '<a href="#method">Privacy protected: how</a>' in head
    assert "ε" not in head
    assert "ε" in rest
    pages = pypdfium2.PdfDocument(of(releases[0], "inflow-outflow", "pdf"))
    texts = [page.get_textpage().get_text_range() for page in pages]
    method = next(place for place, text in enumerate(texts, 1) if "Method and certificate" in text)
    first = " ".join(texts[0].split())
    assert f"Privacy protected: how, on page {method}." in first
    assert report.footer in first
    book = openpyxl.load_workbook(BytesIO(of(releases[0], "inflow-outflow", "xlsx")))
    rows = dict(book["Report"].iter_rows(min_row=2, max_col=2, values_only=True))
    assert rows["Privacy"] == "Privacy protected. See the sheets Method and Provenance."


def workers_of(release: Release, question: Question) -> float | None:
    workers = served_answers.result(release, settled(release, question)).numbers()["workers"]
    assert isinstance(workers, Number)
    return workers.value


def test_areas_are_compared(releases: list[Release]) -> None:
    states = [replace(PLACE, areas=(area,)) for area in ("county:10001", "county:10003")]
    report = build(releases[:1], [Part(state) for state in states], pictures=False)
    numbers, rows = report.comparison
    assert [row[0] for row in numbers.rows] == ["County 10001", "County 10003"]
    workers = [workers_of(releases[0], state) for state in states]
    assert [row[2] for row in numbers.rows] == workers
    assert [sum(column(rows, at)) for at in (-2, -1)] == workers


def test_only_what_is_asked_alike_is_compared(releases: list[Release]) -> None:
    areas = ("county:10001", "county:10003")
    states = [replace(PLACE, areas=(area,), side=side) for side in ("work", "home") for area in areas]
    pairs = [QUESTIONS[name] for name in ("flow-matrix", "paired")]
    report = build(releases, [Part(state) for state in (*states, *pairs)], pictures=False)
    names = [table.title for table in report.comparison]
    assert len(names) == len(set(names)) == 2 * (1 + 2) + 2 * (1 + 1)
    for place, side in enumerate(("work", "home")):
        table = report.comparison[3 * place]
        assert [row[:2] for row in table.rows] == [
            (f"County {area[-5:]}", name) for area in areas for name in names_of(releases).values()
        ]
        wanted = [
            workers_of(release, state) for state in states if state.side == side for release in releases
        ]
        assert [row[2] for row in table.rows] == wanted
        assert {column.name for column in table.columns} <= {"area", "release", "number_1", "error_1"}


def test_ratios_are_compared_as_ratios(releases: list[Release]) -> None:
    areas = ("county:10001", "county:10003")
    questions = [replace(QUESTIONS["job-balance"], areas=(area,)) for area in areas]
    report = build(releases[:1], [Part(question) for question in questions], pictures=False)
    numbers, rows = report.comparison
    found: list[Any] = [
        served_answers.result(releases[0], settled(releases[0], question)) for question in questions
    ]
    assert numbers.columns[-1].kind == "ratio"
    assert [row[-1] for row in numbers.rows] == [each.jobs_per_resident.value for each in found]
    assert rows.words.startswith("Jobs per resident worker in each area")
    for place, each in zip((-2, -1), found, strict=True):
        assert rows.columns[place].kind == "ratio"
        wanted = each.units["jobs_per_resident"].dropna().tolist()
        assert sorted(column(rows, place)) == sorted(wanted)
    report = build(releases, [Part(questions[0])], pictures=False)
    (changes,) = (table for table in report.comparison if "change" in table.name)
    kinds = {column.name: column.kind for column in changes.columns}
    assert [kinds[name] for name in ("before", "after", "change")] == ["ratio", "ratio", "ratio change"]
    changed = served_answers.compare_releases(releases[0], releases[1], settled(releases[1], questions[0]))
    at = list(kinds).index("change")
    wanted = sorted(changed.rows["change"].dropna())
    assert sorted(column(changes, at)) == pytest.approx(wanted)
    numbers_changed = change_numbers(changed.before, changed.after)
    (key,) = (number for number in numbers_changed if number.kind == "ratio change")
    assert shown(key.kind, key.value) == f"{key.value:+.2f}"


def test_releases_are_compared(releases: list[Release]) -> None:
    state = QUESTIONS["profile"]
    report = build(releases, [Part(state)], pictures=False)
    changes = next(table for table in report.comparison if "change" in table.name)
    found = served_answers.compare_releases(releases[0], releases[1], settled(releases[1], state))
    heads = [column.name for column in changes.columns]
    for name in ("before", "after", "change"):
        assert sorted(column(changes, heads.index(name))) == sorted(found.rows[name])


def test_an_area_of_one_block(releases: list[Release]) -> None:
    block = releases[0].store.table("blocks", ["block_id"])["block_id"].iloc[0]
    for form in FORMS:
        assert written(releases[:1], [Question(areas=(f"block:{block}",), layer="county")], form)


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_answer_says_why(releases: list[Release], form: Form) -> None:
    state = Question(areas=("state:11",), layer="county")  # no workplace of that state is covered
    content = written(releases[:1], [state], form)
    if form == "html":
        assert "Workplaces in this area are not covered" in content.decode()
        assert b"<h3>Key numbers" not in content


def test_every_character_can_be_printed(releases: list[Release]) -> None:
    from mapapp.show.reports.pdf import _printable

    assert _printable({"a": ["ε = 8.98 · δ = 10⁻⁶ → –", "名\n"]}) == {
        "a": ["ε = 8.98 · δ = 10⁻⁶ → –", "[U+540D]\n"]
    }


def test_no_name_turns_the_numbers_after_it(releases: list[Release]) -> None:
    report = build(releases[:1], [Part(PLACE)], pictures=False)
    hostile = replace(report, title="a \u202eb \u2067c", subtitle="2023")
    page, stream = pdf_text(hostile, "a4"), BytesIO()
    write(hostile, "html", stream)
    for text in (page, stream.getvalue().decode()):
        assert "a [U+202E]b [U+2067]c" in text
        assert "2023" in text


def with_every_text(value: Any, text: str) -> Any:
    """A copy of a report in which every text is another one."""
    if is_dataclass(value) and not isinstance(value, type):
        kept = ("kind", "form", "svg")
        names = [field.name for field in fields(value) if field.name not in kept]
        return replace(value, **{name: with_every_text(getattr(value, name), text) for name in names})
    if isinstance(value, tuple):
        return tuple(with_every_text(each, text) for each in value)
    return text if isinstance(value, str) else value


def test_no_text_of_a_report_becomes_markup(releases: list[Release]) -> None:
    hostile = "</style><i title='a' lang=\"b\">\u202e&{{ 7 * 7 }}"
    report = build(releases, [Part(PLACE), Part(replace(PLACE, areas=("county:10003",)))], mornings=True)
    sources = tuple(
        replace(with_every_text(source, hostile), certificate=(("Promise", hostile),))
        for source in report.sources
    )
    stream = BytesIO()
    write(replace(with_every_text(report, hostile), sources=sources), "html", stream)
    page, plain = Page(stream.getvalue()), Page(written(releases, [PLACE], "html"))
    assert "i" not in {tag for tag, _ in page.tags}
    assert {name for _, found in page.tags for name in found} == {
        name for _, found in plain.tags for name in found
    }
    assert hostile.replace("\u202e", "[U+202E]") in page.texts
    assert "\u202e" not in stream.getvalue().decode()


def test_the_method_leads_with_how_far_typical_numbers_are_off(demo_release: Path) -> None:
    releases, part = [Release.open(demo_release, "demo")], Part(replace(PLACE, areas=("all",)))
    (source,) = build(releases, [part], pictures=False).sources
    (without,) = build(releases, [part], pictures=False, error_rows=None).sources
    assert source.method[0].title == "How far the numbers are off"
    assert source.method[1:] == without.method


def test_the_description_of_a_chart_says_its_title_once(releases: list[Release]) -> None:
    (answer,) = build(releases[:1], [Part(PLACE)]).answers
    assert answer.charts
    for chart in answer.charts:
        title = chart.words.split(". ")[0]
        assert chart.words.count(title) == 1


def test_a_long_table_is_written_in_parts(releases: list[Release]) -> None:
    class Sizes(BytesIO):
        def __init__(self) -> None:
            super().__init__()
            self.sizes: list[int] = []

        def writelines(self, parts: Iterable[Any]) -> None:
            for part in parts:
                self.sizes.append(self.write(part))

    report = build(releases[:1], [Part(PLACE)], pictures=False)
    (answer,) = report.answers
    table = replace(answer.tables[0], rows=answer.tables[0].rows * 5_000)
    stream = Sizes()
    write(replace(report, answers=(replace(answer, printed=(table,)),)), "html", stream)
    assert len(stream.getvalue()) > 1_000_000
    assert max(stream.sizes) < 400_000


def test_values_as_people_read_them() -> None:
    assert [shown("count", 1234), shown("change", 0), shown("change", -5), shown("share", 0.5)] == [
        "1,234",
        "0",
        "-5",
        "50.0%",
    ]
    assert [shown("error", 0.0), shown("error", None), shown("share", None)] == ["exact", "", "–"]


def test_a_report_needs_an_area(releases: list[Release]) -> None:
    with pytest.raises(UsageError, match="needs an area"):
        build(releases, [Part(Question())])


def test_a_pdf_tells_how_to_make_itself(releases: list[Release]) -> None:
    state = replace(QUESTIONS["distance-direction"], edges=(1.23456789, 2.0, 1234.5678))
    report = build(releases[:1], [Part(state)], pictures=False)
    text = pdf_text(report, "a4").replace("\r\n", "").replace(" ", "")
    assert "--bands1.23456789,2,1234.5678--errors27--papera4-oreport.pdf" in text
    (query_of_link,) = (link for _, link in report.remake.links)
    assert (
        from_query(query_of_link, releases=[], is_area=lambda *_: True, is_layer=lambda *_: True)[
            0
        ].question.edges
        == state.edges
    )
    # A digest that is searched for, or copied, is all there.
    assert dict(report.sources[0].provenance)["Release digest (SHA-256)"] in text


def test_many_key_numbers_of_areas_are_legible_in_a_pdf(releases: list[Release]) -> None:
    areas = ("county:10001", "county:10003")
    states = [replace(QUESTIONS["inflow-outflow"], areas=(area,)) for area in areas]
    report = build(releases[:1], [Part(state) for state in states], pictures=False)
    plain = report.comparison[0]
    head, *numbers = (plain.columns[place] for place in plain.printed)
    error = Column(name="error", head="Expected error", kind="error")
    wide = replace(
        plain,
        columns=(head, *(each for number in numbers for each in (number, error))),
        rows=tuple((row[0], *(each for value in row[2:] for each in (value, 1.0))) for row in plain.rows),
    )
    report = replace(report, printed_comparison=(wide,))
    stream = BytesIO()
    write(report, "html", stream)
    parts = [table for table in Page(stream.getvalue()).tables if table[0][0] == "Area"]
    assert [len(table) for table in parts] == [3, 3, 3]
    assert max(len(table[0]) for table in parts) <= 8, "wider, it would be cut where a page is printed"
    assert sum(len(table[0]) - 1 for table in parts) == 2 * len(numbers)
    text = pdf_text(report, "a4")
    page = text[text.index("Inflow and outflow: key numbers") :]
    # Side by side on one page, their heads would be broken at every word and lie on each other.
    words = page[: page.index("Method and certificate")].split()
    assert words.count("10003") == 3, "a row of each part"
    values = [shown(number.kind, value) for number, value in zip(numbers, plain.rows[1][2:], strict=True)]
    assert [value.split()[0] in words for value in values] == [True] * len(values)


def test_nobody_needs_no_caution(releases: list[Release]) -> None:
    state = replace(QUESTIONS["inflow-outflow"], industry=(1,), age=(1,), earnings=(1,))
    for release in releases:
        for table in build([release], [Part(state)], pictures=False).answers[0].tables:
            names = [column.name for column in table.columns]
            for row in table.rows:
                workers, said = (row[names.index(name)] for name in ("workers", "caution"))
                assert (said == "substantial variability") == (workers in (1, 2))


def test_a_printed_table_has_25_rows_and_a_workbook_has_all(releases: list[Release]) -> None:
    state = replace(QUESTIONS["flow-matrix"], work_layer="tract")
    (answer,) = build(releases[:1], [Part(state)], pictures=False).answers
    (whole,) = build(releases[:1], [Part(state)], rows=None, pictures=False).answers
    (few,) = build(releases[:1], [Part(state)], rows=3, pictures=False).answers
    cells = [one.tables[0] for one in (answer, whole, few)]
    assert cells[0] == cells[1] == cells[2], "a workbook has every row"
    n_rows = len(cells[0].rows)
    assert [len(one.printed[0].rows) for one in (answer, whole, few)] == [26, n_rows, 4]
    at = [column.name for column in cells[0].columns].index("workers")
    for one in (answer, whole, few):
        printed, every = ([int(str(row[at])) for row in table.rows] for table in (one.printed[0], cells[0]))
        assert sum(printed) == sum(every)
    assert answer.printed[0].words.startswith(f"The 25 largest of {n_rows:,} rows, and all others together.")


def test_the_rest_of_a_printed_table_has_an_expected_error(demo_release: Path) -> None:
    release, asked = Release.open(demo_release, "demo"), replace(PLACE, areas=("all",), layer="tract")
    (answer,) = build([release], [Part(asked)], rows=3, error_rows=5, pictures=False).answers
    table = answer.printed[0]
    assert table.words.startswith(
        f"The 3 largest of {len(answer.tables[0].rows):,} rows, and all others together."
    )
    names = [column.name for column in table.columns]
    errors = {row[names.index("name")]: row[names.index("expected_error")] for row in table.rows}
    (rest,) = (error for name, error in errors.items() if str(name).startswith("All other"))
    assert rest is not None
    every = served_answers.result(release, settled(release, asked))
    whole = release.with_errors(every, 3).tables()["units"]
    again = shortened(whole, 3)
    assert rest == pytest.approx(
        again.loc[again["name"].str.startswith("All other"), "expected_error"].iloc[0]
    )
    known = [row for row in answer.tables[0].rows if row[names.index("expected_error")] is not None]
    assert len(known) == 5, "a workbook has the errors of as many rows as were asked for"


def test_columns_that_are_too_wide_for_a_page_break_their_heads() -> None:
    texts, numbers = (
        [Column(name=kind, head=head, kind=kind) for head in heads] for kind, heads in _HEADS.items()
    )
    narrow = _weights([texts[0], numbers[0]], [("Providence", "1,234")])
    assert narrow[1] == 0, "a number takes the width it needs"
    wide = _weights([*texts, *numbers], [("29 or younger", "More than $3,333 a month", *["1,234"] * 8)])
    assert all(
        weight >= 10 * max(map(len, column.head.split()))
        for weight, column in zip(wide[2:], numbers, strict=True)
    )
    assert wide[1] > wide[0]


_HEADS: dict[Kind, list[str]] = {
    "text": ["Age", "Earnings"],
    "count": ["Goods producing", "Trade, transportation and utilities", "All other services", "All"] * 2,
}


def test_the_first_page_has_the_findings_the_map_and_six_numbers(releases: list[Release]) -> None:
    for name in ("destinations", "profile", "inflow-outflow"):
        report = built(releases[0], name)
        (answer,) = report.answers
        stream = BytesIO()
        write(report, "pdf", stream)
        document = pypdfium2.PdfDocument(stream.getvalue())
        assert document[0].get_size() == (612, 792), "Letter, for places in the United States"
        text = " ".join(document[0].get_textpage().get_text_range().split())
        assert answer.findings[0].split()[:6] == text[text.index(answer.findings[0][:12]) :].split()[:6]
        assert len(answer.first_numbers) in (5, 6)
        for number in answer.first_numbers:
            assert shown(number.kind, number.value) in text
            assert number.label.split()[0] in text
        assert "Key numbers" not in text


def test_a_profile_is_printed_as_a_grid(releases: list[Release]) -> None:
    (answer,) = built(releases[0], "profile").answers
    assert [table.name for table in answer.printed] == ["bands", "wide", "characteristics"]
    names = ["bands", "segments", "margins", "wide", "characteristics"]
    assert [table.name for table in answer.tables] == names
    grid = answer.printed[1]
    assert len(grid.rows) == 16
    assert grid.rows[-1][:2] == ("All ages", "All earnings")
    assert answer.numbers[0].value in grid.rows[-1]


def pdf_text(report: Report, paper: Any) -> str:
    stream = BytesIO()
    write(report, "pdf", stream, paper=paper)
    return "\r\n".join(
        page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(stream.getvalue())
    )


def test_a_pdf_of_many_long_tables_is_bounded(
    releases: list[Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = build(releases[:1], [Part(QUESTIONS["flow-matrix"])], rows=None, pictures=False)
    lengths = [len(table.rows) for table in report.answers[0].printed]
    most = max(lengths) // 2
    monkeypatch.setattr("mapapp.show.reports.pdf.MOST_ROWS_OF_ALL", sum(min(each, most) for each in lengths))
    text = pdf_text(report, "a4")
    assert f"The first {most:,} of {max(lengths):,} rows" in text.replace("\r\n", " ")
    monkeypatch.setattr("mapapp.show.reports.pdf.MOST_ROWS_OF_ALL", sum(lengths))
    assert "The first" not in pdf_text(report, "a4")


@pytest.mark.parametrize("name", ["destinations", "inflow-outflow"])
def test_only_the_last_page_has_commands_and_no_page_is_nearly_empty(
    releases: list[Release], name: str
) -> None:
    texts = [page.extract_text() for page in pypdf.PdfReader(BytesIO(of(releases[0], name, "pdf"))).pages]
    assert ["commutemap report" in text for text in texts] == [False] * (len(texts) - 1) + [True]
    assert all('{"' not in text for text in texts), "the command needs no setup file"
    assert all(len(text) > 300 for text in texts)
