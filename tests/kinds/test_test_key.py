"""How the published test key is recognized in a release, and how seldom another key is taken for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.parameters import SynthesisParameters
from engine.placement.placement import place_blocks
from engine.streams import SecretKey
from geodata.store.store import open_store
from mapapp.answers.release_claims import ReleaseCertificate
from mapapp.kinds.base.block_cells import read_cells
from mapapp.kinds.base.inputs import Inputs
from mapapp.kinds.base.row_checks import KeyCheck, ReleaseRows, most_by_chance
from mapapp.kinds.release.certificate.recheck import HomesOfKey, _source
from mapapp.kinds.release.make.batch import SynthesisSource
from mapapp.kinds.release.make.support import Support


def tail(chances: npt.NDArray[np.float64], most: int) -> float:
    """Chance that more than so many of independent events occur, by all their sums."""
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    return float(law[most + 1 :].sum())


@pytest.mark.parametrize("alarm", [0.3, 0.05, 1e-3, 1e-9])
@pytest.mark.parametrize("n", [1, 2, 5, 30, 400])
@pytest.mark.parametrize("largest", [1e-6, 0.03, 0.5, 1.0])
def test_chance_exceeds_the_bound_as_seldom_as_stated(n: int, largest: float, alarm: float) -> None:
    draw = np.random.default_rng(n)
    for power in (0.1, 1.0, 8.0):
        chances = largest * draw.random(n) ** power
        most = most_by_chance(n, float(chances.sum()), alarm)
        assert tail(chances, most) <= alarm
        assert chances.sum() <= most + 1
        assert most <= n


def test_the_bound_is_of_use() -> None:
    assert most_by_chance(16_155, 522.0, 1e-9) < 522 + 7 * np.sqrt(522)
    assert most_by_chance(100_000, 0.01, 1e-9) < 5
    assert most_by_chance(0, 0.0, 1e-9) == 0


@pytest.fixture
def source(demo_release: Path) -> SynthesisSource:
    stated = msgspec.json.decode((demo_release / "certificate.json").read_bytes(), type=ReleaseCertificate)
    return _source(open_store(demo_release, "release"), stated)


def batches(source: SynthesisSource) -> list[tuple[Inputs, Support]]:
    numbers = range(source.workplaces.n_batches)
    return [(source.inputs(b), source.support(source.counts(b).destination_tract)) for b in numbers]


def placed_again(key: SecretKey, source: SynthesisSource, homes: Inputs, support: Support) -> Inputs:
    """The same workers in the same support points, in blocks that another key gives them."""
    coarsening = support.coarsening_of_homes
    point, _ = coarsening.find_homes(
        homes.tract, homes.worker_ptr, homes.worker_origin, source.geography.tract_of_block
    )
    cells = Synthesizers(
        tract=homes.tract,
        destination=homes.destination,
        segment=homes.segment,
        worker_ptr=homes.worker_ptr,
        worker_point=point,
        min_prior_weight=np.ones(homes.tract.size, dtype=np.int64),
    )
    drawn = SyntheticPoints(synthetic_ptr=homes.worker_ptr, synthetic_point=point)
    blocks = source.geography.blocks
    return replace(homes, worker_origin=place_blocks(key, cells, drawn, coarsening, blocks))


def test_homes_of_another_key_agree_as_often_as_is_said(source: SynthesisSource) -> None:
    """60 keys: within five standard deviations in each class, and no false alarm."""
    found = []
    parts = batches(source)
    for number in range(60):
        key = SecretKey._from_bytes(np.random.default_rng(number).bytes(32), is_test=True)
        each = HomesOfKey(source.geography, source.parameters)
        for homes, support in parts:
            each.add(placed_again(key, source, homes, support), support)
        assert not each.are_too_many
        found.append(each)
    same = np.sum([each.n_same for each in found], axis=0)
    # Zero population is left out, so that all keys compare the same homes.
    chance = found[0].n_by_chance * len(found)
    assert np.all(np.abs(same - chance) < 5 * np.sqrt(chance))
    assert chance.min() > 100


def test_homes_of_the_test_key_are_recognized(source: SynthesisSource) -> None:
    found = HomesOfKey(source.geography, source.parameters)
    for homes, support in batches(source):
        found.add(homes, support)
    assert found.are_too_many
    assert found.n_same[0] == found.n_compared[0], "a lone worker's words are known"


@pytest.mark.parametrize("of_class", range(4))
def test_synthesizers_of_one_size_are_enough(source: SynthesisSource, of_class: int) -> None:
    found = HomesOfKey(source.geography, source.parameters)
    found.n_compared[of_class] = found.n_same[of_class] = 50
    found.n_by_chance[of_class] = 1.0
    assert found.are_too_many


def test_one_block_for_each_point_is_compared_once(source: SynthesisSource) -> None:
    found = HomesOfKey(source.geography, SynthesisParameters(placement="representative"))
    for homes, support in batches(source):
        found.add(homes, support)
    assert not found.are_too_many, "the demo's homes were not placed in this way"
    assert 0 < found.n_compared.sum() < sum(homes.worker_origin.size for homes, _ in batches(source))


@pytest.mark.parametrize("end", ["home", "work"])
def test_points_at_one_end_are_enough(end: str, demo_release: Path) -> None:
    store = open_store(demo_release, "release")
    points = store.table("points")
    points[f"{end}_lat_deg"] = points[f"{end}_lat_deg"].to_numpy(np.float32) + np.float32(0.01)
    everywhere = np.ones(len(store.table("blocks", ["population"])), dtype=np.bool_)
    check = KeyCheck(read_cells(store, everywhere))
    check.add(ReleaseRows(store.table("jobs"), points))
    assert not check.result(False).ok
