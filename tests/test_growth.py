"""Growth against size: exponents, what is left out, and files that an import reads back to the same jobs."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks import commands, growth
from benchmarks.census_files import write_census_files
from benchmarks.growth import Results, growth_of, has_room, measure_size
from benchmarks.nation_data import write_nation
from geodata.importing.importing import import_dataset
from geodata.sources.recognize import sources_in
from geodata.store.store import open_store
from mapapp.show.exports.lodes import pairs_in_parts


def results_of(**peaks: float) -> Results:
    return {
        "audit": {size.strip("_"): {"processor_s": 1.0, "peak_gib": peak} for size, peak in peaks.items()}
    }


def test_a_power_law_has_its_exponent() -> None:
    found = {f"{size:g}": {"processor_s": 3 * size**1.5, "peak_gib": 2.0} for size in (0.5, 2.0, 8.0)}
    time, memory = (growth_of({"import": found}, "import", name) for name in ("processor_s", "peak_gib"))
    assert time == pytest.approx((1.5, 1.5))
    assert memory == pytest.approx((0.0, 0.0))


def test_the_last_step_is_that_of_the_two_largest_sizes() -> None:
    found = {size: {"processor_s": spent} for size, spent in (("10", 4.0), ("1", 1.0), ("2", 1.0))}
    growth_found = growth_of({"import": found}, "import", "processor_s")
    assert growth_found is not None
    assert growth_found.at_the_end == pytest.approx(0.861, abs=0.001)
    assert growth_of({"import": {"1": {"processor_s": 1.0}}}, "import", "processor_s") is None


def test_what_would_need_too_much_memory_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(growth, "memory_gib", lambda: 24.0)
    assert has_room("audit", 140, results_of(_1=1.0))  # one size tells nothing
    assert has_room("audit", 20, results_of(_1=1.0, _2=2.0))
    assert not has_room("audit", 30, results_of(_1=1.0, _2=2.0))
    assert "audit of 30 million left out: it would need about 30 GiB" in capsys.readouterr().err


def test_what_is_in_the_file_is_not_measured_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen = Namespace(results=tmp_path / "growth.json", scratch=tmp_path, areas=1)
    ran: list[object] = []

    def run(*arguments: object) -> dict[str, float]:
        ran.append(arguments[0])
        if arguments[0] == "certify":
            raise KeyboardInterrupt
        return {"processor_s": 1.0, "peak_gib": 1.0}

    monkeypatch.setattr(growth, "run", run)
    monkeypatch.setattr(commands, "run", lambda *arguments: None)
    results: Results = {}
    with pytest.raises(KeyboardInterrupt):
        measure_size(1.0, ["synthesize", "certify"], results, chosen)
    assert json.loads(chosen.results.read_text()) == {
        "synthesize": {"1": {"processor_s": 1.0, "peak_gib": 1.0}}
    }
    results, ran[:] = json.loads(chosen.results.read_text()), []
    measure_size(1.0, ["synthesize"], results, chosen)
    assert ran == []


def test_an_import_of_the_files_counts_the_same_jobs(tmp_path: Path) -> None:
    write_nation(tmp_path / "d", millions=0.01)
    dataset = open_store(tmp_path / "d", "dataset")
    write_census_files(dataset, tmp_path / "files")
    sources, unknown = sources_in(tmp_path / "files")
    assert not unknown
    imported = import_dataset(sources)
    assert imported.facts["n_jobs"] == dataset.manifest["n_jobs"]
    assert imported.facts["destination_states"] == dataset.manifest["destination_states"]
    assert sum(imported.facts["elsewhere"].values()) == sum(dataset.manifest["elsewhere"].values()) > 0
    blocks, jobs = imported.tables["blocks"], imported.tables["jobs"]
    own = dataset.table("blocks")
    here = ~own["elsewhere"]
    again = blocks.set_index("block_id").loc[own.loc[here, "block_id"], "population"]
    assert (again.to_numpy() == own.loc[here, "population"].to_numpy()).all()

    def by_pair(work: object, home: object, count: object) -> dict[tuple[object, object], int]:
        return dict(zip(zip(work, home, strict=True), count, strict=True))  # type: ignore[call-overload]  # columns of either kind

    home_of = own["block_id"].where(here, "elsewhere").to_numpy()
    (pairs, _, _), *rest = pairs_in_parts(dataset)
    assert not rest
    wanted = by_pair(home_of[pairs.work], home_of[pairs.home], pairs.counts[:, 0].tolist())
    summed = jobs.groupby(["destination_index", "origin_index"])["count"].sum()
    code = blocks["block_id"].where(~blocks["elsewhere"], "elsewhere").to_numpy()
    work, home = (summed.index.get_level_values(level).to_numpy() for level in range(2))
    assert by_pair(code[work], code[home], summed.tolist()) == wanted
