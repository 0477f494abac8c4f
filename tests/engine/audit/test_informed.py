"""The informed attacker against enumeration: every table, every kept set, every home of the victim."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.accountant.paper import SynthesizerClasses
from engine.accountant.sound import certify_sound
from engine.audit.informed import (
    DirichletMultinomial,
    Exponential,
    InformedPredictions,
    KeepOrRedraw,
    Likelihood,
    PriorBelief,
    informed_attack,
    likelihood_of,
)
from engine.errors import ParameterError
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.mechanisms.prices import PRICE_UNITS, law_of
from engine.mechanisms.thetas import THETA_UNITS, exponential_epsilon, inverse_theta
from engine.parameters import PrivacyParameters
from engine.support.support_table import SupportTable
from tests.engine.examples import examples
from tests.golden import golden
from tests.oracles.enumerator import output_probability
from tests.oracles.exponential import tables
from tests.oracles.informed import Table, joined, likelihoods, posterior, prior_from_others
from tests.oracles.priced import priced_law
from tests.oracles.unit_mechanisms import keep_or_redraw_law

Ints = npt.NDArray[np.int64]


def points_of(table: Sequence[int]) -> list[int]:
    return [point for point, count in enumerate(table) for _ in range(count)]


def attack(
    cells: Sequence[tuple[Sequence[int], Sequence[int]]],
    likelihood: Likelihood,
    *,
    alpha: Sequence[float] | None = None,
    retention: Sequence[float] | None = None,
    share: Sequence[float] | None = None,
    epsilon: float = 100.0,
    prior: PriorBelief = "others",
    threads: int = 1,
    order: np.random.Generator | None = None,
) -> InformedPredictions:
    """Attack (real table, published table) of each cell of one destination tract; `order` mixes the homes of a cell."""
    k = len(cells[0][0])
    mix = list if order is None else order.permutation
    real = [mix(points_of(table)) for table, _ in cells]
    made = [mix(points_of(table)) for _, table in cells]
    weights = [1.0] * k if alpha is None else alpha
    synthesizers = Synthesizers(
        tract=np.zeros(len(cells), dtype=np.int32),
        destination=np.arange(len(cells)),
        segment=np.zeros(len(cells), dtype=np.int64),
        worker_ptr=np.cumsum([0, *map(len, real)]),
        worker_point=np.concatenate(real).astype(np.int32),
        min_prior_weight=np.ones(len(cells), dtype=np.int64),
        published_count=np.array([len(one) for one in made]),
    )
    published = SyntheticPoints(
        synthetic_ptr=np.cumsum([0, *map(len, made)]), synthetic_point=np.concatenate(made).astype(np.int32)
    )
    support = SupportTable(
        support_ptr=np.array([0, k]),
        base_weight=np.array([round(one * WEIGHT_UNITS) for one in weights]),
        retention=np.array([round(one * RETENTION_UNITS) for one in retention or [1.0] * k]),
    )
    shares = np.full(k, 1 / k) if share is None else np.array(share)
    return informed_attack(
        synthesizers, published, support, shares, likelihood, epsilon=epsilon, prior=prior, threads=threads
    )


def dirichlet_law(alpha: Sequence[float], retention: Sequence[float]) -> Callable[[Table, Table], float]:
    return lambda table, output: output_probability(table, output, alpha, retention)


@cache
def exponential_law(table: Table, epsilon: Fraction) -> dict[Table, Fraction]:
    law = law_of(epsilon, len(table), sum(table))
    return priced_law(table, Fraction(THETA_UNITS, law.inverse_theta), Fraction(law.price, PRICE_UNITS))


@cache
def redraw_law(table: Table, epsilon: Fraction) -> dict[Table, Fraction]:
    law: dict[Table, Fraction] = keep_or_redraw_law(
        table, Fraction(inverse_theta(exponential_epsilon(epsilon), 1, 1), THETA_UNITS)
    )
    return law


def assert_is_the_posterior(
    real: Table,
    made: Table,
    found: InformedPredictions,
    law: Callable[[Table, Table], float],
    *,
    within: float = 1e-9,
    elsewhere: Table | None = None,
) -> None:
    """Every victim's beliefs are those of the twin; `elsewhere` holds the workers of other cells of the tract."""
    k = len(real)
    share = [Fraction(1, k)] * k
    for worker, home in enumerate(points_of(real)):
        others = tuple(count - (point == home) for point, count in enumerate(real))
        tract = others if elsewhere is None else tuple(map(sum, zip(others, elsewhere, strict=True)))
        before = prior_from_others(others, tract, share)
        assert sum(before) == 1
        chances = likelihoods(others, made, law)
        after = posterior(before, chances)
        assert found.truth_without[worker] == pytest.approx(float(before[home]), abs=1e-12)
        assert found.truth_with[worker] == pytest.approx(after[home], abs=within)
        assert found.without_release.belief[worker] == pytest.approx(float(max(before)), abs=1e-12)
        assert found.with_release.belief[worker] == pytest.approx(max(after), abs=within)
        assert after[found.with_release.value[worker]] == pytest.approx(max(after), abs=2 * within)
        spread = math.log(max(chances) / min(chances))
        assert found.spread[worker] == pytest.approx(spread, abs=30 * within)


@pytest.mark.jit_off
def test_the_golden_posteriors() -> None:
    """Exact without pruning, within 0.0010 with it."""
    for case in golden("audit")["informed_attacker"]["cases"]:
        others, made = tuple(case["others"]), tuple(case["published"])
        k = len(others)
        pruned = min(case["retention"]) < 1
        for home in range(k):
            found = attack(
                [(joined(others, home), made)],
                DirichletMultinomial(),
                alpha=case["alpha"],
                retention=case["retention"],
                share=[1 / k] * k,
                prior="public",
            )
            worker = points_of(joined(others, home)).index(home)
            wanted = case["posterior_flat_prior"]
            assert found.truth_with[worker] == pytest.approx(wanted[home], abs=1e-3 if pruned else 2e-6)
            assert found.with_release.belief[worker] == pytest.approx(
                max(wanted), abs=1e-3 if pruned else 2e-6
            )


TABLES = st.integers(2, 4).flatmap(
    lambda k: st.integers(1, 5).flatmap(
        lambda n: st.tuples(st.sampled_from(sorted(tables(n, k))), st.sampled_from(sorted(tables(n, k))))
    )
)


@given(TABLES, st.data())
@settings(max_examples=examples(60))
def test_dirichlet_multinomial_without_pruning_is_exact(
    pair: tuple[Table, Table], data: st.DataObject
) -> None:
    real, made = pair
    units = st.integers(1, 2 * WEIGHT_UNITS).map(lambda weight: weight / WEIGHT_UNITS)
    alpha = [data.draw(units) for _ in real]
    found = attack([pair], DirichletMultinomial(), alpha=alpha)
    assert_is_the_posterior(real, made, found, dirichlet_law(alpha, [1.0] * len(real)))


@pytest.mark.jit_off
@given(TABLES, st.data())
@settings(max_examples=examples(60))
def test_dirichlet_multinomial_with_pruning_is_close(pair: tuple[Table, Table], data: st.DataObject) -> None:
    real, made = pair
    alpha = [data.draw(st.sampled_from([0.015625, 0.0625, 0.25])) for _ in real]
    retention = [data.draw(st.sampled_from([0.03125, 0.25, 0.5, 1.0])) for _ in real]
    law = dirichlet_law(alpha, retention)
    found = attack([pair], DirichletMultinomial(), alpha=alpha, retention=retention)
    assert_is_the_posterior(real, made, found, law, within=1e-3)
    # Where the promise is at stake, the ratios are exact.
    found = attack([pair], DirichletMultinomial(), alpha=alpha, retention=retention, epsilon=0.0)
    for worker, home in enumerate(points_of(real)):
        others = tuple(count - (point == home) for point, count in enumerate(real))
        chances = likelihoods(others, made, law)
        assert found.spread[worker] == pytest.approx(math.log(max(chances) / min(chances)), abs=1e-9)


@pytest.mark.parametrize("epsilon", ["0.5", "2", "4", "6.5", "8.98"])
@pytest.mark.parametrize(("mechanism", "law"), [(Exponential, exponential_law), (KeepOrRedraw, redraw_law)])
def test_exponential_and_keep_or_redraw_are_exact(
    mechanism: type[Exponential] | type[KeepOrRedraw],
    law: Callable[[Table, Fraction], dict[Table, Fraction]],
    epsilon: str,
) -> None:
    exact = Fraction(epsilon)
    for n, k in [(1, 2), (1, 4), (2, 2), (2, 4), (3, 3), (4, 2), (5, 4)]:
        every = sorted(tables(n, k), reverse=True)
        for real in [table for table in every if table == tuple(sorted(table, reverse=True))]:
            for made in every[:: max(len(every) // 8, 1)]:
                found = attack([(real, made)], mechanism(epsilon=exact))
                assert_is_the_posterior(
                    real, made, found, lambda table, output: float(law(table, exact)[output])
                )
                assert found.spread.max() <= float(exact) + 1e-9


@pytest.mark.parametrize(("mechanism", "law"), [(Exponential, exponential_law), (KeepOrRedraw, redraw_law)])
@pytest.mark.parametrize("epsilon", ["1", "6.5"])
def test_thirty_workers_are_as_exact_as_three(
    mechanism: type[Exponential] | type[KeepOrRedraw],
    law: Callable[[Table, Fraction], dict[Table, Fraction]],
    epsilon: str,
) -> None:
    exact = Fraction(epsilon)
    for real, made in [((30, 0, 0), (28, 2, 0)), ((16, 13, 1), (10, 10, 10)), ((15, 15, 0), (14, 15, 1))]:
        found = attack([(real, made)], mechanism(epsilon=exact))
        assert_is_the_posterior(
            real, made, found, lambda table, output: float(law(table, exact)[output]), within=1e-8
        )
        assert found.spread.max() <= float(exact) + 1e-9


@pytest.mark.parametrize("epsilon", ["0.75", "3", "6.5", "12"])
def test_normalizers_of_many_workers_agree_with_polynomials(epsilon: str) -> None:
    """60 workers in points with 1 to 20 of them, most points empty; and 9 with a price."""
    for real in [(20, 12, 9, 9, 3, 2, 2, 1, 1, 1, *[0] * 40), (5, 2, 1, 1, *[0] * 40), (60, *[0] * 9)]:
        k, n = len(real), sum(real)
        law = law_of(Fraction(epsilon), k, n)
        theta, price = THETA_UNITS / law.inverse_theta, law.price / PRICE_UNITS
        made = (0, n, *[0] * (k - 2))
        found = attack([(real, made)], Exponential(epsilon=Fraction(epsilon)), prior="public")
        for home in sorted(set(points_of(real))):
            others = [count - (point == home) for point, count in enumerate(real)]
            total = {count: _normalizer(others, count, theta, price) for count in set(others)}
            weight = np.array(
                [theta ** -(drawn > count) / total[count] for count, drawn in zip(others, made, strict=True)]
            )
            worker = points_of(real).index(home)
            assert found.truth_with[worker] == pytest.approx(weight[home] / weight.sum(), rel=1e-9)
            assert found.spread[worker] == pytest.approx(np.log(weight.max() / weight.min()), abs=1e-9)


def _normalizer(others: Sequence[int], entered: int, theta: float, price: float) -> float:
    """Z of the others and the victim in a point with so many of them: the coefficient of t^n, point by point."""
    counts = list(others)
    counts[counts.index(entered)] += 1
    n = sum(counts)
    product = np.zeros(n + 1)
    product[0] = 1.0
    for count in counts:
        drawn = np.arange(n + 1)
        factor = theta ** np.maximum(count - drawn, 0) * np.where(drawn > 0, price, 1.0)
        product = np.convolve(product, factor)[: n + 1]
    return float(product[n])


@pytest.mark.jit_off
def test_other_cells_of_the_tract_change_the_prior_belief_alone() -> None:
    real, made, elsewhere = (2, 0, 1, 0), (1, 1, 1, 0), (0, 3, 1, 0)
    law = dirichlet_law([0.5] * 4, [1.0] * 4)
    found = attack([(real, made), (elsewhere, elsewhere)], DirichletMultinomial(), alpha=[0.5] * 4)
    assert_is_the_posterior(real, made, found, law, elsewhere=elsewhere)


@pytest.mark.jit_off
@pytest.mark.parametrize(
    "likelihood",
    [DirichletMultinomial(), Exponential(epsilon=Fraction(4)), KeepOrRedraw(epsilon=Fraction(4))],
)
@pytest.mark.parametrize("prior", ["others", "public"])
def test_neither_threads_nor_the_order_of_homes_change_anything(
    likelihood: Likelihood, prior: PriorBelief
) -> None:
    rng = np.random.default_rng(3)
    cells = [
        (
            tuple(np.bincount(rng.integers(0, 9, n), minlength=9)),
            tuple(np.bincount(rng.integers(0, 9, n), minlength=9)),
        )
        for n in rng.integers(1, 30, examples(40))
    ]
    retention = [0.25] * 4 + [1.0] * 5
    found = attack(cells, likelihood, alpha=[0.125] * 9, retention=retention, prior=prior)
    again = attack(cells, likelihood, alpha=[0.125] * 9, retention=retention, prior=prior, threads=2)
    for one, other in zip(found[2:], again[2:], strict=True):
        assert np.array_equal(one, other)
    mixed = attack(cells, likelihood, alpha=[0.125] * 9, retention=retention, prior=prior, order=rng)
    assert np.array_equal(np.sort(mixed.truth_with), np.sort(found.truth_with))
    assert np.array_equal(np.sort(mixed.with_release.belief), np.sort(found.with_release.belief))


@pytest.mark.parametrize(("epsilon", "delta"), [("2", "0.05"), ("3", "0.01"), ("4", "1e-6")])
def test_certified_weights_exceed_epsilon_no_more_often_than_delta(epsilon: str, delta: str) -> None:
    """Over all real tables and all published ones: with exact ratios, since the promise is at stake."""
    k, n, retention = 3, 3, 0.25
    support = SupportTable(
        support_ptr=np.array([0, k]),
        base_weight=np.ones(k, dtype=np.int64),
        retention=np.full(k, int(retention * RETENTION_UNITS)),
    )
    privacy = PrivacyParameters(
        epsilon=epsilon, delta=delta, min_retention=str(retention), accountant="sound"
    )
    count = np.array([n])
    classes = SynthesizerClasses(
        tract=np.zeros(1, dtype=np.int64), likelihood_count=count, published_count=count
    )
    accounting = certify_sound(support, classes, privacy, allow_unpruned=True)
    alpha = [int(accounting.min_weight[0]) / WEIGHT_UNITS] * k
    kept = [retention if accounting.prune[0] else 1.0] * k
    for real in sorted(tables(n, k)):
        failure = 0.0
        for made in sorted(tables(n, k)):
            found = attack(
                [(real, made)], DirichletMultinomial(), alpha=alpha, retention=kept, epsilon=float(epsilon)
            )
            if found.spread.max() > float(epsilon) + 1e-9:
                failure += output_probability(real, made, alpha, kept)
        assert failure <= float(delta)


def test_only_closed_forms_have_likelihoods() -> None:
    privacy = PrivacyParameters(epsilon="4", delta="1e-6", min_retention="0.025", accountant="sound")
    assert likelihood_of("dirichlet-multinomial", "cell", privacy) == DirichletMultinomial()
    assert likelihood_of("exponential", "cell", privacy) == Exponential(epsilon=Fraction(4))
    assert likelihood_of("exponential", "block", privacy) is None


def test_arrays_must_agree() -> None:
    with pytest.raises(ParameterError, match="2 shares for 3 support points"):
        attack([((1, 0, 0), (1, 0, 0))], DirichletMultinomial(), share=[0.5, 0.5])
    with pytest.raises(ParameterError, match="allowed are others, public"):
        attack([((1, 0), (1, 0))], DirichletMultinomial(), prior="mine")  # type: ignore[arg-type]  # refused
    with pytest.raises(ParameterError, match="1 published workers are in a support point"):
        attack([((1, 0), (0, 0, 1))], DirichletMultinomial())
