"""A state of work without the workers who live elsewhere: refused, or imported and marked for good."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from geodata.errors import SourceFileError
from geodata.importing.importing import Imported, import_dataset, write_dataset
from geodata.sources.recognize import sources_in
from geodata.store.residents_only import add_residents_only, residents_only_states
from geodata.store.store import open_store
from tests.geodata import samples
from tests.geodata.worker_samples import NEW_YORK, ROWS, lines, write_schema

MAIN, AUX = "ri_od_main_JT00_2019.csv.gz", "ri_od_aux_JT00_2019.csv.gz"


def sources(folder: Path) -> Path:
    return samples.write_sources(folder / "sources")


def main_only(folder: Path) -> Path:
    found = sources(folder)
    for name in (AUX, "ct_od_aux_JT00_2019.csv.gz", "ct_xwalk.csv.gz"):
        (found / name).unlink()
    return found


def imported(folder: Path, *, residents_only: bool = False) -> Imported:
    return import_dataset(sources_in(folder)[0], residents_only=residents_only)


def test_a_main_file_alone_is_refused_with_two_ways_out(tmp_path: Path) -> None:
    with pytest.raises(SourceFileError) as refused:
        imported(main_only(tmp_path))
    for part in (MAIN, "all homes are in RI", f"add {AUX} (", "--residents-only", "never for release"):
        assert part in str(refused.value)


def test_residents_only_says_so_and_ends_at_the_border(tmp_path: Path) -> None:
    found = imported(main_only(tmp_path), residents_only=True)
    assert found.facts["residents_only"] == ["44"]
    assert found.facts["title"] == "Rhode Island, 2019, residents only"
    assert any("never for release" in note for note in found.facts["notes"])
    assert set(found.tables["blocks"]["state_id"]) == {"44"}
    assert not found.tables["blocks"]["elsewhere"].any()
    assert found.facts["n_jobs"] == samples.N_MAIN_JOBS


def test_homes_of_another_state_cannot_be_in_the_domain(tmp_path: Path) -> None:
    found = sources(tmp_path)
    (found / AUX).unlink()
    with pytest.raises(SourceFileError, match="give only its crosswalk"):
        imported(found, residents_only=True)


def test_an_aux_file_without_rows_says_that_nobody_commutes_in(tmp_path: Path) -> None:
    found = sources(tmp_path)
    header = samples.read_text(found / AUX).split("\n", 1)[0]
    samples.write_text(found / AUX, header + "\n")
    whole = imported(found)
    assert whole.facts["residents_only"] == []
    assert whole.facts["n_jobs"] == samples.N_MAIN_JOBS
    assert whole.tables["blocks"]["elsewhere"].any()
    samples.write_text(found / MAIN, header + "\n")
    with pytest.raises(SourceFileError, match="a header and no rows"):
        imported(found)


def test_one_file_with_homes_inside_and_outside_is_whole(tmp_path: Path) -> None:
    found = sources(tmp_path)
    outside = samples.read_text(found / AUX).split("\n", 1)[1]
    samples.write_text(found / MAIN, samples.read_text(found / MAIN) + outside)
    with pytest.raises(SourceFileError, match=f"{AUX}: .* they would count twice, so keep one"):
        imported(found)
    (found / AUX).unlink()
    both = imported(found)
    assert both.facts["residents_only"] == []
    assert both.facts["n_jobs"] == samples.N_MAIN_JOBS + samples.N_AUX_JOBS


@pytest.mark.parametrize("whole", [True, False])
def test_an_earlier_dataset_counts_as_residents_only_unless_somebody_commutes_in(
    whole: bool, tmp_path: Path
) -> None:
    folder = sources(tmp_path) if whole else main_only(tmp_path)
    found = imported(folder, residents_only=not whole)
    earlier = {name: value for name, value in found.facts.items() if name != "residents_only"}
    write_dataset(tmp_path / "d", Imported(tables=found.tables, facts=earlier))
    dataset = open_store(tmp_path / "d", "dataset")
    assert residents_only_states(dataset) == ([] if whole else ["44"])
    assert add_residents_only(dataset).manifest["residents_only"] == residents_only_states(dataset)
    inside = (dataset.table("blocks", ["state_id"])["state_id"] == "44").to_numpy()
    homes = np.concatenate(
        [part["origin_index"].to_numpy() for part in dataset.batches("jobs", ["origin_index"])]
    )
    assert inside[homes].all() != whole


def test_a_state_where_nobody_works_does_not_make_an_earlier_dataset_one_of_residents(tmp_path: Path) -> None:
    found = imported(sources(tmp_path))
    earlier = {name: value for name, value in found.facts.items() if name != "residents_only"}
    earlier["destination_states"] = ["09", "44"]  # as worker records listed all states with a crosswalk
    write_dataset(tmp_path / "d", Imported(tables=found.tables, facts=earlier))
    assert residents_only_states(open_store(tmp_path / "d", "dataset")) == []


RESIDENTS = tuple(row for row in ROWS if row[0][:2] == row[1][:2])


def of_workers(folder: Path, rows: tuple[tuple[str, ...], ...], *, residents_only: bool = False) -> Imported:
    path = folder / "workers.csv"
    path.write_text(lines(rows), encoding="utf-8")
    found = replace(sources_in(main_only(folder))[0], od=(), workers=(path,))
    named = replace(found, worker_schema=(write_schema(folder),))
    return import_dataset(named, residents_only=residents_only, scratch=folder)


def test_worker_records_of_residents_alone_are_refused(tmp_path: Path) -> None:
    assert 0 < len(RESIDENTS) < len(ROWS)
    with pytest.raises(
        SourceFileError, match=r"all homes are in RI, .* add those who commute in, or give --resid"
    ):
        of_workers(tmp_path, RESIDENTS)
    (commuter,) = (row for row in ROWS if row[1] == NEW_YORK)
    assert of_workers(tmp_path, (*RESIDENTS, commuter)).facts["residents_only"] == []


def test_worker_records_of_residents_only_say_so_and_end_at_the_border(tmp_path: Path) -> None:
    found = of_workers(tmp_path, RESIDENTS, residents_only=True)
    assert (found.facts["residents_only"], found.facts["n_jobs"]) == (["44"], len(RESIDENTS))
    assert found.facts["title"] == "Rhode Island, 2019, residents only"
    assert not found.tables["blocks"]["elsewhere"].any()


def test_a_commuter_among_records_of_residents_only_is_refused_without_the_home(tmp_path: Path) -> None:
    with pytest.raises(
        SourceFileError, match=r"h_block is in another state, .* leave out --residents-only"
    ) as refused:
        of_workers(tmp_path, ROWS, residents_only=True)
    assert not any(home in str(refused.value) for _, home, *_ in ROWS)
