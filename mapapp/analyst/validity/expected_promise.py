"""What a release with a setting would promise, from the accounting of the measured tracts alone.

These are the numbers that its certificate would state. No certificate is written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from engine.accountant.paper import Accounting
from engine.accountant.sound import SoundAccounting
from engine.accountant.theorems import pruned_epsilon
from engine.errors import CertificateError
from engine.kernels.units import RETENTION_UNITS
from engine.parameters import PrivacyParameters, SynthesisParameters
from mapapp.analyst.validity.part import SettingPart
from mapapp.analyst.validity.result import EpsilonPart, ExpectedPromise, Plain
from mapapp.kinds.release.make.certified_weights import CertifiedClasses, badness_of, pruned_as_a_whole
from mapapp.kinds.release.make.lone_worker import lone_worker_facts


def certificate_facts(
    privacy: PrivacyParameters, parameters: SynthesisParameters, parts: Sequence[SettingPart]
) -> ExpectedPromise:
    """What a certificate would say of a setting, on the tracts that were measured."""
    lone = lone_worker_facts([part.lone_workers for part in parts], parameters)
    if parameters.mechanism == "exponential":
        return _exponential_facts(privacy, lone)
    certified = [part.certified for part in parts]
    accountings = [part.accounting for part in certified if part.accounting is not None]
    final, summands = (
        _sound_facts(privacy, certified)
        if privacy.accountant == "sound"
        else _paper_facts(privacy, accountings)
    )
    return {
        "mechanism": parameters.mechanism,
        "accountant": privacy.accountant,
        "epsilon_final": final,
        "delta": float(privacy.delta),
        "delta_bound": max(float(accounting.delta_bound.max()) for accounting in accountings),
        "parts": summands,
        "refusal": _refusal(privacy, parameters, certified),
        "lone_worker": lone,
    }


def epsilon_final_of(
    privacy: PrivacyParameters, parameters: SynthesisParameters, certified: Sequence[CertifiedClasses]
) -> float:
    """Return the whole promise of a setting, pruning included."""
    if parameters.mechanism == "exponential" or privacy.accountant == "sound":
        return float(privacy.epsilon)
    return _paper_facts(privacy, [part.accounting for part in certified if part.accounting is not None])[0]


def _exponential_facts(privacy: PrivacyParameters, lone: dict[str, Plain]) -> ExpectedPromise:
    whole = float(privacy.epsilon)
    return {
        "mechanism": "exponential",
        "accountant": "none",
        "epsilon_final": whole,
        "delta": 0.0,
        "delta_bound": None,
        "parts": [{"name": "whole, by the mechanism's own proof", "value": whole}],
        "refusal": None,
        "lone_worker": lone,
    }


def _refusal(
    privacy: PrivacyParameters, parameters: SynthesisParameters, certified: Sequence[CertifiedClasses]
) -> str | None:
    tails = [part_tails for part in certified if (part_tails := part.tails()) is not None]
    try:
        pruned_as_a_whole(tails, privacy, parameters)
    except CertificateError as error:
        return str(error)
    return None


def _sound_facts(
    privacy: PrivacyParameters, certified: Sequence[CertifiedClasses]
) -> tuple[float, list[EpsilonPart]]:
    """epsilon_final and its summands; kappa is the largest among the worst classes of each n and rule."""
    final = float(privacy.epsilon)
    sound = [part for part in certified if isinstance(part.accounting, SoundAccounting)]
    whether, normaliser = -math.log(float(privacy.min_retention)), math.log(_largest_kappa(sound))
    return final, [
        {"name": "draw of workers", "value": final - whether - normaliser},
        {"name": "pruning: ln(1/min_retention)", "value": whether},
        {"name": "pruning: ln kappa, points that may vanish", "value": normaliser},
    ]


def _largest_kappa(certified: Sequence[CertifiedClasses]) -> float:
    """Kappa of the worst class of each n and rule, as a certificate lists them; the largest of these."""
    columns = []
    for part in certified:
        accounting = part.accounting
        assert isinstance(accounting, SoundAccounting)
        columns.append(
            (part.classes.published_count, accounting.rule, -badness_of(accounting), accounting.terms[:, 0])
        )
    n, rule, goodness, kappa = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.lexsort((goodness, rule, n))  # stable, so of equals the first class is the worst
    is_worst = (np.diff(n[order], prepend=-1) != 0) | (np.diff(rule[order], prepend=-1) != 0)
    return float(kappa[order][is_worst].max())


def _paper_facts(
    privacy: PrivacyParameters, accountings: Sequence[Accounting | SoundAccounting]
) -> tuple[float, list[EpsilonPart]]:
    """epsilon_final and its summands, at the least retention of any point that can be pruned."""
    least = min(int(accounting.least_retention.min()) for accounting in accountings)
    retention, draw = Fraction(least, RETENTION_UNITS), float(privacy.epsilon)
    growth = 2  # published counts, which would add to it, do not replace n here
    final = float(pruned_epsilon(privacy.epsilon, retention, growth))
    return final, [
        {"name": "draw of workers: epsilon", "value": draw},
        {"name": "pruning: ln(1/least retention)", "value": -math.log(retention)},
        {"name": "pruning: ln 2 (Theorem 5.2)", "value": final - draw + math.log(retention)},
    ]
