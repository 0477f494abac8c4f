"""How small a prior weight may be: the sound accountant, which certifies the pruned mechanism as a whole.

The promise is epsilon_final itself; nothing is added for pruning afterwards. docs/theory/method.md, section 5b, gives
the bound and why it holds, `engine.accountant.enumerator` the exact values it is tested against.

Two things go beyond that section's first bound. A point holds one count, so the workers' term is also at most
the sum over points of the worst tail each can have; that is the smaller one where workers outnumber points. And
the kept prior mass is bounded by Chernoff's inequality at a rate that the certificate states, so that the sum can
be redone.

The accountant certifies exactly what the sampler draws: weights are max(min_weight, base_weight) in whole units,
retentions are whole units, and a point above one worker's weight is never pruned (`certain_above = WEIGHT_UNITS`),
which keeps kappa at or below (n + m)/n.

Where published counts replace likelihood counts, n is not public. Then weights are functions of m alone: those
at which no output of the smallest table, n = 1, can fail. kappa falls with n and no threshold does, so they hold
for every n ≥ 1; with n = 0 there is no worker to protect.

Source: docs/theory/method.md, section 5b; P08 Definition 6, Algorithms 1 and 2.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.accountant.kernels import sound as kernels
from engine.accountant.kernels.sound_search import (
    ClassLists,
    Evidence,
    Promise,
    SearchSpace,
    bound_tracts,
    search_tracts,
)
from engine.accountant.kernels.sound_tract import Tract
from engine.accountant.paper import SynthesizerClasses, require_tracts
from engine.accountant.sound_bound import (
    SOUND_PURE,
    SOUND_RULES,
    SOUND_TAILS,
    SoundBound,
    SoundWeight,
    WeightGroup,
    as_bound,
    comparable_epsilon_final,
    least_sound_weight,
    lowered_exponential,
    sound_delta,
    tail_space,
)
from engine.accountant.theorems import lowered_delta
from engine.errors import CertificateError, OverflowRefusedError, ParameterError
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.support.support_table import SupportTable
from engine.threads import run_ranges

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
    "groups_of_points",
    "least_sound_weight",
    "require_fixed_count",
    "sound_delta",
]

RULE_EMPTY, RULE_PURE, RULE_TAILS = range(3)

_LARGEST_TOTAL = 1 << 61
_SHARES_FOR_MASS = (1 / 64, 1 / 1024, 1 / 8)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundAccounting:
    """The evidence for each class: arrays of one entry per class, in the order of the classes.

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
        Least retention over the points that can be pruned; 2^32 if no point can.
    terms : float64[n_classes, 7]
        Columns in the order of :class:`SoundBound`.
    prior : SupportTable
        The prior from which the weights follow.
    tract : int64
        Position of each class's tract there.
    prune : bool
        False if all points of the class stay, whatever their retention.
    """

    min_weight: Ints
    rule: NDArray[np.int8]
    likelihood_count: Ints
    n_support: Ints
    least_weight: Ints
    total_weight: Ints
    least_retention: Ints
    terms: Floats
    prior: SupportTable
    tract: Ints
    prune: NDArray[np.bool_]

    @property
    def delta_bound(self) -> Floats:
        """Upper bound on the failure probability of each class."""
        return np.asarray(self.terms[:, kernels.DELTA])

    def bound(self, position: int) -> SoundBound:
        """The bound of one class."""
        return as_bound(self.terms[position])


def certify_sound(
    prior: SupportTable,
    classes: SynthesizerClasses,
    privacy: PrivacyParameters,
    *,
    threads: int = 1,
    allow_unpruned: bool = False,
) -> SoundAccounting:
    """Least prior weight of each class, and what certifies the weights that follow from it.

    Parameters
    ----------
    prior : SupportTable
        Public prior weights and retentions of the destination tracts.
    classes : SynthesizerClasses
        The distinct synthesizers.
    privacy : PrivacyParameters
        The promise; its `epsilon` is epsilon_final.
    threads : int, optional
        Threads over the tracts; the result is the same for any number.
    allow_unpruned : bool, optional
        Whether a class may keep all its points (`prune` False) if no weight up to one worker's would let it prune. The
        sampler must follow `prune`.

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
    the least; it is evaluated itself and holds. Whether a class prunes follows from public numbers only: the prior, n
    and m (m alone where published counts replace n).

    Source: docs/theory/method.md, section 5b.
    """
    _require_sound(privacy)
    require_tracts(prior, classes)
    _require_room(prior, _largest_weight(classes.published_count, lowered_exponential(privacy.epsilon)))
    prune = np.ones(classes.tract.shape[0], dtype=np.bool_)
    min_weight = np.empty(classes.tract.shape[0], dtype=np.int64)
    _search(prior, classes, prune, privacy, threads, min_weight)
    heavy = min_weight > WEIGHT_UNITS
    if allow_unpruned and heavy.any():
        # Nothing is pruned at such weights anyway; the least weights that hold without pruning are never larger.
        prune = ~heavy
        _search(_keep_all_points(prior), classes, heavy, privacy, threads, min_weight)
    return _account(prior, classes, min_weight, prune, privacy, threads)


def certify_sound_weights(
    prior: SupportTable,
    classes: SynthesizerClasses,
    min_weight: Ints,
    privacy: PrivacyParameters,
    *,
    threads: int = 1,
    prune: NDArray[np.bool_] | None = None,
) -> SoundAccounting:
    """Certify given weights max(min_weight, base_weight), however they were chosen.

    Parameters
    ----------
    prior, classes, privacy, threads
        As in :func:`certify_sound`.
    min_weight : int64[n_classes]
        Least weight of each class in multiples of 2^-20.
    prune : bool[n_classes], optional
        False where a class keeps all its points; by default every class prunes.

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
    require_tracts(prior, classes)
    if min_weight.dtype != np.int64 or min_weight.shape != classes.tract.shape or (min_weight < 1).any():
        raise ParameterError(
            "min_weight must hold one int64 weight of at least one unit (2^-20) per class; a weight that "
            "is rounded to zero protects no one"
        )
    _require_room(prior, int(min_weight.max(initial=1)))
    if prune is None:
        prune = np.ones(min_weight.shape, dtype=np.bool_)
    if prune.dtype != np.bool_ or prune.shape != min_weight.shape:
        raise ParameterError(f"prune is {prune.dtype}{list(prune.shape)}; give one bool per class")
    return _account(prior, classes, min_weight, prune, privacy, threads)


def groups_of_points(
    base_weight: Ints, retention: Ints, min_weight: int, *, prune: bool = True
) -> list[WeightGroup]:
    """Weights and retentions that one class of a tract really uses, equal points together, in rising order."""
    weight = np.maximum(base_weight, min_weight)
    certain = (weight > WEIGHT_UNITS) | (not prune)
    kept = np.where(certain, RETENTION_UNITS, retention)
    distinct, times = np.unique(np.stack([weight, kept]), axis=1, return_counts=True)
    return [
        WeightGroup(int(a), int(f), int(c)) for a, f, c in zip(distinct[0], distinct[1], times, strict=True)
    ]


def require_fixed_count(privacy: PrivacyParameters, synthesis: SynthesisParameters) -> None:
    """Refuse `drop` editing under the sound accountant.

    Raises
    ------
    ParameterError
        Editing removes workers, so neighboring tables may differ in n, which this accountant does not certify.
    """
    if privacy.accountant == "sound" and synthesis.editing == "drop":
        raise ParameterError(
            "editing is 'drop' and accountant is 'sound'; drop removes confidential workers, so n can differ "
            "between neighboring tables, which the sound accountant does not certify; use editing 'pool', or "
            "accountant 'paper' to repeat the 2010 release, marked not for release"
        )


def _search(
    prior: SupportTable,
    classes: SynthesizerClasses,
    chosen: NDArray[np.bool_],
    privacy: PrivacyParameters,
    threads: int,
    min_weight: Ints,
) -> None:
    """Fill the least weights found of the chosen classes, for the retentions of `prior`."""
    e = lowered_exponential(privacy.epsilon)
    limit = 0.0 if classes.is_published else lowered_delta(privacy.delta)
    lists = _class_lists(prior, classes, chosen)

    def search(start: int, stop: int) -> int:
        return search_tracts(start, stop, lists, e, limit, _space(prior.support_ptr), min_weight)

    run_ranges(search, _work(lists), threads)


def _keep_all_points(prior: SupportTable) -> SupportTable:
    """The same prior with every point certain to stay."""
    return SupportTable(
        support_ptr=prior.support_ptr,
        base_weight=prior.base_weight,
        retention=np.full_like(prior.retention, RETENTION_UNITS),
    )


def _account(
    prior: SupportTable,
    classes: SynthesizerClasses,
    min_weight: Ints,
    prune: NDArray[np.bool_],
    privacy: PrivacyParameters,
    threads: int,
) -> SoundAccounting:
    """Collect the evidence for the weights, or refuse them."""
    limit = lowered_delta(privacy.delta)
    terms = np.empty((classes.tract.shape[0], kernels.N_TERMS), dtype=np.float64)
    used = np.empty((classes.tract.shape[0], 4), dtype=np.int64)
    evidence = Evidence(terms, used)
    promise = Promise(lowered_exponential(privacy.epsilon), limit, np.log(limit * np.array(_SHARES_FOR_MASS)))
    _bound(_class_lists(prior, classes, prune), promise, threads, min_weight, evidence)
    if not prune.all():
        unpruned = _class_lists(_keep_all_points(prior), classes, ~prune)
        _bound(unpruned, promise, threads, min_weight, evidence)
    delta = terms[:, kernels.DELTA]
    rule = np.where(delta == 0.0, RULE_PURE, RULE_TAILS).astype(np.int8)
    rule[classes.published_count == 0] = RULE_EMPTY
    refused = np.flatnonzero((delta > limit) | (classes.is_published & (rule == RULE_TAILS)))
    if refused.size:
        j = int(refused[0])
        raise CertificateError(
            f"a least prior weight of {used[j, 0] / WEIGHT_UNITS:.6g} is not enough at epsilon_final "
            f"{float(privacy.epsilon):g}, delta {float(privacy.delta):g}, m {classes.published_count[j]}, "
            f"k {used[j, 3]} (delta bound {delta[j]:.3g}); raise the weight, epsilon_final, or delta"
        )
    return SoundAccounting(
        min_weight=min_weight,
        rule=rule,
        likelihood_count=_likelihood_count(classes),
        n_support=used[:, 3].copy(),
        least_weight=used[:, 0].copy(),
        total_weight=used[:, 1].copy(),
        least_retention=used[:, 2].copy(),
        terms=terms,
        prior=prior,
        tract=classes.tract,
        prune=prune,
    )


def _bound(lists: ClassLists, promise: Promise, threads: int, min_weight: Ints, evidence: Evidence) -> None:
    """Fill the evidence of the listed classes."""

    def bound(start: int, stop: int) -> int:
        return bound_tracts(start, stop, lists, promise, _space(lists.support_ptr), min_weight, evidence)

    run_ranges(bound, _work(lists), threads)


def _space(support_ptr: Ints) -> SearchSpace:
    """Arrays that one thread works in, for tracts of any size."""
    k = int(np.diff(support_ptr).max(initial=0))
    room = np.empty((8, k), dtype=np.int64)
    return SearchSpace(Tract(*room[:5]), kernels.Groups(*room[5:]), tail_space())


def _likelihood_count(classes: SynthesizerClasses) -> Ints:
    """The n that the bound is for: 1 everywhere if n is not public."""
    n = classes.likelihood_count
    return np.ones_like(n) if classes.is_published else n


def _class_lists(prior: SupportTable, classes: SynthesizerClasses, chosen: NDArray[np.bool_]) -> ClassLists:
    """The chosen classes in order of tract and m."""
    order = np.lexsort((classes.published_count, classes.tract))
    order = order[chosen[order]]
    n_classes = np.bincount(classes.tract[order], minlength=prior.support_ptr.shape[0] - 1)
    return ClassLists(
        support_ptr=prior.support_ptr,
        base=prior.base_weight,
        retention=prior.retention,
        class_ptr=np.concatenate(([0], np.cumsum(n_classes))).astype(np.int64),
        order=order,
        n=_likelihood_count(classes),
        m=classes.published_count,
    )


def _work(lists: ClassLists) -> Ints:
    """Relative cost of each tract: a class costs as much as about a hundred points."""
    n_classes = np.diff(lists.class_ptr)
    return 100 * n_classes + np.where(n_classes > 0, np.diff(lists.support_ptr), 0)


def _largest_weight(published_count: Ints, e: float) -> int:
    """Upper bound on the weights searched; refused if it does not fit 64 bits."""
    slope = e * (1.0 - kernels.MARGIN) - 1.0
    largest = float(published_count.max(initial=1)) / slope + 2.0 if slope > 0 else math.inf
    if largest >= _LARGEST_TOTAL / WEIGHT_UNITS:
        raise OverflowRefusedError(
            f"a count of {published_count.max(initial=1)} at this epsilon_final needs a prior weight of "
            f"{largest:.3g} per support point, beyond 64 bits; raise epsilon_final"
        )
    return int(largest * WEIGHT_UNITS)


def _require_room(prior: SupportTable, min_weight: int) -> None:
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
