"""Records of a setting beside others: distances and lost commutes against plain counts, and flows against a release."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas
import pytest

from engine.parameters import PrivacyParameters, SynthesisParameters
from geodata.store.store import open_store
from geodata.workers.schema import WorkerSchema
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.kinds.records.make.attributes import attributes_over
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.plan import Plan
from mapapp.kinds.records.make.workers import read_codes
from mapapp.kinds.records.measure.compared import VARIANTS, ComparedRecords, compare_records
from mapapp.kinds.records.measure.drawn import (
    DrawnFlows,
    DrawnVariants,
    draw_flows,
    draw_variants,
    seedless_choice,
)
from mapapp.kinds.records.measure.workers import RecordWorkers

PRIVACY = PrivacyParameters(epsilon="4.6", delta="1e-6", min_retention="0.025")


def silent(*_: object) -> None:
    """Report nothing."""


@pytest.fixture(scope="module")
def workers(demo_dataset: Path) -> RecordWorkers:
    return RecordWorkers(open_store(demo_dataset, "dataset", verify=False))


@pytest.fixture(scope="module")
def plan(workers: RecordWorkers) -> Plan:
    return workers.plan(Choice(kept=workers.attributes.names[:2], min_seeds=100))


@pytest.fixture(scope="module")
def variants(workers: RecordWorkers, plan: Plan) -> DrawnVariants:
    return draw_variants(workers, plan, threads=1, report=silent)


@pytest.fixture(scope="module")
def flows(demo_dataset: Path) -> DrawnFlows:
    data = AnalystData(open_store(demo_dataset, "dataset", verify=False))
    return draw_flows(data, PRIVACY, SynthesisParameters(prior="flows"), silent)


@pytest.fixture(scope="module")
def found(workers: RecordWorkers, plan: Plan, variants: DrawnVariants, flows: DrawnFlows) -> ComparedRecords:
    return compare_records(workers, plan, variants, flows)


def frame(workers: RecordWorkers, codes: npt.NDArray[np.int32]) -> pandas.DataFrame:
    return pandas.DataFrame(codes, columns=list(workers.attributes.names))


def distance(real: pandas.DataFrame, drawn: pandas.DataFrame, names: list[str]) -> float:
    one, other = (rows.groupby(names).size() / len(rows) for rows in (real, drawn))
    return float(one.sub(other, fill_value=0.0).abs().sum() / 2)


def test_every_variant_has_its_distances(
    workers: RecordWorkers, variants: DrawnVariants, found: ComparedRecords
) -> None:
    assert variants.seeded is not None
    real = frame(workers, workers.codes)
    codes = {
        "seeded": variants.seeded.codes,
        "passed": variants.seeded.passed,
        "seedless": variants.seedless,
        "marginals": variants.marginals,
    }
    assert [name for name in VARIANTS if name in found.margins] == list(VARIANTS)
    wide = found.margins.set_index("attributes").loc["work_puma x home_puma"]
    tables = found.tables.set_index(["variant", "attributes"])["distance"]
    for name, drawn in codes.items():
        rows = frame(workers, drawn)
        assert wide[name] == pytest.approx(distance(real, rows, ["work_puma", "home_puma"]), abs=1e-12)
        three = list(workers.attributes.names[:3])
        assert tables[name, " x ".join(three)] == pytest.approx(distance(real, rows, three), abs=1e-12)
    assert 0 < wide["resample"] < wide["seedless"] < wide["marginals"]


def test_all_tables_of_one_to_three_attributes_are_there_and_flows_lack_some(
    workers: RecordWorkers, found: ComparedRecords
) -> None:
    n = [len(list(combinations(workers.attributes.names, size))) for size in (1, 2, 3)]
    counts = found.tables.groupby(["variant", "n_attributes"]).size()
    for name in ("seeded", "passed", "seedless", "marginals", "resample"):
        assert [int(counts.loc[name, size]) for size in (1, 2, 3)] == n
    assert "flows" not in counts  # the demo's workers have sex, education, and more
    assert found.margins["flows"].notna().all()


def test_flows_are_a_release_with_the_test_key(
    demo_dataset: Path, demo_release: Path, flows: DrawnFlows
) -> None:
    data = AnalystData(open_store(demo_dataset, "dataset", verify=False))
    assert [each.name for each in flows.attributes] == [
        "work_puma", "home_puma", "industry", "earnings", "age", "work_tract", "distance_band",
    ]  # fmt: skip
    released = data.store.replace_table(
        "jobs", open_store(demo_release, "release", verify=False).table("jobs")
    )
    attributes = attributes_over(data.store, WorkerSchema())
    rows = np.concatenate(list(read_codes(released, attributes, table="jobs")))
    for one, other in ((rows, flows.drawn), (rows[:, [0, 2, 3, 4]], flows.real[:, [0, 2, 3, 4]])):
        assert sorted(map(tuple, one.tolist())) == sorted(map(tuple, other.tolist()))


def test_lost_commutes_are_plain_counts(
    workers: RecordWorkers, plan: Plan, variants: DrawnVariants, found: ComparedRecords
) -> None:
    assert variants.seeded is not None
    assert plan.seeds is not None
    assert found.lost is not None
    real, passed, whole = (
        frame(workers, codes) for codes in (workers.codes, variants.seeded.passed, variants.seeded.codes)
    )
    sides = {"passed": (passed, plan.seeds.n_tries), "topped_up": (whole, len(whole))}
    bands = found.lost[found.lost["by"] == "band"].reset_index(drop=True)
    for column, (rows, n) in sides.items():
        for at, band in enumerate(sorted(real["distance_band"].unique())):
            share = (real["distance_band"] == band).mean()
            assert bands.loc[at, "share"] == pytest.approx(share)
            shown = (rows["distance_band"] == band).sum() / n
            assert bands.loc[at, column] == pytest.approx(1 - shown / share)
        pair = ["work_puma", "home_puma"]
        own, shown = real.groupby(pair).size() / len(real), rows.groupby(pair).size() / n
        short = own.sub(shown.reindex(own.index, fill_value=0.0)).clip(lower=0).sum()
        of_side = found.lost.set_index("name")[column]
        assert of_side["short"] == pytest.approx(short)
        assert of_side["absent"] == pytest.approx(own[~own.index.isin(shown.index)].sum())
    lost = found.lost.set_index("name")
    assert 0 < lost["topped_up"]["short"] < lost["passed"]["short"]


def test_without_seeds_nothing_is_lost_or_topped_up(workers: RecordWorkers, flows: DrawnFlows) -> None:
    seedless = workers.plan(Choice(epsilon=Fraction(2)))
    drawn = draw_variants(workers, seedless, threads=1, report=silent)
    found = compare_records(workers, seedless, drawn, flows)
    assert (found.n_passed, found.lost, list(found.squares)) == (0, None, ["seedless"])
    assert "seeded" not in found.margins


def test_what_is_compared_promises_the_same(workers: RecordWorkers, plan: Plan) -> None:
    other = workers.plan(seedless_choice(plan))
    assert other.add_remove.epsilon == plan.add_remove.epsilon
    assert (other.kept, other.choice.structure) == (0, "public")


def test_a_comparison_reports_its_progress_and_what_that_raises_ends_it(
    workers: RecordWorkers, plan: Plan, variants: DrawnVariants, flows: DrawnFlows
) -> None:
    said: list[tuple[int, int]] = []

    def stop_late(_stage: str, done: int, total: int) -> None:
        said.append((done, total))
        if 2 * done > total:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        compare_records(workers, plan, variants, flows, report=stop_late)
    assert [done for done, _ in said] == sorted(done for done, _ in said)
    with pytest.raises(InterruptedError):
        draw_variants(workers, plan, threads=1, report=lambda *_: stop_late("", 3, 4))
