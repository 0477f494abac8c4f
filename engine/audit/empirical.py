"""How often an attacker is right, and whether the attacker knows when.

Every measure counts workers: an attacker predicts one value of the sensitive attribute for each of them. Averages hide
the few who are exposed, so accuracy is also given for the most certain predictions, and by how many workers share the
victim's workplace and segment.

Source: C13 Definition 1 (Cormode, Procopiuc, Shen, Srivastava and Yu 2013).
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray
from engine.audit.coded_tables import Predictions
from engine.errors import ParameterError

__all__ = [
    "CONFIDENT_SHARES",
    "SIZE_CLASSES",
    "Calibration",
    "ConfidentAccuracy",
    "SizeAccuracy",
    "accuracy",
    "accuracy_by_confidence",
    "accuracy_by_size",
    "baseline_accuracy",
    "breach_increase",
    "calibration",
    "empirical_privacy",
]

Ints = npt.NDArray[np.int64]

CONFIDENT_SHARES: Final = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10))
"""The most certain 1, 5 and 10% of predictions."""

SIZE_CLASSES: Final[tuple[tuple[int, int | None], ...]] = ((1, 1), (2, 9), (10, None))
"""Least and greatest number of workers in the victim's (destination, segment); None has no limit."""


class ConfidentAccuracy(NamedTuple):
    """Accuracy of the predictions with the greatest beliefs.

    Attributes
    ----------
    share : Fraction
        Share of all predictions, as asked for.
    n_workers : int
        The share of the predictions, rounded up.
    accuracy : float
        Of these predictions. If more predictions than are needed have the least belief, it is the expected accuracy
        when those needed are chosen from them at random.
    least_belief : float
        The least belief among these predictions.
    n_tied : int
        How many predictions have exactly the least belief, chosen or not.
    """

    share: Fraction
    n_workers: int
    accuracy: float
    least_belief: float
    n_tied: int


class SizeAccuracy(NamedTuple):
    """Workers and right predictions of one of the `SIZE_CLASSES`; accuracy is NaN without workers."""

    least: int
    greatest: int | None
    n_workers: int
    n_right: int

    @property
    def accuracy(self) -> float:
        """Share of right predictions."""
        return self.n_right / self.n_workers if self.n_workers else float("nan")


class Calibration(NamedTuple):
    """Claimed beliefs beside what came true, in all and by bins of belief.

    Attributes
    ----------
    mean_belief, accuracy : float
        Over all workers; NaN without workers.
    edges : float64[B + 1]
        Limits of the bins. A bin contains its lower limit, the last one also its upper.
    n_workers : int64[B]
    bin_belief, bin_accuracy : float64[B]
        Means over each bin; NaN in an empty one.
    """

    mean_belief: float
    accuracy: float
    edges: FloatArray
    n_workers: Ints
    bin_belief: FloatArray
    bin_accuracy: FloatArray


def accuracy(value: Ints, truth: Ints) -> float:
    """Share of workers whose value is predicted right; NaN without workers.

    Parameters
    ----------
    value : int64[N]
        Predicted values.
    truth : int64[N]
        Real values.

    Raises
    ------
    ParameterError
        The arrays have different lengths.
    """
    right = _right(value, truth)
    return float(right.mean()) if right.size else float("nan")


def empirical_privacy(value: Ints, truth: Ints) -> float:
    """Pi of C13: share of workers whose value is not predicted right. Arguments as for :func:`accuracy`."""
    return 1.0 - accuracy(value, truth)


def baseline_accuracy(truth: Ints) -> float:
    """Rho of C13: accuracy of always predicting the most frequent value, on the same workers.

    Parameters
    ----------
    truth : int64[N]
        Real values, at least 0; NaN without workers.
    """
    return float(np.bincount(truth).max() / truth.size) if truth.size else float("nan")


def breach_increase(accuracy: float, baseline: float) -> float:
    """Beta of C13: accuracy / rho - 1. It is 0 at the baseline and may be negative."""
    return accuracy / baseline - 1.0


def accuracy_by_confidence(
    predictions: Predictions, truth: Ints, shares: Sequence[Fraction] = CONFIDENT_SHARES
) -> list[ConfidentAccuracy]:
    """Accuracy of the most certain predictions, for each share of all.

    Parameters
    ----------
    predictions : Predictions
        Of N workers.
    truth : int64[N]
    shares : sequence of Fraction
        Above 0 and at most 1.

    Returns
    -------
    list of ConfidentAccuracy
        Empty without workers.

    Raises
    ------
    ParameterError
        A share is out of its range, or the arrays have different lengths.
    """
    for share in shares:
        if not 0 < share <= 1:
            raise ParameterError(
                f"share of the most certain predictions is {share}: give one above 0, at most 1"
            )
    right = _right(predictions.value, truth)
    if not right.size:
        return []
    order = np.argsort(-predictions.belief, kind="stable")
    belief = predictions.belief[order]
    right_so_far = np.concatenate(([0], np.cumsum(right[order])))
    return [_most_certain(belief, right_so_far, share) for share in shares]


def _most_certain(belief: FloatArray, right_so_far: Ints, share: Fraction) -> ConfidentAccuracy:
    """Of beliefs in falling order, and the number of right predictions before each."""
    wanted = ceil(share * belief.size)
    least = belief[wanted - 1]
    above, up_to = (int(np.searchsorted(-belief, -least, side=side)) for side in ("left", "right"))
    tied = up_to - above
    right_tied = (right_so_far[up_to] - right_so_far[above]) * (wanted - above) / tied
    return ConfidentAccuracy(
        share=share,
        n_workers=wanted,
        accuracy=float((right_so_far[above] + right_tied) / wanted),
        least_belief=float(least),
        n_tied=tied,
    )


def accuracy_by_size(value: Ints, truth: Ints, n: Ints) -> list[SizeAccuracy]:
    """Accuracy by the number of workers in the victim's (destination, segment).

    Parameters
    ----------
    value, truth : int64[N]
        As for :func:`accuracy`.
    n : int64[N]
        Workers of each victim's (destination, segment), the victim included.

    Returns
    -------
    list of SizeAccuracy
        One for each of `SIZE_CLASSES`.
    """
    right = _right(value, truth)
    accuracies = []
    for least, greatest in SIZE_CLASSES:
        here = (n >= least) & (True if greatest is None else n <= greatest)
        accuracies.append(SizeAccuracy(least, greatest, int(here.sum()), int(right[here].sum())))
    return accuracies


def calibration(predictions: Predictions, truth: Ints, *, n_bins: int = 10) -> Calibration:
    """Claimed beliefs beside what came true.

    Parameters
    ----------
    predictions : Predictions
        Of N workers.
    truth : int64[N]
    n_bins : int
        Bins of equal width from 0 to 1.
    """
    right = _right(predictions.value, truth)
    belief = predictions.belief
    bin_of = np.minimum((belief * n_bins).astype(np.int64), n_bins - 1)
    n_workers = np.bincount(bin_of, minlength=n_bins)
    with np.errstate(invalid="ignore"):
        return Calibration(
            mean_belief=float(belief.mean()) if right.size else float("nan"),
            accuracy=float(right.mean()) if right.size else float("nan"),
            edges=np.linspace(0.0, 1.0, n_bins + 1),
            n_workers=n_workers,
            bin_belief=np.bincount(bin_of, belief, n_bins) / n_workers,
            bin_accuracy=np.bincount(bin_of, right, n_bins) / n_workers,
        )


def _right(value: Ints, truth: Ints) -> npt.NDArray[np.bool_]:
    if value.shape != truth.shape:
        raise ParameterError(f"{value.size} predictions for {truth.size} workers: give one each")
    return np.asarray(value == truth)
