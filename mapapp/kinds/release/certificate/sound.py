"""Rows of a certificate under the sound accountant."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from engine.accountant.paper import SynthesizerClasses
from engine.accountant.sound import SOUND_RULES, SoundAccounting, WeightGroup, groups_of_points
from engine.errors import CertificateError
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.parameters import PrivacyParameters, SynthesisParameters
from mapapp.answers.release_claims import Precondition
from mapapp.kinds.base.certificate import Row, exact_number
from mapapp.kinds.release.make.certified_weights import badness_of

__all__ = [
    "BOUND_FIELDS",
    "SOUND_CAVEATS",
    "is_certain",
    "listed_row",
    "read_groups",
    "sound_preconditions",
    "sound_rows",
]

SOUND_CAVEATS = (
    "epsilon is the whole promise, including pruning, and equals epsilon_final: the sound accountant certifies the "
    "pruned mechanism as a whole and has no separate epsilon for the draw.",
    "The delta bounds are upper bounds, computed by adding up tails in floating point with stated margins; brute "
    "force on small cases never exceeds them.",
)

BOUND_FIELDS = (
    "kappa",
    "kept_mass_units",
    "chernoff_rate",
    "kept_mass_term",
    "empty_points_term",
    "occupied_points_term",
    "delta_bound",
)
"""Fields of a row, in the order of :class:`engine.accountant.sound.SoundBound`."""

_GROUP = re.compile(r"([0-9]+):([0-9]+)(?:x([0-9]*))?")


def sound_rows(
    privacy: PrivacyParameters,
    classes: SynthesizerClasses,
    accounting: SoundAccounting,
    synthesizers: NDArray[np.int64],
    members_of: Mapping[tuple[int, int], NDArray[np.intp]],
) -> list[Row]:
    """One row for each published count and rule (`members_of` says which classes): its worst class.

    The worst is the class with the largest bound, or with the least weight where no output can fail.
    """
    if not members_of:
        return []
    # For all rows at once: a batch of tracts has hundreds, most of them of few classes.
    members = np.concatenate(list(members_of.values()))
    sizes = np.array([some.size for some in members_of.values()])
    first = np.cumsum(sizes) - sizes
    worst = members[_first_greatest(badness_of(accounting, members), first, sizes)]
    of_support = {
        "n_support_least": np.minimum.reduceat(accounting.n_support[members], first).tolist(),
        "n_support_most": np.maximum.reduceat(accounting.n_support[members], first).tolist(),
        "worst_n_support": accounting.n_support[worst].tolist(),
        "worst_min_prior_weight_units": accounting.least_weight[worst].tolist(),
        "worst_total_prior_weight_units": accounting.total_weight[worst].tolist(),
    }
    n_synthesizers = np.add.reduceat(synthesizers[members], first).tolist()
    is_published, epsilon_final = classes.is_published, exact_number(privacy.epsilon)
    return [
        {
            "published_count": count,
            "synthesizers": n_synthesizers[number],
            "rule": SOUND_RULES[rule],
            "certified_for_n": 1 if is_published else count,
            **{name: values[number] for name, values in of_support.items()},
            **dict(zip(BOUND_FIELDS, accounting.bound(position), strict=True)),
            "prior_weights": PointWeights.of_class(accounting, position),
            "epsilon_final": epsilon_final,
        }
        for number, ((count, rule), position) in enumerate(zip(members_of, worst.tolist(), strict=True))
    ]


def _first_greatest(
    values: NDArray[np.float64], first: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Where the greatest value of each run of values is; of equals the first."""
    is_greatest = values == np.repeat(np.maximum.reduceat(values, first), sizes)
    places = np.flatnonzero(is_greatest)
    return places[np.searchsorted(places, first)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointWeights:
    """Weights and retentions of one class, listed only once it is known that the certificate shows them."""

    base_weight: NDArray[np.int64]
    retention: NDArray[np.int64]
    min_weight: int
    prune: bool

    @classmethod
    def of_class(cls, accounting: SoundAccounting, position: int) -> PointWeights:
        """Take those of one class of an accounting."""
        prior, tract = accounting.prior, int(accounting.tract[position])
        points = slice(int(prior.support_ptr[tract]), int(prior.support_ptr[tract + 1]))
        return cls(
            base_weight=prior.base_weight[points],
            retention=prior.retention[points],
            min_weight=int(accounting.min_weight[position]),
            prune=bool(accounting.prune[position]),
        )

    def text(self) -> str:
        """Groups of equal points as "weight:retention" in units, with "xN" where N points share them."""
        return _write_groups(
            groups_of_points(self.base_weight, self.retention, self.min_weight, prune=self.prune)
        )


def listed_row(row: Row) -> Row:
    """Return a row with its weights written out."""
    return {**row, "prior_weights": row["prior_weights"].text()}


def _write_groups(groups: Sequence[WeightGroup]) -> str:
    """Text of groups of equal points."""
    return " ".join(
        f"{group.weight}:{group.retention}" + (f"x{group.n_points}" if group.n_points > 1 else "")
        for group in groups
    )


def read_groups(text: str) -> list[WeightGroup]:
    """Groups from their text."""
    groups = []
    for part in text.split():
        match = _GROUP.fullmatch(part)
        if match is None:
            raise CertificateError(f"prior_weights holds {part[:40]!r}; weight:retention in units is needed")
        weight, retention, times = match.groups()
        groups.append(WeightGroup(int(weight), int(retention), int(times or 1)))
    return groups


def sound_preconditions(
    privacy: PrivacyParameters, synthesis: SynthesisParameters, rows: Sequence[Row]
) -> list[Precondition]:
    """What the bound asks for, whether it holds, and the evidence."""
    groups = [read_groups(row["prior_weights"]) for row in rows]
    least = min(group.retention for listed in groups for group in listed) / RETENTION_UNITS
    slack = min(
        privacy.epsilon + Fraction(_log_least(listed)) - Fraction(math.log(row["kappa"]))
        for listed, row in zip(groups, rows, strict=True)
    )
    worst = max(row["delta_bound"] for row in rows)
    items = [
        (
            "neighboring tables have the same number of workers",
            synthesis.editing != "drop",
            f"editing is {synthesis.editing!r}",
        ),
        (
            "every support point can be kept, and retention times e^epsilon_final is at least kappa",
            least > 0 and slack > Fraction(1, 10**12),
            f"least retention {least:.6g}",
        ),
        (
            "support points heavier than one worker are never pruned",
            all(is_certain(group) for listed in groups for group in listed),
            "in every row",
        ),
        (
            "the chance of failing stays within delta",
            Fraction(worst) <= privacy.delta,
            f"largest bound {worst:.6g}, delta {float(privacy.delta):g}",
        ),
    ]
    return [Precondition(name=name, holds=bool(holds), evidence=evidence) for name, holds, evidence in items]


def _log_least(groups: Sequence[WeightGroup]) -> float:
    return math.log(min(group.retention for group in groups) / RETENTION_UNITS)


def is_certain(group: WeightGroup) -> bool:
    """The sampler keeps what weighs more than one worker, so nothing else may be certified for it."""
    return group.weight <= WEIGHT_UNITS or group.retention == RETENTION_UNITS
