"""The compiled exponential mechanism follows its exact law, for small tables and at real sizes.

Every statistical test has a false-alarm rate of at most 1e-6; the key is fixed, so a test that passes goes on passing.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special, stats

from engine.kernels.units import RETENTION_UNITS
from engine.mechanisms import thetas
from engine.mechanisms.dirichlet_multinomial import Synthesizers
from engine.mechanisms.exponential import exponential
from engine.mechanisms.kernels.exponential import shuffle_range
from engine.mechanisms.prices import PRICE_UNITS, TableLaw, unpriced_law
from engine.mechanisms.thetas import THETA_BITS
from engine.parameters import Unit
from engine.streams import new_stream
from engine.support.support_table import SupportTable
from tests.engine.laws import draw_with
from tests.engine.test_exponential_twin import e_to
from tests.engine.test_synthesis_law import FALSE_ALARM, assert_follows, observed_counts
from tests.engine.worlds import KEY, Ints, one_table, same_synthesizers
from tests.oracles import exponential as twin
from tests.oracles.exponential_stream import first_guess, proposal, theta_of

Floats = npt.NDArray[np.float64]
Table = tuple[int, ...]
Law = dict[Table, Fraction]
N_COPIES = 40_000
LARGEST_Z = float(stats.norm.isf(FALSE_ALARM / 20))
"""Beyond this, up to ten means at once are off with a chance of at most 1e-6."""


@pytest.fixture(autouse=True, scope="module")
def _without_price() -> Iterator[None]:
    """Draw small tables without a price; tests/engine/test_priced.py draws them with one."""
    with pytest.MonkeyPatch.context() as patch:
        draw_with(patch, unpriced_law)
        yield


def workers_of(table: Table) -> list[int]:
    return [point for point, count in enumerate(table) for _ in range(count)]


def u_of(table: Table, theta: Fraction) -> Fraction:
    """U of the first round."""
    n, k = sum(table), len(table)
    plan = proposal(first_guess(sum(count > 0 for count in table), k, theta), n, k)
    return theta / Fraction(plan.part, 1 << plan.bits)


def drawn_counts(table: Table, epsilon: str, n_copies: int, first: int) -> dict[Table, int]:
    chosen = same_synthesizers(n_copies, workers_of(table), sum(table), 1, first=first)
    drawn = exponential(KEY, chosen, one_table([1] * len(table)), epsilon=epsilon, threads=2)
    return observed_counts(drawn, sum(table), len(table))


SMALL = [
    ("0.05", (2, 1, 0)),
    ("0.7", (3, 0)),
    ("0.7", (0, 1, 2, 1)),
    ("2", (1, 0, 0, 0, 0)),
    ("2", (2, 1, 1, 0)),
    ("2", (0, 5)),
    ("3", (3, 1, 0, 0)),
    ("4", (1, 1, 1)),
    ("6.5", (2, 0, 1, 0, 0)),
    ("8.98", (4, 1)),
]


@pytest.mark.parametrize(("epsilon", "table"), SMALL, ids=str)
def test_small_tables_follow_the_law(epsilon: str, table: Table) -> None:
    theta = theta_of(sum(table), len(table), e_to(epsilon))
    assert_follows(drawn_counts(table, epsilon, N_COPIES, 5_000_000), twin.law(table, theta))


def test_small_tables_include_ratios_below_and_above_one() -> None:
    ratios = [u_of(table, theta_of(sum(table), len(table), e_to(epsilon))) for epsilon, table in SMALL]
    assert min(ratios) < Fraction(1, 2)
    assert max(ratios) > 1


def test_a_ratio_of_one_follows_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    table, theta = (5, 0), Fraction(1, 2)
    assert u_of(table, theta) == 1
    draw_with(monkeypatch, lambda *_: TableLaw(2 << THETA_BITS, PRICE_UNITS))
    assert_follows(drawn_counts(table, "1", N_COPIES, 6_000_000), twin.law(table, theta))


@pytest.mark.parametrize("epsilon", ["0.5", "2.5"])
@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_as_many_workers_move_as_the_law_says_over_all_small_tables(k: int, epsilon: str) -> None:
    n_copies = 200
    for n in range(1, 7):
        tables = list(twin.tables(n, k))
        cells = same_synthesizers(n_copies * len(tables), [0] * n, n, 1, first=7_000_000)
        workers = np.repeat(np.array([workers_of(table) for table in tables], np.int32), n_copies, axis=0)
        drawn = exponential(
            KEY, with_workers(cells, workers.ravel()), one_table([1] * k), epsilon=epsilon, threads=2
        )
        real, found = (counted(points.reshape(-1, n), k) for points in (workers, drawn.synthetic_point))
        moved = Counter((np.abs(real - found).sum(axis=1) // 2).tolist())
        theta = theta_of(n, k, e_to(epsilon))
        laws = [twin.moved_law(twin.counted_by_enumeration(table), theta) for table in tables]
        law: Law = {
            (one,): sum((each[one] for each in laws), Fraction(0)) / len(laws) for one in range(n + 1)
        }
        assert_follows({(one,): times for one, times in moved.items()}, law)


def with_workers(cells: Synthesizers, workers: npt.NDArray[np.int32]) -> Synthesizers:
    return Synthesizers(
        tract=cells.tract,
        destination=cells.destination,
        segment=cells.segment,
        worker_ptr=cells.worker_ptr,
        worker_point=workers,
        min_prior_weight=cells.min_prior_weight,
    )


def counted(points: npt.NDArray[np.int32], k: int) -> Ints:
    """Workers of each point, one row for each row of points: int64[rows, k]."""
    row = np.repeat(np.arange(points.shape[0]), points.shape[1])
    counts = np.bincount(row * k + points.ravel().astype(np.int64), minlength=points.shape[0] * k)
    return counts.reshape(-1, k)


def moved_chances(parts: Sequence[int], k: int, theta: float, most: int) -> Floats:
    """Chance that 0, 1, ..., ``most`` workers move, where the chance of more is negligible.

    ``removed[j, t]``: ways to take t workers from exactly j points, times theta^t; then they are added to the k - j
    other points as a multiset.
    """
    removed = np.zeros((most + 1, most + 1))
    removed[0, 0] = 1
    for part in parts:
        taken = np.zeros_like(removed)
        for here in range(1, min(part, most) + 1):
            taken[1:, here:] += removed[:-1, : most + 1 - here] * theta**here
        removed += taken
    j, t = np.indices(removed.shape)
    with np.errstate(divide="ignore"):
        log_ways = np.log(removed) + np.where(
            k > j,
            special.gammaln(k - j + t) - special.gammaln(t + 1) - special.gammaln(np.maximum(k - j, 1)),
            0,
        )
    weights = np.exp(log_ways - log_ways.max()).sum(axis=0)
    chances: Floats = weights / weights.sum()
    assert chances[-1] < 1e-12
    return chances


def many_workers(n: int, k: int) -> Table:
    """A table of real shape: most workers in few points, many points with one worker, and most points empty."""
    rng = np.random.default_rng(n)
    share = np.sort(rng.pareto(1.1, k))[::-1]
    return tuple(rng.multinomial(n, share / share.sum()).tolist())


REAL = [
    (30, 433, "8.98", 4000, 30),
    (30, 219, "6.5", 4000, 30),
    (100, 433, "2", 3000, 100),
    (300, 433, "4", 2000, 250),
    (3000, 433, "6.5", 1500, 160),
    (3000, 1000, "8.98", 1500, 80),
]


@pytest.mark.parametrize(("n", "k", "epsilon", "n_copies", "most"), REAL)
def test_real_sizes_follow_the_law(n: int, k: int, epsilon: str, n_copies: int, most: int) -> None:
    table = many_workers(n, k)
    chosen = same_synthesizers(n_copies, workers_of(table), n, 1, first=8_000_000)
    drawn = exponential(KEY, chosen, one_table([1] * k), epsilon=epsilon, threads=2)
    counts = counted(drawn.synthetic_point.reshape(-1, n), k)
    theta = float(theta_of(n, k, e_to(epsilon)))

    moved = np.maximum(np.array(table) - counts, 0).sum(axis=1)
    chances = moved_chances([count for count in table if count], k, theta, most)
    law: Law = {(one,): Fraction(float(chance)) for one, chance in enumerate(chances)}
    assert_follows({(one,): times for one, times in Counter(moved.tolist()).items()}, law)

    tested = sorted(set(table))[:: max(1, len(set(table)) // 9)][:10]
    for size, mean in mean_counts(table, theta, tested).items():
        each = counts[:, np.array(table) == size].mean(axis=1)
        error = each.std(ddof=1) / np.sqrt(n_copies)
        assert abs(each.mean() - mean) <= LARGEST_Z * max(error, 1e-9)


def mean_counts(table: Table, theta: float, sizes: Sequence[int]) -> dict[int, float]:
    """Expected released count of a point with each of these numbers of workers: x less what it frees, plus R / k.

    The sum R of all freed workers has the additional weight C(k - 1 + R, R), of which v^R is taken out of the points'
    laws, so that no number gets too small.
    """
    n, k = sum(table), len(table)
    plan = proposal(first_guess(sum(count > 0 for count in table), k, Fraction(theta)), n, k)
    v = plan.part / 2**plan.bits

    def freed_law(size: int) -> Floats:
        weights = np.append((1 - theta) * (theta / v) ** np.arange(size), (theta / v) ** size)
        law: Floats = weights / weights.sum()
        return law

    def product(counts: Sequence[int]) -> Floats:
        whole = np.ones(1)
        for count in counts:
            whole = np.convolve(whole, freed_law(count))
        return whole

    grid = np.arange(n + 1)
    log_weight = grid * np.log(v) + special.gammaln(k + grid) - special.gammaln(grid + 1)
    weight = np.exp(log_weight - log_weight.max())
    every = product(table) * weight
    gained = float((every * grid).sum() / every.sum()) / k
    means = {}
    for size in sizes:
        rest = list(table)
        rest.remove(size)
        lost = np.convolve(product(rest), freed_law(size) * np.arange(size + 1)) * weight
        means[size] = size - float(lost.sum() / every.sum()) + gained
    return means


def test_every_order_of_a_unit_s_workers_is_equally_likely() -> None:
    n_units, n = 24_000, 4
    points = np.tile(np.arange(n, dtype=np.int32), n_units)
    shuffle_range(
        (0, n_units), np.arange(n_units), n * np.arange(n_units + 1), points, KEY.words, new_stream()
    )
    orders = Counter(map(tuple, points.reshape(-1, n).tolist()))
    assert_follows(orders, {tuple(order): Fraction(1, 24) for order in permutations(range(n))})


@pytest.mark.parametrize("unit", ["block", "tract"])
def test_each_worker_of_a_unit_is_equally_likely_in_each_place_of_its_cells(unit: Unit) -> None:
    """At epsilon 25 nobody moves here, so that a unit's workers are dealt out to cells of 1, 0 and 3 workers."""
    n_units = 12_000
    cells = Synthesizers(
        tract=np.repeat(np.arange(n_units, dtype=np.int32), 3),
        destination=np.repeat(np.arange(n_units), 3),
        segment=np.tile([2, 5, 8], n_units),
        worker_ptr=np.concatenate(([0], np.cumsum(np.tile([1, 0, 3], n_units)))),
        worker_point=np.tile(np.array([0, 0, 1, 2], np.int32), n_units),
        min_prior_weight=np.ones(3 * n_units, np.int64),
    )
    support = SupportTable(
        support_ptr=3 * np.arange(n_units + 1),
        base_weight=np.ones(3 * n_units, np.int64),
        retention=np.full(3 * n_units, RETENTION_UNITS),
    )
    drawn = exponential(
        KEY, cells, support, epsilon=25, unit=unit, tract_number=np.arange(n_units), threads=2
    )
    assert np.array_equal(np.diff(drawn.synthetic_ptr), np.tile([1, 0, 3], n_units))
    found = Counter(map(tuple, drawn.synthetic_point.reshape(-1, 4).tolist()))
    law: Law = {(0, 0, 1, 2): Fraction(1, 2), (1, 0, 0, 2): Fraction(1, 4), (2, 0, 0, 1): Fraction(1, 4)}
    assert_follows(found, law)


def test_the_search_for_theta_does_not_depend_on_where_it_begins() -> None:
    """A guess saves exact comparisons, and decides nothing."""
    asked: list[int] = []

    def allows(number: int) -> bool:
        asked.append(number)
        return number <= 700_003

    found = [
        thetas._last(allows, 5, 2_000_000, about) for about in (-9, 5, 700_002, 700_003, 1_500_000, 1 << 40)
    ]
    assert found == [700_003] * 6
    asked.clear()
    thetas._last(allows, 5, 2_000_000, 700_002)
    assert len(asked) <= 6
