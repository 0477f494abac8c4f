"""Persons with several jobs: what releases and records promise them, and that their identifiers go nowhere."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas
import pyarrow.parquet
import pytest

from geodata.store.store import open_store
from geodata.workers.persons import JOB_NUMBER
from mapapp.base.errors import UsageError
from mapapp.kinds.base.persons import person_amounts, sum_for_person
from mapapp.kinds.records.make.attributes import read_attributes
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.recheck import check_records
from mapapp.kinds.records.make.run import make_records, read_plan
from mapapp.kinds.records.make.workers import read_codes
from tests.commands.running import refused, run_here
from tests.sharing import made_once

PERSON = "4417-secret-"
KEY = ("--test-key", "-q")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's workers as the jobs of persons, every third of whom has three, and what is published of them."""

    def make(place: Path) -> None:
        assert (
            run_here("demo", place / "demo", "--size", "small", "--sources", place / "files", "-q").code == 0
        )
        workers = pandas.read_csv(place / "files" / "workers.csv", dtype=str, keep_default_na=False)
        row = np.arange(len(workers))
        person = np.where(row % 5 < 3, row // 5, 10**6 + row)
        workers["person"] = [f"{PERSON}{number:07}" for number in person]
        workers.to_csv(place / "workers.csv", index=False)
        schema = (place / "files" / "workers.toml").read_text() + '\n[person]\ncolumn = "person"\n'
        (place / "workers.toml").write_text(schema)
        files = ("--workers", place / "workers.csv", "--schema", place / "workers.toml")
        public = place / "files" / "public"
        assert run_here("import", place / "d", "--from", public, *files, "-q").code == 0
        assert run_here("synthesize", place / "d", place / "r", "-q").code == 0
        assert run_here("records", place / "d", place / "w", "--given-segments", "-q").code == 0

    return made_once(tmp_path_factory, "persons", make)


def certificate(path: Path) -> dict[str, Any]:
    stated: dict[str, Any] = json.loads((path / "certificate.json").read_text())
    return stated


def exact(amounts: dict[str, Any]) -> tuple[Fraction, Fraction]:
    return Fraction(amounts["epsilon"]["exact"]), Fraction(amounts["delta"]["exact"])


def texts_in(file: Path) -> str:
    """Everything that a file of a store says in words: its names and texts, not compressed."""
    if file.suffix != ".parquet":
        return file.read_bytes().decode("utf-8", "replace")
    table = pyarrow.parquet.read_table(file)
    columns = [table.column(name) for name in table.column_names if table.schema.field(name).type != "binary"]
    words = [str(value) for column in columns for value in column.unique().to_pylist()]
    return "\n".join([*table.column_names, str(table.schema.metadata), *words])


def test_identifiers_are_in_no_file_that_was_made(folder: Path) -> None:
    """Finds an identifier in a dataset, a release, or records, and the number of a job in a publication."""
    assert PERSON in texts_in(folder / "workers.csv")
    assert JOB_NUMBER in texts_in(folder / "d" / "workers.parquet")
    for made in ("d", "r", "w"):
        files = sorted((folder / made).iterdir())
        assert len(files) > 8
        for file in files:
            assert PERSON.encode() not in file.read_bytes()
            assert PERSON not in texts_in(file), file
            assert made == "d" or JOB_NUMBER not in texts_in(file), file


def test_every_job_counts_in_a_release_and_it_says_what_persons_are_promised(folder: Path) -> None:
    """Finds dropped jobs in a release, and a certificate without both promises, or that `certify` does not redo."""
    dataset, release = open_store(folder / "d", "dataset"), open_store(folder / "r", "release")
    assert release.table("jobs")["count"].sum() == len(dataset.table("workers"))
    stated = certificate(folder / "r")
    reading = stated["readings"]["differential_privacy"]
    epsilon, delta = exact(reading)
    assert exact(reading["person"]["amounts"]) == (2 * epsilon, delta) == (Fraction(13), Fraction(0))
    assert "a person with k jobs is promised k times this epsilon" in reading["person"]["in_words"]
    assert "each year's bound adds" in reading["person"]["in_words"]
    assert stated["publication"]["facts"]["persons"] is True
    assert run_here("certify", folder / "r").code == 0


def test_records_are_made_from_at_most_two_jobs_of_a_person(folder: Path) -> None:
    """Finds a third job in the model, a promise per job only, and numbers that give away how many were left out."""
    dataset = open_store(folder / "d", "dataset")
    attributes, numbers = read_attributes(dataset), dataset.table("workers")[JOB_NUMBER]
    assert sorted(set(numbers)) == [0, 1, 2]
    kept = sum(map(len, read_codes(dataset, attributes, jobs_per_person=2)))
    assert kept == (numbers < 2).sum() < len(numbers)
    stated = certificate(folder / "w")
    assert stated["records"]["n_total"] == len(numbers), (
        "the number of kept jobs would say how many were left out"
    )
    assert str(kept) not in json.dumps(stated)
    person = stated["promise"]["person"]
    assert (person["jobs"], exact(person["amounts"])) == (2, (Fraction(4), Fraction(0)))
    assert "epsilon 2 and delta 0 with or without all these jobs" in person["in_words"]
    assert [check.check for check in check_records(folder / "w") if not check.ok] == []


def test_a_dropped_job_changes_no_byte_of_the_model(folder: Path, tmp_path: Path) -> None:
    """Finds a job beyond the limit that still reaches the tables: all third jobs become somebody else's here."""
    codes: list[npt.NDArray[np.int32]] = []
    for change in (lambda rows: rows, _third_jobs_elsewhere):
        place = tmp_path / str(len(codes))
        shutil.copytree(folder / "d", place)
        _rewrite(place, change)
        dataset = open_store(place, "dataset")
        codes.append(np.concatenate(list(read_codes(dataset, read_attributes(dataset), jobs_per_person=2))))
    assert np.array_equal(codes[0], codes[1])


def _third_jobs_elsewhere(rows: pandas.DataFrame) -> pandas.DataFrame:
    return rows.assign(origin_index=rows["origin_index"].where(rows[JOB_NUMBER] < 2, 0))


def _rewrite(place: Path, change: Callable[[pandas.DataFrame], pandas.DataFrame]) -> None:
    from tests.releases import rewrite_table

    rewrite_table(place, "workers", change)


def test_the_ledger_adds_the_bounds_of_persons(folder: Path, tmp_path: Path) -> None:
    """Finds a ledger that counts a person with two jobs in two years as one worker of one year."""
    # 6.5 of the release and 2 of the records, as the ledger charges them, for each of two jobs.
    assert "for a person with 2 jobs in each: epsilon 17, delta 0" in run_here("ledger", folder / "d").out
    shutil.copytree(folder / "d", tmp_path / "next")
    (tmp_path / "next" / "ledger.jsonl").unlink()
    assert run_here("records", tmp_path / "next", tmp_path / "w", "-q").code == 0
    both = json.loads(run_here("ledger", folder / "d", tmp_path / "next", "--json").out)
    assert (both["spent"]["epsilon"], both["person"]) == (10.5, {"jobs": 2, **both["person"]})
    assert both["person"]["epsilon"] == 21


@pytest.mark.parametrize("jobs", [1, 2, 3, 5])
def test_the_bound_for_a_person_is_that_of_so_many_steps(jobs: int) -> None:
    """Finds a delta below the sum of the steps: each step's factor multiplies the deltas of those before it."""
    epsilon, delta = Fraction(13, 10), Fraction(1, 10**6)
    of_steps, factor = 0.0, math.exp(epsilon)
    for _ in range(jobs):
        of_steps = factor * of_steps + float(delta)
    stated = person_amounts(epsilon, delta, jobs)
    assert stated[0] == jobs * epsilon
    assert float(stated[1]) >= of_steps
    assert float(stated[1]) == pytest.approx(jobs * math.exp((jobs - 1) * 1.3) * 1e-6, rel=1e-4)
    assert person_amounts(Fraction(800), delta, 2)[1] == 1
    of_two = person_amounts(epsilon, delta, 2)
    assert sum_for_person([(epsilon, Fraction(0)), (epsilon, delta)], 2) == (4 * epsilon, of_two[1])


def test_choices_that_would_say_how_many_jobs_were_left_out_are_refused(folder: Path, tmp_path: Path) -> None:
    """Finds seeds whose public number is that of all jobs, of which fewer are left."""
    dataset = open_store(folder / "d", "dataset")
    seeded = Choice(kept=("work_puma",), min_seeds=20)
    with pytest.raises(UsageError, match="give --records, a public number"):
        read_plan(dataset, seeded)
    n_workers = len(dataset.table("workers"))
    before = (folder / "d" / "ledger.jsonl").read_bytes()
    choice = Choice(kept=("work_puma",), min_seeds=20, n_records=n_workers, given_segments=True)
    with pytest.raises(UsageError, match=r"fewer jobs are left .* nothing was spent"):
        make_records(folder / "d", tmp_path / "w", choice)
    assert (folder / "d" / "ledger.jsonl").read_bytes() == before
    assert not (tmp_path / "w").exists()
    demo = ("records", folder / "demo", tmp_path / "w", "--jobs-per-person", "2", *KEY)
    assert "the dataset does not know persons" in refused(*demo)
    assert "give 1 or more" in refused("records", folder / "d", tmp_path / "w", "--jobs-per-person", "0")
