"""Pruning: the probability that each empty support point stays in a synthesizer's support.

Retention probabilities are public and held as integer multiples of 2^-32, so that a retention draw compares integers
and the accountant certifies exactly what is drawn.
"""

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray, as_amounts
from engine.errors import ParameterError
from engine.kernels.units import RETENTION_UNITS
from engine.support.coarsening import LEVEL_REMAINDER, Coarsening

__all__ = [
    "NEVER_CERTAIN",
    "effective_retention",
    "retention_probability",
    "retention_threshold",
]

NEVER_CERTAIN = (1 << 62) - 1


def retention_threshold(
    coarsening: Coarsening, prior_share: FloatArray, *, scale: float, min_retention: float
) -> npt.NDArray[np.int64]:
    """Retention probability of every support point, in units of 2^-32, rounded up.

    f_i = clip(scale × prior_share_i, min_retention, 1); the remainder point always has 1.

    Parameters
    ----------
    coarsening : Coarsening
        Support points after domain editing.
    prior_share : float64[K]
        Public prior share of each point.
    scale : float
        Factor from prior share to retention probability, at least 0; infinity is not allowed.
    min_retention : float
        Least retention probability, 2^-32 to 1. With 1 nothing is pruned.

    Returns
    -------
    int64[K]
        1 to ``RETENTION_UNITS``; ``RETENTION_UNITS`` means certain.

    Raises
    ------
    ParameterError
        If scale or min_retention is out of range, or prior_share has another length.

    Source: P08 Algorithm 2; docs/theory/method.md, section 6.
    """
    share = as_amounts("prior_share", prior_share)
    if share.size != coarsening.support_level.size:
        raise ParameterError(
            f"{share.size} prior shares for {coarsening.support_level.size} support points: give one each"
        )
    if not 0 <= scale < np.inf:
        raise ParameterError(f"scale = {scale}: give a finite value of at least 0")
    if not 1 / RETENTION_UNITS <= min_retention <= 1:
        raise ParameterError(f"min_retention = {min_retention}: allowed are 2^-32 (2.4e-10) to 1")
    with np.errstate(over="ignore"):
        probability = np.clip(scale * share, min_retention, 1.0)
    # Scaling by a power of two is exact, so this rounds up by less than one unit and never down.
    threshold = np.ceil(probability * RETENTION_UNITS).astype(np.int64)
    threshold[coarsening.support_level == LEVEL_REMAINDER] = RETENTION_UNITS
    return threshold


def effective_retention(
    threshold: npt.NDArray[np.int64],
    prior_weight: npt.NDArray[np.int64],
    *,
    certain_above: int = NEVER_CERTAIN,
) -> npt.NDArray[np.int64]:
    """Retention thresholds as the sampler applies them to one synthesizer.

    A point whose prior weight exceeds ``certain_above`` is never pruned. The paper accountant asks for
    ``certain_above = WEIGHT_UNITS`` (alpha_i > 1), so that ceil(alpha_i) ln 2 stays ln 2.

    Parameters
    ----------
    threshold : int64[k]
        From :func:`retention_threshold`.
    prior_weight : int64[k]
        alpha_i in units of 2^-20, the minimum already applied.
    certain_above : int
        Weight above which a point is certain to stay.

    Returns
    -------
    int64[k]

    Source: P08 Theorem 5.2; docs/theory/method.md, section 6.
    """
    return np.where(prior_weight > certain_above, np.int64(RETENTION_UNITS), threshold)


def retention_probability(threshold: npt.NDArray[np.int64]) -> FloatArray:
    """Retention thresholds as probabilities f_i: exactly ``threshold / 2^32``, float64."""
    return np.asarray(threshold, dtype=np.float64) / RETENTION_UNITS
