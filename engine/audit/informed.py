"""The informed attacker, who knows the mechanism, all public inputs and every other worker: where does the victim live?

This is the attacker that differential privacy speaks of. The belief in point i after the release is proportional to
the belief before it times the likelihood ratio LR_i, the chance of the published table if the victim lives in i. The
largest LR_i is at most e^epsilon times the least, but for what delta allows: an audit that sees more has found an error
in this program.

Before the release, the belief in point i is (o_i + 5 q_i)/(n + 4): o_i are the n - 1 other workers of the
(destination, segment), q_i = (t_i + share_i)/(T + 1), t_i the T other workers of the destination tract.

The release is read as the mechanism drew it. Later steps make this an approximation where they change the table: a
remainder point (:mod:`engine.support.editing`), whose published workers were drawn again, and cleaning
(:mod:`engine.mechanisms.cleaning`). The likelihood ratios of the exponential mechanism and of keep-or-redraw are within
epsilon for any published table; leave tracts with a remainder out of the alarm of the others.

Source: docs/theory/method.md, section 7h.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, Protocol, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray, as_amounts
from engine.audit.coded_tables import Predictions
from engine.audit.kernels.beliefs import BELIEFS, Cells, CellSpace, PriorBeliefs
from engine.audit.kernels.dirichlet import PrunedSpace, Pruning, dirichlet_range
from engine.audit.kernels.exponential import ClassSpace, exponential_beliefs_range
from engine.audit.kernels.redraw import PairSpace, redraw_beliefs_range
from engine.errors import ParameterError
from engine.kernels.arrays import Indices, PointLists, Support
from engine.kernels.units import WEIGHT_UNITS
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints, check_fit
from engine.mechanisms.exponential import unit_thetas
from engine.mechanisms.thetas import THETA_UNITS, exponential_epsilon, inverse_theta
from engine.parameters import Mechanism, PrivacyParameters, Unit
from engine.support.support_table import SupportTable
from engine.threads import run_ranges

__all__ = [
    "DirichletMultinomial",
    "Exponential",
    "InformedPredictions",
    "KeepOrRedraw",
    "Likelihood",
    "PriorBelief",
    "informed_attack",
    "likelihood_of",
]

Ints = npt.NDArray[np.int64]

PriorBelief: TypeAlias = Literal["others", "public"]

_PUBLIC_WEIGHT = 5.0
"""Weight of the whole destination tract beside the other workers of the cell; a choice."""


class InformedPredictions(NamedTuple):
    """What the informed attacker believes about each real worker, in the order of ``synthesizers.worker_point``.

    Attributes
    ----------
    without_release, with_release : Predictions
        Local support points.
    truth_without, truth_with : float64[N]
        Belief in the real point.
    spread : float64[N]
        Largest less least logarithm of the likelihood ratios of all support points.
    """

    without_release: Predictions
    with_release: Predictions
    truth_without: FloatArray
    truth_with: FloatArray
    spread: FloatArray


class _Attack(NamedTuple):
    """What the attack on every mechanism takes."""

    synthesizers: Synthesizers
    support: SupportTable
    cells: Cells
    prior: PriorBeliefs
    found: FloatArray


class Likelihood(Protocol):
    """The likelihood ratios of one mechanism."""

    def attack(self, attack: _Attack, epsilon: float, threads: int) -> None:
        """Fill ``attack.found``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DirichletMultinomial:
    """The Dirichlet-multinomial with pruning, as :func:`engine.mechanisms.dirichlet_multinomial.synthesize` draws it.

    Attributes
    ----------
    certain_above : int
        Prior weight (units of 2^-20) above which a point is never pruned.
    """

    certain_above: int = WEIGHT_UNITS

    def attack(self, attack: _Attack, epsilon: float, threads: int) -> None:
        """Fill ``attack.found``."""
        synthesizers, support = attack.synthesizers, attack.support
        table = Support(support.support_ptr, support.base_weight, support.retention)
        prunes = synthesizers.prunes
        if prunes is None:
            prunes = np.ones(synthesizers.tract.size, dtype=np.bool_)
        pruning = Pruning(synthesizers.min_prior_weight, prunes, self.certain_above, epsilon)
        n_points = int(support.n_support.max(initial=1))

        def run(start: int, stop: int) -> int:
            pruned = PrunedSpace(
                alpha=np.empty(n_points),
                kept=np.empty(n_points),
                empty=np.empty(n_points, dtype=np.bool_),
                log_factor=np.empty(n_points),
                ratio=np.empty(n_points),
            )
            space, bounds = _space(n_points), (start, stop)
            return dirichlet_range(
                bounds, attack.cells, attack.prior, table, pruning, space, pruned, attack.found
            )

        run_ranges(run, _work(attack), threads)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential:
    """The exponential mechanism, as :func:`engine.mechanisms.exponential.exponential` draws single cells.

    Attributes
    ----------
    epsilon : Fraction
        Of the release.
    """

    epsilon: Fraction

    def attack(self, attack: _Attack, epsilon: float, threads: int) -> None:
        """Fill ``attack.found``."""
        thetas = unit_thetas(exponential_epsilon(self.epsilon), attack.synthesizers, attack.support)
        n_points = int(attack.support.n_support.max(initial=1))
        most_workers = int(attack.synthesizers.n_likelihood.max(initial=1))
        # n workers in points with different numbers of workers: 1 + 2 + ... up to n at most.
        n_classes = int(np.sqrt(2.0 * most_workers)) + 3

        def run(start: int, stop: int) -> int:
            classes = ClassSpace(
                workers=np.zeros(n_classes, dtype=np.int64),
                times=np.zeros(n_classes, dtype=np.int64),
                of_slot=np.zeros(n_points, dtype=np.int32),
                real=np.zeros((3, n_classes)),
                turned=np.zeros((3, n_classes), dtype=np.complex128),
                products=np.zeros((2, n_classes + 1), dtype=np.complex128),
                log_z=np.zeros((n_classes, n_classes)),
            )
            space, bounds = _space(n_points), (start, stop)
            return exponential_beliefs_range(
                bounds, attack.cells, attack.prior, thetas, space, classes, attack.found
            )

        run_ranges(run, _work(attack), threads)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepOrRedraw:
    """Keep-or-redraw, as :func:`engine.comparison.randomizing.keep_or_redraw` draws single cells.

    Attributes
    ----------
    epsilon : Fraction
        Of the release.
    """

    epsilon: Fraction

    def attack(self, attack: _Attack, epsilon: float, threads: int) -> None:
        """Fill ``attack.found``."""
        odds = inverse_theta(exponential_epsilon(self.epsilon), 1, 1) / THETA_UNITS
        n_points = int(attack.support.n_support.max(initial=1))

        def run(start: int, stop: int) -> int:
            pairs = PairSpace(
                real=np.zeros(n_points, dtype=np.int64),
                made=np.zeros(n_points, dtype=np.int64),
                times=np.zeros(n_points, dtype=np.int64),
                of_slot=np.zeros(n_points, dtype=np.int32),
                less=np.zeros((3, n_points)),
                sums=np.zeros((n_points, n_points + 1)),
            )
            space, bounds = _space(n_points), (start, stop)
            return redraw_beliefs_range(bounds, attack.cells, attack.prior, odds, space, pairs, attack.found)

        run_ranges(run, _work(attack), threads)


def likelihood_of(mechanism: Mechanism, unit: Unit, privacy: PrivacyParameters) -> Likelihood | None:
    """The likelihood ratios of a mechanism; None if there is no closed form, so that the attacker is left out.

    Parameters
    ----------
    mechanism : str
    unit : str
        Workers drawn together. Only cells have a closed form.
    privacy : PrivacyParameters
        The promise.
    """
    if unit != "cell":
        return None
    if mechanism == "dirichlet-multinomial":
        return DirichletMultinomial()
    return Exponential(epsilon=privacy.epsilon)


def informed_attack(
    synthesizers: Synthesizers,
    published: SyntheticPoints,
    support: SupportTable,
    share: FloatArray,
    likelihood: Likelihood,
    *,
    epsilon: float,
    prior: PriorBelief = "others",
    threads: int = 1,
) -> InformedPredictions:
    """Predict the support point of every worker, from everybody else and with the release.

    Parameters
    ----------
    synthesizers : Synthesizers
        The real workers. All those of a destination tract must be in one call.
    published : SyntheticPoints
        Local support points of the published workers of each synthesizer.
    support : SupportTable
        As certified.
    share : float64[K]
        Public prior share of each support point in its tract.
    likelihood : Likelihood
        From :func:`likelihood_of`.
    epsilon : float
        Of the release as published. If the ratios of a Dirichlet-multinomial may be more than e^epsilon apart, they are
        found exactly.
    prior : {"others", "public"}
        Belief before the release: from all other workers, or the public share.
    threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    InformedPredictions

    Raises
    ------
    ParameterError
        The arrays do not agree, or a point is outside its tract.
    SupportError, OverflowRefusedError
        As :func:`engine.mechanisms.dirichlet_multinomial.synthesize`.

    Notes
    -----
    For the Dirichlet-multinomial, time grows with occupied points times support points, otherwise with workers.
    """
    if prior not in get_args(PriorBelief):
        raise ParameterError(f"prior {prior!r}: allowed are {', '.join(get_args(PriorBelief))}")
    shares = as_amounts("share", share)
    if shares.size != support.base_weight.size:
        raise ParameterError(
            f"{shares.size} shares for {support.base_weight.size} support points: give one each"
        )
    _require_published(synthesizers, published, support)
    predicted = np.empty((synthesizers.worker_point.size, BELIEFS))
    cells = Cells(
        workers=PointLists(synthesizers.worker_ptr, synthesizers.worker_point),
        published=PointLists(published.synthetic_ptr, published.synthetic_point),
        tract=synthesizers.tract,
        support_ptr=support.support_ptr,
    )
    beliefs = _prior_beliefs(synthesizers, support, shares, prior)
    likelihood.attack(_Attack(synthesizers, support, cells, beliefs, predicted), epsilon, threads)
    return InformedPredictions(
        without_release=Predictions(predicted[:, 0].astype(np.int64), predicted[:, 1].copy()),
        with_release=Predictions(predicted[:, 3].astype(np.int64), predicted[:, 4].copy()),
        truth_without=predicted[:, 2].copy(),
        truth_with=predicted[:, 5].copy(),
        spread=predicted[:, 6].copy(),
    )


def _require_published(synthesizers: Synthesizers, published: SyntheticPoints, support: SupportTable) -> None:
    """Refuse points outside their tracts, and lists that do not belong to these synthesizers."""
    ptr, point = published.synthetic_ptr, published.synthetic_point
    check_fit(synthesizers, support, ptr)
    if ptr.size != synthesizers.tract.size + 1 or ptr[-1] != point.size:
        raise ParameterError(
            f"published workers of {ptr.size - 1} synthesizers for {synthesizers.tract.size} real ones: give the same"
        )
    n_points = support.n_support[np.repeat(synthesizers.tract, np.diff(ptr))]
    n_outside = int(np.count_nonzero((point < 0) | (point >= n_points)))
    if n_outside:
        raise ParameterError(
            f"{n_outside} published workers are in a support point that their destination tract does not have: "
            "find the points of their homes in the same coarsening"
        )


def _prior_beliefs(
    synthesizers: Synthesizers, support: SupportTable, share: FloatArray, prior: PriorBelief
) -> PriorBeliefs:
    n_tracts, tract = support.n_support.size, synthesizers.tract
    weight, scale = share, np.ones(n_tracts)
    if prior == "others":
        of_worker = np.repeat(tract, synthesizers.n_likelihood)
        at = support.support_ptr[of_worker] + synthesizers.worker_point
        weight = share + np.bincount(at, minlength=share.size)
        n_workers = np.bincount(of_worker, minlength=n_tracts)
        scale = _PUBLIC_WEIGHT / np.maximum(n_workers, 1)
    of_tract = np.repeat(np.arange(n_tracts), support.n_support)
    order = np.lexsort((-weight, of_tract)) - support.support_ptr[of_tract]
    return PriorBeliefs(
        weight=weight, order=order.astype(np.int32), scale=scale, own=1.0 if prior == "others" else 0.0
    )


def _space(n_points: int) -> CellSpace:
    """Arrays that one thread works in."""

    def points() -> Indices:
        return np.zeros(n_points, dtype=np.int32)

    return CellSpace(
        real=np.zeros(n_points, dtype=np.int64),
        made=np.zeros(n_points, dtype=np.int64),
        slot=points(),
        point=points(),
        log_ratio=np.zeros(n_points),
        found=np.zeros((n_points, BELIEFS)),
    )


def _work(attack: _Attack) -> Ints:
    """Relative cost of each cell."""
    workers = attack.cells.workers.ptr
    return np.asarray(np.diff(workers) + 20, dtype=np.int64)
