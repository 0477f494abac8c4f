"""Domain editing: removing far support points that public data say nobody commutes from.

Which points go is decided by public data and by the keyed stream alone, never by a confidential count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from engine._arrays import FloatArray, IntArray
from engine.coarsening import Coarsening
from engine.streams import SecretKey

__all__ = ["DEFAULT_ELIMINATION", "EditedDomain", "EditingMode", "edit_domain"]

EditingMode = Literal["none", "drop", "pool"]

DEFAULT_ELIMINATION: tuple[tuple[float, float], ...] = ((500.0, 0.98), (200.0, 0.9), (100.0, 0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedDomain:
    """Support points after domain editing.

    Attributes
    ----------
    coarsening : Coarsening
        The edited support points; surviving points keep their order. Under ``pool`` a destination tract
        that lost points has one more point, its last, of level 3 (remainder).
    new_point : int32[K]
        For each point before editing, its local number after: -1 where dropped, the remainder's number
        where pooled.
    n_eliminated : int64[T]
        Support points eliminated from each destination tract.
    """

    coarsening: Coarsening
    new_point: npt.NDArray[np.int32]
    n_eliminated: npt.NDArray[np.int64]


def edit_domain(
    key: SecretKey,
    coarsening: Coarsening,
    support_mass: FloatArray,
    destination_tract: IntArray,
    *,
    mode: EditingMode = "pool",
    elimination: Sequence[tuple[float, float]] = DEFAULT_ELIMINATION,
) -> EditedDomain:
    """Eliminate support points with no public prior mass, at random and more often the farther away.

    Parameters
    ----------
    key : SecretKey
        The release's key; draws come from stage EDIT, addressed by (destination tract number, 0), one
        32-bit word per candidate point in point order.
    coarsening : Coarsening
        The support points before editing.
    support_mass : float64[K]
        Public prior mass of each point (:func:`engine.prior.support_mass`); only points with mass exactly
        zero can be eliminated.
    destination_tract : int[T]
        Global number (0 to 2^32 - 1) of each destination tract, the same in every batch that holds it.
    mode : {"pool", "drop", "none"}
        ``pool`` merges what is eliminated into one remainder point per destination tract, so that no
        worker is lost; ``drop`` removes it, workers included (P10); ``none`` changes nothing.
    elimination : sequence of (distance_mi, probability)
        A candidate farther than ``distance_mi`` miles goes with ``probability``; the farthest distance
        that applies counts. Probabilities are rounded down to multiples of 2^-32.

    Returns
    -------
    EditedDomain

    Raises
    ------
    ParameterError
        If mode, elimination or array lengths are not as above.
    SupportError
        If a destination tract would keep no point.

    Source: P10 "Editing the Prior Domain"; METHOD section 3. Departure: ``pool``, so that n is untouched.
    """
    raise NotImplementedError
