"""What a certificate says of the exponential mechanism.

The mechanism has a proof of its own, which reads epsilon alone: no accountant, and no rows by published count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Final

from engine.errors import CertificateError
from engine.mechanisms.exponential import ExponentialPromise, exponential_promise
from engine.mechanisms.prices import LAWS, MOST_OWN_WORKERS, LawVersion
from engine.mechanisms.thetas import MOST_EXACT_WORKERS
from engine.parameters import PrivacyParameters, SynthesisParameters, Unit
from geodata.json_objects import JsonObject
from mapapp.answers.claims import ExactNumber, ReadingClaim
from mapapp.answers.release_claims import AccountingClaims, MechanismClaims, ParameterClaims, Precondition
from mapapp.kinds.base.certificate import (
    DRAWN_TOGETHER,
    MARGINS_CAVEAT,
    SINGLE_HOMES_CAVEAT,
    UNIT,
    Certificate,
    Row,
    composition,
    each_by_itself,
    neighbors,
)

__all__ = [
    "NO_ACCOUNTANT",
    "exponential_claims",
    "find_laws",
    "read_privacy",
]

NO_ACCOUNTANT: Final = "none"

_CAVEATS: Final = (
    "Among all ways in which the public number of workers could live, those that differ from the real one in "
    "few workers are more likely to be drawn. The promise holds in both readings with delta 0, and for "
    "everything computed from the release.",
    "Equal epsilon is not equal exposure. This mechanism adds no noise that the promise does not need, so at "
    "the same epsilon it is closer to the truth for single workers as well.",
    MARGINS_CAVEAT,
    SINGLE_HOMES_CAVEAT,
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

_CASCADE_CAVEATS: Final = (
    "What was drawn are groups of support points, which the table of labels lists. Groups were chosen from public "
    "facts and from the labels of larger workplaces. Each worker was then dealt a place, in nearly all cases one of "
    "the drawn group, by labels and public facts alone.",
)

_TAKEN_FOR_GRANTED_OF_CASCADE: Final = (
    "the draw is over clusters of support points, n_support of them, in place of single points; they follow from "
    "public facts and from the labels of units with more workers, which the release shows",
    "a unit's draw reads its own workers alone, and no two units share a stream of random numbers",
)

_UNREAD: Final = {"delta": "1e-6", "min_retention": "1", "accountant": "sound"}
"""Placeholders for parameters that the exponential mechanism does not use; nothing depends on these values."""


def read_privacy(parameters: ParameterClaims) -> PrivacyParameters:
    """The privacy parameters of a certificate's `parameters`, from the values that
    :meth:`engine.parameters.PrivacyParameters.stated` gives.

    Raises
    ------
    CertificateError
        The certificate holds others than the mechanism uses.
    ParameterError
        A value is outside its range.
    """
    given = parameters.privacy
    if parameters.synthesis.get("mechanism") != "exponential":
        return PrivacyParameters.from_dict(given)
    if set(given) != {"epsilon"}:
        raise CertificateError(
            f"parameters.privacy has {sorted(given)}; this mechanism uses ['epsilon'] alone"
        )
    return PrivacyParameters.from_dict(_UNREAD | given)


def exponential_claims(
    privacy: PrivacyParameters,
    synthesis: SynthesisParameters,
    rows: Sequence[Row],
    *,
    laws: LawVersion = "by number",
) -> Certificate:
    """Fields of the certificate of the exponential mechanism, as far as they follow from the parameters.

    Parameters
    ----------
    privacy, synthesis
        What was asked for.
    rows : list of dict
        `synthesizers`: how many draw anything, by `n_support`, in any order; `n_workers`: the numbers of workers that
        their units have, separated by spaces.
    laws : {"unpriced", "priced to 20", "by number"}
        Which laws tables are drawn with; the certificates of the first two list those of 1 to 20 workers and of more.

    Raises
    ------
    CertificateError
        No synthesizer draws anything.
    ParameterError
        Epsilon is out of the mechanism's range.
    """
    if sum(row["synthesizers"] for row in rows) < 1:
        raise CertificateError("no synthesizer draws anything; there is nothing to certify")
    promise = exponential_promise(privacy.epsilon, laws=laws)
    epsilon, delta = ExactNumber.of(promise.epsilon), ExactNumber.of(Fraction(0))
    reading = partial(ReadingClaim, epsilon=epsilon, delta=delta)
    return {
        "accountant": NO_ACCOUNTANT,
        "epsilon": epsilon,
        "delta": delta,
        "epsilon_final": epsilon,
        "readings": {
            "differential_privacy": reading(holds_for="the whole release", survives_post_processing=True),
            "probabilistic_differential_privacy": reading(
                holds_for=each_by_itself(synthesis.unit), delta_of_all_together=0.0
            ),
        },
        "neighbours": neighbors(synthesis.unit),
        "unit_of_protection": UNIT,
        "composition": composition(synthesis.unit),
        "worst_synthesizer": None,
        "preconditions": [
            Precondition(
                name="neighboring tables have the same number of workers",
                holds=synthesis.editing != "drop",
                evidence=f"editing is {synthesis.editing!r}",
            )
        ],
        "accounting": AccountingClaims(
            published_counts_replace_likelihood_counts=False, rows=_rows(promise, rows, laws)
        ),
        "mechanism": _section(promise, synthesis),
        "caveats": [
            *_CAVEATS,
            *_UNIT_CAVEATS[synthesis.unit],
            *(_CASCADE_CAVEATS if synthesis.cascade else ()),
        ],
    }


def _rows(promise: ExponentialPromise, rows: Sequence[Row], laws: LawVersion) -> list[JsonObject]:
    """One row for each number of support points.

    Its `inverse_theta` and `price` are those of its `n_workers`, in units of 2^-20 and of 2^-12.
    """
    times: dict[int, int] = {}
    for row in rows:
        times[row["n_support"]] = times.get(row["n_support"], 0) + row["synthesizers"]
    n_workers = _list_workers(rows) if laws == "by number" else {}
    return [
        {
            "rule": promise.rule,
            "n_support": size,
            "synthesizers": times[size],
            **_laws(promise.epsilon, size, n_workers.get(size), laws),
        }
        for size in sorted(times)
    ]


def find_laws(privacy: PrivacyParameters, synthesis: SynthesisParameters, rows: Sequence[Row]) -> None:
    """Find the laws that a certificate with these rows states, and keep them.

    Threads can do it beside each other, while the certificate is written by one.
    """
    if synthesis.mechanism == "exponential":
        for size, n_workers in _list_workers(rows).items():
            _laws(privacy.epsilon, size, n_workers, "by number")


def _list_workers(rows: Sequence[Row]) -> dict[int, list[int]]:
    """Numbers of workers that occur with each number of support points, rising; more than 200 have one law."""
    numbers: dict[int, set[int]] = {}
    for row in rows:
        stated = (min(int(n), MOST_OWN_WORKERS + 1) for n in row["n_workers"].split())
        numbers.setdefault(row["n_support"], set()).update(stated)
    return {size: sorted(numbers[size]) for size in numbers}


def _laws(epsilon: Fraction, n_support: int, n_workers: list[int] | None, version: LawVersion) -> Row:
    """The laws of some numbers of workers, or as earlier of 1 to 20 and of more."""
    numbers = range(1, MOST_EXACT_WORKERS + 2) if n_workers is None else n_workers
    laws = [LAWS[version](epsilon, n_support, n) for n in numbers]
    row = {} if n_workers is None else {"n_workers": " ".join(map(str, n_workers))}
    row["inverse_theta"] = " ".join(str(law.inverse_theta) for law in laws)
    return row if version == "unpriced" else row | {"price": " ".join(str(law.price) for law in laws)}


def _section(promise: ExponentialPromise, synthesis: SynthesisParameters) -> MechanismClaims:
    """The certificate's `mechanism`; left out for the Dirichlet-multinomial."""
    of_unit = (
        ()
        if synthesis.unit == "cell"
        else (
            f"the workers of one {DRAWN_TOGETHER[synthesis.unit]} are drawn together: what is said of one destination "
            "and segment holds for them",
        )
    )
    return MechanismClaims(
        name="exponential",
        is_private=True,
        rule=promise.rule,
        taken_for_granted=[
            *promise.taken_for_granted,
            *of_unit,
            *(_TAKEN_FOR_GRANTED_OF_CASCADE if synthesis.cascade else ()),
        ],
        numbers=dict(promise.numbers),
    )
