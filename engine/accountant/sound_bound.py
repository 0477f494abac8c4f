"""The sound accountant's bound, one synthesizer at a time; `engine.accountant.sound` applies it to a whole release.

Source: docs/theory/method.md, section 5b, which has the proof.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.accountant.kernels import sound as kernels
from engine.accountant.kernels.sound_search import search_side
from engine.accountant.kernels.sound_tract import Tract
from engine.accountant.theorems import lowered_delta, pruned_epsilon
from engine.errors import CertificateError, ParameterError
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.parameters import LARGEST_EPSILON, Number, exact_fraction

__all__ = [
    "SOUND_PURE",
    "SOUND_RULES",
    "SOUND_TAILS",
    "SoundBound",
    "SoundWeight",
    "WeightGroup",
    "as_bound",
    "comparable_epsilon_final",
    "effective_groups",
    "least_sound_weight",
    "lowered_exponential",
    "sound_delta",
    "tail_space",
]

SOUND_RULES = ("nothing drawn", "sound: no output can fail", "sound: tails within delta")
"""Names of the rules, in the order of their codes in :class:`engine.accountant.sound.SoundAccounting`."""

SOUND_PURE, SOUND_TAILS = SOUND_RULES[1:]

_MARGIN = 1e-12
_LARGEST_TOTAL = 1 << 61
_ANY_SHARE = tuple(0.5**j for j in range(1, 60))

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class SoundBound(NamedTuple):
    """The bound on the failure probability of one synthesizer, and what it is the sum of.

    Attributes
    ----------
    kappa : float
        Largest f_j + (1 - f_j) R_j over the points that can be pruned; 1 if no point can.
    mass_low : int
        Kept prior mass assumed by the tails, in multiples of 2^-20.
    chernoff_rate : float
        Rate of the Chernoff bound, per worker; 0 if the mass is certain.
    mass_term : float
        Bound on the chance that less is kept.
    empty_term, occupied_term : float
        Bound on the chance that a point without workers fails, and that one with workers does.
    delta : float
        Their sum, at most 1.
    """

    kappa: float
    mass_low: int
    chernoff_rate: float
    mass_term: float
    empty_term: float
    occupied_term: float
    delta: float


class SoundWeight(NamedTuple):
    """A least prior weight and the name of the rule that allows it."""

    weight: float
    rule: str


class WeightGroup(NamedTuple):
    """Support points of one synthesizer that share weight and retention, both in units."""

    weight: int
    retention: int
    n_points: int


def sound_delta(
    n: int, m: int, prior_weight: Sequence[float], retention: Sequence[float], epsilon_final: Number
) -> SoundBound:
    """Bound on the failure probability of the pruned mechanism for any table of n workers.

    Parameters
    ----------
    n, m : int
        Likelihood count (at least 1) and published count.
    prior_weight : sequence of float
        alpha_i above 0; rounded up to multiples of 2^-20.
    retention : sequence of float
        f_i above 0, at most 1; rounded up to multiples of 2^-32.
    epsilon_final : Fraction, str, int or float
        Bound on the log likelihood ratio of the whole.

    Returns
    -------
    SoundBound

    Notes
    -----
    Source: docs/theory/method.md, section 5b.
    """
    alpha = np.ceil(np.asarray(prior_weight, dtype=np.float64) * WEIGHT_UNITS)
    kept = np.ceil(np.asarray(retention, dtype=np.float64) * RETENTION_UNITS)
    if alpha.shape != kept.shape or alpha.ndim != 1 or not (alpha >= 1).all():
        raise ParameterError("give one prior weight above 0 and one retention per support point")
    if not ((kept >= 1) & (kept <= RETENTION_UNITS)).all() or n < 1 or m < 0:
        raise ParameterError(
            f"n = {n}, m = {m}: n must be 1 or more, m 0 or more, retentions above 0 and at most 1"
        )
    groups = [
        WeightGroup(int(a), int(f), 1)
        for a, f in zip(alpha.astype(np.int64), kept.astype(np.int64), strict=True)
    ]
    return _bound(n, m, groups, epsilon_final, np.log(np.array(_ANY_SHARE)))


def least_sound_weight(
    n: int, m: int, n_support: int, retention: Number, epsilon_final: Number, delta: Number
) -> SoundWeight:
    """Least equal prior weight, in multiples of 2^-20, with one retention for all points.

    Parameters
    ----------
    n, m : int
        Likelihood count (at least 1) and published count (at least 1).
    n_support : int
        k.
    retention : Fraction, str, int or float
        f, rounded up to a multiple of 2^-32.
    epsilon_final, delta : Fraction, str, int or float
        The promise.

    Returns
    -------
    SoundWeight
        The weight, evaluated and found to hold, and its rule. Above 1 nothing is pruned.
    """
    kept = math.ceil(exact_fraction(retention, "retention") * RETENTION_UNITS)
    base, retentions, times = (np.array([value], dtype=np.int64) for value in (1, kept, n_support))
    order = np.zeros(1, dtype=np.int64)
    tract = Tract(base, retentions, times, order, order[: int(kept < RETENTION_UNITS)])
    space = kernels.Groups(np.empty_like(base), np.empty_like(base), np.empty_like(base))
    e, limit = lowered_exponential(epsilon_final), lowered_delta(delta)
    weight, safe_count = 0, m
    for above_one in (False, True):
        if weight == 0:
            weight, safe_count = search_side(n, m, above_one, 12, tract, e, limit, space, tail_space())
    return SoundWeight(weight / WEIGHT_UNITS, SOUND_PURE if safe_count >= m else SOUND_TAILS)


def comparable_epsilon_final(epsilon: Number, min_retention: Number) -> Fraction:
    """What the paper accountant would promise: epsilon plus the cost of pruning, to compare releases on equal terms.

    Source: P08 Theorem 5.2.
    """
    kept = math.ceil(exact_fraction(min_retention, "min_retention") * RETENTION_UNITS)
    if not 0 < kept <= RETENTION_UNITS:
        raise ParameterError(f"min_retention is {min_retention}; it must lie above 0 and at most at 1")
    return pruned_epsilon(exact_fraction(epsilon, "epsilon"), Fraction(kept, RETENTION_UNITS))


def lowered_exponential(epsilon: Number) -> float:
    """e^epsilon lowered by 1e-12 of itself: a mechanism private at the smaller epsilon is private at this one."""
    exact = exact_fraction(epsilon, "epsilon_final")
    if not 0 < exact <= LARGEST_EPSILON:
        raise ParameterError(
            f"epsilon_final is {float(exact):g}; it must lie above 0 and at most at {LARGEST_EPSILON}"
        )
    return math.exp(float(exact)) * (1 - _MARGIN)


def _bound(
    n: int, m: int, groups: Iterable[WeightGroup], epsilon_final: Number, log_chances: Floats
) -> SoundBound:
    """Least bound over kept masses."""
    listed, kappa = effective_groups(n, m, groups)
    terms = np.empty(kernels.N_TERMS, dtype=np.float64)
    e = lowered_exponential(epsilon_final)
    kernels.weigh(n, m, listed, e, kappa, log_chances, 0.0, tail_space(), terms)
    return as_bound(terms)


def effective_groups(n: int, m: int, groups: Iterable[WeightGroup]) -> tuple[kernels.Groups, float]:
    """Weights, retentions and numbers of points as listed, sorted, and kappa."""
    listed = np.array([tuple(group) for group in groups], dtype=np.int64).reshape(-1, 3)
    if not listed.size or (listed < 1).any() or (listed[:, 1] > RETENTION_UNITS).any():
        raise CertificateError("every group of weights needs a weight, a retention up to 2^32, and points")
    if n < 1 or m < 0 or float(listed[:, 0] @ listed[:, 2].astype(np.float64)) >= _LARGEST_TOTAL:
        raise CertificateError(f"n = {n}, m = {m} and these weights are beyond what can be bounded")
    listed = listed[np.lexsort((listed[:, 1], listed[:, 0]))]
    ordered = kernels.Groups(*(np.ascontiguousarray(column) for column in listed.T))
    return ordered, float(kernels.kappa_of_groups(n, m, ordered))


def tail_space() -> Floats:
    """Scratch space for tails: float64[3, RUN]."""
    return np.empty((3, kernels.RUN), dtype=np.float64)


def as_bound(terms: Floats) -> SoundBound:
    """The columns that the kernel fills, as a named tuple."""
    kappa, mass, rate, lost, empty, occupied, delta = terms.tolist()
    return SoundBound(kappa, int(mass), rate, lost, empty, occupied, delta)
