"""Records drawn in memory are those that a run would draw, and their margins are plain counts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas
import pytest

from engine.streams import SecretKey
from geodata.store.store import open_store
from mapapp.base.errors import UsageError
from mapapp.kinds.records.make import drawing
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.drawing import fit
from mapapp.kinds.records.make.placement import place_codes, sort_rows
from mapapp.kinds.records.make.runner import ThreadRecordRunner, draw_parts
from mapapp.kinds.records.make.sorted_parts import read_range
from mapapp.kinds.records.measure import draws
from mapapp.kinds.records.measure.draws import draw_key, draw_plan
from mapapp.kinds.records.measure.margins import MARGIN_TITLES, RecordMargins
from mapapp.kinds.records.measure.workers import RecordWorkers
from tests.oracles.records_at_once import records_at_once


@pytest.fixture(scope="module")
def real(demo_dataset: Path) -> RecordWorkers:
    return RecordWorkers.open(demo_dataset)


SEEDED = Choice(kept=("work_puma", "home_puma"), min_seeds=100, threshold_epsilon=None)


@pytest.mark.parametrize(
    "choice",
    [
        Choice(),
        SEEDED,
        Choice(kept=("work_puma",), top_up=False, min_seeds=100),
        Choice(structure="learned", anyway=True, epsilon=Fraction(8)),
    ],
    ids=["seedless", "seeded", "not topped up", "learned"],
)
def test_a_draw_in_memory_is_the_one_that_a_run_makes(
    real: RecordWorkers, choice: Choice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, key = real.plan(choice), SecretKey.for_tests()
    monkeypatch.setattr(draws, "_AT_ONCE", 1000)  # several parts
    drawn = draw_plan(real, plan, draw_key(0))
    codes, n_passed = records_at_once(real.codes, plan, key)
    np.testing.assert_array_equal(drawn.codes, codes)
    assert drawn.n_passed == len(drawn.passed) == n_passed
    assert (drawn.n_passed > 0) == bool(choice.kept)
    fitted = fit(open_store(real.store.path, "dataset"), plan, key, threads=1)
    runner = ThreadRecordRunner(tmp_path, threads=1)
    runner.begin(fitted, key)
    run = draw_parts(runner, fitted.source)
    assert (n_passed, len(codes)) == (run.n_passed, run.n_total)
    parts = [runner.files.part(number) for number in range(run.n_parts)]
    written = sort_rows(read_range(parts, (0, plan.attributes.geography.n_blocks)), plan.attributes)
    placed = sort_rows(place_codes(key, codes, plan.attributes), plan.attributes)
    for name, values in placed.columns.items():
        np.testing.assert_array_equal(written.columns[name], values)


@pytest.mark.parametrize("choice", [SEEDED, Choice()], ids=["seeded", "seedless"])
def test_a_draw_is_cancelled_within_each_of_its_stages(
    real: RecordWorkers, choice: Choice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draws, "_AT_ONCE", 200)
    monkeypatch.setattr(drawing, "_HELD_AT_ONCE", 1000)
    plan, said = real.plan(choice), list[tuple[str, int]]()
    draw_plan(real, plan, draw_key(0), lambda stage, done, _: said.append((stage, done)))
    stages = {stage for stage, _ in said}
    of_seeds = {"trying candidates"} if choice.kept else set()
    assert stages == {"reading the workers", "learning the model", "drawing records"} | of_seeds

    class StoppedError(Exception):
        pass

    for stage in stages - {"learning the model"}:
        within = [done for name, done in said if name == stage]
        assert len(set(within)) > 2, "it is asked between the parts of the stage, too"

        def stop(name: str, done: int, _: int, at: tuple[str, int] = (stage, within[1])) -> None:
            if (name, done) == at:
                raise StoppedError

        with pytest.raises(StoppedError):
            draw_plan(real, plan, draw_key(0), stop)


def test_draws_differ_by_their_number_alone(real: RecordWorkers) -> None:
    plan = real.plan(Choice())
    first, second, again = (draw_plan(real, plan, draw_key(number)).codes for number in (1, 2, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, second)


def test_more_records_than_workers_are_refused(real: RecordWorkers) -> None:
    with pytest.raises(UsageError, match="more than the dataset has workers"):
        real.plan(Choice(n_records=real.n_workers + 1))


def test_margins_are_plain_counts(real: RecordWorkers) -> None:
    names = real.attributes.names
    drawn = draw_plan(real, real.plan(Choice()), draw_key(0)).codes
    found = real.margins.distances(drawn)
    assert list(found) == list(MARGIN_TITLES)
    shares = [
        pandas.DataFrame(codes, columns=names)[["work_puma", "home_puma"]].value_counts(normalize=True)
        for codes in (real.codes, drawn)
    ]
    expected = shares[0].sub(shares[1], fill_value=0.0).abs().sum() / 2
    assert found["work_home"] == pytest.approx(expected, abs=1e-12)
    floor = real.margins.noise_floor(len(drawn))
    assert all(0 < floor[name] < distance for name, distance in found.items() if name != "work_tract")


def test_the_noise_floor_depends_on_the_number_of_records_alone(real: RecordWorkers) -> None:
    drawn = draw_plan(real, real.plan(Choice()), draw_key(1)).codes[:500]
    after_drawing = RecordMargins(real.attributes.attributes, real.codes)
    after_drawing.distances(drawn)
    alone = RecordMargins(real.attributes.attributes, real.codes)
    assert after_drawing.noise_floor(500) == alone.noise_floor(500)


def test_margins_without_their_attributes_are_left_out(real: RecordWorkers) -> None:
    attributes = [each for each in real.attributes.attributes if each.name in ("work_puma", "home_puma")]
    margins = RecordMargins(attributes, real.codes[:, :2])
    assert set(margins.distances(real.codes[:100, :2])) == {"work_home", "singles", "pairs"}
