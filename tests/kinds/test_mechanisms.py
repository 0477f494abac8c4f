"""The exponential mechanism from options to certificate, ledger and pages, and mechanisms that have left."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from plotly.io.json import to_json_plotly

from engine.mechanisms.exponential import exponential_promise
from engine.mechanisms.prices import LAWS, LawVersion, law_of
from engine.mechanisms.thetas import inverse_theta
from engine.parameters import SynthesisParameters, Unit
from geodata.demo import write_demo
from geodata.store.store import open_store, sha256_of
from mapapp.answers import words
from mapapp.answers.errors.certificate_terms import ExponentialTerms
from mapapp.answers.release import open_releases
from mapapp.commands.cli import run
from mapapp.explore.pages import answer, method
from mapapp.explore.pages import certificate as certificate_page
from mapapp.kinds.base import geography
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.base.ledger_entry import LedgerError
from mapapp.kinds.base.option import replace_values
from mapapp.kinds.release.certificate.recheck import check_release
from mapapp.kinds.release.make.run import run_synthesis
from mapapp.kinds.release.make.settings import parameters_of, privacy_of
from tests.analyst.test_sweep import OPTIONS
from tests.commands.running import refused
from tests.oracles.certificate import check_certificate

UNITS: dict[str, Unit] = {
    "exponential": "cell",
    "exponential-block": "block",
    "exponential-tract": "tract",
}
FORMER = ("accept-reject", "geometric", "keep-or-redraw", "laplace", "plug-in", "sparse-histogram")
EPSILON = 4.6 + np.log(40) + np.log(2)
SOUND = privacy_of(accountant="sound", delta="1e-6", min_retention="0.025")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mechanisms") / "d"
    write_demo(path, size="small", seed=5)
    return path


@pytest.fixture(scope="module")
def releases(dataset: Path) -> dict[str, Path]:
    """One release of each unit, with a secret key, from the command line."""
    paths: dict[str, Path] = {name: dataset.parent / name for name in UNITS}
    for name, path in paths.items():
        options = ["--preset", "onthemap-v3", "--mechanism", "exponential", "--unit", UNITS[name]]
        assert run(["synthesize", str(dataset), str(path), "-q", *options]) == 0
    return paths


def certificate_of(path: Path) -> dict[str, Any]:
    return dict(json.loads((path / "certificate.json").read_text()))


def failed(path: Path) -> list[str]:
    return [check.check for check in check_release(path) if not check.ok]


def by_tract(path: Path, kind: Any) -> pandas.Series:
    """Workers by workplace block, segment and home tract."""
    store = open_store(path, kind)
    jobs, tract = store.table("jobs"), store.table("blocks")["tract_index"].to_numpy()
    jobs["tract"] = tract[jobs["origin_index"]]
    by = ["destination_index", "age", "earnings", "industry", "tract"]
    counts: pandas.Series = jobs.groupby(by)["count"].sum()
    return counts


@pytest.mark.parametrize("name", UNITS)
def test_a_release_of_each_holds_and_keeps_the_totals(
    dataset: Path, releases: dict[str, Path], name: str
) -> None:
    assert failed(releases[name]) == []
    places = ["destination_index", "age", "earnings", "industry"]
    real, synthetic = by_tract(dataset, "dataset"), by_tract(releases[name], "release")
    assert synthetic.groupby(places).sum().equals(real.groupby(places).sum())
    assert not synthetic.equals(real)


@pytest.mark.parametrize("name", UNITS)
def test_what_a_certificate_promises(releases: dict[str, Path], name: str) -> None:
    certificate = certificate_of(releases[name])
    assert certificate["status"] == "for release"
    assert certificate["accountant"] == "none"
    assert certificate["epsilon_final"]["value"] == pytest.approx(EPSILON, abs=1e-8)
    assert certificate["epsilon"] == certificate["epsilon_final"]
    assert certificate["delta"]["value"] == 0.0
    assert len(certificate["readings"]) == 2
    for reading in certificate["readings"].values():
        assert (reading["epsilon"], reading["delta"]) == (certificate["epsilon_final"], certificate["delta"])
    section, synthesis = certificate["mechanism"], certificate["parameters"]["synthesis"]
    assert (section["name"], section["is_private"]) == ("exponential", True)
    assert (synthesis["mechanism"], synthesis["unit"]) == ("exponential", UNITS[name])
    assert all(condition["holds"] for condition in certificate["preconditions"])


@pytest.mark.parametrize("name", UNITS)
def test_the_rows_hold_every_theta(releases: dict[str, Path], name: str) -> None:
    certificate = certificate_of(releases[name])
    epsilon = Fraction(certificate["epsilon_final"]["exact"])
    rows = certificate["accounting"]["rows"]
    sizes = [row["n_support"] for row in rows]
    assert sizes == sorted(set(sizes))
    assert len(sizes) > 3
    cells = by_tract(releases[name], "release").groupby(["destination_index", "age", "earnings", "industry"])
    assert sum(row["synthesizers"] for row in rows) == cells.ngroups
    occurring = {int(n) for row in rows for n in row["n_workers"].split()}
    store = open_store(releases[name], "release")
    jobs, tract = store.table("jobs"), store.table("blocks")["tract_index"].to_numpy()
    jobs["tract"] = tract[jobs["destination_index"]]
    by = {"cell": ["destination_index", "age", "earnings", "industry"], "block": ["destination_index"]}
    units = jobs.groupby(by.get(UNITS[name], ["tract"]))["count"].sum()
    assert occurring == set(units.clip(upper=201).tolist())
    for row in rows:
        numbers = [int(n) for n in row["n_workers"].split()]
        assert numbers == sorted(set(numbers))
        found = [int(value) for value in row["inverse_theta"].split()]
        laws = [law_of(epsilon, row["n_support"], n) for n in numbers]
        assert found == [law.inverse_theta for law in laws]
        assert [int(value) for value in row["price"].split()] == [law.price for law in laws]
        unpriced = [inverse_theta(epsilon, row["n_support"], n) for n in numbers]
        assert unpriced == sorted(unpriced, reverse=True)
        assert all(one >= other for one, other in zip(found, unpriced, strict=True))


@pytest.mark.parametrize("laws", ["unpriced", "priced to 20"])
@pytest.mark.parametrize("name", UNITS)
def test_a_release_drawn_with_earlier_laws_can_still_be_checked(
    releases: dict[str, Path], tmp_path: Path, name: str, laws: LawVersion
) -> None:
    certificate = certificate_of(releases[name])
    epsilon = Fraction(certificate["epsilon_final"]["exact"])
    earlier = exponential_promise(epsilon, laws=laws)
    certificate["mechanism"]["rule"] = earlier.rule
    certificate["mechanism"]["numbers"] = dict(earlier.numbers)
    for row in certificate["accounting"]["rows"]:
        del row["price"], row["n_workers"]
        row["rule"] = earlier.rule
    assert not passes(certificate)
    for row in certificate["accounting"]["rows"]:
        drawn = [LAWS[laws](epsilon, row["n_support"], n) for n in range(1, 22)]
        row["inverse_theta"] = " ".join(str(law.inverse_theta) for law in drawn)
        if laws != "unpriced":
            row["price"] = " ".join(str(law.price) for law in drawn)
    assert passes(certificate)
    terms = ExponentialTerms.of(certificate)
    assert (terms.price == 1).all() == (laws == "unpriced")
    assert terms.theta.shape == terms.price.shape
    earlier_release = Path(shutil.copytree(releases[name], tmp_path / "r"))
    for later in ("run_id", "lone_worker"):
        del certificate[later]

    def as_earlier(stated: dict[str, Any]) -> None:
        stated.clear()
        stated.update(certificate, schema_version=2)

    forge(earlier_release, as_earlier)
    assert failed(earlier_release) == ["fields of later versions"]


def passes(certificate: dict[str, Any]) -> bool:
    return all(check.ok for check in check_certificate(certificate))


def test_larger_units_say_what_is_lost(releases: dict[str, Path]) -> None:
    said = {name: " ".join(certificate_of(path)["caveats"]) for name, path in releases.items()}
    assert "within a block, a home says nothing about a segment" in said["exponential-block"]
    assert "within a tract, a home says nothing about either" in said["exponential-tract"]
    assert "drawn together" not in said["exponential"]


@pytest.mark.parametrize(
    ("name", "together", "kept"),
    [
        ("exponential", "(destination block, segment)", "with the same number of workers that"),
        ("exponential-block", "destination block", "of workers in each segment that"),
        ("exponential-tract", "destination tract", "of workers in each (destination block, segment) that"),
    ],
)
def test_a_certificate_and_its_ledger_name_the_workers_drawn_together(
    dataset: Path, releases: dict[str, Path], name: str, together: str, kept: str
) -> None:
    certificate = certificate_of(releases[name])
    by_itself = f"each {together} by itself"
    readings = certificate["readings"]
    assert readings["probabilistic_differential_privacy"]["holds_for"] == by_itself
    assert readings["differential_privacy"]["holds_for"] == "the whole release"
    assert certificate["neighbours"].startswith(f"Two tables of one {together} with ")
    assert kept in certificate["neighbours"]
    assert f"every worker is in one {together}, so" in certificate["composition"]
    (line,) = (entry for entry in Ledger(dataset).entries() if entry.release == name)
    assert by_itself in {reading.holds_for for reading in line.readings}


@pytest.mark.parametrize(("name", "pooled"), [("exponential-block", "block"), ("exponential-tract", "tract")])
def test_a_unit_s_workers_are_the_same_in_any_cell_of_it(
    dataset: Path, releases: dict[str, Path], name: str, pooled: str
) -> None:
    """Few move at epsilon 8.98: by unit nearly everybody has a real home tract, by cell few do."""
    real, synthetic = by_tract(dataset, "dataset"), by_tract(releases[name], "release")
    blocks = open_store(dataset, "dataset").table("blocks")["tract_index"].to_numpy()

    def shared(keys: list[str]) -> float:
        both = []
        for counts in (real, synthetic):
            frame = counts.reset_index()
            frame["workplace"] = blocks[frame["destination_index"]]
            both.append(frame.groupby(keys)["count"].sum())
        each = pandas.concat(both, axis=1, keys=["real", "synthetic"]).fillna(0)
        return float(each.min(axis=1).sum() / each["real"].sum())

    place = "destination_index" if pooled == "block" else "workplace"
    assert (
        shared([place, "tract"]) > shared(["destination_index", "age", "earnings", "industry", "tract"]) + 0.1
    )


def test_units_are_validated_and_blocks_of_a_tract_become_alike(
    dataset: Path, releases: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    found = {}
    for name in ("exponential", "exponential-block", "exponential-tract"):
        capsys.readouterr()
        assert run(["validate", str(dataset), str(releases[name]), "-q", "--json"]) == 0
        found[name] = json.loads(capsys.readouterr().out)["summary"]["kl_drawn_all"]
    assert 0 < found["exponential"] < found["exponential-tract"]
    assert 0 < found["exponential-block"] < found["exponential-tract"]


def test_the_ledger_has_both_readings(dataset: Path, releases: dict[str, Path]) -> None:
    entries = {entry.release: entry for entry in Ledger(dataset).entries()}
    assert set(entries) == set(releases)
    both = {"differential_privacy", "probabilistic_differential_privacy"}
    for entry in entries.values():
        assert (entry.delta, entry.for_release, entry.is_private) == (Fraction(0), True, True)
        assert {reading.name for reading in entry.readings} == both
    epsilon, delta = Ledger(dataset).spent()
    assert (float(epsilon), float(delta)) == pytest.approx((3 * EPSILON, 0.0))


def test_no_budget_lets_nothing_be_promised_for_release(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.set_budget(epsilon=100, delta="0.5")
    with pytest.raises(LedgerError, match="promises nothing"):
        ledger.spend(epsilon=None, delta=None, release="r")
    written = ledger.spend(epsilon=None, delta=None, release="r", reasons=("comparison",))
    assert ledger.entries()[1] == written
    again = dataclasses.replace(written, before="").to_line()
    line = again.replace(b'"for_release": false', b'"for_release": true')
    ledger.path.write_bytes(ledger.path.read_bytes() + line + again)
    with pytest.raises(LedgerError, match="line 3 is no entry"):
        ledger.spent()


def forge(release: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the certificate and make the manifest fit, as a forger would."""
    certificate = certificate_of(release)
    change(certificate)
    file = release / "certificate.json"
    file.write_text(json.dumps(certificate))
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["files"][file.name].update(sha256=sha256_of(file), bytes=file.stat().st_size)
    (release / "manifest.json").write_text(json.dumps(manifest))


def _smaller_epsilon(certificate: dict[str, Any]) -> None:
    certificate["epsilon_final"] = {"value": 1.0, "exact": "1"}


def _usual_mechanism(certificate: dict[str, Any]) -> None:
    del certificate["mechanism"], certificate["parameters"]["synthesis"]["mechanism"]


def _fewer_synthesizers(certificate: dict[str, Any]) -> None:
    certificate["accounting"]["rows"][0]["synthesizers"] -= 1


def _more_noise_than_drawn(certificate: dict[str, Any]) -> None:
    row = certificate["accounting"]["rows"][-1]
    row["inverse_theta"] = row["inverse_theta"].replace(" ", " 1", 1)


def _another_price(certificate: dict[str, Any]) -> None:
    row = certificate["accounting"]["rows"][-1]
    price = row["price"].split()
    row["price"] = " ".join([*price[:4], str(int(price[4]) - 1), *price[5:]])


def _no_price(certificate: dict[str, Any]) -> None:
    del certificate["mechanism"]["numbers"]["price_bits"]


def _another_support(certificate: dict[str, Any]) -> None:
    certificate["accounting"]["rows"][0]["n_support"] += 1


def _another_unit(certificate: dict[str, Any]) -> None:
    certificate["parameters"]["synthesis"]["unit"] = "block"


def _reading_of_cells(certificate: dict[str, Any]) -> None:
    reading = certificate["readings"]["probabilistic_differential_privacy"]
    reading["holds_for"] = "each (destination block, segment) by itself"


def _no_unit(certificate: dict[str, Any]) -> None:
    certificate["parameters"]["synthesis"]["unit"] = "cell"


def _no_caveats(certificate: dict[str, Any]) -> None:
    certificate["caveats"] = certificate["caveats"][:1]


def _larger_epsilon_asked(certificate: dict[str, Any]) -> None:
    certificate["parameters"]["privacy"]["epsilon"] = "10"


def _stated_privacy(certificate: dict[str, Any]) -> None:
    certificate["parameters"]["privacy"]["min_retention"] = "1/40"


TAMPERED: list[Callable[[dict[str, Any]], None]] = [
    _smaller_epsilon,
    _usual_mechanism,
    _fewer_synthesizers,
    _more_noise_than_drawn,
    _another_price,
    _no_price,
    _another_support,
    _another_unit,
    _larger_epsilon_asked,
    _stated_privacy,
]
"""Forgeries of a release by cell."""


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("exponential", _smaller_epsilon),
        ("exponential", _another_price),
        ("exponential-block", _no_unit),
        ("exponential-block", _reading_of_cells),
        ("exponential-tract", _another_unit),
        ("exponential-tract", _no_caveats),
    ],
)
def test_a_forged_certificate_is_found(
    releases: dict[str, Path], tmp_path: Path, name: str, change: Callable[[dict[str, Any]], None]
) -> None:
    release = Path(shutil.copytree(releases[name], tmp_path / "r"))
    forge(release, lambda certificate: None)
    assert failed(release) == []
    forge(release, change)
    assert failed(release) != []


@pytest.mark.parametrize("name", UNITS)
def test_batches_and_threads_change_nothing(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def files(path: Path, threads: int) -> Any:
        parameters = SynthesisParameters(prior="flows", mechanism="exponential", unit=UNITS[name])
        run_synthesis(dataset, path, SOUND, parameters, test_key=True, workers=threads)
        return json.loads((path / "manifest.json").read_text())["files"]

    whole = files(tmp_path / "whole", 1)
    monkeypatch.setattr(geography, "_FEWEST_WORKERS", 100)
    assert files(tmp_path / "parts", 3) == whole


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--mechanism", "magic"], ["magic", "'exponential', 'dirichlet-multinomial'"]),
        *((["--mechanism", name], [name, "'exponential', 'dirichlet-multinomial'"]) for name in FORMER),
        (
            ["--mechanism", "exponential", "--epsilon", "4.6", "--epsilon-final", "8"],
            ["--epsilon 4.6", "--epsilon-final 8"],
        ),
        (["--mechanism", "exponential", "--accountant", "sound"], ["--accountant sound", "leave it out"]),
        (["--mechanism", "exponential", "--replication"], ["--replication", "leave it out"]),
        (["--mechanism", "exponential", "--editing", "drop"], ["drop"]),
        (["--mechanism", "exponential", "--epsilon-final", "0"], ["epsilon", "0"]),
        (["--mechanism", "exponential", "--epsilon-final", "-3"], ["epsilon", "-3"]),
        (["--mechanism", "exponential", "--epsilon-final", "nan"], ["nan"]),
        (["--mechanism", "exponential", "--epsilon-final", "25.01"], ["25.01", "1/1024 to 25"]),
        (["--mechanism", "exponential", "--delta", "1e-6"], ["--delta 1e-6", "leave it out"]),
        (["--mechanism", "exponential", "--strength", "2"], ["--strength 2.0", "leave it out"]),
        (["--mechanism", "exponential", "--min-retention", "0.1"], ["--min-retention 0.1"]),
        (["--mechanism", "exponential", "--unit", "county"], ["county", "'cell', 'block', 'tract'"]),
        (["--unit", "block"], ["--unit block with --mechanism dirichlet-multinomial", "leave it out"]),
    ],
)
def test_what_a_mechanism_does_not_go_by_is_refused(
    demo_dataset: Path, tmp_path: Path, options: list[str], said: list[str]
) -> None:
    own = Path(shutil.copytree(demo_dataset, tmp_path / "d"))
    published = ("--preset", "onthemap-v3")
    message = refused("synthesize", own, tmp_path / "r", "-q", *published, *options)
    for word in said:
        assert word in message, message
    assert list(tmp_path.iterdir()) == [own]
    assert not (own / "ledger.jsonl").exists(), "a refused release must spend nothing"


def test_epsilon_is_the_whole_promise_where_nothing_is_pruned(dataset: Path) -> None:
    by_option = {
        name: parameters_of(dataset, replace_values(OPTIONS, {"mechanism": "exponential", name: "4.6"}))
        for name in ("epsilon", "epsilon_final")
    }
    assert by_option["epsilon"] == by_option["epsilon_final"]
    assert by_option["epsilon"][0].epsilon == Fraction(23, 5)


@pytest.fixture
def former(releases: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """Returns a release that says that version 0.1 drew it with a mechanism that has left."""

    def make(mechanism: str) -> Path:
        release = Path(shutil.copytree(releases["exponential"], tmp_path / f"{mechanism}.release"))

        def change(certificate: dict[str, Any]) -> None:
            certificate["parameters"]["synthesis"]["mechanism"] = mechanism
            certificate["mechanism"]["name"] = mechanism
            if mechanism == "plug-in":
                certificate.update(epsilon=None, delta=None, epsilon_final=None, unit_of_protection=None)
                certificate.update(readings={}, status="not for release", status_reasons=["not private"])

        forge(release, change)
        return release

    return make


@pytest.mark.parametrize("mechanism", FORMER)
def test_a_release_of_a_mechanism_that_left_is_refused_in_one_line(
    dataset: Path, former: Callable[[str], Path], tmp_path: Path, mechanism: str
) -> None:
    release = former(mechanism)
    for command in (
        ("certify", release),
        ("serve", release),
        ("analyze", release, "area-profile", "--area", "x"),
        ("report", release, "-o", tmp_path / "report.html"),
        ("export", release, tmp_path / "files", "--to", "csv"),
        ("validate", dataset, release, "-q"),
        ("audit", dataset, release, "-q"),
    ):
        message = refused(*command)
        assert f"drawn with the mechanism {mechanism}, which this version no longer has" in message, message
        assert "open it with version 0.1, or make a release with --mechanism exponential" in message
    assert not (tmp_path / "report.html").exists()
    assert not (tmp_path / "files").exists()


@pytest.mark.parametrize("mechanism", FORMER)
def test_the_ledger_still_counts_a_release_of_a_mechanism_that_left(
    demo_dataset: Path, former: Callable[[str], Path], capsys: pytest.CaptureFixture[str], mechanism: str
) -> None:
    assert run(["ledger", str(demo_dataset), str(former(mechanism)), "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["sources"][1]["entries"]
    assert entry["is_private"] is (mechanism != "plug-in")
    assert entry["epsilon"] == (None if mechanism == "plug-in" else pytest.approx(EPSILON, abs=1e-8))


def test_a_release_that_promises_nothing_is_no_prior(dataset: Path, former: Callable[[str], Path]) -> None:
    last, out = former("plug-in"), dataset.parent / "x"
    for options in ([], ["--test-key"]):
        message = refused("synthesize", dataset, out, "-q", *options, "--prior-release", last)
        assert "promises nothing" in message


def test_pages_say_what_is_promised(releases: dict[str, Path]) -> None:
    served = open_releases(list(releases.values()))
    text = {
        name: "".join(
            to_json_plotly(part)
            for part in (method.page(release), answer.promise(release), certificate_page.card(release))
        )
        for name, release in served.items()
    }
    for name in UNITS:
        assert "ε = 8.98 · δ = 0" in words.promise(served[name].certificate)
        assert "The fewer workers an assignment moves from their real homes" in text[name]
        assert "the probability of a draw outside the promise" in text[name]
        assert "Nobody on this map is a real person" in text[name]
