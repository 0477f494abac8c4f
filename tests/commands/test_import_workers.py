"""`commutemap import --workers`: options that go together, and a whole import by the command."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from geodata.store.store import open_store
from geodata.workers.columns import read_worker_columns
from tests.commands.running import refused, run_here
from tests.geodata import samples
from tests.geodata.worker_samples import JOBS, lines, write_schema

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
    assert "leave out one" in refused("import", target, *workers, *schema, "--od", tmp_path / "a.csv")
    assert "not TOML" in refused("import", target, *workers, *schema)


def test_the_schema_of_the_documentation_is_one(tmp_path: Path) -> None:
    found = re.search(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    columns = read_worker_columns(write_schema(tmp_path, found[1]))
    assert list(columns.schema.domains) == list(tomllib.loads(found[1])["attributes"])
    assert columns.schema.derived_from["industry"].size == 20
