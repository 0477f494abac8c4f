"""The promise of a release: prior weights certified from public facts, and the certificate that says so.

Everything here is a function of what a release carries (n is public, and equals what is drawn), so that `certify` makes
the same certificate again from the release alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.accountant import PriorTable, SynthesizerClasses, certify_classes
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.sound import certify_sound
from geodata.schema import PUBLIC_TABLES
from geodata.store import Store
from mapapp.certificate import build_certificate
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
    certificate = build_certificate(
        privacy=privacy,
        synthesis=parameters,
        classes=classes,
        accounting=accounting,
        synthesizers=np.bincount(class_of),
        public_inputs=_public_hashes(store),
        confidential_inputs=confidential_inputs,
        construction=support.facts,
        reasons=reasons,
        versions=versions,
    )
    return Promise(min_prior_weight=accounting.min_weight[class_of], certificate=certificate)


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
