"""The sound accountant against brute force, its plain twin, published-style settings and tampered weights."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.accountant.enumerator import (
    compositions,
    exact_failure_probability,
    largest_log_ratio,
    transition_matrix,
)
from engine.accountant.kernels import sound as kernels
from engine.accountant.kernels.reference_sample import upper_tail
from engine.accountant.paper import SynthesizerClasses, certify_classes
from engine.accountant.sound import (
    SOUND_RULES,
    WeightGroup,
    certify_sound,
    certify_sound_weights,
    least_sound_weight,
    sound_delta,
)
from engine.errors import CertificateError, OverflowRefusedError, ParameterError
from engine.kernels.arrays import Floats
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.parameters import PrivacyParameters
from engine.support.pruning import effective_retention
from engine.support.support_table import SupportTable
from tests.engine.examples import examples
from tests.golden import golden
from tests.oracles import sound as oracle
from tests.oracles.sound_groups import groups_of, sound_bound_of_groups

V3 = PrivacyParameters(epsilon="8.982026635", delta="1e-6", min_retention="0.025", accountant="sound")
Weights = Floats | Sequence[float]


def _table(*tracts: Weights, retention: float | list[Weights] = 0.025) -> SupportTable:
    """One tract for each list of base weights; retention one number or one list per tract."""
    sizes = [len(weights) for weights in tracts]
    kept = [np.broadcast_to(r, s) for r, s in zip(_each(retention, len(tracts)), sizes, strict=True)]
    return SupportTable(
        support_ptr=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        base_weight=np.ceil(np.concatenate(tracts) * WEIGHT_UNITS).astype(np.int64),
        retention=np.ceil(np.concatenate(kept) * RETENTION_UNITS).astype(np.int64),
    )


def _each(value: float | list[Weights], times: int) -> Sequence[float | Weights]:
    return value if isinstance(value, list) else [value] * times


def _classes(
    counts: list[int], tracts: list[int] | None = None, published: list[int] | None = None
) -> SynthesizerClasses:
    n = np.array(counts, dtype=np.int64)
    return SynthesizerClasses(
        tract=np.zeros_like(n) if tracts is None else np.array(tracts, dtype=np.int64),
        likelihood_count=n,
        published_count=n if published is None else np.array(published, dtype=np.int64),
    )


@st.composite
def mechanisms(draw: st.DrawFn) -> tuple[int, int, list[float], list[float], float]:
    """Small mechanisms on the grid that is certified: k up to 4, n and m up to 6, unequal weights and retentions."""
    k = draw(st.integers(2, 4))
    n, m = draw(st.integers(1, 6 if k < 4 else 4)), draw(st.integers(1, 6 if k < 4 else 4))
    weight = st.integers(1, 3 * WEIGHT_UNITS // 2) | st.integers(WEIGHT_UNITS // 100, WEIGHT_UNITS // 2)
    retention = st.sampled_from([1.0, 1.0, 0.5, 0.2, 0.05, 0.0078125])
    alpha = [draw(weight) / WEIGHT_UNITS for _ in range(k)]
    kept = [math.ceil(draw(retention) * RETENTION_UNITS) / RETENTION_UNITS for _ in range(k)]
    return n, m, alpha, kept, draw(st.floats(0.3, 9.0))


@settings(max_examples=300, deadline=None)
@given(mechanisms())
@example((1, 6, [0.9, 0.0263], [0.01, 0.01], 10.735))
@example((4, 4, [0.512, 0.856, 0.976], [0.025] * 3, 6.33203))
@example((6, 6, [0.25, 0.25], [1.0, 1.0], 2.0))
def test_never_below_the_exact_failure_probability(
    mechanism: tuple[int, int, list[float], list[float], float],
) -> None:
    n, m, alpha, kept, epsilon = mechanism
    bound = sound_delta(n, m, alpha, kept, epsilon)
    exact = exact_failure_probability(n, m, alpha, kept, epsilon).probability
    assert exact <= bound.delta * (1 + 1e-9) + 1e-13, (exact, bound)


@settings(max_examples=150, deadline=None)
@given(mechanisms())
def test_where_the_bound_is_zero_nothing_can_fail(
    mechanism: tuple[int, int, list[float], list[float], float],
) -> None:
    """At the least epsilon that a pure certificate gives, the largest exact log ratio stays within it."""
    n, m, alpha, kept, _ = mechanism
    probability = transition_matrix(n, m, alpha, kept)
    exact = largest_log_ratio(compositions(n, len(alpha)), probability)
    low, high = 0.0, 60.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        if sound_delta(n, m, alpha, kept, middle).delta == 0:
            high = middle
        else:
            low = middle
    assert exact <= high + 1e-6


@pytest.mark.jit_off
@settings(max_examples=examples(60), deadline=None)
@given(mechanisms())
def test_terms_agree_with_the_plain_twin(mechanism: tuple[int, int, list[float], list[float], float]) -> None:
    """At one kept mass: the same kappa and empty term, and a workers' term at most the twin's."""
    n, m, alpha, kept, epsilon = mechanism
    e = math.exp(epsilon)
    value = oracle.kappa(n, m, alpha, kept)
    groups = [WeightGroup(round(a * 2**20), round(f * 2**32), 1) for a, f in zip(alpha, kept, strict=True)]
    if any(f * e < value * (1 + 1e-9) for f in kept):
        assert sound_bound_of_groups(n, m, groups, epsilon, 0, 0.0).delta == 1.0
        return
    found = sound_bound_of_groups(n, m, groups, epsilon, 0, 0.0)
    empty = sum(f * oracle.tail(0, a, f, n, m, e, value, 0.0) for a, f in zip(alpha, kept, strict=True))
    occupied = n * max(
        oracle.tail(x, a, f, n, m, e, value, 0.0) / x
        for x in range(1, n + 1)
        for a, f in zip(alpha, kept, strict=True)
    )
    assert found.kappa == pytest.approx(value, rel=1e-9)
    assert found.empty_term == pytest.approx(empty, rel=1e-7, abs=1e-12)
    assert found.occupied_term <= occupied * (1 + 1e-7) + 1e-12


def test_uniform_golden_values() -> None:
    """The twin, with a binomial kept mass, is the golden value; Chernoff costs the engine little."""
    for case in golden("pdp")["sound_delta_uniform"]:
        n, m, k = case["n"], case["m"], case["n_support"]
        alpha, kept, epsilon = case["prior_weight"], case["retention"], case["epsilon_final"]
        wanted = case["sound_delta"]
        masses = oracle.kept_masses_uniform(k, alpha, kept)
        assert oracle.sound_delta(n, m, [(alpha, kept, k)], masses, epsilon) == pytest.approx(
            wanted, rel=1e-9
        )
        assert wanted <= sound_delta(n, m, [alpha] * k, [kept] * k, epsilon).delta <= wanted * 1.15


def test_small_golden_values() -> None:
    """The twin, listing kept sets, is the golden value; the engine bounds the enumerated one."""
    for case in golden("pdp")["exact_failure_probability"]:
        n, m, alpha, kept, epsilon = (case[x] for x in ("n", "m", "prior_weight", "retention", "epsilon"))
        groups = [(a, f, 1) for a, f in zip(alpha, kept, strict=True)]
        twin = oracle.sound_delta(n, m, groups, oracle.kept_masses(alpha, kept), epsilon)
        assert twin == pytest.approx(case["sound_delta_with_exact_kept_mass"], rel=1e-9)
        assert case["exact_delta"] <= sound_delta(n, m, alpha, kept, epsilon).delta + 1e-12


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.02, 1.0)), min_size=1, max_size=8),
    st.floats(-30.0, -0.1),
)
def test_chernoff_covers_the_exact_kept_mass(points: list[tuple[float, float]], log_chance: float) -> None:
    alpha = np.array([math.ceil(a * WEIGHT_UNITS) for a, _ in points], dtype=np.int64)
    kept = np.array([math.ceil(f * RETENTION_UNITS) for _, f in points], dtype=np.int64)
    order = np.lexsort((kept, alpha))
    groups = kernels.Groups(alpha[order], kept[order], np.ones_like(alpha))
    mass, rate = kernels.probable_mass(groups, log_chance)
    bound = kernels.mass_term(groups, mass, rate)
    listed = oracle.kept_masses([int(a) for a in alpha], [f / RETENTION_UNITS for f in kept.tolist()])
    exact = max((below for m, below in listed if m <= mass), default=0.0)
    later = [below for m, below in listed if m >= mass]
    assert min(later, default=1.0) <= bound + 1e-12
    assert exact <= bound + 1e-12
    assert bound <= math.exp(log_chance) * (1 + 1e-6)


@pytest.mark.parametrize("n", [1, 2, 5, 9, 15, 30, 100])
def test_least_weight_is_least_on_a_fine_grid(n: int) -> None:
    """Every smaller weight of a grid fails, down to a tenth of the weight found."""
    found = least_sound_weight(n, n, 60, "0.025", V3.epsilon, V3.delta).weight
    assert sound_delta(n, n, [found] * 60, [0.025] * 60, V3.epsilon).delta <= 1e-6
    for share in np.linspace(0.1, 0.995, 60):
        assert sound_delta(n, n, [found * share] * 60, [0.025] * 60, V3.epsilon).delta > 1e-6


@pytest.mark.jit_off
def test_feasibility_is_not_monotone() -> None:
    """kappa grows with the weight: with one worker and six drawn, 0.3 cannot fail where 1 can."""
    kept, epsilon = [0.05] * 3, math.log(840)
    assert sound_delta(1, 6, [0.3] * 3, kept, epsilon).delta == 0
    assert sound_delta(1, 6, [1.0] * 3, kept, epsilon).delta > 0
    found = least_sound_weight(1, 6, 3, "0.05", epsilon, "1e-6").weight
    assert sound_delta(1, 6, [found] * 3, kept, epsilon).delta == 0
    assert found < 0.3


@pytest.mark.parametrize("epsilon", ["0.5", "2", "3.7", "6", "8.982026635", "25"])
@pytest.mark.parametrize("kept", ["0.025", "0.5", "1"])
def test_every_setting_has_a_weight(epsilon: str, kept: str) -> None:
    """Where pruning leaves no solution the weight goes above 1 and nothing is pruned."""
    privacy = PrivacyParameters(epsilon=epsilon, delta="1e-6", min_retention=kept, accountant="sound")
    table = _table([0.0] * 7 + [0.3, 0.01], [0.2, 0.8], retention=float(kept))
    counts = [1, 2, 7, 40, 300, 0, 1, 9, 9]
    accounting = certify_sound(table, _classes(counts, [0, 0, 0, 0, 0, 0, 1, 1, 0]), privacy)
    assert (accounting.delta_bound <= 1e-6).all()
    assert [SOUND_RULES[r] for r in accounting.rule].count("nothing drawn") == 1
    again = certify_sound_weights(
        table, _classes(counts, [0, 0, 0, 0, 0, 0, 1, 1, 0]), accounting.min_weight, privacy
    )
    assert (again.terms == accounting.terms).all()


def test_the_certified_bound_is_redone_from_the_groups() -> None:
    rng = np.random.Generator(np.random.PCG64(5))
    shares = rng.dirichlet([0.3] * 80)
    table = _table(shares, retention=[np.clip(10 * shares, 0.025, 1)])
    classes = _classes([1, 5, 14, 60, 400])
    accounting = certify_sound(table, classes, V3)
    for j, n in enumerate(classes.likelihood_count.tolist()):
        groups = groups_of(accounting, j)
        stated = accounting.bound(j)
        again = sound_bound_of_groups(n, n, groups, V3.epsilon, stated.mass_low, stated.chernoff_rate)
        assert again == pytest.approx(stated, rel=1e-9)
        assert sum(group.n_points for group in groups) == accounting.n_support[j] == 80
        assert sum(g.weight * g.n_points for g in groups) == accounting.total_weight[j]


def test_less_noise_than_the_paper_accountant() -> None:
    table, classes = _table([0.0] * 1000), _classes([1, 2, 5, 9, 15, 30, 100, 300])
    paper = PrivacyParameters(epsilon="4.6", delta="1e-6", min_retention="0.025")
    before = certify_classes(table, classes, paper).min_weight
    after = certify_sound(table, classes, V3).min_weight
    assert (after < before).all()
    assert after[2] / WEIGHT_UNITS == pytest.approx(0.0258, abs=1e-4)


def test_published_counts_get_weights_of_m_alone() -> None:
    """n is not public then, and weights hold for every n: brute force over n at the weight of m."""
    table = _table([0.0, 0.0])
    n, m = [1, 2, 3, 6, 0], [4, 4, 4, 4, 4]
    accounting = certify_sound(table, _classes(n, published=m), V3)
    assert np.unique(accounting.min_weight).size == np.unique(accounting.rule).size == 1
    assert (accounting.delta_bound == 0).all()
    assert (accounting.likelihood_count == 1).all()
    alpha = [float(accounting.min_weight[0]) / WEIGHT_UNITS] * 2
    kept = [int(accounting.least_retention[0]) / RETENTION_UNITS] * 2
    for workers in (1, 2, 3, 6):
        exact = exact_failure_probability(workers, 4, alpha, kept, float(V3.epsilon))
        assert exact.probability == 0
    with pytest.raises(CertificateError, match="not enough"):
        certify_sound_weights(table, _classes(n, published=m), accounting.min_weight - 100, V3)


def test_published_counts_hide_n_where_nothing_is_pruned_too() -> None:
    """Of the two classes only the one with n = m prunes nothing; it gets the weight that every n of its m gets."""
    table = _table([0.002, 0.75], retention=[[1.0, 0.05]])
    privacy = PrivacyParameters(epsilon="6.3", delta="0.08", accountant="sound")
    found = []
    for n in (1, 2, 5):
        classes = _classes([5, n], published=[1, 5])
        accounting = certify_sound(table, classes, privacy, allow_unpruned=True)
        assert accounting.prune.tolist() == [True, False]
        assert (accounting.delta_bound == 0).all()
        found.append(int(accounting.min_weight[1]))
    assert len(set(found)) == 1


def test_points_above_one_worker_are_never_pruned() -> None:
    table = _table([0.0, 1.5, 3.0], retention=0.025)
    accounting = certify_sound(table, _classes([4]), V3)
    groups = groups_of(accounting, 0)
    assert [group.retention == RETENTION_UNITS for group in groups] == [False, True, True]
    assert accounting.bound(0).kappa < 1.1


@pytest.mark.jit_off
def test_weights_below_the_least_are_refused() -> None:
    table, classes = _table([0.0] * 100), _classes([20])
    least = certify_sound(table, classes, V3).min_weight
    assert certify_sound_weights(table, classes, least, V3).delta_bound[0] <= 1e-6
    with pytest.raises(CertificateError, match=r"epsilon_final 8\.98203, delta 1e-06, m 20, k 100"):
        certify_sound_weights(table, classes, least * 9 // 10, V3)


def test_retention_too_low_for_epsilon_is_refused() -> None:
    """f e^epsilon_final must reach kappa; otherwise keeping a point gives its only worker away."""
    assert sound_delta(2, 2, [0.5] * 4, [0.01] * 4, 4).delta == 1.0


@pytest.mark.jit_off
def test_accountants_refuse_each_others_parameters() -> None:
    table, classes = _table([0.0, 0.0]), _classes([3])
    with pytest.raises(ParameterError, match=r"use engine\.accountant\.sound"):
        certify_classes(table, classes, V3)
    paper = PrivacyParameters(epsilon="4.6", delta="1e-6")
    with pytest.raises(ParameterError, match="epsilon is epsilon_final"):
        certify_sound(table, classes, paper)


@pytest.mark.jit_off
def test_bad_arguments_are_refused() -> None:
    table = _table([0.0, 0.0])
    with pytest.raises(ParameterError, match="tract 3"):
        certify_sound(table, _classes([3], tracts=[3]), V3)
    with pytest.raises(ParameterError, match="at least one unit"):
        certify_sound_weights(table, _classes([3]), np.zeros(1, dtype=np.int64), V3)
    with pytest.raises(ParameterError, match="n must be 1 or more"):
        sound_delta(0, 2, [0.5], [0.5], 3)
    with pytest.raises(ParameterError, match="one prior weight above 0"):
        sound_delta(2, 2, [0.5, 0.0], [0.5, 0.5], 3)
    with pytest.raises(ParameterError, match="epsilon_final is 0"):
        sound_delta(2, 2, [0.5], [0.5], 0)
    with pytest.raises(CertificateError, match="every group"):
        sound_bound_of_groups(2, 2, [WeightGroup(0, 1, 1)], 3, 0, 0.0)
    with pytest.raises(CertificateError, match="kept mass"):
        sound_bound_of_groups(2, 2, [WeightGroup(9, 1, 1)], 3, 10, 0.0)
    tiny = PrivacyParameters(epsilon="1e-9", delta="1e-6", accountant="sound")
    with pytest.raises(OverflowRefusedError, match="beyond 64 bits"):
        certify_sound(table, _classes([10**12]), tiny)


@st.composite
def small_releases(draw: st.DrawFn) -> tuple[list[float], list[float], int, float, float]:
    """A tract of two or three points with any base weights and retentions, a count, and a promise."""
    k = draw(st.integers(2, 3))
    base = [draw(st.sampled_from([0.0, 0.05, 0.3, 0.9, 1.2])) for _ in range(k)]
    retention = [draw(st.sampled_from([0.05, 0.3, 1.0])) for _ in range(k)]
    return base, retention, draw(st.integers(1, 6)), draw(st.floats(1.0, 9.0)), draw(st.floats(0.001, 0.3))


@pytest.mark.jit_off
@settings(max_examples=examples(160), deadline=None)
@given(small_releases(), st.booleans())
def test_what_is_certified_holds_by_brute_force_for_what_is_drawn(
    release: tuple[list[float], list[float], int, float, float], allow_unpruned: bool
) -> None:
    """The least weights found, with the retentions that the sampler applies to them, fail no more than certified."""
    base, retention, n, epsilon, delta = release
    table = _table(base, retention=[retention])
    privacy = PrivacyParameters(epsilon=epsilon, delta=delta, accountant="sound")
    accounting = certify_sound(table, _classes([n]), privacy, allow_unpruned=allow_unpruned)
    weight = np.maximum(table.base_weight, accounting.min_weight[0])
    certain_above = WEIGHT_UNITS if accounting.prune[0] else -1
    kept = effective_retention(table.retention, weight, certain_above=certain_above)
    listed = sorted(zip(weight.tolist(), kept.tolist(), strict=True))
    assert listed == sorted(
        (g.weight, g.retention) for g in groups_of(accounting, 0) for _ in range(g.n_points)
    )
    alpha, chance = weight / WEIGHT_UNITS, kept / RETENTION_UNITS
    exact = exact_failure_probability(n, n, alpha.tolist(), chance.tolist(), epsilon).probability
    assert exact <= accounting.delta_bound[0] * (1 + 1e-9) + 1e-13
    assert accounting.delta_bound[0] <= delta


@pytest.mark.parametrize("n", [300, 3_000, 20_000])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9])
def test_tails_of_large_workplaces_are_never_below_scipys(n: int, share: float) -> None:
    """Enumeration stays at n of 6; here the first term of a tail may underflow although the tail is near 1."""
    x = int(share * n)
    for first, rest in ((0.05, 3.0), (40.0, 40.0), (2_189.0, 2_189.0)):
        mean = n * (x + first) / (n + first + rest)
        for limit in (0.05 * mean, 0.5 * mean, 0.99 * mean, 1.01 * mean, 1.2 * mean + 3, 2 * mean + 10):
            # Added up from the logarithms: SciPy's own sf is 1 - cdf, good to 1e-12 only.
            beyond = np.arange(math.floor(limit) + 1, n + 1)
            terms = scipy.stats.betabinom.logpmf(beyond, n, x + first, n - x + rest)
            exact = math.exp(scipy.special.logsumexp(terms)) if beyond.size else 0.0
            assert upper_tail(limit, n, n, x, first, rest) >= exact * (1 - 1e-6)


def test_a_strong_promise_for_a_large_workplace_is_not_certified_by_underflow() -> None:
    """With these weights one point draws more than its threshold with probability 0.47."""
    assert sound_delta(3_000, 3_000, [2_189.0] * 2, [1.0] * 2, "0.01").delta > 0.4
    found = least_sound_weight(3_000, 3_000, 2, 1, "0.01", "1e-6")
    assert found.weight > 100_000


def test_nothing_is_called_impossible_because_it_is_unlikely() -> None:
    """All 3,000 in one empty point: a log ratio of 1.253 above 1, with a probability no float can hold."""
    assert sound_delta(3_000, 3_000, [1_200.0] * 4, [1.0] * 4, "1").delta > 0
