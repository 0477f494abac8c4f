"""The certificate of a release: what is promised, on what grounds, and how to check the arithmetic.

A certificate is plain JSON. It holds no key, no timing, no retry count, and no count that is not public: rows
are by published count and speak of prior weights, which follow from public data. Where published counts
replace the real ones, weights and costs are functions of the published count alone (`engine.accountant.paper`).

All of it follows from public inputs, whose hashes are given, and from stated choices, so that `certify` writes it
again from the release alone and compares. Each row shows the weights of its worst class, from which a reader can redo
the arithmetic.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from msgspec import UNSET, convert
from numpy.typing import NDArray

from engine.accountant.paper import RULES, Accounting, SynthesizerClasses, pruned_epsilon, theorem_4_4_bound
from engine.accountant.sound import SOUND_RULES, SOUND_TAILS, SoundAccounting, require_fixed_count
from engine.errors import CertificateError
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.parameters import PrivacyParameters, SynthesisParameters
from geodata.json_objects import JsonObject
from mapapp.answers.claims import ExactNumber, ReadingClaim, as_json
from mapapp.answers.publication import CLAIMS_SCHEMA
from mapapp.answers.release_claims import (
    AccountingClaims,
    LoneWorkerClaims,
    ParameterClaims,
    ReleaseCertificate,
    WorstSynthesizer,
)
from mapapp.kinds.base.certificate import (
    FOR_RELEASE,
    MARGINS_CAVEAT,
    NOT_FOR_RELEASE,
    RULE_4_4,
    SINGLE_HOMES_CAVEAT,
    UNIT,
    Certificate,
    Row,
    composition,
    delta_of_all,
    each_by_itself,
    exact_number,
    neighbors,
    require_hashes,
    software_versions,
    theorem_preconditions,
)
from mapapp.kinds.release.certificate.exponential import exponential_claims
from mapapp.kinds.release.certificate.sound import SOUND_CAVEATS, listed_row, sound_preconditions, sound_rows
from mapapp.kinds.release.make.certified_weights import badness_of

__all__ = [
    "build_certificate",
    "certificate_rows",
    "certificate_text",
    "keyed_hash",
    "merge_rows",
]

_CAVEATS = (
    "Ordinary (epsilon, delta)-differential privacy also holds for everything computed from the release, such as "
    "drawn blocks and points; the probabilistic reading holds only for the drawn support points.",
    "The probabilistic reading is about one (destination block, segment), and so about one worker: its draw fails with "
    "probability at most delta. The probability that any draw of the release fails can be larger: the bounds add up to "
    "delta_of_all_together. The ordinary reading needs no sum, because neighboring tables differ in only one of them.",
    MARGINS_CAVEAT,
    SINGLE_HOMES_CAVEAT,
)
_PAPER_CAVEATS = (
    "Theorem 5.2 keeps delta while pruning shrinks the prior sample. Enumeration shows that the exact delta after "
    "pruning can exceed the one before: k = 3, n = 4, alpha = (0.512, 0.856, 0.976), retention 0.025, epsilon "
    "1.95 goes from 0.0166 to 0.0283. The slack of Theorem 4.4 covers the published settings, but no proof "
    "says that it always does. Rows under Theorem 4.1 do not need it: their delta is 0.",
)
_RULE_CODES = max(len(RULES), len(SOUND_RULES))


def keyed_hash(key: bytes, data: bytes) -> str:
    """HMAC-SHA256 of confidential bytes under the commitment key, in hexadecimal."""
    return hmac.new(key, data, hashlib.sha256).hexdigest()


def build_certificate(
    *,
    privacy: PrivacyParameters,
    synthesis: SynthesisParameters,
    rows: Sequence[Row],
    is_published: bool,
    public_inputs: Mapping[str, str],
    confidential_inputs: Mapping[str, str],
    construction: Mapping[str, object] | None = None,
    lone_worker: Mapping[str, object] | None = None,
    reasons: Sequence[str] = (),
    versions: Mapping[str, str] | None = None,
) -> JsonObject:
    """Write the claims of a release's certificate; `mapapp.answers.publication.bind_publication` completes them.

    Parameters
    ----------
    privacy, synthesis : PrivacyParameters, SynthesisParameters
        What was asked for.
    rows : list of dict
        What is certified, from :func:`certificate_rows` or :func:`merge_rows`; under the exponential mechanism, how
        many `synthesizers` have how many support points (`n_support`).
    is_published : bool
        Whether published counts replace likelihood counts.
    public_inputs : mapping of str to str
        Name to SHA-256 of every public input.
    confidential_inputs : mapping of str to str
        Name to keyed hash (:func:`keyed_file_hash`) of every confidential input.
    construction : mapping, optional
        Public facts about how the support points came about: the seed of domain editing, the fitted prior.
    lone_worker : mapping, optional
        From `mapapp.kinds.release.make.lone_worker.lone_worker_facts`.
    reasons : sequence of str, optional
        Why the release may not be published, such as the fixed test key; reasons that follow from
        `synthesis` are added.
    versions : mapping of str to str, optional
        Software versions; by default :func:`software_versions`.

    Returns
    -------
    dict
        JSON-ready; :func:`certificate_text` writes it.

    Raises
    ------
    CertificateError
        There is nothing to certify, a hash is not valid, or published counts are combined with another mechanism.
    ParameterError
        Editing changes n, which the accountant does not certify, or epsilon is not for the mechanism.
    """
    require_hashes(public_inputs, confidential_inputs)
    require_fixed_count(privacy, synthesis)
    if is_published and synthesis.mechanism != "dirichlet-multinomial":
        raise CertificateError(
            f"mechanism {synthesis.mechanism!r} with published counts; only the dirichlet-multinomial is certified for "
            "them"
        )
    if synthesis.mechanism == "exponential":
        claims = exponential_claims(privacy, synthesis, rows)
    else:
        claims = _accounted_claims(privacy, synthesis, rows, is_published)
    failed = [item.name for item in claims["preconditions"] if not item.holds]
    why = [*reasons, *synthesis.not_for_release_reasons(), *(f"does not hold: {name}" for name in failed)]
    return as_json(
        ReleaseCertificate(
            **claims,
            schema_version=CLAIMS_SCHEMA,
            status=NOT_FOR_RELEASE if why else FOR_RELEASE,
            status_reasons=why,
            parameters=ParameterClaims(
                privacy=privacy.stated(synthesis.mechanism), synthesis=synthesis.to_dict()
            ),
            construction=dict(construction or {}),
            lone_worker=UNSET if lone_worker is None else convert(lone_worker, LoneWorkerClaims),
            public_inputs=dict(sorted(public_inputs.items())),
            confidential_inputs=dict(sorted(confidential_inputs.items())),
            versions=dict(software_versions() if versions is None else versions),
        )
    )


def _accounted_claims(
    privacy: PrivacyParameters, synthesis: SynthesisParameters, rows: Sequence[Row], is_published: bool
) -> Certificate:
    """Fields of the certificate that follow from the rows of an accountant."""
    is_sound = privacy.accountant == "sound"
    if is_sound:
        rows = [listed_row(row) for row in rows]
    if not rows:
        raise CertificateError("no synthesizer draws anything; there is nothing to certify")
    worst = max(rows, key=lambda row: (Fraction(row["epsilon_final"]["exact"]), row["delta_bound"]))
    final, delta = convert(worst["epsilon_final"], ExactNumber), ExactNumber.of(privacy.delta)
    reading = partial(ReadingClaim, epsilon=final, delta=delta)
    return {
        "accountant": privacy.accountant,
        "epsilon": ExactNumber.of(privacy.epsilon),
        "delta": delta,
        "epsilon_final": final,
        "readings": {
            "probabilistic_differential_privacy": reading(
                holds_for=each_by_itself(synthesis.unit), delta_of_all_together=delta_of_all(rows)
            ),
            "differential_privacy": reading(holds_for="the whole release", survives_post_processing=True),
        },
        "neighbours": neighbors(synthesis.unit),
        "unit_of_protection": UNIT,
        "composition": composition(synthesis.unit),
        "worst_synthesizer": WorstSynthesizer(
            published_count=worst["published_count"], rule=worst["rule"], epsilon_final=final
        ),
        "preconditions": (sound_preconditions if is_sound else theorem_preconditions)(
            privacy, synthesis, rows
        ),
        "accounting": AccountingClaims(
            published_counts_replace_likelihood_counts=is_published,
            weight_units_per_worker=WEIGHT_UNITS,
            retention_units=RETENTION_UNITS,
            rows=[dict(row) for row in rows],
        ),
        "caveats": [*_CAVEATS, *(SOUND_CAVEATS if is_sound else _PAPER_CAVEATS)],
    }


def certificate_text(certificate: Certificate) -> str:
    """The certificate as the text of `certificate.json`."""
    return json.dumps(certificate, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def certificate_rows(
    privacy: PrivacyParameters,
    classes: SynthesizerClasses,
    accounting: Accounting | SoundAccounting,
    synthesizers: NDArray[np.int64],
) -> list[Row]:
    """One row for each published count and rule: its worst class, and what that certifies.

    Parameters
    ----------
    privacy : PrivacyParameters
    classes, accounting : SynthesizerClasses, Accounting
        What `engine.accountant.paper.certify_classes` or `engine.accountant.sound.certify_sound` was given and
        returned.
    synthesizers : int64[n_classes]
        How many synthesizers are in each class.

    Raises
    ------
    CertificateError
        Another accountant was asked for, or numbers do not agree.
    """
    if isinstance(accounting, SoundAccounting) != (privacy.accountant == "sound"):
        raise CertificateError(f"accountant {privacy.accountant!r} did not make this accounting")
    if synthesizers.shape != classes.tract.shape:
        raise CertificateError(f"{synthesizers.size} synthesizer counts for {classes.tract.size} classes")
    members_of = _members(classes.published_count, accounting.rule)
    if isinstance(accounting, SoundAccounting):
        return sound_rows(privacy, classes, accounting, synthesizers, members_of)
    return [
        _row(privacy, count, RULES[rule], accounting, synthesizers, members)
        for (count, rule), members in members_of.items()
    ]


def merge_rows(privacy: PrivacyParameters, parts: Iterable[Sequence[Row]]) -> list[Row]:
    """Rows of several parts of one release as those of the whole: for each count and rule the worst of all.

    How a release was divided into parts does not show: of equals the first stays, as it would in one part.
    """
    merged: dict[tuple[int, int], Row] = {}
    names = SOUND_RULES if privacy.accountant == "sound" else RULES
    for row in (row for rows in parts for row in rows):
        place = (row["published_count"], names.index(row["rule"]))
        merged[place] = _merge_pair(privacy, merged[place], row) if place in merged else dict(row)
    return [merged[place] for place in sorted(merged)]


def _merge_pair(privacy: PrivacyParameters, first: Row, second: Row) -> Row:
    row = dict(second if _badness(second) > _badness(first) else first)
    row["synthesizers"] = first["synthesizers"] + second["synthesizers"]
    row["n_support_least"] = min(first["n_support_least"], second["n_support_least"])
    row["n_support_most"] = max(first["n_support_most"], second["n_support_most"])
    if "growth" in row:
        row["delta_bound"] = max(first["delta_bound"], second["delta_bound"])
        retention = min(first["least_retention_units"], second["least_retention_units"])
        growth = max(first["growth"], second["growth"])
        final = pruned_epsilon(privacy.epsilon, Fraction(retention, RETENTION_UNITS), growth)
        row |= {"least_retention_units": retention, "growth": growth, "epsilon_final": exact_number(final)}
    return row


def _badness(row: Row) -> float:
    """What makes one class of a row worse than another, as `_row` and `sound_rows` choose it."""
    by_bound = row["rule"] in (RULE_4_4, SOUND_TAILS)
    return float(row["delta_bound"] if by_bound else -row["worst_min_prior_weight_units"])


def _members(count: NDArray[np.int64], rule: NDArray[np.int8]) -> dict[tuple[int, int], NDArray[np.intp]]:
    """Classes of each published count above 0 and rule."""
    keys = count * _RULE_CODES + rule
    order = np.argsort(keys, kind="stable")
    distinct, first = np.unique(keys[order], return_index=True)
    last = np.append(first[1:], order.size)
    return {
        divmod(key, _RULE_CODES): order[begin:end]
        for key, begin, end in zip(distinct.tolist(), first.tolist(), last.tolist(), strict=True)
        if key >= _RULE_CODES
    }


def _row(
    privacy: PrivacyParameters,
    count: int,
    rule: str,
    accounting: Accounting,
    synthesizers: NDArray[np.int64],
    members: NDArray[np.intp],
) -> Row:
    """The worst member: the least weight under Theorem 4.1, the largest bound under Theorem 4.4."""
    worst = int(members[int(np.argmax(badness_of(accounting, members)))])
    k, least, total = (
        int(values[worst])
        for values in (accounting.n_support, accounting.least_weight, accounting.total_weight)
    )
    retention = int(accounting.least_retention[members].min())
    growth = int(accounting.growth[members].max())
    theorem = theorem_4_4_bound(count, k, least, total, privacy.epsilon) if rule == RULE_4_4 else 0.0
    return {
        "published_count": count,
        "synthesizers": int(synthesizers[members].sum()),
        "rule": rule,
        "n_support_least": int(accounting.n_support[members].min()),
        "n_support_most": int(accounting.n_support[members].max()),
        "worst_n_support": k,
        "worst_min_prior_weight_units": least,
        "worst_total_prior_weight_units": total,
        "theorem_bound": theorem,
        "delta_bound": float(accounting.delta_bound[members].max()),
        "least_retention_units": retention,
        "growth": growth,
        "epsilon_final": exact_number(
            pruned_epsilon(privacy.epsilon, Fraction(retention, RETENTION_UNITS), growth)
        ),
    }
