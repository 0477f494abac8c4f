"""Last year's release as prior: the flows it makes, what the new release says of it, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas
import pytest

from engine.parameters import SynthesisParameters
from geodata.errors import StoreError
from geodata.store.schema import TABLES
from geodata.store.store import Store, open_store, sha256_of, write_store
from mapapp.answers.publication import CERTIFICATE, bind_publication, public_facts
from mapapp.base.errors import UsageError
from mapapp.commands.cli import run
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.release.certificate.recheck import check_release
from mapapp.kinds.release.make.last_release import (
    LAST_RELEASE_CAVEAT,
    add_last_release,
    check_last_release,
    release_flows,
)
from mapapp.kinds.release.make.margin_options import DatasetView
from mapapp.kinds.release.make.run import run_synthesis
from mapapp.kinds.release.make.settings import privacy_of
from tests.commands.running import refused

PRIVACY = privacy_of(accountant="sound", delta="1e-6", min_retention="0.025")
FLOWS = SynthesisParameters(prior="flows")
ENDS = ["destination_tract_index", "origin_tract_index"]


@pytest.fixture
def dataset(demo_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path / "d"))


@pytest.fixture
def last(demo_release: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_release, tmp_path / "last"))


@pytest.fixture(scope="module")
def made(demo_dataset: Path, demo_release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release under the test key whose prior is the release `demo_release`."""
    place = tmp_path_factory.mktemp("made")
    shutil.copytree(demo_dataset, place / "d")
    run_synthesis(
        place / "d", place / "r", PRIVACY, FLOWS, view=DatasetView(last_release=demo_release), test_key=True
    )
    return place / "r"


def reseal(store: Path, **facts: Any) -> None:
    """Make the manifest fit whatever was changed, as a forger would."""
    manifest = json.loads((store / "manifest.json").read_text()) | facts
    for name, listed in manifest["files"].items():
        file = store / name
        listed.update(sha256=sha256_of(file), bytes=file.stat().st_size)
    (store / "manifest.json").write_text(json.dumps(manifest))


def rebind(release: Path, **facts: Any) -> None:
    """Make the certificate bind whatever was changed, and the manifest fit both, as a careful forger would."""
    reseal(release, **facts)
    manifest = json.loads((release / "manifest.json").read_text())
    bound = bind_publication(certificate_of(release), public_facts(manifest), manifest["files"])
    (release / CERTIFICATE).write_text(json.dumps(bound))
    reseal(release)


def change_tracts(store: Path, change: Callable[[Any], Any]) -> None:
    change(tracts := geopandas.read_parquet(store / "tracts.parquet"))
    tracts.to_parquet(store / "tracts.parquet", index=False)
    reseal(store)


def failed(release: Path) -> list[str]:
    return [check.check for check in check_release(release) if not check.ok]


def certificate_of(release: Path) -> dict[str, Any]:
    return dict(json.loads((release / "certificate.json").read_text()))


def counted_one_by_one(release: Store) -> Counter[tuple[str, str]]:
    """Workers by the identifiers of work and home tract, row by row."""
    tract = release.table("blocks")["tract_id"].tolist()
    flows: Counter[tuple[str, str]] = Counter()
    jobs = release.table("jobs")
    for work, home, count in zip(jobs["destination_index"], jobs["origin_index"], jobs["count"], strict=True):
        flows[tract[work], tract[home]] += count
    return flows


def test_flows_are_the_workers_of_the_release(made: Path, demo_release: Path, demo_dataset: Path) -> None:
    store = open_store(made, "release")
    prior = store.table("prior")
    tract = store.table("tracts")["tract_id"].to_numpy()
    found = {
        (tract[work], tract[home]): workers
        for work, home, workers in prior[[*ENDS, "weight"]].itertuples(index=False)
    }
    assert found == counted_one_by_one(open_store(demo_release, "release"))
    assert len(found) == len(prior)
    assert (prior[ENDS].sort_values(ENDS).index == prior.index).all()
    assert not prior.equals(open_store(demo_dataset, "dataset").table("prior"))


def test_the_certificate_says_where_the_prior_came_from(made: Path, demo_release: Path) -> None:
    certificate, before = certificate_of(made), certificate_of(demo_release)
    last = certificate["construction"]["last_release"]
    manifest = json.loads((demo_release / "manifest.json").read_text())
    assert last["manifest_sha256"] == sha256_of(demo_release / "manifest.json")
    assert (last["title"], last["year"]) == (manifest["title"], manifest["year"])
    assert last["status"] == "not for release"
    for name in ("epsilon_final", "delta"):
        assert last[name] == before[name]
        assert Fraction(last[name]["exact"]) > 0
    n_workers = int(open_store(demo_release, "release").table("jobs")["count"].sum())
    assert (last["workers"], last["workers_matched"], last["workers_unmatched"]) == (n_workers, n_workers, 0)
    assert certificate["caveats"][-1] == LAST_RELEASE_CAVEAT
    assert LAST_RELEASE_CAVEAT not in before["caveats"]
    assert certificate["public_inputs"]["prior"] == sha256_of(made / "prior.parquet")
    assert certificate["public_inputs"]["prior"] != before["public_inputs"]["prior"]


def test_it_is_checked_without_the_last_release(made: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copytree(made, tmp_path / "alone"))
    assert failed(alone) == []
    assert run(["certify", str(alone)]) == 0


def test_an_altered_prior_is_noticed(made: Path, demo_release: Path, tmp_path: Path) -> None:
    release = Path(shutil.copytree(made, tmp_path / "r"))
    prior = pandas.read_parquet(release / "prior.parquet")
    weight = prior["weight"].to_numpy(copy=True)
    weight[0] += 1
    prior["weight"] = weight
    prior.to_parquet(release / "prior.parquet", index=False)
    rebind(release)
    assert failed(release) == ["made again from public tables"]
    assert not check_last_release(release, demo_release).ok
    # The hash made to fit as well: the sum of the flows is no longer what is stated.
    certificate = certificate_of(release)
    certificate["public_inputs"]["prior"] = sha256_of(release / "prior.parquet")
    (release / "certificate.json").write_text(json.dumps(certificate))
    reseal(release)
    detail = {check.check: check.detail for check in check_release(release)}["made again from public tables"]
    assert "construction" in detail


def test_the_datasets_own_flows_instead_are_noticed(
    made: Path, demo_release: Path, demo_dataset: Path, tmp_path: Path
) -> None:
    release = Path(shutil.copytree(made, tmp_path / "r"))
    shutil.copyfile(demo_dataset / "prior.parquet", release / "prior.parquet")
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["files"]["prior.parquet"]["rows"] = len(pandas.read_parquet(release / "prior.parquet"))
    reseal(release, files=manifest["files"])
    assert "made again from public tables" in failed(release)
    assert not check_last_release(release, demo_release).ok


@pytest.mark.parametrize("name", ["epsilon_final", "manifest_sha256", "title"])
def test_another_origin_is_noticed(made: Path, demo_release: Path, tmp_path: Path, name: str) -> None:
    release = Path(shutil.copytree(made, tmp_path / "r"))
    certificate = certificate_of(release)
    other = {"epsilon_final": {"exact": "1/10", "value": 0.1}, "manifest_sha256": "0" * 64, "title": "Oz"}
    certificate["construction"]["last_release"][name] = other[name]
    (release / "certificate.json").write_text(json.dumps(certificate))
    reseal(release)
    assert failed(release) == ["made again from public tables"]
    # With the manifest made to fit, only somebody who has the last release can tell.
    rebind(
        release,
        last_release=json.loads((release / "manifest.json").read_text())["last_release"]
        | {name: other[name]},
    )
    assert failed(release) == []
    check = check_last_release(release, demo_release)
    assert not check.ok
    assert "certificate" in check.detail
    assert "do not publish" in refused("certify", release, "--prior-release", demo_release)


def test_an_honest_origin_is_confirmed(made: Path, demo_release: Path) -> None:
    assert check_last_release(made, demo_release).ok
    assert run(["certify", str(made), "--prior-release", str(demo_release)]) == 0


def test_the_order_of_its_rows_decides_nothing(
    made: Path, dataset: Path, demo_release: Path, last: Path
) -> None:
    jobs = pandas.read_parquet(last / "jobs.parquet")
    jobs.sample(frac=1.0, random_state=5).to_parquet(last / "jobs.parquet", index=False, row_group_size=97)
    reseal(last)
    outcome = run_synthesis(
        dataset, dataset.parent / "r", PRIVACY, FLOWS, view=DatasetView(last_release=last), test_key=True
    )
    said = f"{outcome.lines()} {outcome.to_dict()}"
    assert "edited" not in said, "how many real workers were edited out, `validate` alone may say"
    assert "confidential" not in said
    for table in TABLES["release"]:
        file = f"{table.name}.parquet"
        assert (dataset.parent / "r" / file).read_bytes() == (made / file).read_bytes(), file


def test_the_order_of_flows_decides_nothing(demo_dataset: Path, tmp_path: Path) -> None:
    """Also with pairs in several rows of weights that no binary fraction holds."""
    store = open_store(demo_dataset, "dataset")
    prior = store.table("prior")
    rows = pandas.concat([prior.assign(weight=prior["weight"] * part) for part in (0.1, 0.3, 1 / 3, 0.7)])
    releases = []
    for seed in (1, 2):
        with write_store(tmp_path / f"d{seed}", "dataset") as writer:
            for table in TABLES["dataset"]:
                if table.name != "prior":
                    writer.copy_table(store, table.name)
            writer.table("prior", rows.sample(frac=1.0, random_state=seed))
            writer.facts(
                **{name: value for name, value in store.manifest.items() if name not in ("files", "kind")}
            )
        releases.append(tmp_path / f"r{seed}")
        run_synthesis(tmp_path / f"d{seed}", releases[-1], PRIVACY, FLOWS, test_key=True)
    for name in ("jobs.parquet", "points.parquet"):
        assert releases[0].joinpath(name).read_bytes() == releases[1].joinpath(name).read_bytes()
    first, second = map(certificate_of, releases)
    assert first["accounting"] == second["accounting"]


def test_a_dataset_is_refused_with_the_reason(dataset: Path) -> None:
    message = refused("synthesize", dataset, dataset.parent / "r", "-q", "--prior-release", dataset)
    assert "spent twice" in message
    assert not (dataset / "ledger.jsonl").exists()
    assert [entry.name for entry in dataset.parent.iterdir()] == ["d"]


def test_what_is_not_for_release_makes_nothing_for_release(dataset: Path, last: Path) -> None:
    message = refused("synthesize", dataset, dataset.parent / "r", "-q", "--prior-release", last)
    assert "not for release" in message
    assert not (dataset / "ledger.jsonl").exists()
    with pytest.raises(UsageError, match="not for release"):
        add_last_release(open_store(dataset, "dataset"), last)


@pytest.mark.parametrize("prior", ["gravity", "uniform"])
def test_another_prior_contradicts_it(dataset: Path, last: Path, prior: str) -> None:
    message = refused("synthesize", dataset, dataset.parent / "r", "--prior", prior, "--prior-release", last)
    assert "give one" in message


def test_each_release_spends_its_own_part(dataset: Path) -> None:
    place = dataset.parent
    assert run(["synthesize", str(dataset), str(place / "r1"), "-q"]) == 0
    assert (
        run(["synthesize", str(dataset), str(place / "r2"), "-q", "--prior-release", str(place / "r1")]) == 0
    )
    entries = Ledger(dataset).entries()
    assert [entry.release for entry in entries] == ["r1", "r2"]
    assert entries[0].epsilon == entries[1].epsilon > 0
    assert certificate_of(place / "r2")["status"] == "for release"
    assert failed(place / "r2") == []


def test_tracts_that_are_not_there_are_left_out_and_counted(dataset: Path, last: Path) -> None:
    store = open_store(dataset, "dataset")
    flows = counted_one_by_one(open_store(last, "release"))
    gone = min(store.table("tracts").query("~elsewhere")["tract_id"])
    wanted = sum(workers for pair, workers in flows.items() if gone in pair)

    def rename(tracts: Any) -> None:
        tracts.loc[tracts["tract_id"] == gone, ["tract_id", "state_id"]] = ["00" + gone[2:], "00"]

    change_tracts(last, rename)
    found = release_flows(open_store(last, "release"), store)
    assert 0 < found.n_unmatched == wanted < found.n_workers
    assert found.table["weight"].sum() == found.n_workers - found.n_unmatched
    run_synthesis(
        dataset, dataset.parent / "r", PRIVACY, FLOWS, view=DatasetView(last_release=last), test_key=True
    )
    stated = certificate_of(dataset.parent / "r")["construction"]["last_release"]
    assert stated["workers_unmatched"] == wanted
    assert failed(dataset.parent / "r") == []
    assert check_last_release(dataset.parent / "r", last).ok


def test_a_home_in_a_state_counted_as_a_whole_goes_to_that_state(dataset: Path, last: Path) -> None:
    store = open_store(dataset, "dataset")
    tracts = store.table("tracts")
    flows = counted_one_by_one(open_store(last, "release"))
    away = tracts.loc[tracts["elsewhere"], "tract_id"].iloc[0]
    work = {pair[0] for pair in flows}
    moved = next(pair[1] for pair in flows if pair[1] not in work and pair[1] != away)

    def move(frame: Any) -> None:
        frame.loc[frame["tract_id"] == moved, ["tract_id", "state_id"]] = [away + moved[2:], away]

    change_tracts(last, move)
    found = release_flows(open_store(last, "release"), store)
    assert found.n_unmatched == 0
    row = int(np.flatnonzero(tracts["tract_id"] == away)[0])
    to_state = found.table.loc[found.table["origin_tract_index"] == row, "weight"].sum()
    assert to_state == sum(workers for pair, workers in flows.items() if pair[1] in (away, moved))


def test_a_release_of_other_places_is_refused(dataset: Path, last: Path) -> None:
    def rename(tracts: Any) -> None:
        half = np.arange(len(tracts)) % 10 < 8
        tracts.loc[half, "tract_id"] = "0" + tracts.loc[half, "tract_id"].str[1:]
        tracts.loc[half, "state_id"] = "00"

    change_tracts(last, rename)
    arguments = [
        "synthesize",
        dataset,
        dataset.parent / "r",
        "-q",
        "--test-key",
        "--prior-release",
        last,
    ]
    assert "no tract of" in refused(*arguments)
    assert not (dataset / "ledger.jsonl").exists()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"status": "for release", "epsilon_final": 3}'])
def test_a_last_release_that_does_not_say_what_it_spent_is_refused(
    dataset: Path, last: Path, text: str
) -> None:
    (last / "certificate.json").write_text(text)
    reseal(last)
    message = refused("synthesize", dataset, dataset.parent / "r", "-q", "--prior-release", last)
    assert "certificate.json" in message


@pytest.mark.parametrize(
    ("column", "value"), [("origin_index", 10**6), ("destination_index", -1), ("count", 0)]
)
def test_rows_that_cannot_be_are_refused(dataset: Path, last: Path, column: str, value: int) -> None:
    jobs = pandas.read_parquet(last / "jobs.parquet")
    jobs.loc[3, column] = value
    jobs.to_parquet(last / "jobs.parquet", index=False)
    reseal(last)
    with pytest.raises(StoreError, match=f"column {column!r} holds {value}, which is not in"):
        add_last_release(open_store(dataset, "dataset"), last, for_release=False)


def test_an_altered_last_release_is_refused(dataset: Path, last: Path) -> None:
    content = bytearray((last / "jobs.parquet").read_bytes())
    content[len(content) // 2] ^= 1
    (last / "jobs.parquet").write_bytes(content)
    assert "sha256" in refused("synthesize", dataset, dataset.parent / "r", "-q", "--prior-release", last)
    assert "no such directory" in refused(
        "synthesize", dataset, dataset.parent / "r", "-q", "--prior-release", dataset.parent / "nowhere"
    )
