"""Candidates from seeds: equal to the twin's, independent of threads and chunks, and drawn with the exact law."""

import math
import re
from collections import Counter
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from scipy import stats

from engine.errors import ParameterError
from engine.records import groups as groups_module
from engine.records.acceptance import Acceptance
from engine.records.candidates import check_n_seeds, draw_candidates
from engine.records.groups import GroupTable, Seeds
from engine.records.structure import Structure
from engine.records.tables import Codes, Model, learn_model
from engine.streams import SecretKey
from tests.oracles.chacha import Stream
from tests.oracles.mechanisms import discrete_laplace, exponential, happens
from tests.oracles.records_model import configuration, record_chance

KEY = SecretKey.for_tests()
FALSE_ALARM = 1e-6
SMALL = Structure(domain=(2, 3, 3), parents=((), (0,), (1, 0)))
ACCEPTANCE = Acceptance(min_plausible_seeds=4, threshold_epsilon="0.7", forced_fail="1/20", seed_floor=2)


def some_seeds(n: int, domain: tuple[int, ...] = SMALL.domain) -> Codes:
    rng = np.random.default_rng(1)
    return np.stack([rng.binomial(size - 1, 0.35, n) for size in domain], axis=1).astype(np.int32)


def model_of(codes: Codes, structure: Structure = SMALL) -> Model:
    return learn_model(codes, structure, epsilon=1, key=KEY)


def twin(seeds: Codes, kept: int, acceptance: Acceptance, model: Model, number: int) -> list[int] | None:
    """One candidate by the description: a seed, a scan of all seeds, and the test, in plain Python."""
    stream = Stream("RECORD_SEED", number % 2**32, number >> 32)
    seed = seeds[stream.below(len(seeds))].tolist()
    n_plausible = sum(row[:kept].tolist() == seed[:kept] for row in seeds)
    test = Stream("RECORD_PASS", number % 2**32, number >> 32)
    if acceptance.forced_fail and happens(test, acceptance.forced_fail):
        return None
    threshold = acceptance.min_plausible_seeds
    if acceptance.threshold_epsilon is not None:
        threshold += discrete_laplace(test, exponential(acceptance.threshold_epsilon))
    if n_plausible < max(threshold, acceptance.least_passing):
        return None
    record: list[int] = seed[:kept]
    for child in range(kept, len(seed)):
        padded = record + [0] * (len(seed) - child)
        ends = list(accumulate(model.weights(child)[configuration(model.structure, child, padded)].tolist()))
        value = stream.below(ends[-1])
        record.append(sum(end <= value for end in ends))
    return record


@pytest.mark.jit_off
@pytest.mark.parametrize("first", [0, 2**32 - 7])
@pytest.mark.parametrize(
    ("kept", "acceptance"),
    [
        (1, ACCEPTANCE),
        (2, Acceptance(min_plausible_seeds=3, threshold_epsilon="1/3")),
        (2, Acceptance(min_plausible_seeds=3, test="deterministic", forced_fail="1/4")),
        (0, ACCEPTANCE),
        (3, ACCEPTANCE),
    ],
)
def test_candidates_are_the_twin_s(kept: int, acceptance: Acceptance, first: int) -> None:
    seeds = some_seeds(14)
    model, groups = model_of(seeds), GroupTable.of(seeds[:, :kept], SMALL.domain[:kept])
    drawn = draw_candidates(seeds, groups, acceptance, model, n=30, first=first, key=KEY)
    wanted = {number: twin(seeds, kept, acceptance, model, number) for number in range(first, first + 30)}
    passed = {number: record for number, record in wanted.items() if record is not None}
    assert drawn.number.tolist() == list(passed)
    assert drawn.codes.tolist() == list(passed.values())
    assert drawn.n_passed == len(passed)


def test_records_do_not_depend_on_threads_or_chunks() -> None:
    seeds = some_seeds(300)
    model, groups = model_of(seeds), GroupTable.of(seeds[:, :2], SMALL.domain[:2])

    def draw(first: int, n: int, threads: int) -> bytes:
        acceptance = Acceptance(min_plausible_seeds=40, threshold_epsilon="0.05", forced_fail="0.02")
        drawn = draw_candidates(seeds, groups, acceptance, model, n=n, first=first, key=KEY, threads=threads)
        return drawn.codes.tobytes()

    whole = draw(0, 5000, 1)
    assert draw(0, 5000, 3) == whole
    assert b"".join(draw(first, n, 2) for first, n in ((0, 1), (1, 2047), (2048, 2952))) == whole


@pytest.mark.jit_off
@pytest.mark.parametrize("wide", [False, True])
def test_kept_attributes_of_the_seeds_are_enough(wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if wide:
        monkeypatch.setattr(groups_module, "_MOST_SHORT", 1)
    seeds, packed = some_seeds(60), Seeds(SMALL.domain[:2])
    for part in (seeds[:1], seeds[1:40], seeds[40:]):
        packed.add(part[:, :2])
    assert packed.prefixes.dtype == (np.int64 if wide else np.int32)
    model, groups = model_of(seeds), GroupTable.of(seeds[:, :2], SMALL.domain[:2])
    assert (packed.groups().size == groups.size).all()
    whole = draw_candidates(seeds, groups, ACCEPTANCE, model, n=40, key=KEY)
    again = draw_candidates(packed, packed.groups(), ACCEPTANCE, model, n=40, key=KEY)
    assert whole.n_passed > 0
    assert (again.codes == whole.codes).all()


def test_candidates_follow_the_exact_law() -> None:
    """Chi-square over every record and no output, at this key; a false alarm has chance 1e-6."""
    seeds, kept, n = some_seeds(20), 2, 200_000
    model, groups = model_of(seeds), GroupTable.of(seeds[:, :kept], SMALL.domain[:kept])
    drawn = draw_candidates(seeds, groups, ACCEPTANCE, model, n=n, key=KEY, threads=2)
    found = Counter(tuple(row) for row in drawn.codes.tolist())
    a, law = Fraction(math.exp(-0.7)), dict[tuple[int, ...], float]()
    weights = [model.weights(child).tolist() for child in range(3)]
    for prefix, size in Counter(tuple(row) for row in seeds[:, :kept].tolist()).items():
        passes = Fraction(size, 20) * ACCEPTANCE.exact_chance(size, a)
        for last in range(3):
            record = (*prefix, last)
            law[record] = float(passes * record_chance(SMALL, weights, record, kept))
    likely = [record for record, p in law.items() if p > 0]
    observed = [found[record] for record in likely]
    assert sum(observed) == drawn.n_passed
    expected = [n * law[record] for record in likely]
    table = [*observed, n - sum(observed)], [*expected, n - sum(expected)]
    assert stats.chisquare(*table).pvalue > FALSE_ALARM


def test_groups_pass_as_often_as_their_size_says_at_a_real_size() -> None:
    domain = (7, 138, 3, 3, 3, 40, 7)
    seeds, kept, n = some_seeds(100_000, domain), 2, 300_000
    structure = Structure.of_marginals(domain)
    acceptance = Acceptance(min_plausible_seeds=1000, threshold_epsilon="0.0175", forced_fail="0.02")
    groups = GroupTable.of(seeds[:, :kept], domain[:kept])
    drawn = draw_candidates(seeds, groups, acceptance, model_of(seeds, structure), n=n, key=KEY, threads=2)
    assert 0.05 < drawn.n_passed / n < 0.95
    size = groups.size[groups.size > 0]
    chance = size / len(seeds) * acceptance.chances(size)
    observed = GroupTable.of(drawn.codes[:, :kept], domain[:kept]).size[groups.size > 0]
    enough = n * chance > 20
    assert enough.sum() > 20
    counts = [*observed[enough], n - observed[enough].sum()]
    expected = [*(n * chance[enough]), n * (1 - chance[enough].sum())]
    assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM
    # What is drawn after the kept attributes is the model's, whichever candidates pass.
    weights = learn_model(seeds, structure, epsilon=1, key=KEY).weights(5)[0]
    found = np.bincount(drawn.codes[:, 5], minlength=40)
    likely = weights * drawn.n_passed / weights.sum() > 20
    shares = weights[likely] / weights[likely].sum()
    assert stats.chisquare(found[likely], found[likely].sum() * shares).pvalue > FALSE_ALARM


def test_all_candidates_may_fail() -> None:
    seeds = some_seeds(50)
    groups = GroupTable.of(seeds[:, :3], SMALL.domain)
    acceptance = Acceptance(min_plausible_seeds=10**6, threshold_epsilon=1)
    drawn = draw_candidates(seeds, groups, acceptance, model_of(seeds), n=500, key=KEY)
    assert (drawn.n_passed, drawn.codes.shape) == (0, (0, 3))


def test_impossible_calls_are_refused() -> None:
    seeds = some_seeds(5)
    model, groups = model_of(seeds), GroupTable.of(seeds[:, :2], SMALL.domain[:2])
    with pytest.raises(ParameterError, match="fewer than 2 seeds"):
        draw_candidates(seeds[:1], groups, ACCEPTANCE, model, n=1, key=KEY)
    with pytest.raises(ParameterError, match="counts other seeds"):
        draw_candidates(seeds[:4], groups, ACCEPTANCE, model, n=1, key=KEY)
    with pytest.raises(ParameterError, match="allowed are 0 to 2"):
        draw_candidates(seeds, groups, ACCEPTANCE, model, n=1, first=-1, key=KEY)


@pytest.mark.parametrize(
    ("n_min", "asked", "message"),
    [
        (100, 1, "seeds: 1 asked for; a seed hides among others: give at least 2"),
        (100, 101, "seeds: 101 asked for, but only 100 are certain to exist"),
    ],
)
def test_too_few_and_too_many_seeds_are_refused(n_min: int, asked: int, message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        check_n_seeds(n_min, asked)
    check_n_seeds(n_min, 100)
