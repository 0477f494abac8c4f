"""Published characteristics of places are in every publication, bound by its certificate, and shown with a profile."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from engine.parameters import PrivacyParameters, SynthesisParameters
from geodata.store.schema import CHARACTERISTIC_CODES, GEOGRAPHY, TABLE_CELLS, TABLE_PRIOR, TABLES
from geodata.store.store import open_store, write_store
from geodata.store.table_stream import make_empty_table
from mapapp.answers.publication import PUBLIC_FACTS
from mapapp.answers.release import Release
from mapapp.explore.pages import answer
from mapapp.kinds.base.geography import copy_public_tables
from mapapp.kinds.release.certificate.recheck import check_release
from mapapp.kinds.release.make.run import run_synthesis
from mapapp.question.address import Address
from mapapp.question.question import Question
from mapapp.show.reports.build import build
from mapapp.show.reports.part import Part
from tests.releases import rewrite_table

FILE = {
    "end": "work",
    "file": "hl_wac_S000_JT00_2022.csv",
    "job_type": "JT00",
    "sha256": "ab" * 32,
    "state": "81",
    "year": 2022,
}


def counted(blocks: list[int], n: int) -> pandas.DataFrame:
    """The same number of jobs in each block, all in the first classes; nothing is known of race."""
    first = {"C000", "CA01", "CE01", "CNS05", "CS02"}
    counts = {code: np.int32(n if code in first else 0) for code in CHARACTERISTIC_CODES}
    return pandas.DataFrame({"block_index": np.array(blocks, np.int32), "end": "work", **counts})


@pytest.fixture(scope="module")
def release(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("characteristics")
    store = open_store(demo_dataset, "dataset")
    with write_store(folder / "d", "dataset") as writer:
        writer.facts(
            **{
                name: store.manifest[name]
                for name in ("commitment_key", *PUBLIC_FACTS)
                if name in store.manifest
            },
            characteristics=[FILE],
        )
        for table in TABLES["dataset"]:
            writer.copy_table(store, table.name)
        writer.table("characteristics", counted([3, 4, 200], 7))
    privacy = PrivacyParameters(epsilon="4.6", delta="1e-6", min_retention="0.025")
    run_synthesis(folder / "d", folder / "r", privacy, SynthesisParameters(prior="flows"), test_key=True)
    return folder / "r"


def test_a_release_has_them_and_its_certificate_lists_them(release: Path) -> None:
    certificate = json.loads((release / "certificate.json").read_text())
    assert certificate["publication"]["facts"]["characteristics"] == [FILE]
    assert "characteristics.parquet" in certificate["publication"]["files"]
    assert not [check for check in check_release(release) if not check.ok]
    assert open_store(release, "release").table("characteristics")["C000"].sum() == 21


def test_a_table_of_them_needs_its_files(release: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(release, tmp_path / "x"))
    rewrite_table(path, "characteristics", lambda rows: rows.assign(end="home"))
    assert "characteristics" in {check.check for check in check_release(path) if not check.ok}


def test_tables_have_them_too(release: Path, tmp_path: Path) -> None:
    dataset = open_store(release.parent / "d", "dataset")
    with write_store(tmp_path / "t", "table") as writer:
        copy_public_tables(dataset, writer, GEOGRAPHY)
        for table in (TABLE_CELLS, TABLE_PRIOR):
            writer.table(table.name, make_empty_table(table))
    assert (tmp_path / "t/characteristics.parquet").read_bytes() == (
        release / "characteristics.parquet"
    ).read_bytes()


def test_a_changed_count_is_not_the_certified_one(release: Path, tmp_path: Path) -> None:
    changed = Path(shutil.copytree(release, tmp_path / "r"))
    rewrite_table(changed, "characteristics", lambda rows: rows.assign(CS01=rows["CS01"] + 1))
    assert any("characteristics.parquet" in check.detail for check in check_release(changed) if not check.ok)


def test_an_area_adds_up_its_blocks(release: Path) -> None:
    opened = Release.open(release)
    everything = opened.published_profile()
    assert everything is not None
    assert everything.jobs == 21
    classes = everything.classes
    assert list(classes["title"].unique()) == ["Age", "Earnings", "Industry (NAICS sector)", "Sex"]
    of_sex = classes[classes["title"] == "Sex"]
    assert of_sex["workers"].tolist() == [0, 21]
    assert of_sex["share"].tolist() == [0, 1]
    blocks = opened.store.table("blocks")
    tract = opened.published_profile(f"tract:{blocks['tract_id'][3]}")
    assert tract is not None
    assert tract.jobs == 7 * int((blocks["tract_id"][[3, 4, 200]] == blocks["tract_id"][3]).sum())
    assert opened.published_profile(side="home") is None


def shown(release: Release, question: Question) -> str:
    result: Any = release.profile(question.area, side=question.side)
    return str(
        [
            child
            for child in answer.answer(release, Address(question=question), result, "")
            if child is not None
        ]
    )


def test_the_page_shows_them_below_a_profile_with_their_source(release: Path) -> None:
    served = Release.open(release, "r")
    text = shown(served, Question(analysis="profile", areas=("all",)))
    assert "All jobs here, as LODES publishes them" in text
    assert "21 jobs. Source: LODES workplace area characteristics (WAC) 2022, job type JT00" in text
    assert str(FILE["file"]) in text
    assert "Manufacturing" in text
    assert "as LODES publishes" not in shown(
        served, Question(analysis="profile", areas=("all",), side="home")
    )


def test_a_report_has_them_as_a_table(release: Path) -> None:
    question = Question(analysis="profile", areas=("all",))
    report = build([Release.open(release, "r")], [Part(question)], error_rows=None, pictures=False)
    table = report.answers[0].tables[-1]
    assert table == report.answers[0].printed[-1]
    assert table.name == "characteristics"
    assert ("Sex", "Female", 21, 1.0) in list(table.rows)
    assert "Source: LODES" in str(table.words)
