"""How small a prior weight may be: the sound accountant, which certifies the pruned mechanism as a whole.

The promise is epsilon_final itself; nothing is added for pruning afterwards. docs/method.md section 5b gives the
bound and why it holds, `engine.enumerator` the exact values it is tested against.

Two things go beyond that section's first bound. A point holds one count, so the workers' term is also at most
the sum over points of the worst tail each can have; that is the smaller one where workers outnumber points. And
the kept prior mass is bounded by Chernoff's inequality at a rate that the certificate states, so that the sum can
be redone.

What is certified is what the sampler draws: weights are max(min_weight, base_weight) in whole units, retentions
are whole units, and a point above one worker's weight is never pruned (`certain_above = WEIGHT_ONE`), which keeps
kappa at or below (n + m)/n.

Where published counts replace likelihood counts, n is not public. Then weights are functions of m alone: those
at which no output of the smallest table, n = 1, can fail. kappa falls with n and no threshold does, so they hold
for every n ≥ 1; with n = 0 there is nobody to protect.

Source: METHOD section 5b; P08 Definition 6, Algorithms 1 and 2.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine._kernels import sound as kernels
from engine.accountant import RETENTION_UNITS, WEIGHT_UNITS, PriorTable, SynthesizerClasses
from engine.errors import CertificateError, OverflowRefusedError, ParameterError
from engine.parameters import (
    LARGEST_EPSILON,
    Number,
    PrivacyParameters,
    SynthesisParameters,
    exact_fraction,
)
from engine.theorems import lowered_delta, pruned_epsilon

__all__ = [
    "SOUND_PURE",
    "SOUND_RULES",
    "SOUND_TAILS",
    "SoundAccounting",
    "SoundBound",
    "SoundWeight",
    "WeightGroup",
    "certify_sound",
    "certify_sound_weights",
    "comparable_epsilon_final",
    "groups_of_class",
    "least_sound_weight",
    "require_fixed_count",
    "sound_bound_of_groups",
    "sound_delta",
]

SOUND_RULES = ("nothing drawn", "sound: no output can fail", "sound: tails within delta")
"""Names of the rules, in the order of their codes in :class:`SoundAccounting`."""

RULE_EMPTY, RULE_PURE, RULE_TAILS = range(3)
SOUND_PURE, SOUND_TAILS = SOUND_RULES[RULE_PURE], SOUND_RULES[RULE_TAILS]

_MARGIN = 1e-12
_LARGEST_TOTAL = 1 << 61
_SHARES_FOR_MASS = (1 / 1024, 1 / 64, 1 / 8)
_ANY_SHARE = tuple(0.5**j for j in range(1, 60))

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class SoundBound(NamedTuple):
    """The bound on the failure probability of one synthesizer, and what it is the sum of.

    Attributes
    ----------
    kappa : float
        Largest f_j + (1 - f_j) R_j over the points that can be pruned; 1 where there are none.
    mass_low : int
        Kept prior mass that the tails count on, in multiples of 2^-20.
    chernoff_rate : float
        Rate at which Chernoff's bound is taken, per worker; 0 where the mass is certain.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundAccounting:
    """What certifies each class: arrays of one entry per class, in the order of the classes.

    Attributes
    ----------
    min_weight : int64
        Weights are max(min_weight, base_weight), in multiples of 2^-20.
    rule : int8
        Position in :data:`SOUND_RULES`.
    likelihood_count : int64
        n that the bound is for: the real one, or 1 where published counts replace it.
    n_support, least_weight, total_weight : int64
        Support points; least and summed weight really used, in multiples of 2^-20.
    least_retention : int64
        Least retention over the points that can be pruned; 2^32 where there are none.
    terms : float64[n_classes, 7]
        Columns in the order of :class:`SoundBound`.
    prior : PriorTable
        What the weights follow from.
    tract : int64
        Position of each class's tract there.
    """

    min_weight: Ints
    rule: NDArray[np.int8]
    likelihood_count: Ints
    n_support: Ints
    least_weight: Ints
    total_weight: Ints
    least_retention: Ints
    terms: Floats
    prior: PriorTable
    tract: Ints

    @property
    def delta_bound(self) -> Floats:
        """Upper bound on the failure probability of each class."""
        return np.asarray(self.terms[:, kernels.DELTA])

    def bound(self, position: int) -> SoundBound:
        """The bound of one class."""
        return _as_bound(self.terms[position])

    def groups(self, position: int) -> list[WeightGroup]:
        """Weights and retentions of one class."""
        return groups_of_class(self.prior, int(self.tract[position]), int(self.min_weight[position]))


def certify_sound(
    prior: PriorTable, classes: SynthesizerClasses, privacy: PrivacyParameters
) -> SoundAccounting:
    """Least prior weight of each class, and what certifies the weights that follow from it.

    Parameters
    ----------
    prior : PriorTable
        Public prior weights and retentions of the destination tracts.
    classes : SynthesizerClasses
        The distinct synthesizers.
    privacy : PrivacyParameters
        The promise; its `epsilon` is epsilon_final.

    Returns
    -------
    SoundAccounting
        Weights used must be max(min_weight, base_weight), and points above one worker's weight certain to stay.

    Raises
    ------
    ParameterError
        A class names no tract of the prior, or `privacy` asks for another accountant.
    OverflowRefusedError
        The weights of a synthesizer do not fit 64 bits.

    Notes
    -----
    The weights looked at are those at which the least threshold of the synthesizer reaches a whole number: between
    them the bound does not fall. Feasibility need not be monotone among them, so the weight found may not be
    the least; it is evaluated itself and holds.

    Source: METHOD section 5b.
    """
    _require_sound(privacy)
    _require_tracts(prior, classes)
    e = _lowered_exponential(privacy.epsilon)
    base, retention = _sorted_points(prior)
    counts = _counts(classes)
    _require_room(prior, _largest_weight(counts[1], e))
    min_weight = np.empty(classes.tract.shape[0], dtype=np.int64)
    limit = 0.0 if classes.is_published else lowered_delta(privacy.delta)
    # Neighbouring classes of one tract begin where the last one ended.
    order = np.lexsort((counts[1], classes.tract))
    found = np.empty_like(min_weight)
    in_order = (counts[0][order], counts[1][order])
    kernels.search_classes(
        prior.support_ptr, classes.tract[order], in_order, base, retention, e, limit, found
    )
    min_weight[order] = found
    return _account(prior, classes, min_weight, privacy, (base, retention))


def certify_sound_weights(
    prior: PriorTable, classes: SynthesizerClasses, min_weight: Ints, privacy: PrivacyParameters
) -> SoundAccounting:
    """Certify weights max(min_weight, base_weight) as they are, whoever chose them.

    Parameters
    ----------
    prior, classes, privacy
        As in :func:`certify_sound`.
    min_weight : int64[n_classes]
        Least weight of each class in multiples of 2^-20.

    Returns
    -------
    SoundAccounting

    Raises
    ------
    CertificateError
        The bound of some class exceeds delta; the message gives its numbers.
    ParameterError
        A weight is not positive.
    """
    _require_sound(privacy)
    _require_tracts(prior, classes)
    if min_weight.dtype != np.int64 or min_weight.shape != classes.tract.shape or (min_weight < 1).any():
        raise ParameterError(
            "min_weight must hold one int64 weight of at least one unit (2^-20) per class; a weight that "
            "quantises to zero protects nobody"
        )
    _require_room(prior, int(min_weight.max(initial=1)))
    return _account(prior, classes, min_weight, privacy, _sorted_points(prior))


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
    Source: METHOD section 5b.
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


def sound_bound_of_groups(
    n: int, m: int, groups: Iterable[WeightGroup], epsilon_final: Number, mass_low: int, chernoff_rate: float
) -> SoundBound:
    """Redo a bound from the weights as a certificate lists them, at the kept mass that it states.

    Parameters
    ----------
    n, m : int
        Likelihood count and published count.
    groups : iterable of WeightGroup
        Weights and retentions, in units.
    epsilon_final : Fraction, str, int or float
        The promise.
    mass_low, chernoff_rate : int, float
        As stated.

    Returns
    -------
    SoundBound

    Raises
    ------
    CertificateError
        The groups are no weights, or the kept mass and the rate are none.
    """
    alpha, kept, kappa = _effective(n, m, groups)
    if not 0 <= mass_low <= int(alpha.sum()) or not 0 <= chernoff_rate < math.inf:
        raise CertificateError(f"kept mass {mass_low} and rate {chernoff_rate} do not fit the weights")
    e = _lowered_exponential(epsilon_final)
    lost = float(kernels.mass_term(alpha, kept, mass_low, float(chernoff_rate)))
    empty, occupied = kernels.failure_terms(n, m, alpha, kept, e, kappa, mass_low / WEIGHT_UNITS, 0.0)
    delta = min((lost + empty + occupied) * (1.0 + _MARGIN), 1.0)
    rate = float(chernoff_rate) if lost > 0 else 0.0
    return SoundBound(kappa, mass_low, rate, lost, float(empty), float(occupied), delta)


def groups_of_class(prior: PriorTable, tract: int, min_weight: int) -> list[WeightGroup]:
    """Weights and retentions that one class really uses, equal points together, in rising order."""
    points = slice(int(prior.support_ptr[tract]), int(prior.support_ptr[tract + 1]))
    weight = np.maximum(prior.base_weight[points], min_weight)
    kept = np.where(weight > WEIGHT_UNITS, RETENTION_UNITS, prior.retention[points])
    distinct, times = np.unique(np.stack([weight, kept]), axis=1, return_counts=True)
    return [
        WeightGroup(int(a), int(f), int(c)) for a, f, c in zip(distinct[0], distinct[1], times, strict=True)
    ]


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
    base = np.ones(n_support, dtype=np.int64)
    retentions = np.full(n_support, kept, dtype=np.int64)
    e, limit = _lowered_exponential(epsilon_final), lowered_delta(delta)
    weight, found = 0, m
    for above_one in (False, True):
        if weight == 0:
            weight, found = kernels.search_side(n, m, above_one, 12, base, retentions, e, limit)
    return SoundWeight(weight / WEIGHT_UNITS, SOUND_RULES[RULE_PURE if found >= m else RULE_TAILS])


def comparable_epsilon_final(epsilon: Number, min_retention: Number) -> Fraction:
    """What the paper accountant would promise: epsilon with the cost of pruning, for releases like for like.

    Source: P08 Theorem 5.2.
    """
    kept = math.ceil(exact_fraction(min_retention, "min_retention") * RETENTION_UNITS)
    if not 0 < kept <= RETENTION_UNITS:
        raise ParameterError(f"min_retention is {min_retention}; it must lie above 0 and at most at 1")
    return pruned_epsilon(exact_fraction(epsilon, "epsilon"), Fraction(kept, RETENTION_UNITS))


def require_fixed_count(privacy: PrivacyParameters, synthesis: SynthesisParameters) -> None:
    """Refuse `drop` editing under the sound accountant.

    Raises
    ------
    ParameterError
        Editing removes workers, so that neighbouring tables may differ in n: nothing here certifies that.
    """
    if privacy.accountant == "sound" and synthesis.editing == "drop":
        raise ParameterError(
            "editing is 'drop' and accountant is 'sound'; drop removes confidential workers, so n can differ "
            "between neighbouring tables, which the sound accountant does not certify; use editing 'pool', or "
            "accountant 'paper' to repeat the 2010 release, stamped not for release"
        )


def _account(
    prior: PriorTable,
    classes: SynthesizerClasses,
    min_weight: Ints,
    privacy: PrivacyParameters,
    points: tuple[Ints, Ints],
) -> SoundAccounting:
    """Evidence for the weights as they are, or the refusal."""
    limit = lowered_delta(privacy.delta)
    counts = _counts(classes)
    terms = np.empty((classes.tract.shape[0], kernels.N_TERMS), dtype=np.float64)
    used = np.empty((classes.tract.shape[0], 4), dtype=np.int64)
    log_chances = np.log(limit * np.array(_SHARES_FOR_MASS))
    e = _lowered_exponential(privacy.epsilon)
    kernels.bound_classes(
        prior.support_ptr, classes.tract, counts, *points, e, log_chances, min_weight, terms, used
    )
    delta = terms[:, kernels.DELTA]
    rule = np.where(delta == 0.0, RULE_PURE, RULE_TAILS).astype(np.int8)
    rule[classes.published_count == 0] = RULE_EMPTY
    refused = np.flatnonzero((delta > limit) | (classes.is_published & (rule == RULE_TAILS)))
    if refused.size:
        j = int(refused[0])
        raise CertificateError(
            f"a least prior weight of {used[j, 0] / WEIGHT_UNITS:.6g} is not enough at epsilon_final "
            f"{float(privacy.epsilon):g}, delta {float(privacy.delta):g}, m {classes.published_count[j]}, "
            f"k {used[j, 3]} (delta bound {delta[j]:.3g}); raise the weight, epsilon_final or delta"
        )
    return SoundAccounting(
        min_weight=min_weight,
        rule=rule,
        likelihood_count=counts[0],
        n_support=used[:, 3].copy(),
        least_weight=used[:, 0].copy(),
        total_weight=used[:, 1].copy(),
        least_retention=used[:, 2].copy(),
        terms=terms,
        prior=prior,
        tract=classes.tract,
    )


def _counts(classes: SynthesizerClasses) -> tuple[Ints, Ints]:
    """n and m that the bound is for: n = 1 everywhere where n is not public."""
    n = classes.likelihood_count
    return (np.ones_like(n) if classes.is_published else n), classes.published_count


def _bound(
    n: int, m: int, groups: Iterable[WeightGroup], epsilon_final: Number, log_chances: Floats
) -> SoundBound:
    """Least bound over kept masses."""
    alpha, kept, kappa = _effective(n, m, groups)
    terms = np.empty(kernels.N_TERMS, dtype=np.float64)
    kernels.weigh(n, m, alpha, kept, _lowered_exponential(epsilon_final), kappa, log_chances, terms)
    return _as_bound(terms)


def _effective(n: int, m: int, groups: Iterable[WeightGroup]) -> tuple[Ints, Ints, float]:
    """Weights and retentions as listed, sorted point by point, and kappa."""
    listed = np.array([tuple(group) for group in groups], dtype=np.int64).reshape(-1, 3)
    if not listed.size or (listed < 1).any() or (listed[:, 1] > RETENTION_UNITS).any():
        raise CertificateError("every group of weights needs a weight, a retention up to 2^32 and points")
    if n < 1 or m < 0 or float(listed[:, 0] @ listed[:, 2].astype(np.float64)) >= _LARGEST_TOTAL:
        raise CertificateError(f"n = {n}, m = {m} and these weights are beyond what can be bounded")
    listed = listed[np.lexsort((listed[:, 1], listed[:, 0]))]
    base, retention = (np.repeat(listed[:, j], listed[:, 2]) for j in (0, 1))
    kappas = np.empty(base.size + 1)
    kernels.tail_kappas(n, m, base, retention, kappas)
    return base, retention, float(kappas[0])


def _as_bound(terms: Floats) -> SoundBound:
    kappa, mass, rate, lost, empty, occupied, delta = (float(value) for value in terms)
    return SoundBound(kappa, int(mass), rate, lost, empty, occupied, delta)


def _lowered_exponential(epsilon: Number) -> float:
    """e^epsilon, 1e-12 of itself below: what is private at the smaller epsilon is private at this one."""
    exact = exact_fraction(epsilon, "epsilon_final")
    if not 0 < exact <= LARGEST_EPSILON:
        raise ParameterError(
            f"epsilon_final is {float(exact):g}; it must lie above 0 and at most at {LARGEST_EPSILON}"
        )
    return math.exp(float(exact)) * (1 - _MARGIN)


def _sorted_points(prior: PriorTable) -> tuple[Ints, Ints]:
    """Base weights and retentions, sorted within tracts by the one and then the other.

    Above one worker's weight the retention is 2^32, as the sampler has it.
    """
    tract = np.repeat(np.arange(prior.support_ptr.shape[0] - 1), np.diff(prior.support_ptr))
    retention = np.where(prior.base_weight > WEIGHT_UNITS, RETENTION_UNITS, prior.retention)
    order = np.lexsort((retention, prior.base_weight, tract))
    return prior.base_weight[order], retention[order]


def _largest_weight(published_count: Ints, e: float) -> int:
    """No weight that is searched lies above this one; refused where it cannot be weighed."""
    slope = float(kernels.threshold(e, 1.0))
    largest = float(published_count.max(initial=1)) / slope + 2.0 if slope > 0 else math.inf
    if largest >= _LARGEST_TOTAL / WEIGHT_UNITS:
        raise OverflowRefusedError(
            f"a count of {published_count.max(initial=1)} at this epsilon_final needs a prior weight of "
            f"{largest:.3g} per support point, beyond 64 bits; raise epsilon_final"
        )
    return int(largest * WEIGHT_UNITS)


def _require_room(prior: PriorTable, min_weight: int) -> None:
    largest = int(np.diff(prior.support_ptr).max()) * min_weight
    largest += int(np.add.reduceat(prior.base_weight.astype(np.float64), prior.support_ptr[:-1]).max())
    if largest >= _LARGEST_TOTAL:
        raise OverflowRefusedError(
            f"prior weights of one synthesizer may sum to {largest / WEIGHT_UNITS:.3g}, beyond 64 bits; raise "
            "epsilon_final or lower strength"
        )


def _require_sound(privacy: PrivacyParameters) -> None:
    if privacy.accountant != "sound":
        raise ParameterError(
            f"accountant is {privacy.accountant!r}; the sound accountant certifies parameters that ask for it, "
            "since their epsilon is epsilon_final"
        )


def _require_tracts(prior: PriorTable, classes: SynthesizerClasses) -> None:
    n_tracts = prior.support_ptr.shape[0] - 1
    if classes.tract.size and classes.tract.max() >= n_tracts:
        raise ParameterError(
            f"a class names destination tract {classes.tract.max()}; the prior has {n_tracts}, counted from 0"
        )
