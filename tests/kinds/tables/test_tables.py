"""Tables: what they count, what decides, what the store holds, and what `certify` finds."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas
import pytest

from engine.errors import OverflowRefusedError, ParameterError
from engine.streams import SecretKey
from engine.suppression import both_totals, sum_tree
from engine.suppression.sum_tree import DecidedTree
from geodata.store.store import Store, open_store
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.release.make.options import ReleaseOptions
from mapapp.kinds.release.make.run import run_synthesis
from mapapp.kinds.release.make.settings import parameters_of
from mapapp.kinds.tables.make import decide as deciding
from mapapp.kinds.tables.make.counts import count_people, count_values, read_ground
from mapapp.kinds.tables.make.decide import Rule, Sealed, decide_twice
from mapapp.kinds.tables.make.expected import expected_table
from mapapp.kinds.tables.make.nodes import Nodes, nodes_of
from mapapp.kinds.tables.make.prior import _have_same_workers, open_prior, plan_table
from mapapp.kinds.tables.make.recheck import check_prior, check_table
from mapapp.kinds.tables.make.run import dry_run, make_table
from mapapp.kinds.tables.make.spec import TableSpec
from mapapp.kinds.tables.read.published import PublishedTable
from tests.kinds.tables.conftest import SPEC, choice
from tests.releases import rewrite_document, rewrite_table
from tests.tables import write_prior


def options(**given: object) -> TableSpec:
    return TableSpec.from_options(given)


def flat_or_summed(dataset: Path, prior: Path, spec: TableSpec = SPEC, *, remainders: bool = False) -> Nodes:
    store = open_store(dataset, "dataset", verify=False)
    ground = read_ground(store, spec)
    plan = plan_table(spec, ground, count_people(store, spec, ground), open_prior(prior, store))
    return nodes_of(plan, [spec], [ground], remainders=remainders)


def values_of(dataset: Path, nodes: Nodes) -> Any:
    plan = nodes.plan
    counted = count_values(open_store(dataset, "dataset", verify=False), plan.spec, plan.ground)
    return counted[plan.row, plan.column]


def failed(path: Path) -> list[str]:
    return [check.check for check in check_table(path) if not check.ok]


def counted_one_by_one(store: Store, spec: TableSpec) -> dict[tuple[str, str], tuple[int, int]]:
    """People and values by county and column, from a plain loop over the jobs."""
    blocks, jobs = store.table("blocks").to_dict("records"), store.table("jobs").to_dict("records")
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for job in jobs:
        work, home = blocks[job["destination_index"]], blocks[job["origin_index"]]
        counted = {
            "same-unit": work["county_id"] == home["county_id"],
            "outside-state": work["state_id"] != home["state_id"],
        }[spec.counts.kind]
        key = (str(work["county_id"]), ".".join(str(job[name]) for name in spec.columns))
        people, value = found.get(key, (0, 0))
        found[key] = people + job["count"], value + counted * job["count"]
    return found


@pytest.mark.parametrize("counts", ["same-unit", "outside-state"])
def test_people_and_values_are_those_counted_one_by_one(later_dataset: Path, counts: str) -> None:
    store = open_store(later_dataset, "dataset", verify=False)
    spec = options(rows="county", columns="earnings,age", counts=counts)
    ground = read_ground(store, spec)
    people, values = count_people(store, spec, ground), count_values(store, spec, ground)
    found = {
        (ground.row_ids[row], ground.column_ids[column]): (int(people[row, column]), int(values[row, column]))
        for row, column in zip(*np.nonzero(people), strict=True)
    }
    assert found == counted_one_by_one(store, spec)


def test_farther_away_means_fewer_people(later_dataset: Path) -> None:
    store = open_store(later_dataset, "dataset", verify=False)
    totals = []
    for miles in (0, 5, 25, 3_000):
        spec = options(rows="county", columns="industry", counts=f"beyond={miles}")
        totals.append(int(count_values(store, spec, read_ground(store, spec)).sum()))
    assert totals == sorted(totals, reverse=True)
    assert totals[0] > totals[1] > totals[-1] == 0


def test_flows_of_a_row_add_up_to_its_workers(later_dataset: Path) -> None:
    store = open_store(later_dataset, "dataset", verify=False)
    spec = options(rows="county", flows="county")
    ground = read_ground(store, spec)
    people, values = count_people(store, spec, ground), count_values(store, spec, ground)
    assert values.sum(axis=1).tolist() == people[:, 0].tolist()
    assert sum(name.endswith("(outside the area)") for name in ground.column_names)


def test_counted_rates_are_smoothed_by_five_workers_at_the_rate_of_the_column(
    demo_dataset: Path, later_dataset: Path, prior_file: Path
) -> None:
    plan = flat_or_summed(later_dataset, prior_file).plan
    earlier = open_store(demo_dataset, "dataset", verify=False)
    ground = read_ground(earlier, SPEC)
    people, values = count_people(earlier, SPEC, ground), count_values(earlier, SPEC, ground)
    units = plan.smoothing["units"] if plan.smoothing else 0
    for cell in range(plan.n_cells):
        row, column = int(plan.row[cell]), int(plan.column[cell])
        rate = Fraction(int(values[:, column].sum()), int(people[:, column].sum()))
        toward = Fraction(round(rate * units), units)
        wanted = (int(values[row, column]) + 5 * toward) / (int(people[row, column]) + 5)
        assert plan.rates.fraction(cell) == wanted


def test_shares_of_flows_never_exceed_the_row(
    demo_dataset: Path, later_dataset: Path, tmp_path: Path
) -> None:
    spec = options(rows="county", flows="tract")
    prior = write_prior(tmp_path / "flows.csv", demo_dataset, spec)
    plan = flat_or_summed(later_dataset, prior, spec).plan
    for row in plan.rows_present:
        mine = np.flatnonzero(plan.row == row)
        shares = [plan.rates.fraction(int(cell)) for cell in mine]
        assert sum(shares) <= 1
        assert shares == sorted(shares, reverse=True)
        assert all(2 * share * int(plan.people[mine[0]]) > 1 for share in shares)


def test_what_a_dry_run_expects_is_what_the_table_releases(
    later_dataset: Path, prior_file: Path, demo_table: Path
) -> None:
    found = dry_run(later_dataset, choice(prior_file))
    cells = PublishedTable.open(demo_table).tables[0].of_kind("cell")
    assert found.releasable.tolist() == (cells["value"] >= 0).tolist()
    assert 0 < found.share_of_cells < 1
    assert not (later_dataset / "ledger.jsonl").exists()


@pytest.mark.parametrize("totals", ["none", "rows", "columns"])
def test_suppressed_values_do_not_touch_the_pattern(
    later_dataset: Path, prior_file: Path, totals: Any
) -> None:
    spec = replace(SPEC, totals=totals)
    nodes = flat_or_summed(later_dataset, prior_file, spec, remainders=totals == "none")
    rule = Rule(Fraction(1, 2), Fraction(1, 10) / len(nodes))
    values = values_of(later_dataset, nodes)
    decided, shown = decide_twice(nodes, Sealed(values), rule)
    others = values.copy()
    free = np.flatnonzero(shown[nodes.cells] < 0)
    if totals == "none" and not decided.released[nodes.cells.stop :].any():
        others[free] = nodes.plan.people[free] - others[free]
    elif free.size > 1:
        first, second = _interchangeable(nodes, free, values)
        others[first], others[second] = values[first] + 1, values[second] - 1
    again, shown_again = decide_twice(nodes, Sealed(others), rule)
    assert deciding.same_decisions(decided, again)
    assert shown.tolist() == shown_again.tolist()
    assert (others != values).any()


def _interchangeable(nodes: Nodes, free: Any, values: Any) -> tuple[int, int]:
    """Two suppressed cells of one sum, of which one can give a worker to the other."""
    plan = nodes.plan
    keys = plan.column if plan.spec.totals == "columns" else plan.row
    for first in free:
        for second in free:
            fits = values[first] < plan.people[first] and values[second] > 0
            if first != second and keys[first] == keys[second] and fits:
                return int(first), int(second)
    raise AssertionError("no sum has two suppressed cells")


def test_a_suppressor_that_peeks_is_caught(
    later_dataset: Path, prior_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = flat_or_summed(later_dataset, prior_file)
    honest = deciding.decide

    def peek(nodes: Nodes, sealed: Sealed, rule: Rule, report: Report) -> DecidedTree:
        decided = honest(nodes, sealed, rule, report)
        return decided._replace(
            released=decided.released & (sealed.for_engine() % 2 == 0) | (sealed.for_engine() == 0)
        )

    monkeypatch.setattr(deciding, "decide", peek)
    with pytest.raises(AssertionError, match="suppressed value"):
        decide_twice(
            nodes, Sealed(values_of(later_dataset, nodes)), Rule(Fraction(1, 2), Fraction(1, 10) / len(nodes))
        )


def test_a_sealed_value_is_not_printed() -> None:
    assert "7" not in repr(Sealed(np.array([7, 7], dtype=np.int64)))


def test_remainders_hold_the_suppressed_cells_of_their_row(demo_table: Path) -> None:
    cells = open_store(demo_table, "table").table("table_cells")
    rest = cells[cells["kind"] == "remainder"]
    starred = cells[(cells["kind"] == "cell") & (cells["value"] < 0)].groupby("row_id")["people"]
    wanted = starred.sum()[starred.size() > 1]
    assert dict(zip(rest["row_id"], rest["people"], strict=True)) == wanted.to_dict()


def test_a_table_passes_its_own_check(demo_table: Path) -> None:
    assert failed(demo_table) == []


BOTH_TOTALS = {"rows": "state", "columns": ("industry", "earnings"), "totals": "both"}
"""Two rows with some hundreds of people a cell."""


@pytest.mark.parametrize(
    "given", [{"totals": "rows"}, {"totals": "columns"}, BOTH_TOTALS, {"flows": "county"}]
)
def test_totals_and_flows_pass_their_check(
    demo_dataset: Path, later_copy: Path, prior_file: Path, given: dict[str, Any], tmp_path: Path
) -> None:
    spec, prior = replace(SPEC, **given) if "totals" in given else options(rows="county", **given), prior_file
    if spec.rows != SPEC.rows or spec.flows:
        prior = write_prior(tmp_path / "own.csv", demo_dataset, spec)
    steps: dict[str, set[tuple[int, int]]] = {}
    outcome = make_table(
        later_copy,
        tmp_path / "t",
        choice(prior, specs=(spec,)),
        report=lambda stage, done, total: steps.setdefault(stage, set()).add((done, total)),
    )
    assert failed(tmp_path / "t") == []
    if not spec.flows:
        n = outcome.certificate["decisions"]
        assert {(at, n) for at in range(n)} <= steps["deciding"]
        assert {(at, n) for at in range(n)} == steps["deciding again from what is published"]
    assert outcome.n_released > 0
    table = PublishedTable.open(tmp_path / "t").tables[0]
    if spec.flows:
        rest = table.of_kind("remainder")
        released = table.of_kind("cell").assign(value=lambda rows: rows["value"].clip(lower=0))
        sums = released.groupby("row_id", sort=False)["value"].sum().to_numpy()
        assert (sums + rest["value"].to_numpy()).tolist() == rest["people"].tolist()


def test_tables_that_refine_each_other_share_one_state(
    demo_dataset: Path, later_copy: Path, tmp_path: Path
) -> None:
    fine = options(rows="tract", columns="industry", counts="beyond=3")
    coarse = options(rows="county", columns="industry", counts="beyond=3", title="By county")
    prior = write_prior(tmp_path / "prior.csv", demo_dataset, fine)
    outcome = make_table(later_copy, tmp_path / "t", choice(prior, specs=(coarse, fine)))
    tables = PublishedTable.open(tmp_path / "t").tables
    assert next(table.title for table in tables) == "By county"
    assert outcome.certificate["decisions"] == sum(len(table.of_kind("cell")) for table in tables)
    assert failed(tmp_path / "t") == []


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"rows": "county", "columns": "age,industry", "counts": "same-unit"}, "refine each other"),
        ({"rows": "tract", "columns": "industry", "counts": "same-unit"}, "count the same workers"),
        ({"rows": "county", "flows": "county"}, "flows"),
    ],
)
def test_tables_that_do_not_refine_each_other_are_refused(
    later_copy: Path, prior_file: Path, other: dict[str, str], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=words):
        make_table(later_copy, tmp_path / "t", choice(prior_file, specs=(SPEC, options(**other))))
    assert not (tmp_path / "t").exists()
    assert not (later_copy / "ledger.jsonl").exists()


def test_a_change_of_one_count_or_promise_is_found(demo_table: Path, tmp_path: Path) -> None:
    def with_first_value_changed(cells: pandas.DataFrame) -> pandas.DataFrame:
        at = cells.index[cells["value"] > 0][0]
        cells.loc[at, "value"] -= 1
        return cells

    path = Path(shutil.copytree(demo_table, tmp_path / "t"))
    rewrite_table(path, "table_cells", with_first_value_changed)
    assert "tables" in failed(path)
    for field, value in (("epsilon", "1/4"), ("delta", "1/20")):
        path = Path(shutil.copytree(demo_table, tmp_path / field))
        certificate = json.loads((path / "certificate.json").read_text())
        number = {"exact": value, "value": float(Fraction(value))}
        certificate["promise"][field] = number
        rewrite_document(path, "certificate.json", certificate)
        assert "made again from the table" in failed(path)
    for promise in ({"delta": {"exact": "2", "value": 2.0}}, {"decide": "somehow"}):
        certificate = json.loads((demo_table / "certificate.json").read_text())
        certificate["promise"] |= promise
        rewrite_document(path, "certificate.json", certificate)
        assert failed(path) == ["schema"]


def test_a_table_of_schema_2_says_that_it_has_no_run_id(demo_table: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(demo_table, tmp_path / "t"))
    certificate = json.loads((path / "certificate.json").read_text())
    del certificate["run_id"]
    rewrite_document(path, "certificate.json", certificate)
    assert failed(path) == ["schema"]
    rewrite_document(path, "certificate.json", certificate | {"schema_version": 2})
    checks = check_table(path)
    assert all(check.ok for check in checks)
    assert ("fields of later versions", True, "schema 2 without run_id") in checks


@pytest.mark.parametrize("column", ["state", "low", "people", "row"])
def test_a_changed_row_is_found_even_if_the_certificate_is_changed_with_it(
    demo_table: Path, tmp_path: Path, column: str
) -> None:
    path = Path(shutil.copytree(demo_table, tmp_path / "t"))

    def changed(cells: pandas.DataFrame) -> pandas.DataFrame:
        at = cells.index[cells["state"] == "released"][0]
        if column == "state":
            cells.loc[at, "state"] = "suppressed"
            cells.loc[at, "value"] = -1
        else:
            cells.loc[at, column] = "Elsewhere" if column == "row" else cells.loc[at, column] + 1
        return cells

    rewrite_table(path, "table_cells", changed)
    manifest = json.loads((path / "manifest.json").read_text())
    certificate = json.loads((path / "certificate.json").read_text())
    certificate["publication"]["files"]["table_cells.parquet"] = manifest["files"]["table_cells.parquet"]
    rewrite_document(path, "certificate.json", certificate)
    assert {"rows", "decisions"} & set(failed(path))


def rebind(path: Path) -> None:
    """State in the certificate the files that the manifest states, as a forger would."""
    manifest = json.loads((path / "manifest.json").read_text())
    certificate = json.loads((path / "certificate.json").read_text())
    stated = certificate["publication"]["files"]
    stated.update({name: manifest["files"][name] for name in stated})
    rewrite_document(path, "certificate.json", certificate)


def test_cells_in_another_order_than_they_are_decided_in_are_found(demo_table: Path, tmp_path: Path) -> None:
    def permuted(frame: pandas.DataFrame) -> pandas.DataFrame:
        order = frame.index.to_numpy().copy()
        order[:2] = order[1::-1]
        return frame.iloc[order].reset_index(drop=True)

    path = Path(shutil.copytree(demo_table, tmp_path / "t"))
    rewrite_table(path, "table_cells", permuted)
    rewrite_table(path, "table_prior", permuted)
    rebind(path)
    assert failed(path) == ["rows"]


@pytest.mark.parametrize("flows", ["", "county"])
def test_intervals_of_sampled_cells_are_checked_although_coins_are_secret(
    demo_dataset: Path, later_copy: Path, flows: str, tmp_path: Path
) -> None:
    spec = options(rows="county", flows=flows) if flows else SPEC
    prior = write_prior(tmp_path / "prior.csv", demo_dataset, spec)
    make_table(later_copy, tmp_path / "t", choice(prior, specs=(spec,), decide="sampled", delta="0.5"))
    assert failed(tmp_path / "t") == []
    rewrite_table(tmp_path / "t", "table_cells", lambda cells: cells.assign(high=cells["high"] + 1))
    rebind(tmp_path / "t")
    assert failed(tmp_path / "t") == ["rows"]


@pytest.mark.parametrize("field", ["decide", "jobs"])
def test_a_certificate_states_how_cells_were_decided_and_of_which_jobs(
    demo_table: Path, field: str, tmp_path: Path
) -> None:
    path = Path(shutil.copytree(demo_table, tmp_path / "t"))
    certificate = json.loads((path / "certificate.json").read_text())
    if field == "decide":
        certificate["promise"]["decide"] = "somehow"
    else:
        del certificate["confidential_inputs"]["jobs"]
    rewrite_document(path, "certificate.json", certificate)
    assert failed(path) != []


@pytest.mark.parametrize("remainders", [True, False])
def test_a_breach_stops_the_table_and_says_so(
    later_copy: Path, prior_file: Path, tmp_path: Path, remainders: bool
) -> None:
    lines = prior_file.read_text().splitlines()
    largest = max(range(1, len(lines)), key=lambda at: int(lines[at].split(",")[2]))
    row, column, people, value = lines[largest].split(",")
    lines[largest] = f"{row},{column},{people},{int(people) - int(value)}"
    (tmp_path / "wrong.csv").write_text("\n".join(lines))
    outcome = make_table(later_copy, tmp_path / "t", choice(tmp_path / "wrong.csv", remainders=remainders))
    assert outcome.breach is not None
    position = outcome.certificate["breach"]["position"]
    cells = open_store(tmp_path / "t", "table").table("table_cells")
    assert cells.loc[position, "state"] == "released"
    assert (cells["state"][position + 1 :] == "suppressed").all()
    assert failed(tmp_path / "t") == []


def test_sampled_decisions_under_the_test_key_can_be_replayed(
    later_copy: Path, prior_file: Path, tmp_path: Path
) -> None:
    spec = options(rows="county", columns="industry", counts="same-unit")
    prior = write_prior(tmp_path / "p.csv", later_copy, spec)
    outcome = make_table(
        later_copy, tmp_path / "t", choice(prior, specs=(spec,), decide="sampled", delta="0.5", test_key=True)
    )
    assert outcome.certificate["status"] == "not for release"
    assert failed(tmp_path / "t") == []
    assert SecretKey.for_tests().is_test


def test_an_earlier_release_serves_as_the_prior(later_copy: Path, demo_release: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--test-key"):
        make_table(later_copy, tmp_path / "t", choice(demo_release))
    outcome = make_table(later_copy, tmp_path / "t", choice(demo_release, test_key=True))
    assert outcome.certificate["prior"]["origin"] == "release"
    assert failed(tmp_path / "t") == []
    assert check_prior(tmp_path / "t", demo_release).ok


def test_a_release_of_the_same_jobs_is_refused_as_the_prior(
    demo_dataset: Path, demo_release: Path, tmp_path: Path
) -> None:
    for name in ("keyed hash", "the same numbers of workers in all blocks"):
        dataset = Path(shutil.copytree(demo_dataset, tmp_path / name))
        if name != "keyed hash":
            manifest = json.loads((dataset / "manifest.json").read_text())
            (dataset / "manifest.json").write_text(json.dumps(manifest | {"commitment_key": "1" * 64}))
        with pytest.raises(UsageError, match="made from the jobs that the table counts"):
            make_table(dataset, tmp_path / "t", choice(demo_release, test_key=True))
        assert not (dataset / "ledger.jsonl").exists()


def test_a_release_of_part_of_the_jobs_is_refused_as_the_prior() -> None:
    whole = pandas.Series([3, 5, 8], index=["a", "b", "c"])
    assert _have_same_workers(whole[["c", "a"]], whole)
    assert _have_same_workers(whole, whole[["b"]])
    assert not _have_same_workers(whole, whole.add(1))
    assert not _have_same_workers(whole[["a", "b"]], whole[["b", "c"]])
    assert not _have_same_workers(whole[[]], whole)


def test_rates_that_leave_nothing_for_other_homes_are_refused(later_copy: Path, tmp_path: Path) -> None:
    store = open_store(later_copy, "dataset")
    spec = options(rows="county", flows="county")
    units = read_ground(store, spec).row_ids
    lines = [f"{row},{home},1/2" for row in units for home in units[:2]]
    prior = tmp_path / "prior.csv"
    prior.write_text("\n".join(["row_id,column_id,rate", *lines]))
    with pytest.raises(UsageError, match="leaves 0 for the homes without a rate"):
        make_table(later_copy, tmp_path / "t", choice(prior, specs=(spec,)))
    assert not (later_copy / "ledger.jsonl").exists()


def test_a_prior_of_another_vintage_is_refused(later_copy: Path, demo_release: Path, tmp_path: Path) -> None:
    manifest = json.loads((later_copy / "manifest.json").read_text())
    manifest["vintage"] = {"blocks": 2020}
    (later_copy / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UsageError, match="blocks 2020"):
        make_table(later_copy, tmp_path / "t", choice(demo_release, test_key=True))


def test_a_table_is_entered_in_the_ledger_and_spends_nothing(
    later_copy: Path, prior_file: Path, tmp_path: Path
) -> None:
    make_table(later_copy, tmp_path / "t", choice(prior_file))
    (entry,) = Ledger(later_copy).entries()
    assert (entry.kind, entry.release, entry.for_release) == ("table", "t", True)
    assert json.loads((later_copy / "ledger.jsonl").read_text())["epsilon"] is None
    assert not any(Ledger(later_copy).spent())
    with pytest.raises(UsageError, match=r"two tables have no joint promise.*\[\[table\]\]"):
        make_table(later_copy, tmp_path / "second", choice(prior_file))
    assert not (tmp_path / "second").exists()
    assert len(Ledger(later_copy).entries()) == 1


@pytest.mark.parametrize(
    ("module", "given"), [(sum_tree, {"totals": "rows"}), (both_totals, BOTH_TOTALS)], ids=["rows", "both"]
)
def test_sums_that_are_too_large_are_refused_before_the_ledger(
    later_copy: Path,
    demo_dataset: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    given: dict[str, Any],
) -> None:
    monkeypatch.setattr(module, "MOST_STEPS", 1)
    spec = replace(SPEC, **given)
    prior = write_prior(tmp_path / "own.csv", demo_dataset, spec)
    with pytest.raises(OverflowRefusedError, match="steps"):
        make_table(later_copy, tmp_path / "t", choice(prior, specs=(spec,)))
    assert not (later_copy / "ledger.jsonl").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon": "0.12345678901"}, "at most 9 decimals"),
        ({"delta": "1e-9", "decide": "sampled"}, "sampling would draw"),
    ],
)
def test_a_promise_that_no_decision_can_keep_is_refused_before_the_ledger(
    given: dict[str, str], message: str, later_copy: Path, prior_file: Path, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match=message):
        make_table(later_copy, tmp_path / "t", choice(prior_file, **given))
    assert not (later_copy / "ledger.jsonl").exists()
    assert list(tmp_path.glob("t*")) == []


def test_a_release_beside_a_table_and_the_reverse_need_to_be_asked_for(
    later_copy: Path, later_dataset: Path, prior_file: Path, tmp_path: Path
) -> None:
    make_table(later_copy, tmp_path / "t", choice(prior_file))
    privacy, parameters = parameters_of(later_copy, ReleaseOptions(epsilon="6", design="none"))
    with pytest.raises(UsageError, match=r"the table 't'.*--beside-release TABLE"):
        run_synthesis(later_copy, tmp_path / "r", privacy, parameters)
    outcome = run_synthesis(later_copy, tmp_path / "r", privacy, parameters, beside=[tmp_path / "t"])
    (named,) = outcome.certificate["beside"]
    assert (named["kind"], named["name"]) == ("table", "t")
    other = Path(shutil.copytree(later_dataset, tmp_path / "other.dataset"))
    run_synthesis(other, tmp_path / "r2", privacy, parameters)
    with pytest.raises(UsageError, match=r"the release 'r2'.*--beside-release RELEASE"):
        make_table(other, tmp_path / "t2", choice(prior_file))
    made = make_table(other, tmp_path / "t2", choice(prior_file, beside=(tmp_path / "r2",)))
    assert made.certificate["beside"][0]["kind"] == "release"
    assert failed(tmp_path / "t2") == []
    assert Ledger(other).entries()[-1].beside == (made.certificate["beside"][0]["digest"],)


def test_what_is_expected_of_sums_follows_from_public_numbers(later_dataset: Path, prior_file: Path) -> None:
    nodes = flat_or_summed(later_dataset, prior_file, replace(SPEC, totals="rows"))
    found = expected_table(nodes, Fraction(1, 2), Fraction(1, 10))
    assert found.n_decisions == nodes.plan.n_cells + nodes.plan.rows_present.size
    assert 0 < found.share_of_people <= 1
