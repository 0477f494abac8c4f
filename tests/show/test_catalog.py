"""What catalogs read about a publication, against the schemas of the standards and against its own files."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet
import pytest
import yaml
from click.testing import CliRunner

from geodata.store.store import store_digest
from mapapp.commands.cli import commutemap

ROOT = Path(__file__).parents[2]
STANDARDS = ROOT.parent / "shared/standards"
SAID = ("--publisher", "Office of Made-up Places", "--contact", "data@example.org", "--issued", "2026-05-01")


def run(*arguments: object) -> None:
    outcome = CliRunner().invoke(commutemap, list(map(str, arguments)), catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output


@pytest.fixture(scope="module")
def release(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release that is for release."""
    folder = tmp_path_factory.mktemp("catalog")
    dataset = Path(shutil.copytree(demo_dataset, folder / "demo.dataset"))
    run("synthesize", dataset, folder / "demo.release", "--epsilon", "6.5", "--no-clean", "-q")
    return folder / "demo.release"


def written(publication: Path, target: Path, *options: str) -> dict[str, str]:
    """The files that the command writes."""
    run("catalog", publication, target, *SAID, *options)
    return {file.name: file.read_text(encoding="utf-8") for file in target.iterdir()}


FORMATS = jsonschema.FormatChecker()
FORMATS.checks("date-time")(lambda text: "T" in text)


def without_ids(value: Any) -> Any:
    """A schema without `$id`: these name terms of vocabularies, and would move what `$ref` refers to."""
    if isinstance(value, dict):
        return {name: without_ids(part) for name, part in value.items() if name != "$id"}
    return [without_ids(part) for part in value] if isinstance(value, list) else value


def dcat_schema() -> Any:
    """The schema of a dataset; what the standard refers to and does not define is any object."""
    folder = STANDARDS / "dcat-us-3.0/definitions"
    if not folder.is_dir():
        pytest.skip("needs the schemas of the standards")
    texts = {file.stem: file.read_text(encoding="utf-8") for file in folder.glob("*.json")}
    definitions = {name: without_ids(json.loads(text)) for name, text in texts.items()}
    for name in ("Resource", "Frequency", "LinguisticSystem", "ChecksumAlgorithm"):
        definitions.setdefault(name, {"type": "object"})
    return {"definitions": definitions, "$ref": "#/definitions/Dataset"}


def test_a_dataset_of_dcat_us_is_valid_and_says_what_the_publisher_said(
    release: Path, tmp_path: Path
) -> None:
    """Finds a term in the wrong form, and an edition that is left out."""
    edition = ("--version", "2", "--supersedes", "ab" * 32, "--erratum", "Two towns were exchanged.")
    dataset = json.loads(written(release, tmp_path / "a", "--licence", "CC-BY-4.0", *edition)["dcat-us.json"])
    jsonschema.Draft7Validator(dcat_schema(), format_checker=FORMATS).validate(dataset)
    assert dataset["identifier"] == [f"urn:sha256:{store_digest(release)}"]
    assert dataset["replaces"] == [f"urn:sha256:{'ab' * 32}"]
    assert (dataset["version"], dataset["versionNotes"]) == ("2", "Two towns were exchanged.")
    assert dataset["temporal"][0]["startDate"] == "2023"
    assert all(file["license"].endswith("/by/4.0/") for file in dataset["distribution"])
    assert "ε = 6.5" in dataset["description"]
    assert "already public" in dataset["description"]
    box = {name: float(text) for name, text in dataset["geographicBoundingBox"][0].items() if name != "@type"}
    blocks = pyarrow.parquet.read_table(release / "blocks.parquet").to_pandas()
    inside = blocks[~blocks["elsewhere"]]
    assert box["westBoundingLongitude"] == pytest.approx(inside["lon_deg"].min(), abs=1e-4)
    assert box["northBoundingLatitude"] == pytest.approx(inside["lat_deg"].max(), abs=1e-4)


def test_the_dictionary_has_every_column_with_its_meaning(release: Path, tmp_path: Path) -> None:
    """Finds a column that nobody described, and a file that is not the one published."""
    dictionary = json.loads(written(release, tmp_path / "a")["croissant.json"])
    files = {file["@id"]: file for file in dictionary["distribution"]}
    assert set(files) == {file.name for file in release.glob("*.parquet")}
    for name, file in files.items():
        assert file["sha256"] == hashlib.sha256((release / name).read_bytes()).hexdigest()
    fields = {part["@id"]: part for table in dictionary["recordSet"] for part in table["field"]}
    columns = [
        f"{file.stem}/{column}"
        for file in release.glob("*.parquet")
        for column in pyarrow.parquet.read_schema(file).names
    ]
    assert set(fields) == set(columns)
    assert len({part["@id"] for part in (*fields.values(), *files.values())}) == len(fields) + len(files)
    undescribed = [name for name, part in fields.items() if part["description"] == part["name"]]
    assert undescribed == []
    assert fields["jobs/age"]["description"] == "Age: 1 29 or younger; 2 30 to 54; 3 55 or older"
    assert fields["jobs/count"]["dataType"] == "sc:Integer"
    assert fields["blocks/layer_stplc"]["description"] == "Place (city or town)"


def test_the_entry_for_the_registry_is_valid_and_marks_what_only_the_publisher_knows(
    release: Path, tmp_path: Path
) -> None:
    """Finds a field that the registry lacks, another promise, and a blank that looks filled in."""
    entry = yaml.safe_load(written(release, tmp_path / "a")["registry-entry.yaml"])
    deployment = entry["deployment"]
    assert deployment["dp_variant"]["variant_name"] == "Pure DP"
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 6.5, "delta": 0.0}
    assert "already public" in deployment["dp_variant"]["unprotected_quantities"]
    assert deployment["basic"]["intended_use"].startswith("FILL IN: ")
    schema = STANDARDS / "dp-deployments/deployments-schema.yaml"
    if not schema.is_file():
        pytest.skip("needs the schemas of the standards")
    jsonschema.Draft7Validator(
        yaml.safe_load(schema.read_text(encoding="utf-8")), format_checker=FORMATS
    ).validate(entry)


def test_public_counts_have_no_entry_for_a_registry_of_privacy(tmp_path: Path) -> None:
    """Finds a promise that nobody made."""
    run("demo", tmp_path / "demo.published", "--size", "small", "--published", "-q")
    files = written(tmp_path / "demo.published", tmp_path / "a")
    assert set(files) == {"dcat-us.json", "croissant.json"}
    assert "Published by" in json.loads(files["dcat-us.json"])["description"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--contact", "nobody"), "give an email address"),
        (("--licence", "free"), "give the address of a license, or one of CC0-1.0"),
        (("--supersedes", "AB"), "64 hexadecimal digits in lower case"),
        (("--erratum", "wrong"), "name that one with --supersedes"),
        (("--publisher", "a\nb"), "give one line"),
        (("--publisher", ""), "give the name of the organization"),
    ],
)
def test_what_cannot_be_said_is_refused_in_one_line(
    release: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    """Finds a value that is written as it came, and a folder that is left behind."""
    outcome = CliRunner().invoke(commutemap, ["catalog", str(release), str(tmp_path / "a"), *SAID, *options])
    assert said in str(outcome.exception)
    assert "\n" not in str(outcome.exception)
    assert not (tmp_path / "a").exists()


def test_what_is_not_for_release_is_in_no_catalog(demo_release: Path, tmp_path: Path) -> None:
    """Finds a trial under the test key that catalogs would list."""
    outcome = CliRunner().invoke(commutemap, ["catalog", str(demo_release), str(tmp_path / "a"), *SAID])
    assert "Not for release" in str(outcome.exception)
    assert not (tmp_path / "a").exists()
