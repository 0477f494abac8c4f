"""Combinations that never occur: from the schema to records, their certificate, and `certify`."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas
import pytest

from geodata.store.store import open_store
from mapapp.kinds.records.make.attributes import read_attributes
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.expected import plan_only
from mapapp.kinds.records.make.recheck import check_records
from mapapp.kinds.records.make.run import make_records, read_plan
from tests.releases import rewrite_table
from tests.sharing import made_once

CHECK = "combinations that never occur"
NEVER = [
    {"age": ["1"], "firm_size": ["4", "5"]},
    {"sex": ["2"], "industry": ["1"], "education": ["4"]},
]


def forbidden(rows: pandas.DataFrame) -> pandas.Series:
    young_in_large_firms = (rows["age"] == 1) & (rows["firm_size"] >= 3)
    return young_in_large_firms | ((rows["sex"] == 1) & (rows["industry"] == 1) & (rows["education"] == 3))


def obey(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Workers who have no forbidden combination any more."""
    return rows.assign(
        firm_size=rows["firm_size"].where(rows["age"] != 1, 0),
        sex=rows["sex"].where(rows["industry"] != 1, 0),
    )


@pytest.fixture(scope="module")
def dataset(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo with combinations that never occur, and without workers who have one."""

    def make(folder: Path) -> None:
        shutil.copytree(demo_dataset, folder / "d")
        rewrite_table(folder / "d", "workers", obey)
        manifest = json.loads((folder / "d" / "manifest.json").read_text())
        (folder / "d" / "manifest.json").write_text(json.dumps(manifest | {"worker_never": NEVER}))

    return made_once(tmp_path_factory, "demo_with_never", make) / "d"


def test_the_codes_of_the_demo_are_those_of_the_rules(dataset: Path) -> None:
    attributes = read_attributes(open_store(dataset, "dataset"))
    codes = {attribute.name: attribute.codes for attribute in attributes.attributes}
    assert codes["firm_size"][3:] == ("4", "5")
    assert codes["education"][3] == "4"
    assert "industry" not in codes, "the sector derives it, so the rule is one about sectors"


@pytest.mark.parametrize(
    "choice",
    [
        Choice(test_key=True, model_epsilon=Fraction(1, 10)),
        Choice(test_key=True, kept=("work_puma", "home_puma", "naics_sector"), min_seeds=20),
        Choice(test_key=True, structure="learned", anyway=True, epsilon=Fraction(8)),
    ],
    ids=["public", "seeded", "learned"],
)
def test_no_record_has_a_forbidden_combination(dataset: Path, tmp_path: Path, choice: Choice) -> None:
    """Finds zeros that dropped or learned parents, buckets of sectors, noise, or topping up would lose."""
    shutil.copytree(dataset, tmp_path / "d")
    outcome = make_records(tmp_path / "d", tmp_path / "r", choice)
    assert not forbidden(open_store(tmp_path / "r", "records").table("records")).any()
    checks = {check.check: check for check in check_records(tmp_path / "r")}
    assert all(check.ok for check in checks.values())
    assert checks[CHECK].detail == "forbidden records: 0, by 2 declared combinations"
    stated = json.loads((tmp_path / "r" / "certificate.json").read_text())
    assert stated["model"]["never"] == NEVER
    parents = stated["model"]["parents"]
    # Of the attributes of a combination, the last one drawn has the others for parents.
    assert "age" in parents["firm_size"] or "firm_size" in parents["age"]
    assert {"sex", "naics_sector"} <= set(parents["education"]) or {"education", "naics_sector"} <= set(
        parents["sex"]
    )
    assert any("age 1 and firm_size 4 or 5: no record has it" in line for line in outcome.lines())


def test_certify_counts_forbidden_records(dataset: Path, tmp_path: Path) -> None:
    """Finds a check that cannot fail."""
    shutil.copytree(dataset, tmp_path / "d")
    make_records(tmp_path / "d", tmp_path / "r", Choice(test_key=True))

    def break_three(rows: pandas.DataFrame) -> pandas.DataFrame:
        young = np.flatnonzero(rows["age"] == 1)[:3]
        return rows.assign(firm_size=rows["firm_size"].where(~np.isin(np.arange(len(rows)), young), 4))

    rewrite_table(tmp_path / "r", "records", break_three)
    check = next(check for check in check_records(tmp_path / "r") if check.check == CHECK)
    assert not check.ok
    assert check.detail.startswith("forbidden records: 3,")


def test_parents_that_zeros_need_stay_where_there_is_no_room(dataset: Path) -> None:
    """Finds a rule on small tables that drops them: with ten workers, it drops every other parent."""
    store = open_store(dataset, "dataset")
    attributes = read_attributes(store)
    plan = read_plan(store, Choice(n_records=10))
    structure = plan.structure.structure
    for child, parent in attributes.zeros.groups:
        assert parent in structure.parents[child]
    kept = sum(len(parents) for parents in structure.parents)
    assert kept == len({*attributes.zeros.groups, (attributes.place("work_tract"), 0)})


def test_a_dry_run_names_pairs_that_no_table_holds(dataset: Path, demo_dataset: Path) -> None:
    """Finds the silence about an education that no real worker under 30 has."""
    dry = {path: plan_only(path, Choice()) for path in (demo_dataset, dataset)}
    assert ("age", "firm_size") in dry[demo_dataset].not_carried
    assert ("age", "education") not in dry[demo_dataset].not_carried
    assert ("age", "firm_size") not in dry[dataset].not_carried
    warning = next(line for line in dry[demo_dataset].lines() if "warning" in line)
    assert "age and firm_size" in warning
    assert ["age", "firm_size"] in dry[demo_dataset].to_dict()["not_carried"]  # type: ignore[operator]  # a list
