"""Audits of worker records: what attackers find against plain counts, games against their laws, and planted faults."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from scipy.stats import binom, chisquare

from engine.records import tables as model_tables
from engine.records.acceptance import Acceptance
from engine.records.candidates import draw_candidates
from engine.records.groups import GroupTable
from engine.records.structure import Structure
from engine.records.tables import Model
from mapapp.base.errors import UsageError
from mapapp.base.progress import silent
from mapapp.kinds.records.audit import membership
from mapapp.kinds.records.audit.attackers import hidden_attributes, linkage_row, matched_rows, row_numbers
from mapapp.kinds.records.audit.membership import (
    law_rows,
    membership_row,
    planned_games,
    play_games,
    seed_scores,
    table_scores,
)
from mapapp.kinds.records.audit.result import RecordsAudit
from mapapp.kinds.records.audit.run import audit_records
from mapapp.kinds.records.audit.words import records_audit_lines
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.plan import Plan
from mapapp.kinds.records.measure.draws import DrawnRecords, draw_key, draw_plan
from mapapp.kinds.records.measure.workers import RecordWorkers

DRAWS = 200


@pytest.fixture(scope="module")
def real(demo_dataset: Path) -> RecordWorkers:
    return RecordWorkers.open(demo_dataset)


@pytest.fixture(scope="module")
def seeded(real: RecordWorkers) -> tuple[Plan, DrawnRecords]:
    plan = real.plan(Choice(kept=("work_puma", "home_puma"), min_seeds=60))
    return plan, draw_plan(real, plan, draw_key(0))


@pytest.fixture(scope="module")
def found(demo_dataset: Path, seedless_records: Path) -> RecordsAudit:
    return audit_records(demo_dataset, [seedless_records], "all", n_draws=DRAWS)


def test_scores_of_seeds_have_the_law_of_whole_runs() -> None:
    test = Acceptance(min_plausible_seeds=3, threshold_epsilon="0.8", forced_fail="0.1")
    sizes, n_tries, n_draws = (4, 2, 3, 1), 6, 4000
    n, target = sum(sizes), 0
    seeds = np.repeat(np.arange(4), sizes).astype(np.int32)[:, None]
    groups = GroupTable.of(seeds, (4,))
    model = Model.of_weights(Structure(domain=(4,), parents=((),)), [np.ones((1, 4), dtype=np.int64)])
    whole = draw_candidates(seeds, groups, test, model, n=n_tries * n_draws, key=draw_key(1))
    passed = np.bincount(whole.number[whole.codes[:, 0] == target] // n_tries, minlength=n_draws)
    short = seed_scores(test, sizes[target], n, n_tries, n_draws, draw_key(2))
    law = binom.pmf(np.arange(n_tries + 1), n_tries, sizes[target] / n * float(test.chances(sizes[target])))
    for scores in (passed, short):
        seen = np.bincount(scores.astype(int), minlength=n_tries + 1)
        pooled = [*seen[:4], seen[4:].sum()], [*law[:4], law[4:].sum()]
        assert chisquare(pooled[0], np.array(pooled[1]) * n_draws).pvalue > 1e-4
    assert short.size == n_draws


def test_a_lone_seed_has_no_records_without_itself(seeded: tuple[Plan, DrawnRecords]) -> None:
    plan, _ = seeded
    assert plan.seeds is not None
    assert not seed_scores(plan.seeds.acceptance, 0, 500, 500, 50, draw_key(3)).any()


def test_scores_of_tables_are_binomial(seeded: tuple[Plan, DrawnRecords], real: RecordWorkers) -> None:
    plan, drawn = seeded
    structure = drawn.model.structure
    workers = real.codes[drawn.subset == 1]
    n_draws, m = 600, structure.n_attributes
    a = np.exp(-float(plan.model_epsilon) / m)
    for scores, chance in zip(
        table_scores(workers, structure, plan, n_draws), (1 / (1 + a), a / (1 + a)), strict=True
    ):
        law, seen = binom.pmf(np.arange(m + 1), m, chance), np.bincount(scores.astype(int), minlength=m + 1)
        is_often = law * n_draws > 5
        expected = np.append(law[is_often], law[~is_often].sum()) * n_draws
        assert chisquare(np.append(seen[is_often], seen[~is_often].sum()), expected).pvalue > 1e-4


def test_no_draw_breaks_the_promise(seeded: tuple[Plan, DrawnRecords], real: RecordWorkers) -> None:
    plan, drawn = seeded
    rows = [membership_row(game, plan) for game in play_games("x", real.codes, plan, drawn, DRAWS, silent)]
    assert [(row["part"], row["target"]) for row in rows][-1] == ("parameters", "any")
    assert {row["part"] for row in rows} == {"seeds", "parameters"}
    for row in rows:
        assert not row["is_broken"]
        amounts = [float(str(row[name])) for name in ("shown_epsilon", "exact_epsilon", "epsilon")]
        assert amounts[0] <= amounts[1] <= amounts[2] + 1e-6
        right = [float(str(row[name])) for name in ("exact_right", "most_right")]
        assert 0.5 <= right[0] <= right[1] <= 1
        assert float(str(row["shown_right"])) <= right[0] + 5 * 0.5 / np.sqrt(DRAWS)
    assert not any(row["is_off"] for row in law_rows("x", real.codes, plan, drawn))


def test_seeds_without_a_test_are_found_out(real: RecordWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = real.plan(Choice(kept=("work_puma", "home_puma"), min_seeds=700))
    assert plan.add_remove.epsilon < 3
    drawn = draw_plan(real, plan, draw_key(0))
    original = draw_candidates

    def untested(seeds: Any, groups: Any, acceptance: Acceptance, model: Any, **rest: Any) -> Any:
        lax = Acceptance(min_plausible_seeds=1, threshold_epsilon=50, forced_fail=acceptance.forced_fail)
        return original(seeds, groups, lax, model, **rest)

    monkeypatch.setattr(membership, "draw_candidates", untested)
    games = [play() for play in planned_games(real.codes, plan, drawn, 2000)[:-1]]
    rows = {row["target"]: row for row in (membership_row(game, plan) for game in games)}
    assert rows["alone"]["is_broken"], "a lone seed is released in most runs, and never without the worker"
    passes = replace(drawn, n_passed=plan.seeds.n_tries if plan.seeds else 0)
    assert [row["is_off"] for row in law_rows("x", real.codes, plan, passes)] == [False, True]


def test_tables_without_noise_are_found_out(real: RecordWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = real.plan(Choice())

    def exact(child: int, counts: Any, cells: Any, *_: Any) -> Any:
        return np.where(cells.possible, counts, 0)

    monkeypatch.setattr(model_tables, "_add_noise_to_table", exact)
    drawn = draw_plan(real, plan, draw_key(0))
    games = play_games("x", real.codes, plan, drawn, 600, silent)
    rows = {row["part"]: row for row in (membership_row(game, plan) for game in games)}
    assert rows["parameters"]["is_broken"]
    assert rows["parameters"]["shown_right"] == 1.0
    assert "large cells" in str(law_rows("x", real.codes, plan, drawn)[0]["what"])
    large = replace(plan, model_epsilon=plan.model_epsilon * 20)  # so that some counts are large enough
    assert law_rows("x", real.codes, large, drawn)[0]["is_off"]


def test_attackers_against_plain_counts(
    found: RecordsAudit, real: RecordWorkers, seedless_records: Path
) -> None:
    accuracy = found.tables["attackers"].set_index(["target", "attacker", "n"])
    frame = pandas.DataFrame(real.codes, columns=real.attributes.names)
    most = frame["earnings"].value_counts(normalize=True).iloc[0]
    assert accuracy.loc[("earnings", "majority", "all"), "accuracy"] == pytest.approx(most)
    known = [name for name in frame.columns if name != "earnings"]
    group = frame.groupby(known)["earnings"]
    lone = group.transform("size") == 1
    assert accuracy.loc[("earnings", "lookup", "1"), "workers"] == lone.sum()
    best = frame.groupby(known)["earnings"].agg(lambda values: values.value_counts().iloc[0]).sum()
    assert accuracy.loc[("earnings", "memorised", "all"), "accuracy"] == pytest.approx(best / len(frame))
    targets = set(found.tables["attackers"]["target"])
    assert targets == set(frame.columns) - {"work_puma", "work_tract", "distance_band"}
    assert ("home_puma", "public_prior", "all") in accuracy.index
    assert ("earnings", "public_prior", "all") not in accuracy.index
    assert not found.is_broken


def test_whoever_asks_for_the_home_does_not_know_the_distance(real: RecordWorkers) -> None:
    names, plan = real.attributes.names, real.plan(Choice())
    (home,) = hidden_attributes(real.attributes, "home", plan)
    assert names[home.place] == "home_puma"
    assert "distance_band" not in [names[at] for at in home.known]
    (industry,) = hidden_attributes(real.attributes, "industry", plan)
    assert "industry" in (names[industry.place], *real.attributes.attributes[industry.place].derives)
    fewer = replace(real.attributes, attributes=real.attributes.attributes[:2])
    with pytest.raises(UsageError, match="--question earnings: the dataset's workers have no earnings"):
        hidden_attributes(fewer, "earnings", plan)


def test_links_against_plain_counts(found: RecordsAudit, real: RecordWorkers) -> None:
    (row,) = found.tables["linkage"].to_dict("records")
    count = Counter(map(tuple, real.codes.tolist()))
    assert row["alone_in_all"] == pytest.approx(sum(n == 1 for n in count.values()) / real.n_workers)
    plan = real.plan(Choice())
    drawn = draw_plan(real, plan, draw_key(0))
    mine = linkage_row("x", real.codes, drawn.codes, plan, drawn)
    matches = sum(count[tuple(record)] == 1 for record in drawn.codes.tolist()) / len(drawn.codes)
    assert mine["rows_matching_one"] == pytest.approx(matches)
    assert mine["alone_in_kept"] is None


def test_copies_of_the_workers_are_more_than_chance(real: RecordWorkers) -> None:
    plan = real.plan(Choice())
    drawn = draw_plan(real, plan, draw_key(0))
    row = linkage_row("x", real.codes, real.codes, plan, drawn)
    assert float(str(row["rows_matching_one"])) > 3 * float(str(row["fresh_rows_matching_one"]))
    assert row["alone_and_matched"] == 1.0


def test_rows_are_numbered_alike_in_all_tables() -> None:
    first, second = np.array([[1, 2], [3, 4], [1, 2]]), np.array([[3, 4], [0, 9]])
    own, other = row_numbers([first, second])
    assert own[0] == own[2] != own[1] == other[0]
    assert other[1] not in own
    assert matched_rows(own, other) == 0.5
    assert row_numbers([first[:, :0]])[0].tolist() == [0, 0, 0]


def test_lines_say_what_is_confidential_and_what_is_broken(found: RecordsAudit) -> None:
    lines = records_audit_lines(found)
    assert lines[0].startswith("CONFIDENTIAL, not for publication")
    assert not any("bug" in line for line in lines)
    broken = {
        **found.tables,
        "membership": found.tables["membership"].assign(is_broken=True),
        "law": found.tables["law"].assign(is_off=True),
    }
    worse = replace(found, tables=broken)
    assert worse.is_broken
    text = "\n".join(records_audit_lines(worse))
    assert "PROMISE BROKEN" in text
    assert "NOT DRAWN BY ITS LAW" in text
    unlucky = found.tables["membership"].assign(shown_epsilon=9.0)
    said = records_audit_lines(replace(found, tables={**found.tables, "membership": unlucky}))
    assert any("repeat with more --draws" in line for line in said)
