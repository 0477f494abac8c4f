"""How far apart two distributions over the grid are: KL divergence, squared error and half the L1 distance.

Likelihoods are confidential, and so is everything computed from them.

Source: P10 "Analytical Validity Measures"; docs/theory/method.md, section 10.
"""

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray, FloatArray, as_amounts
from engine.errors import ParameterError
from engine.validity.closed_form import CellShares

__all__ = [
    "SMALL_WORKPLACE",
    "imse",
    "kl_divergence",
    "kl_of_counts",
    "squared_error",
    "total_variation",
    "weighted_mean",
]

SMALL_WORKPLACE = 9
"""A small destination has 1 to this many workers."""


def kl_divergence(likelihood: npt.ArrayLike, posterior: npt.ArrayLike) -> FloatArray:
    """Kullback–Leibler divergence of each row, sum of L ln(L/P), in nats: float64[D].

    Cells with L = 0 add nothing; infinite where P = 0 < L.

    Source: P10 "Analytical Validity Measures"; docs/theory/method.md, section 10.
    """
    real = as_amounts("likelihood", likelihood, ndim=2)
    expected = as_amounts("posterior", posterior, ndim=2)
    if real.shape != expected.shape:
        raise ParameterError(f"likelihood is {real.shape}, posterior {expected.shape}: give the same cells")
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(real > 0, real * np.log(real / expected), 0.0)
    return np.asarray(terms.sum(axis=1), dtype=np.float64)


def imse(cells: CellShares) -> FloatArray:
    """Integrated mean squared error of each destination: squared bias plus variance, over cells: float64[D].

    Source: P10 "Analytical Validity Measures"; docs/theory/method.md, section 10.
    """
    bias = cells.posterior - cells.likelihood
    return np.asarray((bias * bias + cells.variance).sum(axis=1), dtype=np.float64)


def weighted_mean(values: npt.ArrayLike, weight: npt.ArrayLike, where: BoolArray | None = None) -> float:
    """Mean over destinations weighted by their workers; NaN if no destination is chosen.

    Parameters
    ----------
    values, weight : array_like[D]
        A measure, and the workers.
    where : bool[D], optional
        Destinations to count; all by default.
    """
    value, workers = np.asarray(values, np.float64), np.asarray(weight, np.float64)
    if where is not None:
        value, workers = value[where], workers[where]
    total = workers.sum()
    return float((value * workers).sum() / total) if total > 0 else float("nan")


def kl_of_counts(real: npt.ArrayLike, drawn: npt.ArrayLike) -> FloatArray:
    """KL divergence between counts by cell, one worker spread evenly over the cells added to both: float64[D].

    A draw may leave cells empty where people live, and then the plain divergence is infinite. With the added worker it
    is finite, at least 0, and 0 only if the shares agree in every cell.

    Parameters
    ----------
    real, drawn : array_like[D, n_cells]
        Workers by cell.

    Source: docs/theory/method.md, section 10, for the release actually drawn; the added worker is ours.
    """
    real_counts, drawn_counts = _same_cells("real", real, "drawn", drawn)
    extra = 1.0 / real_counts.shape[1]
    return kl_divergence(_shares(real_counts + extra), _shares(drawn_counts + extra))


def squared_error(real: npt.ArrayLike, drawn: npt.ArrayLike) -> FloatArray:
    """Sum over cells of (m_g/m - n_g/n)^2, from counts: float64[D]; its expectation is :func:`imse`.

    NaN where one side has no workers.

    Source: docs/theory/method.md, section 10.
    """
    real_counts, drawn_counts = _same_cells("real", real, "drawn", drawn)
    return np.asarray(np.square(_shares(drawn_counts) - _shares(real_counts)).sum(axis=1))


def total_variation(real: npt.ArrayLike, drawn: npt.ArrayLike) -> FloatArray:
    """Share of workers that would have to change cells to make both alike, from counts: float64[D], 0 to 1.

    NaN where one side has no workers.
    """
    real_counts, drawn_counts = _same_cells("real", real, "drawn", drawn)
    return np.asarray(np.abs(_shares(drawn_counts) - _shares(real_counts)).sum(axis=1) / 2.0)


def _same_cells(
    name: str, counts: npt.ArrayLike, of_other: str, other_counts: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    first, second = as_amounts(name, counts, ndim=2), as_amounts(of_other, other_counts, ndim=2)
    if first.shape != second.shape:
        raise ParameterError(f"{name} is {first.shape}, {of_other} {second.shape}: give the same cells")
    return first, second


def _shares(counts: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))
