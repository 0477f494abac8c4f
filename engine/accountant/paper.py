"""How small a prior weight may be: the paper's accountant, and the evidence for the weights used.

One synthesizer has k support points, n workers, m synthetic workers and prior weights alpha_i. Theorem 4.1
of P08 asks for alpha_i ≥ m / c with c = e^epsilon - 1 and then nothing can fail; Theorem 4.4 (m = n,
epsilon > ln 3) allows smaller weights against a probability delta of failure. The least weight is the
smaller of the two, and pruning adds to epsilon by Theorem 5.2.

Departures from the paper, each on the safe side:

- Theorem 4.4 bounds a tail by its first term and so presumes that f(x) lies beyond the mode. Where it does
  not, the theorem as printed "certifies" weights near zero (k = 10, n = 1, epsilon = 10, delta = 1e-3,
  alpha = 1e-8). A weight is taken only if a second bound, the tails themselves added up over all points,
  is within delta too. For the published settings that second bound is the smaller by far.
- Theorem 5.2's ln 2 is ln((n + m)/n) with m = n. Where published counts replace n (m > n), it does not
  hold (n = 1, m = 6, alpha = (0.9, 0.0263), f = 0.01, epsilon = 5.4363: the exact log ratio is 11.794, the
  theorem's 10.735). Then ln(1 + m) is charged, which holds for every n ≥ 1 and does not reveal n.
- Every comparison that decides is made against a number moved to the unfavourable side: c is lowered by
  1e-12 of itself (a release private at a smaller epsilon is private at epsilon), logarithms carry their
  rounding bound, weights are rounded up to multiples of 2^-20.

Searching by bisection assumes that feasibility is monotone in the weight; if it is not, the weight found may
not be the least, but it is always evaluated itself and holds.

Source: P08 Theorems 4.1, 4.4, 5.2, Definition 7; P10 "Search Algorithm Implements PDP".
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from engine.accountant.kernels import reference_sample as kernels
from engine.accountant.theorems import (
    RULES,
    LeastWeight,
    cautious_c,
    epsilon_final,
    least_prior_weight,
    lowered_delta,
    pruned_epsilon,
    reference_zero_sample,
    theorem_4_1_weight,
    theorem_4_4_bound,
    theorem_4_4_weight,
)
from engine.errors import CertificateError, OverflowRefusedError, ParameterError
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.parameters import PrivacyParameters
from engine.support.support_table import SupportTable

__all__ = [
    "RULES",
    "Accounting",
    "LeastWeight",
    "SynthesizerClasses",
    "certify_classes",
    "certify_weights",
    "epsilon_final",
    "least_prior_weight",
    "pruned_epsilon",
    "reference_zero_sample",
    "theorem_4_1_weight",
    "theorem_4_4_bound",
    "theorem_4_4_weight",
]

_LARGEST_TOTAL = 1 << 61

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesizerClasses:
    """Distinct (destination tract, likelihood count, published count) of the synthesizers.

    Parameters
    ----------
    tract : int64[n_classes]
        Position of the destination tract in the :class:`SupportTable`.
    likelihood_count : int64[n_classes]
        n, the workers of the synthesizer.
    published_count : int64[n_classes]
        m, the synthetic workers to draw.

    Raises
    ------
    ParameterError
        Shapes differ, or a value is negative.
    """

    tract: Ints
    likelihood_count: Ints
    published_count: Ints

    def __post_init__(self) -> None:
        for name in ("tract", "likelihood_count", "published_count"):
            values = getattr(self, name)
            _require_ints(name, values)
            if values.shape != self.tract.shape:
                raise ParameterError(f"{name} has {values.shape[0]} entries, tract {self.tract.shape[0]}")
            if (values < 0).any():
                raise ParameterError(f"{name} holds {values.min()}; it must be 0 or more")

    @property
    def is_published(self) -> bool:
        """Whether published counts replace the likelihood counts anywhere."""
        return bool((self.likelihood_count != self.published_count).any())


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """The evidence for each class: arrays of one entry per class, in the order of the classes.

    Attributes
    ----------
    min_weight : int64
        Weights are max(min_weight, base_weight), in multiples of 2^-20.
    rule : int8
        Position in :data:`RULES`.
    delta_bound : float64
        Upper bound on the failure probability, at most delta.
    epsilon_final : float64
        epsilon after pruning, rounded up; the exact value is :func:`pruned_epsilon`.
    n_support : int64
        Support points of the tract.
    least_weight, total_weight : int64
        Least and summed weight really used, in multiples of 2^-20.
    least_retention : int64
        Least retention over the points that can be pruned; 2^32 if no point can.
    growth : int64
        The number whose logarithm takes the place of Theorem 5.2's ln 2: 2, or 1 + m if published counts replace n.
    """

    min_weight: Ints
    rule: NDArray[np.int8]
    delta_bound: Floats
    epsilon_final: Floats
    n_support: Ints
    least_weight: Ints
    total_weight: Ints
    least_retention: Ints
    growth: Ints


def certify_classes(
    prior: SupportTable, classes: SynthesizerClasses, privacy: PrivacyParameters
) -> Accounting:
    """Least prior weight of each class, and what certifies the weights that follow from it.

    Parameters
    ----------
    prior : SupportTable
        Public prior weights and retentions of the destination tracts.
    classes : SynthesizerClasses
        The distinct synthesizers.
    privacy : PrivacyParameters
        The promise.

    Returns
    -------
    Accounting
        Weights used must be max(min_weight, base_weight), and nothing else.

    Raises
    ------
    ParameterError
        A class names no tract of the prior, or `privacy` asks for another accountant.
    OverflowRefusedError
        The weights of a synthesizer do not fit 64 bits.

    Notes
    -----
    With published counts (m ≠ n anywhere) the result depends on m alone, since n is then not public:
    Theorem 4.1 for every class, and ln(1 + m) for pruning.

    Source: P08 Theorems 4.1, 4.4 and 5.2; P10 "Search Algorithm Implements PDP".
    """
    _require_paper(privacy)
    require_tracts(prior, classes)
    c = cautious_c(privacy.epsilon)
    weights = _sort_weights(prior)
    min_weight = _units_of_theorem_4_1(classes.published_count, c)
    drawn = np.flatnonzero(classes.published_count > 0)
    if c > 2 and not classes.is_published and drawn.size:
        least_weight = np.empty(drawn.shape[0], dtype=np.int64)
        kernels.search_classes(
            prior.support_ptr,
            classes.tract[drawn],
            classes.likelihood_count[drawn],
            *weights,
            min_weight[drawn],
            c,
            lowered_delta(privacy.delta),
            least_weight,
        )
        min_weight[drawn] = least_weight
    return _account(prior, classes, min_weight, privacy, weights)


def certify_weights(
    prior: SupportTable, classes: SynthesizerClasses, min_weight: Ints, privacy: PrivacyParameters
) -> Accounting:
    """Certify given weights max(min_weight, base_weight), however they were chosen.

    Parameters
    ----------
    prior, classes, privacy
        As in :func:`certify_classes`.
    min_weight : int64[n_classes]
        Least weight of each class in multiples of 2^-20.

    Returns
    -------
    Accounting
        The evidence.

    Raises
    ------
    CertificateError
        Neither theorem covers the weights of some class; the message gives its numbers.
    ParameterError
        A weight is not positive: it was rounded to zero, or never set.
    """
    _require_paper(privacy)
    require_tracts(prior, classes)
    _require_ints("min_weight", min_weight)
    if min_weight.shape != classes.tract.shape or (min_weight < 1).any():
        raise ParameterError(
            "min_weight must hold one weight of at least one unit (2^-20) per class; a weight that is rounded "
            "to zero protects no one"
        )
    return _account(prior, classes, min_weight, privacy, _sort_weights(prior))


def _account(
    prior: SupportTable,
    classes: SynthesizerClasses,
    min_weight: Ints,
    privacy: PrivacyParameters,
    weights: tuple[Ints, Ints],
) -> Accounting:
    """Collect the evidence for the weights, or refuse them."""
    least, total = _weights_used(prior, classes, min_weight, weights)
    rule, delta_bound = _decide(prior, classes, min_weight, least, privacy, weights)
    n_support = np.diff(prior.support_ptr)[classes.tract]
    _require_covered(rule, delta_bound, classes, least, n_support, privacy)
    retention = _least_retention(prior, classes, min_weight)
    retention[rule == kernels.RULE_EMPTY] = RETENTION_UNITS
    growth = np.full(retention.shape, 2, dtype=np.int64)
    if classes.is_published:
        growth = np.maximum(2, 1 + classes.published_count)
    return Accounting(
        min_weight=min_weight,
        rule=rule,
        delta_bound=delta_bound,
        epsilon_final=_final_epsilons(privacy.epsilon, rule, retention, growth),
        n_support=n_support,
        least_weight=least,
        total_weight=total,
        least_retention=retention,
        growth=growth,
    )


def _units_of_theorem_4_1(published_count: Ints, c: float) -> Ints:
    """Theorem 4.1's weights in units, rounded up; the margin in c covers the rounding of the division."""
    units = np.ceil(published_count / c * WEIGHT_UNITS)
    if (units >= _LARGEST_TOTAL).any():
        raise OverflowRefusedError(
            f"a count of {published_count.max()} at this epsilon needs a prior weight of "
            f"{units.max() / WEIGHT_UNITS:.3g} per support point, beyond 64 bits; raise epsilon"
        )
    return np.maximum(units.astype(np.int64), 1)


def _sort_weights(prior: SupportTable) -> tuple[Ints, Ints]:
    """Base weights sorted within tracts, and their suffix sums with a closing 0 per tract."""
    ordered = np.empty_like(prior.base_weight)
    suffix = np.empty(ordered.shape[0] + prior.support_ptr.shape[0] - 1, dtype=np.int64)
    kernels.sort_tracts(prior.support_ptr, prior.base_weight, ordered, suffix)
    return ordered, suffix


def _weights_used(
    prior: SupportTable, classes: SynthesizerClasses, min_weight: Ints, weights: tuple[Ints, Ints]
) -> tuple[Ints, Ints]:
    """Least and summed weight of each class."""
    largest = int(np.diff(prior.support_ptr).max()) * int(min_weight.max(initial=1))
    largest += int(np.add.reduceat(prior.base_weight.astype(np.float64), prior.support_ptr[:-1]).max())
    if largest >= _LARGEST_TOTAL:
        raise OverflowRefusedError(
            f"prior weights of one synthesizer may sum to {largest / WEIGHT_UNITS:.3g}, beyond 64 bits; "
            "raise epsilon or lower strength"
        )
    least, total = np.empty_like(min_weight), np.empty_like(min_weight)
    kernels.total_classes(prior.support_ptr, classes.tract, *weights, min_weight, least, total)
    return least, total


def _decide(
    prior: SupportTable,
    classes: SynthesizerClasses,
    min_weight: Ints,
    least: Ints,
    privacy: PrivacyParameters,
    weights: tuple[Ints, Ints],
) -> tuple[NDArray[np.int8], Floats]:
    """Rule and delta bound of each class: nothing drawn, Theorem 4.1, else Theorem 4.4, else none."""
    c = cautious_c(privacy.epsilon)
    rule = np.full(least.shape, kernels.RULE_NONE, dtype=np.int8)
    delta_bound = np.ones(least.shape, dtype=np.float64)
    pure = least >= _units_of_theorem_4_1(classes.published_count, c)
    rule[pure], delta_bound[pure] = kernels.RULE_4_1, 0.0
    rule[classes.published_count == 0] = kernels.RULE_EMPTY
    rest = np.flatnonzero(rule == kernels.RULE_NONE)
    if c > 2 and not classes.is_published and rest.size:
        limit = lowered_delta(privacy.delta)
        bound = np.empty(rest.shape[0], dtype=np.float64)
        counts = classes.likelihood_count[rest]
        kernels.bound_classes(
            prior.support_ptr, classes.tract[rest], counts, *weights, min_weight[rest], c, limit, bound
        )
        delta_bound[rest] = bound
        rule[rest[bound <= limit]] = kernels.RULE_4_4
    return rule, delta_bound


def _require_covered(
    rule: NDArray[np.int8],
    delta_bound: Floats,
    classes: SynthesizerClasses,
    least: Ints,
    n_support: Ints,
    privacy: PrivacyParameters,
) -> None:
    """Refuse with the numbers of the first class that no theorem covers."""
    refused = np.flatnonzero(rule == kernels.RULE_NONE)
    if refused.size:
        j = int(refused[0])
        raise CertificateError(
            f"no theorem covers a least prior weight of {least[j] / WEIGHT_UNITS:.6g} at epsilon "
            f"{float(privacy.epsilon):g}, delta {float(privacy.delta):g}, n {classes.published_count[j]}, "
            f"k {n_support[j]} (delta bound {delta_bound[j]:.3g}); raise the weight, epsilon or delta"
        )


def _least_retention(prior: SupportTable, classes: SynthesizerClasses, min_weight: Ints) -> Ints:
    """Least retention over the points that can be pruned: those whose weight is at most 1."""
    prunable = np.where(prior.base_weight <= WEIGHT_UNITS, prior.retention, RETENTION_UNITS)
    of_tract = np.minimum.reduceat(prunable, prior.support_ptr[:-1])
    least: Ints = np.where(min_weight <= WEIGHT_UNITS, of_tract[classes.tract], RETENTION_UNITS)
    return least


def _final_epsilons(epsilon: Fraction, rule: NDArray[np.int8], retention: Ints, growth: Ints) -> Floats:
    """Epsilon after pruning as floats rounded up; the few distinct cases are computed exactly."""
    cases, position = np.unique(np.stack([retention, growth]), axis=1, return_inverse=True)
    values = [
        pruned_epsilon(epsilon, Fraction(int(kept), RETENTION_UNITS), int(grown)) for kept, grown in cases.T
    ]
    rounded = np.array([np.nextafter(float(value), np.inf) for value in values], dtype=np.float64)
    final: Floats = rounded[position.reshape(-1)]
    final[rule == kernels.RULE_EMPTY] = 0.0
    return final


def _require_paper(privacy: PrivacyParameters) -> None:
    if privacy.accountant != "paper":
        raise ParameterError(
            f"accountant is {privacy.accountant!r}; these theorems take epsilon before pruning, so they certify "
            "accountant 'paper' only; use engine.accountant.sound"
        )


def _require_ints(name: str, values: object) -> None:
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype != np.int64:
        kind = (
            f"{values.dtype}{list(values.shape)}" if isinstance(values, np.ndarray) else type(values).__name__
        )
        raise ParameterError(f"{name} is {kind}; a one-dimensional int64 array is needed")


def require_tracts(prior: SupportTable, classes: SynthesizerClasses) -> None:
    """Refuse tracts without support points, and classes of tracts that the prior does not have.

    Raises
    ------
    ParameterError
        If there are such.
    """
    n_tracts = prior.support_ptr.shape[0] - 1
    bare = np.flatnonzero(prior.n_support == 0)
    if bare.size:
        raise ParameterError(
            f"support_ptr gives destination tract {bare[0]} no support point; give each at least one"
        )
    if classes.tract.size and classes.tract.max() >= n_tracts:
        raise ParameterError(
            f"a class names destination tract {classes.tract.max()}; the prior has {n_tracts}, counted from 0"
        )
