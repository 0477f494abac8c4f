"""The app at its edge: releases only, everything from this machine, headers that keep it so."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import shapely
from PIL import Image

from geodata.errors import StoreError
from mapapp.answers.areas.outlines import Outlines
from mapapp.base import watch
from mapapp.base.errors import UsageError
from mapapp.base.paths import assets_dir
from mapapp.explore import server, web_app
from mapapp.explore.server import add_release, create_app, listen
from mapapp.show.content import map_layers
from tests.releases import UNDRAWN_TRACT, write_release

OUTSIDE = re.compile(r"(?:https?:)?//(?!www\.w3\.org/)[a-z0-9.-]+\.[a-z]{2,}", re.IGNORECASE)


@pytest.fixture(scope="module")
def release_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("made") / "squareland")


@pytest.fixture(scope="module")
def app(release_path: Path) -> Any:
    return create_app([release_path])


@pytest.fixture(scope="module")
def client(app: Any) -> Any:
    return app.server.test_client()


@pytest.fixture(scope="module")
def base(release_path: Path) -> str:
    """Where the release's shapes and pictures lie, below `/geo/` and `/density/`."""
    return f"squareland/{hashlib.sha256((release_path / 'manifest.json').read_bytes()).hexdigest()[:12]}"


def get(client: Any, address: str, **headers: str) -> Any:
    """An answer, read to its end and closed."""
    with client.get(
        address, headers={name.replace("_", "-"): value for name, value in headers.items()}
    ) as answer:
        answer.get_data()
        return answer


def ask(client: Any, output: str, pathname: str, search: str) -> Any:
    nav = [{"id": {"page": page, "type": "nav"}, "property": "className"} for page in ("/", "/method")]
    body = {
        "output": output,
        "outputs": [*({"id": part, "property": "children"} for part in ("page", "release-choice")), nav],
        "inputs": [{"id": "url", "property": "pathname", "value": pathname}],
        "state": [{"id": "url", "property": "search", "value": search}],
        "changedPropIds": ["url.pathname"],
    }
    return client.post("/_dash-update-component", json=body)


def test_a_dataset_is_refused_in_one_line(demo_dataset: Path) -> None:
    with pytest.raises(StoreError, match="confidential counts; a release is needed") as refused:
        create_app([demo_dataset])
    assert "\n" not in str(refused.value)


def test_no_release_and_no_place_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        create_app([])
    with pytest.raises(StoreError):
        create_app([tmp_path / "nowhere"])


def test_an_altered_release_is_refused(tmp_path: Path) -> None:
    path = write_release(tmp_path / "altered", n_pairs=20)
    file = path / "points.parquet"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(StoreError, match="sha256"):
        create_app([path])


def test_the_page_names_no_other_machine_and_everything_it_names_loads(client: Any) -> None:
    page = get(client, "/").get_data(as_text=True)
    assert '<html lang="en">' in page
    plain = page.replace("\\u002f", "/").replace("https://plotly.com/", "")  # a license link within a comment
    assert not OUTSIDE.findall(plain)
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(named) > 8
    for address in named:
        assert get(client, address).status_code == 200, address


def test_assets_name_no_other_machine() -> None:
    files = [file for file in assets_dir().iterdir() if file.suffix in (".css", ".js", ".svg")]
    assert files
    for file in files:
        assert not OUTSIDE.findall(file.read_text(encoding="utf-8")), file


def test_headers_forbid_what_the_page_does_not_need(client: Any) -> None:
    headers = get(client, "/").headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_the_page_does_not_say_what_the_server_runs_on(client: Any) -> None:
    answer = get(client, "/")
    config = json.loads(
        re.findall(r'id="_dash-config" type="application/json">(.*?)</script>', answer.text)[0]
    )
    assert config["requests_pathname_prefix"] == "/"
    settings_text = json.dumps(config)
    for secret in (platform.python_version(), platform.python_compiler(), sys.version, "plotly.com", "GCC"):
        assert secret not in settings_text
    assert [name for name in config if "version" in name] == ["disable_version_check"]
    assert "Server" not in answer.headers


@pytest.mark.parametrize("name", ["tune.js", "tune.css"])
def test_files_of_the_workbench_are_not_served(client: Any, name: str) -> None:
    assert (assets_dir() / name).is_file()
    assert get(client, f"/assets/{name}").status_code == 404
    assert get(client, f"/assets/{name}?m=1").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "./{}",
        "%2e/{}",
        "/{}",
        ".//{}",
        "x/../{}",
        "x/%2e%2e/{}",
        "{}/",
        "{}/.",
        "./././{}",
        ".%2f{}",
        "%2f{}",
    ],
)
@pytest.mark.parametrize("prefix", ["/", "/maps/"])
def test_assets_have_one_address_each(release_path: Path, prefix: str, path: str) -> None:
    """Whatever a web server or the disk makes of other addresses, they give no file."""
    client = create_app([release_path], prefix).server.test_client()
    assert get(client, f"{prefix}assets/app.css").status_code == 200
    for name in ("tune.js", "app.css", "TUNE.JS"):
        assert get(client, f"{prefix}assets/{path.format(name)}").status_code == 404


def test_how_long_an_answer_is_kept(client: Any, base: str) -> None:
    page = get(client, "/")
    assert page.headers["Cache-Control"] == "no-cache"
    assert get(client, "/no/such/page").headers["Cache-Control"] == "no-cache"
    for address in re.findall(r'(?:src|href)="(/assets/[^"]+\?m=[^"]+)"', page.text):
        assert get(client, address).headers["Cache-Control"] == web_app.FOR_EVER
        assert get(client, address.partition("?")[0]).headers["Cache-Control"] == "no-cache"
    (script, *_) = re.findall(r'src="(/_dash-component-suites/[^"]+)"', page.text)
    assert "max-age=31536000" in get(client, script).headers["Cache-Control"]
    assert get(client, "/_dash-layout").headers["Cache-Control"] == "no-store"
    output = '..page.children...release-choice.children...{"page":["ALL"],"type":"nav"}.className..'
    assert ask(client, output, "/method", "").headers["Cache-Control"] == "no-store"
    assert client.post("/_dash-update-component", json={}).headers["Cache-Control"] == "no-store"
    assert get(client, f"/take/{base}/nothing.csv").headers["Cache-Control"] == "no-store"


def test_shapes_are_sent_once(client: Any, base: str) -> None:
    address = f"/geo/{base}/tracts.geojson"
    first = get(client, address, Accept_Encoding="gzip")
    assert first.headers["Content-Encoding"] == "gzip"
    assert "immutable" in first.headers["Cache-Control"]
    features = json.loads(gzip.decompress(first.get_data()))["features"]
    assert len(features) == 23
    assert UNDRAWN_TRACT not in {feature["id"] for feature in features}
    assert get(client, address).get_json()["features"] == features
    again = get(client, address, If_None_Match=first.headers["ETag"])
    assert again.status_code == 304


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, br", "gzip"),
        ("gzip;q=0.5", "gzip"),
        ("*", "gzip"),
        ("gzip;q=0, br", None),
        ("br", None),
        ("", None),
    ],
)
def test_long_texts_are_compressed_for_clients_that_accept_it(
    client: Any, base: str, accepted: str, encoding: str | None
) -> None:
    script = "/_dash-component-suites/plotly/package_data/plotly.min.js"
    (asset, *_) = re.findall(r'src="(/assets/[^"]+\?m=[^"]+)"', get(client, "/").text)
    for address in (script, asset, "/_dash-dependencies", f"/geo/{base}/tracts.geojson"):
        answer, plain = get(client, address, Accept_Encoding=accepted), get(client, address)
        body = answer.get_data()
        assert answer.headers.get("Content-Encoding") == encoding, address
        assert answer.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding", address
        assert int(answer.headers["Content-Length"]) == len(body)
        assert (gzip.decompress(body) if encoding else body) == plain.get_data()
        if "ETag" in answer.headers:
            again = get(client, address, Accept_Encoding=accepted, If_None_Match=answer.headers["ETag"])
            assert again.status_code == 304


def test_short_texts_and_pictures_are_not_compressed(client: Any) -> None:
    for address in ("/assets/icon.svg", "/assets/tune.js"):
        assert "Content-Encoding" not in get(client, address, Accept_Encoding="gzip").headers


def test_a_density_has_areas_that_only_its_own_release_has(
    demo_release: Path, release_path: Path, base: str
) -> None:
    """Served with other releases, and not as the first."""
    client = create_app([demo_release, release_path]).server.test_client()
    whole, part = (
        get(client, f"/density/{base}.png{query}").data for query in ("", "?area=tract:10001000000")
    )
    assert whole != part
    alone = create_app([release_path]).server.test_client()
    assert part == get(alone, f"/density/{base}.png?area=tract:10001000000").data


def test_counties_come_with_what_their_names_need(client: Any, base: str) -> None:
    for feature in get(client, f"/geo/{base}/counties.geojson").get_json()["features"]:
        west, south, east, north = feature["properties"]["box"]
        lon, lat = feature["properties"]["at"]
        assert west < lon < east
        assert south < lat < north
        assert feature["properties"]["name"]


def test_outlines_of_any_level_and_of_nonsense(client: Any, base: str) -> None:
    address = f"/geo/{base}/areas.geojson"
    for area in ("tract:10001000000", "county:10001", "state:10", "puma:1000001", "stplc:4459"):
        features = get(client, f"{address}?area={area}").get_json()["features"]
        assert [feature["id"] for feature in features] == [area]
    assert (
        get(client, f"{address}?area=stplc:%27&area=tract:{UNDRAWN_TRACT}&area=state:90").get_json()[
            "features"
        ]
        == []
    )


def test_units_of_every_layer_have_shapes(client: Any, base: str) -> None:
    for level, most in (
        ("tract", 23),
        ("county", 3),
        ("state", 2),
        ("puma", 4),
        ("superpuma", 2),
        ("stplc", 2),
    ):
        features = get(client, f"/geo/{base}/unit-{level}.geojson").get_json()["features"]
        assert 0 < len(features) <= most, level
    assert get(client, f"/geo/{base}/unit-block.geojson").status_code == 404
    assert get(client, f"/geo/{base}/unit-x.geojson").status_code == 404


def test_the_outline_of_several_steps_is_that_of_their_blocks(client: Any, base: str) -> None:
    address = (
        f"/geo/{base}/areas.geojson?area=county:10001&area=-tract:10001000000&area=%26box:-71,42,-70.9,42.1"
    )
    (feature,) = get(client, address).get_json()["features"]
    shape = shapely.geometry.shape(feature["geometry"])
    assert shape.area == pytest.approx(3 * 0.05**2, rel=0.01)


def test_a_megabyte_of_address_is_answered(client: Any, base: str) -> None:
    long = "area=" + "x" * 1_000_000
    assert get(client, f"/take/{base}/table.csv?{long}").status_code == 400
    assert get(client, f"/geo/{base}/areas.geojson?{long}").get_json()["features"] == []
    output = '..page.children...release-choice.children...{"page":["ALL"],"type":"nav"}.className..'
    assert ask(client, output, "/", "?" + long).status_code == 200


def test_a_density_picture_has_an_address(client: Any, base: str) -> None:
    answer = get(client, f"/density/{base}.png?area=county:10001&show=density&junk=1")
    assert answer.status_code == 200
    assert answer.mimetype == "image/png"
    assert answer.get_data().startswith(b"\x89PNG")


def test_tiles_of_dots_have_addresses(client: Any, base: str) -> None:
    for ending, side in (("", 256), ("@2x", 512)):
        answer = get(client, f"/dots/{base}/0/0/0{ending}.png?area=county:10001&color=age")
        assert answer.status_code == 200
        assert answer.mimetype == "image/png"
        assert "immutable" in answer.headers["Cache-Control"]
        assert Image.open(io.BytesIO(answer.get_data())).size == (side, side)


@pytest.mark.parametrize("tile", ["1/2/0", "1/0/2", "23/0/0", "0/0/-1", "0/0/0@3x"])
def test_tiles_beyond_the_world_are_not_found(client: Any, base: str, tile: str) -> None:
    assert get(client, f"/dots/{base}/{tile}.png").status_code == 404


def test_only_a_map_of_dots_has_tiles_and_a_morning(client: Any, base: str) -> None:
    assert get(client, f"/dots/{base}/0/0/0.png?show=density").status_code == 404
    assert get(client, f"/morning/{base}.json?show=density&most=10").status_code == 404
    assert get(client, f"/morning/{base}.json").status_code == 404
    assert get(client, f"/morning/{base}.json?most=20001").status_code == 404
    answer = get(client, f"/morning/{base}.json?most=10&area=county:10001")
    assert answer.status_code == 200
    assert "Not people" in answer.get_json()["note"]


@pytest.mark.parametrize(
    "path",
    [
        "/geo/squareland/000000000000/tracts.geojson",
        "/geo/x/y/z.geojson",
        "/density/x/y.png",
        "/dots/x/y/0/0/0.png",
        "/morning/x/y.json?most=1",
    ],
)
def test_addresses_that_are_not_ours_are_not_found(client: Any, path: str) -> None:
    assert get(client, path).status_code == 404


def test_the_base_layers_are_named_and_no_others(client: Any, base: str) -> None:
    assert get(client, f"/geo/{base}/jobs.geojson").status_code == 404


@pytest.mark.parametrize(
    ("pathname", "word"),
    [("/", "What do you want to know?"), ("/method", "Nobody on this map"), ("/x", "Page not found")],
)
def test_every_address_has_a_page(client: Any, pathname: str, word: str) -> None:
    answer = ask(
        client,
        '..page.children...release-choice.children...{"page":["ALL"],"type":"nav"}.className..',
        pathname,
        "?area=%00&side=<script>",
    )
    assert answer.status_code == 200
    assert word in answer.get_data(as_text=True)


def test_a_callback_that_fails_is_a_failed_request(
    client: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr("mapapp.explore.callbacks.choices.apply_choices", broken)
    body = {
        "output": "followed.data",
        "outputs": {"id": "followed", "property": "data"},
        "inputs": [{"id": "choices", "property": "data", "value": {}}],
        "changedPropIds": ["choices.data"],
    }
    with client.post("/_dash-update-component", json=body) as answer:
        assert answer.status_code == 500
        assert answer.get_data(as_text=True) == "500 Internal Server Error\n"
    assert "RuntimeError 'broken'" in caplog.text


def test_two_apps_do_not_disturb_each_other(tmp_path: Path, app: Any, client: Any) -> None:
    other = create_app([write_release(tmp_path / "other", n_pairs=30)], prefix="/maps/")
    page = get(other.server.test_client(), "/maps/").get_data(as_text=True)
    assert 'href="/maps/assets/icon.svg"' in page
    assert get(client, "/").status_code == 200


def test_a_free_port_is_taken_and_said(app: Any) -> None:
    server, address = listen(app, port=0)
    assert re.fullmatch(r"http://127\.0\.0\.1:[1-9]\d+/", address)
    server.close()


def test_the_first_visitor_waits_for_no_outlines(
    tmp_path: Path, demo_release: Path, release_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outlines of the layers that maps begin with are kept on disk before any request is answered."""
    monkeypatch.setenv("COMMUTEMAP_HOME", str(tmp_path))
    monkeypatch.setattr(server, "run_in_background", lambda *_, **__: None)

    def refuse(*_: object) -> None:
        raise AssertionError("outlines are made for a visitor")

    app = create_app([demo_release])
    listening, _ = listen(app, port=0)
    listening.close()
    add_release(app, release_path)
    monkeypatch.setattr(Outlines, "_make", refuse)
    for release in app.server.extensions["commutemap"].releases.values():
        usual = release.areas.usual
        for layer in (usual.of("work"), usual.named):
            assert map_layers.unit_layer(release, layer)


def test_outlines_of_a_large_release_do_not_delay_the_start(
    tmp_path: Path, demo_release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMUTEMAP_HOME", str(tmp_path))
    monkeypatch.setattr(server, "run_in_background", lambda *_, **__: None)
    monkeypatch.setattr(server, "_MOST_OUTLINED", 1)
    listening, _ = listen(create_app([demo_release]), port=0)
    listening.close()
    assert not list(tmp_path.rglob("outlines-*.parquet"))


def test_it_works_from_any_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert get(create_app([release_path]).server.test_client(), "/assets/app.css").status_code == 200


def test_a_server_that_ends_stops_in_the_middle_of_a_step(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outlines of a layer take minutes on a large release, and the process waits for the thread that makes them."""
    begun: list[str] = []

    def run_now(work: Callable[[], object], *, stop: Callable[[], object]) -> None:
        def endless(release: object, name: str) -> None:
            begun.append(name)
            stop()
            while True:
                watch.check()

        monkeypatch.setattr(map_layers, "base_layer", endless)
        work()

    monkeypatch.setattr(server, "run_in_background", run_now)
    listening, _ = listen(app, port=0)
    listening.close()
    listening.task_dispatcher.shutdown()
    assert begun == ["states"]
