"""Segments from margins of workplaces: no home of the source changes a published number of workers."""

from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas
import pytest

from engine.parameters import PrivacyParameters, SynthesisParameters, Unit
from geodata.importing.importing import import_dataset, write_dataset
from geodata.sources.recognize import sources_in
from geodata.sources.segments import joint_counts
from geodata.store.schema import JOBS
from geodata.store.store import Store, open_store
from mapapp.analyst.validity.validity import AnalystData, measure_release
from mapapp.kinds.base.certificate import BLOCK_MARGINS_CAVEAT, MARGINS_CAVEAT
from mapapp.kinds.base.inputs import segment_of
from mapapp.kinds.release.certificate.recheck import check_release
from mapapp.kinds.release.make import marginal_segments
from mapapp.kinds.release.make.marginal_segments import (
    add_joint_segments,
    assigns_from_margins,
    has_marginal_segments,
)
from mapapp.kinds.release.make.run import run_synthesis
from tests.geodata import samples

PRIVACY = PrivacyParameters(epsilon="6.5", delta="1e-6")
Kinds = tuple[int, int, int]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("lodes")
    found = samples.write_sources(folder / "sources")
    write_dataset(folder / "d", import_dataset(sources_in(found)[0]))
    return open_store(folder / "d", "dataset")


def setting(unit: Unit) -> SynthesisParameters:
    return SynthesisParameters(mechanism="exponential", unit=unit, prior="gravity")


def counts_of(jobs: pandas.DataFrame) -> npt.NDArray[np.int64]:
    """Workers by workplace and joint segment."""
    key = jobs["destination_index"].to_numpy(np.int64) * 27 + segment_of(jobs)
    return np.bincount(key, jobs["count"], 27 * 100).astype(np.int64)


def assigned_jobs(workers: list[tuple[int, Kinds]]) -> pandas.DataFrame:
    """The table that an import makes of a source: the margins of each home, with segments assigned."""
    rows = []
    for home in sorted({home for home, _ in workers}):
        margins = np.zeros((3, 1, 3), dtype=np.int64)
        for _, kinds in (each for each in workers if each[0] == home):
            for kind, band in enumerate(kinds):
                margins[kind, 0, band] += 1
        joint = joint_counts(margins[0], margins[1], margins[2], np.array([home]))[0]
        rows += [
            (0, home, *(band + 1 for band in place), joint[tuple(place)]) for place in np.argwhere(joint)
        ]
    return pandas.DataFrame(rows, columns=[*JOBS.columns]).astype(JOBS.columns)


def test_no_home_changes_a_number(dataset: Store) -> None:
    """All sources of four workers with two homes, and all that differ in one home."""
    kinds: list[Kinds] = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
    by_source, by_margins = set(), set()
    for homes in product((1, 2), repeat=4):
        jobs = assigned_jobs(list(zip(homes, kinds, strict=True)))
        store = dataset.replace_table("jobs", jobs)
        by_source.add(counts_of(jobs).tobytes())
        rows = add_joint_segments(store).table("jobs")
        by_margins.add(counts_of(rows).tobytes())
        for name in ("age", "earnings", "industry"):
            assert rows.groupby(name)["count"].sum().equals(jobs.groupby(name)["count"].sum())
        homes_before, homes_after = (each.groupby("origin_index")["count"].sum() for each in (jobs, rows))
        assert homes_before.equals(homes_after)
    assert len(by_source) > 1, "this source would hide the fault"
    assert len(by_margins) == 1


def test_the_numbers_are_a_function_of_themselves(dataset: Store) -> None:
    once = add_joint_segments(dataset)
    assert has_marginal_segments(once)
    assert add_joint_segments(once).table("jobs").equals(once.table("jobs"))


def test_only_larger_units_of_sources_without_joint_segments(dataset: Store, demo_dataset: Path) -> None:
    assert assigns_from_margins(dataset, ("block",))
    assert assigns_from_margins(dataset, ("cell", "tract"))
    assert not assigns_from_margins(dataset, ("cell",))
    assert not assigns_from_margins(open_store(demo_dataset, "dataset"), ("block", "tract"))


@pytest.mark.parametrize("unit", ["block", "tract"])
def test_a_release_of_a_larger_unit(dataset: Store, unit: Unit, tmp_path: Path) -> None:
    run_synthesis(dataset.path, tmp_path / "r", PRIVACY, setting(unit), test_key=True)
    release = open_store(tmp_path / "r", "release")
    assert [check.check for check in check_release(release.path) if not check.ok] == []
    caveats = release.document("certificate.json")["caveats"]
    assert BLOCK_MARGINS_CAVEAT in caveats
    assert MARGINS_CAVEAT not in caveats
    wanted = counts_of(add_joint_segments(dataset).table("jobs"))
    assert (counts_of(release.table("jobs")) == wanted).all()
    data = AnalystData(dataset)
    found = measure_release(data, release.path)
    assert found.facts["release"]["is_of_these_counts"]
    assert found.facts["scope"]["workers"] == dataset.manifest["n_jobs"]


def test_a_release_by_cell_keeps_the_numbers_of_the_source(dataset: Store, tmp_path: Path) -> None:
    run_synthesis(dataset.path, tmp_path / "r", PRIVACY, setting("cell"), test_key=True)
    release = open_store(tmp_path / "r", "release")
    assert MARGINS_CAVEAT in release.document("certificate.json")["caveats"]
    assert (counts_of(release.table("jobs")) == counts_of(dataset.table("jobs"))).all()


def test_numbers_that_are_not_from_margins_fail(
    dataset: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = assigned_jobs([(1, (0, 0, 0)), (2, (1, 1, 1))])
    mixed = assigned_jobs([(1, (0, 1, 0)), (2, (1, 0, 1))])
    assert has_marginal_segments(dataset.replace_table("jobs", jobs)) != has_marginal_segments(
        dataset.replace_table("jobs", mixed)
    )
    monkeypatch.setattr("mapapp.kinds.release.make.run.assigns_from_margins", lambda *_: False)
    monkeypatch.setattr(marginal_segments, "joint_counts", _most_unlike)
    run_synthesis(dataset.path, tmp_path / "r", PRIVACY, setting("block"), test_key=True)
    assert "segments" in [check.check for check in check_release(tmp_path / "r") if not check.ok]


def _most_unlike(
    age: npt.NDArray[np.int64],
    earnings: npt.NDArray[np.int64],
    industry: npt.NDArray[np.int64],
    turn: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Another rule: bands in reverse order."""
    reversed_bands = joint_counts(age[:, ::-1], earnings, industry, turn)
    return np.asarray(reversed_bands[:, ::-1])
