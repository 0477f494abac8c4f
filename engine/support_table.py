"""The support points of a batch of destination tracts, as the accountants and the draw take them."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engine._arrays import as_int, as_ptr
from engine._kernels.skipping import N_CLASSES, sort_into_classes
from engine.errors import ParameterError
from engine.units import RETENTION_UNITS

__all__ = ["SupportTable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportTable:
    """Public facts about the support points of a batch of destination tracts: CSR over tracts.

    Attributes
    ----------
    support_ptr : int64[T + 1]
        CSR offsets, as in :class:`engine.coarsening.Coarsening`.
    base_weight : int64[K]
        strength × prior share in units of 2^-20, rounded up (:func:`engine.prior.prior_weight`); may be 0.
    retention : int64[K]
        f_i in units of 2^-32, from 1 (a point kept only if a worker lives there would reveal that worker) to 2^32,
        which is certain. :func:`engine.pruning.retention_threshold` ensures that a point whose final weight is above 1
        is never pruned, and the accounting relies on it.
    class_ptr : int64[T * 10 + 1]
        Made from the retentions: CSR offsets of the points of each (destination tract, retention class).
    class_point : int32[K]
        Made from the retentions: local points of each tract by retention class, so that pruning can jump
        from one candidate to the next instead of looking at every point.

    Raises
    ------
    ParameterError
        If the arrays do not agree, are not integers, or a value is out of range.
    """

    support_ptr: npt.NDArray[np.int64]
    base_weight: npt.NDArray[np.int64]
    retention: npt.NDArray[np.int64]
    class_ptr: npt.NDArray[np.int64] = field(init=False, repr=False)
    class_point: npt.NDArray[np.int32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        weight = as_int("base_weight", self.base_weight)
        retention = as_int("retention", self.retention, low=1, high=RETENTION_UNITS)
        ptr = as_ptr("support_ptr", self.support_ptr, total=weight.size)
        if retention.size != weight.size:
            raise ParameterError(f"{retention.size} retentions for {weight.size} base weights: give one each")
        class_ptr = np.empty((ptr.size - 1) * N_CLASSES + 1, dtype=np.int64)
        class_point = np.empty(retention.size, dtype=np.int32)
        sort_into_classes(ptr, retention, np.empty(N_CLASSES, dtype=np.int64), class_ptr, class_point)
        for name, array in (
            ("support_ptr", ptr),
            ("base_weight", weight),
            ("retention", retention),
            ("class_ptr", class_ptr),
            ("class_point", class_point),
        ):
            object.__setattr__(self, name, array)

    @property
    def n_support(self) -> npt.NDArray[np.int64]:
        """Number of support points of each destination tract: int64[T]."""
        return np.diff(self.support_ptr)
