"""The exponential mechanism with a price: certified ratios, bit-for-bit draws, and their exact law.

Every statistical test has a false-alarm rate of at most 1e-6; the key is fixed, so a test that passes goes on passing.
"""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.accountant.lone_worker import stay_apart
from engine.kernels.chacha import BLOCK_LIMIT, COUNTER, has_run_out, open_stream
from engine.kernels.chance import chance_of
from engine.mechanisms import prices
from engine.mechanisms.dirichlet_multinomial import SyntheticPoints
from engine.mechanisms.exponential import exponential, exponential_promise, unit_thetas
from engine.mechanisms.kernels import normalizers
from engine.mechanisms.kernels.priced import PricedLaw, PricedSpace, free_and_lay_out
from engine.mechanisms.prices import LAWS, PRICE_UNITS, TableLaw, law_of, unpriced_law
from engine.mechanisms.thetas import THETA_UNITS, least_growth
from engine.streams import Stage, new_stream
from tests.engine.examples import examples
from tests.engine.laws import draw_with
from tests.engine.test_exponential_law import LARGEST_Z, Law, Table, counted, many_workers, workers_of
from tests.engine.test_exponential_twin import e_to
from tests.engine.test_synthesis_law import assert_follows, observed_counts
from tests.engine.worlds import KEY, one_table, same_synthesizers
from tests.oracles import exponential as unpriced_twin
from tests.oracles import priced as twin

Floats = npt.NDArray[np.float64]


def fractions_of(law: TableLaw) -> tuple[Fraction, Fraction]:
    """Theta and price."""
    return Fraction(THETA_UNITS, law.inverse_theta), Fraction(law.price, PRICE_UNITS)


def drawn_by(
    table: Table, law: TableLaw, monkeypatch: pytest.MonkeyPatch, n_copies: int, first: int
) -> SyntheticPoints:
    draw_with(monkeypatch, lambda *_: law)
    copies = same_synthesizers(n_copies, workers_of(table), sum(table), 1, first=first)
    return exponential(KEY, copies, one_table([1] * len(table)), epsilon="4", threads=2)


@pytest.mark.parametrize("epsilon", ["1/8", "1", "4", "6.5", "12"])
def test_a_law_without_a_price_is_searched_for_only_in_doubt(epsilon: str) -> None:
    """The law is the one that both exact laws, compared, give, and the quick 1 / theta is that of the exact search."""
    exact = Fraction(epsilon)
    for k in (2, 3, 19, 20, 21, 300, 1873):
        for n in (2, 3, 7, 20):
            plain, priced = prices.unpriced_law(exact, k, n), prices._find_priced_law(exact, k, n)
            chosen = priced if priced is not None and prices._helps(priced, plain, n, k) else plain
            assert prices.law_of.__wrapped__(exact, k, n) == chosen
            found = normalizers.plain_inverse(n, k, float(least_growth(exact)))
            assert found * 2**20 == pytest.approx(plain.inverse_theta, rel=1e-8, abs=2)


@pytest.mark.parametrize("epsilon", ["1", "2", "4", "6.5"])
def test_no_neighbors_are_further_apart_than_epsilon(epsilon: str) -> None:
    for n, k in [(2, 2), (2, 5), (3, 3), (4, 3), (3, 5), (6, 2)]:
        theta, price = fractions_of(law_of(Fraction(epsilon), k, n))
        ratio = twin.priced_ratio(n, k, theta, price)
        assert ratio == twin.priced_partition_ratio(n, k, theta, price)
        assert ratio <= e_to(epsilon)


@pytest.mark.parametrize(("epsilon", "n", "k"), [("2", 3, 30), ("4", 8, 40), ("6.5", 10, 30), ("5", 5, 219)])
def test_the_certified_ratio_is_the_largest_of_all_partitions(epsilon: str, n: int, k: int) -> None:
    law = law_of(Fraction(epsilon), k, n)
    assert law.price < PRICE_UNITS
    theta, price = fractions_of(law)
    ratio = twin.priced_partition_ratio(n, k, theta, price)
    most = 20 if n <= 20 else 30
    found = normalizers.worst_ratio(
        n, k, float(theta), float(price), prices._partitions(most), prices._space(most)
    )
    assert found == pytest.approx(float(ratio * theta), rel=1e-13)
    assert ratio <= e_to(epsilon)
    # The ratio needs nearly all of the noise.
    assert float(ratio) == pytest.approx(float(e_to(epsilon)), rel=2e-3)
    assert law.inverse_theta > unpriced_law(Fraction(epsilon), k, n).inverse_theta


@pytest.mark.parametrize(("n", "k"), [(20, 7), (20, 219), (13, 1000)])
def test_the_ratio_of_twenty_workers_agrees_with_sums_in_another_order(n: int, k: int) -> None:
    """Of all partitions, those neighbors whose ratio is the largest near the best price."""
    theta, price = fractions_of(law_of(Fraction(4), k, n))

    def total(parts: Table) -> Fraction:
        return priced_total(parts, k, theta, price)

    found = normalizers.worst_ratio(
        n, k, float(theta), float(price), prices._partitions(20), prices._space(20)
    )
    pairs = [((n - 1, 1), (n,)), *((((j, *[1] * (n - j)), (j - 1, *[1] * (n - j + 1)))) for j in range(2, 9))]
    ratios = [float(total(x) / total(other)) for x, other in pairs if len(other) <= k]
    assert max(ratios) <= found * (1 + 1e-13)
    assert found <= float(e_to("4") * theta)


def priced_total(parts: Table, k: int, theta: Fraction, price: Fraction) -> Fraction:
    """Z by the numbers of points that lose some, of those that are emptied, and of new points.

    Each occupied point loses r of its x workers, with theta^r, c if it is not emptied; J workers lost in all from j
    points are added to h new points and to those that lost none.
    """
    n, s = sum(parts), len(parts)
    # ways[lost, losing points] with all factors of points.
    ways: dict[tuple[int, int], Fraction] = {(0, 0): Fraction(1)}
    for part in parts:
        grown: dict[tuple[int, int], Fraction] = {}
        for (lost, losing), weight in ways.items():
            for r in range(part + 1):
                key = lost + r, losing + (r > 0)
                factor = theta**r * (price if r < part else 1)
                grown[key] = grown.get(key, Fraction(0)) + weight * factor
        ways = grown
    total = Fraction(0)
    for (lost, losing), weight in ways.items():
        added = sum(
            (
                unpriced_twin.multisets(lost - h, s - losing + h) * choose(k - s, h) * price**h
                for h in range(min(lost, k - s) + 1)
            ),
            start=Fraction(0),
        )
        total += weight * added
    assert n >= 1
    return total


def choose(n: int, taken: int) -> int:
    """Subsets of a size."""
    return unpriced_twin.multisets(taken, n - taken + 1) if taken <= n else 0


def test_the_sums_in_another_order_are_normalizers() -> None:
    theta, price = Fraction(1, 7), Fraction(2, 5)
    for parts, k in [((3,), 4), ((2, 1), 3), ((1, 1, 1), 5), ((4, 2, 2), 6)]:
        weights = twin.priced_weights((*parts, *[0] * (k - len(parts))), theta, price)
        assert sum(weights.values()) == priced_total(parts, k, theta, price)
        assert sum(weights.values()) == twin.priced_normalizer(parts, k, theta, price)


@pytest.mark.jit_off
def test_no_price_is_asked_of_one_worker_one_point_or_more_than_thirty_workers() -> None:
    for epsilon, k, n in [("6.5", 219, 1), ("6.5", 1, 3), ("6.5", 219, 201), ("20", 30, 3), ("0.5", 9, 3)]:
        law = law_of(Fraction(epsilon), k, n)
        assert law == unpriced_law(Fraction(epsilon), k, n)
        assert law.price == PRICE_UNITS
    assert law_of(Fraction(13, 2), 219, 31).price == PRICE_UNITS


@pytest.mark.parametrize("epsilon", ["1", "2", "4"])
@pytest.mark.parametrize(("k", "n"), [(2, 31), (30, 40), (219, 50), (219, 200), (1900, 31)])
def test_the_law_of_more_than_thirty_workers_keeps_the_ratio_of_their_number(
    epsilon: str, k: int, n: int
) -> None:
    """Finds a theta that rounding, or a wrong sum, let pass: the theorem's ratio in exact fractions is the judge."""
    law = law_of(Fraction(epsilon), k, n)
    best = unpriced_twin.inverse_theta_of_total(n, k, e_to(epsilon))
    assert unpriced_law(Fraction(epsilon), k, n).inverse_theta <= law.inverse_theta <= best
    assert law.inverse_theta == pytest.approx(best, rel=1e-9) or k > 1000


@pytest.mark.parametrize("n", [200, 201, 500])
def test_more_than_200_workers_have_the_theta_of_any_number(n: int) -> None:
    """Finds units above 200 drawn with the noise of 200 workers, too little for their epsilon."""
    epsilon, k = Fraction(1), 1000
    drawn = unit_thetas(epsilon, same_synthesizers(1, [0] * n, n, 1), one_table([1] * k))
    theta = Fraction(int(drawn.numerator[0]), int(drawn.denominator[0]))
    assert (theta == Fraction(THETA_UNITS, unpriced_law(epsilon, k, n).inverse_theta)) == (n > 200)


def test_earlier_laws_are_those_of_certificates_of_that_time() -> None:
    """Finds a changed law of 0.1, whose releases could then no longer be certified."""
    before = LAWS["priced to 20"]
    for k in (5, 219):
        for n in (1, 2, 9, 20):
            assert before(Fraction(4), k, n) == law_of(Fraction(4), k, n)
        assert before(Fraction(4), k, 21) == unpriced_law(Fraction(4), k, 21)
        assert law_of(Fraction(4), k, 21).inverse_theta > before(Fraction(4), k, 21).inverse_theta


@pytest.mark.parametrize("epsilon", ["2", "4", "6.5", "8.98"])
@pytest.mark.parametrize("k", [30, 219, 1000])
def test_a_price_moves_fewer_workers_who_live_apart(epsilon: str, k: int) -> None:
    for n in (2, 9, 20):
        law, plain = (find(Fraction(epsilon), k, n) for find in (law_of, unpriced_law))
        stay = [
            stay_apart(each.inverse_theta / THETA_UNITS, k, n, each.price / PRICE_UNITS)
            for each in (law, plain)
        ]
        assert stay[0] > stay[1] or law == plain
        if float(epsilon) >= 4:
            assert law.price < PRICE_UNITS


@pytest.mark.parametrize(("n", "k"), [(2, 5), (4, 4), (3, 6), (5, 6)])
def test_workers_apart_are_misplaced_as_the_law_says(n: int, k: int) -> None:
    theta, price = Fraction(1, 9), Fraction(3, 8)
    moves = twin.priced_moves((*[1] * n, *[0] * (k - n)), theta, price)
    assert normalizers.apart_moves(n, k, float(theta), float(price)) == pytest.approx(float(moves), rel=1e-12)
    assert stay_apart(9.0, k, n, float(price)) == pytest.approx(float(1 - moves / n), rel=1e-12)


def test_a_wrong_search_cannot_break_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever theta and price are proposed, what is used has been certified."""
    epsilon, k, n = Fraction(4), 5, 3
    for price, theta in [(2000, 1e-3), (4000, 1e-6), (3, 0.01), (3800, 0.5), (3800, float("nan")), (0, 0.1)]:
        monkeypatch.setattr(prices, "search_price", lambda *_, found=(price, theta): found)
        found = prices._find_priced_law(epsilon, k, n)
        if found is not None:
            assert twin.priced_partition_ratio(n, k, *fractions_of(found)) <= e_to("4")


@pytest.mark.jit_off
@given(
    seed=st.integers(0, 10**9),
    inverse=st.sampled_from([2.2, 4.0, 30.0, 900.0]),
    part=st.floats(0, 0.999),
)
@settings(max_examples=examples(60))
def test_draws_are_the_twin_s(seed: int, inverse: float, part: float) -> None:
    """For prices from 2 theta to 1, which are all that laws have."""
    price = int(PRICE_UNITS * (2 / inverse + part * (1 - 2 / inverse)))
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(2, 60)), int(rng.integers(2, 21))
    table = tuple(rng.multinomial(n, rng.dirichlet([0.2] * k)).tolist())
    law = TableLaw(int(inverse * THETA_UNITS), price)
    with pytest.MonkeyPatch.context() as patch:
        drawn = drawn_by(table, law, patch, 2, 50)
    theta = Fraction(THETA_UNITS, law.inverse_theta)
    for one, (first, last) in enumerate(pairwise(drawn.synthetic_ptr)):
        expected = twin.draw_priced((50 + one, 3), workers_of(table), k, theta, price)
        assert drawn.synthetic_point[first:last].tolist() == expected


@pytest.mark.parametrize("epsilon", ["2", "4", "6.5"])
def test_each_synthesizer_is_drawn_with_its_own_law(epsilon: str) -> None:
    for table in [(2, 0, 1, 0, 0), (3, 3, 1), (1,) * 7 + (0,) * 33, (20, 0, 0), (12, 9, 0, 0)]:
        n, k = sum(table), len(table)
        law = law_of(Fraction(epsilon), k, n)
        copies = same_synthesizers(20, workers_of(table), n, 1, first=900)
        drawn = exponential(KEY, copies, one_table([1] * k), epsilon=epsilon)
        if law.price == PRICE_UNITS:
            continue
        for one in range(20):
            expected = twin.draw_priced((900 + one, 3), workers_of(table), k, fractions_of(law)[0], law.price)
            assert drawn.synthetic_point[one * n : (one + 1) * n].tolist() == expected


SMALL: list[tuple[Table, float, int]] = [
    ((2, 1, 0), 1.05, 1000),
    ((3, 0), 1.5, 2500),
    ((0, 1, 2, 1), 3.0, 300),
    ((2, 1, 1, 0), 6.0, 2000),
    ((0, 5), 1.2, 4000),
    ((1, 1, 1), 50.0, 3800),
    ((4, 1), 3.0, 50),
    ((2, 0, 1, 0, 0), 20.0, 1200),
    ((5, 1, 0, 0), 1.02, 3500),
]


@pytest.mark.parametrize(("table", "inverse", "price"), SMALL, ids=str)
def test_small_tables_follow_the_law(
    table: Table, inverse: float, price: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = TableLaw(int(inverse * THETA_UNITS), price)
    drawn = drawn_by(table, law, monkeypatch, 30_000, 9_000_000)
    found = observed_counts(drawn, sum(table), len(table))
    assert_follows(found, twin.priced_law(table, *fractions_of(law)))


@pytest.mark.parametrize(
    ("inverse", "price"), [(1.05, 1.1), (1.1, 1.0)], ids=["another price", "another theta"]
)
def test_a_draw_by_another_law_is_noticed(
    inverse: float, price: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, law = (2, 1, 1, 0), TableLaw(6 * THETA_UNITS, 2000)
    wrong = TableLaw(int(law.inverse_theta * inverse), int(law.price * price))
    found = observed_counts(drawn_by(table, wrong, monkeypatch, 30_000, 9_000_000), 4, 4)
    with pytest.raises(AssertionError):
        assert_follows(found, twin.priced_law(table, *fractions_of(law)))


REAL = [
    (30, 219, "4"),
    (25, 219, "6.5"),
    (20, 219, "4"),
    (20, 219, "6.5"),
    (12, 1000, "6.5"),
    (9, 219, "5"),
    (20, 1000, "8.98"),
]


@pytest.mark.parametrize("shape", ["real", "apart", "together"])
@pytest.mark.parametrize(("n", "k", "epsilon"), REAL)
def test_real_sizes_follow_the_law(shape: str, n: int, k: int, epsilon: str) -> None:
    table = {
        "real": many_workers(n, k),
        "apart": (*[1] * n, *[0] * (k - n)),
        "together": (n, *[0] * (k - 1)),
    }[shape]
    law = law_of(Fraction(epsilon), k, n)
    assert law.price < PRICE_UNITS
    n_copies = 4000
    copies = same_synthesizers(n_copies, workers_of(table), n, 1, first=8_000_000)
    drawn = exponential(KEY, copies, one_table([1] * k), epsilon=epsilon, threads=2)
    counts = counted(drawn.synthetic_point.reshape(-1, n), k)
    chances, means = moments(table, *(float(each) for each in fractions_of(law)))
    moved = np.maximum(np.array(table) - counts, 0).sum(axis=1)
    expected: Law = {(one,): Fraction(float(chance)) for one, chance in enumerate(chances)}
    assert_follows({(one,): times for one, times in Counter(moved.tolist()).items()}, expected)
    for size, mean in means.items():
        each = counts[:, np.array(table) == size].mean(axis=1)
        error = each.std(ddof=1) / np.sqrt(n_copies)
        assert abs(each.mean() - mean) <= LARGEST_Z * max(error, 1e-9)


def moments(table: Table, theta: float, price: float) -> tuple[Floats, dict[int, float]]:
    """Chances that 0, 1, ... workers move, and the mean released count of points of each size."""
    n = sum(table)
    drawn = np.arange(n + 1)

    def product(counts: list[int]) -> Floats:
        """By workers released in these points and by workers moved out of them."""
        whole = np.zeros((n + 1, n + 1))
        whole[0, 0] = 1.0
        for count in counts:
            grown = np.zeros_like(whole)
            for here in range(n + 1):
                moved = max(count - here, 0)
                factor = theta**moved * (price if here else 1.0)
                grown[here:, moved:] += factor * whole[: n + 1 - here, : n + 1 - moved]
            whole = grown
        return whole

    weights = product(list(table))[n]
    means = {}
    for size in sorted(set(table)):
        rest = list(table)
        rest.remove(size)
        others = product(rest).sum(axis=1)[::-1]
        own = theta ** np.maximum(size - drawn, 0) * np.where(drawn > 0, price, 1.0)
        means[size] = float((own * others) @ drawn / (own @ others))
    chances: Floats = weights / weights.sum()
    return chances, means


@pytest.mark.parametrize("epsilon", ["1", "2", "3", "4", "6.5", "8.98"])
@pytest.mark.parametrize("k", [2, 7, 219, 1000])
def test_a_draw_takes_few_blocks(epsilon: str, k: int) -> None:
    """200 draws of each shape read 25 blocks each on average at most, and none reads 2^10."""
    for n in (2, 8, 20):
        law = law_of(Fraction(epsilon), k, n)
        if law.price == PRICE_UNITS:
            continue
        shapes = [[n], [n - 1, 1], [1] * n, [n // 2, *[1] * (n - n // 2)], [n // 2, n - n // 2]]
        for counts in (shape for shape in shapes if len(shape) <= k):
            assert blocks_read(law, k, counts) <= 25 * 200


def blocks_read(law: TableLaw, k: int, counts: list[int]) -> int:
    theta = Fraction(THETA_UNITS, law.inverse_theta)
    priced = PricedLaw(theta.numerator, theta.denominator, law.price, k)
    space = PricedSpace(*(np.zeros(40, dtype=np.int32) for _ in range(4)))
    points, workers = np.arange(len(counts), dtype=np.int32), np.array(counts, dtype=np.int64)
    freed, stream, total = np.zeros(len(counts), dtype=np.int64), new_stream(), 0
    for number in range(200):
        open_stream(int(Stage.MOVE), number, 7, stream)
        stream[COUNTER] = BLOCK_LIMIT - (1 << 10)
        free_and_lay_out(KEY.words, stream, priced, points, workers, freed, space)
        assert not has_run_out(stream)
        total += int(stream[COUNTER]) - (BLOCK_LIMIT - (1 << 10))
    return total


@pytest.mark.jit_off
def test_a_draw_ends_when_its_stream_does() -> None:
    stream = new_stream()
    space = PricedSpace(*(np.zeros(40, dtype=np.int32) for _ in range(4)))
    points, workers = np.array([3, 5, 6], dtype=np.int32), np.array([3, 1, 2], dtype=np.int64)
    freed = np.zeros(3, dtype=np.int64)
    for numerator, denominator, price in [(1, 2, 3000), (1, 1000, 5), (999, 1000, 4000)]:
        open_stream(int(Stage.MOVE), 5, 6, stream)
        stream[COUNTER] = BLOCK_LIMIT
        law = PricedLaw(numerator, denominator, price, 40)
        free_and_lay_out(KEY.words, stream, law, points, workers, freed, space)
        assert has_run_out(stream)
        assert (freed <= workers).all()


@pytest.mark.jit_off
def test_the_promise_says_whether_there_is_a_price() -> None:
    now, before = exponential_promise("6.5"), exponential_promise("6.5", laws="unpriced")
    assert now.epsilon == before.epsilon
    of_priced = {"price_bits": 12}
    assert exponential_promise("6.5", laws="priced to 20").numbers == before.numbers | of_priced
    of_number = {"most_priced_workers": 30, "most_own_workers": 200}
    assert now.numbers == before.numbers | of_priced | of_number
    assert "price" in now.rule
    assert "price" not in before.rule


@pytest.mark.jit_off
@given(st.sampled_from([1, 3, 1 << 20, (1 << 46) - 1, 1 << 46, (1 << 62) - 1]), st.data())
def test_digits_of_a_chance_are_those_of_the_fraction(whole: int, data: st.DataObject) -> None:
    part = data.draw(st.integers(0, whole))
    chance = chance_of(part, whole)
    assert chance.digit == (part << 16) // whole
    assert chance.rest == (0 if part == whole else (part << 16) % whole)
