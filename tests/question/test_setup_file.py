"""A saved view is restored exactly, gives the same bytes again, and no other file can do harm."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy
import pytest
import shapely
from hypothesis import given, settings

from mapapp.answers import served_answers
from mapapp.answers.findings.findings import findings
from mapapp.answers.release import Release, open_releases
from mapapp.base.errors import UsageError
from mapapp.commands.cli import run
from mapapp.explore.callbacks import draw
from mapapp.explore.callbacks.setup_file import bounds_for, open_setup
from mapapp.explore.callbacks.views import Views
from mapapp.question import setup_file
from mapapp.question.address import MAX_QUERY_LENGTH, Address, to_query
from mapapp.question.analyses import ANALYSES
from mapapp.question.area_text import MAX_TEXT, Shape
from mapapp.question.cost import MAX_PARTS
from tests.addresses import address_of, settled
from tests.commands.running import refused
from tests.figures import checked
from tests.map_contents import content_of
from tests.releases import write_release

STATE = address_of(
    analysis="distance-direction",
    side="home",
    areas=(
        "county:10001",
        "-stplc:4459",
        "+circle:-70.9,42.1,6",
        "near:stplc:4459,1",
        "&line:-71,42,-70.8,42.1,2",
    ),
    show="density",
    layer="stplc",
    edges=(1.0, 2.5, 30.0),
    theme="dark",
    every=True,
    age=(1, 3),
    industry=(2,),
)


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("setups")
    return [write_release(folder / f"square-{seed}.release", n_pairs=300, seed=seed) for seed in (1, 2)]


@pytest.fixture(scope="module")
def views(paths: list[Path]) -> Views:
    return Views(open_releases(paths))


@pytest.fixture(scope="module")
def release(views: Views) -> Release:
    return views.releases["square-1"]


def file(content: bytes) -> dict[str, Any]:
    return {"name": "x", "size": len(content), "content": base64.b64encode(content).decode()}


def changed(made_with: Release, /, **sections: Any) -> bytes:
    """A good setup with some settings exchanged."""
    document = json.loads(setup_file.save(made_with, STATE))
    for name, value in sections.items():
        document[name] = document[name] | value if isinstance(value, dict) else value
    return json.dumps(document).encode()


def test_a_setup_restores_its_view(release: Release, tmp_path: Path) -> None:
    content = setup_file.save(release, STATE, bounds_deg=(-71.0, 42.0, -70.5, 42.25))
    assert content == setup_file.save(release, STATE, bounds_deg=(-71.0, 42.0, -70.5, 42.25))
    path = tmp_path / "setup.json"
    path.write_bytes(content)
    assert setup_file.load(path, release) == (STATE, ())
    assert setup_file.read(content).bounds_deg == (-71.0, 42.0, -70.5, 42.25)


def test_a_setup_restores_the_default_view(release: Release) -> None:
    assert setup_file.load(setup_file.save(release, Address()), release) == (Address(), ())


def test_a_note_names_another_release(views: Views, release: Release) -> None:
    content = setup_file.save(release, STATE)
    state, notes = setup_file.load(content, views.releases["square-2"])
    assert state == STATE
    assert len(notes) == 1
    assert release.version in notes[0]
    assert views.releases["square-2"].version in notes[0]


def test_a_note_names_the_compared_release(views: Views, release: Release) -> None:
    content = setup_file.save(release, STATE, against=views.releases["square-2"])
    _, notes = setup_file.load(content, release)
    assert len(notes) == 1
    assert "compares with" in notes[0]


def test_parts_that_the_release_lacks_are_refused_or_left_out(release: Release) -> None:
    state = STATE.having(areas=("county:10001", "county:99999"), layer="cbsa")
    content = setup_file.save(release, state)
    with pytest.raises(UsageError, match="county:99999"):
        setup_file.load(content, release)
    found, notes = setup_file.load(content, release, leave_out=True)
    assert (found.question.areas, found.question.layer) == (("county:10001",), "usual")
    assert len(notes) == 2


@pytest.mark.parametrize("version", [0, 2, 1e308, -1, "1", True, None, [], {}])
def test_an_unknown_version_is_refused(version: Any) -> None:
    with pytest.raises(UsageError, match="version") as said:
        setup_file.read(json.dumps({"commutemap": "setup", "version": version}).encode())
    assert "\n" not in str(said.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"{}",
        b"[1]",
        b"null",
        b'{"commutemap": "setup", "query": 5}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b" " * (setup_file.MAX_BYTES + 1),
        b'{"commutemap": "setup", "version": 1, "look": {"bounds_deg": [NaN, 0, 1, 1]}}',
        b'{"commutemap": "setup", "version": ' + b"9" * 5000 + b"}",
    ],
)
def test_other_files_are_refused_in_one_line(content: bytes) -> None:
    with pytest.raises(UsageError) as said:
        setup_file.read(content)
    assert "\n" not in str(said.value)
    assert len(str(said.value)) < 300


@pytest.mark.parametrize(
    "sections",
    [
        {"question": {"analysis": "guess"}},
        {"question": {"analysis": ["destinations"]}},
        {"question": {"areas": "county:10001"}},
        {"question": {"areas": [5]}},
        {"question": {"areas": [""]}},
        {"question": {"areas": [f"county:{n}" for n in range(MAX_PARTS + 1)]}},
        {"question": {"others": ["shape:" + "x" * MAX_TEXT]}},
        {"question": {"edges": [5, 2]}},
        {"question": {"edges": [0]}},
        {"question": {"edges": [True]}},
        {"question": {"edges": [10**400]}},
        {"question": {"age": [4]}},
        {"question": {"age": [True]}},
        {"question": {"layer": "tract" * 10}},
        {"question": {"theme": "dark"}},
        {"question": []},
        {"look": {"theme": "pink\n"}},
        {"look": {"every": 1}},
        {"look": {"bounds_deg": [1, 2, 3]}},
        {"look": {"bounds_deg": [10, 0, 5, 1]}},
        {"look": {"bounds_deg": ["a", 0, 5, 1]}},
        {"release": "square"},
        {"release": {"title": "x" * 400}},
        {"release": {"path": "/etc/passwd"}},
        {"extra\n": 1},
    ],
)
def test_wrong_settings_are_refused_in_one_line(release: Release, sections: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as said:
        setup_file.read(changed(release, **sections))
    assert "\n" not in str(said.value)
    assert len(str(said.value)) < 300


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=150)
@given(
    section=st.sampled_from(["question", "look", "release", "against", "version"]),
    key=st.sampled_from(["areas", "others", "edges", "age", "layer", "show", "every", "bounds_deg", "title"]),
    value=JSON,
    whole=st.booleans(),
)
def test_any_json_is_read_or_refused(
    release: Release, section: str, key: str, value: Any, whole: bool
) -> None:
    document = json.loads(setup_file.save(release, STATE, against=release))
    if whole or section == "version":
        document[section] = value
    else:
        document[section][key] = value
    try:
        state, _ = setup_file.load(json.dumps(document).encode(), release, leave_out=True)
    except UsageError as error:
        lines = str(error).splitlines()
    else:
        lines = ["read"]
        assert setup_file.load(setup_file.save(release, state), release)[0] == state
    assert len(lines) == 1


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(UsageError):
            setup_file.read(path)


def test_the_page_opens_what_it_saves(views: Views) -> None:
    state = replace(STATE, release="square-2", against="square-1")
    content = setup_file.save(
        views.releases["square-2"], state, name="square-2", against=views.releases["square-1"]
    )
    assert open_setup(views, file(content)) == (state, (), None)


def test_the_map_shows_the_bounds_of_the_file(views: Views, release: Release) -> None:
    bounds = (-70.98, 42.01, -70.93, 42.05)
    content = setup_file.save(release, Address(), bounds_deg=bounds)
    state, _, found = open_setup(views, file(content))
    assert found == bounds
    view = {"search": to_query(state), "bounds": list(bounds)}
    assert bounds_for(to_query(state), view) == bounds
    assert bounds_for("?side=home", view) is None
    for forged in (None, 5, {"search": to_query(state), "bounds": "x"}, {"search": to_query(state)}):
        assert bounds_for(to_query(state), forged) is None
    plain = checked(draw.map_figure(content_of(release, state.question, state.view), "/"))
    there = checked(draw.map_figure(content_of(release, state.question, state.view), "/", bounds=bounds))
    assert there.layout.map.center.lon == pytest.approx((bounds[0] + bounds[2]) / 2)
    assert there.layout.map.zoom > plain.layout.map.zoom
    assert there.layout.map.uirevision != plain.layout.map.uirevision


def test_the_page_finds_a_release_by_its_digest_first(views: Views) -> None:
    content = setup_file.save(views.releases["square-2"], STATE, name="square-1")
    assert open_setup(views, file(content))[0].release == "square-2"


def test_the_page_warns_about_another_release(views: Views, release: Release) -> None:
    content = changed(release, release={"digest": "0" * 12, "name": "gone", "title": "Gone"})
    state, notes, _ = open_setup(views, file(content))
    assert state.release == ""
    assert any("Gone" in note for note in notes)


@pytest.mark.parametrize(
    "chosen",
    [
        None,
        [],
        {},
        {"content": 5},
        {"content": "not base64!"},
        {"content": "A" * (2 * setup_file.MAX_BYTES + 4)},
    ],
)
def test_the_page_refuses_other_files(views: Views, chosen: Any) -> None:
    with pytest.raises(UsageError) as said:
        open_setup(views, chosen)
    assert "\n" not in str(said.value)


def test_only_the_page_refuses_a_setup_that_costs_too_much(views: Views, release: Release) -> None:
    def rough(radius_deg: float) -> str:
        turn = numpy.linspace(0, 2 * numpy.pi, 1_800, endpoint=False)
        reach = radius_deg * (1 + 0.1 * numpy.sin(turn * 300))
        places = numpy.column_stack([-70.9 + reach * numpy.cos(turn), 42.1 + reach * numpy.sin(turn)])
        return str(Shape.of(shapely.Polygon(places)))

    state = address_of(areas=tuple(rough(0.05 + at / 100) for at in range(8)))
    assert len(to_query(state)) > MAX_QUERY_LENGTH
    content = setup_file.save(release, state)
    assert setup_file.load(content, release) == (state, ())
    with pytest.raises(UsageError, match="14,400 corners"):
        open_setup(views, file(content))


STATES = {
    "destinations": STATE,
    "profile": STATE,
    "cross-table": STATE.having(by=("age", "earnings", "industry")),
    "comparison": STATE,
    "distance-direction": STATE,
    "inflow-outflow": STATE,
    "job-balance": STATE,
    "characteristics": STATE.having(characteristic="CD04", earnings=(), industry=(), attributes=()),
    "paired": STATE.having(others=("stplc:4459",)),
    "flow-matrix": STATE.having(home_layer="tract", work_layer="stplc"),
}


def test_every_analysis_has_a_setup() -> None:
    assert set(STATES) == set(ANALYSES)


@pytest.mark.parametrize("analysis", STATES)
@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_setup_gives_the_same_bytes_again(
    paths: list[Path], tmp_path: Path, analysis: Any, form: str
) -> None:
    """From a file, and from the same file kept once more: always the same bytes."""
    state = STATES[analysis].having(analysis=analysis)
    written = []
    release = open_releases(paths[:1])["square-1"]
    for place in range(2):
        setup, out = tmp_path / f"{place}.setup", tmp_path / f"{place}.{form}"
        content = setup_file.save(release, state)
        if place:
            content = setup_file.save(release, setup_file.load(content, release)[0])
        setup.write_bytes(content)
        assert run(["analyze", str(paths[0]), "--setup", str(setup), "-o", str(out), "-q"]) == 0
        written.append(out.read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize("analysis", STATES)
def test_a_setup_gives_the_numbers_of_the_page(
    paths: list[Path], tmp_path: Path, release: Release, analysis: Any
) -> None:
    state = STATES[analysis].having(analysis=analysis)
    setup, out = tmp_path / "setup.json", tmp_path / "out.json"
    setup.write_bytes(setup_file.save(release, state))
    assert run(["analyze", str(paths[0]), "--setup", str(setup), "-o", str(out), "-q", "--errors", "-1"]) == 0
    [answer] = json.loads(out.read_bytes())["answers"]
    shown = served_answers.result(release, settled(release, state.question))
    assert answer == json.loads(json.dumps(shown.with_findings(findings(shown))))


def test_a_setup_with_question_options_is_refused(
    paths: list[Path], tmp_path: Path, release: Release
) -> None:
    setup = tmp_path / "setup.json"
    setup.write_bytes(setup_file.save(release, STATE))
    said = refused("analyze", paths[0], "--setup", setup, "--area", "county:10001")
    assert "--area" in said
    said = refused("analyze", paths[0], "--setup", setup, "--analysis", "profile")
    assert "--analysis" in said
    assert "none.json" in refused("analyze", paths[0], "--setup", tmp_path / "none.json")
