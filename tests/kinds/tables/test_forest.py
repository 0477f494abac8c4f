"""Tables over different jobs in one publication: states of their own, one delta, and no belief beyond the promise."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from geodata.store.store import open_store
from mapapp.answers.areas.areas import Areas
from mapapp.base.errors import UsageError
from mapapp.kinds.tables.files.fields import codebook
from mapapp.kinds.tables.make.counts import count_people, read_ground
from mapapp.kinds.tables.make.decide import Rule
from mapapp.kinds.tables.make.forest import Forest, decide_forest
from mapapp.kinds.tables.make.jobs import Jobs
from mapapp.kinds.tables.make.nodes import Nodes
from mapapp.kinds.tables.make.recheck import check_prior, check_table
from mapapp.kinds.tables.make.run import dry_run, make_table
from mapapp.kinds.tables.make.spec import TableSpec
from mapapp.kinds.tables.read.published import PublishedTable
from mapapp.kinds.tables.read.words import counted_sentence
from tests.kinds.tables.by_hand import by_hand
from tests.kinds.tables.conftest import choice
from tests.oracles.suppression import Counts, Group, Output, Population, certain, examine
from tests.tables import write_prior


def failed(path: Path) -> list[str]:
    return [check.check for check in check_table(path) if not check.ok]


def population_of(trees: tuple[Nodes, ...], people: list[list[int]] | None = None) -> Population:
    """The people of all cells, and a query for each decision; `people` lists the groups in each cell, if not one."""
    groups, queries, ahead = [], [], 0
    for nodes in trees:
        plan = nodes.plan
        groups += [Group(int(plan.people[cell]), plan.rates.fraction(cell)) for cell in range(plan.n_cells)]
        unit = np.eye(plan.n_cells, dtype=np.int64)
        inside = np.stack([nodes.sum_cells(cell) for cell in unit])
        queries += [frozenset((np.flatnonzero(node) + ahead).tolist()) for node in inside.T]
        ahead += plan.n_cells
    return Population(tuple(groups), tuple(queries))


def output_of(trees: tuple[Nodes, ...], counts: list[np.ndarray], rule: Rule) -> Output:
    forest = Forest(specs=tuple(nodes.plan.spec for nodes in trees), trees=trees)
    found = decide_forest(forest, counts, rule)
    return tuple(int(value) if value >= 0 else None for _, values in found for value in values)


@pytest.mark.parametrize("totals", ["none", "rows"])
def test_tables_over_different_jobs_keep_the_promise_together(totals: str) -> None:
    epsilon, delta = Fraction(4, 5), Fraction(4, 5)
    trees = by_hand([[8, 2, 0]], totals), by_hand([[6, 0, 2]], "none", rate=(2, 5))
    population = population_of(trees)
    rule = Rule(epsilon, delta / sum(map(len, trees)))

    def decide(counts: Counts) -> Output:
        both = np.array(counts[:2], dtype=np.int64), np.array(counts[2:], dtype=np.int64)
        return output_of(trees, list(both), rule)

    found = examine(population, certain(decide), epsilon)
    assert found.outputs > 20
    assert found.released > 0
    assert found.moving == 0
    assert 0 < found.not_private <= delta


def test_tables_with_some_jobs_in_common_do_not_which_is_why_they_are_refused() -> None:
    """12 people in one table, 11 of them in another, each decided by itself: the difference is the last one's value."""
    epsilon, delta = Fraction(4, 5), Fraction(1, 2)
    trees = by_hand([[12, 0, 0]], "none"), by_hand([[11, 0, 0]], "none")
    groups = Group(11, Fraction(1, 2)), Group(1, Fraction(1, 2))
    population = Population(groups, (frozenset({0, 1}), frozenset({0})))
    rule = Rule(epsilon, delta / 2)

    def decide(counts: Counts) -> Output:
        return output_of(trees, [np.array([sum(counts)]), np.array([counts[0]])], rule)

    assert examine(population, certain(decide), epsilon).not_private > delta


def test_a_breach_in_one_table_stops_the_next() -> None:
    trees = by_hand([[60, 0, 0]], "none"), by_hand([[60, 60, 0]], "none")
    forest = Forest(specs=tuple(nodes.plan.spec for nodes in trees), trees=trees)
    rule = Rule(Fraction(1, 2), Fraction(1, 10))
    inside = [np.array([30]), np.array([30, 30])]
    assert [values.tolist() for _, values in decide_forest(forest, inside, rule)] == [[30], [30, 30]]
    (first, shown), (second, rest) = decide_forest(forest, [np.array([2]), inside[1]], rule)
    assert (shown.tolist(), rest.tolist()) == ([2], [-1, -1])
    assert forest.breach([first, second]) == (0, trees[0], 0)
    (_, shown), (second, rest) = decide_forest(forest, [inside[0], np.array([30, 2])], rule)
    position, nodes, place = forest.breach([first._replace(breach=-1), second]) or (-1, None, -1)
    assert (position, nodes, place) == (2, trees[1], 1)


GOODS = {"rows": "county", "columns": "earnings", "counts": "same-unit", "industry": [1, 2]}
OTHERS = {"rows": "county", "columns": "age", "counts": "outside-state", "industry": 3, "title": "Services"}


def located(dataset: Path, spec: TableSpec) -> TableSpec:
    return spec.locate(Areas(open_store(dataset, "dataset", verify=False)))


def joint_prior(path: Path, source: Path, *specs: TableSpec) -> Path:
    """A prior for each table, in one file."""
    lines = []
    for number, spec in enumerate(specs, 1):
        head, *rest = write_prior(path, source, located(source, spec)).read_text().splitlines()
        lines += [*([f"table,{head}"] if number == 1 else []), *(f"{number},{line}" for line in rest)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_tables_of_different_jobs_are_made_together_and_certified(
    demo_dataset: Path, later_copy: Path, tmp_path: Path
) -> None:
    specs = TableSpec.from_entry(GOODS), TableSpec.from_entry(OTHERS)
    wanted = choice(joint_prior(tmp_path / "prior.csv", demo_dataset, *specs), specs=specs)
    expected = dry_run(later_copy, wanted)
    outcome = make_table(later_copy, tmp_path / "t", wanted)
    assert failed(tmp_path / "t") == []
    published = PublishedTable.open(tmp_path / "t")
    goods, others = published.tables
    assert outcome.n_cells == expected.n_cells == goods.n_cells + others.n_cells
    assert expected.n_decisions == outcome.certificate["decisions"] == published.promise.n_decisions
    assert expected.releasable.sum() == goods.n_released + others.n_released > 0
    jobs = open_store(later_copy, "dataset").table("jobs")
    workers = [int(jobs.loc[jobs["industry"].isin(kept), "count"].sum()) for kept in ((1, 2), (3,))]
    assert [int(table.of_kind("cell")["people"].sum()) for table in (goods, others)] == workers
    assert "industry Goods producing or Trade" in goods.title
    assert "Only jobs with: industry All other services." in counted_sentence(others)
    assert any("All other services" in row.meaning for row in codebook(published) if row.table == "Services")
    assert outcome.certificate["remainders"] is True
    assert not goods.of_kind("cell")["rate"].isna().any()


def test_one_table_can_be_about_the_workplaces_of_an_area(
    demo_dataset: Path, later_copy: Path, demo_release: Path, tmp_path: Path
) -> None:
    store = open_store(later_copy, "dataset")
    county = Areas(store).units("county").rows.iloc[0]
    whole = TableSpec.from_options({"rows": "tract", "columns": "industry", "counts": "same-unit"})
    part = TableSpec.from_options(
        {"rows": "tract", "columns": "industry", "counts": "same-unit", "work-area": county["name"]}
    )
    part = located(later_copy, part)
    assert part.jobs.work_area == f"county:{county['unit_id']}"
    grounds = [read_ground(store, spec) for spec in (whole, part)]
    people = [count_people(store, spec, ground) for spec, ground in zip((whole, part), grounds, strict=True)]
    inside = np.array([unit.startswith(county["unit_id"]) for unit in grounds[0].row_ids])
    assert (people[1][inside] == people[0][inside]).all()
    assert people[1][inside].any()
    assert not people[1][~inside].any()
    outcome = make_table(later_copy, tmp_path / "t", choice(demo_release, specs=(part,), test_key=True))
    assert outcome.certificate["tables"][0]["jobs"]["work_area"]["area"] == part.jobs.work_area
    assert failed(tmp_path / "t") == []
    assert check_prior(tmp_path / "t", demo_release).ok


def test_two_tables_that_share_some_jobs_are_refused_and_both_are_named(
    later_copy: Path, prior_file: Path, tmp_path: Path
) -> None:
    first = TableSpec.from_entry(GOODS)
    for other in ({**OTHERS, "industry": [2, 3]}, {**OTHERS, "industry": None}):
        both = choice(prior_file, specs=(first, TableSpec.from_entry(other)))
        with pytest.raises(
            UsageError, match=r"\[\[table\]\] 1 .* and \[\[table\]\] 2 \(Services\) have some jobs"
        ):
            make_table(later_copy, tmp_path / "t", both)
    assert not (later_copy / "ledger.jsonl").exists()


def test_a_file_says_which_table_its_lines_are_about(
    demo_dataset: Path, later_copy: Path, prior_file: Path, tmp_path: Path
) -> None:
    specs = TableSpec.from_entry(GOODS), TableSpec.from_entry(OTHERS)
    with pytest.raises(UsageError, match="each needs a prior of its own; add a column table"):
        make_table(later_copy, tmp_path / "t", choice(prior_file, specs=specs))
    one = joint_prior(tmp_path / "one.csv", demo_dataset, specs[0])
    with pytest.raises(UsageError, match=r"no line is about \[\[table\]\] 2"):
        make_table(later_copy, tmp_path / "t", choice(one, specs=specs))
    one.write_text(one.read_text().replace("\n1,", "\nfirst,"))
    with pytest.raises(UsageError, match="table is 'first'"):
        make_table(later_copy, tmp_path / "t", choice(one, specs=specs))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"industry": 4}, "the bands are 1, 2, and 3"),
        ({"industry": "goods"}, "give bands from 1 to 3"),
        ({"age": []}, "give bands from 1 to 3"),
        ({"work-area": 7}, "give the name of a unit"),
        ({"home-area": "county:81001"}, "unknown key 'home-area'.*public about all of them"),
        ({"race": 1}, "unknown key 'race'"),
    ],
)
def test_jobs_that_cannot_be_chosen_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        TableSpec.from_entry({**GOODS, **given})


def test_an_area_of_jobs_consists_of_known_units(later_dataset: Path) -> None:
    areas = Areas(open_store(later_dataset, "dataset", verify=False))
    for area, words in (("Atlantis", "no area has that name"), ("circle:-71,41,5", "give units")):
        with pytest.raises(UsageError, match=words):
            Jobs(work_area=area).locate(areas)


def test_jobs_are_written_in_a_certificate_and_read_back() -> None:
    jobs = Jobs.from_options({"age": "1,2", "earnings": [3], "work-area": "county:81001"})
    assert Jobs.from_claim(jobs.claim()) == jobs
    assert jobs.in_words.startswith("age 29 or younger or 30 to 54; earnings More than")
    assert Jobs.from_options({"industry": [1, 2, 3]}).are_all
