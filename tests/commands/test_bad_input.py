"""Every user error on the command line gives one line and exit code 2, and leaves nothing behind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.commands.running import commutemap, refused

PUBLISHED = ("--preset", "onthemap-v3")


@pytest.fixture
def dataset(demo_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path / "d"))


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--epsilon", "0", ["epsilon", "0"]),
        ("--epsilon", "-1", ["epsilon", "-1"]),
        ("--epsilon", "nan", ["epsilon", "nan"]),
        ("--epsilon", "inf", ["epsilon", "inf"]),
        ("--epsilon", "four", ["epsilon", "four"]),
        ("--epsilon-final", "0", ["epsilon", "0"]),
        ("--epsilon-final", "nine", ["epsilon", "nine"]),
        ("--accountant", "renyi", ["renyi", "sound", "paper"]),
        ("--delta", "0", ["delta"]),
        ("--delta", "1", ["delta"]),
        ("--delta", "-1e-6", ["delta"]),
        ("--delta", "", ["delta"]),
        ("--min-retention", "", ["min_retention"]),
        ("--min-retention", "0", ["min_retention"]),
        ("--min-retention", "1.5", ["min_retention"]),
        ("--q50", "30", ["q90_mi"]),
        ("--far-state-miles", "0", ["far_state_miles"]),
        ("--far-state-miles", "-300", ["far_state_miles"]),
        ("--far-state-miles", "nan", ["far_state_miles"]),
        ("--far-state-miles", "far", ["far", "none"]),
        ("--clean", "--mechanism=dirichlet-multinomial", ["clean", "dirichlet-multinomial"]),
        ("--strength", "-1", ["strength"]),
        ("--editing", "drop", ["replication"]),
        ("--editing", "burn", ["burn", "pool"]),
        ("--threads", "0", ["threads"]),
        ("--nonsense", "1", ["--nonsense"]),
    ],
)
def test_impossible_parameters_are_refused(dataset: Path, option: str, value: str, words: list[str]) -> None:
    message = refused("synthesize", dataset, dataset.parent / "r", *PUBLISHED, option, value)
    for word in words:
        assert word in message, message
    assert not (dataset / "ledger.jsonl").exists(), "a refused release must spend nothing"
    assert [entry.name for entry in dataset.parent.iterdir()] == ["d"]


@pytest.mark.parametrize(
    "options", [["--epsilon-final", "1e-18"], ["--epsilon", "1e-18", "--accountant", "paper"]]
)
def test_an_infeasible_promise_is_refused_with_its_numbers(dataset: Path, options: list[str]) -> None:
    message = refused("synthesize", dataset, dataset.parent / "r", *PUBLISHED, *options, "-q")
    assert "epsilon" in message
    assert "raise epsilon" in message
    assert not (dataset.parent / "r").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--editing", "drop", "--replication"], ["drop", "sound", "accountant 'paper'"]),
        (["--epsilon", "4.6", "--epsilon-final", "8"], ["give one"]),
        (["--epsilon-final", "8", "--accountant", "paper"], ["--epsilon-final", "give --epsilon"]),
        (["--design", "auto", "--strength", "2"], ["--design auto", "--strength"]),
        (["--design", "auto", "--accountant", "paper"], ["--design auto", "sound"]),
        (["--tract-radius", "5"], ["5.0", "give both radii"]),
        (["--tract-radius", "50", "--puma-radius", "5"], ["50", "5"]),
    ],
)
def test_contradictory_options_are_refused(dataset: Path, options: list[str], words: list[str]) -> None:
    message = refused("synthesize", dataset, dataset.parent / "r", *PUBLISHED, *options, "-q")
    for word in words:
        assert word in message, message
    assert not (dataset / "ledger.jsonl").exists(), "a refused release must spend nothing"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--epsilon", "0"], ["epsilon", "0"]),
        (["--epsilon", "25.5"], ["25.5", "1/1024 to 25"]),
        (["--epsilon", "4", "--epsilon-final", "5"], ["give one"]),
        (["--delta", "1e-6"], ["--delta 1e-6", "--preset onthemap-v3"]),
        (["--delta", "-1e-6"], ["--delta -1e-6", "--preset onthemap-v3"]),
        (["--delta", "small"], ["delta", "small"]),
        (["--min-retention", "0.025"], ["--min-retention 0.025", "--preset onthemap-v3"]),
        (["--retention-scale", "3"], ["--retention-scale 3", "--preset onthemap-v3"]),
        (["--strength", "1"], ["--strength 1", "--preset onthemap-v3"]),
        (["--accountant", "sound"], ["--accountant sound", "--preset onthemap-v3"]),
        (["--replication"], ["--replication with", "--preset onthemap-v3"]),
        (["--unit", "auto", "--design", "none"], ["--unit auto without --design auto"]),
        (
            ["--design", "auto", "--tract-radius", "5", "--puma-radius", "9"],
            ["--design auto", "--tract-radius"],
        ),
        (["--tract-radius", "5"], ["5.0", "give both radii"]),
        (["--preset", "best"], ["best", "'recommended', 'onthemap-v3'"]),
    ],
)
def test_the_default_preset_refuses_what_means_nothing_to_it(
    dataset: Path, options: list[str], words: list[str]
) -> None:
    message = refused("synthesize", dataset, dataset.parent / "r", *options, "-q")
    for word in words:
        assert word in message, message
    assert not (dataset / "ledger.jsonl").exists(), "a refused release must spend nothing"
    assert [entry.name for entry in dataset.parent.iterdir()] == ["d"]


def test_a_flow_prior_without_flows_is_refused(demo_dataset: Path, tmp_path: Path) -> None:
    from geodata.store.schema import TABLES
    from geodata.store.store import open_store, write_store

    store = open_store(demo_dataset, "dataset")
    with write_store(tmp_path / "d", "dataset") as writer:
        for table in TABLES["dataset"]:
            if table.name == "prior":
                writer.table("prior", store.table("prior").iloc[:0])
            else:
                writer.copy_table(store, table.name)
        writer.facts(commitment_key=store.manifest["commitment_key"])
    assert "--prior-flows" in refused("synthesize", tmp_path / "d", tmp_path / "r", "--prior", "flows", "-q")


def test_existing_output_is_refused(dataset: Path, demo_release: Path) -> None:
    (dataset.parent / "r").mkdir()
    assert "already exists" in refused("synthesize", dataset, dataset.parent / "r", "-q")
    assert "already exists" in refused("demo", dataset, "--size", "small", "-q")


def test_the_wrong_kind_of_store_is_refused(dataset: Path, demo_release: Path, tmp_path: Path) -> None:
    assert "confidential" in refused("serve", dataset)
    assert "confidential" in refused("certify", dataset)
    assert "a dataset is needed" in refused("synthesize", demo_release, tmp_path / "x", "-q")
    assert "no such directory" in refused("serve", tmp_path / "nowhere")
    assert "no manifest.json" in refused("serve", tmp_path)


def test_an_altered_store_is_refused(dataset: Path) -> None:
    jobs = dataset / "jobs.parquet"
    content = bytearray(jobs.read_bytes())
    content[len(content) // 2] ^= 1
    jobs.write_bytes(content)
    message = refused("synthesize", dataset, dataset.parent / "r", "-q")
    assert "jobs.parquet" in message
    assert "sha256" in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("epsilon = ", ["TOML"]),
        ("epsilonn = 3", ["epsilonn", "epsilon"]),
        ("[synthesize]\nepsilon = -3", ["epsilon", "-3"]),
        ("synthesize = 3", ["synthesize"]),
    ],
)
def test_config_files(dataset: Path, text: str, words: list[str]) -> None:
    config = dataset.parent / "c.toml"
    config.write_text(text)
    message = refused("synthesize", dataset, dataset.parent / "r", "--config", config)
    for word in words:
        assert word in message, message


def test_a_missing_config_file_is_refused(dataset: Path) -> None:
    assert "none.toml" in refused("synthesize", dataset, dataset.parent / "r", "--config", "none.toml")


def test_missing_arguments_and_unknown_commands() -> None:
    assert "RELEASE" in refused("synthesize", "d")
    assert "frobnicate" in refused("frobnicate")


def test_an_internal_error_shows_no_traceback_and_no_value(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import geodata.demo
    from mapapp.commands.cli import run

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a confidential count: 17")

    monkeypatch.setattr(geodata.demo, "write_demo", broken)
    assert run(["demo", str(tmp_path / "d")]) == 70


def test_internal_errors_do_not_reveal_values(capsys: pytest.CaptureFixture[str]) -> None:
    import mapapp.commands.cli as cli

    class Broken:
        def main(self, *_: object, **__: object) -> None:
            raise RuntimeError("a confidential count: 17")

    original = cli.commutemap
    cli.commutemap = Broken()  # type: ignore[assignment]  # a stand-in that fails as nothing real should
    try:
        assert cli.run([]) == 70
    finally:
        cli.commutemap = original
    said = capsys.readouterr().err
    assert "17" not in said
    assert "RuntimeError" in said


@pytest.mark.usefixtures("demo_release")  # so that kernels are compiled: here they cannot be kept
def test_a_full_disk_leaves_nothing(dataset: Path) -> None:
    """A file size limit simulates a full disk: a write fails halfway."""
    import subprocess
    import sys

    place = dataset.parent / "r"
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); "
        "from mapapp.commands.cli import run; sys.exit(run(sys.argv[1:]))"
    )
    for arguments in (
        ["synthesize", str(dataset), str(place), "-q"],
        ["demo", str(place), "--size", "small", "-q"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 2, done.stderr
        assert "nothing was kept" in done.stderr
        assert "Traceback" not in done.stderr
        assert [entry.name for entry in dataset.parent.iterdir()] == ["d"]


def test_a_port_in_use_is_refused(demo_release: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = commutemap("serve", demo_release, "--port", taken.getsockname()[1])
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "--port" in done.message


def test_the_installed_command_prints_its_version() -> None:
    done = commutemap("--version")
    assert done.code == 0
    assert done.out.startswith("commutemap ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("clean = 1", "clean is 1; write clean = true or clean = false"),
        ('replication = "yes"', "replication is 'yes'; write replication = true"),
        ("epsilon = true", "epsilon is True; give one text or number"),
        ("epsilon = [4]", "epsilon is [4]; give one text or number"),
        ("epsilon = 2026-01-01", "epsilon is datetime.date(2026, 1, 1); give one text or number"),
        ("x = " + "[" * 3000 + "]" * 3000, "nested more than 50 deep"),
        (".".join("a" * 3000) + " = 1", "nested more than 50 deep"),
    ],
)
def test_values_in_a_file_of_options_that_an_option_does_not_take(
    dataset: Path, text: str, words: str
) -> None:
    config = dataset.parent / "options.toml"
    config.write_text(text)
    assert words in refused("synthesize", dataset, dataset.parent / "r", "--config", config)
    assert not (dataset / "ledger.jsonl").exists(), "a refused release must spend nothing"


def test_a_flag_in_a_file_of_options_is_true_or_false(dataset: Path) -> None:
    config = dataset.parent / "options.toml"
    config.write_text("anyway = 1")
    message = refused("records", dataset, dataset.parent / "r", "--config", config)
    assert "anyway is 1; write anyway = true or anyway = false" in message


@pytest.mark.parametrize("command", ["synthesize", "records"])
def test_a_target_that_is_not_utf8_is_refused_before_anything_is_spent(dataset: Path, command: str) -> None:
    message = refused(command, dataset, dataset.parent / "caf\udce9", "-q")
    assert "caf\\udce9: not UTF-8" in message
    assert not (dataset / "ledger.jsonl").exists(), "a refused publication must spend nothing"


@pytest.mark.parametrize("text", [f"a,{'x' * 140_000}\n1,2\n", f"a,b\n1,{'2' * 140_000}\n"])
def test_a_field_that_is_too_long_for_a_table(tmp_path: Path, text: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    assert "not a CSV file" in refused("attack", path)
