"""The exponential mechanism over tables of n workers: pure epsilon, and several times less error than other mechanisms.

A table m is drawn with probability proportional to theta^d c^(occupied points of m), where d workers must move to get
from the real table to m, and c is a public price: 1 for more than 30 workers. The number of workers is public, so
neighbors differ in one worker's home. :mod:`engine.mechanisms.prices` finds theta and c for every number of workers and
support points. For one worker the mechanism is k-ary randomized response.

Source: McSherry and Talwar 2007, "Mechanism Design via Differential Privacy"; the theorem and its proof are in
docs/theory/method.md, section 7d.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.errors import OverflowRefusedError
from engine.kernels.arrays import Addresses, PointLists
from engine.kernels.chacha import LANE_WORDS, WINDOW_WORDS
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints, check_fit, refuse_run_out
from engine.mechanisms.kernels.exponential import (
    MOST_POINTS,
    MOST_WORKERS,
    MoveSpace,
    Thetas,
    exponential_range,
)
from engine.mechanisms.kernels.priced import PricedSpace
from engine.mechanisms.prices import (
    MOST_OWN_WORKERS,
    MOST_PRICED_WORKERS,
    PRICE_BITS,
    LawVersion,
    TableLaw,
    law_of,
)
from engine.mechanisms.thetas import THETA_BITS, exponential_epsilon
from engine.mechanisms.unit import draw_by_unit
from engine.parameters import Number, Unit
from engine.streams import SecretKey, new_stream
from engine.support.support_table import SupportTable
from engine.threads import run_ranges

__all__ = [
    "ExponentialPromise",
    "draw_units",
    "exponential",
    "exponential_promise",
    "unit_thetas",
]

_DRAWN_BITS = 40
_PLAIN_RULE = "each table of the public total is drawn with chance theta^d, d workers away from the real one"
_PRICED_RULE = (
    "each table of the public total is drawn with chance theta^d price^p, "
    "d workers away from the real one and with workers in p points"
)


_TAKEN_FOR_GRANTED = (
    "neighboring tables: one worker moves between two support points of one destination and segment, n stays",
    "one worker is in one destination and segment, so the promise of a release is that of its worst synthesizer",
    "support points and prior weights are public; the synthetic total m is public",
    "as many workers are drawn as there are; no published count replaces a real one",
)


class ExponentialPromise(NamedTuple):
    """What :func:`exponential` promises for each synthesizer, and so for the release; delta is 0.

    Attributes
    ----------
    epsilon : Fraction
    rule : str
        From which the promise follows.
    taken_for_granted : tuple of str
        Assumptions of the proof.
    numbers : dict of str to int
        With which it can be checked.
    """

    epsilon: Fraction
    rule: str
    taken_for_granted: tuple[str, ...]
    numbers: dict[str, int]


def exponential_promise(epsilon: Number, *, laws: LawVersion = "by number") -> ExponentialPromise:
    """What :func:`exponential` promises: epsilon-differential privacy, delta 0.

    Parameters
    ----------
    epsilon : Fraction, str, int or float
    laws : {"unpriced", "priced to 20", "by number"}
        Which laws tables are drawn with: "by number" now, the others in earlier releases.

    Raises
    ------
    ParameterError
        Epsilon is below 1/1024 or above 25.
    """
    numbers = {"theta_bits": THETA_BITS}
    if laws != "unpriced":
        numbers["price_bits"] = PRICE_BITS
    if laws == "by number":
        numbers |= {"most_priced_workers": MOST_PRICED_WORKERS, "most_own_workers": MOST_OWN_WORKERS}
    rule = _PLAIN_RULE if laws == "unpriced" else _PRICED_RULE
    return ExponentialPromise(exponential_epsilon(epsilon), rule, _TAKEN_FOR_GRANTED, numbers)


def exponential(
    key: SecretKey,
    synthesizers: Synthesizers,
    support: SupportTable,
    *,
    epsilon: Number,
    unit: Unit = "cell",
    tract_number: npt.NDArray[np.int64] | None = None,
    threads: int = 1,
) -> SyntheticPoints:
    """Tables of synthetic workers, each drawn with probability proportional to theta^d c^(occupied points).

    Parameters
    ----------
    key : SecretKey
        Draws come from stage MOVE, addressed by (destination, segment), (block, 0) or (tract number, 0), by unit; units
        are dealt out by stage DEAL.
    synthesizers : Synthesizers
        Prior weights are not used. As many workers are drawn as there are.
    support : SupportTable
        Prior weights and retentions are not used: every support point is as likely as any other.
    epsilon : Fraction, str, int or float
        1/1024 to 25.
    unit : {"cell", "block", "tract"}, optional
        Workers drawn together; see :mod:`engine.mechanisms.unit`.
    tract_number : int64[T], optional
        Global number of each destination tract; needed for unit "tract".
    threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    SyntheticPoints
        Points of one synthesizer in rising order.

    Raises
    ------
    ParameterError
        Epsilon is out of range, published counts differ from real ones, or the arrays do not agree.
    OverflowRefusedError
        A synthesizer has 2^22 workers or more, or 2^20 support points or more.

    Notes
    -----
    Time grows with occupied points and with workers. The number of rounds of a draw depends on confidential counts and
    is published nowhere; neither should the running time be.

    Source: docs/theory/method.md, section 7d.
    """
    exact = exponential_epsilon(epsilon)

    def draw(units: Synthesizers) -> SyntheticPoints:
        return draw_units(key, units, support, exact, threads)

    return draw_by_unit(key, synthesizers, unit, tract_number, draw, threads=threads)


def draw_units(
    key: SecretKey, units: Synthesizers, support: SupportTable, epsilon: Fraction, threads: int
) -> SyntheticPoints:
    """Draw every unit's table by itself; arguments and errors as for :func:`exponential`."""
    synthetic_ptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(units.n_synthetic)))
    check_fit(units, support, synthetic_ptr)
    synthetic = PointLists(synthetic_ptr, np.empty(int(synthetic_ptr[-1]), dtype=np.int32))
    workers = PointLists(units.worker_ptr, units.worker_point)
    addresses = Addresses(units.tract, units.destination, units.segment)
    thetas = unit_thetas(epsilon, units, support)
    most_points = int(support.n_support.max(initial=1))

    def draw(start: int, stop: int) -> int:
        bounds, space = (start, stop), _space(int(units.n_likelihood[start:stop].max(initial=0)), most_points)
        return exponential_range(
            bounds, workers, addresses, support.support_ptr, thetas, key.words, space, synthetic
        )

    refuse_run_out(run_ranges(draw, units.n_synthetic, threads), units)
    return SyntheticPoints(synthetic_ptr=synthetic.ptr, synthetic_point=synthetic.point)


def _space(most_workers: int, most_points: int) -> MoveSpace:
    """Arrays that one thread works in."""
    return MoveSpace(
        at_point=np.zeros(most_points, dtype=np.int64),
        points=np.empty(most_workers, dtype=np.int32),
        counts=np.empty(most_workers, dtype=np.int64),
        freed=np.empty(most_workers, dtype=np.int64),
        moved=np.empty(most_workers, dtype=np.int32),
        lanes=np.zeros(LANE_WORDS, dtype=np.uint32),
        window=np.empty(WINDOW_WORDS, dtype=np.uint32),
        stream=new_stream(),
        priced=PricedSpace(*(np.empty(2 * MOST_PRICED_WORKERS, dtype=np.int32) for _ in range(4))),
    )


def unit_thetas(epsilon: Fraction, synthesizers: Synthesizers, support: SupportTable) -> Thetas:
    """Theta of each synthesizer, never below what epsilon requires.

    Raises
    ------
    OverflowRefusedError
        A synthesizer has 2^22 workers or more, or 2^20 support points or more.
    """
    n_workers, n_points = synthesizers.n_likelihood, support.n_support
    if n_workers.size and (n_workers.max() >= MOST_WORKERS or n_points.max() >= MOST_POINTS):
        raise OverflowRefusedError(
            f"a synthesizer has {n_workers.max():,} workers, a tract {n_points.max():,} support points: at most "
            f"{MOST_WORKERS - 1:,} and {MOST_POINTS - 1:,} can be drawn: split the workers into more segments"
        )
    return _look_up_laws(
        _laws_drawn(epsilon),
        support,
        synthesizers.tract,
        np.clip(n_workers, 1, MOST_OWN_WORKERS + 1),
    )


@cache
def _laws_drawn(epsilon: Fraction) -> Callable[[int, int], tuple[int, int, int]]:
    """The law of k points and n workers as it is drawn. A function for each epsilon: a fraction takes long to hash."""

    @cache
    def of(points: int, workers: int) -> tuple[int, int, int]:
        return _reduce_theta(law_of(epsilon, points, workers))

    return of


def _reduce_theta(law: TableLaw) -> tuple[int, int, int]:
    """Theta in lowest terms and the price. Without a price, 1 / theta is rounded down to enough bits for the kernel."""
    cut = max(0, law.inverse_theta.bit_length() - _DRAWN_BITS)
    theta = Fraction(1 << THETA_BITS >> cut, law.inverse_theta >> cut)
    return theta.numerator, theta.denominator, law.price


def _look_up_laws(
    law: Callable[[int, int], tuple[int, int, int]],
    support: SupportTable,
    tract: npt.NDArray[np.int32],
    n_workers: npt.NDArray[np.int64],
) -> Thetas:
    """`law` of every synthesizer's (k, n), found once for each pair."""
    sizes, size_of_tract = np.unique(support.n_support, return_inverse=True)
    n_classes = int(n_workers.max(initial=0)) + 1
    class_of = size_of_tract[tract] * n_classes + n_workers
    values = np.zeros((3, sizes.size * n_classes), dtype=np.int64)
    met = np.flatnonzero(np.bincount(class_of))
    if met.size:
        k, n = sizes[met // n_classes].tolist(), (met % n_classes).tolist()
        values[:, met] = np.array(list(map(law, k, n)), dtype=np.int64).T
    return Thetas(*np.ascontiguousarray(values[:, class_of]))
