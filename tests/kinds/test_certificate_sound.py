"""Certificates under the sound accountant: written, redone from themselves, and tampered with."""

import copy
import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from engine.accountant.paper import SynthesizerClasses, certify_classes
from engine.accountant.sound import (
    SOUND_RULES,
    SOUND_TAILS,
    certify_sound,
    comparable_epsilon_final,
    require_fixed_count,
)
from engine.errors import CertificateError, ParameterError
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.parameters import PrivacyParameters, SynthesisParameters
from mapapp.base.errors import UsageError
from mapapp.kinds.base.certificate import CertificateCheck
from mapapp.kinds.release.certificate.certificate import build_certificate, certificate_rows, certificate_text
from mapapp.kinds.release.make.settings import privacy_of
from tests.kinds.test_certificate import COUNTS, HASH, V3, Tamper, _drop_row, _number, _prior, _row, _set
from tests.oracles.certificate import check_certificate

SOUND = privacy_of(accountant="sound", delta="1e-6", min_retention="0.025")


def _build(
    privacy: PrivacyParameters = SOUND,
    synthesis: SynthesisParameters | None = None,
    counts: tuple[int, ...] = (1, 2, 9, 15, 60, 400),
    published: tuple[int, ...] | None = None,
    **more: Any,
) -> dict[str, Any]:
    n = np.tile(np.array(counts, dtype=np.int64), 2)
    m = n if published is None else np.tile(np.array(published, dtype=np.int64), 2)
    classes = SynthesizerClasses(
        tract=np.repeat(np.arange(2), len(counts)), likelihood_count=n, published_count=m
    )
    return build_certificate(
        privacy=privacy,
        synthesis=SynthesisParameters() if synthesis is None else synthesis,
        rows=certificate_rows(
            privacy, classes, certify_sound(_prior(), classes, privacy), np.full(n.shape, 3, dtype=np.int64)
        ),
        is_published=classes.is_published,
        public_inputs={"prior": HASH},
        confidential_inputs={"jobs": HASH},
        **more,
    )


@pytest.fixture(scope="module")
def certificate() -> dict[str, Any]:
    return dict(json.loads(certificate_text(_build())))


def _failed(certificate: dict[str, Any], counts: dict[int, int] | None = None) -> list[CertificateCheck]:
    return [check for check in check_certificate(certificate, counts) if not check.ok]


def test_a_certificate_holds(certificate: dict[str, Any]) -> None:
    assert _failed(certificate, COUNTS) == []
    assert certificate["status"] == "for release"
    assert certificate["accountant"] == "sound"
    rules = [row["rule"] for row in certificate["accounting"]["rows"]]
    assert rules == ["sound: no output can fail"] * 3 + ["sound: tails within delta"] * 3


def test_it_promises_epsilon_final_and_nothing_else(certificate: dict[str, Any]) -> None:
    assert certificate["epsilon"] == certificate["epsilon_final"]
    assert Fraction(certificate["epsilon_final"]["exact"]) == comparable_epsilon_final("4.6", "0.025")
    assert certificate["epsilon_final"]["value"] == pytest.approx(4.6 + math.log(80), abs=1e-6)
    said = " ".join(certificate["caveats"])
    assert "Theorem 5.2" not in said
    assert "epsilon is the whole promise" in said


def test_the_same_promise_as_the_paper_accountant_with_less_noise(certificate: dict[str, Any]) -> None:
    n = np.array([1, 2, 9, 15, 60, 400])
    classes = SynthesizerClasses(tract=np.zeros_like(n), likelihood_count=n, published_count=n)
    paper = certify_classes(_prior(), classes, V3)
    assert certificate["epsilon_final"]["value"] <= paper.epsilon_final.max()
    assert (certify_sound(_prior(), classes, SOUND).min_weight < paper.min_weight).all()


def _lower_final_everywhere(certificate: dict[str, Any]) -> None:
    for place in (certificate, certificate["worst_synthesizer"], *certificate["accounting"]["rows"]):
        place["epsilon_final"] = _number("8.5")
    certificate["epsilon"] = _number("8.5")
    certificate["parameters"]["privacy"]["epsilon"] = "17/2"
    for reading in certificate["readings"].values():
        reading["epsilon"] = _number("8.5")


def _lower_delta_everywhere(certificate: dict[str, Any]) -> None:
    certificate["parameters"]["privacy"]["delta"] = "1/100000000"
    certificate["delta"] = _number("1/100000000")
    for reading in certificate["readings"].values():
        reading["delta"] = _number("1/100000000")


def _call_it_paper(certificate: dict[str, Any]) -> None:
    certificate["accountant"] = certificate["parameters"]["privacy"]["accountant"] = "paper"


def _first(change: Callable[[int, int, int], tuple[int, int, int]]) -> Callable[[str], str]:
    """Change the first group of listed weights, as three numbers."""

    def changed(text: str) -> str:
        first, *rest = text.split()
        weight, _, kept = first.partition(":")
        retention, _, times = kept.partition("x")
        w, r, c = change(int(weight), int(retention), int(times or 1))
        return " ".join([f"{w}:{r}x{c}", *rest])

    return changed


TAMPERED: list[Tamper] = [
        _lower_final_everywhere,
        _lower_delta_everywhere,
        _call_it_paper,
        _drop_row,
        _set(["epsilon"], _number("8.5")),
        _set(["epsilon_final"], _number("8.5")),
        _set(["accounting", "published_counts_replace_likelihood_counts"], True),
        _set(["parameters", "synthesis", "editing"], "drop"),
        _set(["parameters", "privacy", "min_retention"], "1/10"),
        _set(["preconditions", 1, "holds"], False),
        *(_row(60, "prior_weights", _first(change)) for change in (
            lambda w, r, c: (w - 9, r, c),
            lambda w, r, c: (w + 9, r, c),
            lambda w, r, c: (w, r + 10**7, c),
            lambda w, r, c: (w, r // 2, c),
            lambda w, r, c: (w, 0, c),
            lambda w, r, c: (w, RETENTION_UNITS + 1, c),
            lambda w, r, c: (w, r, c - 1),
            lambda w, r, c: (2 * WEIGHT_UNITS, r, c),
            lambda w, r, c: (-w, r, c),
        )),
        _row(60, "prior_weights", ""),
        _row(60, "prior_weights", "1:1x1"),
        _row(60, "prior_weights", lambda text: text.replace(":", ";")),
        _row(60, "kept_mass_units", lambda units: units + WEIGHT_UNITS),
        _row(60, "kept_mass_units", -1),
        _row(60, "kept_mass_units", 1 << 50),
        _row(60, "chernoff_rate", lambda rate: rate * 1.1 + 1),
        _row(60, "kappa", 1.0),
        _row(60, "kept_mass_term", 1e-20),
        _row(60, "empty_points_term", 0.0),
        _row(60, "occupied_points_term", 0.0),
        _row(60, "delta_bound", 1e-9),
        _row(60, "delta_bound", 1e-3),
        _row(60, "rule", "sound: no output can fail"),
        _row(60, "rule", "theorem 4.1"),
        _row(60, "certified_for_n", 61),
        _row(60, "worst_n_support", 299),
        _row(60, "worst_min_prior_weight_units", lambda units: units + 1),
        _row(60, "worst_total_prior_weight_units", lambda units: units * 2),
        _row(1, "rule", "sound: tails within delta"),
        _row(1, "published_count", 3),
        _row(1, "synthesizers", 5),
        _row(9, "epsilon_final", _number("4.6")),
]  # fmt: skip


@pytest.mark.parametrize("tamper", TAMPERED)
def test_tampering_is_found(certificate: dict[str, Any], tamper: Tamper) -> None:
    changed = copy.deepcopy(certificate)
    tamper(changed)
    assert changed != certificate
    assert _failed(changed, COUNTS)


def test_every_field_of_a_row_is_needed(certificate: dict[str, Any]) -> None:
    for name in certificate["accounting"]["rows"][3]:
        changed = copy.deepcopy(certificate)
        del changed["accounting"]["rows"][3][name]
        assert _failed(changed, COUNTS), name


def test_published_counts_show_nothing_of_the_real_ones() -> None:
    one = _build(counts=(1, 5, 8), published=(2, 5, 9), versions={})
    other = _build(counts=(7, 4, 9), published=(2, 5, 9), versions={})
    assert one == other
    assert _failed(json.loads(certificate_text(one)), {2: 6, 5: 6, 9: 6}) == []
    assert one["epsilon_final"] == _build()["epsilon_final"]


@pytest.mark.parametrize("epsilon", ["0.5", "2", "4.6", "25"])
@pytest.mark.parametrize("kept", ["0.025", "1"])
def test_certificates_of_other_promises_hold(epsilon: str, kept: str) -> None:
    privacy = privacy_of(accountant="sound", epsilon_final=epsilon, delta="1e-5", min_retention=kept)
    prior = _prior()
    prior.retention[:] = np.maximum(prior.retention, int(float(kept) * RETENTION_UNITS))
    n = np.array([1, 4, 40])
    classes = SynthesizerClasses(tract=np.zeros_like(n), likelihood_count=n, published_count=n)
    built = build_certificate(
        privacy=privacy,
        synthesis=SynthesisParameters(),
        rows=certificate_rows(privacy, classes, certify_sound(prior, classes, privacy), np.ones_like(n)),
        is_published=classes.is_published,
        public_inputs={"prior": HASH},
        confidential_inputs={"jobs": HASH},
    )
    assert _failed(json.loads(certificate_text(built)), {1: 1, 4: 1, 40: 1}) == []
    assert built["epsilon_final"]["exact"] == str(Fraction(epsilon))


@pytest.mark.parametrize("epsilon", ["2", "8.982"])
def test_rows_are_those_of_a_plain_loop_over_counts_and_rules(epsilon: str) -> None:
    privacy = privacy_of(accountant="sound", epsilon_final=epsilon, delta="1e-6", min_retention="0.025")
    n = np.tile(np.array([0, 1, 2, 9, 15, 60, 60, 400]), 2)
    classes = SynthesizerClasses(
        tract=np.repeat(np.arange(2), n.size // 2), likelihood_count=n, published_count=n
    )
    accounting = certify_sound(_prior(), classes, privacy)
    synthesizers = np.arange(n.size) + 1
    kinds = sorted({(int(count), int(rule)) for count, rule in zip(n, accounting.rule, strict=True) if count})
    rows = certificate_rows(privacy, classes, accounting, synthesizers)
    assert len(rows) == len(kinds) >= 6
    for row, (count, rule) in zip(rows, kinds, strict=True):
        members = [j for j in range(n.size) if (n[j], accounting.rule[j]) == (count, rule)]
        is_tails = SOUND_RULES[rule] == SOUND_TAILS
        worst = max(
            members,
            key=lambda j: accounting.delta_bound[j] if is_tails else -accounting.least_weight[j],
        )
        support = [int(accounting.n_support[j]) for j in members]
        assert (row["published_count"], row["rule"]) == (count, SOUND_RULES[rule])
        assert row["synthesizers"] == sum(int(synthesizers[j]) for j in members)
        assert (row["n_support_least"], row["n_support_most"]) == (min(support), max(support))
        assert row["worst_n_support"] == accounting.n_support[worst]
        assert row["worst_min_prior_weight_units"] == accounting.least_weight[worst]
        assert row["worst_total_prior_weight_units"] == accounting.total_weight[worst]
        assert row["delta_bound"] == accounting.delta_bound[worst]
        assert row["prior_weights"].min_weight == accounting.min_weight[worst]


def test_without_workers_there_are_no_rows() -> None:
    n = np.zeros(1, dtype=np.int64)
    classes = SynthesizerClasses(tract=np.array([0]), likelihood_count=n, published_count=n)
    assert certificate_rows(SOUND, classes, certify_sound(_prior(), classes, SOUND), n + 1) == []


def test_drop_editing_is_refused() -> None:
    synthesis = SynthesisParameters(editing="drop", replication=True)
    with pytest.raises(ParameterError, match="n can differ between neighboring tables"):
        _build(synthesis=synthesis)
    require_fixed_count(V3, synthesis)


def test_an_accounting_of_the_other_accountant_is_refused() -> None:
    n = np.array([3])
    classes = SynthesizerClasses(tract=np.array([0]), likelihood_count=n, published_count=n)
    with pytest.raises(CertificateError, match="did not make this accounting"):
        certificate_rows(SOUND, classes, certify_classes(_prior(), classes, V3), n)


def test_epsilon_means_one_thing_under_both_accountants() -> None:
    given: dict[str, Any] = {"delta": "1e-6", "min_retention": "0.025"}
    assert privacy_of(accountant="paper", **given) == PrivacyParameters(epsilon="4.6", **given)
    assert privacy_of(accountant="sound", epsilon="4.6", **given) == SOUND
    assert float(SOUND.epsilon) == pytest.approx(8.982, abs=1e-3)
    whole = privacy_of(accountant="sound", epsilon_final="8", **given)
    assert whole.epsilon == 8
    unpruned = privacy_of(accountant="sound", epsilon="3", delta="1e-6", min_retention=1)
    assert unpruned.epsilon == 3
    with pytest.raises(UsageError, match="give one"):
        privacy_of(accountant="sound", epsilon="4.6", epsilon_final="8", **given)
    with pytest.raises(UsageError, match="give --epsilon"):
        privacy_of(accountant="paper", epsilon_final="8", **given)
