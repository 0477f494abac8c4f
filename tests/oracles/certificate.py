"""A certificate's arithmetic, redone from the certificate alone, without the public inputs that it follows from.

`certify` makes a certificate again and compares; this is the other way to see that its numbers are right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from engine.accountant.paper import pruned_epsilon, theorem_4_1_weight, theorem_4_4_bound
from engine.accountant.sound import SOUND_PURE, SOUND_TAILS, SoundBound, WeightGroup
from engine.errors import CertificateError, EngineError
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.mechanisms.prices import LawVersion
from engine.parameters import PrivacyParameters, SynthesisParameters, exact_fraction
from geodata.json_objects import JsonMapping
from mapapp.answers.claims import as_json
from mapapp.answers.publication import BOUND_FIELD, BOUND_SCHEMA, CLAIMS_SCHEMA, FIRST_BOUND_SCHEMA
from mapapp.answers.release_claims import ParameterClaims
from mapapp.kinds.base.certificate import (
    FOR_RELEASE,
    NOT_FOR_RELEASE,
    RULE_4_1,
    RULE_4_4,
    Certificate,
    CertificateCheck,
    Row,
    delta_of_all,
    has_run_id,
    pure_weights_hold,
    require_hashes,
    theorem_preconditions,
)
from mapapp.kinds.release.certificate.exponential import exponential_claims, read_privacy
from mapapp.kinds.release.certificate.sound import BOUND_FIELDS, is_certain, read_groups, sound_preconditions
from tests.oracles.sound_groups import sound_bound_of_groups

__all__ = ["check_certificate"]

FIELDS = (
    "schema_version",
    "status",
    "status_reasons",
    "accountant",
    "epsilon",
    "delta",
    "epsilon_final",
    "readings",
    "neighbours",
    "unit_of_protection",
    "composition",
    "lone_worker",
    "worst_synthesizer",
    "preconditions",
    "parameters",
    "construction",
    "accounting",
    "public_inputs",
    "confidential_inputs",
    "versions",
    "caveats",
    "beside",
    "beside_in_words",
    "run_id",
)

LATER_FIELDS = ("lone_worker", "beside", "beside_in_words", "run_id")
"""Fields that some certificates of schema 1 and 2 lack; those of schema 3 have all of them."""

_AGREE = 1e-6


def check_certificate(
    certificate: Certificate, counts_by_n: Mapping[int, int] | None = None
) -> list[CertificateCheck]:
    """Redo every arithmetic claim of a certificate.

    Parameters
    ----------
    certificate : mapping
        The parsed `certificate.json`.
    counts_by_n : mapping of int to int, optional
        From the release's own table: how many (destination block, segment) hold each number of workers.

    Returns
    -------
    list of CertificateCheck
        All claims in order, failed ones included; a certificate that cannot be read gives one failed check.
    """
    try:
        return _checks(certificate, counts_by_n)
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError, AttributeError) as error:
        detail = str(error) if isinstance(error, EngineError) else f"{type(error).__name__}: {error}"
        return [CertificateCheck("certificate can be read", False, detail)]


def _checks(certificate: Certificate, counts_by_n: Mapping[int, int] | None) -> list[CertificateCheck]:
    privacy = read_privacy(msgspec.convert(certificate["parameters"], ParameterClaims))
    synthesis = SynthesisParameters.from_dict(certificate["parameters"]["synthesis"])
    mechanism = synthesis.mechanism
    checks = [
        _check_schema(
            certificate, FIELDS if mechanism == "dirichlet-multinomial" else (*FIELDS, "mechanism")
        ),
        CertificateCheck("parameters", True, "within their ranges"),
    ]
    if mechanism == "exponential":
        checks.extend(check_exponential(certificate, privacy, synthesis, counts_by_n))
    else:
        checks.extend(_check_accounted(certificate, privacy, synthesis, counts_by_n))
    checks.append(_check_status(certificate, synthesis))
    checks.append(_check_hashes(certificate))
    return checks


def _check_schema(certificate: Certificate, wanted: Sequence[str]) -> CertificateCheck:
    """The fields that its schema has, and no others."""
    stated = certificate["schema_version"]
    known = type(stated) is int and CLAIMS_SCHEMA <= stated <= BOUND_SCHEMA
    expected = {*wanted, *([BOUND_FIELD] if known and stated >= FIRST_BOUND_SCHEMA else [])}
    missing = expected - set(certificate)
    if stated != BOUND_SCHEMA:
        missing -= set(LATER_FIELDS)
    strange = sorted(missing | (set(certificate) - expected))
    detail = f"unexpected or missing: {strange}" if strange else f"the fields of schema {stated}"
    return CertificateCheck("schema", known and not strange and has_run_id(certificate), detail)


def _check_accounted(
    certificate: Certificate,
    privacy: PrivacyParameters,
    synthesis: SynthesisParameters,
    counts_by_n: Mapping[int, int] | None,
) -> list[CertificateCheck]:
    """What follows from the rows of an accountant."""
    checks = _check_numbers(certificate, privacy)
    accounting = certificate["accounting"]
    published = accounting["published_counts_replace_likelihood_counts"]
    checks.append(_check_units(accounting, published))
    rows = accounting["rows"]
    check_row = check_sound_row if privacy.accountant == "sound" else _check_row
    for row in rows:
        checks.extend(check_row(row, privacy, published))
    checks.append(_check_worst(certificate, rows))
    checks.append(_check_sum(certificate, rows))
    checks.append(_check_coverage(rows, counts_by_n))
    checks.append(_check_preconditions(certificate, privacy, synthesis, rows))
    return checks


def _check_numbers(certificate: Certificate, privacy: PrivacyParameters) -> list[CertificateCheck]:
    """Epsilon and delta as stated, as asked for, and in both readings."""
    checks = []
    for name, wanted in (("epsilon", privacy.epsilon), ("delta", privacy.delta)):
        stated = _stated(certificate[name])
        checks.append(
            CertificateCheck(name, stated == wanted, f"stated {stated}, from the parameters {wanted}")
        )
    final, delta = _stated(certificate["epsilon_final"]), _stated(certificate["delta"])
    agree = all(
        (_stated(reading["epsilon"]), _stated(reading["delta"])) == (final, delta)
        for reading in certificate["readings"].values()
    )
    both = set(certificate["readings"]) == {"probabilistic_differential_privacy", "differential_privacy"}
    checks.append(
        CertificateCheck("readings", agree and both, f"epsilon {float(final):.9g}, delta {float(delta):g}")
    )
    accountant = certificate["accountant"]
    checks.append(CertificateCheck("accountant", accountant == privacy.accountant, str(accountant)))
    return checks


def _stated(number: JsonMapping) -> Fraction:
    """The exact value, which must be what its float says."""
    exact = exact_fraction(str(number["exact"]), "a number of the certificate")
    if float(exact) != number["value"]:
        raise CertificateError(f"{number['exact']} is not {number['value']}")
    return exact


def _check_units(accounting: Certificate, published: object) -> CertificateCheck:
    """The units that weights and retentions are counted in."""
    units = (accounting["weight_units_per_worker"], accounting["retention_units"])
    good = units == (WEIGHT_UNITS, RETENTION_UNITS) and isinstance(published, bool)
    return CertificateCheck("units", good, f"{units[0]} and {units[1]}")


def _check_row(row: Row, privacy: PrivacyParameters, published: bool) -> list[CertificateCheck]:
    """The weights of one row against its theorem, and the cost of pruning."""
    count, rule = row["published_count"], row["rule"]
    name = f"n = {count}, {rule}"
    k, least, total = (
        row[f"worst_{field}"] for field in ("n_support", "min_prior_weight_units", "total_prior_weight_units")
    )
    sane = all(type(value) is int and value > 0 for value in (count, k, least, total, row["synthesizers"]))
    sane = sane and row["n_support_least"] <= k <= row["n_support_most"] and total >= k * least
    checks = [CertificateCheck(f"{name}: row", sane, f"k {k}, least {least}, total {total}")]
    bound, stated = row["theorem_bound"], row["delta_bound"]
    if rule == RULE_4_1:
        good = pure_weights_hold(row, privacy.epsilon) and bound == 0 and stated == 0
        needed = theorem_4_1_weight(count, privacy.epsilon)
        detail = f"weight {least / WEIGHT_UNITS:.6g}, {needed:.6g} needed"
    else:
        again = theorem_4_4_bound(count, k, least, total, privacy.epsilon)
        good = rule == RULE_4_4 and not published and math.isclose(again, bound, rel_tol=1e-6)
        good = good and again <= stated * (1 + 1e-6) and Fraction(stated) <= privacy.delta
        detail = f"theorem gives {again:.6g}, stated {bound:.6g}, certified {stated:.6g}"
    checks.append(CertificateCheck(f"{name}: weights", bool(good), detail))
    return [*checks, _check_pruning(name, row, privacy, published)]


def _check_pruning(name: str, row: Row, privacy: PrivacyParameters, published: bool) -> CertificateCheck:
    """Epsilon after pruning, from the least retention of the row."""
    retention = Fraction(row["least_retention_units"], RETENTION_UNITS)
    growth = max(2, 1 + row["published_count"]) if published else 2
    again = pruned_epsilon(privacy.epsilon, retention, growth)
    stated = _stated(row["epsilon_final"])
    # Retentions are rounded up from floats, so the least of them can miss min_retention by a float's rounding.
    allowed = privacy.min_retention * (1 - Fraction(1, 10**12)) <= retention <= 1
    good = stated == again and row["growth"] == growth and allowed
    return CertificateCheck(
        f"{name}: pruning", good, f"epsilon_final {float(stated):.9g}, again {float(again):.9g}"
    )


def _check_worst(certificate: Certificate, rows: Sequence[Row]) -> CertificateCheck:
    """The release's epsilon is the worst over its rows, and the row shown attains it."""
    stated = _stated(certificate["epsilon_final"])
    again = max(_stated(row["epsilon_final"]) for row in rows)
    shown = certificate["worst_synthesizer"]
    attained = any(all(row[name] == shown[name] for name in shown) for row in rows)
    good = stated == again == _stated(shown["epsilon_final"]) and attained
    return CertificateCheck(
        "worst synthesizer", good, f"epsilon_final {float(stated):.9g}, rows {float(again):.9g}"
    )


def _check_sum(certificate: Certificate, rows: Sequence[Row]) -> CertificateCheck:
    """The probabilistic reading of the whole release is the sum over its synthesizers."""
    stated = certificate["readings"]["probabilistic_differential_privacy"]["delta_of_all_together"]
    again = delta_of_all(rows)
    good = math.isclose(stated, again, rel_tol=1e-6)
    return CertificateCheck("delta of all together", good, f"{again:.6g}, stated {stated:.6g}")


def _check_coverage(rows: Sequence[Row], counts_by_n: Mapping[int, int] | None) -> CertificateCheck:
    """No row twice, and every count of the release covered as often as it occurs."""
    covered: dict[int, int] = {}
    for row in rows:
        covered[row["published_count"]] = covered.get(row["published_count"], 0) + row["synthesizers"]
    twice = len(rows) - len({(row["published_count"], row["rule"]) for row in rows})
    if twice:
        return CertificateCheck("every count is covered", False, f"{twice} rows are repeated")
    if counts_by_n is None:
        return CertificateCheck("every count is covered", True, "not compared with the release's table")
    found = {int(n): int(times) for n, times in counts_by_n.items() if n > 0 and times > 0}
    wrong = sorted(n for n in found.keys() | covered.keys() if found.get(n) != covered.get(n))
    detail = f"{len(found)} distinct counts"
    if wrong:
        n = wrong[0]
        detail = f"n = {n}: {found.get(n, 0)} in the release, {covered.get(n, 0)} in the certificate"
    return CertificateCheck("every count is covered", not wrong, detail)


def _check_preconditions(
    certificate: Certificate,
    privacy: PrivacyParameters,
    synthesis: SynthesisParameters,
    rows: Sequence[Row],
) -> CertificateCheck:
    """The list of preconditions is complete and says what the rows say."""
    preconditions = sound_preconditions if privacy.accountant == "sound" else theorem_preconditions
    again = [(item.name, item.holds) for item in preconditions(privacy, synthesis, rows)]
    stated = [(item["name"], item["holds"]) for item in certificate["preconditions"]]
    failed = [name for name, holds in again if not holds]
    return CertificateCheck(
        "preconditions", stated == again, f"do not hold: {failed}" if failed else f"all {len(again)} hold"
    )


def _check_status(certificate: Certificate, synthesis: SynthesisParameters) -> CertificateCheck:
    """For release exactly if the certificate gives no reason against it."""
    reasons = certificate["status_reasons"]
    wanted = NOT_FOR_RELEASE if reasons else FOR_RELEASE
    missing = [reason for reason in synthesis.not_for_release_reasons() if reason not in reasons]
    missing += [item["name"] for item in certificate["preconditions"] if not item["holds"] and not reasons]
    good = certificate["status"] == wanted and not missing
    return CertificateCheck(
        "status", good, f"{certificate['status']}: {'; '.join(reasons) or 'no reasons against release'}"
    )


def _check_hashes(certificate: Certificate) -> CertificateCheck:
    """Hashes have the form of hashes."""
    groups = (certificate["public_inputs"], certificate["confidential_inputs"])
    require_hashes(*groups)
    return CertificateCheck(
        "hashes", all(groups), f"{len(groups[0])} public, {len(groups[1])} confidential inputs"
    )


def check_exponential(
    certificate: Certificate,
    privacy: PrivacyParameters,
    synthesis: SynthesisParameters,
    counts_by_n: Mapping[int, int] | None,
) -> list[CertificateCheck]:
    """Every claim of the exponential mechanism, made again from the parameters."""
    rows: Sequence[Row] = certificate["accounting"]["rows"]
    n_synthesizers = sum(row["synthesizers"] for row in rows)
    numbers = certificate["mechanism"]["numbers"]
    laws: LawVersion = "priced to 20" if "price_bits" in numbers else "unpriced"
    if "most_priced_workers" in numbers:
        laws = "by number"
    again = as_json(exponential_claims(privacy, synthesis, rows, laws=laws))
    checks = [
        CertificateCheck(name, certificate[name] == value, "follows from the parameters")
        for name, value in again.items()
        if name
        != "caveats"  # a certificate may hold further ones; all are compared when a release is checked
    ]
    if counts_by_n is not None:
        found = sum(times for n, times in counts_by_n.items() if n > 0)
        detail = f"{found} in the release, {n_synthesizers} in the certificate"
        checks.append(CertificateCheck("every synthesizer is counted", found == n_synthesizers, detail))
    return checks


def check_sound_row(row: Row, privacy: PrivacyParameters, published: bool) -> list[CertificateCheck]:
    """The weights of one row, the bound that follows from them, and the promise."""
    name = f"n = {row['published_count']}, {row['rule']}"
    groups = read_groups(row["prior_weights"])
    final = row["epsilon_final"]
    promised = Fraction(final["exact"]) == privacy.epsilon and final["value"] == float(privacy.epsilon)
    return [
        _check_weights(name, row, groups, privacy, published),
        _check_bound(name, row, groups, privacy),
        CertificateCheck(f"{name}: promise", promised, f"epsilon_final {final['value']:.9g}"),
    ]


def _check_weights(
    name: str,
    row: Row,
    groups: Sequence[WeightGroup],
    privacy: PrivacyParameters,
    published: bool,
) -> CertificateCheck:
    """The weights listed are those summed up, and retentions are those asked for."""
    count, k = row["published_count"], row["worst_n_support"]
    least, total = row["worst_min_prior_weight_units"], row["worst_total_prior_weight_units"]
    listed = (
        sum(group.n_points for group in groups),
        min(group.weight for group in groups),
        sum(group.weight * group.n_points for group in groups),
    )
    sane = all(type(value) is int and value > 0 for value in (count, k, least, total, row["synthesizers"]))
    sane = sane and row["n_support_least"] <= k <= row["n_support_most"] and listed == (k, least, total)
    sane = sane and row["certified_for_n"] == (1 if published else count)
    # Retentions are rounded up from floats, so the least of them can miss min_retention by a float's rounding.
    lowest = privacy.min_retention * (1 - Fraction(1, 10**12)) * RETENTION_UNITS
    kept = all(group.retention >= lowest and is_certain(group) for group in groups)
    return CertificateCheck(f"{name}: prior weights", sane and kept, f"k {k}, least {least}, total {total}")


def _check_bound(
    name: str, row: Row, groups: Sequence[WeightGroup], privacy: PrivacyParameters
) -> CertificateCheck:
    """The bound again, term by term, at the kept mass that the row states."""
    stated = SoundBound(*(row[field] for field in BOUND_FIELDS))
    again = sound_bound_of_groups(
        row["certified_for_n"],
        row["published_count"],
        groups,
        privacy.epsilon,
        stated.mass_low,
        stated.chernoff_rate,
    )
    agree = all(math.isclose(a, b, rel_tol=_AGREE) for a, b in zip(again, stated, strict=True))
    within = max(Fraction(stated.delta), Fraction(again.delta)) <= privacy.delta
    named = row["rule"] == (SOUND_TAILS if again.delta > 0 else SOUND_PURE)
    return CertificateCheck(
        f"{name}: bound", agree and within and named, f"gives {again.delta:.6g}, stated {stated.delta:.6g}"
    )
