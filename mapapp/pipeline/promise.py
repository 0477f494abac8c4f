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

from engine.accountant import (
    RETENTION_UNITS,
    RULES,
    Accounting,
    PriorTable,
    SynthesizerClasses,
    certify_classes,
)
from engine.errors import CertificateError
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.sound import certify_sound, certify_sound_weights
from engine.theorems import pruned_epsilon
from geodata.schema import PUBLIC_TABLES
from geodata.store import Store
from mapapp.certificate import build_certificate
from mapapp.certificate_terms import RULE_4_4
from mapapp.pipeline.inputs import Inputs, Ints
from mapapp.pipeline.support import Support


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What is promised, and the weights that keep it.

    Attributes
    ----------
    min_prior_weight : int64[S]
        Least prior weight of every synthesizer, in multiples of 2^-20.
    certificate : dict
        For `certificate.json`.
    """

    min_prior_weight: Ints
    certificate: dict[str, Any]


def make_promise(
    store: Store,
    inputs: Inputs,
    support: Support,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    confidential_inputs: Mapping[str, str],
    reasons: Sequence[str] = (),
    versions: Mapping[str, str] | None = None,
) -> Promise:
    """Certify every synthesizer and write the certificate.

    Parameters
    ----------
    store : Store
        The dataset, or a release that is checked again; only hashes of its public tables are read.
    inputs, support, privacy, parameters
        What the release is made of.
    confidential_inputs : mapping of str to str
        Keyed hashes; a release under check repeats its own.
    reasons : sequence of str
        Why the release may not be published.
    versions : mapping of str to str, optional
        Of the software; by default what runs now.

    Raises
    ------
    EngineError
        When a condition of the promise does not hold.
    """
    classes, class_of = _classes(inputs)
    table = PriorTable(
        support_ptr=support.table.support_ptr,
        base_weight=support.table.prior_weight,
        retention=support.table.retention_threshold,
    )
    certify = certify_sound if privacy.accountant == "sound" else certify_classes
    accounting = certify(table, classes, privacy)
    facts: dict[str, Any] = {}
    doubts: tuple[str, ...] = ()
    if isinstance(accounting, Accounting):
        facts, doubts = pruned_as_a_whole(table, classes, accounting, privacy, parameters)
    certificate = build_certificate(
        privacy=privacy,
        synthesis=parameters,
        classes=classes,
        accounting=accounting,
        synthesizers=np.bincount(class_of),
        public_inputs=_public_hashes(store),
        confidential_inputs=confidential_inputs,
        construction=support.facts | facts,
        reasons=(*reasons, *doubts),
        versions=versions,
    )
    failed = [item["name"] for item in certificate["preconditions"] if not item["holds"]]
    if failed and not parameters.replication:
        raise CertificateError(f"a precondition does not hold: {'; '.join(failed)}; nothing is promised")
    return Promise(min_prior_weight=accounting.min_weight[class_of], certificate=certificate)


def pruned_as_a_whole(
    table: PriorTable,
    classes: SynthesizerClasses,
    accounting: Accounting,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Hold the paper's weights against the bound for drawing and pruning as one, where Theorem 4.4 chose them.

    Theorem 5.2 says that pruning keeps Theorem 4.4's delta. It does not: at epsilon 2, k = 1000, n = 20, retention
    0.001 and delta 1e-6 the pruned mechanism fails with probability 1e-3. So its word is taken only where the sound
    bound, at the same final epsilon, agrees.

    Returns
    -------
    facts : dict
        For the certificate: the largest bound.
    doubts : tuple of str
        Under replication, why the release is not for release.

    Raises
    ------
    CertificateError
        When the bound exceeds delta and the release is to be published.
    """
    doubtful = np.flatnonzero(
        (accounting.rule == RULES.index(RULE_4_4)) & (accounting.least_retention < RETENTION_UNITS)
    )
    if not doubtful.size:
        return {"pruned_delta_bound": 0.0}, ()
    final = max(
        pruned_epsilon(privacy.epsilon, Fraction(int(kept), RETENTION_UNITS), int(growth))
        for kept, growth in set(zip(accounting.least_retention, accounting.growth, strict=True))
    )
    whole = PrivacyParameters(
        epsilon=final, delta=privacy.delta, min_retention=privacy.min_retention, accountant="sound"
    )
    subset = SynthesizerClasses(
        tract=classes.tract[doubtful],
        likelihood_count=classes.likelihood_count[doubtful],
        published_count=classes.published_count[doubtful],
    )
    try:
        sound = certify_sound_weights(table, subset, accounting.min_weight[doubtful], whole)
    except CertificateError as error:
        if parameters.replication:
            return {}, ("pruning: no proof covers delta at these settings",)
        raise CertificateError(
            f"pruning does not keep the delta {float(privacy.delta):g} of Theorem 4.4 at epsilon "
            f"{float(privacy.epsilon):g} and min_retention {float(privacy.min_retention):g}; use accountant 'sound', a "
            "larger min_retention, or replication to repeat what was published, stamped not for release"
        ) from error
    return {"pruned_delta_bound": float(sound.delta_bound.max())}, ()


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
