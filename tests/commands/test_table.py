"""`commutemap table`: what it prints, and everything that it refuses in one line, leaving nothing behind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mapapp.kinds.tables.make.spec import TableSpec
from tests.commands.running import refused, run_here
from tests.tables import write_later_jobs, write_prior, write_table

OPTIONS = {"rows": "county", "columns": "industry", "counts": "same-unit"}
USUAL = ("--rows", "county", "--columns", "industry", "--counts", "same-unit", "--delta", "0.1")


@pytest.fixture(scope="module")
def source(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_later_jobs(tmp_path_factory.mktemp("later") / "d", demo_dataset)


@pytest.fixture
def dataset(source: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(source, tmp_path / "d"))


@pytest.fixture(scope="module")
def prior(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_prior(
        tmp_path_factory.mktemp("prior") / "prior.csv", demo_dataset, TableSpec.from_options(OPTIONS)
    )


def refuses(dataset: Path, *arguments: object) -> str:
    """Run a command that must refuse before anything is entered or written."""
    message = refused("table", dataset, dataset.parent / "t", *arguments, "-q")
    assert not (dataset / "ledger.jsonl").exists(), "a refused table must not be entered in the ledger"
    assert not (dataset.parent / "t").exists()
    return message


def test_a_table_is_made_certified_and_listed(dataset: Path, prior: Path, tmp_path: Path) -> None:
    done = run_here("table", dataset, tmp_path / "t", *USUAL, "--prior", prior, "-q", "--json")
    assert done.code == 0, done.err
    made = json.loads(done.out)
    assert 0 < made["released"] <= made["cells"]
    assert made["breach"] is None
    checked = run_here("certify", tmp_path / "t", "--digest", made["table_digest"], "--json")
    assert json.loads(checked.out)["holds"], checked.out
    listed = run_here("ledger", dataset)
    assert "no epsilon or delta to add up" in listed.out


def test_a_dry_run_writes_and_enters_nothing(dataset: Path, prior: Path, tmp_path: Path) -> None:
    done = run_here("table", dataset, tmp_path / "t", *USUAL, "--prior", prior, "--dry-run", "-q")
    assert done.code == 0, done.err
    assert "no home was read" in done.out
    assert sorted(each.name for each in tmp_path.iterdir()) == ["d"]
    assert not (dataset / "ledger.jsonl").exists()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (("--epsilon", "0"), ["epsilon 0", "above 0 and below 1"]),
        (("--epsilon", "1"), ["epsilon 1", "would count as safe"]),
        (("--epsilon", "half"), ["epsilon", "half"]),
        (("--delta", "0"), ["delta 0", "above 0 and below 1"]),
        (("--delta", "1"), ["delta 1", "above 0 and below 1"]),
        (("--columns", "race"), ["race", "not public in this dataset", "earnings"]),
        (("--columns", "industry,industry"), ["once"]),
        (("--rows", "galaxy"), ["galaxy", "no such layer", "county"]),
        (("--counts", "nearby"), ["nearby", "beyond=MILES"]),
        (("--counts", "beyond=far"), ["beyond=far", "beyond=MILES"]),
        (("--counts", "beyond=-1"), ["-1", "miles"]),
        (("--flows", "county"), ["--flows", "leave one out"]),
        (("--totals", "both"), ["at most 3 rows", "--totals rows", "tree"]),
        (("--decide", "sampled", "--totals", "rows"), ["sampled", "leave out --totals"]),
        (("--decide", "guessed"), ["guessed", "sampled"]),
    ],
)
def test_impossible_tables_are_refused(
    dataset: Path, prior: Path, changed: tuple[str, ...], words: list[str]
) -> None:
    message = refuses(dataset, *USUAL, "--prior", prior, *changed)
    for word in words:
        assert word in message, message


@pytest.mark.parametrize("missing", ["--rows", "--counts", "--prior"])
def test_what_is_missing_is_named(dataset: Path, prior: Path, missing: str) -> None:
    arguments = [*USUAL, "--prior", str(prior)]
    at = arguments.index(missing)
    assert f"{missing} is missing" in refuses(dataset, *arguments[:at], *arguments[at + 2 :])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{row},{column},0", ["is 0", "rate above 0 and below 1"]),
        ("{row},{column},1", ["is 1", "rate above 0 and below 1"]),
        ("{row},{column},1.5", ["1.5", "from 0 to 1", "line 2"]),
        ("{row},{column},most", ["most", "line 2"]),
        ("{row},{column},0.12345678901", ["at most 9 decimals"]),
        ("nowhere,{column},1/2", ["no prior for", "(row_id"]),
        ("{row},{column},1/2\n{row},{column},1/3", ["twice"]),
    ],
)
def test_a_bad_rate_in_a_prior_is_refused(
    dataset: Path, source: Path, tmp_path: Path, line: str, words: list[str]
) -> None:
    path = write_prior(tmp_path / "rates.csv", source, TableSpec.from_options(OPTIONS), as_rates=True)
    head, first, *rest = path.read_text().splitlines()
    row, column, _rate = first.split(",")
    path.write_text("\n".join([head, line.format(row=row, column=column), *rest]))
    message = refuses(dataset, *USUAL, "--prior", path)
    for word in words:
        assert word in message, message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", ["row_id, column_id"]),
        ("row_id,column_id,people,value\n81001,1,5,6\n", ["line 2", "value 6 is above people 5"]),
        ("row_id,column_id,people,value\n81001,1,-5,6\n", ["line 2", "-5"]),
        ("row_id,column_id,people,value\n", ["no prior for"]),
    ],
)
def test_a_bad_file_of_counts_is_refused(dataset: Path, tmp_path: Path, text: str, words: list[str]) -> None:
    (tmp_path / "counts.csv").write_text(text)
    message = refuses(dataset, *USUAL, "--prior", tmp_path / "counts.csv")
    for word in words:
        assert word in message, message


def test_a_dataset_or_a_table_cannot_be_the_prior(dataset: Path, source: Path, tmp_path: Path) -> None:
    assert "this is a dataset" in refuses(dataset, *USUAL, "--prior", source)
    other = write_table(tmp_path / "other.table", source)
    assert "this is a table, but a release is needed" in refuses(dataset, *USUAL, "--prior", other)
    assert "no such directory or file" in refuses(dataset, *USUAL, "--prior", dataset / "nowhere.csv")


def test_flows_between_tracts_say_what_to_expect_and_need_anyway(
    dataset: Path, demo_dataset: Path, tmp_path: Path
) -> None:
    spec = TableSpec.from_options({"rows": "tract", "flows": "tract"})
    prior = write_prior(tmp_path / "flows.csv", demo_dataset, spec)
    arguments = ("--rows", "tract", "--flows", "tract", "--prior", prior)
    message = refuses(dataset, *arguments)
    assert "% of the people, can be expected" in message
    assert "--anyway" in message
    assert run_here("table", dataset, tmp_path / "t", *arguments, "--anyway", "-q").code == 0


def test_a_first_breach_is_reported_and_the_table_is_whole(
    dataset: Path, prior: Path, tmp_path: Path
) -> None:
    head, *lines = prior.read_text().splitlines()
    cells = [line.split(",") for line in lines]
    largest = max(cells, key=lambda cell: int(cell[2]))
    largest[3] = str(int(largest[2]) - int(largest[3]))
    (tmp_path / "wrong.csv").write_text("\n".join([head, *(",".join(cell) for cell in cells)]))
    done = run_here("table", dataset, tmp_path / "t", *USUAL, "--prior", tmp_path / "wrong.csv", "-q")
    assert done.code == 2
    assert "stopped at decision" in done.message
    assert "everything after it is suppressed" in done.message
    assert run_here("certify", tmp_path / "t").code == 0


def test_several_tables_come_from_one_file(dataset: Path, demo_dataset: Path, tmp_path: Path) -> None:
    fine = TableSpec.from_options({"rows": "tract", "columns": "industry", "counts": "beyond=3"})
    prior = write_prior(tmp_path / "prior.csv", demo_dataset, fine)
    config = tmp_path / "tables.toml"
    config.write_text(
        f'prior = "{prior}"\ndelta = 0.1\n'
        '[[table]]\nrows = "tract"\ncolumns = ["industry"]\ncounts = "beyond=3"\n'
        '[[table]]\nrows = "county"\ncolumns = "industry"\ncounts = "beyond=3"\n'
    )
    done = run_here("table", dataset, tmp_path / "t", "--config", config, "-q")
    assert done.code == 0, done.err
    assert len(json.loads((tmp_path / "t" / "certificate.json").read_text())["tables"]) == 2
    assert run_here("certify", tmp_path / "t").code == 0
    assert "leave it out" in refused("table", dataset, tmp_path / "t2", "--config", config, "--rows", "tract")
    config.write_text(f'prior = "{prior}"\n[[table]]\nrow = "tract"\n')
    assert "unknown key 'row'" in refused("table", dataset, tmp_path / "t2", "--config", config, "-q")


def test_a_second_table_of_the_same_jobs_is_refused(dataset: Path, prior: Path, tmp_path: Path) -> None:
    assert run_here("table", dataset, tmp_path / "t", *USUAL, "--prior", prior, "-q").code == 0
    message = refused("table", dataset, tmp_path / "t2", *USUAL, "--prior", prior, "-q")
    assert "the table 't' of the same jobs" in message
    assert sorted(each.name for each in tmp_path.iterdir()) == ["d", "t"]


def test_a_table_has_nothing_to_add_up(dataset: Path, prior: Path, tmp_path: Path) -> None:
    assert run_here("table", dataset, tmp_path / "t", *USUAL, "--prior", prior, "-q").code == 0
    assert "no epsilon or delta to add up" in refused("ledger", dataset, tmp_path / "t")
    withdrawn = run_here("ledger", dataset, "--withdraw", "t", "--reason", "wrong year")
    assert "withdrawn, still counted" in withdrawn.out
    assert "the table 't'" in refused("table", dataset, tmp_path / "t2", *USUAL, "--prior", prior, "-q")


def test_an_interrupt_leaves_no_part_of_a_table(
    dataset: Path, prior: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mapapp.kinds.tables.make import run

    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "_write", interrupted)
    done = run_here("table", dataset, tmp_path / "t", *USUAL, "--prior", prior, "-q")
    assert done.code == 130
    assert done.message == "commutemap: stopped; nothing was kept"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["d"]


def test_secret_coins_cannot_be_replayed_and_certify_says_so(
    dataset: Path, prior: Path, tmp_path: Path
) -> None:
    arguments = ("--delta", "0.9", "--decide", "sampled", "--prior", prior, "-q")
    assert run_here("table", dataset, tmp_path / "t", *USUAL, *arguments).code == 0
    done = run_here("certify", tmp_path / "t")
    assert done.code == 0, done.out
    assert "coins cannot be repeated" in done.out


def test_publications_beside_must_be_of_the_same_jobs(dataset: Path, prior: Path, demo_release: Path) -> None:
    message = refuses(dataset, *USUAL, "--prior", prior, "--beside-release", demo_release)
    assert "was not made from the jobs of" in message
