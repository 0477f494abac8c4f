"""What a promise about one job is for a person who has several: group privacy.

If one job changes the chance of everything by a factor of at most e^epsilon, but for delta, then k jobs change it by a
factor of at most e^(k epsilon), but for k e^((k - 1) epsilon) delta.

Source: Dwork and Roth 2014, "The Algorithmic Foundations of Differential Privacy", Theorem 2.2, with the delta of
composing the k steps one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Final

from geodata.json_objects import JsonMapping
from geodata.workers.schema import PERSONS
from mapapp.answers.claims import Amounts, ExactNumber, PersonClaim

__all__ = ["EXAMPLE_JOBS", "has_persons", "job_person_claim", "person_amounts", "sum_for_person"]

_UPWARD: Final = Context(prec=6, rounding=ROUND_CEILING)
_MARGIN: Final = 1e-9  # more than floats err by
EXAMPLE_JOBS: Final = 2
"""Jobs of the person for whom a promise is worked out as an example."""


def has_persons(facts: JsonMapping) -> bool:
    """Whether a manifest says that its records name the person behind each job."""
    return facts.get(PERSONS) is True


def person_amounts(epsilon: Fraction, delta: Fraction, jobs: int) -> tuple[Fraction, Fraction]:
    """Epsilon and delta for a person with so many jobs: k epsilon, and k e^((k - 1) epsilon) delta, rounded up to 1."""
    if not delta:
        return jobs * epsilon, Fraction(0)
    exponent = (jobs - 1) * epsilon
    if exponent > 700:
        return jobs * epsilon, Fraction(1)
    grown = jobs * math.exp(exponent) * float(delta) * (1 + _MARGIN)
    return jobs * epsilon, min(Fraction(_UPWARD.create_decimal_from_float(grown)), Fraction(1))


def sum_for_person(amounts: Iterable[tuple[Fraction, Fraction]], jobs: int) -> tuple[Fraction, Fraction]:
    """What publications, of one year or of many, spend together for a person with so many jobs in each."""
    of_each = [person_amounts(epsilon, delta, jobs) for epsilon, delta in amounts]
    return sum((e for e, _ in of_each), Fraction(0)), min(
        sum((d for _, d in of_each), Fraction(0)), Fraction(1)
    )


def job_person_claim(epsilon: Fraction, delta: Fraction) -> PersonClaim:
    """What a release that keeps all jobs of a person promises the person, with two jobs for an example."""
    of_two = person_amounts(epsilon, delta, EXAMPLE_JOBS)
    chance = "and the same delta, 0" if not delta else "and k·e^((k−1)·epsilon) times this delta"
    return PersonClaim(
        jobs=EXAMPLE_JOBS,
        amounts=Amounts(epsilon=ExactNumber.of(of_two[0]), delta=ExactNumber.of(of_two[1])),
        in_words="The unit is one job. No job of a person is left out, so a person with k jobs is promised k times "
        f"this epsilon, {chance}: epsilon {float(of_two[0]):g} and delta {float(of_two[1]):g} with two jobs. Persons "
        "are not matched between years, so each year's bound adds.",
    )
