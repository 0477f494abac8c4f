"""Whatever is made from a dataset with residents only says so, and is not for release."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from engine.parameters import PrivacyParameters, SynthesisParameters
from geodata.importing.importing import import_dataset, write_dataset
from geodata.sources.recognize import sources_in
from geodata.store.store import open_store
from mapapp.kinds.base.residents_only import open_dataset, reasons_of_homes
from mapapp.kinds.release.certificate.recheck import check_release
from mapapp.kinds.release.make.run import run_synthesis
from tests.commands.running import run_here
from tests.geodata import samples

REASON = "workers in Rhode Island who live in other states are left out"


@pytest.fixture(scope="module")
def residents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("residents")
    found = samples.write_sources(folder / "sources")
    for name in ("ri_od_aux_JT00_2019.csv.gz", "ct_od_aux_JT00_2019.csv.gz", "ct_xwalk.csv.gz"):
        (found / name).unlink()
    write_dataset(folder / "d", import_dataset(sources_in(found)[0], residents_only=True))
    return folder / "d"


@pytest.fixture(scope="module")
def release(residents: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("released") / "r"
    run_synthesis(
        residents,
        path,
        PrivacyParameters(epsilon="6.5", delta="1e-6"),
        SynthesisParameters(mechanism="exponential", prior="gravity"),
        test_key=False,
    )
    return path


def test_a_release_is_marked_and_spends_nothing(release: Path, residents: Path) -> None:
    certificate = json.loads((release / "certificate.json").read_text())
    assert certificate["status"] == "not for release"
    assert [REASON in reason for reason in certificate["status_reasons"]] == [True]
    assert certificate["publication"]["facts"]["residents_only"] == ["44"]
    assert "residents only" in certificate["publication"]["facts"]["title"]
    line = json.loads((residents / "ledger.jsonl").read_text().splitlines()[-1])
    assert REASON in json.dumps(line)
    assert all(check.ok for check in check_release(release))
    states = open_store(release, "release").table("blocks", ["state_id"])["state_id"]
    assert set(states) == {"44"}


def test_the_mark_cannot_be_taken_off(release: Path, tmp_path: Path) -> None:
    forged = Path(shutil.copytree(release, tmp_path / "r"))
    path = forged / "certificate.json"
    certificate = json.loads(path.read_text())
    certificate |= {"status": "for release", "status_reasons": []}
    path.write_text(json.dumps(certificate))
    manifest = json.loads((forged / "manifest.json").read_text())
    facts = manifest["files"]["certificate.json"]
    facts |= {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "bytes": path.stat().st_size}
    (forged / "manifest.json").write_text(json.dumps(manifest))
    failed = [check.check for check in check_release(forged) if not check.ok]
    assert "made again from public tables" in failed


def test_reasons_come_from_the_facts_alone(residents: Path) -> None:
    assert reasons_of_homes({}) == reasons_of_homes({"residents_only": []}) == []
    assert REASON in reasons_of_homes(open_dataset(residents).manifest)[0]


@pytest.fixture(params=["table", "records"])
def other(request: pytest.FixtureRequest, residents: Path, tmp_path: Path) -> Path:
    rates = tmp_path / "rates.csv"
    lines = [f"{county},{industry},0.5" for county in ("44001", "44003") for industry in (1, 2, 3)]
    rates.write_text("\n".join(["row_id,column_id,rate", *lines]) + "\n")
    options: dict[str, list[object]]
    options = {
        "table": [
            *("--rows", "county", "--columns", "industry", "--counts", "same-unit", "--anyway"),
            *("--prior", rates, "--delta", "0.1"),
        ],
        "records": ["--kept", "none", "--records", "5"],
    }
    done = run_here(request.param, residents, tmp_path / "made", *options[request.param])
    assert (done.code, "not for release" in done.out) == (0, True), done.err
    return tmp_path / "made"


def test_a_table_and_records_are_marked_and_pass_their_checks(other: Path) -> None:
    certificate = json.loads((other / "certificate.json").read_text())
    assert certificate["status"] == "not for release"
    assert [REASON in reason for reason in certificate["status_reasons"]] == [True]
    assert certificate["publication"]["facts"]["residents_only"] == ["44"]
    assert run_here("certify", other).code == 0
