"""Audits of whole blocks and tracts from a source without joint segments: by block and margin, never by joint cell."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from engine.parameters import PrivacyParameters, SynthesisParameters, Unit
from geodata.importing.importing import import_dataset, write_dataset
from geodata.sources.recognize import sources_in
from geodata.store.schema import JOBS, TABLES
from geodata.store.store import Store, open_store, write_store
from mapapp.analyst.audit.audited import audited_release, audited_setting
from mapapp.analyst.audit.comparison import comparison_tables
from mapapp.analyst.audit.margins import NOT_COMPARED, merge_part_by_margin
from mapapp.analyst.audit.questions import QUESTIONS, TARGETS_OF, Areas, Target, ask
from mapapp.analyst.audit.run import AuditedWorkers, audited_workers, join_audits
from mapapp.analyst.audit.schemes import read_schemes
from mapapp.analyst.sweep import sweep
from mapapp.analyst.sweep import sweep as sweep_draws
from mapapp.analyst.validity import tract as validity_tract
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.kinds.release.choose.public_part import read_public_part
from mapapp.kinds.release.choose.setting_choice import Choice
from mapapp.kinds.release.make.marginal_segments import add_joint_segments
from mapapp.kinds.release.make.run import run_synthesis
from tests.analyst.audit.test_questions import require_lookups
from tests.commands.running import run_here
from tests.geodata import samples
from tests.kinds.test_marginal_segments import counts_of

PRIVACY = PrivacyParameters(epsilon="6.5", delta="1e-6")
TARGETS: list[Target] = [target for question in QUESTIONS for target in TARGETS_OF[question]]
UNITS: tuple[Unit, Unit] = ("block", "tract")
Bands = tuple[int, int, int]
FIRST: tuple[Bands, ...] = ((1, 1, 1), (1, 2, 3), (2, 3, 1))
SECOND: tuple[Bands, ...] = ((1, 3, 2), (3, 1, 1))


def setting(unit: Unit) -> SynthesisParameters:
    return SynthesisParameters(mechanism="exponential", unit=unit, prior="gravity")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("lodes")
    found = samples.write_sources(folder / "sources")
    write_dataset(folder / "d", import_dataset(sources_in(found)[0]))
    return open_store(folder / "d", "dataset")


@pytest.fixture(scope="module")
def releases(dataset: Store) -> dict[Unit, Path]:
    made: dict[Unit, Path] = {unit: dataset.path.parent / unit for unit in UNITS}
    for unit, path in made.items():
        run_synthesis(dataset.path, path, PRIVACY, setting(unit), test_key=True)
    return made


def audited(data: AnalystData, path: Path) -> AuditedWorkers:
    return audited_workers(data, audited_release(data, path), QUESTIONS)


def of_workers(work: int, workers: list[tuple[int, Bands]]) -> pandas.DataFrame:
    """A table of jobs of one workplace: homes with bands of age, earnings, and industry."""
    rows = [(work, home, *bands, count) for (home, bands), count in sorted(Counter(workers).items())]
    return pandas.DataFrame(rows, columns=[*JOBS.columns]).astype(JOBS.columns)


def assignments(dataset: Store) -> list[pandas.DataFrame]:
    """All ways to join the bands of the workers of each of two homes: what an import could have assigned."""

    jobs = dataset.table("jobs")
    work, (one, other) = int(jobs["destination_index"][0]), jobs["origin_index"].unique()[:2].tolist()

    def joined_bands(workers: tuple[Bands, ...]) -> set[tuple[Bands, ...]]:
        age, earnings, industry = zip(*workers, strict=True)
        ways = product(permutations(earnings), permutations(industry))
        return {tuple(sorted(zip(age, second, third, strict=True))) for second, third in ways}

    return [
        of_workers(work, [(one, bands) for bands in first] + [(other, bands) for bands in second])
        for first, second in product(joined_bands(FIRST), joined_bands(SECOND))
    ]


@pytest.mark.parametrize("unit", UNITS)
def test_no_assignment_of_joint_segments_changes_an_audit(dataset: Store, unit: Unit, tmp_path: Path) -> None:
    copied, tables = tmp_path / "d", assignments(dataset)
    write_with_jobs(dataset, copied, tables[0])
    run_synthesis(copied, tmp_path / "r", PRIVACY, setting(unit), test_key=True)
    drawn = counts_of(open_store(tmp_path / "r", "release").table("jobs"))
    assert len({counts_of(jobs).tobytes() for jobs in tables} - {drawn.tobytes()}) > 10
    first: AuditedWorkers | None = None
    for number, jobs in enumerate(tables if unit == "block" else tables[::4]):
        write_with_jobs(dataset, tmp_path / f"d{number}" / "d", jobs)
        found = audited(AnalystData.open(tmp_path / f"d{number}" / "d"), tmp_path / "r")
        first = first or found
        assert found.facts == first.facts
        for name, table in found.tables.items():
            pandas.testing.assert_frame_equal(table, first.tables[name])


def write_with_jobs(dataset: Store, path: Path, jobs: pandas.DataFrame) -> None:
    facts = {k: v for k, v in dataset.manifest.items() if k not in ("schema_version", "kind", "files")}
    path.parent.mkdir(exist_ok=True)
    with write_store(path, "dataset") as writer:
        for table in TABLES["dataset"]:
            if table.name == "jobs":
                writer.table("jobs", jobs)
            else:
                writer.copy_table(dataset, table.name)
        writer.facts(**facts)


def test_the_two_numbers_of_workers_differ(dataset: Store) -> None:
    marginal = add_joint_segments(dataset)
    assert (counts_of(dataset.table("jobs")) != counts_of(marginal.table("jobs"))).any()


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("target", TARGETS)
def test_workers_are_those_of_the_tables_by_block_and_margin(
    dataset: Store, releases: dict[Unit, Path], unit: Unit, target: Target
) -> None:
    band = [target] if target in ("earnings", "industry") else []
    data = AnalystData(dataset)
    release = audited_release(data, releases[unit])
    of_table = {
        name: jobs.groupby(["destination_index", "origin_index", *band])["count"].sum().to_dict()
        for name, jobs in (
            ("real", dataset.table("jobs")),
            ("drawn", open_store(releases[unit], "release").table("jobs")),
        )
    }
    counted: dict[str, Counter[Any]] = {"real": Counter(), "drawn": Counter()}
    areas = Areas.read(data.store, data.geography)
    for panel in data.workers():
        part = merge_part_by_margin(release.part(panel), target)
        inputs, tract_of_block = part.panel.inputs, data.geography.tract_of_block.astype(np.int64)
        place = np.repeat(inputs.destination, inputs.count)
        segment = np.repeat(inputs.segment, inputs.count)
        step = {"earnings": 3, "industry": 1}.get(target)
        bands = [] if step is None else [(segment // step % 3 + 1).tolist()]
        assert (part.panel.home_tract == tract_of_block[inputs.worker_origin]).all()
        for name, home in (("real", inputs.worker_origin), ("drawn", part.home_block)):
            counted[name].update(zip(place.tolist(), home.tolist(), *bands, strict=True))
        asked = ask(target, part, data.geography, areas)
        if step is not None:
            homes = [
                place * tract_of_block.size + tract_of_block[each]
                for each in (inputs.worker_origin, part.home_block)
            ]
            require_lookups(asked, [homes[0], place], [homes[1], place])
        else:
            tract = np.repeat(inputs.tract, inputs.count).astype(np.int64)
            require_lookups(asked, [place, tract], [place, tract])
    assert counted == of_table


@pytest.mark.parametrize("unit", UNITS)
def test_a_setting_is_drawn_with_the_numbers_of_its_release(
    dataset: Store, releases: dict[Unit, Path], unit: Unit
) -> None:
    data = AnalystData(dataset)
    one = audited_setting(data, unit, PRIVACY, setting(unit))
    wanted = counts_of(add_joint_segments(dataset).table("jobs"))
    found = np.zeros_like(wanted)
    for panel in data.workers():
        drawn = one.part(panel).drawn
        np.add.at(found, drawn.destination * 27 + drawn.segment, drawn.count)
    assert (found == wanted).all()
    of_setting, of_release = audited_workers(data, one, QUESTIONS), audited(data, releases[unit])
    for name in ("attackers", "confidence", "calibration", "leakage", "lone_workers"):
        pandas.testing.assert_frame_equal(of_setting.tables[name], of_release.tables[name])


def test_sweeps_and_tune_have_the_numbers_that_would_be_drawn(
    dataset: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, list[int]] = {}

    def spied(module: Any, name: str) -> None:
        real = getattr(module, name)

        def spy(*given: Any, **how: Any) -> Any:
            inputs = next(each for each in given if hasattr(each, "worker_origin"))
            seen[module.__name__] = sorted(inputs.count)
            return real(*given, **how)

        monkeypatch.setattr(module, name, spy)

    spied(sweep_draws, "draw_workers")
    spied(validity_tract, "certify_weights")
    data = AnalystData(dataset)
    sweep_draws.drawn_measures(data, PRIVACY, setting("block"), 1)
    (panel,) = data.panels()
    (drawn,) = data.select_drawn_data(setting("block")).panels()
    assert sorted(panel.inputs.count) != sorted(drawn.inputs.count)
    assert seen[sweep_draws.__name__] == sorted(drawn.inputs.count)
    for position in range(data.tract.size):
        validity_tract.measure_tract(data, PRIVACY, setting("block"), position)
        (panel,) = data.select_drawn_data(setting("block")).panels(np.array([position]))
        assert seen[validity_tract.__name__] == sorted(panel.inputs.count)


def test_a_sweep_chooses_a_setting_from_the_numbers_that_would_be_drawn(
    dataset: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spy(public: Any, privacy: Any, parameters: Any, choice: Choice) -> Any:
        seen.append(sorted(public.sample.count.tolist()))
        return privacy, parameters, None

    seen: list[list[int]] = []
    monkeypatch.setattr(sweep, "choose_setting", spy)
    data = AnalystData(dataset)
    settings = [
        sweep.SweptSetting(
            axis_values={"unit": unit},
            epsilon="4",
            privacy=PRIVACY,
            parameters=setting(unit),
            design=Choice(units=(unit,)),
        )
        for unit in ("cell", "block")
    ]
    list(sweep.run_sweep(data, settings))
    wanted = [read_public_part(dataset, (unit,)) for unit in ("cell", "block")]
    assert seen == [sorted(each.sample.count.tolist()) for each in wanted]
    assert seen[0] != seen[1]


def test_other_schemes_are_left_out_of_the_comparison_and_it_is_said(
    dataset: Store, releases: dict[Unit, Path]
) -> None:
    data = AnalystData(dataset)
    by_block = audited_workers(data, audited_release(data, releases["block"]), ["home"], keeps_records=True)
    assert by_block.records is None
    assert NOT_COMPARED in by_block.facts["left_out"]
    assert comparison_tables(data, [by_block], read_schemes(("k=2",)), ["home"]) == {}
    cell = audited_setting(data, "cell", PRIVACY, setting("cell"))
    by_cell = audited_workers(data, cell, ["home"], keeps_records=True)
    assert "block and segment" in by_cell.facts["compared_by"]
    assert by_cell.records is not None
    both = join_audits(data, [by_block, by_cell])
    assert "workplace block, " in both.sentences[0]


def test_the_command_audits_such_a_release_and_does_the_rest(
    releases: dict[Unit, Path], dataset: Store
) -> None:
    done = run_here("audit", dataset.path, releases["block"], "--question", "all", "--against", "k=2")
    assert done.code == 0
    assert "by the number of workers in their block and band of earnings" in done.out
    assert sum(NOT_COMPARED in line for line in done.out.splitlines()) == 1
