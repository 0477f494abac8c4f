"""The demo's source files: importing them gives the workers of the demo again."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pandas
import pytest

from geodata.demo.source_files import FAR_BLOCKS, write_source_files
from geodata.errors import StoreError
from geodata.store.store import open_store
from tests.commands.running import refused, run_here

DOCS = Path(__file__).parents[2] / "docs" / "worker-records.md"


def workers_by_block(dataset: Path) -> pandas.DataFrame:
    """Workers with the codes of their blocks in place of rows, sorted; the far states by their number."""
    store = open_store(dataset, "dataset")
    blocks = store.table("blocks", ["block_id", "elsewhere"])
    code = blocks["block_id"].to_numpy(dtype=object).copy()
    if (code == "86").any():
        code[blocks["elsewhere"].to_numpy()] = [far[:2] for far in FAR_BLOCKS]
    workers = store.table("workers")
    for name in ("destination_index", "origin_index"):
        workers[name] = code[workers[name]]
    return workers.sort_values([str(name) for name in workers], ignore_index=True)


def test_the_worked_example_of_the_documentation_gives_the_demo_s_workers_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```sh\n(commutemap demo.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    for line in example.strip().splitlines():
        done = run_here(*shlex.split(line)[1:], "-q")
        assert done.code == 0, done.err
    demo, again = (workers_by_block(tmp_path / f"{name}.dataset") for name in ("demo", "again"))
    pandas.testing.assert_frame_equal(again, demo, check_dtype=False)
    stores = [open_store(tmp_path / f"{name}.dataset", "dataset") for name in ("demo", "again")]
    facts = [
        [store.manifest[name] for name in ("worker_attributes", "year", "job_type", "destination_states")]
        for store in stores
    ]
    assert facts[0] == facts[1]
    layers = [{(each["layer"], each["n_units"]) for each in store.manifest["layers"]} for store in stores]
    assert layers[0] == layers[1]
    assert len(open_store(tmp_path / "again.records", "records").table("records")) == len(demo)


def test_source_files_are_refused_where_they_cannot_be_made(demo_dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(StoreError, match="already exists"):
        write_source_files(open_store(demo_dataset, "dataset"), tmp_path / "taken")
    command = ("demo", tmp_path / "d", "--size", "small", "-q", "--sources")
    assert "already exists" in refused(*command, tmp_path / "taken")
    assert "name another one" in refused(*command, tmp_path / "d")
    assert os.listdir(tmp_path) == ["taken"]
