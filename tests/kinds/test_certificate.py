import copy
import hashlib
import hmac
import json
import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.accountant.paper import SynthesizerClasses, certify_classes
from engine.errors import CertificateError
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.support.support_table import SupportTable
from mapapp.kinds.base.certificate import CertificateCheck, keyed_file_hash
from mapapp.kinds.release.certificate.certificate import (
    build_certificate,
    certificate_rows,
    certificate_text,
    keyed_hash,
)
from tests.oracles.certificate import check_certificate

V3 = PrivacyParameters(epsilon="4.6", delta="1e-6", min_retention="0.025")
HASH = hashlib.sha256(b"input").hexdigest()


def _prior(sizes: tuple[int, ...] = (300, 400), strength: float = 1.0) -> SupportTable:
    share = np.concatenate([np.arange(k, 0, -1) / (k * (k + 1) / 2) for k in sizes])
    retention = np.clip(np.ceil(10 * share * RETENTION_UNITS), math.ceil(0.025 * RETENTION_UNITS), None)
    return SupportTable(
        support_ptr=np.cumsum([0, *sizes], dtype=np.int64),
        base_weight=np.ceil(share * strength * WEIGHT_UNITS).astype(np.int64),
        retention=np.minimum(retention, RETENTION_UNITS).astype(np.int64),
    )


def _build(
    privacy: PrivacyParameters = V3,
    synthesis: SynthesisParameters | None = None,
    counts: tuple[int, ...] = (1, 2, 9, 15, 60, 400),
    published: tuple[int, ...] | None = None,
    **more: Any,
) -> dict[str, Any]:
    n = np.tile(np.array(counts, dtype=np.int64), 2)
    m = n if published is None else np.tile(np.array(published, dtype=np.int64), 2)
    tract = np.repeat(np.arange(2), len(counts))
    classes = SynthesizerClasses(tract=tract, likelihood_count=n, published_count=m)
    return build_certificate(
        privacy=privacy,
        synthesis=SynthesisParameters() if synthesis is None else synthesis,
        rows=certificate_rows(
            privacy, classes, certify_classes(_prior(), classes, privacy), np.full(n.shape, 3, dtype=np.int64)
        ),
        is_published=classes.is_published,
        **{"public_inputs": {"prior": HASH}, "confidential_inputs": {"jobs": HASH}} | more,
    )


Tamper = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def certificate() -> dict[str, Any]:
    return dict(json.loads(certificate_text(_build())))


COUNTS = dict.fromkeys((1, 2, 9, 15, 60, 400), 6)


def _failed(certificate: dict[str, Any], counts: dict[int, int] | None = None) -> list[CertificateCheck]:
    return [check for check in check_certificate(certificate, counts) if not check.ok]


def test_a_certificate_holds(certificate: dict[str, Any]) -> None:
    checks = check_certificate(certificate, COUNTS)
    assert [check for check in checks if not check.ok] == []
    assert len(checks) > 20
    assert certificate["status"] == "for release"
    assert certificate["status_reasons"] == []
    rules = {row["rule"] for row in certificate["accounting"]["rows"]}
    assert rules == {"theorem 4.1", "theorem 4.4"}


def test_it_states_the_promise_exactly(certificate: dict[str, Any]) -> None:
    assert certificate["epsilon"] == {"value": 4.6, "exact": "23/5"}
    assert certificate["delta"] == {"value": 1e-6, "exact": "1/1000000"}
    assert certificate["epsilon_final"]["value"] == pytest.approx(8.982027, abs=1e-6)
    assert Fraction(certificate["epsilon_final"]["exact"]) >= Fraction("8.98202662")
    readings = certificate["readings"]
    assert readings["differential_privacy"]["survives_post_processing"]
    rows = certificate["accounting"]["rows"]
    together = readings["probabilistic_differential_privacy"]["delta_of_all_together"]
    assert together == pytest.approx(sum(row["synthesizers"] * row["delta_bound"] for row in rows))
    assert together > max(row["delta_bound"] for row in rows)
    assert readings["probabilistic_differential_privacy"]["epsilon"] == certificate["epsilon_final"]
    assert "0.0283" in " ".join(certificate["caveats"])


def test_it_names_no_key_no_time_and_no_retry(certificate: dict[str, Any]) -> None:
    def names(value: object) -> list[str]:
        if isinstance(value, dict):
            return [*value, *(name for inner in value.values() for name in names(inner))]
        return [name for inner in value for name in names(inner)] if isinstance(value, list) else []

    forbidden = re.compile("key|seed|nonce|time|seconds|second|date|retr(y|ies)|attempt|likelihood_count$")
    assert [name for name in names(certificate) if forbidden.search(name)] == []


def test_it_says_the_same_twice() -> None:
    assert certificate_text(_build(versions={})) == certificate_text(_build(versions={}))


def _set(path: Sequence[int | str], value: object) -> Tamper:
    def change(certificate: dict[str, Any]) -> None:
        *way, last = path
        part: Any = certificate
        for step in way:
            part = part[step]
        part[last] = value(part[last]) if callable(value) else value

    return change


def _row(n: int, field: str, value: object) -> Tamper:
    def change(certificate: dict[str, Any]) -> None:
        rows = certificate["accounting"]["rows"]
        usual = rows[{1: 0, 9: len(rows) // 2, 60: -1}[n]]
        row = next((row for row in rows if row["published_count"] == n), usual)
        row[field] = value(row[field]) if callable(value) else value

    return change


def _number(text: str) -> dict[str, float | str]:
    return {"value": float(Fraction(text)), "exact": text}


def _lower_epsilon_everywhere(certificate: dict[str, Any]) -> None:
    certificate["epsilon"] = _number("4")
    certificate["parameters"]["privacy"]["epsilon"] = "4"


def _raise_epsilon_everywhere(certificate: dict[str, Any]) -> None:
    certificate["epsilon"] = _number("5")
    certificate["parameters"]["privacy"]["epsilon"] = "5"


def _lower_delta_everywhere(certificate: dict[str, Any]) -> None:
    certificate["parameters"]["privacy"]["delta"] = "1/100000000"
    certificate["delta"] = _number("1/100000000")
    for reading in certificate["readings"].values():
        reading["delta"] = _number("1/100000000")


def _lower_final_everywhere(certificate: dict[str, Any]) -> None:
    certificate["epsilon_final"] = certificate["worst_synthesizer"]["epsilon_final"] = _number("4.6")
    for reading in certificate["readings"].values():
        reading["epsilon"] = _number("4.6")
    for row in certificate["accounting"]["rows"]:
        row["epsilon_final"] = _number("4.6")


def _drop_row(certificate: dict[str, Any]) -> None:
    del certificate["accounting"]["rows"][2]


def _double_row(certificate: dict[str, Any]) -> None:
    certificate["accounting"]["rows"].append(certificate["accounting"]["rows"][0])


def _drop_precondition(certificate: dict[str, Any]) -> None:
    del certificate["preconditions"][0]


TAMPERED: list[Tamper] = [
    _lower_epsilon_everywhere,
    _raise_epsilon_everywhere,
    _lower_delta_everywhere,
    _lower_final_everywhere,
    _drop_row,
    _double_row,
    _drop_precondition,
    _set(["epsilon"], _number("4")),
    _set(["delta"], _number("1e-9")),
    _set(["epsilon_final"], _number("8")),
    _set(["epsilon", "value"], 4.5),
    _set(["readings", "differential_privacy", "epsilon"], _number("4.6")),
    _set(["readings", "probabilistic_differential_privacy", "delta_of_all_together"], 1e-6),
    _set(["readings"], lambda readings: {"differential_privacy": readings["differential_privacy"]}),
    _set(["worst_synthesizer", "published_count"], 7),
    _set(["worst_synthesizer", "epsilon_final"], _number("4.6")),
    _set(["accountant"], "sound"),
    _set(["status"], "not for release"),
    _set(["status_reasons"], ["test key"]),
    _set(["schema_version"], 2),
    _set(["public_inputs"], {}),
    _set(["confidential_inputs", "jobs"], "12"),
    _set(["preconditions", 1, "holds"], False),
    _set(["accounting", "weight_units_per_worker"], WEIGHT_UNITS // 2),
    _set(["accounting", "published_counts_replace_likelihood_counts"], True),
    _set(["parameters", "synthesis", "replication"], True),
    _set(["parameters", "privacy", "min_retention"], "1/10"),
    _set(["parameters", "privacy", "min_retention"], "0"),
    _set(["accounting", "rows"], []),
    _set(["accounting"], None),
    _row(1, "worst_min_prior_weight_units", lambda units: units - 100),
    _row(60, "worst_min_prior_weight_units", lambda units: units - 100),
    _row(60, "worst_min_prior_weight_units", lambda units: units + 100),
    _row(60, "worst_total_prior_weight_units", lambda units: units * 2),
    _row(60, "worst_n_support", 301),
    _row(60, "theorem_bound", 1e-9),
    _row(60, "delta_bound", 1e-9),
    _row(60, "delta_bound", 1e-3),
    _row(60, "rule", "theorem 4.1"),
    _row(60, "rule", "none"),
    _row(1, "rule", "theorem 4.4"),
    _row(1, "synthesizers", 5),
    _row(1, "published_count", 3),
    _row(9, "epsilon_final", _number("4.6")),
    _row(9, "least_retention_units", RETENTION_UNITS),
    _row(9, "least_retention_units", 1),
    _row(9, "growth", 1),
]


@pytest.mark.parametrize("tamper", TAMPERED)
def test_tampering_is_found(certificate: dict[str, Any], tamper: Tamper) -> None:
    changed = copy.deepcopy(certificate)
    tamper(changed)
    assert changed != certificate
    assert _failed(changed, COUNTS)


def test_whatever_is_missing_or_extra_is_found(certificate: dict[str, Any]) -> None:
    for name in certificate:
        assert _failed({key: value for key, value in certificate.items() if key != name})
    assert _failed(certificate | {"seed": 3})
    assert _failed({})


def test_the_release_decides_which_counts_must_be_covered(certificate: dict[str, Any]) -> None:
    assert not _failed(certificate, COUNTS | {0: 99})
    for counts in (COUNTS | {3: 1}, COUNTS | {1: 7}, {1: 6}):
        assert [check.check for check in _failed(certificate, counts)] == ["every count is covered"]


@pytest.mark.parametrize(
    ("synthesis", "reasons", "said"),
    [
        (SynthesisParameters(), ["test key"], "test key"),
        (SynthesisParameters(replication=True), [], "replication"),
        (SynthesisParameters(editing="drop", replication=True), [], "same number of workers"),
    ],
)
def test_what_may_not_be_published_is_stamped_so(
    synthesis: SynthesisParameters, reasons: list[str], said: str
) -> None:
    stamped = json.loads(certificate_text(_build(synthesis=synthesis, reasons=reasons)))
    assert stamped["status"] == "not for release"
    assert said in " ".join(stamped["status_reasons"])
    assert _failed(stamped, COUNTS) == []
    for forged in ({"status": "for release"}, {"status": "for release", "status_reasons": []}):
        if forged.get("status_reasons") == [] and reasons:
            continue  # which key was used cannot be seen in the arithmetic
        assert _failed(stamped | forged, COUNTS)


def test_published_counts_show_nothing_of_the_real_ones() -> None:
    one = _build(counts=(1, 5, 8), published=(2, 5, 9), versions={})
    other = _build(counts=(7, 4, 9), published=(2, 5, 9), versions={})
    assert one == other
    assert _failed(json.loads(certificate_text(one)), {2: 6, 5: 6, 9: 6}) == []
    assert one["epsilon_final"]["value"] == pytest.approx(4.6 + math.log(40) + math.log(10), abs=1e-6)


@pytest.mark.parametrize("epsilon", ["0.5", "1.09", "2", "10", "25"])
def test_certificates_of_other_epsilons_hold(epsilon: str) -> None:
    privacy = PrivacyParameters(epsilon=epsilon, delta="1e-5", min_retention="0.025")
    assert _failed(json.loads(certificate_text(_build(privacy))), COUNTS) == []


def test_without_pruning_epsilon_stays() -> None:
    prior = _prior()
    prior.retention[:] = RETENTION_UNITS
    privacy = PrivacyParameters(epsilon=3, delta="1e-5")
    classes = SynthesizerClasses(
        tract=np.array([0]), likelihood_count=np.array([4]), published_count=np.array([4])
    )
    built = build_certificate(
        privacy=privacy,
        synthesis=SynthesisParameters(),
        rows=certificate_rows(privacy, classes, certify_classes(prior, classes, privacy), np.array([1])),
        is_published=classes.is_published,
        public_inputs={"prior": HASH},
        confidential_inputs={"jobs": HASH},
    )
    assert built["epsilon_final"]["exact"] == "3"
    assert _failed(built, {4: 1}) == []


def test_nothing_to_certify_is_refused() -> None:
    with pytest.raises(CertificateError, match="nothing to certify"):
        _build(counts=(0,))
    with pytest.raises(CertificateError, match="hash of jobs"):
        _build(confidential_inputs={"jobs": "secret"})


def test_keyed_hashes_are_hmac_sha256(tmp_path: Path) -> None:
    path = tmp_path / "jobs.parquet"
    path.write_bytes(b"confidential" * 200_000)
    expected = hmac.new(b"k" * 32, path.read_bytes(), hashlib.sha256).hexdigest()
    assert keyed_file_hash(b"k" * 32, path) == keyed_hash(b"k" * 32, path.read_bytes()) == expected
    assert keyed_hash(b"j" * 32, path.read_bytes()) != expected
