"""Changes between two releases: distinct names, maps of the change, and expected errors of differences."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapapp.answers import served_answers
from mapapp.answers.analyses.change import change
from mapapp.answers.findings.findings import findings
from mapapp.answers.release import Release, names_of, open_releases
from mapapp.answers.release_names import menu_names, names_apart
from mapapp.explore.callbacks import draw, events
from mapapp.explore.callbacks.views import Views
from mapapp.explore.pages import answer, answer_tables, controls
from mapapp.question.address import Address, to_query
from mapapp.question.question import Question
from mapapp.question.view import View
from mapapp.show.content import palette
from mapapp.show.content.colored_units import colored_units
from mapapp.show.content.labels import change_texts
from mapapp.show.content.map_captions import map_caption
from mapapp.show.content.map_legends import map_legend
from mapapp.show.files.notebook_html import html_of
from mapapp.show.paper import map_picture, map_words
from mapapp.show.plotly import commute_map
from mapapp.show.reports import Part, build
from tests.addresses import address_of, settled, shown
from tests.figures import checked
from tests.map_contents import content_of
from tests.releases import releases_of, rewrite_document

AREA = ("county:10001",)


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Views:
    folder = tmp_path_factory.mktemp("compared")
    return Views(open_releases(releases_of(folder, {"old": 2018, "new": 2019})))


@pytest.fixture(scope="module")
def of_one_year(tmp_path_factory: pytest.TempPathFactory) -> Views:
    """Two releases of one year, one by each preset."""
    paths = releases_of(tmp_path_factory.mktemp("presets"), {"first": 2019, "second": 2019})
    for path, preset, epsilon in zip(paths, ("onthemap-v3", "recommended"), (8.982, 6.5), strict=True):
        certificate = json.loads((path / "certificate.json").read_text())
        certificate |= {"construction": {"preset": preset}, "epsilon_final": {"value": epsilon}}
        rewrite_document(path, "certificate.json", certificate)
    return Views(open_releases(paths))


@pytest.fixture(scope="module")
def address(views: Views) -> Address:
    return address_of(release="new", against="old", areas=AREA, layer="tract")


def test_names_differ_by_as_little_as_needed() -> None:
    exponential = {"mechanism": "exponential", "epsilon_final": 6.5}
    paper = {"mechanism": "dirichlet-multinomial", "epsilon_final": 8.982}
    assert names_apart([("Rhode Island", paper, "ab"), ("Ohio", paper, "cd")]) == ["Rhode Island", "Ohio"]
    assert names_apart([("RI", paper, "ab"), ("RI", exponential, "cd")]) == [
        "RI (ε = 8.98, dirichlet-multinomial)",
        "RI (ε = 6.5, exponential)",
    ]
    assert names_apart([("RI", paper, "0123456789ab"), ("RI", paper, "ba9876543210")]) == [
        "RI (01234567, ε = 8.98, dirichlet-multinomial)",
        "RI (ba987654, ε = 8.98, dirichlet-multinomial)",
    ]
    assert menu_names([("RI", paper, "ab"), ("RI", exponential | {"preset": "recommended"}, "cd")]) == [
        "ε = 8.98, dirichlet-multinomial",
        "Recommended preset, ε = 6.5",
    ], "a narrow menu shows what differs"
    assert menu_names([("Rhode Island", paper, "ab"), ("Ohio", paper, "cd")]) == ["Rhode Island", "Ohio"]
    assert menu_names([("Ohio", paper, "cd")]) == ["Ohio"]
    assert len(set(names_apart([("RI", {}, "1"), ("RI", {}, "2"), ("RI", paper, "3")]))) == 3


def test_menus_headlines_and_captions_use_these_names(views: Views, address: Address) -> None:
    earlier, later = names_of([views.releases["old"], views.releases["new"]]).values()
    assert earlier != later
    menus = json.dumps(
        [
            controls.controls(views.releases, address, {"tract": "Tract"}),
            controls.release_choice(views.releases, address),
        ],
        default=lambda part: part.to_plotly_json(),
        ensure_ascii=False,
    )
    assert earlier in menus
    assert later in menus
    found = served_answers.compare_releases(
        views.releases["old"], views.releases["new"], settled(views.releases["new"], address.question)
    )
    assert found.names == (earlier, later)
    assert found.about.release == f"{earlier} → {later}"
    assert earlier in str(answer.tiles(found))
    caption = map_caption(
        content_of(views.releases["new"], address.question, address.view, views.releases["old"])
    )
    assert caption.startswith(f"Change from {earlier} to {later}")
    report = build([views.releases["old"], views.releases["new"]], [Part(address.question)])
    assert any(f"{earlier} → {later}" in one.heading for one in report.answers)
    assert any(each.map for each in report.answers if each.name.startswith("change"))


def test_two_releases_of_one_year_differ_and_do_not_change(of_one_year: Views) -> None:
    """Two presets are no two points in time, and their names say which is which."""
    first, second = of_one_year.releases.values()
    names = (
        "Squareland, 2019 (OnTheMap V3 preset, ε = 8.98)",
        "Squareland, 2019 (recommended preset, ε = 6.5)",
    )
    assert tuple(names_of([first, second]).values()) == names
    question = Question(areas=AREA, layer="tract")
    found = served_answers.compare_releases(first, second, settled(second, question))
    assert (found.names, found.about.year) == (names, "2019")
    report = build([first, second], [Part(question)])
    described = [one for one in report.answers if one.name.startswith("change")]
    said = [
        found.about.title,
        *map(str, found.about.notes),
        str(answer.tiles(found)),
        str(answer_tables.table(found, every=False)),
        map_caption(content_of(second, question, View(), first)),
        map_legend(content_of(second, question, View(), first)).title,
        *map_words(content_of(second, question, View(), first)),
        *[part for one in described for part in (one.heading, one.sentence, *one.notes)],
        *[part for table in report.comparison for part in (table.title, table.words)],
        *[column.head for table in report.comparison for column in table.columns],
        html_of(found, second.certificate),
    ]
    text = "\n".join(said)
    assert f"difference between {names[0]} and {names[1]}" in text.replace(
        "Difference between", "difference between"
    )
    assert "First" in text
    for word in ("change", "earlier", "later", "before:", "Before", "After"):
        assert not re.search(rf"\b{word}", text, re.IGNORECASE if word == "change" else 0), (word, text)


def test_a_release_is_not_offered_for_comparison_with_itself(views: Views, address: Address) -> None:
    assert set(controls.other_releases(views.releases, address)) == {"", "old"}
    assert set(controls.other_releases(views.releases, Address())) == {"", "new"}
    assert views.before(address_of(release="old", against="old", areas=AREA)) is None
    changed = events.after(address, views.releases["new"], "release", "old", {})
    assert (changed.release, changed.against) == ("old", "")


def test_units_are_colored_by_their_change(views: Views, address: Address) -> None:
    before, release = views.releases["old"], views.releases["new"]
    state, view = address.question, address.view
    counts = [
        served_answers.units(each, settled(each, state)).set_index("unit_id")["workers"]
        for each in (before, release)
    ]
    content = content_of(release, state, view, before)
    assert content.kind == "change"
    assert content.earlier_workers == [counts[0].get(unit, 0) for unit in content.units.ids]
    assert content.workers == [counts[1].get(unit, 0) for unit in content.units.ids]
    change = numpy.array(content.workers) - content.earlier_workers
    assert colored_units(content).value.tolist() == change.tolist()
    figure = checked(draw.map_figure(content, "/"))
    trace = figure.data[commute_map.UNITS]
    colored = colored_units(content)
    assert list(trace.z) == colored.of.tolist()
    gray = [each.text for each in colored.classes].index("no change")
    is_sure = ~numpy.isin(content.units.ids, content.uncertain)
    assert (numpy.sign(colored.of - gray) == numpy.sign(change) * is_sure).all()
    assert is_sure.any()
    assert all(other.lon is None for other in figure.data[1:]), "no points of the later release"
    assert [each["value"] for each in controls.show_options(state, "change") if not each["disabled"]] == [
        "areas"
    ]
    assert "differ" in controls.show_note("change")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_show_the_change(views: Views, address: Address, theme: Any) -> None:
    before, release = views.releases["old"], views.releases["new"]
    asks = shown(areas=AREA, layer="tract", theme=theme)
    assert map_picture(content_of(release, *asks, before)) != map_picture(content_of(release, *asks))
    assert "Change from" in map_words(content_of(release, *asks, before))


@pytest.mark.parametrize("analysis", ["inflow-outflow", "paired", "flow-matrix"])
def test_a_map_without_units_says_that_it_shows_one_release(views: Views, analysis: Any) -> None:
    state = Question(areas=AREA, others=AREA, analysis=analysis)
    text = map_caption(content_of(views.releases["new"], state, View(), views.releases["old"]))
    assert "only, not the change from" in text


@given(st.lists(st.integers(-(10**7), 10**7), min_size=1, max_size=50))
def test_classes_of_change_are_symmetric_and_hold_every_change(changes: list[int]) -> None:
    sizes = [abs(change) for change in changes if change] or [1]
    limits = palette.change_limits(min(sizes), max(sizes))
    scheme = palette.COLOR_SCHEMES["light"]
    assert 1 <= len(limits) <= 3
    classes = palette.change_classes(numpy.array(changes), limits) - len(limits)
    assert abs(classes).max() <= len(limits)
    assert (numpy.sign(classes) == numpy.sign(changes)).all()
    colors = palette.change_colors(len(limits), scheme)
    assert len(colors) == len(change_texts(limits, "no change")) == 2 * len(limits) + 1
    assert len(set(colors)) == len(colors)


def test_every_difference_has_its_error(demo_release: Path) -> None:
    one, other = (Release.open(demo_release, slug) for slug in ("one", "other"))
    county = one.comparison(layer="county").units["unit_id"].iloc[0]
    state = Question(areas=(f"county:{county}",), layer="county")
    found = served_answers.compare_with_errors(one, other, settled(other, state))
    number = found.numbers()["workers"]
    assert number["expected_error"] == math.hypot(*[found.after.workers.expected_error] * 2)  # type: ignore[attr-defined]  # a Result of this analysis has workers
    table = answer_tables.table(found, every=False)
    assert table["heads"][-2:] == ["Difference", "±"]
    far = Question(areas=state.areas, analysis="distance-direction")
    moved = served_answers.compare_with_errors(one, other, settled(other, far))
    assert moved.numbers()["median_mi"]["expected_error"] > 0
    page = json.dumps(answer.tiles(moved), default=lambda part: part.to_plotly_json(), ensure_ascii=False)
    assert "difference in median distance" in page
    assert page.count("±") + page.count("exact") >= 3


@pytest.mark.parametrize(("analysis", "moved"), [("inflow_outflow", "outflow"), ("profile", "workers")])
def test_a_change_in_a_sentence_has_its_error(demo_release: Path, analysis: str, moved: str) -> None:
    """Finds a change that reads as exact: that of inflow and outflow together, and one from a published count."""
    release = Release.open(demo_release)
    county = f"county:{release.comparison(layer='county').units['unit_id'].iloc[0]}"
    side = {} if analysis == "inflow_outflow" else {"side": "home"}
    before = getattr(release, analysis)(county, errors=True, **side)
    number = getattr(before, moved)
    assert number.expected_error > 0
    after = replace(before, **{moved: replace(number, value=number.value + 10**6)})
    public = replace(before, about=replace(before.about, promise={"kind": "published"}))
    public = replace(public, **{moved: replace(number, expected_error=None)})
    for first in (before, public) if moved == "workers" else (before,):
        sentence = findings(change(first, after))[0]
        assert ", ±" in sentence, sentence
    unknown = replace(before, **{moved: replace(number, expected_error=None)})
    assert "without a ±" in findings(change(unknown, after))[0]


def test_an_address_with_a_comparison_is_read_back(views: Views, address: Address) -> None:
    assert views.parse(to_query(address))[0] == address
    assert views.before(address) is views.releases["old"]
