"""The page of a published table: its rows, its map, its addresses, and what stands beside it."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dash.exceptions import PreventUpdate

from mapapp.answers.promise.overlapping_releases import beside_sentences, same_jobs
from mapapp.explore.callbacks.views import Views
from mapapp.explore.pages import certificate, method
from mapapp.explore.server import beside_lines, create_app
from mapapp.kinds.tables.files.csv import table_csv
from mapapp.kinds.tables.page import table_page
from mapapp.kinds.tables.page.callbacks import clicked_unit, map_figure
from mapapp.kinds.tables.page.map import STAR_TEXT, starred_units, table_legend, table_map
from mapapp.kinds.tables.page.routes import starred_layer
from mapapp.kinds.tables.read import sheet as sheets
from mapapp.kinds.tables.read.served_table import ServedTable
from mapapp.kinds.tables.read.sheet import Sheet, make_sheet, page_of
from mapapp.kinds.tables.read.view import SHADES, TableView, table_view, to_query
from mapapp.question.address import Address
from mapapp.show.content.palette import COLOR_SCHEMES
from tests.figures import checked

LIGHT = COLOR_SCHEMES["light"]
MAP = (("counts-map", "figure"), ("counts-on-map", "data"))


@pytest.fixture(scope="module")
def served(demo_table: Path) -> ServedTable:
    return ServedTable(demo_table, "demo")


@pytest.fixture(scope="module")
def app(demo_release: Path, demo_table: Path) -> Any:
    return create_app([demo_release, demo_table])


@pytest.fixture(scope="module")
def alone(demo_table: Path) -> Any:
    return create_app([demo_table], "/map/")


def text_of(part: object) -> str:
    return json.dumps(part, default=lambda one: one.to_plotly_json(), ensure_ascii=False)


def get(app: Any, address: str) -> Any:
    with app.server.test_client().get(address) as answer:
        answer.get_data()
        return answer


def counts(served: ServedTable, **view: Any) -> Sheet:
    return make_sheet(served, TableView(**view))


def test_a_page_has_every_row_and_column_with_a_count_a_star_or_nothing(served: ServedTable) -> None:
    found, table = counts(served), served.published.tables[0]

    assert [row.row_id for row in found.rows] == list(table.rows)
    assert list(found.columns)[:-1] == list(table.column_labels)
    cells = [cell for row in found.rows for cell in row.cells[:-1] if cell is not None]
    assert len(cells) == len(table.of_kind("cell"))
    shown = text_of(table_page.sheet_part(found))
    assert shown.count('"children": "*"') == 1 + sum(
        cell.value < 0 for row in found.rows for cell in row.cells if cell is not None and cell.people
    )  # and the key


def test_the_detail_of_a_star_says_people_and_reason_and_never_a_count(served: ServedTable) -> None:
    shown = text_of(table_page.sheet_part(counts(served)))

    assert "Too small to be safe whatever its value: with 3 workers" in shown
    assert "The count was publishable if between" in shown
    assert ": suppressed, too small to be safe whatever its value" in shown
    assert '"children": "-1"' not in shown


def test_rows_are_found_by_name_and_sorted_with_stars_last(served: ServedTable) -> None:
    column = next(iter(served.published.tables[0].column_labels))
    up, down = (counts(served, sort=f"{sign}{column}") for sign in ("", "-"))
    name = counts(served).rows[0].name

    values = [row.cells[0].value for row in down.rows if row.cells[0] is not None]
    printed = [value for value in values if value >= 0]
    assert printed == sorted(printed, reverse=True)
    assert values[len(printed) :] == [-1] * (len(values) - len(printed))
    assert sorted(row.row_id for row in up.rows) == sorted(row.row_id for row in down.rows)
    assert [row.name for row in counts(served, find=name.upper()).rows] == [name]
    assert counts(served, find="no such place").rows == ()
    names = [row.name.casefold() for row in counts(served, sort="-name").rows]
    assert names == sorted(names, reverse=True)


def test_a_long_table_is_shown_in_pages_of_bounded_length(
    served: ServedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sheets, "ROWS_AT_ONCE", 2)
    rows = list(served.published.tables[0].rows)
    pages = [counts(served, page=page) for page in range(1, counts(served).n_pages + 1)]

    assert len(pages) > 1
    assert all(len(page.rows) <= 2 for page in pages)
    assert [row.row_id for page in pages for row in page.rows] == rows
    assert counts(served, page=9_999).view.page == len(pages)
    assert page_of(pages[0].shown, TableView(), rows[-1]) == len(pages)
    assert "Next rows" in text_of(table_page.sheet_part(pages[0]))
    assert "Next rows" not in text_of(table_page.sheet_part(pages[-1]))


def test_flows_are_shown_for_one_workplace_and_the_largest_one_comes_first(served: ServedTable) -> None:
    flows = served.published.tables[1]
    first, other = counts(served, part=2), counts(served, part=2, of=list(flows.rows)[-1])

    assert first.shown.of == flows.of_kind("cell").sort_values("people")["row_id"].iloc[-1]
    assert first.shown.row_layer == "ctycsub"
    assert other.shown.of == list(flows.rows)[-1]
    assert [len(row.cells) for row in first.rows] == [1] * len(first.rows)


def test_an_address_keeps_the_whole_view_and_unknown_parts_are_named() -> None:
    view = TableView(
        table="b",
        part=2,
        sort="-2.3",
        find="East",
        page=3,
        color="1.1",
        shade="stars",
        row="44",
        theme="dark",
    )

    assert table_view(to_query(view), ("a", "b")) == (view, ())
    assert to_query(TableView()) == ""
    found, notes = table_view("?table=c&page=0&shade=3&theme=red&hidden=1&sort=" + "x" * 99, ("a", "b"))
    assert found == TableView()
    assert len(notes) == 6
    assert table_view("?" + "a" * 5_000, ())[1] == ("The address is too long and was ignored.",)


def test_a_view_of_what_the_table_lacks_is_shown_without_it(served: ServedTable) -> None:
    found = counts(served, part=9, color="9.9", sort="nothing", row="none", of="none")

    assert found.view == TableView()
    assert len(found.notes) == 5


@pytest.mark.parametrize("shade", list(SHADES))
@pytest.mark.parametrize("part", [1, 2])
def test_the_map_marks_stars_apart_from_every_class_of_counts(
    served: ServedTable, shade: Any, part: int
) -> None:
    found = counts(served, part=part)
    content = table_map(found.shown, found.promise, found.color, shade, LIGHT)
    of_text = {unit: content.texts[of] for unit, of in zip(content.unit_ids, content.of, strict=True)}
    starred = {unit for unit, text in of_text.items() if text.startswith(STAR_TEXT)}

    assert len(content.texts) == len(content.colors) > content.of.max()
    assert len(set(content.colors)) == len(content.colors)
    assert starred == (set() if shade == "stars" else set(starred_units(found.shown, found.color)))
    assert any(text.startswith(STAR_TEXT) for text in content.texts) == bool(starred)


def test_a_map_of_stars_alone_has_one_class(served: ServedTable) -> None:
    shown = served.shown(2)
    starred = replace(shown.table, cells=shown.table.cells.assign(value=-1))
    content = table_map(replace(shown, table=starred), served.published.promise, "workers", "share", LIGHT)

    assert (content.texts, content.sizes) == ((STAR_TEXT,), (len(shown.rows),))
    assert content.colors == (LIGHT.suppressed,)
    assert not content.of.any()


def test_the_map_hatches_starred_units_and_outlines_the_chosen_row(served: ServedTable) -> None:
    row = next(iter(served.published.tables[0].rows))
    figure = checked(map_figure(served, counts(served, row=row), "/", (500, 400)))
    plain = checked(map_figure(served, counts(served, shade="stars"), "/", (500, 400)))

    assert figure.layout.meta["hatched"]["url"].startswith("/starred/demo/")
    assert figure.layout.map.layers[1].source.endswith(f"areas.geojson?area=county:{row}")
    assert plain.layout.meta["hatched"] is None
    flows = counts(served, part=2)
    (workplace,) = [
        layer.source for layer in checked(map_figure(served, flows, "/", (500, 400))).layout.map.layers[4:]
    ]
    assert workplace.endswith(f"areas.geojson?area=county:{flows.shown.of}")
    assert not plain.layout.map.layers[1].visible


def test_a_click_on_the_map_names_a_unit_and_a_forged_one_does_not() -> None:
    assert clicked_unit({"points": [{"location": "44007"}]}) == "44007"
    forged: list[object] = [None, 3, {"points": []}, {"points": [3]}]
    assert [clicked_unit(each) for each in forged] == [""] * 4


def test_the_page_is_listed_beside_the_map_and_has_its_own_address(app: Any) -> None:
    page = get(app, "/tables")

    assert page.status_code == 200
    assert "Lives in the same unit" in page.text
    assert get(app, "/tables/other").status_code == 404
    views = app.server.extensions["commutemap"]
    assert list(views.pages.values()) == ["Explore", "Tables", "Method"]


def test_tables_are_served_alone_under_a_prefix(alone: Any) -> None:
    views = alone.server.extensions["commutemap"]

    assert list(views.pages) == ["/tables", "/method"]
    assert views.page("/map/") == "/tables"
    assert "Lives in the same unit" in get(alone, "/map/").text
    with pytest.raises(PreventUpdate):
        views.release(Address())


def test_a_map_without_tables_has_no_page_of_tables(demo_release: Path) -> None:
    assert get(create_app([demo_release]), "/tables").status_code == 404


def test_shapes_and_files_have_the_version_of_the_table_in_their_address(
    app: Any, served: ServedTable
) -> None:
    version, row = served.version, next(iter(served.published.tables[0].rows))
    files = [
        f"/geo/demo-2/{version}/unit-county.geojson",
        f"/geo/demo-2/{version}/states.geojson",
        f"/geo/demo-2/{version}/areas.geojson?area=county:{row}&area=county:99",
        f"/starred/demo-2/{version}.geojson?color=1.1",
        f"/table-files/demo-2/{version}/certificate.json",
        f"/table-files/demo-2/{version}/table.csv?part=2",
        f"/table-files/demo-2/{version}/tables.xlsx",
    ]

    answers = [get(app, file) for file in files]

    assert [answer.status_code for answer in answers] == [200] * len(files)
    assert len(json.loads(answers[2].text)["features"]) == 1
    starred = starred_units(served.shown(1), "1.1")
    assert {each["id"] for each in json.loads(answers[3].text)["features"]} == set(starred)
    assert json.loads(answers[4].text) == served.certificate
    assert answers[5].data == table_csv(served.published, 1)
    assert "attachment" in answers[4].headers["Content-Disposition"]
    assert [get(app, file.replace(version, "0" * 12)).status_code for file in files] == [404] * len(files)
    assert get(app, files[4] + "?part=3").status_code == 404
    assert get(app, files[4].replace("certificate", "other")).status_code == 404


def test_a_release_of_the_same_jobs_is_named_on_the_page_and_to_the_operator(
    app: Any, demo_release: Path, served: ServedTable
) -> None:
    views: Views = app.server.extensions["commutemap"]
    (line,) = beside_lines(app)

    assert "does not account for it" in line
    assert same_jobs(served, views.releases.values()) == list(views.releases.values())
    shown = text_of(
        table_page.head(served, counts(served), beside_sentences(served, views.releases.values()))
    )
    assert "This server also shows a synthetic release of the same jobs" in shown
    (release,) = views.releases.values()
    assert "a table of the same jobs" in text_of(certificate.card(release, [release], [served]))
    assert "a table of the same jobs" not in text_of(certificate.card(release, [release]))


def test_whole_records_are_not_protected_beside_a_table(demo_records: Path, demo_table: Path) -> None:
    beside = create_app([demo_records, demo_table])
    views: Views = beside.server.extensions["commutemap"]
    (records,), (table,) = views.releases.values(), views.tables.values()
    of_table, of_records = beside_lines(beside)

    assert "also shows synthetic worker records of the same jobs" in of_table
    assert "also shows a table of the same jobs" in of_records
    assert "the values of released cells, which say where workers live" in of_records
    assert "the protection of the whole record is void" in of_records
    shown = text_of(certificate.card(records, [records], [table]))
    assert f"not protected beside {table.title}" in shown
    assert "not protected beside" not in text_of(certificate.card(records, [records]))
    assert "the values of released cells" in text_of(method.page(records, [records], [table]))


def test_a_release_of_another_year_is_not_of_the_same_jobs(served: ServedTable, app: Any) -> None:
    (release,) = app.server.extensions["commutemap"].releases.values()
    other = ServedTable(served.published, "other")
    other.facts = {**other.facts, "year": 1999}

    other.certificate = {**other.certificate, "confidential_inputs": {"jobs": "another"}}
    assert same_jobs(other, [release]) == []
    jobs = release.certificate["confidential_inputs"]
    other.certificate = {**other.certificate, "confidential_inputs": jobs}
    assert same_jobs(other, [release]) == [release]
    other.certificate = {**other.certificate, "confidential_inputs": {}}
    other.certificate = {
        **other.certificate,
        "beside": [{"kind": "release", "digest": release.digest}],
    }
    assert same_jobs(other, [release]) == [release]


def test_the_method_page_explains_tables_with_or_without_a_release(app: Any, served: ServedTable) -> None:
    (release,) = app.server.extensions["commutemap"].releases.values()
    alone, both = text_of(method.page(None, (), [served])), text_of(method.page(release, [release], [served]))

    assert "Tables with suppressed cells" in alone
    assert "Tables with suppressed cells" in both
    assert "It is not differential privacy." in alone
    assert "Tables with suppressed cells" not in text_of(method.page(release, [release]))


def test_the_starred_shapes_are_gzipped_once(served: ServedTable) -> None:
    first, second = (starred_layer(served, TableView(color="1.1")) for _ in range(2))

    assert first is second
    assert json.loads(gzip.decompress(first))["type"] == "FeatureCollection"


@pytest.mark.parametrize(
    "search", [None, 3, "?part=999999999999", "?sort=" + "x" * 5_000, "?find=\x00&of=[]", "?page=-1"]
)
def test_a_forged_address_of_a_table_shows_the_table_or_is_refused(app: Any, search: object) -> None:
    look = {"search": search, "width": [], "height": 1e308}
    body = {
        "output": "..{}..".format("...".join(f"{part}.{name}" for part, name in MAP)),
        "outputs": [{"id": part, "property": name} for part, name in MAP],
        "inputs": [{"id": "counts-look", "property": "data", "value": look}],
        "state": [{"id": "counts-on-map", "property": "data", "value": 7}],
        "changedPropIds": ["counts-look.data"],
    }
    answer = app.server.test_client().post("/_dash-update-component", json=body)

    assert answer.status_code == 200
    assert answer.json["response"]["counts-on-map"]["data"]["table"] == "demo-2"


def test_a_legend_has_only_the_classes_that_occur(served: ServedTable) -> None:
    shown = served.shown(2)
    whole = replace(shown.table, cells=shown.table.cells.assign(value=-1))
    content = table_map(replace(shown, table=whole), served.published.promise, "workers", "share", LIGHT)
    legend = table_legend(content)

    assert [(item.text, item.is_hatched) for item in legend.extras] == [(STAR_TEXT, True)]
    assert legend.items == ()
