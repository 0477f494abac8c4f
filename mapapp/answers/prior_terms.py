"""The numbers that expected errors need from a certificate, read once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas

from geodata.elsewhere import division_numbers

__all__ = ["WEIGHTED", "PriorTerms"]

WEIGHTED: Final = ("dirichlet-multinomial", "accept-reject")
"""Mechanisms that have prior weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorTerms:
    """How a release was coarsened, edited, weighted and pruned, according to its certificate.

    Attributes
    ----------
    tract_radius_mi, puma_radius_mi : float
        Beyond the first, homes count by PUMA; beyond the second, by SuperPUMA.
    far_state_miles : float
        States outside the imported area that are at least this far are pooled by census division; infinite if none are.
    strength, retention_scale, least_retention : float
        Strength of the prior; scale and minimum of retention probabilities.
    editing, prior : str
    elimination : tuple of (float, float)
        Distance in miles beyond which a point without mass is eliminated, and the probability; ascending.
    gravity : tuple of (float, float), optional
        Scale in miles and shape of the gravity model.
    least_weight : float64[N, 2]
        Number of workers of a synthesizer, ascending, and its least prior weight.
    prunes : bool[N]
        Whether those synthesizers prune.
    """

    tract_radius_mi: float
    puma_radius_mi: float
    far_state_miles: float
    strength: float
    retention_scale: float
    least_retention: float
    editing: str
    prior: str
    elimination: tuple[tuple[float, float], ...]
    gravity: tuple[float, float] | None
    least_weight: npt.NDArray[np.float64]
    prunes: npt.NDArray[np.bool_]

    def far_divisions(self, tracts: pandas.DataFrame) -> npt.NDArray[np.int64]:
        """Return the census division of every tract that is a whole state outside the imported area, else -1.

        Reads `elsewhere` and `state_id`, unless no state is pooled.
        """
        if math.isinf(self.far_state_miles):
            return np.full(len(tracts), -1, dtype=np.int64)
        division = division_numbers(tracts["state_id"])
        return np.where(tracts["elsewhere"].to_numpy(np.bool_), division, -1).astype(np.int64)

    @classmethod
    def of(cls, certificate: Mapping[str, Any]) -> PriorTerms:
        """Read the terms from a certificate.

        Raises
        ------
        KeyError, TypeError, ValueError, AttributeError, ArithmeticError
            If a term is missing or has the wrong type.
        """
        synthesis = certificate["parameters"]["synthesis"]
        gravity = certificate["construction"].get("gravity")
        weight, prunes = _weights(certificate["accounting"])
        return cls(
            tract_radius_mi=_number(synthesis.get("tract_radius_mi", synthesis["q50_mi"])),
            puma_radius_mi=_number(synthesis.get("puma_radius_mi", synthesis["q90_mi"])),
            far_state_miles=float(synthesis.get("far_state_miles", math.inf)),
            strength=_number(synthesis["strength"]),
            retention_scale=_number(synthesis["retention_scale"]),
            least_retention=_fraction(certificate["parameters"]["privacy"]["min_retention"]),
            editing=synthesis["editing"],
            prior=synthesis["prior"],
            elimination=_elimination(synthesis),
            gravity=None if gravity is None else (_number(gravity["scale_mi"]), _number(gravity["shape"])),
            least_weight=weight,
            prunes=prunes,
        )


def is_weighted(certificate: Mapping[str, Any]) -> bool:
    """Return whether the mechanism of a release has prior weights."""
    return certificate["parameters"]["synthesis"].get("mechanism", WEIGHTED[0]) in WEIGHTED


def _elimination(synthesis: Mapping[str, Any]) -> tuple[tuple[float, float], ...]:
    if synthesis["editing"] == "none":
        return ()
    return tuple(sorted((_number(beyond), _number(chance)) for beyond, chance in synthesis["elimination"]))


def _fraction(text: str) -> float:
    above, _, below = text.partition("/")
    return _number(float(above) / float(below or 1))


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is not finite")
    return number


def _weights(accounting: Mapping[str, Any]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the least weight by n, ascending, float64[N, 2] in workers; and whether those synthesizers prune."""
    units = float(accounting["weight_units_per_worker"])
    whole = str(accounting["retention_units"])
    found: dict[int, tuple[float, bool]] = {}
    for row in accounting["rows"]:
        n = int(row["published_count"])
        if "prior_weights" in row:
            kept = [part.partition(":")[2].partition("x")[0] for part in str(row["prior_weights"]).split()]
            prunes = any(retention != whole for retention in kept)
        else:
            prunes = int(row["least_retention_units"]) < int(whole)
        alpha = _number(row["worst_min_prior_weight_units"] / units)
        before = found.get(n, (0.0, False))
        found[n] = (max(alpha, before[0]), prunes or before[1])
    counts = sorted(found)
    if not counts:
        raise ValueError("the accounting has no rows")
    return np.array([[n, found[n][0]] for n in counts], float), np.array([found[n][1] for n in counts])
