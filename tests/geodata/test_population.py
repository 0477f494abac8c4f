"""Spreading people over blocks: whole persons, totals kept, evenly, the finest file first."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pandas
from hypothesis import given
from hypothesis import strategies as st

from geodata.sources.population import Residents, block_population, is_population, read_population
from tests.geodata import samples


def residents(counts: dict[int, dict[str, int]]) -> Residents:
    return Residents({n: pandas.Series(of) for n, of in counts.items()}, pandas.DataFrame(), ())


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5000)), min_size=1, max_size=9), st.randoms())
def test_every_group_keeps_its_people(groups: list[tuple[int, int]], random: Random) -> None:
    blocks = [f"44001010100{g + 1}{b:03d}" for g, (n, _) in enumerate(groups) for b in range(n)]
    random.shuffle(blocks)
    given_people = {f"44001010100{g + 1}": people for g, (_, people) in enumerate(groups)}
    found, _ = block_population(pandas.Series(blocks), residents({12: given_people}))
    by_group = pandas.Series(found).groupby(pandas.Series(blocks).str[:12])
    assert by_group.sum().to_dict() == given_people
    assert (by_group.max() - by_group.min()).max() <= 1


def test_those_left_over_go_to_the_first_blocks() -> None:
    blocks = pandas.Series(["440010101001002", "440010101001000", "440010101001001"])
    found, message = block_population(blocks, residents({12: {"440010101001": 11}}))
    assert found.tolist() == [3, 4, 4]
    assert message == "block population: 3 blocks spread evenly from block groups"


def test_finer_files_win_and_coarser_fill_in() -> None:
    blocks = pandas.Series(["440010101001000", "440010101001001", "440010102001000", "440010103001000"])
    counts = {
        15: {"440010101001000": 7, "440010101001001": 5},
        12: {"440010101001": 99, "440010102001": 8},
        11: {"44001010100": 99, "44001010200": 99},
    }
    found, message = block_population(blocks, residents(counts))
    assert found.tolist() == [7, 5, 8, 0]
    assert "2 blocks as given" in message
    assert "1 blocks in no population file" in message


def test_block_tables_are_read_under_several_names(tmp_path: Path) -> None:
    for head in ("block,population", "GEOID20,POP20", "geoid,name,pop"):
        assert is_population(head.split(","))
        path = tmp_path / "blocks.csv"
        middle = "x," if "name" in head else ""
        samples.write_text(path, f"{head}\n440010101001000,{middle}12\n440010101001001,{middle}0\n")
        assert read_population([path]).counts[15].tolist() == [12, 0]


def test_centers_are_read_from_signed_degrees(tmp_path: Path) -> None:
    path = tmp_path / "CenPop2010_Mean_TR.txt"
    samples.write_text(path, "\ufeff" + samples.centres(block_groups=False))
    centre = read_population([path]).centres.loc[samples.RI_TRACTS[0]]
    assert np.allclose(centre[["lon_deg", "lat_deg"]].to_numpy(float), [-71.49, 41.61])
