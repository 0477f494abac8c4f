"""The support points of a batch of destination tracts, as the accountants and the draw take them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.arrays import as_int, as_ptr
from engine.errors import ParameterError
from engine.kernels.units import RETENTION_UNITS
from engine.support.kernels.skipping import N_CLASSES, ClassLists, sort_into_classes

__all__ = ["SupportTable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportTable:
    """Public facts about the support points of a batch of destination tracts: CSR over tracts.

    Attributes
    ----------
    support_ptr : int64[T + 1]
        CSR offsets, as in :class:`engine.support.coarsening.Coarsening`.
    base_weight : int64[K]
        strength × prior share in units of 2^-20, rounded up (:func:`engine.support.prior.prior_weight`); may be 0.
    retention : int64[K]
        f_i in units of 2^-32, from 1 (a point kept only if a worker lives there would reveal that worker) to 2^32,
        which is certain. :func:`engine.support.pruning.retention_threshold` ensures that a point whose final weight is
        above 1 is never pruned, and the accounting relies on it.

    Raises
    ------
    ParameterError
        If the arrays do not agree, are not integers, or a value is out of range.
    """

    support_ptr: npt.NDArray[np.int64]
    base_weight: npt.NDArray[np.int64]
    retention: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        weight = as_int("base_weight", self.base_weight)
        retention = as_int("retention", self.retention, low=1, high=RETENTION_UNITS)
        ptr = as_ptr("support_ptr", self.support_ptr, total=weight.size)
        if retention.size != weight.size:
            raise ParameterError(f"{retention.size} retentions for {weight.size} base weights: give one each")
        for name, array in (
            ("support_ptr", ptr),
            ("base_weight", weight),
            ("retention", retention),
        ):
            object.__setattr__(self, name, array)

    @property
    def n_support(self) -> npt.NDArray[np.int64]:
        """Number of support points of each destination tract: int64[T]."""
        return np.diff(self.support_ptr)

    def retention_classes(self) -> ClassLists:
        """Local points of each tract by retention class, from which pruning jumps from candidate to candidate.

        CSR offsets int64[T * 10 + 1] of each (destination tract, class), and a number int64[K] for each point, which
        holds its threshold, too. Made anew in each call.
        """
        class_ptr = np.empty((self.support_ptr.size - 1) * N_CLASSES + 1, dtype=np.int64)
        class_entry = np.empty(self.retention.size, dtype=np.int64)
        room = np.empty(N_CLASSES, dtype=np.int64)
        sort_into_classes(self.support_ptr, self.retention, room, class_ptr, class_entry)
        return ClassLists(class_ptr, class_entry)
