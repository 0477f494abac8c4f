"""`commutemap import` of files that a dataset beside the new one was imported from."""

from __future__ import annotations

import json
from pathlib import Path

from mapapp.kinds.base.ledger import Ledger
from tests.commands.running import run_here
from tests.geodata import samples


def test_a_second_import_of_the_same_files_names_the_dataset_with_a_ledger(tmp_path: Path) -> None:
    folder = samples.write_sources(tmp_path / "sources")
    for name in ("first", "unspent"):
        assert run_here("import", tmp_path / name, "--from", folder).code == 0
    Ledger(tmp_path / "first").spend(epsilon=1, delta=0, release="r")
    done = run_here("import", tmp_path / "again", "--from", folder)
    assert "first was imported from the same files and has a ledger" in done.out
    assert "unspent" not in done.out
    added = json.loads(run_here("ledger", tmp_path / "first", tmp_path / "again", "--json").out)
    assert any("imported from the same files" in note for note in added["notes"])
    main = folder / "ri_od_main_JT00_2019.csv.gz"
    samples.write_text(main, samples.read_text(main).replace("20210325", "20210326") + "\n")
    other = json.loads(run_here("import", tmp_path / "other", "--from", folder, "--json").out)
    assert other["same_files"] == []
