"""The model of each mechanism's errors: what one workplace tract adds to the error of a count or of a sum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import pandas

from mapapp.answers.exponential_errors import ExponentialErrors, ReleasedTables
from mapapp.answers.prior_terms import (
    EXPONENTIAL,
    WEIGHTED,
    ExponentialTerms,
    SupportTerms,
    WeightTerms,
    mechanism_of,
)
from mapapp.answers.support_prior import HomeShares, SupportPriors, Synthesizers
from mapapp.answers.weighted_errors import WeightedErrors

Floats = npt.NDArray[np.float64]

__all__ = ["ErrorModel", "check_terms", "error_model", "has_error_model"]


class ErrorModel(Protocol):
    """What one workplace tract adds to the errors of counts and sums."""

    def of_counts(self, tract: int, home: HomeShares, synthesizers: Synthesizers, count: Floats) -> Floats:
        """Return bias, variance and placement that the tract adds to each of R counts: float64[3, R].

        Parameters
        ----------
        tract : int
        home : float64[R, n_tracts], dense or sparse
            Share of each tract's people in each home area.
        synthesizers : Synthesizers
            Those of the work area in the tract.
        count : float64[R]
        """

    def of_sums(
        self,
        tract: int,
        values: tuple[Floats, Floats],
        synthesizers: Synthesizers,
        found: tuple[Floats, Floats],
    ) -> Floats:
        """Return bias, variance and placement that the tract adds to each of R sums: float64[3, R].

        Parameters
        ----------
        tract : int
        values : tuple of float64[R, n_tracts]
            Mean and mean square of a worker's value by home tract.
        synthesizers : Synthesizers
        found : tuple of float64[R]
            Sums of values and of squared values of the synthetic workers.
        """


_Terms = WeightTerms | ExponentialTerms


def _weighted(
    certificate: Mapping[str, object], support: SupportPriors, _released: ReleasedTables | None
) -> ErrorModel:
    return WeightedErrors(WeightTerms.of(certificate), support)


def _exponential(
    certificate: Mapping[str, object], support: SupportPriors, released: ReleasedTables | None
) -> ErrorModel:
    if released is None:
        raise ValueError("errors of the exponential mechanism need the released commutes: give `released`")
    return ExponentialErrors(ExponentialTerms.of(certificate), support, released)


_Make = Callable[[Mapping[str, object], SupportPriors, ReleasedTables | None], ErrorModel]
_MODELS: Final[Mapping[str, _Make]] = dict.fromkeys(WEIGHTED, _weighted) | {EXPONENTIAL: _exponential}
_TERMS: Final[Mapping[str, Callable[[Mapping[str, object]], _Terms]]] = dict.fromkeys(
    WEIGHTED, WeightTerms.of
) | {EXPONENTIAL: ExponentialTerms.of}


def has_error_model(certificate: Mapping[str, object]) -> bool:
    """Return whether errors are known for the mechanism of a release."""
    return mechanism_of(certificate) in _MODELS


def check_terms(certificate: Mapping[str, object]) -> None:
    """Read what expected errors need from a certificate, if its mechanism has a model.

    Raises
    ------
    KeyError, TypeError, ValueError, AttributeError, ArithmeticError
        If a term is missing or has the wrong type.
    """
    if has_error_model(certificate):
        SupportTerms.of(certificate)
        _TERMS[mechanism_of(certificate)](certificate)


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
    return _MODELS[mechanism_of(certificate)](certificate, support, released)
