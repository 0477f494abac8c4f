"""A release shows the noise that its epsilon demands, for every table of homes; real homes do not."""

from __future__ import annotations

import itertools
import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.special import bdtr

from engine.mechanisms.dirichlet_multinomial import Synthesizers
from engine.parameters import PrivacyParameters, SynthesisParameters, Unit
from engine.placement.placement import place_blocks
from engine.streams import PublicSeed, SecretKey
from geodata.demo import write_demo
from geodata.store.store import open_store
from mapapp.kinds.base.inputs import Inputs
from mapapp.kinds.release.certificate.noise_check import NoiseCheck, most_probably_empty
from mapapp.kinds.release.certificate.recheck import check_release
from mapapp.kinds.release.make.batch import SynthesisSource, open_source
from mapapp.kinds.release.make.drawn_points import draw_points
from mapapp.kinds.release.make.run import run_synthesis
from mapapp.kinds.release.make.support import Support


def tables(n: int, k: int) -> list[tuple[int, ...]]:
    return [table for table in itertools.product(range(n + 1), repeat=k) if sum(table) == n]


def chances_of_empty(n: int, k: int, theta: Fraction) -> list[Fraction]:
    """For every table of homes, the chance that the first point is drawn empty, by all tables."""
    found = []
    for homes in tables(n, k):
        weight: dict[tuple[int, ...], Fraction] = {
            drawn: theta ** (n - sum(min(pair) for pair in zip(homes, drawn, strict=True)))
            for drawn in tables(n, k)
        }
        empty = sum((each for drawn, each in weight.items() if drawn[0] == 0), Fraction(0))
        found.append(empty / sum(weight.values(), Fraction(0)))
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("theta", [Fraction(1, 100), Fraction(1, 3), Fraction(4, 5), Fraction(99, 100)])
def test_no_table_of_homes_leaves_a_point_empty_more_often(n: int, k: int, theta: Fraction) -> None:
    bound = most_probably_empty(n, np.array([k]), np.array([float(theta)]))[0]
    worst = max(chances_of_empty(n, k, theta))
    assert worst <= bound * (1 + 1e-12)
    if n == 1:
        assert float(worst) == pytest.approx(bound)


def test_without_much_noise_to_undo_the_bound_is_that_of_even_tables() -> None:
    found = most_probably_empty(9, np.array([297]), np.array([0.95]))[0]
    assert 296 / 305 <= found < 296 / 305 + 1e-3


@pytest.mark.parametrize("n", [3, 20, 150])
def test_few_units_come_at_most_as_often_as_under_equal_chances(n: int) -> None:
    """Hoeffding (1956): up to one below the mean, unequal chances make small numbers rarer."""
    for seed in range(20):
        draw = np.random.default_rng(seed)
        chances = draw.random(n) ** draw.choice([0.2, 1.0, 6.0])
        law = np.ones(1)
        for chance in chances:
            law = np.convolve(law, [1 - chance, chance])
        for few in range(int(chances.sum())):
            if few <= chances.sum() - 1:
                assert law[: few + 1].sum() <= bdtr(few, n, chances.mean()) * (1 + 1e-9) + 1e-300


@pytest.fixture(scope="module")
def metro(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("metro")
    write_demo(folder / "d", size="metro", seed=1)
    return folder / "d"


PARAMETERS = SynthesisParameters(
    mechanism="exponential",
    prior="gravity",
    editing="none",
    retention_scale=0,
    q50_mi=4,
    q75_mi=8,
    q90_mi=15,
)


def source_of(dataset: Path, epsilon: str, *, clean: bool = True) -> SynthesisSource:
    privacy = PrivacyParameters(epsilon=epsilon, delta="1e-6", min_retention="1")
    parameters = replace(PARAMETERS, clean=clean)
    return open_source(open_store(dataset, "dataset"), PublicSeed.for_tests(), privacy, parameters)


def of_homes(source: SynthesisSource) -> NoiseCheck:
    """What is found where the homes themselves are released."""
    check = NoiseCheck(source.geography, source.privacy, source.parameters)
    for homes, support in batches(source):
        check.add(homes, support)
    return check


def batches(source: SynthesisSource) -> list[tuple[Inputs, Support]]:
    numbers = range(source.workplaces.n_batches)
    return [(source.inputs(b), source.support(source.counts(b).destination_tract)) for b in numbers]


def drawn_homes(source: SynthesisSource, homes: Inputs, support: Support, number: int) -> Inputs:
    """The homes of a draw with a known key."""
    key = SecretKey._from_bytes(np.random.default_rng(number).bytes(32), is_test=True)
    point, _ = support.coarsening.find_homes(
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
    drawn = draw_points(
        key,
        cells,
        support,
        source.privacy,
        source.parameters,
        destination_tract=homes.destination_tract,
    )
    blocks = source.geography.blocks
    return replace(homes, worker_origin=place_blocks(key, cells, drawn, support.coarsening_of_homes, blocks))


def moved_together(source: SynthesisSource, homes: Inputs) -> Inputs:
    """All workers of a tract in one block: the table of homes that a draw changes least."""
    first = source.geography.blocks.block_ptr[homes.destination_tract].astype(np.int32)
    return replace(homes, worker_origin=np.repeat(first[homes.tract], homes.count))


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "2.5"])
@pytest.mark.parametrize("together", [False, True])
def test_a_draw_passes_and_leaves_fewer_than_is_said(
    metro: Path, epsilon: str, clean: bool, together: bool
) -> None:
    source = source_of(metro, epsilon, clean=clean)
    check = NoiseCheck(source.geography, source.privacy, source.parameters)
    for number, (homes, support) in enumerate(batches(source)):
        real = moved_together(source, homes) if together else homes
        drawn = drawn_homes(source, real, support, number)
        check.add(drawn, support)
    assert check.result().ok
    assert check.few <= check.few_by_noise


@pytest.mark.parametrize("clean", [False, True])
def test_real_homes_fail_under_a_small_epsilon(metro: Path, clean: bool) -> None:
    for epsilon in ("0.1", "0.5", "1"):
        assert not of_homes(source_of(metro, epsilon, clean=clean)).result().ok


def test_where_nothing_can_be_told_it_says_so(metro: Path) -> None:
    large_source = source_of(metro, "6.5")
    large = of_homes(large_source)
    assert large.result().ok
    assert large.result().detail.startswith("cannot be tested: ")
    weighted = NoiseCheck(
        large_source.geography,
        PrivacyParameters(epsilon="4.6", delta="1e-6", min_retention="1"),
        SynthesisParameters(),
    )
    assert "dirichlet-multinomial" in weighted.result().detail


@pytest.mark.parametrize(("epsilon", "unit"), [("0.1", "cell"), ("1", "cell"), ("0.1", "block")])
def test_cleaning_empties_no_point_that_counts_but_had_more(metro: Path, epsilon: str, unit: Unit) -> None:
    """Points that certainly were drawn with few workers were: the same key with and without cleaning."""
    counted = []
    for clean in (True, False):
        source = source_of(metro, epsilon, clean=clean)
        source = replace(source, parameters=replace(source.parameters, unit=unit))
        check = NoiseCheck(source.geography, source.privacy, source.parameters)
        few = []
        for homes, support in batches(source):
            real = moved_together(source, homes)
            drawn = drawn_homes(source, real, support, 5)
            limit = check._limits(homes, support.coarsening.n_support).few
            point, _ = support.coarsening.find_homes(
                drawn.tract, drawn.worker_ptr, drawn.worker_origin, source.geography.tract_of_block
            )
            at = support.coarsening.support_ptr[np.repeat(drawn.tract, drawn.count)] + point
            workers = np.bincount(at, minlength=support.coarsening.support_level.size)
            few.append(check._have_few(workers, limit + 3, support.coarsening))
        counted.append(np.concatenate(few))
    assert np.any(counted[0])
    assert not np.any(counted[0] & ~counted[1])


def test_real_homes_in_place_of_a_release_fail_the_check(metro: Path, tmp_path: Path) -> None:
    dataset = Path(shutil.copytree(metro, tmp_path / "d"))
    privacy = PrivacyParameters(epsilon="0.1", delta="1e-6", min_retention="1")
    run_synthesis(dataset, tmp_path / "r", privacy, PARAMETERS)
    honest = {check.check: check for check in check_release(tmp_path / "r")}
    assert all(check.ok for check in honest.values())
    shutil.copyfile(metro / "jobs.parquet", tmp_path / "r" / "jobs.parquet")
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    of_dataset = json.loads((metro / "manifest.json").read_text())
    manifest["files"]["jobs.parquet"] = of_dataset["files"]["jobs.parquet"]
    (tmp_path / "r" / "manifest.json").write_text(json.dumps(manifest))
    found = {check.check: check for check in check_release(tmp_path / "r")}
    assert not found["noise"].ok
    assert "have few workers; a draw leaves at most" in found["noise"].detail
