"""P10's worked example: n workers in two categories, a synthesizer as a table of probabilities, and where it fails.

The example is small enough to be written out in full, so that a reader can see what a promise means. There are two
readings: what the slides compute, and what the definitions say that they refer to.

Source: P10 "A Detailed Example"; P08 Definitions 5 and 6; docs/theory/method.md, section 9.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from engine.accountant.enumerator import (
    compositions,
    disclosure_set,
    exact_failure,
    largest_log_ratio,
    plugin_transition,
    transition_matrix,
)
from engine.errors import ParameterError

__all__ = [
    "EPSILONS",
    "MOST_WORKERS",
    "ExampleMechanism",
    "Reading",
    "TwoCategories",
    "laplace_drawn",
    "laplace_printed",
    "two_categories",
]

ExampleMechanism = Literal["plug-in", "dirichlet-multinomial", "laplace"]
Reading = Literal["printed", "definition"]

MOST_WORKERS = 6
EPSILONS = (0.1, 20.0)

_ROUNDING = 1e-12  # a ratio equal to e^epsilon keeps the promise, but may be computed slightly above it
_NEGLIGIBLE = 1e-18  # rarer noise changes no digit of a probability

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoCategories:
    """One mechanism of the example, written out.

    Row i is the table with i workers in the first category, column j the output with j synthetic workers in it.

    Attributes
    ----------
    transition : float64[n + 1, m + 1]
        Probability of each output given each table; rows sum to 1.
    log_ratio : float64[n, m + 1]
        |ln| of the ratio of rows i and i + 1: neighbors, since one worker moves from one category to the other.
    epsilon_needed : float
        The largest of them: the least epsilon at which nothing fails.
    failing : bool[n + 1, m + 1]
        Outputs that fail for each table.
    table_weight : float64[n + 1] or None
        Probability of each table under the prior, by which the printed reading averages; None by definition.
    failure : float64[n + 1]
        Probability of a failing output from each table; multiplied by `table_weight` if there is one.
    delta : float
        Their sum as printed; the largest of them by definition.
    worst : int or None
        The row that attains delta by definition; None as printed, and if nothing fails.
    """

    transition: Floats
    log_ratio: Floats
    epsilon_needed: float
    failing: Bools
    table_weight: Floats | None
    failure: Floats
    delta: float
    worst: int | None


def two_categories(
    mechanism: ExampleMechanism, reading: Reading, *, n: int, m: int, alpha: float, epsilon: float
) -> TwoCategories:
    """Write one mechanism of the example out.

    Parameters
    ----------
    mechanism : {"plug-in", "dirichlet-multinomial", "laplace"}
        Multinomial at the posterior mean, which the slides' numbers are; the Dirichlet-multinomial, which their
        heading says; Laplace noise.
    reading : {"printed", "definition"}
        What fails, and how delta is counted. As printed an output fails for a table if a neighbor gives it with a
        probability more than e^epsilon times as large, and delta is averaged over tables drawn from the prior. By
        definition it fails if any two neighboring tables among the table itself and its neighbors differ by more
        than e^epsilon in either direction, and delta is that of the worst table. For ``"laplace"`` it also says which
        noise: :func:`laplace_printed` or :func:`laplace_drawn`.
    n, m : int
        Workers and synthetic workers, 1 to 6. Laplace noise as printed changes the count itself, so m is n there.
    alpha : float
        Prior weight of each category, above 0.
    epsilon : float
        Bound on the log ratio, 0.1 to 20; for ``"laplace"`` it also sets the noise.

    Returns
    -------
    TwoCategories

    Raises
    ------
    ParameterError
        A value is outside its range.

    Notes
    -----
    The prior by which the printed reading averages is what reproduces the slides: binomial at the prior mean 1/2, for
    the plug-in and for Laplace noise; for the Dirichlet-multinomial, that with weights alpha.

    Source: P10 "A Detailed Example"; P08 Definitions 5 and 6.
    """
    _require_example(mechanism, reading, n, m, alpha, epsilon)
    transition = _transition(mechanism, reading, n, m, alpha, epsilon)
    tables = compositions(n, 2)
    log_ratio = np.abs(np.log(transition[1:]) - np.log(transition[:-1]))
    needed = largest_log_ratio(tables, transition)
    if reading == "definition":
        failing = disclosure_set(tables, transition, epsilon + _ROUNDING)
        worst = exact_failure(tables, transition, epsilon + _ROUNDING)
        failure = np.where(failing, transition, 0.0).sum(axis=1)
        row = None if worst.worst_table is None else worst.worst_table[0]
        return TwoCategories(
            transition=transition,
            log_ratio=log_ratio,
            epsilon_needed=needed,
            failing=failing,
            table_weight=None,
            failure=failure,
            delta=worst.probability,
            worst=row,
        )
    failing = _fails_below_a_neighbor(transition, epsilon + _ROUNDING)
    weight = _prior_of_tables(mechanism, n, alpha)
    failure = weight * np.where(failing, transition, 0.0).sum(axis=1)
    return TwoCategories(
        transition=transition,
        log_ratio=log_ratio,
        epsilon_needed=needed,
        failing=failing,
        table_weight=weight,
        failure=failure,
        delta=float(failure.sum()),
        worst=None,
    )


def laplace_printed(n: int, epsilon: float) -> Floats:
    """Continuous Laplace noise of scale 1/epsilon on the first count, rounded and clamped to 0 … n: float64[n+1, n+1].

    The slides print the scale 2/epsilon, but their numbers have this one. It keeps epsilon: as n is public, one count
    determines the table, and it changes by one.

    Source: P10 "Laplace Sanitizer".
    """
    count, output = np.arange(n + 1)[:, None], np.arange(n + 1)[None, :]
    upper = np.where(output == n, 1.0, _laplace_below(output - count + 0.5, epsilon))
    lower = np.where(output == 0, 0.0, _laplace_below(output - count - 0.5, epsilon))
    # Above the middle both are near 1; taking their difference from the other end keeps the digits.
    above = np.where(output == 0, 1.0, _laplace_below(count - output + 0.5, epsilon))
    beyond = np.where(output == n, 0.0, _laplace_below(count - output - 0.5, epsilon))
    return np.where(output > count, above - beyond, upper - lower)


def laplace_drawn(n: int, m: int, alpha: float, epsilon: float) -> Floats:
    """What :func:`engine.comparison.laplace.laplace_histogram` draws of two categories: float64[n + 1, m + 1].

    Discrete Laplace noise, P(z) ∝ exp(-epsilon |z| / 2), on both counts, clamped at zero; the m workers in proportion
    to what comes out, with one random offset, or from the prior where nothing does.

    Source: P10 "Laplace Sanitizer", and docs/theory/method.md, section 7b.
    """
    q = math.exp(-epsilon / 2)
    top = n + math.ceil(2 * -math.log(_NEGLIGIBLE) / epsilon)
    value = np.arange(top + 1)
    counts = np.arange(n + 1)[:, None]
    law = (1 - q) / (1 + q) * q ** np.abs(value[None, :] - counts)
    law[:, 0] = q ** counts[:, 0] / (1 + q)
    total = np.add.outer(value, value)
    share, rest = np.divmod(m * np.broadcast_to(value[:, None], total.shape), np.maximum(total, 1))
    up = rest / np.maximum(total, 1)
    out = np.empty((n + 1, m + 1))
    for row in range(n + 1):
        chance = np.outer(law[row], law[n - row])
        nothing, chance[0, 0] = chance[0, 0], 0.0
        drawn = np.bincount(share.ravel(), (chance * (1 - up)).ravel(), m + 1)
        # Where the share is m there is no rest, and what is added is zero.
        drawn += np.bincount(np.minimum(share + 1, m).ravel(), (chance * up).ravel(), m + 1)
        out[row] = drawn + nothing * _binomial(m)
    return out


def _transition(
    mechanism: ExampleMechanism, reading: Reading, n: int, m: int, alpha: float, epsilon: float
) -> Floats:
    if mechanism == "plug-in":
        return plugin_transition(n, m, [alpha, alpha])
    if mechanism == "dirichlet-multinomial":
        return transition_matrix(n, m, [alpha, alpha])
    return laplace_printed(n, epsilon) if reading == "printed" else laplace_drawn(n, m, alpha, epsilon)


def _fails_below_a_neighbor(transition: Floats, epsilon: float) -> Bools:
    """The cells that the slides highlight: a neighboring table gives the output more than e^epsilon times as often."""
    limit = math.exp(epsilon) * transition
    failing = np.zeros(transition.shape, dtype=np.bool_)
    failing[:-1] |= transition[1:] > limit[:-1]
    failing[1:] |= transition[:-1] > limit[1:]
    return failing


def _prior_of_tables(mechanism: ExampleMechanism, n: int, alpha: float) -> Floats:
    if mechanism != "dirichlet-multinomial":
        return _binomial(n)
    rising = np.concatenate([[1.0], np.cumprod(alpha + np.arange(n))])
    whole = float(np.prod(2 * alpha + np.arange(n)))
    return np.asarray(_choose(n) * rising * rising[::-1] / whole)


def _binomial(total: int) -> Floats:
    return np.asarray(_choose(total) / 2**total)


def _choose(total: int) -> Floats:
    return np.array([math.comb(total, part) for part in range(total + 1)], dtype=np.float64)


def _laplace_below(x: NDArray[np.floating], rate: float) -> Floats:
    """P(X < x) for P(|X| > x) = e^(-rate x)."""
    tail = np.exp(-rate * np.abs(x)) / 2
    return np.asarray(np.where(x < 0, tail, 1 - tail))


def _require_example(mechanism: str, reading: str, n: int, m: int, alpha: float, epsilon: float) -> None:
    for name, given, allowed in (
        ("mechanism", mechanism, get_args(ExampleMechanism)),
        ("reading", reading, get_args(Reading)),
    ):
        if given not in allowed:
            raise ParameterError(f"{name} is {given!r}; the example has {', '.join(allowed)}")
    for name, count in (("n", n), ("m", m)):
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_WORKERS:
            raise ParameterError(f"{name} is {count!r}; a whole number from 1 to {MOST_WORKERS} is needed")
    if mechanism == "laplace" and reading == "printed" and m != n:
        raise ParameterError(
            f"m is {m} and n {n}; Laplace noise as printed changes the count itself: m must be n"
        )
    if not (math.isfinite(alpha) and alpha > 0):
        raise ParameterError(f"alpha is {alpha!r}; a prior weight above 0 is needed, such as 0.5")
    least, most = EPSILONS
    if not least <= epsilon <= most:
        raise ParameterError(f"epsilon is {epsilon!r}; the example is written out for {least:g} to {most:g}")
