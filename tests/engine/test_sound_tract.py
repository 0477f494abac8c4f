"""What the sound accountant prepares once per tract, and its groups of equal points, against point by point."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.accountant.kernels import sound as kernels
from engine.accountant.kernels import sound_tract
from engine.accountant.kernels.reference_sample import upper_tail, upper_tails
from engine.accountant.kernels.sound import Groups
from engine.accountant.kernels.sound_tract import Tract
from engine.accountant.paper import SynthesizerClasses
from engine.accountant.sound import certify_sound, certify_sound_weights
from engine.accountant.sound_bound import tail_space
from engine.errors import ParameterError
from engine.kernels.arrays import Ints
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.parameters import PrivacyParameters
from engine.support.support_table import SupportTable
from tests.engine.examples import examples
from tests.oracles import sound as oracle
from tests.oracles.sound_groups import groups_of

PRIVACY = PrivacyParameters(epsilon="8.982026635", delta="1e-6", min_retention="0.025", accountant="sound")

WEIGHTS = st.integers(0, 3 * WEIGHT_UNITS // 2) | st.sampled_from([0, 1, 700, 5_000, WEIGHT_UNITS, 9 << 30])
RETENTIONS = st.integers(1, RETENTION_UNITS) | st.sampled_from([RETENTION_UNITS // 40, RETENTION_UNITS])


def _prepared(base: Sequence[int] | Ints, retention: Sequence[int] | Ints, floor: int) -> Tract:
    k = len(base)
    space = sound_tract.Tract(*np.empty((5, k), dtype=np.int64))
    weights, retentions = np.array(base, dtype=np.int64), np.array(retention, dtype=np.int64)
    n_groups, n_front = sound_tract.gather_tract(weights, retentions, floor, space)
    lengths = (*[n_groups] * 4, n_front)
    return sound_tract.Tract(*(array[:n] for array, n in zip(space, lengths, strict=True)))


def _used(weight: int, tract: Tract, k: int) -> Groups:
    groups = kernels.Groups(*np.empty((3, k), dtype=np.int64))
    n_groups = sound_tract.fill_groups(weight, tract, groups)
    return kernels.Groups(*(array[:n_groups] for array in groups))


def _as_groups(points: list[tuple[int, int]]) -> Groups:
    """Points, sorted, as groups of one."""
    alpha, kept = (np.array(column, dtype=np.int64) for column in zip(*points, strict=True))
    return kernels.Groups(alpha, kept, np.ones_like(alpha))


@st.composite
def tracts(draw: st.DrawFn) -> tuple[list[int], list[int], int, int]:
    """Any weights and retentions, equal ones among them, a floor, and a weight that is not below it."""
    points = draw(st.lists(st.tuples(WEIGHTS, RETENTIONS), min_size=1, max_size=30))
    points = points * draw(st.integers(1, 2))
    floor = draw(st.integers(1, WEIGHT_UNITS))
    weight = draw(st.integers(floor, 2 * WEIGHT_UNITS) | st.just(floor))
    return [a for a, _ in points], [f for _, f in points], floor, weight


@pytest.mark.jit_off
@settings(max_examples=examples(200), deadline=None)
@given(tracts())
def test_groups_used_are_the_points_used(tract: tuple[list[int], list[int], int, int]) -> None:
    base, retention, floor, weight = tract
    alpha, kept, times = _used(weight, _prepared(base, retention, floor), len(base))
    listed = [
        (a, f)
        for a, f, c in zip(alpha.tolist(), kept.tolist(), times.tolist(), strict=True)
        for _ in range(c)
    ]
    assert listed == oracle.used_points(weight, base, retention)
    assert len({*zip(alpha.tolist(), kept.tolist(), strict=True)}) == alpha.size


@pytest.mark.jit_off
@settings(max_examples=examples(200), deadline=None)
@given(tracts(), st.integers(1, 200), st.integers(1, 200))
def test_the_front_holds_the_largest_kappa_and_the_least_retention(
    tract: tuple[list[int], list[int], int, int], n: int, m: int
) -> None:
    base, retention, floor, _ = tract
    prepared = _prepared(base, retention, floor)
    points = oracle.used_points(floor, base, retention)
    each = [kernels.kappa_of_point(kernels.count_pair(n, m), a, f) for a, f in points]
    assert sound_tract.largest_kappa(kernels.count_pair(n, m), prepared) == pytest.approx(
        max(each), rel=1e-11
    )
    assert kernels.kappa_of_groups(n, m, _as_groups(points)) == pytest.approx(max(each), rel=1e-11)
    prunable = [f for a, f in zip(base, retention, strict=True) if a <= WEIGHT_UNITS and f < RETENTION_UNITS]
    front = prepared.front
    assert [prepared.retention[j] for j in front[:1]] == ([min(prunable)] if prunable else [])


def test_a_long_front_is_searched_in_blocks() -> None:
    """Retention rises with the weight, as it does with the prior share, so that every point is on the front."""
    base = np.arange(1, 200, dtype=np.int64) * (WEIGHT_UNITS // 250)
    for power in (0.3, 1.0, 3.0):
        retention = np.ceil((base / WEIGHT_UNITS) ** power * RETENTION_UNITS).astype(np.int64)
        prepared = _prepared(base, retention, 1)
        assert prepared.front.size == base.size
        for n in (1, 3, 40):
            each = [
                kernels.kappa_of_point(kernels.count_pair(n, n), int(a), int(f))
                for a, f in zip(base, retention, strict=True)
            ]
            assert sound_tract.largest_kappa(kernels.count_pair(n, n), prepared) == max(each)


@pytest.mark.parametrize("m", [1, 40, 3_000])
@pytest.mark.parametrize("x", [0, 1, 7])
def test_one_run_gives_the_tails_of_all_later_thresholds(m: int, x: int) -> None:
    """Above each single tail less its margin, and not above the run's own first tail by more than its share."""
    for first, rest in ((0.05, 3.0), (0.9, 0.01), (40.0, 40.0)):
        for limit in (0.0, 0.3, 5.5, 0.1 * m, 0.4 * m, 0.9 * m, float(m)):
            tails = np.empty(20)
            filled = upper_tails(limit, 10, m, x, first, rest, tails)
            for j in range(40):
                single = upper_tail(math.floor(limit) + j, 10, m, x, first, rest)
                found = tails[min(j, filled - 1)]
                assert found >= single * (1 - 3e-9)
                if j < filled - 1:
                    assert found <= single * (1 + 3e-9) + 3e-9 * tails[0]


@pytest.mark.jit_off
@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.02, 0.05, 0.3]), st.floats(0.02, 1.0), st.integers(1, 4)),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 25),
    st.integers(1, 25),
    st.floats(4.0, 9.0),
    st.floats(0.0, 5.0),
)
def test_failure_terms_of_groups_are_those_of_their_points(
    listed: list[tuple[float, float, int]], n: int, m: int, epsilon: float, mass_low: float
) -> None:
    """Many retentions at one weight share a run of tails; the twin works out each tail of each point."""
    groups = sorted({(round(a * 2**20), math.ceil(f * 2**32)): c for a, f, c in listed}.items())
    points = [(a / 2**20, f / 2**32) for (a, f), c in groups for _ in range(c)]
    columns = zip(*((a, f, c) for (a, f), c in groups), strict=True)
    arrays = kernels.Groups(*(np.array(column, dtype=np.int64) for column in columns))
    e, kappa = math.exp(epsilon), kernels.kappa_of_groups(n, m, arrays)
    found = kernels.failure_terms(n, m, arrays, e, kappa, mass_low, math.inf, tail_space())
    expected = oracle.failure_terms(n, m, points, e, kappa, mass_low)
    # A threshold that is a whole number but for rounding is lowered by the engine: then it is above, never below.
    assert found[0] >= expected[0] * (1 - 1e-8) - 1e-14
    assert found[1] >= expected[1] * (1 - 1e-8) - 1e-14
    limits = [oracle.threshold(x, a, f, e, kappa) for a, f in points for x in range(1, n + 1)]
    if all(abs(t - round(t)) > 1e-9 for t in limits):
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-12)


@pytest.mark.jit_off
@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.02, 1.0)), min_size=1, max_size=40),
    st.floats(-30.0, -4.0),  # a share of delta
)
def test_the_probable_mass_is_the_best_that_chernoff_gives(
    listed: list[tuple[float, float]], log_chance: float
) -> None:
    points = sorted((round(a * 2**20), math.ceil(f * 2**32)) for a, f in listed)
    groups = _as_groups(points)
    floats = [(a / 2**20, f / 2**32) for a, f in points]
    mass, rate = kernels.probable_mass(groups, log_chance)
    value, slope, curve = kernels.log_laplace(groups, rate)
    exact = [math.log1p(f * math.expm1(-rate * a)) if f < 1 else -rate * a for a, f in floats]
    certain = math.fsum(a for a, f in floats if f >= 1)
    assert mass / 2**20 <= max((log_chance - math.fsum(exact)) / rate, certain) + 1e-12
    # Newton's steps are few: a point that is all but certain to stay may leave them short of the best.
    if all(f <= 0.9 for _, f in floats):
        assert mass / 2**20 >= oracle.chernoff_mass(floats, log_chance) * 0.9 - 2**-20
    assert value == pytest.approx(math.fsum(exact), rel=1e-12, abs=1e-12)
    step = 1e-4 * rate
    ahead, behind = (kernels.log_laplace(groups, rate + sign * step) for sign in (1, -1))
    assert slope == pytest.approx((ahead[0] - behind[0]) / (2 * step), rel=1e-4, abs=1e-9)
    assert curve == pytest.approx((ahead[1] - behind[1]) / (2 * step), rel=1e-4, abs=1e-9)


def test_products_of_many_factors_do_not_underflow() -> None:
    """3,000 factors of 1/16 each: a product of 1e-3612."""
    f = 15 * RETENTION_UNITS // 16
    points = [(WEIGHT_UNITS - j, f) for j in range(3_000)][::-1]
    assert kernels.log_laplace(_as_groups(points), 1e6)[0] == pytest.approx(
        3_000 * math.log(1 / 16), rel=1e-12
    )


def _release(n_tracts: int = 7, seed: int = 11) -> tuple[SupportTable, SynthesizerClasses]:
    """Tracts of several sizes, each with its own classes, in no order; one without classes, and one without workers."""
    rng = np.random.Generator(np.random.PCG64(seed))
    sizes = rng.integers(3, 60, n_tracts)
    shares = [rng.dirichlet(np.full(size, 0.2)) for size in sizes]
    share = np.concatenate(shares)
    prior = SupportTable(
        support_ptr=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        base_weight=np.ceil(share * WEIGHT_UNITS).astype(np.int64),
        retention=np.ceil(np.clip(10 * share, 0.025, 1) * RETENTION_UNITS).astype(np.int64),
    )
    tract = rng.integers(1, n_tracts, 60)
    n = np.ceil(np.exp(rng.normal(2, 1.5, 60))).astype(np.int64)
    n[::17] = 0
    return prior, SynthesizerClasses(tract=tract, likelihood_count=n, published_count=n)


FIELDS = (
    "min_weight",
    "prune",
    "rule",
    "n_support",
    "least_weight",
    "total_weight",
    "least_retention",
    "terms",
)


def test_any_number_of_threads_and_any_batch_of_tracts_gives_the_same() -> None:
    prior, classes = _release()
    whole = certify_sound(prior, classes, PRIVACY)
    for threads in (2, 5):
        other = certify_sound(prior, classes, PRIVACY, threads=threads)
        assert all((getattr(whole, name) == getattr(other, name)).all() for name in FIELDS)
    for tract in np.unique(classes.tract):
        of = np.flatnonzero(classes.tract == tract)
        points = slice(int(prior.support_ptr[tract]), int(prior.support_ptr[tract + 1]))
        alone = certify_sound(
            SupportTable(
                support_ptr=np.array([0, points.stop - points.start]),
                base_weight=prior.base_weight[points],
                retention=prior.retention[points],
            ),
            SynthesizerClasses(
                tract=np.zeros_like(of),
                likelihood_count=classes.likelihood_count[of],
                published_count=classes.published_count[of],
            ),
            PRIVACY,
        )
        assert all((getattr(whole, name)[of] == getattr(alone, name)).all() for name in FIELDS)


def test_the_weights_reported_are_those_of_the_points() -> None:
    prior, classes = _release(seed=12)
    found = certify_sound(prior, classes, PRIVACY)
    stated = certify_sound_weights(prior, classes, found.min_weight, PRIVACY, threads=2)
    for j, tract in enumerate(classes.tract.tolist()):
        points = slice(int(prior.support_ptr[tract]), int(prior.support_ptr[tract + 1]))
        used = oracle.used_points(
            int(found.min_weight[j]), prior.base_weight[points].tolist(), prior.retention[points].tolist()
        )
        for accounting in (found, stated):
            assert accounting.least_weight[j] == used[0][0]
            assert accounting.total_weight[j] == sum(a for a, _ in used)
            assert accounting.least_retention[j] == min(f for _, f in used)
            assert accounting.n_support[j] == len(used)


def test_unpruned_classes_are_those_that_cannot_prune() -> None:
    """At epsilon_final 5 pruning asks for weights above 1; without it a thirtieth does. At 12 pruning stays."""
    prior, classes = _release(seed=13)
    for epsilon, expected in ((5, True), (12, False)):
        privacy = PrivacyParameters(epsilon=epsilon, delta="1e-6", min_retention="0.025", accountant="sound")
        pruned = certify_sound(prior, classes, privacy)
        found = certify_sound(prior, classes, privacy, allow_unpruned=True, threads=3)
        assert pruned.prune.all()
        assert (~found.prune).any() == expected
        whole = SupportTable(
            support_ptr=prior.support_ptr,
            base_weight=prior.base_weight,
            retention=np.full_like(prior.retention, RETENTION_UNITS),
        )
        kept = certify_sound(whole, classes, privacy)
        for j, switched in enumerate(~found.prune):
            of = kept if switched else pruned
            assert found.min_weight[j] == of.min_weight[j]
            assert groups_of(found, j) == groups_of(of, j)
            assert (found.terms[j] == of.terms[j]).all()
            assert switched == (pruned.min_weight[j] > WEIGHT_UNITS)
            assert found.min_weight[j] <= pruned.min_weight[j]
        again = certify_sound_weights(prior, classes, found.min_weight, privacy, prune=found.prune)
        assert all((getattr(again, name) == getattr(found, name)).all() for name in FIELDS)
    with pytest.raises(ParameterError, match="one bool per class"):
        certify_sound_weights(prior, classes, found.min_weight, privacy, prune=np.ones(2, dtype=bool))
