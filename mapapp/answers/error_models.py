"""The model of each mechanism's errors: what one workplace tract adds to the error of a count or of a sum."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pandas

from mapapp.answers.home_values import TractValues
from mapapp.answers.noisy_tables import Noise, ReleasedTables
from mapapp.answers.prior_terms import (
    EXPONENTIAL,
    GEOMETRIC,
    KEEP_OR_REDRAW,
    LAPLACE,
    SPARSE,
    WEIGHTED,
    ExponentialTerms,
    SupportTerms,
    WeightTerms,
    delta_of,
    epsilon_of,
    is_cleaned,
    mechanism_of,
    unit_of,
)
from mapapp.answers.support_prior import SupportPriors
from mapapp.answers.table_errors import TableErrors
from mapapp.answers.table_noise import (
    ExponentialNoise,
    GeometricNoise,
    LaplaceNoise,
    RedrawNoise,
    SparseNoise,
)
from mapapp.answers.weighted_errors import WeightedErrors

Floats = npt.NDArray[np.float64]

__all__ = ["ErrorModel", "check_terms", "error_model", "has_error_model"]


class ErrorModel(Protocol):
    """What workplace tracts add to the errors of counts and sums, and the errors that follow from all of them."""

    def of_tracts(self, asked: Iterable[TractValues], *, is_count: bool) -> Floats:
        """Return what workplace tracts add to the sums that :meth:`errors_of` needs: float64[P, R], added up.

        Parameters
        ----------
        asked : iterable of TractValues
            At least one; each has a few tracts, and is read when it is needed.
        is_count : bool
            Whether values are 1 in the home area and 0 elsewhere.
        """

    def prepare(self, tract: int) -> None:
        """Read what is kept of a workplace tract, which its first question would otherwise wait for."""

    def errors_of(self, sums: Floats, least: float) -> tuple[Floats, Floats, Floats]:
        """Return bias, variance and placement of R counts or sums.

        Parameters
        ----------
        sums : float64[P, R]
            What the tracts add, added up.
        least : float
            No real value is below it.
        """


_Check = Callable[[Mapping[str, object]], object]
_Make = Callable[[Mapping[str, object], SupportPriors, ReleasedTables | None], ErrorModel]


def _weighted(
    certificate: Mapping[str, object], support: SupportPriors, _released: ReleasedTables | None
) -> ErrorModel:
    return WeightedErrors(WeightTerms.of(certificate), support)


def _by_tables(noise_of: Callable[[Mapping[str, object]], Noise]) -> _Make:
    def make(
        certificate: Mapping[str, object], support: SupportPriors, released: ReleasedTables | None
    ) -> ErrorModel:
        if released is None:
            raise ValueError("errors of this mechanism need the released commutes: give `released`")
        return TableErrors(noise_of(certificate), is_cleaned(certificate), support, released)

    return make


def _exponential_noise(certificate: Mapping[str, object]) -> Noise:
    return ExponentialNoise(ExponentialTerms.of(certificate))


def _redraw_noise(certificate: Mapping[str, object]) -> Noise:
    return RedrawNoise(unit_of(certificate), epsilon_of(certificate))


def _laplace_noise(certificate: Mapping[str, object]) -> Noise:
    return LaplaceNoise(epsilon_of(certificate))


def _sparse_noise(certificate: Mapping[str, object]) -> Noise:
    return SparseNoise(epsilon_of(certificate), delta_of(certificate))


def _geometric_noise(certificate: Mapping[str, object]) -> Noise:
    return GeometricNoise(epsilon_of(certificate))


class _Model(NamedTuple):
    """How a mechanism's model is made, and what reads its terms from a certificate."""

    make: _Make
    check: _Check


_MODELS: Final[Mapping[str, _Model]] = {
    **dict.fromkeys(WEIGHTED, _Model(_weighted, WeightTerms.of)),
    EXPONENTIAL: _Model(_by_tables(_exponential_noise), _exponential_noise),
    KEEP_OR_REDRAW: _Model(_by_tables(_redraw_noise), _redraw_noise),
    LAPLACE: _Model(_by_tables(_laplace_noise), _laplace_noise),
    SPARSE: _Model(_by_tables(_sparse_noise), _sparse_noise),
    GEOMETRIC: _Model(_by_tables(_geometric_noise), _geometric_noise),
}


def has_error_model(certificate: Mapping[str, object]) -> bool:
    """Return whether errors are known for the mechanism of a release, and for the unit that it draws together."""
    mechanism = mechanism_of(certificate)
    return mechanism in _MODELS and (mechanism != GEOMETRIC or unit_of(certificate) == "tract")


def check_terms(certificate: Mapping[str, object]) -> None:
    """Read what expected errors need from a certificate, if its mechanism has a model.

    Raises
    ------
    KeyError, TypeError, ValueError, AttributeError, ArithmeticError
        If a term is missing or has the wrong type.
    """
    if has_error_model(certificate):
        SupportTerms.of(certificate)
        _MODELS[mechanism_of(certificate)].check(certificate)


def error_model(
    certificate: Mapping[str, object],
    tracts: pandas.DataFrame,
    flows: pandas.DataFrame,
    released: ReleasedTables | None,
) -> ErrorModel:
    """Return the model of a release's mechanism; arguments as for `ExpectedErrors`.

    Raises
    ------
    ValueError
        If no error is known for the mechanism.
    """
    if not has_error_model(certificate):
        raise ValueError("no expected error is known for this mechanism; check is_known first")
    support = SupportPriors(SupportTerms.of(certificate), tracts, flows)
    return _MODELS[mechanism_of(certificate)].make(certificate, support, released)
