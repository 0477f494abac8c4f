"""`commutemap records`: what it prints, and everything that it refuses in one line, leaving nothing behind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.commands.running import refused, run_here

PLACES = "work_puma,home_puma"
SEEDED = ("--kept", PLACES)
EVERYTHING = f"{PLACES},naics_sector,earnings,age,sex,race,ethnicity,education,firm_size"


@pytest.fixture
def dataset(demo_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path / "d"))


def test_records_are_made_certified_and_listed(dataset: Path, tmp_path: Path) -> None:
    done = run_here("records", dataset, tmp_path / "r", "--json", "-q")
    assert done.code == 0, done.err
    made = json.loads(done.out)
    assert made["promise"]["add_remove"]["epsilon"]["value"] == 1
    assert made["promise"]["replace_one"]["epsilon"]["value"] == 2
    checked = run_here("certify", tmp_path / "r", "--digest", made["records_digest"], "--json")
    assert json.loads(checked.out)["holds"], checked.out
    listed = run_here("ledger", dataset)
    assert "records, one worker replaced (with or without one worker: 1 and 0)" in listed.out
    entry = json.loads(run_here("ledger", dataset, "--json").out)["entries"][0]
    assert entry["kind"] == "records"
    assert entry["add_remove"] == {"epsilon": "1", "delta": "0"}
    assert "spent epsilon 2" in listed.out
    assert "whose ledger counts it already" in refused("ledger", tmp_path / "r", dataset)


def test_records_and_a_release_add_up_for_a_person_in_both(
    dataset: Path, demo_release: Path, tmp_path: Path
) -> None:
    assert run_here("records", dataset, tmp_path / "r", "--epsilon", "0.5", "-q").code == 0
    found = json.loads(run_here("ledger", tmp_path / "r", demo_release, "--json").out)
    assert found["spent"]["epsilon"] == 1, "the release is not for release and counts nothing"
    assert any("protect different things" in note for note in found["notes"])


def test_what_is_promised_is_printed_in_both_readings(dataset: Path, tmp_path: Path) -> None:
    done = run_here("records", dataset, tmp_path / "r", *SEEDED, "--min-seeds", "100", "--test-key", "-q")
    assert done.code == 0, done.err
    for words in (
        "with or without one worker (sound accountant)",
        "as in the ledger",
        "tries passed",
        "k 100",
    ):
        assert words in done.out


def test_a_dry_run_writes_and_enters_nothing(dataset: Path, tmp_path: Path) -> None:
    done = run_here("records", dataset, tmp_path / "r", *SEEDED, "--epsilon", "6", "--dry-run", "-q")
    assert done.code == 0, done.err
    assert "no worker's record was read" in done.out
    assert "pass rate        cannot be said" in done.out
    assert sorted(each.name for each in tmp_path.iterdir()) == ["d"]
    assert not (dataset / "ledger.jsonl").exists()


def test_options_come_from_a_file(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "choice.toml").write_text("[records]\nepsilon = 0.5\nrecords = 700\ntest-key = true\n")
    done = run_here("records", dataset, tmp_path / "r", "--config", tmp_path / "choice.toml", "--json", "-q")
    made = json.loads(done.out)
    assert made["records"]["n_total"] == 700
    assert made["promise"]["add_remove"]["epsilon"]["exact"] == "1/2"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((*SEEDED, "--min-seeds", "1"), ["--min-seeds 1", "2 or more"]),
        ((*SEEDED, "--min-seeds", "900", "--n-min", "800"), ["--min-seeds 900", "--n-min 800"]),
        ((*SEEDED, "--n-min", "1"), ["--n-min 1", "2 to"]),
        ((*SEEDED, "--n-min", "2500"), ["--n-min 2,500", "sure to be seeds", "--split"]),
        ((*SEEDED, "--min-seeds", "100", "--seed-floor", "101"), ["--seed-floor 101", "1 to 100"]),
        ((*SEEDED, "--min-seeds", "100", "--seed-floor", "0"), ["--seed-floor 0", "1 to 100"]),
        ((*SEEDED, "--similarity", "0.5"), ["--similarity 0.5", "1 or more"]),
        ((*SEEDED, "--similarity", "alike"), ["similarity", "alike"]),
        ((*SEEDED, "--threshold-epsilon", "0"), ["--threshold-epsilon 0", "above 0"]),
        ((*SEEDED, "--threshold-epsilon", "-1"), ["--threshold-epsilon -1", "above 0"]),
        ((*SEEDED, "--threshold-epsilon", "pi"), ["threshold-epsilon", "pi"]),
        ((*SEEDED, "--forced-fail", "0"), ["--forced-fail 0", "above 0 and below 1"]),
        ((*SEEDED, "--forced-fail", "1"), ["--forced-fail 1", "above 0 and below 1"]),
        (("--kept", "home_puma"), ["--kept home_puma", "first ones", "work_puma"]),
        (("--kept", "work_puma,shoe_size"), ["shoe_size", "work_puma, home_puma, naics_sector"]),
        ((*SEEDED, "--tries", "0"), ["--tries 0", "give 1 to"]),
        ((*SEEDED, "--tries", "4000"), ["--tries 4,000", "--records"]),
        (("--records", "0"), ["--records 0", "give 1 to"]),
        (("--epsilon", "0"), ["--epsilon 0", "above 0"]),
        (("--epsilon", "one"), ["epsilon", "one"]),
        (("--delta", "1e-6"), ["--delta 1e-06", "--kept none", "leave it out"]),
        ((*SEEDED, "--delta", "0"), ["--delta 0", "above 0 and below 1"]),
        (
            (*SEEDED, "--min-seeds", "100", "--threshold-epsilon", "0.01"),
            ["delta is 1e-06", "use up", "min plausible seeds", "threshold epsilon"],
        ),
        (("--min-seeds", "100"), ["--min-seeds", "--kept none", "leave it out"]),
        (("--no-top-up",), ["--no-top-up", "--kept none"]),
        (("--accountant", "paper"), ["--accountant paper", "--kept none"]),
        ((*SEEDED, "--accountant", "paper", "--epsilon", "2"), ["--epsilon with --accountant paper"]),
        ((*SEEDED, "--split", "0.5,0.6"), ["0.5,0.6", "add up to 1"]),
        ((*SEEDED, "--split", "1"), ["two or three shares"]),
        (("--split", "0.5,0.5"), ["0.5 to the seeds", "--kept none"]),
        ((*SEEDED, "--split", "1,0"), ["no workers to the parameters"]),
        (("--structure", "learned"), ["--structure learned", "bits", "--anyway"]),
        ((*SEEDED, "--epsilon", "0.001"), ["epsilon is 0.001", "fewer tries"]),
        (("--epsilon", "1000"), ["--epsilon 1000", "12 tables", "range"]),
        (("--epsilon", "1e-9"), ["--epsilon 1e-09", "12 tables", "range"]),
        (("--records", "9999999999999999"), ["--records", "give 1 to"]),
        (
            ("--kept", EVERYTHING, "--min-seeds", "100"),
            ["table of group sizes", "keep fewer attributes, or add --no-top-up"],
        ),
        (("--structure", "tree"), ["tree", "public", "learned"]),
    ],
)
def test_a_bad_choice_is_refused(dataset: Path, options: tuple[str, ...], words: list[str]) -> None:
    message = refused("records", dataset, dataset.parent / "r", *options, "-q")
    assert [word for word in words if word not in message] == [], message
    assert not (dataset / "ledger.jsonl").exists(), "refused records must not be entered in the ledger"
    assert sorted(each.name for each in dataset.parent.iterdir()) == ["d"]


def test_a_place_that_is_taken_is_refused(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    assert "exists" in refused("records", dataset, tmp_path / "r", "-q")
    assert not (dataset / "ledger.jsonl").exists()


def test_records_are_no_dataset(demo_records: Path, tmp_path: Path) -> None:
    message = refused("records", demo_records, tmp_path / "r", "-q")
    assert "these are records, but a dataset is needed here" in message


def test_records_beside_a_table_need_consent(dataset: Path, tmp_path: Path) -> None:
    from mapapp.kinds.base.ledger import Ledger

    Ledger(dataset).enter_table("early.table", beside=lambda _: (), check=lambda: None)
    message = refused("records", dataset, tmp_path / "r", "-q")
    assert "a table and records beside each other have no joint promise" in message
    assert "--beside-release TABLE" in message
    assert len(Ledger(dataset).entries()) == 1
