"""The numbers that expected errors need from a certificate, read once.

The publisher of worker records simulates the noise and the sampling of the published model, and fits the squared error
of the cells of some combinations of attributes: a constant, a part in proportion to the count, and one in proportion to
its square (docs/theory/synthetic-records.md). A count is a sum of such cells. Errors of counts that these terms do not
cover are not stated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, Self

import msgspec
import numpy as np
import numpy.typing as npt
import pandas

from geodata.geography.elsewhere import division_numbers
from geodata.json_objects import JsonMapping
from mapapp.answers.claims import Finite, FractionText
from mapapp.answers.records.claims import AttributeClaim, ErrorTerm

__all__ = [
    "CLEANED_RANGES_MI",
    "EXPONENTIAL",
    "DrawnTerms",
    "ErrorTerms",
    "ExponentialTerms",
    "SupportTerms",
    "WeightTerms",
    "check_terms",
]

EXPONENTIAL: Final = "exponential"
Unit = Literal["cell", "block", "tract"]
CLEANED_RANGES_MI: Final = (1.0, 4.0, 10.0, 25.0, 100.0, 500.0)
"""Miles between the commute ranges that cleaning takes noise out of."""
_THETA_UNITS: Final = 1 << 20
_PRICE_UNITS: Final = 1 << 12
_MOST_LISTED_WORKERS: Final = 1 << 12  # today's certificates list the laws of 1 to 200 workers, and of more


class DrawnTerms(msgspec.Struct, frozen=True, kw_only=True):
    """How a release was drawn; certificates of earlier versions do not say it where there was no choice."""

    mechanism: Literal["dirichlet-multinomial", "exponential"] = "dirichlet-multinomial"
    unit: Unit = "cell"
    clean: bool = False
    cascade: bool = False

    @classmethod
    def of(cls, certificate: JsonMapping) -> Self:
        """Read the terms from a certificate; errors as :meth:`WeightTerms.of`."""
        return msgspec.convert(certificate["parameters"]["synthesis"], cls)


# What else is read of a certificate. It has further fields, and those of earlier versions lack some.


class _Synthesis(DrawnTerms, frozen=True, kw_only=True):
    q50_mi: Finite
    q90_mi: Finite
    tract_radius_mi: Finite | None = None
    puma_radius_mi: Finite | None = None
    far_state_miles: float = math.inf
    retention_scale: Finite
    strength: Finite
    editing: str
    prior: str
    elimination: tuple[tuple[Finite, Finite], ...] = ()


class _Privacy(msgspec.Struct, frozen=True, kw_only=True):
    min_retention: FractionText = "1"


class _Parameters(msgspec.Struct, frozen=True, kw_only=True):
    privacy: _Privacy
    synthesis: _Synthesis


class _Gravity(msgspec.Struct, frozen=True, kw_only=True):
    scale_mi: Finite
    shape: Finite


class _Construction(msgspec.Struct, frozen=True, kw_only=True):
    gravity: _Gravity | None = None


class _WeightRow(msgspec.Struct, frozen=True, kw_only=True):
    published_count: int
    worst_min_prior_weight_units: int
    prior_weights: str | None = None
    least_retention_units: int = 0


class _WeightAccounting(msgspec.Struct, frozen=True, kw_only=True):
    weight_units_per_worker: int
    retention_units: int
    rows: list[_WeightRow]


class _ExponentialRow(msgspec.Struct, frozen=True, kw_only=True):
    n_support: int
    inverse_theta: str
    n_workers: str | None = None
    price: str | None = None


class _ExponentialAccounting(msgspec.Struct, frozen=True, kw_only=True):
    rows: list[_ExponentialRow]


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
        stated = msgspec.convert(certificate["parameters"], _Parameters)
        synthesis, gravity = (
            stated.synthesis,
            msgspec.convert(certificate["construction"], _Construction).gravity,
        )
        near, far = synthesis.tract_radius_mi, synthesis.puma_radius_mi
        return cls(
            tract_radius_mi=synthesis.q50_mi if near is None else near,
            puma_radius_mi=synthesis.q90_mi if far is None else far,
            far_state_miles=synthesis.far_state_miles,
            retention_scale=synthesis.retention_scale,
            least_retention=float(Fraction(stated.privacy.min_retention)),
            editing=synthesis.editing,
            prior=synthesis.prior,
            elimination=() if synthesis.editing == "none" else tuple(sorted(synthesis.elimination)),
            gravity=None if gravity is None else (gravity.scale_mi, gravity.shape),
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
        ValueError, KeyError, ArithmeticError
            If a term is missing or has the wrong type.
        """
        by_count: dict[int, tuple[float, bool]] = {}
        accounting = msgspec.convert(certificate["accounting"], _WeightAccounting)
        for row in accounting.rows:
            if row.prior_weights is None:
                prunes = row.least_retention_units < accounting.retention_units
            else:
                kept = [part.partition(":")[2].partition("x")[0] for part in row.prior_weights.split()]
                prunes = any(retention != str(accounting.retention_units) for retention in kept)
            alpha = row.worst_min_prior_weight_units / accounting.weight_units_per_worker
            least, pruned = by_count.get(row.published_count, (0.0, False))
            by_count[row.published_count] = (max(alpha, least), prunes or pruned)
        if not by_count:
            raise ValueError("the accounting has no rows")
        counts = sorted(by_count)
        return cls(
            strength=msgspec.convert(certificate["parameters"], _Parameters).synthesis.strength,
            least_weight=np.array([[n, by_count[n][0]] for n in counts], float),
            prunes=np.array([by_count[n][1] for n in counts]),
        )


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
        For these, theta and the price of tables of 1, 2, ... workers; the last are those of all larger tables. Numbers
        of workers that do not occur have those of the next larger one that does, or of the largest.
    """

    unit: str
    n_support: npt.NDArray[np.int64]
    theta: npt.NDArray[np.float64]
    price: npt.NDArray[np.float64]

    @classmethod
    def of(cls, certificate: JsonMapping) -> ExponentialTerms:
        """Read the terms from a certificate; errors as :meth:`WeightTerms.of`."""
        listed = msgspec.convert(certificate["accounting"], _ExponentialAccounting).rows
        rows = sorted(listed, key=lambda row: row.n_support)
        theta, price = _spread_laws(rows)
        n_support = np.array([row.n_support for row in rows], dtype=np.int64)
        return cls(
            unit=DrawnTerms.of(certificate).unit,
            n_support=n_support,
            theta=theta,
            price=price,
        )


def _spread_laws(rows: Sequence[_ExponentialRow]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Theta and the price for every row and number of workers: float64[K, N] each.

    Raises
    ------
    ValueError
        The laws that a row lists are none.
    """
    listed = [_listed_laws(row) for row in rows]
    most = max((int(n_workers[-1]) for n_workers, _, _ in listed), default=0)
    if not most:
        raise ValueError("accounting lists no number of support points")
    every = np.arange(1, most + 1)
    at = [np.minimum(np.searchsorted(n_workers, every), n_workers.size - 1) for n_workers, _, _ in listed]
    theta = [_THETA_UNITS / inverse[place] for place, (_, inverse, _) in zip(at, listed, strict=True)]
    price = [price[place] / _PRICE_UNITS for place, (_, _, price) in zip(at, listed, strict=True)]
    return np.array(theta), np.array(price)


def _listed_laws(row: _ExponentialRow) -> tuple[npt.NDArray[np.float64], ...]:
    """Numbers of workers, 1 / theta, and prices as a row lists them; without numbers, those of 1, 2, ... workers."""
    inverse = np.array([float(text) for text in row.inverse_theta.split()])
    if not (inverse.size and np.isfinite(inverse).all() and (inverse >= _THETA_UNITS).all()):
        raise ValueError("inverse_theta must list a number of at least 2^20 for each number of workers")
    # The first releases were drawn without a price.
    price = np.array([float(text) for text in (row.price or f"{_PRICE_UNITS} " * inverse.size).split()])
    if price.shape != inverse.shape or not ((price > 0) & (price <= _PRICE_UNITS)).all():
        raise ValueError("price must list a number of 1 to 2^12 for each number of workers")
    if row.n_workers is None:
        return np.arange(1.0, inverse.size + 1), inverse, price
    n_workers = np.array([float(text) for text in row.n_workers.split()])
    is_rising = (np.diff(n_workers, prepend=0) > 0).all() and n_workers.max(initial=0) <= _MOST_LISTED_WORKERS
    if n_workers.shape != inverse.shape or not is_rising or (n_workers % 1 != 0).any():
        raise ValueError("n_workers must list rising numbers of workers, one for each of inverse_theta")
    return n_workers, inverse, price


def check_terms(certificate: JsonMapping) -> None:
    """Read what expected errors need from the certificate of a release; errors as :meth:`WeightTerms.of`."""
    SupportTerms.of(certificate)
    is_exponential = DrawnTerms.of(certificate).mechanism == EXPONENTIAL
    (ExponentialTerms if is_exponential else WeightTerms).of(certificate)


class ErrorTerms:
    """The terms of one certificate.

    Parameters
    ----------
    terms : sequence of ErrorTerm
        None if the certificate states no errors.
    attributes : sequence of AttributeClaim
    """

    def __init__(self, terms: Sequence[ErrorTerm], attributes: Sequence[AttributeClaim]) -> None:
        self._terms = sorted(terms, key=lambda term: (len(term.attributes), sorted(term.attributes)))
        self._sizes = {claim.name: len(claim.values) for claim in attributes}

    def is_covered(self, names: frozenset[str]) -> bool | None:
        """Return whether the model draws some attributes together; None if the certificate does not say."""
        return next((term.is_covered for term in self._terms if set(term.attributes) == names), None)

    @property
    def are_stated(self) -> bool:
        """Whether the certificate states any term."""
        return bool(self._terms)

    def error(self, count: int, values: Mapping[str, int]) -> float | None:
        """Return the expected error of a count, in workers; None if the model does not draw its attributes together.

        Parameters
        ----------
        count : int
        values : mapping of str to int
            How many values of each attribute it covers, for the attributes that restrict it.
        """
        square = self._squared_error(count, values)
        return None if square is None else math.sqrt(square)

    def _squared_error(self, count: int, values: Mapping[str, int]) -> float | None:
        """Return the squared error of a count: between that of so many cells and that of all values of an attribute.

        Errors of cells are not independent: those of all values of an attribute add up to the error of their total,
        whose term is that of the other attributes.
        """
        wanted = frozenset(values)
        term = next(
            (term for term in self._terms if term.is_covered and wanted.issubset(term.attributes)), None
        )
        if term is None:
            return None
        more = [self._sizes.get(name, 1) for name in term.attributes if name not in wanted]
        of_cells = term.squared_error(count, math.prod(values.values()) * math.prod(more))
        part, name = max(((self._part(name, n), name) for name, n in values.items()), default=(0.0, ""))
        if not part:
            return of_cells
        others = {other: n for other, n in values.items() if other != name}
        of_others = self._squared_error(count, others) if others else 0.0
        return of_cells if of_others is None else (1.0 - part**2) * of_cells + part**2 * of_others

    def _part(self, name: str, n_values: int) -> float:
        """Return how close some values of an attribute are to all: 0 for one, and 1 for all."""
        size = self._sizes.get(name, 1)
        return min((n_values - 1) / (size - 1), 1.0) if size > 1 else 0.0
