"""The model of each mechanism's errors: what one workplace tract adds to the error of a count or of a sum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas

from mapapp.answers.errors.certificate_terms import (
    EXPONENTIAL,
    USUAL_MECHANISM,
    ExponentialTerms,
    SupportTerms,
    WeightTerms,
    is_cleaned,
    mechanism_of,
)
from mapapp.answers.errors.dirichlet_multinomial import WeightedErrors
from mapapp.answers.errors.drawn_counts import ReleasedTables
from mapapp.answers.errors.exponential_mechanism import TableErrors
from mapapp.answers.errors.exponential_noise import ExponentialNoise
from mapapp.answers.errors.home_values import TractValues
from mapapp.answers.errors.support_prior import SupportPriors

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


def has_error_model(certificate: Mapping[str, object]) -> bool:
    """Return whether errors are known for the mechanism of a release."""
    return mechanism_of(certificate) in (EXPONENTIAL, USUAL_MECHANISM)


def check_terms(certificate: Mapping[str, object]) -> None:
    """Read what expected errors need from a certificate, if its mechanism has a model.

    Raises
    ------
    KeyError, TypeError, ValueError, AttributeError, ArithmeticError
        If a term is missing or has the wrong type.
    """
    if has_error_model(certificate):
        SupportTerms.of(certificate)
        (ExponentialTerms if mechanism_of(certificate) == EXPONENTIAL else WeightTerms).of(certificate)


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
    if mechanism_of(certificate) == USUAL_MECHANISM:
        return WeightedErrors(WeightTerms.of(certificate), support)
    if released is None:
        raise ValueError("errors of this mechanism need the released commutes: give `released`")
    noise = ExponentialNoise(ExponentialTerms.of(certificate))
    return TableErrors(noise, is_cleaned(certificate), support, released)
