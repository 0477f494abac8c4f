"""The promise of a release: prior weights certified from public facts, and the certificate that says so.

Everything here is a function of what a release carries (n is public, and equals what is drawn), so that `certify` makes
the same certificate again from the release alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from engine.errors import CertificateError
from engine.mechanisms.cascade import count_clusters
from engine.mechanisms.prices import LawVersion
from engine.mechanisms.unit import sizes_of_units
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from geodata.json_objects import JsonObject
from geodata.store.store import Store
from mapapp.answers.claims import as_json
from mapapp.answers.promise.shown_counts import counts_caveat
from mapapp.kinds.base.certificate import (
    BLOCK_MARGINS_CAVEAT,
    MARGINS_CAVEAT,
    UNIT_GIVEN_COUNTS,
    Row,
    public_hashes,
)
from mapapp.kinds.base.inputs import WorkplaceCounts
from mapapp.kinds.base.persons import has_persons, job_person_claim
from mapapp.kinds.release.certificate.certificate import build_certificate, certificate_rows, merge_rows
from mapapp.kinds.release.make.certified_weights import (
    CertifiedClasses,
    SynthesizerWeights,
    Tails,
    certify_weights,
    pruned_as_a_whole,
)
from mapapp.kinds.release.make.last_release import LAST_RELEASE_CAVEAT
from mapapp.kinds.release.make.lone_worker import LoneWorkers, lone_worker_facts, lone_workers
from mapapp.kinds.release.make.marginal_segments import assigns_from_margins
from mapapp.kinds.release.make.prior import PublicPrior
from mapapp.kinds.release.make.settings import preset_of
from mapapp.kinds.release.make.support import Support


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedBatch:
    """The certified weights of a batch of destination tracts, and its part of the certificate.

    Attributes
    ----------
    weights : SynthesizerWeights
        For the draw.
    rows : list of dict
        For the certificate.
    n_support : tuple of (least, sum, greatest)
        Support points of the destination tracts.
    n_eliminated, n_without_flows : int
        As in `Support`.
    tails : Tails or None
        Under the paper accountant.
    lone_workers : LoneWorkers
    """

    weights: SynthesizerWeights
    rows: list[Row]
    n_support: tuple[int, int, int]
    n_eliminated: int
    n_without_flows: int
    tails: Tails | None
    lone_workers: LoneWorkers


def certify_batch(
    counts: WorkplaceCounts,
    support: Support,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    laws: LawVersion = "by number",
) -> CertifiedBatch:
    """Certify the prior weights of every synthesizer of a batch, and write its rows of the certificate.

    The exponential mechanism has no weights to certify: its prior weights are shares of the prior. ``laws`` says which
    laws its tables are drawn with.

    Raises
    ------
    EngineError
        When no weight keeps the promise.
    """
    certified = certify_weights(counts, support, privacy, parameters.mechanism)
    n_support = support.coarsening.n_support
    return CertifiedBatch(
        weights=certified.of_synthesizers(),
        rows=_rows(certified, counts, privacy, parameters),
        n_support=(int(n_support.min()), int(n_support.sum()), int(n_support.max())),
        n_eliminated=support.n_eliminated,
        n_without_flows=support.n_without_flows,
        tails=certified.tails(),
        lone_workers=lone_workers(certified, counts, support, privacy, parameters, laws=laws),
    )


def _rows(
    certified: CertifiedClasses,
    counts: WorkplaceCounts,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
) -> list[Row]:
    if certified.accounting is None:
        return _rows_by_support(certified, counts, privacy, parameters)
    times = np.bincount(certified.class_of)
    return certificate_rows(privacy, certified.classes, certified.accounting, times)


def _rows_by_support(
    certified: CertifiedClasses,
    counts: WorkplaceCounts,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
) -> list[Row]:
    """How many synthesizers have how many support points, and which numbers of workers are drawn over these.

    The law of the exponential mechanism depends on both. In a cascade, units are counted, by their numbers of clusters.
    """
    n_support = np.diff(certified.prior.support_ptr)
    drawn = sizes_of_units(parameters.unit, counts.destination, counts.tract, counts.count)
    of_unit = of_row = n_support[drawn.tract]
    if parameters.cascade:
        of_unit = of_row = count_clusters(privacy.epsilon, of_unit, drawn.n_workers)
    elif parameters.unit != "cell":
        of_row = n_support[counts.tract]
    sizes, times = np.unique(of_row, return_counts=True)
    return [
        {
            "n_support": size,
            "synthesizers": number,
            "n_workers": " ".join(map(str, np.unique(drawn.n_workers[of_unit == size]).tolist())),
        }
        for size, number in zip(sizes.tolist(), times.tolist(), strict=True)
    ]


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
    design: Mapping[str, object] | None = None,
    versions: Mapping[str, str] | None = None,
) -> JsonObject:
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
    bound, doubts = pruned_as_a_whole([batch.tails for batch in batches if batch.tails], privacy, parameters)
    facts: dict[str, object] = dict(bound)
    if parameters.prior == "flows":
        facts["tracts_without_flows"] = sum(batch.n_without_flows for batch in batches)
    facts |= {
        "editing_seed": seed.digits,
        "n_eliminated": sum(batch.n_eliminated for batch in batches),
    }
    if design is not None:
        facts["design"] = dict(design)
    if (preset := preset_of(privacy, parameters, design)) is not None:
        facts["preset"] = preset
    certificate = build_certificate(
        privacy=privacy,
        synthesis=parameters,
        rows=_rows_of_all(batches, privacy, parameters.mechanism),
        is_published=False,
        public_inputs=public_hashes(store),
        confidential_inputs=confidential_inputs,
        construction=prior.facts | facts,
        lone_worker=lone_worker_facts([batch.lone_workers for batch in batches], parameters),
        reasons=(*reasons, *doubts),
        versions=versions,
    )
    certificate["caveats"] = list(_caveats(certificate["caveats"], store, parameters))
    certificate |= _claims_of_counts(store, certificate["caveats"])
    if has_persons(store.manifest):
        reading = certificate["readings"]["differential_privacy"]
        amounts = (Fraction(reading[name]["exact"]) for name in ("epsilon", "delta"))
        reading["person"] = as_json(job_person_claim(*amounts))
    if "last_release" in prior.facts:
        certificate["caveats"].append(LAST_RELEASE_CAVEAT)
    failed = [item["name"] for item in certificate["preconditions"] if not item["holds"]]
    if failed and not parameters.replication:
        raise CertificateError(f"a precondition does not hold: {'; '.join(failed)}; nothing is promised")
    return certificate


def _claims_of_counts(store: Store, caveats: Sequence[str]) -> JsonObject:
    """What a certificate says of exact numbers of workers where they come from worker records."""
    caveat = counts_caveat(store.manifest)
    if caveat is None:
        return {}
    shown = [text.replace("the public number of workers", "the shown number of workers") for text in caveats]
    return {"unit_of_protection": UNIT_GIVEN_COUNTS, "caveats": [*shown, caveat]}


def _caveats(caveats: Sequence[str], store: Store, parameters: SynthesisParameters) -> Iterator[str]:
    """Caveats with what is true of the source's segments."""
    for caveat in caveats:
        if caveat != MARGINS_CAVEAT:
            yield caveat
        elif assigns_from_margins(store, (parameters.unit,)):
            yield BLOCK_MARGINS_CAVEAT
        elif store.manifest.get("segments") != "joint":
            yield caveat


def _rows_of_all(
    batches: Sequence[CertifiedBatch], privacy: PrivacyParameters, mechanism: Mechanism
) -> list[Row]:
    """Rows of all batches as those of one."""
    parts = [batch.rows for batch in batches]
    if mechanism == "exponential":
        return [row for rows in parts for row in rows]
    return merge_rows(privacy, parts)
