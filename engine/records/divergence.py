"""How much one worker more or less can change what one candidate shows: the sound accountant's view of a single try.

A worker d' is added to n others. For each record y that d' could make, the dataset has c records in the partition of
d', and their chances of making y add up to s times that of d'. A partition is narrower than a factor gamma, so c /
gamma ≤ s ≤ c gamma. Nothing else about the dataset matters, and the worst case has the same c and s for every y:

- released through the partition of d' (A): P = q(c) s / n, Q = q(c + 1) (s + 1) / (n + 1);
- no output (N): P = beta + (1 - q(c) - beta) s / n at least, Q = kappa (P + g / n),
  g = 1 - q(c + 1) - (q(c + 1) - q(c)) s;
- released in any other way (U): Q = kappa P,

with P for n records, Q for n + 1, kappa = n / (n + 1), and forced failure beta inside q. If q(c) = 0 < q(c + 1), A
has a chance under Q alone. The largest such mass is delta0, and enters delta instead.

Everything is computed in floats from public parameters; :mod:`engine.records.tries` rounds up.

Source: docs/theory/synthetic-records.md, "Every try is charged".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.records.acceptance import Acceptance

__all__ = ["OneTry", "convex_excess", "worst_delta"]

Floats = npt.NDArray[np.float64]

_SERIES = 1e-3


@dataclass(frozen=True, slots=True)
class OneTry:
    """The worst cases of one candidate, a row for each pair (c, s) that can be worst.

    Parameters
    ----------
    n : int
        Records of the smaller dataset.
    released, released_ratio : float64[C]
        P of event A where it is above 0, and ln(Q / P) there; with P = 0 the ratio is 0 and ``only_larger`` has Q.
    only_larger : float64[C]
        Q of event A where P = 0.
    failed, failed_change : float64[C]
        P of event N, and Q / P - 1.
    delta0 : float
        Largest mass of A that only the larger dataset has.
    """

    n: int
    released: Floats
    released_ratio: Floats
    only_larger: Floats
    failed: Floats
    failed_change: Floats
    delta0: float

    @classmethod
    def of(cls, acceptance: Acceptance, similarity: float, n: int, most_counts: int | None = None) -> OneTry:
        """The worst cases for datasets of n and n + 1 records, or about the worst, from some of the counts only.

        Counts far above k, where the test always passes but for a chance below n^-2, are represented by one row; see
        docs/theory/synthetic-records.md.
        """
        last = _last_count(acceptance, n)
        if most_counts is not None and last >= most_counts:
            # The worst count is nearly always k - 1, else one of the first, where a seed is nearly alone.
            near = acceptance.min_plausible_seeds + np.arange(-2.0, 2.0)
            spread = np.unique(np.geomspace(1, last + 1, most_counts).astype(np.int64)) - 1.0
            c = np.union1d(spread, near[(near >= 0) & (near <= last)])
        else:
            c = _counts(last)
        sums = (c / similarity, c * similarity) if similarity > 1 else (c,)
        s = np.concatenate(sums)
        c = np.concatenate([c] * len(sums))
        q, q_next = acceptance.chances(c), acceptance.chances(c + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = _log_growth(acceptance, c) + np.log1p(1 / s) - math.log1p(1 / n)
        both = (q > 0) & (s > 0)
        failed = float(acceptance.forced_fail) + (1 - float(acceptance.forced_fail) - q) * s / n
        gained = 1 - q_next - (q_next - q) * s
        only_larger = np.where(both, 0.0, q_next * (s + 1) / (n + 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            change = (gained / failed - 1) / (n + 1)
        return cls(
            n=n,
            released=np.where(both, q * s / n, 0.0),
            released_ratio=np.where(both, ratio, 0.0),
            only_larger=only_larger,
            failed=failed,
            failed_change=change,
            delta0=float(only_larger.max()),
        )

    def excess(self, order: float) -> tuple[float, float]:
        """E - 1 for a worker added and for a worker taken away, without the mass of delta0.

        E = sum P (Q/P)^order, or sum Q (P/Q)^order: ln E is order - 1 times the Rényi divergence.
        """
        up, down = self.excesses(np.array([order]))
        return float(up[0]), float(down[0])

    def excesses(self, orders: Floats) -> tuple[Floats, Floats]:
        """The same for many orders at a time: two of float64[orders]."""
        at = orders[:, None]
        # With an overflow the order is of no use; inf or nan says so, and neither is ever chosen.
        with np.errstate(over="ignore", invalid="ignore"):
            growth = np.expm1(self.released_ratio)
            others = np.maximum(1 - self.released - self.failed, 0.0)
            less = -1 / (self.n + 1)
            up = self.released * convex_excess(growth, at) + self.failed * convex_excess(
                self.failed_change, at
            )
            up += others * convex_excess(np.array(less), at)
            kappa = self.n / (self.n + 1)
            down = self.released * (1 + growth) * convex_excess(-growth / (1 + growth), at)
            down += self.only_larger * (at - 1)
            failed = self.failed * (1 + self.failed_change)
            down += failed * convex_excess(-self.failed_change / (1 + self.failed_change), at)
            down += kappa * others * convex_excess(np.array(1 / self.n), at)
        return up.max(axis=1), down.max(axis=1)


def worst_delta(acceptance: Acceptance, similarity: float, n: int, epsilon: float) -> float:
    """Exact worst case of delta at an epsilon for one candidate, if nobody learns of candidates that fail.

    max over c and s of [q(c + 1) (1 + s) - e^epsilon q(c) s (n + 1) / n]^+ / (n + 1), at an end of c / gamma ≤ s ≤
    c gamma: the lower one, unless q(c + 1) / q(c) exceeds e^epsilon (n + 1) / n, as below epsilon = threshold_epsilon
    or at a seed floor. All models and all datasets of n records, a worker added or taken away.

    Source: docs/theory/synthetic-records.md, "One candidate".
    """
    c = _counts(_last_count(acceptance, n))
    q, q_next = acceptance.chances(c), acceptance.chances(c + 1)
    s = np.stack((c / similarity, c * similarity))
    up = q_next * (1 + s) - math.exp(epsilon) * q * s * (n + 1) / n
    down = (1 - float(acceptance.forced_fail)) * -math.expm1(epsilon - math.log1p(1 / n))
    return max(0.0, float(up.max()) / (n + 1), down)


def _last_count(acceptance: Acceptance, n: int) -> int:
    """The count c up to which counts differ: n, or where q(c) is within n^-2 of its largest value."""
    k, rate = acceptance.min_plausible_seeds, acceptance.threshold_epsilon
    beyond = 1 if rate is None else math.ceil((2 * math.log(n + 1) + 5) / float(rate))
    return min(n, k + beyond)


def _counts(last: int) -> Floats:
    """Counts c from 0 on."""
    return np.arange(last + 1, dtype=np.float64)


def _log_growth(acceptance: Acceptance, c: Floats) -> Floats:
    """ln(q(c + 1) / q(c)) where q(c) > 0, without cancellation."""
    if acceptance.threshold_epsilon is None:
        return np.zeros_like(c)
    rate, above = float(acceptance.threshold_epsilon), c - acceptance.min_plausible_seeds
    # Below k both chances are powers of a; from k on they grow by a^(c - k + 1) (1 - a) / (1 + a).
    tail = np.exp(-rate * np.maximum(above + 1, 0.0)) / (1 + math.exp(-rate))
    return np.where(above < 0, rate, np.log1p(-tail * math.expm1(-rate) / (1 - tail)))


def convex_excess(x: Floats, order: float | Floats) -> Floats:
    """(1 + x)^order - 1 - order x, for x of at least -1; by its series near 0. The two are broadcast."""
    small = np.abs(x) * order < _SERIES
    near = order * (order - 1) / 2 * x * x
    near = near * (1 + (order - 2) / 3 * x * (1 + (order - 3) / 4 * x))
    with np.errstate(divide="ignore"):
        logs = np.log1p(x)
    far = np.expm1(order * np.where(small, 0.0, logs)) - order * x
    return np.where(small, near, far)
