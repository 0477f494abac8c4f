"""`commutemap import --workers`: options that go together, and a whole import by the command."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

from geodata.store.store import open_store
from geodata.workers.columns import read_worker_columns
from geodata.workers.edits import DROP_RULE, HOME_RULE
from tests.commands.running import refused, run_here
from tests.geodata import samples
from tests.geodata.worker_samples import JOBS, ROWS, lines, write_schema

DOCS = Path(__file__).parents[2] / "docs" / "worker-records.md"


def test_the_command_reads_workers_instead_of_the_od_files_of_a_folder(tmp_path: Path) -> None:
    folder = samples.write_sources(tmp_path / "sources", polygons="none")
    workers, schema = folder / "workers.csv", write_schema(folder)
    workers.write_text(lines(), encoding="utf-8")
    done = run_here("import", tmp_path / "d", "--from", folder, "--workers", workers, "--schema", schema)
    assert done.code == 0, done.err
    assert "workers.csv: workers" in done.out
    assert "ri_od_main_JT00_2019.csv.gz: an OD file; the jobs are counted from the worker records" in done.out
    assert "not read  workers" not in done.out
    assert open_store(tmp_path / "d", "dataset").manifest["n_jobs"] == len(JOBS)


def test_faulty_records_are_counted_for_the_analyst_and_imported_on_request(tmp_path: Path) -> None:
    """Finds a count or a value on standard error, homes by state in the output, and a report after a refusal lost."""
    folder = samples.write_sources(tmp_path / "sources", polygons="none")
    workers, schema = folder / "workers.csv", write_schema(folder)
    rows = [list(row) for row in ROWS]
    rows[0][1], rows[2][2] = "4400", "13"
    workers.write_text(lines(tuple(map(tuple, rows))), encoding="utf-8")
    command = ("import", tmp_path / "d", "--from", folder, "--workers", workers, "--schema", schema, "-q")
    done = run_here(*command)
    report = tmp_path / "d.edits.csv"
    assert (done.code, (tmp_path / "d").exists()) == (2, False)
    assert done.out.startswith("CONFIDENTIAL, not for publication")
    assert "1  h_block is no code of a block" in done.out
    assert done.err.count("\n") == 1
    assert not any(number in done.err.replace(str(tmp_path), "") for number in "0123456789")
    assert "workers.csv,2,h_block,4400," in report.read_text()
    assert "workers.csv,4,years,13," in report.read_text()
    for as_json in ((), ("--json",)):
        done = run_here(*command, "--drop-faulty", *as_json)
        assert done.code == 0, done.err
        assert done.err == ""
        assert "CONFIDENTIAL" in done.out or "not for publication" in done.out
        assert "elsewhere" not in done.out
        assert "NY" not in done.out
        store = open_store(tmp_path / "d", "dataset")
        assert store.manifest["n_jobs"] == len(JOBS) - 1
        assert store.manifest["edit_rules"] == [HOME_RULE, DROP_RULE]
        shutil.rmtree(tmp_path / "d")


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    for name in ("a.csv", "a.toml"):
        (tmp_path / name).write_text("x\n")
    target, workers, schema = (
        tmp_path / "d",
        ("--workers", tmp_path / "a.csv"),
        ("--schema", tmp_path / "a.toml"),
    )
    assert "--workers needs --schema" in refused("import", target, *workers)
    assert "name them with --workers" in refused("import", target, *schema)
    assert "--drop-faulty is about worker records" in refused(
        "import", target, "--od", tmp_path / "a.csv", "--drop-faulty"
    )
    assert "leave out one" in refused("import", target, *workers, *schema, "--od", tmp_path / "a.csv")
    assert "not TOML" in refused("import", target, *workers, *schema)


def test_the_schema_of_the_documentation_is_one(tmp_path: Path) -> None:
    found = re.search(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    columns = read_worker_columns(write_schema(tmp_path, found[1]))
    assert list(columns.schema.domains) == list(tomllib.loads(found[1])["attributes"])
    assert columns.schema.derived_from["industry"].size == 20
