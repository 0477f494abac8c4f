"""The promise of a release: prior weights certified from public facts, and the certificate that says so.

Everything here is a function of what a release carries (n is public, and equals what is drawn), so that `certify` makes
the same certificate again from the release alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.accept_reject import certify_accepted, inner_privacy
from engine.accountant import RULES, Accounting, PriorTable, SynthesizerClasses, certify_classes
from engine.errors import CertificateError
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters
from engine.sound import SoundAccounting, certify_sound, certify_sound_weights
from engine.streams import PublicSeed
from engine.theorems import pruned_epsilon
from engine.units import RETENTION_UNITS
from geodata.schema import PUBLIC_TABLES
from geodata.store import Store
from mapapp.publishing.certificate.certificate import build_certificate, certificate_rows, merge_rows
from mapapp.publishing.certificate.terms import RULE_4_4
from mapapp.publishing.geography import Ints
from mapapp.publishing.inputs import Inputs
from mapapp.publishing.last_release import LAST_RELEASE_CAVEAT
from mapapp.publishing.mechanisms import OWN_PROOFS
from mapapp.publishing.prior import PublicPrior
from mapapp.publishing.support import Support


@dataclass(frozen=True, slots=True, kw_only=True)
class Tails:
    """Classes that Theorem 4.4 certifies and that can be pruned: the sound bound must agree.

    Attributes
    ----------
    table : PriorTable
    classes : SynthesizerClasses
    min_weight : int64[n_classes]
    costs : set of (least retention, growth)
        Of all classes of the batch: what pruning adds to epsilon.
    """

    table: PriorTable
    classes: SynthesizerClasses
    min_weight: Ints
    costs: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedBatch:
    """The certified weights of a batch of destination tracts, and its part of the certificate.

    Attributes
    ----------
    min_prior_weight : int64[S]
        Least prior weight of every synthesizer, in multiples of 2^-20.
    prunes : bool[S]
        False where a synthesizer keeps all its points.
    accepted_ratio : int64[S] or None
        Under accept/reject, what is accepted.
    rows : list of dict
        For the certificate.
    n_support : tuple of (least, sum, greatest)
        Support points of the destination tracts.
    n_eliminated, n_without_flows : int
        As in `Support`.
    tails : Tails or None
        Under the paper accountant.
    """

    min_prior_weight: Ints
    prunes: npt.NDArray[np.bool_]
    accepted_ratio: Ints | None
    rows: list[dict[str, Any]]
    n_support: tuple[int, int, int]
    n_eliminated: int
    n_without_flows: int
    tails: Tails | None


def certify_batch(
    inputs: Inputs,
    support: Support,
    privacy: PrivacyParameters,
    mechanism: Mechanism = "dirichlet-multinomial",
) -> CertifiedBatch:
    """Certify the prior weights of every synthesizer of a batch.

    Where the mechanism has a proof of its own there is nothing to certify: prior weights are shares of the prior then.

    Raises
    ------
    EngineError
        When no weight keeps the promise.
    """
    if mechanism in OWN_PROOFS:
        n_synthesizers = inputs.tract.size
        return _certified(
            support, np.ones(n_synthesizers, dtype=np.int64), [{"synthesizers": n_synthesizers}]
        )
    classes, class_of = _classes(inputs)
    table = PriorTable(
        support_ptr=support.table.support_ptr,
        base_weight=support.table.prior_weight,
        retention=support.table.retention_threshold,
    )
    times = np.bincount(class_of)
    if mechanism == "accept-reject":
        accepted = certify_accepted(table, classes, privacy)
        rows = certificate_rows(inner_privacy(privacy), classes, accepted.sound, times)
        weight, ratio = accepted.sound.min_weight[class_of], accepted.ratio[class_of]
        return _certified(support, weight, rows, accepted_ratio=ratio)
    accounting = certify(table, classes, privacy)
    return _certified(
        support,
        accounting.min_weight[class_of],
        certificate_rows(privacy, classes, accounting, times),
        prunes=prunes_of(accounting)[class_of],
        tails=tails_of(table, classes, accounting) if isinstance(accounting, Accounting) else None,
    )


def _certified(
    support: Support,
    min_prior_weight: Ints,
    rows: list[dict[str, Any]],
    *,
    prunes: npt.NDArray[np.bool_] | None = None,
    accepted_ratio: Ints | None = None,
    tails: Tails | None = None,
) -> CertifiedBatch:
    n_support = support.coarsening.n_support
    return CertifiedBatch(
        min_prior_weight=min_prior_weight,
        prunes=np.ones(min_prior_weight.shape, dtype=np.bool_) if prunes is None else prunes,
        accepted_ratio=accepted_ratio,
        rows=rows,
        n_support=(int(n_support.min()), int(n_support.sum()), int(n_support.max())),
        n_eliminated=support.n_eliminated,
        n_without_flows=support.n_without_flows,
        tails=tails,
    )


def certify(
    table: PriorTable, classes: SynthesizerClasses, privacy: PrivacyParameters
) -> Accounting | SoundAccounting:
    """Certify classes as releases are: by the accountant that `privacy` asks for.

    Raises
    ------
    EngineError
        When no weight keeps the promise.
    """
    if privacy.accountant == "sound":
        return certify_sound(table, classes, privacy, allow_unpruned=True)
    return certify_classes(table, classes, privacy)


def prunes_of(accounting: Accounting | SoundAccounting) -> npt.NDArray[np.bool_]:
    """Whether each class prunes: bool[n_classes]; under the paper's accountant all do."""
    if isinstance(accounting, SoundAccounting):
        return accounting.prune
    return np.ones(accounting.min_weight.shape, dtype=np.bool_)


def make_certificate(
    store: Store,
    batches: Sequence[CertifiedBatch],
    prior: PublicPrior,
    seed: PublicSeed,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    confidential_inputs: Mapping[str, str],
    reasons: Sequence[str] = (),
    design: Mapping[str, Any] | None = None,
    versions: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Write the certificate of a release from what was certified batch by batch.

    Parameters
    ----------
    store : Store
        The dataset, or a release that is checked again; only hashes of its public tables are read.
    batches, prior, seed, privacy, parameters
        What the release is made of.
    confidential_inputs : mapping of str to str
        Keyed hashes; a release under check repeats its own.
    reasons : sequence of str
        Why the release may not be published.
    design : mapping, optional
        How the setting was chosen, where it was.
    versions : mapping of str to str, optional
        Of the software; by default what runs now.

    Raises
    ------
    EngineError
        When a condition of the promise does not hold.
    """
    facts, doubts = pruned_as_a_whole([batch.tails for batch in batches if batch.tails], privacy, parameters)
    if parameters.prior == "flows":
        facts["tracts_without_flows"] = sum(batch.n_without_flows for batch in batches)
    facts |= {
        "editing_seed": seed.digits,
        "n_eliminated": sum(batch.n_eliminated for batch in batches),
    }
    if design is not None:
        facts["design"] = dict(design)
    certificate = build_certificate(
        privacy=privacy,
        synthesis=parameters,
        rows=_rows_of_all(batches, privacy, parameters.mechanism),
        is_published=False,
        public_inputs=_public_hashes(store),
        confidential_inputs=confidential_inputs,
        construction=prior.facts | facts,
        reasons=(*reasons, *doubts),
        versions=versions,
    )
    if "last_release" in prior.facts:
        certificate["caveats"].append(LAST_RELEASE_CAVEAT)
    failed = [item["name"] for item in certificate["preconditions"] if not item["holds"]]
    if failed and not parameters.replication:
        raise CertificateError(f"a precondition does not hold: {'; '.join(failed)}; nothing is promised")
    return certificate


def _rows_of_all(
    batches: Sequence[CertifiedBatch], privacy: PrivacyParameters, mechanism: Mechanism
) -> list[dict[str, Any]]:
    """Rows of all batches as those of one."""
    parts = [batch.rows for batch in batches]
    return [row for rows in parts for row in rows] if mechanism in OWN_PROOFS else merge_rows(privacy, parts)


def tails_of(table: PriorTable, classes: SynthesizerClasses, accounting: Accounting) -> Tails:
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
        table=table, classes=subset, min_weight=accounting.min_weight[doubtful], costs=frozenset(costs)
    )


def pruned_as_a_whole(
    tails: Sequence[Tails], privacy: PrivacyParameters, parameters: SynthesisParameters
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Hold the paper's weights against the bound for drawing and pruning as one, where Theorem 4.4 chose them.

    Theorem 5.2 says that pruning keeps Theorem 4.4's delta. It does not: at epsilon 2, k = 1000, n = 20, retention
    0.001 and delta 1e-6 the pruned mechanism fails with probability 1e-3. So its word is taken only where the sound
    bound, at the same final epsilon, agrees.

    Returns
    -------
    facts : dict
        For the certificate: the largest bound; nothing where the paper accountant was not used.
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
            "larger min_retention, or replication to repeat what was published, stamped not for release"
        ) from error
    return {"pruned_delta_bound": worst}, ()


def _classes(inputs: Inputs) -> tuple[SynthesizerClasses, Ints]:
    """Distinct (destination tract, n) and the class of every synthesizer."""
    base = int(inputs.count.max()) + 1
    distinct, class_of = np.unique(inputs.tract.astype(np.int64) * base + inputs.count, return_inverse=True)
    n = distinct % base
    return SynthesizerClasses(tract=distinct // base, likelihood_count=n, published_count=n), class_of


def _public_hashes(store: Store) -> dict[str, str]:
    """Sha256 of what was public before: the geography and the prior flows."""
    files = store.manifest["files"]
    return {table.name: files[f"{table.name}.parquet"]["sha256"] for table in PUBLIC_TABLES}
