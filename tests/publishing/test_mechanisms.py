"""Other mechanisms than the Dirichlet-multinomial, from options to certificate, ledger and pages."""

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

from engine.accept_reject import certify_accepted, inner_privacy
from engine.mechanisms.exponential import exponential_promise
from engine.mechanisms.prices import PRICE_UNITS, law_of
from engine.mechanisms.thetas import inverse_theta
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters, Unit
from engine.streams import PublicSeed, SecretKey
from geodata.demo import write_demo
from geodata.store import open_store, sha256_of
from mapapp.answers import words
from mapapp.answers.prior_terms import ExponentialTerms
from mapapp.answers.served_release import open_releases
from mapapp.cli import run
from mapapp.explore.pages import answer, method
from mapapp.explore.pages import certificate as certificate_page
from mapapp.publishing import certified_weights, geography
from mapapp.publishing.batch import draw_batch, open_source, prepare_batch
from mapapp.publishing.certificate.check import check_certificate
from mapapp.publishing.certificate.recheck import check_release
from mapapp.publishing.ledger import Ledger
from mapapp.publishing.ledger_entry import LedgerError, sum_readings
from mapapp.publishing.mechanisms import OWN_PROOFS
from mapapp.publishing.run import run_synthesis
from mapapp.publishing.settings import parameters_of, privacy_of
from tests.commands.running import refused
from tests.measuring.test_sweep import OPTIONS

OTHERS: dict[str, tuple[Mechanism, Unit]] = {
    "accept-reject": ("accept-reject", "cell"),
    "laplace": ("laplace", "cell"),
    "sparse-histogram": ("sparse-histogram", "cell"),
    "exponential": ("exponential", "cell"),
    "exponential-block": ("exponential", "block"),
    "exponential-tract": ("exponential", "tract"),
    "keep-or-redraw": ("keep-or-redraw", "cell"),
    "geometric": ("geometric", "cell"),
    "geometric-tract": ("geometric", "tract"),
    "plug-in": ("plug-in", "cell"),
}
EPSILON = 4.6 + np.log(40) + np.log(2)
SOUND = privacy_of(accountant="sound", delta="1e-6", min_retention="0.025")
NOTHING_COARSENED: dict[str, Any] = {
    "q50_mi": 12_000.0,
    "q75_mi": None,
    "q90_mi": 12_500.0,
    "editing": "none",
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mechanisms") / "d"
    write_demo(path, size="small", seed=5)
    return path


@pytest.fixture(scope="module")
def releases(dataset: Path) -> dict[str, Path]:
    """One release of each mechanism and unit, with a secret key, from the command line."""
    paths: dict[str, Path] = {name: dataset.parent / name for name in OTHERS}
    for name, path in paths.items():
        mechanism, unit = OTHERS[name]
        options = ["--preset", "onthemap-v3", *(["--not-private"] if name == "plug-in" else [])]
        options += ["--unit", unit] if unit != "cell" else []
        assert run(["synthesize", str(dataset), str(path), "-q", "--mechanism", mechanism, *options]) == 0
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


@pytest.mark.parametrize("name", OTHERS)
def test_a_release_of_each_holds_and_keeps_the_totals(
    dataset: Path, releases: dict[str, Path], name: str
) -> None:
    assert failed(releases[name]) == []
    places = ["destination_index", "age", "earnings", "industry"]
    real, synthetic = by_tract(dataset, "dataset"), by_tract(releases[name], "release")
    assert synthetic.groupby(places).sum().equals(real.groupby(places).sum())
    assert not synthetic.equals(real)


@pytest.mark.parametrize(
    ("name", "accountant", "delta", "readings"),
    [
        ("accept-reject", "sound", 1e-6, 2),
        ("laplace", "none", 0.0, 2),
        ("sparse-histogram", "none", 1e-6, 1),
        ("exponential", "none", 0.0, 2),
        ("exponential-block", "none", 0.0, 2),
        ("exponential-tract", "none", 0.0, 2),
    ],
)
def test_what_a_certificate_promises(
    releases: dict[str, Path], name: str, accountant: str, delta: float, readings: int
) -> None:
    certificate = certificate_of(releases[name])
    assert certificate["status"] == "for release"
    assert certificate["accountant"] == accountant
    assert certificate["epsilon_final"]["value"] == pytest.approx(EPSILON, abs=1e-8)
    assert certificate["epsilon"] == certificate["epsilon_final"]
    assert certificate["delta"]["value"] == delta
    assert len(certificate["readings"]) == readings
    for reading in certificate["readings"].values():
        assert (reading["epsilon"], reading["delta"]) == (certificate["epsilon_final"], certificate["delta"])
    section, synthesis = certificate["mechanism"], certificate["parameters"]["synthesis"]
    mechanism, unit = OTHERS[name]
    assert (section["name"], section["is_private"]) == (mechanism, True)
    assert (synthesis["mechanism"], synthesis.get("unit", "cell")) == (mechanism, unit)
    assert all(condition["holds"] for condition in certificate["preconditions"])


def test_the_numbers_that_make_each_promise_checkable(releases: dict[str, Path]) -> None:
    numbers = {name: certificate_of(path)["mechanism"]["numbers"] for name, path in releases.items()}
    for name in ("laplace", "sparse-histogram"):
        assert numbers[name]["noise_scale"]["value"] == pytest.approx(2 / EPSILON)
    q, threshold = np.exp(-EPSILON / 2), numbers["sparse-histogram"]["threshold"]
    assert numbers["sparse-histogram"]["delta_bound"]["value"] == pytest.approx(
        q ** (threshold - 1) / (1 + q)
    )
    assert q ** (threshold - 1) / (1 + q) <= 1e-6 < q ** (threshold - 2) / (1 + q)
    accepted = numbers["accept-reject"]
    assert accepted["gamma_plus_one"]["value"] == pytest.approx(np.exp(EPSILON) * (1 - 1e-6), rel=1e-7)
    assert accepted["epsilon_of_one_round"]["value"] == pytest.approx(EPSILON - 1e-6 - 2**-16, abs=1e-8)
    assert 0 < accepted["failure_bound"] <= 1e-6
    assert numbers["plug-in"] == {}


@pytest.mark.parametrize("name", ["exponential", "exponential-block", "exponential-tract"])
def test_the_rows_hold_every_theta(releases: dict[str, Path], name: str) -> None:
    certificate = certificate_of(releases[name])
    epsilon = Fraction(certificate["epsilon_final"]["exact"])
    rows = certificate["accounting"]["rows"]
    sizes = [row["n_support"] for row in rows]
    assert sizes == sorted(set(sizes))
    assert len(sizes) > 3
    cells = by_tract(releases[name], "release").groupby(["destination_index", "age", "earnings", "industry"])
    assert sum(row["synthesizers"] for row in rows) == cells.ngroups
    for row in rows:
        found = [int(value) for value in row["inverse_theta"].split()]
        laws = [law_of(epsilon, row["n_support"], n) for n in range(1, 22)]
        assert found == [law.inverse_theta for law in laws]
        assert [int(value) for value in row["price"].split()] == [law.price for law in laws]
        unpriced = [inverse_theta(epsilon, row["n_support"], n) for n in range(1, 22)]
        assert unpriced == sorted(unpriced, reverse=True)
        assert (found[0], found[-1]) == (unpriced[0], unpriced[-1])
        assert all(one >= other for one, other in zip(found, unpriced, strict=True))
        assert laws[1].price < PRICE_UNITS


@pytest.mark.parametrize("name", ["exponential", "exponential-block", "exponential-tract"])
def test_a_release_drawn_without_a_price_can_still_be_checked(releases: dict[str, Path], name: str) -> None:
    certificate = certificate_of(releases[name])
    epsilon = Fraction(certificate["epsilon_final"]["exact"])
    earlier = exponential_promise(epsilon, priced=False)
    certificate["mechanism"]["rule"] = earlier.rule
    certificate["mechanism"]["numbers"] = dict(earlier.numbers)
    for row in certificate["accounting"]["rows"]:
        del row["price"]
        row["rule"] = earlier.rule
    assert not passes(certificate)
    for row in certificate["accounting"]["rows"]:
        found = (inverse_theta(epsilon, row["n_support"], n) for n in range(1, 22))
        row["inverse_theta"] = " ".join(map(str, found))
    assert passes(certificate)
    terms = ExponentialTerms.of(certificate)
    assert (terms.price == 1).all()
    assert terms.theta.shape == terms.price.shape


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


def test_plug_in_promises_nothing_and_says_so(releases: dict[str, Path]) -> None:
    certificate = certificate_of(releases["plug-in"])
    assert certificate["status"] == "not for release"
    assert certificate["status_reasons"] == [
        "mechanism 'plug-in': not private, shows where real workers live"
    ]
    for name in ("epsilon", "delta", "epsilon_final", "neighbours", "unit_of_protection", "composition"):
        assert certificate[name] is None
    assert certificate["readings"] == {}
    assert certificate["mechanism"]["is_private"] is False
    assert certificate["parameters"]["privacy"] == {}


def test_the_ledger_shows_plug_in_as_infinite(
    dataset: Path, releases: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    entries = {entry.release: entry for entry in Ledger(dataset).entries()}
    assert {name: entry.is_private for name, entry in entries.items()} == {
        name: name != "plug-in" for name in OTHERS
    }
    assert (entries["laplace"].delta, entries["plug-in"].for_release) == (Fraction(0), False)
    readings = {name: {reading.name for reading in entry.readings} for name, entry in entries.items()}
    names = sorted(name for name in OTHERS if name.startswith("exponential"))
    assert [(entries[name].delta, entries[name].for_release) for name in names] == [(Fraction(0), True)] * 3
    both = {"differential_privacy", "probabilistic_differential_privacy"}
    ordinary = {"differential_privacy"}
    assert readings == {
        "keep-or-redraw": both,
        "geometric": both,
        "geometric-tract": both,
        "accept-reject": both,
        "laplace": both,
        "sparse-histogram": ordinary,
        **dict.fromkeys(names, both),
        "plug-in": set(),
    }
    assert {reading.name for reading in sum_readings(Ledger(dataset).entries())} == ordinary
    epsilon, delta = Ledger(dataset).spent()
    assert (float(epsilon), float(delta)) == pytest.approx((9 * EPSILON, 2e-6))
    line = Ledger(dataset).path.read_text().splitlines()[-1]
    assert json.loads(line)["epsilon"] == json.loads(line)["delta"] == "infinite"
    capsys.readouterr()
    assert run(["ledger", str(dataset)]) == 0
    assert "plug-in  infinite  infinite  not for release: mechanism" in capsys.readouterr().out
    assert run(["ledger", str(dataset), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["entries"][-1]
    assert (shown["epsilon"], shown["is_private"]) == (None, False)


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


def _smaller_reading(certificate: dict[str, Any]) -> None:
    certificate["readings"]["differential_privacy"]["epsilon"] = {"value": 1.0, "exact": "1"}


def _another_delta(certificate: dict[str, Any]) -> None:
    certificate["delta"] = {"value": 1e-9, "exact": "1/1000000000"}


def _both_readings(certificate: dict[str, Any]) -> None:
    reading = certificate["readings"]["differential_privacy"]
    certificate["readings"]["probabilistic_differential_privacy"] = reading


def _another_number(certificate: dict[str, Any]) -> None:
    number = next(iter(certificate["mechanism"]["numbers"].values()))
    number.update(value=2 * number["value"])


def _another_rule(certificate: dict[str, Any]) -> None:
    certificate["mechanism"]["rule"] = "trust us"


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


def _private(certificate: dict[str, Any]) -> None:
    certificate["mechanism"]["is_private"] = True


def _for_release(certificate: dict[str, Any]) -> None:
    certificate.update(status="for release", status_reasons=[])


def _stated_privacy(certificate: dict[str, Any]) -> None:
    certificate["parameters"]["privacy"]["min_retention"] = "1/40"


def _larger_failure_bound(certificate: dict[str, Any]) -> None:
    certificate["mechanism"]["numbers"]["failure_bound"] /= 2


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("exponential", _smaller_epsilon),
        ("exponential", _usual_mechanism),
        ("exponential", _fewer_synthesizers),
        ("exponential", _more_noise_than_drawn),
        ("exponential", _another_price),
        ("exponential", _no_price),
        ("exponential", _another_support),
        ("exponential", _another_unit),
        ("exponential", _larger_epsilon_asked),
        ("exponential", _stated_privacy),
        ("exponential-block", _no_unit),
        ("exponential-block", _reading_of_cells),
        ("exponential-tract", _another_unit),
        ("exponential-tract", _no_caveats),
        ("laplace", _smaller_epsilon),
        ("laplace", _another_delta),
        ("laplace", _another_number),
        ("laplace", _fewer_synthesizers),
        ("laplace", _usual_mechanism),
        ("laplace", _stated_privacy),
        ("sparse-histogram", _smaller_reading),
        ("sparse-histogram", _both_readings),
        ("sparse-histogram", _another_rule),
        ("accept-reject", _smaller_epsilon),
        ("accept-reject", _smaller_reading),
        ("accept-reject", _another_number),
        ("accept-reject", _larger_failure_bound),
        ("accept-reject", _fewer_synthesizers),
        ("accept-reject", _usual_mechanism),
        ("plug-in", _private),
        ("plug-in", _for_release),
        ("plug-in", _usual_mechanism),
        ("plug-in", _stated_privacy),
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


@pytest.mark.parametrize("name", OTHERS)
def test_batches_and_threads_change_nothing(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def files(path: Path, threads: int) -> Any:
        mechanism, unit = OTHERS[name]
        parameters = SynthesisParameters(prior="flows", mechanism=mechanism, unit=unit)
        run_synthesis(dataset, path, SOUND, parameters, test_key=True, workers=threads)
        return json.loads((path / "manifest.json").read_text())["files"]

    whole = files(tmp_path / "whole", 1)
    monkeypatch.setattr(geography, "_FEWEST_WORKERS", 100)
    assert files(tmp_path / "parts", 3) == whole


def drawn_flows(
    dataset: Path, path: Path, mechanism: Mechanism, epsilon: str
) -> tuple[pandas.DataFrame, PrivacyParameters]:
    """Real and synthetic workers side by side, with every origin tract a support point."""
    privacy = PrivacyParameters(epsilon=epsilon, delta="1e-6", min_retention=1, accountant="sound")
    parameters = SynthesisParameters(prior="gravity", mechanism=mechanism, **NOTHING_COARSENED)
    run_synthesis(dataset, path, privacy, parameters, test_key=True)
    both = {"real": by_tract(dataset, "dataset"), "synthetic": by_tract(path, "release")}
    return pandas.DataFrame(both).fillna(0).astype(np.int64), privacy


def test_laplace_with_next_to_no_noise_repeats_the_table(dataset: Path, tmp_path: Path) -> None:
    """At epsilon 100 noise is other than 0 with a chance of 2 e^-50: every count comes back."""
    flows, _ = drawn_flows(dataset, tmp_path / "r", "laplace", "100")
    assert len(flows) > 1000
    assert (flows["real"] == flows["synthetic"]).all()


def test_a_sparse_histogram_with_next_to_no_noise_strikes_single_workers(
    dataset: Path, tmp_path: Path
) -> None:
    """At epsilon 100 the threshold is 2: counts from 2 on come back, single ones are drawn from the prior."""
    flows, privacy = drawn_flows(dataset, tmp_path / "r", "sparse-histogram", "100")
    assert OWN_PROOFS["sparse-histogram"].promise(privacy).numbers["threshold"] == 2
    several = flows["real"] >= 2
    assert several.sum() > 100
    assert (flows["synthetic"] >= flows["real"])[several].all()
    single = flows["real"] == 1
    assert (flows["synthetic"] == 0)[single].mean() > 0.5


def test_plug_in_draws_real_homes_only(dataset: Path, tmp_path: Path) -> None:
    flows, _ = drawn_flows(dataset, tmp_path / "r", "plug-in", "1")
    assert (flows["real"] > 0).all()
    assert (flows["synthetic"] == 0).any()


def test_accept_reject_draws_what_one_round_draws_and_again_where_it_must(dataset: Path) -> None:
    """Certified at delta 1e-6, no draw is rejected here; at the least possible ratio, many are."""
    store = open_store(dataset, "dataset")
    seed, key = PublicSeed.for_tests(), SecretKey.for_tests()
    accepting = open_source(store, seed, SOUND, SynthesisParameters(mechanism="accept-reject"))
    plain = open_source(store, seed, inner_privacy(SOUND), SynthesisParameters())
    ours, theirs = (prepare_batch(source, 0) for source in (accepting, plain))
    weights = ours.certified.weights
    assert weights.accepted_ratio is not None
    assert np.array_equal(weights.min_prior_weight, theirs.certified.weights.min_prior_weight)
    once = draw_batch(key, plain, 0, theirs).home_block
    assert np.array_equal(draw_batch(key, accepting, 0, ours).home_block, once)
    strict = dataclasses.replace(weights, accepted_ratio=np.full_like(weights.accepted_ratio, 1 << 20))
    certified = dataclasses.replace(ours.certified, weights=strict)
    again = draw_batch(key, accepting, 0, dataclasses.replace(ours, certified=certified)).home_block
    assert np.mean(again != once) > 0.2


def test_each_synthesizer_has_the_ratio_of_its_class(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def certify(prior: Any, classes: Any, privacy: PrivacyParameters) -> Any:
        accepted = certify_accepted(prior, classes, privacy)
        seen.append((classes, accepted))
        return accepted

    monkeypatch.setattr(certified_weights, "certify_accepted", certify)
    store = open_store(dataset, "dataset")
    source = open_source(store, PublicSeed.for_tests(), SOUND, SynthesisParameters(mechanism="accept-reject"))
    certified = prepare_batch(source, 0).certified.weights
    ((classes, accepted),) = seen
    place = {
        pair: j
        for j, pair in enumerate(zip(classes.tract.tolist(), classes.likelihood_count.tolist(), strict=True))
    }
    inputs = source.inputs(0)
    mine = [place[pair] for pair in zip(inputs.tract.tolist(), inputs.count.tolist(), strict=True)]
    assert certified.accepted_ratio is not None
    assert np.array_equal(certified.accepted_ratio, accepted.ratio[mine])
    assert np.array_equal(certified.min_prior_weight, accepted.sound.min_weight[mine])
    assert np.unique(accepted.ratio).size > 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--mechanism", "magic"], ["magic", "laplace", "plug-in"]),
        (["--mechanism", "plug-in"], ["--not-private"]),
        (["--not-private"], ["--not-private", "plug-in only"]),
        (["--mechanism", "laplace", "--not-private"], ["plug-in only"]),
        (
            ["--mechanism", "plug-in", "--not-private", "--epsilon-final", "3"],
            ["--epsilon-final 3", "leave it"],
        ),
        (["--mechanism", "plug-in", "--not-private", "--delta", "1e-6"], ["--delta 1e-6", "leave it out"]),
        (["--mechanism", "plug-in", "--not-private", "--epsilon", "1"], ["--epsilon 1", "leave it out"]),
        (["--mechanism", "laplace", "--delta", "1e-6"], ["--delta 1e-6", "leave it out"]),
        (
            ["--mechanism", "laplace", "--epsilon", "4.6", "--epsilon-final", "8"],
            ["--epsilon 4.6", "--epsilon-final 8"],
        ),
        (["--mechanism", "laplace", "--epsilon-final", "0.0001"], ["0.0001", "1/1024"]),
        (["--mechanism", "laplace", "--epsilon-final", "101"], ["101"]),
        (["--mechanism", "laplace", "--accountant", "sound"], ["--accountant sound", "leave it out"]),
        (
            ["--mechanism", "laplace", "--editing", "drop", "--replication"],
            ["laplace", "leave the other out"],
        ),
        (["--mechanism", "laplace", "--editing", "drop"], ["drop"]),
        (["--mechanism", "sparse-histogram", "--min-retention", "0.1"], ["--min-retention 0.1"]),
        (["--mechanism", "sparse-histogram", "--strength", "2"], ["--strength 2.0"]),
        (["--mechanism", "sparse-histogram", "--delta", "0"], ["delta"]),
        (["--mechanism", "exponential", "--epsilon-final", "0"], ["epsilon", "0"]),
        (["--mechanism", "exponential", "--epsilon-final", "-3"], ["epsilon", "-3"]),
        (["--mechanism", "exponential", "--epsilon-final", "nan"], ["nan"]),
        (["--mechanism", "exponential", "--epsilon-final", "25.01"], ["25.01", "1/1024 to 25"]),
        (["--mechanism", "exponential", "--delta", "1e-6"], ["--delta 1e-6", "leave it out"]),
        (["--mechanism", "exponential", "--strength", "2"], ["--strength 2.0", "leave it out"]),
        (["--mechanism", "exponential", "--min-retention", "0.1"], ["--min-retention 0.1"]),
        (["--mechanism", "exponential", "--unit", "county"], ["county", "'cell', 'block', 'tract'"]),
        (["--unit", "block"], ["--unit block with --mechanism dirichlet-multinomial", "leave it out"]),
        (["--mechanism", "laplace", "--unit", "tract"], ["--unit tract with --mechanism laplace"]),
        (["--mechanism", "accept-reject", "--accountant", "paper"], ["paper", "sound accountant only"]),
        (["--mechanism", "accept-reject", "--epsilon-final", "15.5"], ["15.5", "at most 15"]),
        (["--mechanism", "accept-reject", "--epsilon-final", "1e-6"], ["1e-06", "2^-16"]),
        (["--mechanism", "accept-reject", "--replication"], ["replication"]),
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


@pytest.mark.parametrize("mechanism", ["laplace", "exponential"])
def test_epsilon_is_the_whole_promise_where_nothing_is_pruned(dataset: Path, mechanism: str) -> None:
    by_option = {
        name: parameters_of(dataset, OPTIONS | {"mechanism": mechanism, name: "4.6"})
        for name in ("epsilon", "epsilon_final")
    }
    assert by_option["epsilon"] == by_option["epsilon_final"]
    assert by_option["epsilon"][0].epsilon == Fraction(23, 5)


def test_a_release_that_promises_nothing_is_no_prior(dataset: Path, releases: dict[str, Path]) -> None:
    for options in ([], ["--test-key"]):
        message = refused(
            "synthesize",
            dataset,
            dataset.parent / "x",
            "-q",
            *options,
            "--prior-release",
            releases["plug-in"],
        )
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
    assert words.promise(served["laplace"].certificate) == "ε = 8.98 · δ = 0"
    assert "the probability of a draw outside the promise" in text["laplace"]
    assert "every area was changed at random, even where it was zero" in text["laplace"]
    assert "small results were removed" in text["sparse-histogram"]
    for name in ("exponential", "exponential-block", "exponential-tract"):
        assert "ε = 8.98 · δ = 0" in words.promise(served[name].certificate)
        assert "The fewer workers an assignment moves from their real homes" in text[name]
    assert "drawn again" in text["accept-reject"]
    assert "sound accountant" in text["accept-reject"]
    for name in ("laplace", "sparse-histogram", "accept-reject"):
        assert "Nobody on this map is a real person" in text[name]
    assert "is a real person" not in text["plug-in"]
    assert "nothing is promised" in text["plug-in"]
    assert "Dots lie where real workers live" in text["plug-in"]
    assert "not stated" not in text["plug-in"]
