"""What one try can show, against every outcome of tiny datasets: Theorem 1, the exact delta, and Rényi divergences."""

import math
import random
from fractions import Fraction

import pytest

from engine.records.acceptance import Acceptance
from engine.records.divergence import OneTry, worst_delta
from engine.records.theorem_one import theorem_1
from tests.golden import golden
from tests.oracles import plausible as twin

pytestmark = pytest.mark.jit_off

ORDERS = (1.5, 2.0, 5.0, 20.0)
N_CASES = 250


def random_case(choose: random.Random) -> tuple[list[list[Fraction]], list[int]]:
    """A kernel of 2 to 4 types and 1 to 4 outputs, with powers of two among its chances, and up to 9 records."""
    n_types, n_outputs = choose.randint(2, 4), choose.randint(1, 4)
    kernel = []
    for _ in range(n_types):
        weights = [choose.choice([0, 1, 1, 2, 3, 4, 8]) for _ in range(n_outputs)]
        weights[choose.randrange(n_outputs)] += 1
        kernel.append([Fraction(weight, sum(weights)) for weight in weights])
    return kernel, [choose.randrange(n_types) for _ in range(choose.randint(3, 9))]


def cases(
    n: int, seed: int, beta: str = "1/20"
) -> list[tuple[list[list[Fraction]], list[int], int, twin.Rule]]:
    """Random kernels, datasets, a further record, and rules; about a third have a seed floor, and some no noise."""
    choose = random.Random(seed)
    found: list[tuple[list[list[Fraction]], list[int], int, twin.Rule]] = []
    while len(found) < n:
        kernel, data = random_case(choose)
        k = choose.randint(2, min(6, len(data)))
        a = Fraction(math.exp(-choose.uniform(0.1, 2))).limit_denominator(1000)
        floor = choose.choice([1, 1, choose.randint(1, k)])
        gamma = choose.choice([Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4)])
        rule = twin.Rule(k, gamma, a, Fraction(beta), floor)
        if choose.random() < 0.1:
            rule = twin.Rule(k, gamma, None, Fraction(beta), k)
        found.append((kernel, data, choose.randrange(len(kernel)), rule))
    return found


def acceptance_of(rule: twin.Rule) -> Acceptance:
    if rule.a is None:
        return Acceptance(min_plausible_seeds=rule.k, forced_fail=rule.beta, test="deterministic")
    rate = Fraction(-math.log(rule.a))
    floor = rule.floor if rule.floor > 1 else None
    return Acceptance(
        min_plausible_seeds=rule.k, threshold_epsilon=rate, forced_fail=rule.beta, seed_floor=floor
    )


def split_laws(
    kernel: list[list[Fraction]], data: list[int], further: int, rule: twin.Rule
) -> tuple[list[float], list[float]]:
    """Chances of every output through every partition, and last of no output, without and with a further record."""
    one, other = twin.law(kernel, data, rule), twin.law(kernel, [*data, further], rule)
    outcomes = [*sorted(key for key in {*one, *other} if key is not None), None]
    zero = Fraction(0)
    return [float(one.get(key, zero)) for key in outcomes], [float(other.get(key, zero)) for key in outcomes]


def test_theorem_1_holds_for_records_in_both_directions() -> None:
    n_checked = 0
    for kernel, data, further, rule in cases(N_CASES, 1, beta="0"):
        if rule.a is None or rule.floor > 1:
            continue
        p, q = split_laws(kernel, data, further, rule)
        for t in range(1, rule.k):
            stated = theorem_1(rule.k, t, Fraction(-math.log(rule.a)), rule.gamma)
            for one, other in ((p, q), (q, p)):
                assert twin.exact_delta(one[:-1], other[:-1], stated.epsilon) <= stated.delta * (1 + 1e-9)
            n_checked += 1
    assert n_checked > 100


def test_the_exact_delta_is_never_passed_by_a_dataset() -> None:
    best = 0.0
    for kernel, data, further, rule in cases(N_CASES, 2):
        p, q = split_laws(kernel, data, further, rule)
        acceptance = acceptance_of(rule)
        for epsilon in (0.0, 0.3, 1.0, 2.0):
            bound = worst_delta(acceptance, float(rule.gamma), len(data), epsilon)
            exact = max(twin.exact_delta(p[:-1], q[:-1], epsilon), twin.exact_delta(q[:-1], p[:-1], epsilon))
            assert exact <= bound * (1 + 1e-9) + 1e-15
            best = max(best, exact / bound if bound > 1e-12 else 0.0)
    assert best > 0.5


@pytest.mark.parametrize("case", golden("records")["tight_delta"])
def test_a_kernel_reaches_the_exact_delta(case: dict[str, float]) -> None:
    n, k, gamma = int(case["n"]), int(case["k"]), Fraction(str(case["gamma"]))
    rate, epsilon = Fraction(case["epsilon0"]), case["epsilon"]
    acceptance = Acceptance(min_plausible_seeds=k, threshold_epsilon=rate)
    bound = worst_delta(acceptance, float(gamma), n, epsilon)
    assert bound == pytest.approx(case["value"], rel=1e-12)
    reached = max(_reached(acceptance, gamma, n, c, epsilon) for c in range(n + 1))
    assert reached == pytest.approx(bound, rel=1e-6)
    assert reached == pytest.approx(case["check_by_kernel"], rel=1e-6)
    stated = theorem_1(k, 1, rate, gamma).delta
    assert stated >= bound


def test_below_the_noise_s_rate_the_least_sum_is_not_the_worst() -> None:
    """Four records each surely make an output of their own; the further record makes each with chance 1/4."""
    kernel = [[Fraction(row == y) for y in range(4)] for row in range(4)] + [[Fraction(1, 4)] * 4]
    gamma = Fraction(401, 100)
    rule = twin.Rule(2, gamma, Fraction(1, 10))
    p, q = split_laws(kernel, [0, 1, 2, 3], 4, rule)
    acceptance, epsilon = acceptance_of(rule), 1.0
    exact = twin.exact_delta(p[:-1], q[:-1], epsilon)
    assert epsilon < -math.log(0.1)
    counts = range(5)
    chances = acceptance.chances(range(6))
    of_least_sums = max(
        chances[c + 1] * (1 + c / 4.01) - math.exp(epsilon) * chances[c] * c / 4.01 * 5 / 4 for c in counts
    )
    assert of_least_sums / 5 < exact / 2
    assert exact <= worst_delta(acceptance, float(gamma), 4, epsilon)


def _reached(acceptance: Acceptance, gamma: Fraction, n: int, c: int, epsilon: float) -> float:
    """Delta of a kernel in which c records make each record of d' at the least chance of its partition.

    The chances are p for d' and just above p / gamma for the c records, the same for each of 1 / p outputs.
    """
    p = Fraction(1, 50)
    # On an edge: the largest chance of its partition.
    index = twin.index_of(p, gamma)
    assert index is not None
    edge = float(gamma**-index)
    near = edge / float(gamma) * (1 + 1e-9)
    q = acceptance.chances([c, c + 1])
    old = c * near / edge * q[0] / n
    new = (c * near / edge + 1) * q[1] / (n + 1)
    return float(max(0.0, new - math.exp(epsilon) * old))


def test_renyi_divergences_of_one_try_are_never_passed() -> None:
    best = 0.0
    for kernel, data, further, rule in cases(N_CASES, 3):
        p, q = split_laws(kernel, data, further, rule)
        one = OneTry.of(acceptance_of(rule), float(rule.gamma), len(data))
        alone = sum(y for x, y in zip(p, q, strict=True) if x == 0)
        assert alone <= one.delta0 * (1 + 1e-9)
        for order in ORDERS:
            up, down = one.excess(order)
            pairs = [(x, y) for x, y in zip(p, q, strict=True) if x > 0 and y > 0]
            larger = sum(y**order * x ** (1 - order) for x, y in pairs)
            smaller = sum(x**order * y ** (1 - order) for x, y in pairs)
            assert larger <= (1 + up) * (1 + 1e-9)
            assert smaller <= (1 + down) * (1 + 1e-9)
            best = max(best, (larger - 1) / up if up > 1e-9 else 0.0)
    assert best > 0.5


def test_larger_datasets_have_smaller_divergences() -> None:
    acceptance = Acceptance(min_plausible_seeds=20, threshold_epsilon="0.4", forced_fail="0.02")
    for gamma in (1.0, 4.0):
        for order in (2.0, 6.0, 20.0):
            found = [max(OneTry.of(acceptance, gamma, n).excess(order)) for n in (200, 201, 300, 1000, 5000)]
            assert found == sorted(found, reverse=True)


def test_few_counts_find_about_the_worst() -> None:
    acceptance = Acceptance(min_plausible_seeds=1000, threshold_epsilon="0.0175", forced_fail="0.02")
    full, few = (OneTry.of(acceptance, 1.0, 286_073, most) for most in (None, 50))
    assert few.released.size < 80 < full.released.size
    for order in (2.0, 12.0):
        assert max(few.excess(order)) == pytest.approx(max(full.excess(order)), rel=1e-6)
    # All counts up to n would find the same: the rows left out are those where the test hardly ever fails.
    assert full.released.size < 5_000
