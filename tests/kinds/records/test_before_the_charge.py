"""What is wrong with a dataset or with the place of the records is found before anything is charged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from geodata.errors import GeodataError
from mapapp.base.errors import UsageError
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.run import make_records
from tests.releases import rewrite_table


@pytest.fixture
def dataset(demo_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path / "d"))


def refused(dataset: Path, words: str, choice: Choice | None = None) -> None:
    """Make records, which must be refused, uncharged, without a trace."""
    with pytest.raises((GeodataError, UsageError), match=words):
        make_records(dataset, dataset.parent / "r", choice or Choice())
    assert not (dataset / "ledger.jsonl").exists()
    assert [each.name for each in dataset.parent.iterdir()] == ["d"]


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("name", ["workers", "jobs", "blocks", "cells"])
@pytest.mark.parametrize(
    ("damage", "words"), [(_cut, "sha256"), (_flip, "sha256"), (Path.unlink, "no such file")]
)
def test_a_damaged_file(dataset: Path, name: str, damage: Callable[[Path], None], words: str) -> None:
    damage(dataset / f"{name}.parquet")
    refused(dataset, words)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("sex", np.int16(7), "sex"),
        ("age", np.int8(4), "age"),
        ("origin_index", np.int32(2**30), "origin_index"),
    ],
)
def test_impossible_values_of_workers_in_a_file_that_has_its_digest(
    dataset: Path, column: str, value: np.integer, words: str
) -> None:
    rewrite_table(dataset, "workers", lambda rows: rows.assign(**{column: value}))
    refused(dataset, words)


def test_workplaces_outside_the_states_that_are_covered(dataset: Path) -> None:
    manifest = json.loads((dataset / "manifest.json").read_text())
    states = manifest["destination_states"]
    (dataset / "manifest.json").write_text(json.dumps(manifest | {"destination_states": states[:1]}))
    refused(dataset, "outside the states")


def test_a_disk_without_room(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage(NamedTuple):
        free: int

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(free=10**5))
    refused(dataset, r"3,000 records need up to [\d,]+ MB .* and 0 MB are free")


def test_a_place_that_cannot_be_written(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place, words in (("file", "already exists"), ("file/r", "file")):
        with pytest.raises(GeodataError, match=words):
            make_records(dataset, tmp_path / place, Choice())
    with pytest.raises(GeodataError, match="lies within a dataset"):
        make_records(dataset, dataset / "r", Choice())
    assert not (dataset / "ledger.jsonl").exists()


def test_a_structure_whose_noisy_number_of_records_might_leave_none(dataset: Path) -> None:
    choice = Choice(structure="learned", anyway=True, epsilon=Fraction(1, 2))
    refused(dataset, r"at epsilon 0\.5, at least 2,\d\d\d are needed", choice)
