"""Certified prior weights of a batch of destination tracts: the numbers that drawing and measuring need.

Nothing here writes a certificate; :mod:`mapapp.kinds.release.make.promise` does. Everything follows from public facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.accountant.paper import RULES, Accounting, SynthesizerClasses, certify_classes
from engine.accountant.sound import (
    SOUND_RULES,
    SOUND_TAILS,
    SoundAccounting,
    certify_sound,
    certify_sound_weights,
)
from engine.accountant.theorems import pruned_epsilon
from engine.errors import CertificateError
from engine.kernels.units import RETENTION_UNITS
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters
from engine.support.support_table import SupportTable
from engine.validity import PriorClasses
from mapapp.kinds.base.certificate import RULE_4_4
from mapapp.kinds.base.geography import Ints
from mapapp.kinds.base.inputs import CountedSynthesizers
from mapapp.kinds.release.make.support import Support

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesizerWeights:
    """Certified prior weights as the draw takes them, one entry per synthesizer.

    Attributes
    ----------
    min_prior_weight : int64[S]
        Least prior weight in units of 2^-20.
    prunes : bool[S]
        False where a synthesizer keeps all its points.
    """

    min_prior_weight: Ints
    prunes: Bools


@dataclass(frozen=True, slots=True, kw_only=True)
class Tails:
    """Classes that Theorem 4.4 certifies and that can be pruned: the sound bound must agree.

    Attributes
    ----------
    table : SupportTable
    classes : SynthesizerClasses
    min_weight : int64[n_classes]
    costs : set of (least retention, growth)
        Of all classes of the batch: what pruning adds to epsilon.
    """

    table: SupportTable
    classes: SynthesizerClasses
    min_weight: Ints
    costs: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedClasses:
    """Certified prior weights of every class of synthesizers: those of one destination tract and one n.

    Attributes
    ----------
    prior : SupportTable
        Weights and retentions of the support points.
    classes : SynthesizerClasses
    class_of : int64[S]
        Class of each synthesizer.
    accounting : Accounting, SoundAccounting or None
        What certifies each class; None for the exponential mechanism, which has no weights to certify.
    """

    prior: SupportTable
    classes: SynthesizerClasses
    class_of: Ints
    accounting: Accounting | SoundAccounting | None = None

    @property
    def min_weight(self) -> Ints:
        """Least prior weight of each class in units of 2^-20: int64[n_classes]; 1 without an accounting."""
        return np.ones_like(self.classes.tract) if self.accounting is None else self.accounting.min_weight

    @property
    def prunes(self) -> Bools:
        """Whether each class prunes: bool[n_classes]. All do, except some under the sound accountant."""
        if isinstance(self.accounting, SoundAccounting):
            return self.accounting.prune
        return np.ones(self.classes.tract.shape, dtype=np.bool_)

    @property
    def n_synthesizers(self) -> Ints:
        """Number of synthesizers in each class: int64[n_classes]."""
        return np.bincount(self.class_of, minlength=self.classes.tract.size)

    def of_synthesizers(self) -> SynthesizerWeights:
        """The weights of every synthesizer."""
        return SynthesizerWeights(
            min_prior_weight=self.min_weight[self.class_of], prunes=self.prunes[self.class_of]
        )

    def prior_classes(self) -> PriorClasses:
        """The weights as the closed form of the posterior takes them."""
        return PriorClasses(
            prior=self.prior, tract=self.classes.tract, min_weight=self.min_weight, prunes=self.prunes
        )

    def tails(self) -> Tails | None:
        """The classes that need a second opinion; None unless the paper's accountant certified them."""
        if isinstance(self.accounting, Accounting):
            return tails_of(self.prior, self.classes, self.accounting)
        return None


def certify_weights(
    synthesizers: CountedSynthesizers,
    support: Support,
    privacy: PrivacyParameters,
    mechanism: Mechanism = "dirichlet-multinomial",
) -> CertifiedClasses:
    """Certify the prior weights of the synthesizers of some destination tracts.

    Raises
    ------
    EngineError
        No weight keeps the promise.
    """
    classes, class_of = classes_of(synthesizers)
    prior = support.table
    accounting = None if mechanism == "exponential" else _certify(prior, classes, privacy)
    return CertifiedClasses(prior=prior, classes=classes, class_of=class_of, accounting=accounting)


def classes_of(synthesizers: CountedSynthesizers) -> tuple[SynthesizerClasses, Ints]:
    """Distinct (destination tract, n), rising, and the class of every synthesizer."""
    base = int(synthesizers.count.max()) + 1
    key = synthesizers.tract.astype(np.int64) * base + synthesizers.count
    distinct, class_of = np.unique(key, return_inverse=True)
    n = distinct % base
    return SynthesizerClasses(tract=distinct // base, likelihood_count=n, published_count=n), class_of


def _certify(
    prior: SupportTable, classes: SynthesizerClasses, privacy: PrivacyParameters
) -> Accounting | SoundAccounting:
    if privacy.accountant == "sound":
        return certify_sound(prior, classes, privacy, allow_unpruned=True)
    return certify_classes(prior, classes, privacy)


def badness_of(accounting: Accounting | SoundAccounting, members: Ints | slice = slice(None)) -> Floats:
    """What makes one class worse than another of the same rule: float64, one entry for each of `members`.

    The failure probability if the rule has one; else how small the least weight is.
    """
    is_sound = isinstance(accounting, SoundAccounting)
    tails = SOUND_RULES.index(SOUND_TAILS) if is_sound else RULES.index(RULE_4_4)
    return np.where(
        accounting.rule[members] == tails, accounting.delta_bound[members], -accounting.least_weight[members]
    )


def tails_of(prior: SupportTable, classes: SynthesizerClasses, accounting: Accounting) -> Tails:
    """Pick the classes about which the paper's accountant needs a second opinion."""
    doubtful = np.flatnonzero(
        (accounting.rule == RULES.index(RULE_4_4)) & (accounting.least_retention < RETENTION_UNITS)
    )
    costs = zip(accounting.least_retention.tolist(), accounting.growth.tolist(), strict=True)
    subset = SynthesizerClasses(
        tract=classes.tract[doubtful],
        likelihood_count=classes.likelihood_count[doubtful],
        published_count=classes.published_count[doubtful],
    )
    return Tails(
        table=prior, classes=subset, min_weight=accounting.min_weight[doubtful], costs=frozenset(costs)
    )


def pruned_as_a_whole(
    tails: Sequence[Tails], privacy: PrivacyParameters, parameters: SynthesisParameters
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Hold the paper's weights against the bound for drawing and pruning as one, where Theorem 4.4 chose them.

    Theorem 5.2 says that pruning keeps Theorem 4.4's delta. It does not: at epsilon 2, k = 1000, n = 20, retention
    0.001 and delta 1e-6 the pruned mechanism fails with probability 1e-3. So its word is taken only where the sound
    bound, at the same final epsilon, agrees.

    Returns
    -------
    facts : dict
        For the certificate: the largest bound; empty unless the paper's accountant was used.
    doubts : tuple of str
        Under replication, why the release is not for release.

    Raises
    ------
    CertificateError
        When the bound exceeds delta and the release is to be published.
    """
    if not tails:
        return {}, ()
    final = max(
        pruned_epsilon(privacy.epsilon, Fraction(kept, RETENTION_UNITS), growth)
        for kept, growth in set().union(*(part.costs for part in tails))
    )
    whole = PrivacyParameters(
        epsilon=final, delta=privacy.delta, min_retention=privacy.min_retention, accountant="sound"
    )
    worst = 0.0
    try:
        for part in tails:
            if part.min_weight.size:
                sound = certify_sound_weights(part.table, part.classes, part.min_weight, whole)
                worst = max(worst, float(sound.delta_bound.max()))
    except CertificateError as error:
        if parameters.replication:
            return {}, ("pruning: no proof covers delta at these settings",)
        raise CertificateError(
            f"pruning does not keep the delta {float(privacy.delta):g} of Theorem 4.4 at epsilon "
            f"{float(privacy.epsilon):g} and min_retention {float(privacy.min_retention):g}; use accountant 'sound', a "
            "larger min_retention, or replication to repeat what was published, marked not for release"
        ) from error
    return {"pruned_delta_bound": worst}, ()
