"""Audits of the demo: what must not matter, what must hold, and the alarm."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from engine.audit.coded_tables import Predictions
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters
from mapapp.analyst.audit.attackers import InformedPart, SpreadPart, spread_row
from mapapp.analyst.audit.audited import Audited, Blocks, audited_release, audited_setting
from mapapp.analyst.audit.questions import QUESTIONS
from mapapp.analyst.audit.result import ReleaseFacts
from mapapp.analyst.audit.run import AuditedWorkers, audited_workers, join_audits
from mapapp.analyst.audit.words import audit_lines
from mapapp.analyst.validity import confidential_parts, tract_workers
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.analyst.validity.tract_workers import TractWorkers
from mapapp.kinds.base.inputs import Inputs, read_inputs
from mapapp.kinds.release.make.certified_weights import CertifiedClasses
from mapapp.kinds.release.make.support import Support


@pytest.fixture(scope="module")
def data(demo_dataset: Path) -> AnalystData:
    return AnalystData.open(demo_dataset)


@pytest.fixture(scope="module")
def release(data: AnalystData, demo_release: Path) -> Audited:
    return audited_release(data, demo_release)


@pytest.fixture(scope="module")
def found(data: AnalystData, release: Audited) -> AuditedWorkers:
    return audited_workers(data, release, QUESTIONS)


def accuracy(found: AuditedWorkers, target: str, attacker: str, n: str = "all") -> float:
    table = found.tables["attackers"].set_index(["target", "attacker", "n"])["accuracy"]
    return float(table[target, attacker, n])


def test_lookup_is_the_most_frequent_synthetic_home_of_the_block_and_segment(
    found: AuditedWorkers, demo_dataset: Path, demo_release: Path
) -> None:
    """Of workers alone in their block and segment, the home tract is that of the only synthetic worker there."""
    tracts = pandas.read_parquet(demo_dataset / "blocks.parquet")["tract_index"].to_numpy()
    cell = ["destination_index", "age", "earnings", "industry"]
    lone = []
    for store in (demo_dataset, demo_release):
        jobs = pandas.read_parquet(store / "jobs.parquet")
        alone = jobs[jobs.groupby(cell)["count"].transform("sum") == 1]
        lone.append(
            pandas.Series(tracts[alone["origin_index"]], index=pandas.MultiIndex.from_frame(alone[cell]))
        )
    real, drawn = lone
    assert accuracy(found, "home tract", "lookup", "1") == pytest.approx(
        (drawn.reindex(real.index) == real).mean()
    )


def test_memorizing_is_the_ceiling_and_lone_workers_are_then_all_known(found: AuditedWorkers) -> None:
    for target in ("home point", "home tract", "home county", "earnings", "industry"):
        assert accuracy(found, target, "memorised") >= accuracy(found, target, "lookup")
        assert accuracy(found, target, "memorised") >= accuracy(found, target, "public_prior")
    assert accuracy(found, "home tract", "memorised", "1") == 1.0
    assert accuracy(found, "home point", "informed") >= accuracy(found, "home point", "lookup_without_victim")


def test_lone_workers_keep_their_home_area_as_often_as_the_closed_form_says(
    data: AnalystData, found: AuditedWorkers
) -> None:
    """Within 4 standard errors: a false alarm in 16,000, and with the published key always the same numbers."""
    settings: dict[Mechanism, PrivacyParameters] = {
        "dirichlet-multinomial": PrivacyParameters(
            epsilon="8.98", delta="1e-6", min_retention="0.025", accountant="sound"
        ),
        "exponential": PrivacyParameters(epsilon=Fraction(4), delta="1e-6"),
    }
    for mechanism, privacy in settings.items():
        setting = audited_setting(data, mechanism, privacy, SynthesisParameters(mechanism=mechanism))
        drawn = audited_workers(data, setting, ["home"])
        (lone,) = drawn.tables["lone_workers"].to_dict("records")
        assert lone["workers"] > 100
        assert abs(lone["found"] - lone["expected"]) < 4 * lone["standard_error"]
        (spread,) = drawn.tables["spread"].to_dict("records")
        assert 0 < spread["largest"] <= float(privacy.epsilon) + 1e-9
        assert not spread["is_broken"]


def test_the_order_of_homes_within_a_block_and_segment_changes_nothing(
    data: AnalystData, release: Audited, found: AuditedWorkers
) -> None:
    rng = np.random.default_rng(1)

    def shuffled(panel: TractWorkers, support: Support, certified: CertifiedClasses) -> Blocks:
        homes = release._homes(panel, support, certified).copy()
        for begin, end in zip(panel.inputs.worker_ptr, panel.inputs.worker_ptr[1:], strict=False):
            rng.shuffle(homes[begin:end])
        return homes

    again = audited_workers(data, replace(release, _homes=shuffled), QUESTIONS)
    for name, table in found.tables.items():
        pandas.testing.assert_frame_equal(again.tables[name], table)


def test_a_release_that_breaks_its_promise_raises_the_alarm(data: AnalystData, release: Audited) -> None:
    broken = join_audits(data, [audited_workers(data, replace(release, epsilon_final=1.0), ["home"])])
    assert broken.is_broken
    assert "PROMISE BROKEN" in "\n".join(audit_lines(broken))
    kept = join_audits(data, [audited_workers(data, release, ["home"])])
    assert not kept.is_broken
    assert "no likelihood ratio breaks the promise" in "\n".join(audit_lines(kept))


def test_a_release_of_the_true_homes_raises_the_alarm(data: AnalystData) -> None:
    """Its likelihood ratios are within epsilon, as those of any table are; its lone workers give it away."""
    privacy = PrivacyParameters(epsilon=Fraction(4), delta="1e-6")
    setting = audited_setting(
        data, "leak", privacy, SynthesisParameters(mechanism="exponential", clean=False)
    )
    honest = join_audits(data, [audited_workers(data, setting, ["home"])])
    assert not honest.is_broken

    def true_homes(panel: TractWorkers, support: Support, certified: CertifiedClasses) -> Blocks:
        return panel.inputs.worker_origin

    leak = join_audits(data, [audited_workers(data, replace(setting, _homes=true_homes), ["home"])])
    assert leak.tables["lone_workers"]["is_off"].all()
    assert not leak.tables["spread"]["is_broken"].any()
    assert leak.is_broken
    assert "NOT DRAWN BY ITS LAW" in "\n".join(audit_lines(leak))


def test_a_spread_that_is_no_number_raises_the_alarm() -> None:
    found = Predictions(np.zeros(2, np.int64), np.ones(2))
    part = InformedPart(found, found, np.array([1.0, np.nan]), np.array([True, True]), 2.0)
    facts: ReleaseFacts = {
        "name": "one",
        "is_release": True,
        "mechanism": "exponential",
        "unit": "cell",
        "compared_by": "block and segment",
        "epsilon_final": 2.0,
        "delta": 0.0,
        "left_out": [],
    }
    assert spread_row(facts, [SpreadPart.of(part)])["is_broken"]
    untested = spread_row(facts, [SpreadPart.of(part._replace(is_exact=np.zeros(2, np.bool_)))])
    assert (untested["untested"], untested["is_broken"]) == (2, None)


def test_units_without_a_closed_form_say_which_attackers_are_left_out(data: AnalystData) -> None:
    privacy = PrivacyParameters(epsilon=Fraction(4), delta="1e-6")
    parameters = SynthesisParameters(mechanism="exponential", unit="block")
    audit = join_audits(
        data, [audited_workers(data, audited_setting(data, "one", privacy, parameters), ["home"])]
    )
    assert "for units of a block" in "\n".join(audit_lines(audit))
    assert audit.accuracy("one", "home point", "informed") is None
    assert not audit.is_broken
    (spread,) = audit.tables["spread"].to_dict("records")
    assert spread["pairs"] == 0
    assert spread["is_broken"] is None


def test_spreads_above_the_promise_are_counted_over_all_parts() -> None:
    """A part promises at most what the whole does, and may have spreads above its own promise that the whole allows."""
    spreads, exact = [[0.5, 1.5, 2.5], [0.1, 0.2, 9.0]], [[True, True, True], [True, True, False]]
    nothing = Predictions(np.zeros(0, np.int64), np.zeros(0))
    parts = [
        SpreadPart.of(InformedPart(nothing, nothing, np.array(spread), np.array(is_exact), promised))
        for spread, is_exact, promised in zip(spreads, exact, (1.0, 2.0), strict=True)
    ]
    facts: ReleaseFacts = {
        "name": "one",
        "is_release": False,
        "mechanism": "dirichlet-multinomial",
        "unit": "cell",
        "compared_by": "block and segment",
        "epsilon_final": 2.0,
        "delta": 0.0,
        "left_out": [],
    }
    row = spread_row(facts, parts)
    assert [row[name] for name in ("pairs", "untested", "largest", "exceeding")] == [5, 1, 2.5, 1]


def test_an_audit_in_many_parts_finds_the_same_and_keeps_nobody(
    demo_dataset: Path, demo_release: Path, found: AuditedWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confidential_parts, "_PAIRS_OF_PART", 1_000)
    monkeypatch.setattr(confidential_parts, "_KEPT_PAIRS", 0)
    read: list[int] = []

    def counted(*arguments: Any) -> Inputs:
        read.append(arguments[3])
        return read_inputs(*arguments)

    monkeypatch.setattr(tract_workers, "read_inputs", counted)
    data = AnalystData.open(demo_dataset)
    stages: list[tuple[str, int, int]] = []
    again = audited_workers(
        data,
        audited_release(data, demo_release),
        QUESTIONS,
        report=lambda *stage: stages.append(stage),
    )
    assert stages == sorted(stages)
    assert stages[-1][1] == stages[-1][2]
    n_parts = stages[-1][2] // 2
    assert n_parts > data.workplaces.n_batches
    assert len(read) == 3 * data.workplaces.n_batches  # real workers twice, released ones once
    assert again.records is None
    assert (again.n_workers, again.n_lone) == (found.n_workers, found.n_lone)
    for name, table in found.tables.items():
        whole, parts = (settled_by_all(one) for one in (table, again.tables[name]))
        assert len(whole)
        pandas.testing.assert_frame_equal(parts, whole)


def settled_by_all(table: pandas.DataFrame) -> pandas.DataFrame:
    """Rows in which ties between bands are not settled by which band is more frequent in the same part."""
    if "target" not in table:
        return table
    chosen = table["target"].str.startswith("home")
    if "naive_bayes" in set(table["attacker"]):
        chosen |= table["attacker"].isin(("majority", "naive_bayes"))
    return table[chosen].reset_index(drop=True)


def test_all_workers_are_kept_if_asked_for(data: AnalystData, release: Audited, demo_dataset: Path) -> None:
    kept = audited_workers(data, release, ["earnings"], keeps_records=True)
    jobs = pandas.read_parquet(demo_dataset / "jobs.parquet")
    assert kept.records is not None
    homes = np.repeat(jobs["origin_index"], jobs["count"])
    assert np.array_equal(np.sort(kept.records.home_block), np.sort(homes))
    assert kept.n_lone == (kept.records.n == 1).sum()
    assert kept.n_workers == kept.records.n.size


def test_cancelling_stops_before_the_next_part(data: AnalystData, release: Audited) -> None:
    class Cancelled(Exception):
        pass

    def cancel(stage: str, done: int, total: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        audited_workers(data, release, ["home"], report=cancel)
