"""Joint segment counts from published margins.

LODES publishes the jobs of an origin-destination pair by age, by earnings and by industry, but not jointly. For
one job the joint segment is known. For more it is assigned here by *sequential largest remainder*:

1. The jobs of each age band in turn are spread over the earnings bands in proportion to the earnings jobs not
   yet placed: whole parts first, then one more job to the largest remainders.
2. The jobs of each (age, earnings) cell in turn are spread over the industry groups in the same way.

Every step uses up each margin exactly, so all three published margins are recovered in every row, and counts
are near the product of the margins. Equal remainders go to the first band in cyclic order from the row's *turn*,
which the caller makes of public identifiers: without it ties would always favour the lowest code and tie young
age to low earnings over a whole state.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def joint_counts(age: Ints, earnings: Ints, industry: Ints, turn: Ints) -> Ints:
    """Assign joint counts that recover all margins exactly.

    Parameters
    ----------
    age, earnings, industry : int64[N, 3]
        Margins of each row; all three have the same sum.
    turn : int64[N]
        Any whole number ≥ 0; decides ties only.

    Returns
    -------
    int64[N, 3, 3, 3]
        Counts by age, earnings, and industry.
    """
    by_age_earnings = _spread(age, earnings, turn)
    cells = by_age_earnings.reshape(-1, 9)
    # Another digit of the turn, so that ties in the two steps are broken independently.
    return _spread(cells, industry, turn // 3).reshape(-1, 3, 3, 3)


def _spread(part: Ints, margin: Ints, turn: Ints) -> Ints:
    """Spread each row's parts, int64[N, R], over its margin, int64[N, 3]: int64[N, R, 3]."""
    result = np.zeros((part.shape[0], part.shape[1], 3), dtype=np.int64)
    left = margin.astype(np.int64, copy=True)
    # Later in the cyclic order means a lower place among equal remainders.
    place = (np.arange(3) - turn[:, None]) % 3
    for step in range(part.shape[1]):
        share = _largest_remainder(part[:, step], left, place)
        result[:, step] = share
        left -= share
    return result


def _largest_remainder(total: Ints, left: Ints, place: Ints) -> Ints:
    """Apportion `total` int64[N] in proportion to `left` int64[N, 3], whose sum is at least the total."""
    weight = np.maximum(left.sum(axis=1), 1)[:, None]
    product = total[:, None] * left
    share = product // weight
    # Three times the remainder less the place: equal remainders differ by their place, others keep their order.
    rank_key = 3 * (product % weight) - place
    rank = (rank_key[:, None, :] > rank_key[:, :, None]).sum(axis=2)
    missing = total - share.sum(axis=1)
    return np.asarray(share + (rank < missing[:, None]), dtype=np.int64)
