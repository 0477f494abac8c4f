"""The sorted copies beside a release: made once, vouched for, made again when they do not hold."""

from __future__ import annotations

from pathlib import Path

import numpy
import pandas
import pytest

from geodata.store import Store, open_store
from mapapp.queries.prepared import NO_OCTANT, octant, prepare
from tests.releases import write_release

COLUMNS = ["work", "home", "segment", "workers", "distance_mi", "octant_work", "octant_home"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return open_store(write_release(tmp_path_factory.mktemp("made") / "squareland.release"), "release")


def test_both_copies_hold_the_jobs_sorted(store: Store, tmp_path: Path) -> None:
    prepared = prepare(store, home=tmp_path)
    by_work, by_home = (pandas.read_parquet(file) for file in (prepared.by_work, prepared.by_home))
    assert list(by_work.columns) == list(by_home.columns) == COLUMNS
    jobs = store.table("jobs")
    assert by_work["work"].tolist() == jobs["destination_index"].tolist()
    assert by_work["workers"].sum() == jobs["count"].sum()
    assert by_home["home"].is_monotonic_increasing
    keys = ["work", "home", "segment"]
    pandas.testing.assert_frame_equal(
        by_work.sort_values(keys, ignore_index=True), by_home.sort_values(keys, ignore_index=True)
    )
    assert (by_work.loc[by_work["work"] == by_work["home"], "distance_mi"] == 0).all()


def test_they_are_made_once_and_again_when_altered(store: Store, tmp_path: Path) -> None:
    stages: list[str] = []

    def report(stage: str, _done: int, _total: int) -> None:
        stages.append(stage)

    prepared = prepare(store, home=tmp_path, report=report)
    whole = prepared.by_home.read_bytes()
    assert prepare(store, home=tmp_path, report=report) == prepared
    assert len(stages) == 1
    for damage in (whole[:-1], b"", whole[:100] + b"x" + whole[101:]):
        prepared.by_home.write_bytes(damage)
        prepare(store, home=tmp_path, report=report)
        assert prepared.by_home.read_bytes() == whole
    (prepared.by_home.parent / "prepared.json").write_text("[]")
    prepare(store, home=tmp_path)
    prepared.by_work.unlink()
    prepare(store, home=tmp_path)
    assert prepared.by_work.exists()
    assert [entry.name for entry in (tmp_path / "prepared").iterdir()] == [prepared.by_work.parent.name]


def test_other_releases_have_other_copies(store: Store, tmp_path: Path) -> None:
    other = open_store(write_release(tmp_path / "other.release", seed=8), "release")
    assert prepare(store, home=tmp_path) != prepare(other, home=tmp_path)


def test_nothing_is_written_into_the_release(store: Store, tmp_path: Path) -> None:
    before = sorted(entry.name for entry in store.path.iterdir())
    prepare(store, home=tmp_path)
    assert sorted(entry.name for entry in store.path.iterdir()) == before


def test_octants_are_centred_on_their_direction() -> None:
    bearing = numpy.array([0.0, 22.4, 22.6, 90.0, 180.0, 270.0, 337.4, 337.6, 359.999, numpy.nan])
    assert octant(bearing).tolist() == [0, 0, 1, 2, 4, 6, 7, 0, 0, NO_OCTANT]
