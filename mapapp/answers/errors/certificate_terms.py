"""The numbers that expected errors need from a certificate, read once.

The publisher of worker records simulates the noise and the sampling of the published model, and fits the squared error
of the cells of some combinations of attributes: a constant, a part in proportion to the count, and one in proportion to
its square (docs/theory/synthetic-records.md). A count is a sum of such cells. Errors of counts that these terms do not
cover are not stated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pandas

from geodata.geography.elsewhere import division_numbers
from geodata.json_objects import JsonMapping
from mapapp.answers.records.claims import ErrorTerm, listed_attributes

__all__ = [
    "CLEANED_RANGES_MI",
    "EXPONENTIAL",
    "USUAL_MECHANISM",
    "ErrorTerms",
    "ExponentialTerms",
    "SupportTerms",
    "WeightTerms",
    "check_terms",
    "is_cleaned",
    "mechanism_of",
    "unit_of",
]

EXPONENTIAL: Final = "exponential"
USUAL_MECHANISM: Final = "dirichlet-multinomial"
UNITS: Final = ("cell", "block", "tract")
CLEANED_RANGES_MI: Final = (1.0, 4.0, 10.0, 25.0, 100.0, 500.0)
"""Miles between the commute ranges that cleaning takes noise out of."""
_THETA_UNITS: Final = 1 << 20
_PRICE_UNITS: Final = 1 << 12


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportTerms:
    """How the homes of a release were coarsened and edited, according to its certificate.

    Attributes
    ----------
    tract_radius_mi, puma_radius_mi : float
        Beyond the first, homes count by PUMA; beyond the second, by SuperPUMA.
    far_state_miles : float
        States outside the imported area that are at least this far are pooled by census division; infinite if none are.
    retention_scale, least_retention : float
        Scale and minimum of retention probabilities; the minimum is 1 for a mechanism that prunes nothing.
    editing, prior : str
    elimination : tuple of (float, float)
        Distance in miles beyond which a point without mass is eliminated, and the probability; ascending.
    gravity : tuple of (float, float), optional
        Scale in miles and shape of the gravity model.
    """

    tract_radius_mi: float
    puma_radius_mi: float
    far_state_miles: float
    retention_scale: float
    least_retention: float
    editing: str
    prior: str
    elimination: tuple[tuple[float, float], ...]
    gravity: tuple[float, float] | None

    def far_divisions(self, tracts: pandas.DataFrame) -> npt.NDArray[np.int64]:
        """Return the census division of every tract that is a whole state outside the imported area, else -1.

        Reads `elsewhere` and `state_id`, unless no state is pooled.
        """
        if math.isinf(self.far_state_miles):
            return np.full(len(tracts), -1, dtype=np.int64)
        division = division_numbers(tracts["state_id"])
        return np.where(tracts["elsewhere"].to_numpy(np.bool_), division, -1).astype(np.int64)

    @classmethod
    def of(cls, certificate: JsonMapping) -> SupportTerms:
        """Read the terms from a certificate; errors as :meth:`WeightTerms.of`."""
        synthesis = certificate["parameters"]["synthesis"]
        gravity = certificate["construction"].get("gravity")
        return cls(
            tract_radius_mi=_number(synthesis.get("tract_radius_mi", synthesis["q50_mi"])),
            puma_radius_mi=_number(synthesis.get("puma_radius_mi", synthesis["q90_mi"])),
            far_state_miles=float(synthesis.get("far_state_miles", math.inf)),
            retention_scale=_number(synthesis["retention_scale"]),
            least_retention=_fraction(certificate["parameters"]["privacy"].get("min_retention", "1")),
            editing=synthesis["editing"],
            prior=synthesis["prior"],
            elimination=_elimination(synthesis),
            gravity=None if gravity is None else (_number(gravity["scale_mi"]), _number(gravity["shape"])),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightTerms:
    """Prior weights and pruning of a mechanism that has them.

    Attributes
    ----------
    strength : float
        Of the prior.
    least_weight : float64[N, 2]
        Number of workers of a synthesizer, ascending, and its least prior weight.
    prunes : bool[N]
        Whether those synthesizers prune.
    """

    strength: float
    least_weight: npt.NDArray[np.float64]
    prunes: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, certificate: JsonMapping) -> WeightTerms:
        """Read the terms from a certificate.

        Raises
        ------
        KeyError, TypeError, ValueError, AttributeError, ArithmeticError
            If a term is missing or has the wrong type.
        """
        weight, prunes = _weights(certificate["accounting"])
        strength = _number(certificate["parameters"]["synthesis"]["strength"])
        return cls(strength=strength, least_weight=weight, prunes=prunes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialTerms:
    """The noise of the exponential mechanism.

    Attributes
    ----------
    unit : {"cell", "block", "tract"}
        Workers drawn together.
    n_support : int64[K]
        Numbers of support points, ascending.
    theta, price : float64[K, N]
        For these, theta and the price of tables of 1, 2, ... workers; the last are those of all larger tables.
    """

    unit: str
    n_support: npt.NDArray[np.int64]
    theta: npt.NDArray[np.float64]
    price: npt.NDArray[np.float64]

    @classmethod
    def of(cls, certificate: JsonMapping) -> ExponentialTerms:
        """Read the terms from a certificate; errors as :meth:`WeightTerms.of`."""
        rows = sorted(certificate["accounting"]["rows"], key=lambda row: int(row["n_support"]))
        inverse = np.array([[_number(text) for text in row["inverse_theta"].split()] for row in rows], float)
        if inverse.ndim != 2 or not (inverse.size and (inverse >= _THETA_UNITS).all()):
            raise ValueError("inverse_theta must list a number of at least 2^20 for each number of workers")
        # Earlier releases were drawn without a price.
        free = " ".join([str(_PRICE_UNITS)] * inverse.shape[1])
        price = np.array([[_number(text) for text in row.get("price", free).split()] for row in rows], float)
        if price.shape != inverse.shape or not ((price > 0) & (price <= _PRICE_UNITS)).all():
            raise ValueError("price must list a number of 1 to 2^12 for each number of workers")
        n_support = np.array([int(row["n_support"]) for row in rows], dtype=np.int64)
        return cls(
            unit=unit_of(certificate),
            n_support=n_support,
            theta=_THETA_UNITS / inverse,
            price=price / _PRICE_UNITS,
        )


def mechanism_of(certificate: JsonMapping) -> str:
    """Return the mechanism of a release; certificates of the first version do not name it.

    Raises
    ------
    ValueError
        The certificate names another mechanism.
    """
    mechanism = str(certificate["parameters"]["synthesis"].get("mechanism", USUAL_MECHANISM))
    if mechanism not in (EXPONENTIAL, USUAL_MECHANISM):
        raise ValueError(f"mechanism {mechanism!r}")
    return mechanism


def check_terms(certificate: JsonMapping) -> None:
    """Read what expected errors need from the certificate of a release.

    Raises
    ------
    KeyError, TypeError, ValueError, AttributeError, ArithmeticError
        If a term is missing or has the wrong type.
    """
    SupportTerms.of(certificate)
    (ExponentialTerms if mechanism_of(certificate) == EXPONENTIAL else WeightTerms).of(certificate)


def is_cleaned(certificate: JsonMapping) -> bool:
    """Return whether expected noise was taken out of a release's commute ranges."""
    return bool(certificate["parameters"]["synthesis"].get("clean", False))


def unit_of(certificate: JsonMapping) -> str:
    """Return which workers were drawn together: those of a "cell" (block and segment), a "block" or a "tract".

    Raises
    ------
    ValueError
        The certificate names another unit.
    """
    unit = str(certificate["parameters"]["synthesis"].get("unit", UNITS[0]))
    if unit not in UNITS:
        raise ValueError(f"unit {unit!r}")
    return unit


def _elimination(synthesis: JsonMapping) -> tuple[tuple[float, float], ...]:
    if synthesis["editing"] == "none":
        return ()
    return tuple(sorted((_number(beyond), _number(chance)) for beyond, chance in synthesis["elimination"]))


def _fraction(text: str) -> float:
    above, _, below = text.partition("/")
    return _number(float(above) / float(below or 1))


def _number(value: float) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is not finite")
    return number


def _weights(accounting: JsonMapping) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
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


class ErrorTerms:
    """The terms of one certificate.

    Parameters
    ----------
    certificate : mapping

    Raises
    ------
    msgspec.ValidationError
        If its terms cannot be read.
    """

    def __init__(self, certificate: Mapping[str, object]) -> None:
        listed = msgspec.convert(certificate.get("expected_error") or (), tuple[ErrorTerm, ...])
        self._terms = sorted(listed, key=lambda term: (len(term.attributes), sorted(term.attributes)))
        self._sizes = {each.name: len(each.values) for each in listed_attributes(certificate)}

    def is_covered(self, names: frozenset[str]) -> bool | None:
        """Return whether the model draws some attributes together; None if the certificate does not say."""
        return next((term.is_covered for term in self._terms if set(term.attributes) == names), None)

    @property
    def are_stated(self) -> bool:
        """Whether the certificate states any term."""
        return bool(self._terms)

    def error(self, count: int, values: Mapping[str, int]) -> float | None:
        """Return the expected error of a count, in workers; None if no term covers it.

        Parameters
        ----------
        count : int
        values : mapping of str to int
            How many values of each attribute it covers, for the attributes that restrict it.
        """
        wanted = frozenset(values)
        found = next((term for term in self._terms if wanted.issubset(term.attributes)), None)
        if found is None:
            return None
        more = [self._sizes.get(name, 1) for name in found.attributes if name not in wanted]
        return found.error(count, math.prod(values.values()) * math.prod(more))
