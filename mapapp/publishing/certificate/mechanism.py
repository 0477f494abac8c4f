"""What a certificate says of another mechanism than the Dirichlet-multinomial: written, and redone.

Accept/reject is certified by the sound accountant: its certificate holds the rows of one round, at an epsilon a little
below epsilon_final, and what follows for the whole. The exponential mechanism, the Laplace sanitizer and the sparse
histogram have proofs of their own, which read epsilon and delta alone: no accountant, no rows by count. Plug-in
promises nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from engine.accept_reject import accepted_promise, inner_privacy
from engine.errors import CertificateError
from engine.mechanisms.exponential import exponential_promise
from engine.mechanisms.prices import law_of, unpriced_law
from engine.mechanisms.promise import MechanismPromise
from engine.mechanisms.thetas import MOST_EXACT_WORKERS
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters, Unit
from mapapp.publishing.certificate.terms import (
    DRAWN_TOGETHER,
    UNIT,
    Certificate,
    CertificateCheck,
    Precondition,
    Row,
    composition,
    each_by_itself,
    exact_number,
    neighbors,
)
from mapapp.publishing.mechanisms import OWN_PROOFS

__all__ = [
    "NO_ACCOUNTANT",
    "accepted_claims",
    "check_accepted",
    "check_own_proof",
    "find_laws",
    "one_round",
    "own_claims",
    "read_privacy",
    "stated_privacy",
]

NO_ACCOUNTANT: Final = "none"

_ACCEPTED_CAVEATS: Final = (
    "Rows certify one round of drawing, at the epsilon given in 'mechanism' as that of one round. An output that no "
    "neighboring table makes likely is drawn again, and epsilon_final covers that (P08 Lemma 5.2).",
    "Drawing again makes outputs far from the data rarer; it does not make the promise stronger. The number of redraws "
    "is not published anywhere.",
)

_UNIT_CAVEATS: Final[Mapping[Unit, tuple[str, ...]]] = {
    "cell": (),
    "block": (
        "Workers of a workplace block were drawn together, whatever their age, earnings, and industry. Their homes "
        "were then assigned to segments at random: within a block, a home says nothing about a segment.",
    ),
    "tract": (
        "Workers of a workplace tract were drawn together, whatever their block, age, earnings, and industry. Their "
        "homes were then assigned to blocks and segments at random: within a tract, a home says nothing about either.",
    ),
}

_UNREAD: Final = {"epsilon": "1", "delta": "1e-6", "min_retention": "1", "accountant": "sound"}
"""Placeholders for parameters that a mechanism does not use; nothing depends on these values."""


def stated_privacy(privacy: PrivacyParameters, mechanism: Mechanism) -> Certificate:
    """The privacy parameters that a certificate repeats: those that the mechanism uses."""
    values = privacy.to_dict()
    uses = OWN_PROOFS[mechanism].uses if mechanism in OWN_PROOFS else tuple(values)
    return {name: values[name] for name in uses}


def read_privacy(parameters: Certificate) -> PrivacyParameters:
    """The privacy parameters of a certificate's `parameters`, from :func:`stated_privacy`'s values.

    Raises
    ------
    CertificateError
        The certificate holds others than the mechanism uses.
    ParameterError
        A value is outside its range.
    """
    given = dict(parameters["privacy"])
    own = OWN_PROOFS.get(parameters["synthesis"].get("mechanism"))
    if own is None:
        return PrivacyParameters.from_dict(given)
    if set(given) != set(own.uses):
        raise CertificateError(
            f"parameters.privacy has {sorted(given)}; this mechanism uses {sorted(own.uses)} alone"
        )
    return PrivacyParameters.from_dict(_UNREAD | given)


def own_claims(
    privacy: PrivacyParameters, synthesis: SynthesisParameters, rows: Sequence[Row], *, priced: bool = True
) -> Certificate:
    """Fields of the certificate of a mechanism with a proof of its own, as far as they follow from the parameters.

    Parameters
    ----------
    privacy, synthesis
        What was asked for.
    rows : list of dict
        `synthesizers`: how many draw anything; for the exponential mechanism by `n_support`, in any order.
    priced : bool
        Whether the exponential mechanism draws small tables with a price; earlier releases were drawn without one.

    Raises
    ------
    CertificateError
        No synthesizer draws anything.
    ParameterError
        Epsilon is out of the mechanism's range.
    """
    if sum(row["synthesizers"] for row in rows) < 1:
        raise CertificateError("no synthesizer draws anything; there is nothing to certify")
    own = OWN_PROOFS[synthesis.mechanism]
    promise = own.promise(privacy) if priced else exponential_promise(privacy.epsilon, priced=False)
    epsilon, delta = (
        None if value is None else exact_number(value) for value in (promise.epsilon, promise.delta)
    )
    private = promise.is_private
    return {
        "accountant": NO_ACCOUNTANT,
        "epsilon": epsilon,
        "delta": delta,
        "epsilon_final": epsilon,
        "readings": _readings(promise, {"epsilon": epsilon, "delta": delta}, synthesis.unit)
        if private
        else {},
        "neighbours": neighbors(synthesis.unit) if private else None,
        "unit_of_protection": UNIT if private else None,
        "composition": composition(synthesis.unit) if private else None,
        "worst_synthesizer": None,
        "preconditions": _preconditions(promise, synthesis) if private else [],
        "accounting": {
            "published_counts_replace_likelihood_counts": False,
            "rows": _own_rows(privacy, synthesis, promise, rows),
        },
        "mechanism": _section(promise, synthesis.unit),
        "caveats": [*own.caveats, *_UNIT_CAVEATS[synthesis.unit]],
    }


def _own_rows(
    privacy: PrivacyParameters, synthesis: SynthesisParameters, promise: MechanismPromise, rows: Sequence[Row]
) -> list[Row]:
    """One row; for the exponential mechanism one for each number of support points.

    Its `inverse_theta` and `price` are those of 1, 2, ..., 20 workers and of more, in units of 2^-20 and of 2^-12.
    """
    if synthesis.mechanism != "exponential":
        return [{"rule": promise.rule, "synthesizers": sum(row["synthesizers"] for row in rows)}]
    times: dict[int, int] = {}
    for row in rows:
        times[row["n_support"]] = times.get(row["n_support"], 0) + row["synthesizers"]
    return [
        {
            "rule": promise.rule,
            "n_support": size,
            "synthesizers": times[size],
            **_laws(privacy.epsilon, size, priced="price_bits" in promise.numbers),
        }
        for size in sorted(times)
    ]


def find_laws(privacy: PrivacyParameters, synthesis: SynthesisParameters, rows: Sequence[Row]) -> None:
    """Find the laws that a certificate with these rows states, and keep them.

    Threads can do it beside each other, while the certificate is written by one.
    """
    if synthesis.mechanism == "exponential":
        for size in {row["n_support"] for row in rows}:
            _laws(privacy.epsilon, size, priced=True)


def _laws(epsilon: Fraction, n_support: int, *, priced: bool) -> Row:
    find = law_of if priced else unpriced_law
    laws = [find(epsilon, n_support, n) for n in range(1, MOST_EXACT_WORKERS + 2)]
    found = {"inverse_theta": " ".join(str(law.inverse_theta) for law in laws)}
    return found | ({"price": " ".join(str(law.price) for law in laws)} if priced else {})


def _readings(promise: MechanismPromise, numbers: dict[str, object], unit: Unit) -> Certificate:
    """Both readings where both hold; they hold with the same numbers."""
    readings: dict[str, object] = {
        "differential_privacy": numbers | {"holds_for": "the whole release", "survives_post_processing": True}
    }
    if promise.holds_as_probabilistic:
        readings["probabilistic_differential_privacy"] = numbers | {
            "holds_for": each_by_itself(unit),
            "delta_of_all_together": 0.0,
        }
    return readings


def _preconditions(promise: MechanismPromise, synthesis: SynthesisParameters) -> list[Precondition]:
    items = [
        (
            "neighboring tables have the same number of workers",
            synthesis.editing != "drop",
            f"editing is {synthesis.editing!r}",
        )
    ]
    if promise.mechanism == "sparse-histogram":
        bound, delta = promise.numbers["delta_bound"], promise.delta
        items.append(
            (
                "a worker alone in a support point is published with a chance of at most delta",
                delta is not None and bound <= delta,
                f"threshold {promise.numbers['threshold']}, chance at most {float(bound):.6g}",
            )
        )
    return [{"name": name, "holds": bool(holds), "evidence": evidence} for name, holds, evidence in items]


def _section(promise: MechanismPromise, unit: Unit = "cell") -> Certificate:
    """The certificate's `mechanism`; left out for the Dirichlet-multinomial."""
    of_unit = (
        ()
        if unit == "cell"
        else (
            f"the workers of one {DRAWN_TOGETHER[unit]} are drawn together: what is said of one destination and "
            "segment holds for them",
        )
    )
    return {
        "name": promise.mechanism,
        "is_private": promise.is_private,
        "rule": promise.rule,
        "taken_for_granted": [*promise.preconditions, *of_unit],
        "numbers": {
            name: exact_number(value) if isinstance(value, Fraction) else value
            for name, value in promise.numbers.items()
        },
    }


def accepted_claims(of_one_round: Certificate, privacy: PrivacyParameters) -> Certificate:
    """The certificate's claims under accept/reject, from those of one round at `engine.accept_reject.inner_privacy`.

    Raises
    ------
    ParameterError
        Epsilon is out of range, or another accountant than the sound one is asked for.
    """
    rows = of_one_round["accounting"]["rows"]
    final = exact_number(privacy.epsilon)
    return {
        **of_one_round,
        "epsilon": final,
        "epsilon_final": final,
        "readings": {
            name: {**reading, "epsilon": final} for name, reading in of_one_round["readings"].items()
        },
        "mechanism": _accepted_section(privacy, max(row["delta_bound"] for row in rows)),
        "caveats": [*of_one_round["caveats"], *_ACCEPTED_CAVEATS],
    }


def _accepted_section(privacy: PrivacyParameters, failure_bound: float) -> Certificate:
    section = _section(accepted_promise(privacy, Fraction(failure_bound)))
    # A float as the rows' bounds are: found in floating point, and so equal to within rounding elsewhere.
    section["numbers"]["failure_bound"] = failure_bound
    section["numbers"]["epsilon_of_one_round"] = exact_number(inner_privacy(privacy).epsilon)
    return section


def one_round(certificate: Certificate, privacy: PrivacyParameters) -> Certificate:
    """The certificate of one round of accept/reject: what :func:`accepted_claims` was made from."""
    epsilon = exact_number(inner_privacy(privacy).epsilon)
    readings = {name: {**reading, "epsilon": epsilon} for name, reading in certificate["readings"].items()}
    return {
        **{name: value for name, value in certificate.items() if name != "mechanism"},
        "epsilon": epsilon,
        "epsilon_final": epsilon,
        "readings": readings,
    }


def check_accepted(certificate: Certificate, privacy: PrivacyParameters) -> list[CertificateCheck]:
    """What accept/reject adds to the certificate of one round: epsilon_final wherever it is stated, and the lemma."""
    final = exact_number(privacy.epsilon)
    stated = [certificate["epsilon"], certificate["epsilon_final"]]
    stated += [reading["epsilon"] for reading in certificate["readings"].values()]
    rows = certificate["accounting"]["rows"]
    section = _accepted_section(privacy, max(row["delta_bound"] for row in rows))
    bound = section["numbers"]["failure_bound"]
    return [
        CertificateCheck(
            "promise", all(number == final for number in stated), f"epsilon_final {final['value']:.9g}"
        ),
        CertificateCheck(
            "mechanism", certificate["mechanism"] == section, f"accept-reject, p at most {bound:.6g}"
        ),
    ]


def check_own_proof(
    certificate: Certificate,
    privacy: PrivacyParameters,
    synthesis: SynthesisParameters,
    counts_by_n: Mapping[int, int] | None,
) -> list[CertificateCheck]:
    """Every claim of a mechanism with a proof of its own, made again from the parameters."""
    rows: Sequence[Row] = certificate["accounting"]["rows"]
    n_synthesizers = sum(row["synthesizers"] for row in rows)
    is_unpriced = (
        synthesis.mechanism == "exponential" and "price_bits" not in certificate["mechanism"]["numbers"]
    )
    again = own_claims(privacy, synthesis, rows, priced=not is_unpriced)
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
