"""The ledger from the command line: what is spent, what a budget refuses, what does not count."""

from __future__ import annotations

import hashlib
import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.parameters import PrivacyParameters, SynthesisParameters
from mapapp.commands.cli import run
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.base.ledger_entry import Reading
from mapapp.kinds.release.make.run import run_synthesis
from tests.commands.running import commutemap, refused, run_here
from tests.commands.test_certify import forge

PUBLISHED = ("--preset", "onthemap-v3", "-q")


@pytest.fixture
def dataset(demo_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path / "d"))


def spent(dataset: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    capsys.readouterr()
    assert run(["ledger", str(dataset), "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out)["spent"])


def test_two_releases_add_up(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("r1", "r2"):
        assert run(["synthesize", str(dataset), str(dataset.parent / name), *PUBLISHED]) == 0
    total = spent(dataset, capsys)
    assert total["epsilon"] == pytest.approx(2 * 8.98202663, abs=1e-8)
    assert total["delta"] == pytest.approx(2e-6)


def test_both_readings_are_shown(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synthesize", str(dataset), str(dataset.parent / "r1"), *PUBLISHED]) == 0
    Ledger(dataset).spend(epsilon="0.5", delta=0, release="a\n\x1b[2K\udcff", reasons=("for a test",))
    capsys.readouterr()
    assert run(["ledger", str(dataset)]) == 0
    lines = capsys.readouterr().out.splitlines()
    amounts = "epsilon 8.98203, delta 1e-06 for"
    assert lines[1] == f"  as PDP: {amounts} each (destination block, segment) by itself, over all releases"
    assert lines[2] == f"  as DP: {amounts} the whole release, over all releases"
    assert lines[3].endswith("  r1  8.98203  1e-06  PDP and DP")
    assert "a??[2K?  0  0  not for release: for a test" in lines[4]
    assert run(["ledger", str(dataset), "--json"]) == 0
    (entry, _) = json.loads(capsys.readouterr().out)["entries"]
    for reading in ("probabilistic_differential_privacy", "differential_privacy"):
        assert entry["readings"][reading]["exact"] == ["898202663/100000000", "1/1000000"]


def test_the_rest_of_a_budget_is_shown(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Ledger(dataset).set_budget(epsilon="10", delta="1e-5")
    Ledger(dataset).spend(epsilon="1/7", delta="1e-6", release="r1")
    assert run(["ledger", str(dataset)]) == 0
    assert "(of 10 and 1e-05; left 9.85714 and 9e-06)" in capsys.readouterr().out


def test_the_test_key_spends_nothing(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synthesize", str(dataset), str(dataset.parent / "r"), "-q", "--test-key"]) == 0
    assert spent(dataset, capsys)["epsilon"] == 0
    certificate = json.loads((dataset.parent / "r" / "certificate.json").read_text())
    assert certificate["status"] == "not for release"


def test_a_release_beyond_the_budget_is_refused_and_leaves_nothing(dataset: Path) -> None:
    Ledger(dataset).set_budget(epsilon="10", delta="1e-5")
    assert run(["synthesize", str(dataset), str(dataset.parent / "r1"), *PUBLISHED]) == 0
    message = refused("synthesize", dataset, dataset.parent / "r2", *PUBLISHED)
    assert "epsilon" in message
    assert sorted(entry.name for entry in dataset.parent.iterdir()) == ["d", "r1"]


def test_a_release_is_charged_before_its_draw_and_stays_charged(dataset: Path) -> None:
    spent = []

    def interrupted(stage: str, _done: int, _total: int) -> None:
        if stage.startswith("drawing"):
            spent.append(Ledger(dataset).spent())
            raise KeyboardInterrupt

    privacy, parameters = (
        PrivacyParameters(epsilon="2", delta="1e-6", min_retention="1"),
        SynthesisParameters(mechanism="exponential"),
    )
    with pytest.raises(KeyboardInterrupt):
        run_synthesis(dataset, dataset.parent / "r", privacy, parameters, report=interrupted)
    assert spent == [(Fraction(2), Fraction(0))] == [Ledger(dataset).spent()]
    assert [entry.name for entry in dataset.parent.iterdir()] == ["d"]


@pytest.mark.usefixtures(
    "demo_release"
)  # so that kernels are compiled, and the two reach the ledger together
def test_two_simultaneous_runs_cannot_both_pass(dataset: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    Ledger(dataset).set_budget(epsilon="10", delta="1e-5")
    with ThreadPoolExecutor(2) as pool:
        places = [dataset.parent / name for name in ("r1", "r2")]
        done = list(pool.map(lambda place: commutemap("synthesize", dataset, place, "-q"), places))
    assert sorted(each.code for each in done) == [0, 2], [each.err for each in done]


def test_a_budget_needs_two_positive_numbers(tmp_path: Path) -> None:
    assert "--budget-delta" in refused("import", tmp_path / "d", "--from", tmp_path, "--budget-epsilon", "9")
    for epsilon in ("0", "-1", "nan", "nine"):
        message = refused(
            "import",
            tmp_path / "d",
            "--from",
            tmp_path,
            "--budget-epsilon",
            epsilon,
            "--budget-delta",
            "1e-6",
        )
        assert "budget" in message


def test_an_imported_dataset_has_its_budget_from_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.geodata.samples import write_sources

    write_sources(tmp_path / "s")
    code = run(
        [
            "import",
            str(tmp_path / "d"),
            "--from",
            str(tmp_path / "s"),
            "-q",
            "--budget-epsilon",
            "9",
            "--budget-delta",
            "1e-6",
        ]
    )
    assert code == 0, capsys.readouterr().err
    budget = Ledger(tmp_path / "d").budget()
    assert budget is not None
    assert float(budget[0]) == 9
    Ledger(tmp_path / "d").path.unlink()
    message = refused("synthesize", tmp_path / "d", tmp_path / "r", "-q")
    assert "imported with, epsilon 9 and delta 1/1000000" in message
    assert not (tmp_path / "r").exists()


def replace_certificate(release: Path, certificate: dict[str, Any]) -> None:
    """Put another certificate into a release."""

    def replace(given: dict[str, Any]) -> None:
        given.clear()
        given.update(certificate)

    forge(release, replace)


def _year(demo_dataset: Path, place: Path, *spends: tuple[str, str]) -> Path:
    """A dataset of a further year, with a key of its own, whose ledger has spent something."""
    shutil.copytree(demo_dataset, place)
    manifest = json.loads((place / "manifest.json").read_text())
    manifest["commitment_key"] = hashlib.sha256(place.name.encode()).hexdigest()
    (place / "manifest.json").write_text(json.dumps(manifest))
    for number, (epsilon, delta) in enumerate(spends):
        readings = tuple(
            Reading(name=name, epsilon=Fraction(epsilon), delta=Fraction(delta), holds_for=holds_for)
            for name, holds_for in (
                ("probabilistic_differential_privacy", "each (destination block, segment) by itself"),
                ("differential_privacy", "the whole release"),
            )
        )
        Ledger(place).spend(epsilon=epsilon, delta=delta, release=f"r{number}", readings=readings)
    return place


def test_several_datasets_and_releases_add_up_for_a_person_in_all(
    demo_dataset: Path, demo_release: Path, tmp_path: Path
) -> None:
    first = _year(demo_dataset, tmp_path / "d2018", ("1/3", "1e-6"), ("2", "0"))
    Ledger(first).withdraw("r0", reason="wrong year")
    second = _year(demo_dataset, tmp_path / "d2019", ("0.1", "2e-6"))
    Ledger(second).spend(epsilon="7", delta=0, release="tried", reasons=("test key",))
    total = run_here("ledger", first, second, demo_release, "--json")
    assert total.code == 0, total.err
    found = json.loads(total.out)
    # The release was drawn with the test key, so its certificate counts nothing.
    assert found["spent"]["exact"] == [str(Fraction(1, 3) + 2 + Fraction(1, 10)), "3/1000000"]
    for reading in found["spent"]["readings"].values():
        assert reading["exact"] == found["spent"]["exact"]
    assert [source["kind"] for source in found["sources"]] == ["dataset", "dataset", "release"]
    for source, place in zip(found["sources"], (first, second), strict=False):
        alone = json.loads(run_here("ledger", place, "--json").out)
        assert {name: source[name] for name in alone} == alone
    assert not found["sources"][2]["entries"][0]["for_release"]
    assert found["notes"] == []
    lines = run_here("ledger", first, second, demo_release).out.splitlines()
    assert lines[0] == "for a person who is in all the data below: epsilon 2.43333, delta 3e-06"
    assert lines[1] == (
        "  as PDP: epsilon 2.43333, delta 3e-06 for each (destination block, segment) by itself, over all releases"
    )
    assert lines[2] == "  as DP: epsilon 2.43333, delta 3e-06 for the whole release, over all releases"
    title = "Briarholm, a made-up country (small, seed 1), 2023"
    assert lines[3].startswith(f"{first} (dataset: {title}): ")
    assert lines[3].endswith("spent epsilon 2.33333, delta 1e-06 (no budget set)")
    assert "withdrawn, still counted" in lines[4]
    assert lines[-1].startswith("  demo.release  0  0  not for release: ")


def test_a_published_release_counts_with_its_certificate(
    demo_dataset: Path, demo_release: Path, tmp_path: Path
) -> None:
    dataset = _year(demo_dataset, tmp_path / "d", ("1", "0"))
    release = Path(shutil.copytree(demo_release, tmp_path / "r"))
    certificate = json.loads((release / "certificate.json").read_text())
    certificate |= {"status": "for release", "status_reasons": []}
    pdp = certificate["readings"]["probabilistic_differential_privacy"]
    pdp["holds_for"] = "each destination block by itself"
    replace_certificate(release, certificate)
    found = json.loads(run_here("ledger", dataset, release, "--json").out)
    wanted = [1 + Fraction(certificate["epsilon_final"]["exact"]), Fraction(certificate["delta"]["exact"])]
    assert [Fraction(text) for text in found["spent"]["exact"]] == wanted
    (note,) = found["notes"]
    assert "each (destination block, segment) by itself; each destination block by itself" in note
    holds_for = found["spent"]["readings"]["probabilistic_differential_privacy"]["holds_for"]
    assert holds_for == (
        "each (destination block, segment) by itself or each destination block by itself, over all releases"
    )
    # One release without the probabilistic reading leaves the sum without it.
    del certificate["readings"]["probabilistic_differential_privacy"]
    replace_certificate(release, certificate)
    found = json.loads(run_here("ledger", dataset, release, "--json").out)
    assert list(found["spent"]["readings"]) == ["differential_privacy"]


def test_certificates_that_protect_different_things_are_pointed_out(
    demo_release: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(demo_release, tmp_path / "r"))
    certificate = json.loads((other / "certificate.json").read_text())
    replace_certificate(other, certificate | {"unit_of_protection": "The home of one household."})
    (note,) = json.loads(run_here("ledger", demo_release, other, "--json").out)["notes"]
    assert note.startswith("the certificates protect different things")
    assert "The home of one household." in note


def test_a_sum_counts_nothing_twice(
    dataset: Path, demo_dataset: Path, demo_release: Path, tmp_path: Path
) -> None:
    assert "count twice; give it once" in refused("ledger", dataset, dataset)
    assert "is the same release as" in refused("ledger", demo_release, demo_release)
    copy = Path(shutil.copytree(dataset, tmp_path / "copy"))
    release = tmp_path / "r"
    assert run(["synthesize", str(dataset), str(release), *PUBLISHED]) == 0
    message = refused("ledger", dataset, release)
    assert f"{release} was made from {dataset}, whose ledger counts it already" in message
    # The copy has the same key and the same jobs, but the release is not in its ledger.
    Ledger(copy).spend(epsilon=3, delta=0, release="other", run_id="c" * 32)
    added = json.loads(run_here("ledger", copy, release, "--json").out)
    assert added["notes"] == []
    assert added["spent"]["epsilon"] == pytest.approx(3 + 8.98202663, abs=1e-8)


def test_a_run_in_the_ledgers_of_two_copies_counts_once(dataset: Path, tmp_path: Path) -> None:
    Ledger(dataset).spend(epsilon=1, delta=0, release="r", run_id="a" * 32)
    copy = Path(shutil.copytree(dataset, tmp_path / "copy"))
    Ledger(copy).spend(epsilon=3, delta=0, release="s", run_id="b" * 32)
    added = json.loads(run_here("ledger", dataset, copy, "--json").out)
    assert added["spent"]["epsilon"] == 4
    (note,) = added["notes"]
    assert note.endswith("1 run is in both ledgers, and counts once")
    # Lines of earlier versions have no id, so nobody can tell which of them are the same.
    Ledger(dataset).spend(epsilon=1, delta=0, release="earlier")
    (note,) = json.loads(run_here("ledger", dataset, copy, "--json").out)["notes"]
    assert "upper bound" in note


def test_a_copied_id_hides_nothing(demo_release: Path, tmp_path: Path) -> None:
    for name, epsilon in (("one", "1"), ("eight", "8"), ("none", "2")):
        release = Path(shutil.copytree(demo_release, tmp_path / name))
        stated = json.loads((release / "certificate.json").read_text())
        amount = {"value": float(epsilon), "exact": epsilon}
        stated |= {
            "status_reasons": [],
            "epsilon_final": amount,
            "run_id": None if name == "none" else "a" * 32,
        }
        replace_certificate(release, stated)
    paths = [tmp_path / name for name in ("one", "eight", "none")]
    assert json.loads(run_here("ledger", *paths, "--json").out)["spent"]["epsilon"] == 11


def test_releases_without_an_id_may_be_counted_twice(
    dataset: Path, demo_release: Path, tmp_path: Path
) -> None:
    """A release under the test key counts nothing, so it is no reason to refuse a sum or to warn."""
    Ledger(dataset).spend(epsilon=1, delta=0, release="r", run_id="a" * 32)
    assert json.loads(run_here("ledger", dataset, demo_release, "--json").out)["notes"] == []
    release = Path(shutil.copytree(demo_release, tmp_path / "r"))

    def as_earlier(certificate: dict[str, Any]) -> None:
        certificate |= {"status": "for release", "status_reasons": [], "schema_version": 2}
        del certificate["run_id"]

    forge(release, as_earlier)
    (note,) = json.loads(run_here("ledger", dataset, release, "--json").out)["notes"]
    assert "upper bound" in note


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--settle", "1", "0"], ["--settle", "2 datasets or releases"]),
        (["--withdraw", "r", "--reason", "x"], ["--withdraw", "2 datasets or releases"]),
    ],
)
def test_what_is_about_one_dataset_is_refused_for_several(
    dataset: Path, tmp_path: Path, options: list[str], words: list[str]
) -> None:
    other = Path(shutil.copytree(dataset, tmp_path / "other"))
    message = refused("ledger", dataset, other, *options)
    for word in words:
        assert word in message, message
    assert not Ledger(dataset).path.exists()


def test_a_sum_refuses_what_it_cannot_read(demo_release: Path, dataset: Path, tmp_path: Path) -> None:
    assert "no such directory" in refused("ledger", dataset, tmp_path / "nowhere")
    assert "DATASET" in refused("ledger")
    assert "a dataset is needed" in refused("ledger", demo_release)
    release = Path(shutil.copytree(demo_release, tmp_path / "r"))
    certificate = json.loads((release / "certificate.json").read_text())
    for broken in ({"readings": {"differential_privacy": 3}}, {"epsilon_final": {"exact": "-1"}}):
        replace_certificate(release, certificate | {"status_reasons": []} | broken)
        assert "its promise cannot be read" in refused("ledger", demo_release, release)


def test_a_withdrawn_release_stays_spent(dataset: Path) -> None:
    Ledger(dataset).set_budget(epsilon="10", delta="1e-5")
    Ledger(dataset).spend(epsilon="4", delta="1e-6", release="r1")
    before = json.loads(run_here("ledger", dataset, "--json").out)
    done = run_here("ledger", dataset, "--withdraw", "r1", "--reason", "wrong\x1b[2K year")
    assert done.code == 0, done.err
    first, row = done.out.splitlines()
    assert first == "spent epsilon 4, delta 1e-06 (of 10 and 1e-05; left 6 and 9e-06)"
    (withdrawal,) = (entry for entry in Ledger(dataset).entries() if entry.kind == "withdrawal")
    assert row.endswith(f"withdrawn, still counted ({withdrawal.written_at}: wrong?[2K year)")
    after = json.loads(run_here("ledger", dataset, "--json").out)
    assert after["spent"] == before["spent"]
    assert before["entries"][0]["withdrawn"] is None
    assert after["entries"][0].pop("withdrawn") == {
        "written_at": withdrawal.written_at,
        "reason": "wrong\x1b[2K year",
        "still_counted": True,
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--withdraw", "r1"], ["--withdraw", "--reason TEXT"]),
        (["--reason", "x"], ["--reason", "--withdraw RELEASE"]),
        (["--withdraw", "r1", "--reason", " "], ["reason"]),
        (["--withdraw", "other", "--reason", "x"], ["'other'", "'r1'"]),
        (["--withdraw", "tried", "--reason", "x"], ["'tried'", "not for release"]),
        (["--withdraw", "gone", "--reason", "x"], ["'gone'", "withdrawn already"]),
        (["--withdraw", "r1", "--reason", "x", "--settle", "1", "0"], ["--settle", "--withdraw"]),
    ],
)
def test_a_withdrawal_that_cannot_be_is_refused_and_leaves_the_ledger(
    dataset: Path, options: list[str], words: list[str]
) -> None:
    ledger = Ledger(dataset)
    for name in ("r1", "gone"):
        ledger.spend(epsilon=1, delta=0, release=name)
    ledger.spend(epsilon=1, delta=0, release="tried", reasons=("test key",))
    ledger.withdraw("gone", reason="wrong year")
    before = ledger.path.read_bytes()
    message = refused("ledger", dataset, *options)
    for word in words:
        assert word in message, message
    assert ledger.path.read_bytes() == before


def test_a_withdrawal_needs_a_ledger(dataset: Path) -> None:
    assert "nothing has been released" in refused("ledger", dataset, "--withdraw", "r", "--reason", "x")
    assert not Ledger(dataset).path.exists()
