"""`certify` on unaltered releases, and on forged ones with a matching manifest."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow.parquet
import pytest
import shapely

from geodata.store.schema import BASE_TABLES, TABLES
from geodata.store.store import open_store, sha256_of
from mapapp.answers.publication import PUBLIC_FACTS
from mapapp.kinds.release.certificate.recheck import check_release
from tests.commands.running import refused, run_here
from tests.releases import rewrite_table

PUBLISHED = ("--preset", "onthemap-v3", "-q")


@pytest.fixture(scope="module")
def honest(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with a secret key, flows as prior, pooled editing, and weights that an accountant certified."""
    from mapapp.commands.cli import run

    place = tmp_path_factory.mktemp("honest")
    shutil.copytree(demo_dataset, place / "d")
    assert run(["synthesize", str(place / "d"), str(place / "r"), *PUBLISHED]) == 0
    return place / "r"


@pytest.fixture
def release(honest: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(honest, tmp_path / "r"))


def reseal(release: Path) -> None:
    """Update the manifest to match the changes, as a forger would."""
    manifest = json.loads((release / "manifest.json").read_text())
    for name, facts in manifest["files"].items():
        file = release / name
        facts.update(sha256=sha256_of(file), bytes=file.stat().st_size)
    (release / "manifest.json").write_text(json.dumps(manifest))


def forge(release: Path, change: Callable[[dict[str, Any]], None]) -> None:
    file = release / "certificate.json"
    certificate = json.loads(file.read_text())
    change(certificate)
    file.write_text(json.dumps(certificate))
    reseal(release)


def forge_manifest(release: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest alone; nothing lists its own sha256."""
    file = release / "manifest.json"
    manifest = json.loads(file.read_text())
    change(manifest)
    file.write_text(json.dumps(manifest))


def unbind(release: Path) -> None:
    """Turn a release into one of schema 1, as the first version wrote them."""

    def downgrade(certificate: dict[str, Any]) -> None:
        certificate["schema_version"] = 1
        del certificate["publication"]

    forge(release, downgrade)


def failed(release: Path) -> list[str]:
    return [check.check for check in check_release(release) if not check.ok]


def test_an_unaltered_release_passes(release: Path, demo_release: Path) -> None:
    assert failed(release) == []
    assert failed(demo_release) == []


@pytest.mark.parametrize(
    "options",
    [
        ["--prior", "uniform"],
        ["--prior", "gravity", "--editing", "none"],
        ["--accountant", "paper"],
        ["--epsilon-final", "6", "--min-retention", "1"],
        ["--tract-radius", "12", "--puma-radius", "25"],
    ],
)
def test_releases_with_other_settings_pass(demo_dataset: Path, tmp_path: Path, options: list[str]) -> None:
    from mapapp.commands.cli import run

    shutil.copytree(demo_dataset, tmp_path / "d")
    assert run(["synthesize", str(tmp_path / "d"), str(tmp_path / "r"), *PUBLISHED, *options]) == 0
    assert failed(tmp_path / "r") == []


def test_the_design_of_a_designed_release_is_recomputed(demo_dataset: Path, tmp_path: Path) -> None:
    from mapapp.commands.cli import run

    shutil.copytree(demo_dataset, tmp_path / "d")
    release = tmp_path / "r"
    options = ["--design", "auto", "--prior", "gravity", "--epsilon-final", "7"]
    assert run(["synthesize", str(tmp_path / "d"), str(release), *PUBLISHED, *options]) == 0
    found = {check.check: check for check in check_release(release)}
    assert all(check.ok for check in found.values())
    assert "same setting" in found["design"].detail
    certificate = json.loads((release / "certificate.json").read_text())
    assert certificate["construction"]["design"]["priors"] == ["gravity"]
    assert certificate["epsilon_final"]["exact"] == "7"

    def praise(certificate: dict[str, Any]) -> None:
        certificate["construction"]["design"]["expected_kl_all"] /= 2

    forge(release, praise)
    assert failed(release) == ["design"]


def test_a_given_setting_cannot_pass_as_designed(release: Path) -> None:
    def boast(certificate: dict[str, Any]) -> None:
        certificate["construction"]["design"] = {"priors": ["gravity"]}

    forge(release, boast)
    assert failed(release)


def _epsilon(certificate: dict[str, Any]) -> None:
    certificate["epsilon"] = {"value": 0.01, "exact": "1/100"}
    certificate["parameters"]["privacy"]["epsilon"] = "1/100"


def _weights(certificate: dict[str, Any]) -> None:
    row = certificate["accounting"]["rows"][0]
    row["worst_min_prior_weight_units"] *= 2
    row["worst_total_prior_weight_units"] *= 2


def _retention(certificate: dict[str, Any]) -> None:
    for row in certificate["accounting"]["rows"]:
        row["least_retention_units"] = 1 << 32


def _seed(certificate: dict[str, Any]) -> None:
    certificate["construction"]["editing_seed"] = "0" * 64


def _caveats(certificate: dict[str, Any]) -> None:
    certificate["caveats"] = ["Perfectly safe."]


def _unit(certificate: dict[str, Any]) -> None:
    certificate["unit_of_protection"] = "Everything about everybody."


def _version(certificate: dict[str, Any]) -> None:
    certificate["versions"]["secret"] = "17"


def _strength(certificate: dict[str, Any]) -> None:
    certificate["parameters"]["synthesis"]["strength"] = 1.0000001


def _public(certificate: dict[str, Any]) -> None:
    certificate["public_inputs"]["prior"] = "0" * 64


def _row(certificate: dict[str, Any]) -> None:
    certificate["accounting"]["rows"].pop()


def _endless(certificate: dict[str, Any]) -> None:
    certificate["construction"]["n_eliminated"] = float("inf")


def _nonsense(certificate: dict[str, Any]) -> None:
    certificate["epsilon_final"] = {"value": 1.0, "exact": "1e-20000000"}


def _missing(certificate: dict[str, Any]) -> None:
    del certificate["accounting"]


@pytest.mark.parametrize(
    "change",
    [
        _epsilon,
        _weights,
        _retention,
        _seed,
        _caveats,
        _unit,
        _strength,
        _version,
        _public,
        _row,
        _endless,
        _nonsense,
        _missing,
    ],
)
def test_a_forged_certificate_is_noticed(release: Path, change: Callable[[dict[str, Any]], None]) -> None:
    forge(release, change)
    assert failed(release)
    assert "do not publish" in refused("certify", release)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_missing, "Object missing required field `accounting`"),
        (lambda c: c["parameters"].update(epsilon=1), "unknown field `epsilon` - at `$.parameters`"),
        (lambda c: c["readings"].update(differential_privacy=3), "got `int` - at `$.readings[...]`"),
        (lambda c: c["confidential_inputs"].update(jobs="12"), "- at `$.confidential_inputs[...]`"),
        (lambda c: c.update({"a\nok  b": 1}), r"unknown field `a\nok  b`"),
    ],
)
def test_a_certificate_of_another_shape_is_refused_by_name(
    release: Path, change: Callable[[dict[str, Any]], None], said: str
) -> None:
    forge(release, change)
    (wrong,) = [check for check in check_release(release) if not check.ok]
    assert wrong.check == "schema"
    assert said in wrong.detail


def test_a_test_key_release_cannot_pass_as_one_for_release(demo_release: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(demo_release, tmp_path / "r"))

    def unstamp(certificate: dict[str, Any]) -> None:
        certificate.update(status="for release", status_reasons=[])

    forge(path, unstamp)
    assert "test key" in failed(path)


def one_bit(points: pandas.DataFrame, rows: slice) -> None:
    """Change the last bit of some workplace points."""
    lon = points["work_lon_deg"].to_numpy(copy=True)
    lon.view("int32")[rows] ^= 1
    points["work_lon_deg"] = lon


def a_few_miles(points: pandas.DataFrame, rows: slice, end: str = "work") -> None:
    """Move some points out of sight."""
    lon = points[f"{end}_lon_deg"].to_numpy(copy=True)
    lon[rows] += 0.1
    points[f"{end}_lon_deg"] = lon


@pytest.mark.parametrize(
    ("change", "rows"),
    [
        (one_bit, slice(None, None, 2)),
        (one_bit, slice(None)),
        (a_few_miles, slice(1000, None)),
    ],
)
def test_a_test_key_release_cannot_be_laundered(
    change: Callable[[pandas.DataFrame, slice], None], rows: slice, demo_release: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copytree(demo_release, tmp_path / "r"))
    points = pandas.read_parquet(path / "points.parquet")
    change(points, rows)
    points.to_parquet(path / "points.parquet", index=False)
    forge(path, lambda certificate: certificate.update(status="for release", status_reasons=[]))
    assert "test key" in failed(path)


def test_home_blocks_alone_show_the_test_key(demo_release: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(demo_release, tmp_path / "r"))
    points = pandas.read_parquet(path / "points.parquet")
    for end in ("home", "work"):
        a_few_miles(points, slice(None), end)
    points.to_parquet(path / "points.parquet", index=False)
    forge(path, lambda certificate: certificate.update(status="for release", status_reasons=[]))
    assert "test key" in failed(path)


def test_an_extra_file_is_noticed(release: Path) -> None:
    points = pandas.read_parquet(release / "points.parquet")
    points.assign(name="somebody").to_parquet(release / "points.parquet", index=False)
    reseal(release)
    assert failed(release) == ["files and columns"]


def test_an_unknown_fact_in_the_manifest_is_noticed(release: Path) -> None:
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["elsewhere"] = {"36": 3}
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert failed(release) == ["files and columns"]


def test_moved_points_are_noticed(release: Path) -> None:
    points = pandas.read_parquet(release / "points.parquet")
    points["home_lon_deg"] += 1
    points.to_parquet(release / "points.parquet", index=False)
    reseal(release)
    assert "places" in failed(release)


def test_an_extra_worker_is_noticed(release: Path) -> None:
    jobs = pandas.read_parquet(release / "jobs.parquet")
    count = jobs["count"].to_numpy(copy=True)
    count[0] += 1
    jobs["count"] = count
    jobs.to_parquet(release / "jobs.parquet", index=False)
    reseal(release)
    assert "points" in failed(release)


@pytest.mark.parametrize("text", ["[]", "{", "", "3"])
def test_an_invalid_certificate_gives_one_line(release: Path, text: str) -> None:
    (release / "certificate.json").write_text(text)
    reseal(release)
    assert "certificate.json" in refused("certify", release)


SHOWN: dict[str, Any] = {
    "title": "Somewhere else",
    "year": 1850,
    "job_type": "JT02",
    "vintage": {"blocks": "2020", "pumas": "2020"},
    "destination_states": ["81"],
    "layers": [],
    "segments": "assigned",
}
"""Every fact that the demo release shows, with another value."""


def test_every_fact_of_a_release_is_covered(release: Path) -> None:
    shown = set(json.loads((release / "manifest.json").read_text())) - {"schema_version", "kind", "files"}
    of_others = {"last_release", "characteristics", "residents_only", "zones"}
    of_workers = {"segments_by", "workplaces_by", "counts_are_public", "edit_rules", "persons"}
    assert shown == set(SHOWN) == set(PUBLIC_FACTS) - of_others - of_workers


@pytest.mark.parametrize("fact", SHOWN)
def test_a_changed_fact_is_noticed(release: Path, fact: str) -> None:
    forge_manifest(release, lambda manifest: manifest.update({fact: SHOWN[fact]}))
    assert "facts shown to readers" in failed(release)
    assert "do not publish" in refused("certify", release)


@pytest.mark.parametrize("fact", SHOWN)
def test_a_missing_fact_is_noticed(release: Path, fact: str) -> None:
    forge_manifest(release, lambda manifest: manifest.pop(fact))
    assert "facts shown to readers" in failed(release)


def test_an_added_fact_is_noticed(release: Path) -> None:
    forge_manifest(release, lambda manifest: manifest.update(last_release={"title": "Another"}))
    assert "facts shown to readers" in failed(release)


def test_a_fact_of_another_type_is_noticed(release: Path) -> None:
    forge_manifest(release, lambda manifest: manifest.update(year=float(manifest["year"])))
    assert failed(release) == ["facts shown to readers"]


def more_people(rows: Any) -> Any:
    return rows.assign(population=rows["population"] + (rows.index == 0))


def another_county(blocks: Any) -> Any:
    return blocks.assign(county_id=blocks["county_id"].where(blocks.index > 0, "99999"))


def moved(share: float) -> Callable[[Any], Any]:
    """Move the internal points of a share of the blocks."""

    def move(blocks: Any) -> Any:
        lat = blocks["lat_deg"].to_numpy(copy=True)
        lat[: int(share * lat.size)] += 1
        return blocks.assign(lat_deg=lat)

    return move


@pytest.mark.parametrize(
    ("table", "change", "check"),
    [
        *((table, more_people, "populations") for table in ("blocks", "tracts", "pumas", "states")),
        ("blocks", another_county, "populations"),
        ("blocks", moved(0.02), "internal points"),
        ("blocks", moved(0.005), None),
    ],
)
def test_a_geography_that_contradicts_itself_is_noticed(
    table: str, change: Callable[[Any], Any], check: str | None, release: Path
) -> None:
    rewrite_table(release, table, change)
    found = {"populations", "internal points", "characteristics"} & set(failed(release))
    assert found == ({check} if check else set())


@pytest.mark.parametrize(("far_deg", "good"), [(0.0009, True), (0.0011, False)])
def test_points_within_meters_of_the_polygon_count_as_inside(
    far_deg: float, good: bool, release: Path
) -> None:
    """In the bureau's files, 273 of Rhode Island's 25,181 points are outside, half of them less than 10 m."""
    shapes = open_store(release, "release").table("tracts", ["geometry"])["geometry"]

    def north_of_tract(blocks: Any) -> Any:
        corners = [shapely.get_coordinates(shapes[tract]) for tract in blocks["tract_index"]]
        lon, lat = np.transpose(
            [max(each, key=lambda place: place[1]) if len(each) else (0, 0) for each in corners]
        )
        moving = blocks.index < 0.02 * len(blocks)
        return blocks.assign(
            lon_deg=np.where(moving, lon, blocks["lon_deg"]),
            lat_deg=np.where(moving, lat + far_deg, blocks["lat_deg"]),
        )

    rewrite_table(release, "blocks", north_of_tract)
    assert ("internal points" not in failed(release)) == good


def test_listed_characteristics_need_their_table(release: Path) -> None:
    facts = {"characteristics": [{"end": "work", "file": "hl_wac_S000_JT00_2022.csv"}]}
    forge_manifest(release, lambda manifest: manifest.update(facts))
    forge(release, lambda certificate: certificate["publication"]["facts"].update(facts))
    assert failed(release) == ["characteristics"]


TABLE_FILES = [f"{table.name}.parquet" for table in (*TABLES["release"], *BASE_TABLES)]


@pytest.mark.parametrize("file", [*TABLE_FILES, "certificate.json"])
def test_a_changed_size_is_noticed(release: Path, file: str) -> None:
    forge_manifest(release, lambda manifest: manifest["files"][file].update(bytes=1))
    assert refused("certify", release)


@pytest.mark.parametrize("file", TABLE_FILES)
def test_a_changed_number_of_rows_is_noticed(release: Path, file: str) -> None:
    forge_manifest(release, lambda manifest: manifest["files"][file].update(rows=1))
    assert refused("certify", release)


@pytest.mark.parametrize("file", TABLE_FILES)
def test_a_missing_number_of_rows_is_noticed(release: Path, file: str) -> None:
    forge_manifest(release, lambda manifest: manifest["files"][file].pop("rows"))
    assert refused("certify", release)


@pytest.mark.parametrize("file", TABLE_FILES)
def test_a_rewritten_table_is_noticed(release: Path, file: str) -> None:
    """The same rows with other bytes: every claim still holds, but these are not the published bytes."""
    table = pyarrow.parquet.read_table(release / file)
    pyarrow.parquet.write_table(table, release / file, compression="gzip")
    reseal(release)
    assert "tables" in failed(release)


def test_a_certificate_bound_to_other_facts_is_noticed(release: Path) -> None:
    forge(release, lambda certificate: certificate["publication"]["facts"].update(year=1850))
    assert failed(release) == ["facts shown to readers"]


@pytest.mark.parametrize("publication", [None, [], {}, {"facts": [], "files": 3}])
def test_a_publication_of_another_shape_is_noticed(release: Path, publication: Any) -> None:
    forge(release, lambda certificate: certificate.update(publication=publication))
    assert failed(release)


def test_states_and_layers_must_match_the_tables_even_if_bound(release: Path) -> None:
    facts: dict[str, Any] = {"destination_states": ["82"], "layers": []}
    forge_manifest(release, lambda manifest: manifest.update(facts))
    forge(release, lambda certificate: certificate["publication"]["facts"].update(facts))
    assert failed(release) == ["states and layers"]


def test_a_schema_1_release_needs_its_digest(release: Path) -> None:
    unbind(release)
    assert failed(release) == ["fields of later versions"]
    message = refused("certify", release)
    assert "fields of later versions" in message
    digest = ("--digest", sha256_of(release / "manifest.json"))
    done = run_here("certify", release, *digest)
    assert done.code == 0
    assert "schema 1 without publication" in done.out
    assert sum("does not bind the title" in line for line in done.out.splitlines()) == 1
    assert json.loads(run_here("certify", release, *digest, "--json").out)["binds_facts"] is False
    assert "fields of later versions" in refused("certify", release, "--digest", "0" * 64)


@pytest.mark.parametrize("field", ["lone_worker", "beside", "beside_in_words", "run_id"])
@pytest.mark.parametrize("schema", [1, 2, 3])
def test_no_field_can_be_deleted_under_another_schema(release: Path, field: str, schema: int) -> None:
    """Version 0.1 wrote schema 2 with all of them but the id of the run."""

    def downgrade(certificate: dict[str, Any]) -> None:
        certificate["schema_version"] = schema
        del certificate[field]
        if schema == 1:
            del certificate["publication"]

    forge(release, downgrade)
    wrong = failed(release)
    if schema == 3:
        assert "schema" in wrong
    elif (schema, field) == (2, "run_id"):
        assert wrong == []
    else:
        assert "fields of later versions" in wrong
        details = [
            check.detail for check in check_release(release) if check.check == "fields of later versions"
        ]
        assert field in details[0]


def test_the_id_of_a_run_has_the_form_of_one(release: Path) -> None:
    forge(release, lambda certificate: certificate.update(run_id="mine"))
    assert failed(release) == ["schema"]


def test_facts_of_a_schema_1_release_can_be_changed(release: Path) -> None:
    """This is what the note about schema 1 warns about."""
    unbind(release)
    forge_manifest(release, lambda manifest: manifest.update(year=1850))
    assert failed(release) == ["fields of later versions"]


def test_the_digest_is_printed_and_compared(release: Path) -> None:
    digest = sha256_of(release / "manifest.json")
    done = run_here("certify", release, "--digest", digest.upper())
    assert done.code == 0
    assert digest in done.out
    assert "does not bind" not in done.out
    assert "bound by this digest alone" not in done.out
    assert "not where the publication comes from" in run_here("certify", release).out
    assert json.loads(run_here("certify", release, "--json").out)["release_digest"] == digest
    assert "release digest" in refused("certify", release, "--digest", "0" * 64)


def test_the_right_digest_excuses_no_other_check(release: Path) -> None:
    forge(release, _weights)
    digest = sha256_of(release / "manifest.json")
    assert "do not publish" in refused("certify", release, "--digest", digest)


@pytest.mark.parametrize("wrong", ["", "12", "g" * 64, "0" * 63, "0" * 65, "0" * 64 + "\n"])
def test_an_invalid_digest_is_refused(release: Path, wrong: str) -> None:
    assert "64 hexadecimal digits" in refused("certify", release, "--digest", wrong)


def test_synthesize_prints_the_digest(demo_dataset: Path, tmp_path: Path) -> None:
    shutil.copytree(demo_dataset, tmp_path / "d")
    done = run_here("synthesize", tmp_path / "d", tmp_path / "r", "-q")
    assert sha256_of(tmp_path / "r" / "manifest.json") in done.out
    assert "bound by this digest alone" in done.out


def test_the_certificate_binds_nothing_that_the_manifest_does_not_show(release: Path) -> None:
    """No confidential count reaches the certificate through the publication field."""
    publication = json.loads((release / "certificate.json").read_text())["publication"]
    manifest = json.loads((release / "manifest.json").read_text())
    assert publication["facts"] == {name: manifest[name] for name in SHOWN}
    assert publication["files"] == {name: manifest["files"][name] for name in sorted(TABLE_FILES)}
