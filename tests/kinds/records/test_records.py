"""Records made from the demo: what they hold, what they promise, and what the ledger says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from geodata.store.store import open_store, store_digest
from mapapp.answers.claims import BesideClaim
from mapapp.base.errors import UsageError
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.base.ledger_entry import LedgerError
from mapapp.kinds.base.overlapping_publications import (
    GIVEN_CELLS,
    GIVEN_SEGMENTS,
    beside_in_words,
    known_of_records,
)
from mapapp.kinds.records.make import drawing
from mapapp.kinds.records.make.attributes import read_attributes
from mapapp.kinds.records.make.certificate import _factor
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.expected import plan_only
from mapapp.kinds.records.make.recheck import check_records
from mapapp.kinds.records.make.run import make_records, read_plan
from mapapp.kinds.records.make.workers import count_workers, read_codes
from tests.records_store import write_records
from tests.releases import rewrite_document, rewrite_table

SEEDED = Choice(test_key=True, kept=("work_puma", "home_puma"), min_seeds=100)


@pytest.fixture
def dataset(demo_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path / "d"))


def certificate_of(records: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((records / "certificate.json").read_text())
    return found


def failed(records: Path) -> list[str]:
    return [check.check for check in check_records(records) if not check.ok]


def test_codes_are_those_of_the_workers(demo_dataset: Path) -> None:
    store = open_store(demo_dataset, "dataset")
    attributes = read_attributes(store)
    codes = np.concatenate(list(read_codes(store, attributes)))
    workers = store.table("workers")
    assert codes.shape == (count_workers(store), len(attributes.names)) == (len(workers), 12)
    assert "industry" not in attributes.names, "it follows from the sector, so it is never drawn"
    sector = attributes.attributes[attributes.place("naics_sector")]
    derived = np.array(sector.derives["industry"])[codes[:, attributes.place("naics_sector")]]
    assert (derived == workers["industry"].to_numpy()).all()
    for name in ("age", "earnings"):
        assert (codes[:, attributes.place(name)] == workers[name].to_numpy() - 1).all()
    for name in ("sex", "race", "firm_size"):
        assert (codes[:, attributes.place(name)] == workers[name].to_numpy()).all()
    puma = attributes.geography.tracts.puma[attributes.geography.tract_of_block]
    assert (codes[:, attributes.place("home_puma")] == puma[workers["origin_index"]]).all()


def test_no_worker_has_a_combination_that_is_ruled_out(demo_dataset: Path) -> None:
    store = open_store(demo_dataset, "dataset")
    attributes = read_attributes(store)
    codes = np.concatenate(list(read_codes(store, attributes)))
    for rule in attributes.possible:
        given = tuple(codes[:, place] for place in rule.given)
        assert rule.table[(*given, codes[:, rule.attribute])].all()


def test_parents_come_before_their_children(demo_dataset: Path) -> None:
    attributes = read_attributes(open_store(demo_dataset, "dataset"))
    assert attributes.names[:4] == ("work_puma", "home_puma", "naics_sector", "earnings")
    assert all(parent < child for child, parents in enumerate(attributes.wished) for parent in parents)


def test_a_dataset_without_worker_records_uses_its_jobs(dataset: Path) -> None:
    store = open_store(dataset, "dataset")
    files = {name: facts for name, facts in store.manifest["files"].items() if name != "workers.parquet"}
    facts = {name: value for name, value in store.manifest.items() if name != "worker_attributes"}
    bare = replace(store, manifest={**facts, "files": files})
    attributes = read_attributes(bare)
    assert attributes.names == (
        *("work_puma", "home_puma", "industry", "earnings", "age"),
        *("work_tract", "distance_band"),
    )
    codes = np.concatenate(list(read_codes(bare, attributes)))
    assert codes.shape[0] == store.table("jobs")["count"].sum() == count_workers(bare)


def test_what_a_dataset_lacks_is_dropped_and_said(dataset: Path, tmp_path: Path) -> None:
    rewrite_table(dataset, "jobs", lambda rows: rows.assign(age=np.int8(1)))
    rewrite_table(dataset, "workers", lambda rows: rows.assign(age=np.int8(1)))
    manifest = json.loads((dataset / "manifest.json").read_text())
    (dataset / "manifest.json").write_text(json.dumps(manifest | {"missing_attributes": ["age"]}))
    outcome = make_records(dataset, tmp_path / "r", Choice(test_key=True))
    assert "age" not in outcome.certificate["resampling_order"]
    assert any("age: the dataset has none" in line for line in outcome.lines())
    assert (open_store(tmp_path / "r", "records").table("records")["age"] == 1).all()
    assert failed(tmp_path / "r") == []


@pytest.mark.parametrize("kind", ["seedless", "seeded"])
def test_records_are_certified(kind: str, request: pytest.FixtureRequest) -> None:
    records = request.getfixturevalue(f"{kind}_records")
    assert failed(records) == []


def test_records_of_schema_2_say_that_they_have_no_run_id(seedless_records: Path, tmp_path: Path) -> None:
    records = Path(shutil.copytree(seedless_records, tmp_path / "r"))
    certificate = certificate_of(records)
    del certificate["run_id"]
    rewrite_document(records, "certificate.json", certificate)
    assert failed(records) == ["schema"]
    rewrite_document(records, "certificate.json", certificate | {"schema_version": 2})
    checks = check_records(records)
    assert all(check.ok for check in checks)
    assert ("fields of later versions", True, "schema 2 without run_id") in checks


def test_every_worker_is_counted_and_has_every_attribute(seedless_records: Path, demo_dataset: Path) -> None:
    store = open_store(seedless_records, "records")
    rows = store.table("records")
    assert len(rows) == len(store.table("points")) == store.table("jobs")["count"].sum()
    assert len(rows) == count_workers(open_store(demo_dataset, "dataset"))
    assert {"sex", "race", "ethnicity", "education", "naics_sector", "firm_size"} < set(rows)
    assert certificate_of(seedless_records)["records"]["topped_up"] == len(rows)


def test_the_same_key_makes_the_same_records_on_any_number_of_threads(
    dataset: Path, seeded_records: Path, tmp_path: Path
) -> None:
    again = make_records(dataset, tmp_path / "again", SEEDED, threads=3)
    assert again.digest == store_digest(seeded_records)


def test_seedless_records_cost_twice_as_much_where_a_worker_is_replaced(seedless_records: Path) -> None:
    found = certificate_of(seedless_records)
    assert found["seeds"] is None
    assert found["promise"]["add_remove"]["epsilon"]["exact"] == "1"
    assert found["epsilon_final"]["exact"] == found["promise"]["replace_one"]["epsilon"]["exact"] == "2"
    assert found["delta"]["exact"] == "0"
    assert found["whole_record"] is True


def test_seeded_records_are_topped_up_to_the_number_of_workers(seeded_records: Path) -> None:
    found = certificate_of(seeded_records)
    counts = found["records"]
    assert 0 < counts["n_passed"] < counts["n_tried"]
    assert counts["n_passed"] + counts["topped_up"] == counts["n_total"] == 3_000
    assert "at least 49 workers who share" in found["seeds"]["records_in_words"]
    assert found["model"]["epsilon"] == found["promise"]["add_remove"]["epsilon"]


def test_without_topping_up_only_records_from_seeds_are_there(dataset: Path, tmp_path: Path) -> None:
    make_records(dataset, tmp_path / "r", replace(SEEDED, top_up=False))
    counts = certificate_of(tmp_path / "r")["records"]
    assert counts["n_total"] == counts["n_passed"] > 0
    assert failed(tmp_path / "r") == []
    assert certificate_of(tmp_path / "r")["expected_error"] == [], (
        "small groups lack more records than large ones"
    )


def test_if_all_candidates_fail_records_of_the_model_are_released(dataset: Path, tmp_path: Path) -> None:
    # No group of four kept attributes has so many seeds.
    kept = ("work_puma", "home_puma", "naics_sector", "earnings")
    choice = replace(SEEDED, kept=kept, min_seeds=1_500, threshold_epsilon=Fraction(1), top_up=False)
    outcome = make_records(dataset, tmp_path / "r", choice)
    found = outcome.certificate
    assert found["records"]["n_passed"] == 0
    assert found["records"]["topped_up"] == found["records"]["n_total"] == 3_000
    assert any("No candidate made from a seed passed" in each for each in found["does_not_promise"])
    assert any("no candidate passed" in line for line in outcome.lines())
    assert failed(tmp_path / "r") == []


def test_the_number_of_records_is_as_asked(dataset: Path, tmp_path: Path) -> None:
    make_records(dataset, tmp_path / "r", Choice(test_key=True, n_records=500))
    assert len(open_store(tmp_path / "r", "records").table("records")) == 500


@pytest.mark.parametrize("kept", [(), ("work_puma", "home_puma")])
def test_more_records_than_workers_are_refused_before_they_are_charged(
    kept: tuple[str, ...], dataset: Path, tmp_path: Path
) -> None:
    """They would state more seeds, and more workers behind the tables, than there are."""
    n_workers = count_workers(open_store(dataset, "dataset"))
    choice = Choice(kept=kept, n_records=n_workers + 1)
    with pytest.raises(UsageError, match="more than the dataset has workers; give fewer"):
        make_records(dataset, tmp_path / "r", choice)
    with pytest.raises(UsageError, match="more than the dataset has workers"):
        plan_only(dataset, choice)
    assert Ledger(dataset).entries() == ()
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("epsilon", "factor"), [("1", "2.72"), ("2", "7.39"), ("1.1", "3.01"), ("20.4", "e^21"), ("30", "e^30")]
)
def test_the_factor_of_a_promise_is_rounded_up(epsilon: str, factor: str) -> None:
    assert _factor(Fraction(epsilon)) == factor


def test_a_learned_structure_promises_something_at_a_large_epsilon_too(dataset: Path) -> None:
    """Two steps, from either dataset to the two together and back, would have a delta of 1."""
    choice = Choice(structure="learned", anyway=True, epsilon=Fraction(30))
    plan = read_plan(open_store(dataset, "dataset"), choice)
    assert plan.parts[-1].replace_one == (Fraction(57, 2), Fraction(1, 10**6))
    assert plan.replace_one == (Fraction(60), Fraction(1, 10**6))


def test_the_ledger_is_charged_before_the_first_draw_and_stays_charged(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = []

    def interrupted(*_: object, **__: object) -> None:
        spent.append(Ledger(dataset).spent())
        raise KeyboardInterrupt

    monkeypatch.setattr(drawing, "learn_model", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_records(dataset, tmp_path / "r", Choice())
    assert spent == [(Fraction(2), Fraction(0))] == [Ledger(dataset).spent()]
    assert not (tmp_path / "r").exists()


def test_the_ledger_has_both_readings_and_the_parts(dataset: Path, tmp_path: Path) -> None:
    choice = replace(SEEDED, test_key=False)
    plan = plan_only(dataset, choice).plan
    make_records(dataset, tmp_path / "r", choice)
    (entry,) = Ledger(dataset).entries()
    assert entry.kind == "records"
    assert (entry.epsilon, entry.delta) == plan.replace_one
    assert entry.records is not None
    assert (entry.records.epsilon, entry.records.delta) == plan.add_remove
    assert [part.name for part in entry.records.parts] == ["seeds", "parameters"]
    assert entry.records.n_tries == certificate_of(tmp_path / "r")["records"]["n_tried"]
    assert [reading.name for reading in entry.readings] == ["differential_privacy"]


def test_a_budget_is_checked_before_the_first_draw(dataset: Path, tmp_path: Path) -> None:
    Ledger(dataset).set_budget(epsilon="3/2", delta="0")
    with pytest.raises(LedgerError, match=r"needs epsilon 2, but 0 of the dataset's 1\.5 is spent"):
        make_records(dataset, tmp_path / "r", Choice())
    assert not (tmp_path / "r").exists()
    assert len(Ledger(dataset).entries()) == 1


def test_epsilon_chooses_how_many_plausible_seeds(demo_dataset: Path) -> None:
    loose, tight = (
        plan_only(demo_dataset, replace(SEEDED, min_seeds=None, epsilon=Fraction(each))).plan
        for each in (8, 4)
    )
    for plan, epsilon in ((loose, 8), (tight, 4)):
        assert plan.add_remove.epsilon == epsilon == plan.model_epsilon
    assert loose.seeds is not None
    assert tight.seeds is not None
    assert loose.seeds.acceptance.min_plausible_seeds < tight.seeds.acceptance.min_plausible_seeds


def test_the_rate_of_noise_is_the_one_with_the_least_epsilon_unless_it_is_given(demo_dataset: Path) -> None:
    by_default, usual = (
        plan_only(demo_dataset, Choice(kept=("work_puma",), min_seeds=100, threshold_epsilon=rate)).plan
        for rate in (None, Fraction(7, 40))
    )
    assert by_default.seeds is not None
    assert by_default.seeds.acceptance.threshold_epsilon != Fraction(7, 40)
    assert by_default.add_remove.epsilon < usual.add_remove.epsilon


def test_a_dry_run_reads_no_worker_and_leaves_nothing(
    demo_dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mapapp.kinds.records.make.workers._Encoder.codes", _forbidden)
    found = plan_only(demo_dataset, SEEDED)
    assert any("pass rate" in line for line in found.lines())
    assert found.plan.add_remove.delta == Fraction(1, 10**6)


def _forbidden(*_: object) -> None:
    raise AssertionError("a dry run reads public data only")


def test_the_papers_accountant_is_not_for_release(dataset: Path, tmp_path: Path) -> None:
    make_records(
        dataset,
        tmp_path / "r",
        replace(SEEDED, accountant="paper", test_key=False, threshold_epsilon=Fraction(1)),
    )
    found = certificate_of(tmp_path / "r")
    assert found["status"] == "not for release"
    assert "how many candidates failed" in found["status_reasons"][0]
    assert found["promise"]["add_remove"]["epsilon"]["value"] > 1_000
    assert failed(tmp_path / "r") == []


def test_few_workers_need_consent_to_learn_a_structure(dataset: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\d+ entropies would get noise of .* bits"):
        make_records(dataset, tmp_path / "r", Choice(structure="learned"))
    assert not (dataset / "ledger.jsonl").exists()
    make_records(
        dataset, tmp_path / "r", Choice(structure="learned", anyway=True, test_key=True, epsilon=Fraction(8))
    )
    found = certificate_of(tmp_path / "r")["model"]
    assert found["structure"] == "learned"
    assert found["learned"]["noise_bits"] > 0
    assert failed(tmp_path / "r") == []


def test_beside_a_release_whole_records_are_not_protected(
    dataset: Path, demo_release: Path, tmp_path: Path
) -> None:
    _entered(dataset, "release")
    with pytest.raises(UsageError, match="--given-segments, or --beside-release RELEASE"):
        make_records(dataset, tmp_path / "r", Choice())
    make_records(dataset, tmp_path / "r", Choice(beside=(demo_release,)))
    found = certificate_of(tmp_path / "r")
    assert found["whole_record"] == "given workplace and segment"
    assert "is void" in found["whole_record_in_words"]
    named = {each["name"]: each["digest"] for each in found["beside"]}
    assert named == {"earlier": None, "demo.release": store_digest(demo_release)}
    assert "do not protect a worker's whole record" in found["beside_in_words"]
    assert failed(tmp_path / "r") == []


def test_given_segments_says_what_is_left(dataset: Path, tmp_path: Path) -> None:
    _entered(dataset, "release")
    make_records(dataset, tmp_path / "r", Choice(given_segments=True))
    found = certificate_of(tmp_path / "r")
    assert found["unit_of_protection"].startswith("One worker's home and further attributes, given workplace")
    assert failed(tmp_path / "r") == []


def test_beside_a_table_its_cells_are_known(dataset: Path, tmp_path: Path) -> None:
    """A table's numbers of workers by area and segment are exact, as are the values of released cells."""
    _entered(dataset, "table")
    with pytest.raises(UsageError, match=r"no joint promise, and records then do not protect whole records"):
        make_records(dataset, tmp_path / "r", Choice())
    assert len(Ledger(dataset).entries()) == 1
    outcome = make_records(dataset, tmp_path / "r", Choice(given_segments=True))
    found = certificate_of(tmp_path / "r")
    assert found["whole_record"] == "given workplace, segment, and the cells of a table"
    assert "as far as a table of the same jobs leaves them open" in found["unit_of_protection"]
    assert "is void" in found["whole_record_in_words"]
    assert "whatever odds the table leaves" in found["whole_record_in_words"]
    assert "values of released cells" in found["beside_in_words"]
    assert any("as far as a table" in line for line in outcome.lines())
    assert failed(tmp_path / "r") == []
    found["whole_record"] = "given workplace and segment"
    _rewrite(tmp_path / "r", found)
    assert "made again from the records" in failed(tmp_path / "r")


def test_a_table_beside_records_says_that_whole_records_are_not_protected() -> None:
    both = [
        BesideClaim(kind="records", name="x", digest=None),
        BesideClaim(kind="table", name="x", digest=None),
    ]
    assert "records do not protect a worker's whole record" in beside_in_words(both[:1], "table")
    assert known_of_records(both, "release") == GIVEN_CELLS
    assert known_of_records(both[:1], "release") == GIVEN_SEGMENTS
    assert known_of_records(both[:1], "records") is None
    assert known_of_records(both[1:], "release") is None


def test_a_release_beside_records_is_refused_unless_on_purpose(dataset: Path, tmp_path: Path) -> None:
    from engine.parameters import PrivacyParameters, SynthesisParameters
    from mapapp.kinds.release.make.run import run_synthesis

    make_records(dataset, tmp_path / "r", Choice())
    privacy = PrivacyParameters(epsilon="4.6", delta="1e-6", min_retention="0.025")
    parameters = SynthesisParameters(prior="flows")
    with pytest.raises(UsageError, match="add --beside-release RECORDS"):
        run_synthesis(dataset, tmp_path / "x.release", privacy, parameters)
    assert len(Ledger(dataset).entries()) == 1
    run_synthesis(dataset, tmp_path / "x.release", privacy, parameters, beside=[tmp_path / "r"])
    found = certificate_of(tmp_path / "x.release")
    assert found["beside"] == [{"kind": "records", "name": "r", "digest": store_digest(tmp_path / "r")}]
    assert "do not protect a worker's whole record" in found["beside_in_words"]
    assert Ledger(dataset).spent()[0] > 2, "both promises are about one record replaced, so they add up"


def _entered(dataset: Path, kind: str) -> None:
    """Enter an earlier publication in a dataset's ledger."""
    ledger = Ledger(dataset)
    if kind == "table":
        ledger.enter_table("earlier", beside=lambda _: (), check=lambda: None)
    else:
        ledger.spend(epsilon=1, delta=0, release="earlier")


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda c: c["promise"]["add_remove"].update(epsilon={"value": 0.5, "exact": "1/2"}), "made again"),
        (lambda c: c.update(epsilon_final={"value": 1.0, "exact": "1"}), "made again"),
        (lambda c: c["seeds"].update(n_min=2_500), "certificate"),
        (lambda c: c["seeds"].update(min_plausible_seeds=200), "made again"),
        (lambda c: c["seeds"].update(forced_fail="1/10"), "made again"),
        (lambda c: c["seeds"].update(passed=1), "numbers of records"),
        (lambda c: c["seeds"].update(records_in_words="At least 99 workers."), "made again"),
        (lambda c: c["records"].update(n_passed=10), "numbers of records"),
        (lambda c: c["records"].update(n_total=2_999), "numbers of records"),
        (lambda c: c["model"]["parents"].update(age=[]), "made again"),
        (lambda c: c["model"].update(epsilon={"value": 1.0, "exact": "1"}), "made again"),
        (lambda c: c["attributes"][2]["values"].pop(), "certificate"),
        (lambda c: c["attributes"][0].update(title="Where"), "made again"),
        (lambda c: c.update(whole_record="given workplace and segment"), "made again"),
        (lambda c: c.update(does_not_promise=[]), "made again"),
        (lambda c: c.update(beside_in_words="Nothing."), "publications beside it"),
        (lambda c: c.update(status_reasons=[], status="for release"), "test key"),
        (lambda c: c["expected_error"][0].update(constant=-1.0), "schema"),
        (lambda c: c["split"].update(seeds="1/2", parameters="1/2"), "certificate"),
        (lambda c: c.update(accountant="paper"), "certificate"),
        (lambda c: c.update(kind="release"), "schema"),
        (lambda c: c.pop("parts"), "schema"),
    ],
)
def test_a_forged_certificate_fails(change: Change, check: str, seeded_records: Path, tmp_path: Path) -> None:
    forged = Path(shutil.copytree(seeded_records, tmp_path / "x.records"))
    document = certificate_of(forged)
    change(document)
    _rewrite(forged, document)
    assert any(each.startswith(check) for each in failed(forged)), failed(forged)


def _rewrite(records: Path, document: dict[str, Any]) -> None:
    rewrite_document(records, "certificate.json", document)


@pytest.mark.parametrize(
    ("table", "change", "check"),
    [
        ("records", lambda rows: rows.assign(age=4 - rows["age"]), "jobs"),
        ("records", lambda rows: rows.iloc[::-1], "records and points"),
        ("records", lambda rows: rows.assign(sex=rows["sex"] + np.int16(9)), "values of attributes"),
        ("records", lambda rows: rows.assign(naics_sector=np.int16(0)), "values of attributes"),
        ("records", lambda rows: rows.assign(extra=np.int16(0)), "files and columns"),
        ("jobs", lambda rows: rows.assign(count=rows["count"] + np.int32(1)), "points"),
        ("points", lambda rows: rows.assign(home_lon_deg=np.float32(0)), "places"),
    ],
)
def test_forged_rows_fail(
    table: str, change: Callable[[Any], Any], check: str, seedless_records: Path, tmp_path: Path
) -> None:
    from mapapp.answers.publication import bind_publication

    forged = Path(shutil.copytree(seedless_records, tmp_path / "x.records"))
    rewrite_table(forged, table, change)
    manifest = json.loads((forged / "manifest.json").read_text())
    document = certificate_of(forged)
    facts = document["publication"]["facts"]
    _rewrite(forged, bind_publication(document, facts, manifest["files"]))
    assert check in failed(forged)


def test_invented_records_are_read_but_not_certified(demo_dataset: Path, tmp_path: Path) -> None:
    invented = write_records(tmp_path / "x.records", demo_dataset, n_workers=50)
    assert "schema" in failed(invented)


def test_moving_most_workplace_points_does_not_hide_the_test_key(
    seeded_records: Path, tmp_path: Path
) -> None:
    forged = Path(shutil.copytree(seeded_records, tmp_path / "x.records"))

    def moved(points: pandas.DataFrame) -> pandas.DataFrame:
        lon = points["work_lon_deg"].to_numpy(copy=True)
        lon.view("int32")[:] ^= 1
        lon[100:] += 0.1
        return points.assign(work_lon_deg=lon)

    rewrite_table(forged, "points", moved)
    _rewrite(forged, certificate_of(forged) | {"status_reasons": [], "status": "for release"})
    assert "test key" in failed(forged)
