"""What an attacker claims and how much of it is true, counted batch by batch in bounded memory.

The results are those of :mod:`engine.audit.empirical` on all workers at once, and depend neither on their order nor on
the batches: workers are counted, and beliefs, which are kept in single precision, are summed without rounding. Of the
single beliefs, only those that may be among the most certain are kept, equal ones together.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray
from engine.audit.empirical import CONFIDENT_SHARES, SIZE_CLASSES, ConfidentAccuracy
from engine.audit.kernels.beliefs import SIGNIFICAND_BITS, Tallies, tally_beliefs
from engine.errors import ParameterError

__all__ = ["BeliefTally", "ClassTally", "size_classes"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Keys = npt.NDArray[np.uint32]

_N_EXPONENTS: Final = 128  # of beliefs below 2
_LEAST_EXPONENT: Final = -149  # the least single-precision number is 2^-149
_FEWEST_WAITING: Final = 1 << 18
_MOST_WORKERS: Final = 1 << 32


class ClassTally(NamedTuple):
    """Workers of a class: how many, how many predicted right, and their mean belief (NaN without workers)."""

    n_workers: int
    n_right: int
    mean_belief: float

    @property
    def accuracy(self) -> float:
        """Share of right predictions; NaN without workers."""
        return self.n_right / self.n_workers if self.n_workers else float("nan")


def size_classes(n: npt.NDArray[np.integer]) -> npt.NDArray[np.int8]:
    """The number, in `SIZE_CLASSES`, of each worker's class, int8[N]; ``n`` is at least 1."""
    starts = [least for least, _ in SIZE_CLASSES[1:]]
    return np.searchsorted(starts, n, side="right").astype(np.int8)


class BeliefTally:
    """Counts of one attacker's predictions, batch by batch.

    Parameters
    ----------
    n_workers : int
        Workers of all batches together, which is public.
    n_bins : int
        Bins of equal width from 0 to 1 for the calibration.
    shares : sequence of Fraction
        Of the most certain predictions, above 0 and at most 1.
    """

    def __init__(
        self, n_workers: int, *, n_bins: int = 10, shares: Sequence[Fraction] = CONFIDENT_SHARES
    ) -> None:
        if not 0 <= n_workers < _MOST_WORKERS:
            raise ParameterError(f"{n_workers} workers: give 0 to {_MOST_WORKERS - 1}")
        if not all(0 < share <= 1 for share in shares):
            raise ParameterError(f"shares of the most certain are {shares}: give some above 0, at most 1")
        shape = (len(SIZE_CLASSES), n_bins)
        self._n_workers = n_workers
        self._shares = tuple(shares)
        self._most = ceil(max(shares, default=Fraction(0)) * n_workers)
        self._tallies = Tallies(
            np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros((*shape, _N_EXPONENTS), np.int64)
        )
        # A key is the bits of a belief, which rise with it, and whether the prediction is right.
        self._key: Keys = np.zeros(0, np.uint32)
        self._count: Keys = np.zeros(0, np.uint32)
        self._waiting: list[Keys] = []
        self._n_waiting = 0
        self._least_key = np.uint32(0)

    def add(
        self, belief: npt.NDArray[np.floating], is_right: Bools, size_class: npt.NDArray[np.int8]
    ) -> None:
        """Add some workers.

        Parameters
        ----------
        belief : float[N]
            From 0 to 1; rounded to single precision.
        is_right : bool[N]
        size_class : int8[N]
            As :func:`size_classes` gives it.

        Raises
        ------
        ParameterError
            A belief is not from 0 to 1, or the arrays do not agree.
        """
        single = np.ascontiguousarray(belief, dtype=np.float32) + np.float32(0)
        if not single.shape == is_right.shape == size_class.shape:
            raise ParameterError(
                f"{single.size} beliefs, {is_right.size} predictions and {size_class.size} classes: give one each"
            )
        if single.size and not 0.0 <= single.min() <= single.max() < 2.0:
            raise ParameterError(f"beliefs from {single.min()} to {single.max()}: give shares from 0 to 1")
        pattern = single.view(np.uint32)
        tally_beliefs(single, pattern, is_right, size_class, self._tallies)
        key = (pattern << np.uint32(1)) | is_right
        if self._least_key:
            key = key[key >= self._least_key]
        self._waiting.append(key)
        self._n_waiting += key.size
        if self._n_waiting > max(_FEWEST_WAITING, self._key.size):
            self._compact()

    def add_constant(self, belief: float, n_workers: Ints, n_right: Ints) -> None:
        """Add workers of whom the attacker believes the same; arguments are by class, as in `SIZE_CLASSES`."""
        right = np.stack([np.zeros(n_right.size, np.bool_), np.ones(n_right.size, np.bool_)], axis=1)
        times = np.stack([n_workers - n_right, n_right], axis=1)
        single = np.float32(belief)
        key = (np.full(right.shape, single).view(np.uint32) << np.uint32(1)) | right
        exponent, place = int(key[0, 0] >> (SIGNIFICAND_BITS + 1)), self._bin_of(float(single))
        significand = int(single.view(np.uint32)) & ((1 << SIGNIFICAND_BITS) - 1)
        significand += (1 << SIGNIFICAND_BITS) if exponent else 0
        self._tallies.workers[:, place] += n_workers
        self._tallies.right[:, place] += n_right
        self._tallies.significands[:, place, exponent] += significand * n_workers
        self._merge(key.ravel(), times.ravel())

    def _bin_of(self, belief: float) -> int:
        n_bins = int(self._tallies.workers.shape[1])
        return min(int(belief * n_bins), n_bins - 1)

    def tally_classes(self) -> list[ClassTally]:
        """One for each of `SIZE_CLASSES`."""
        n_classes = self._tallies.workers.shape[0]
        return [
            self._tally((slice(size_class, size_class + 1), slice(None))) for size_class in range(n_classes)
        ]

    def tally_all(self) -> ClassTally:
        """All workers."""
        return self._tally((slice(None), slice(None)))

    def tally_bins(self) -> list[ClassTally]:
        """One for each bin of belief."""
        n_bins = self._tallies.workers.shape[1]
        return [self._tally((slice(None), slice(bin_index, bin_index + 1))) for bin_index in range(n_bins)]

    @property
    def edges(self) -> FloatArray:
        """Limits of the bins. A bin contains its lower limit, the last one also its upper."""
        return np.linspace(0.0, 1.0, self._tallies.workers.shape[1] + 1)

    def _tally(self, chosen: tuple[slice, slice]) -> ClassTally:
        n_workers, n_right = (int(counts[chosen].sum()) for counts in self._tallies[:2])
        if not n_workers:
            return ClassTally(0, 0, float("nan"))
        by_exponent = self._tallies.significands[chosen].sum(axis=(0, 1)).tolist()
        total = sum(part << max(exponent - 1, 0) for exponent, part in enumerate(by_exponent))
        return ClassTally(n_workers, n_right, total / (n_workers << -_LEAST_EXPONENT))

    def most_certain(self) -> list[ConfidentAccuracy]:
        """Accuracy of the most certain predictions, for each of the shares; empty without workers.

        Raises
        ------
        ParameterError
            Other than the stated number of workers was added.
        """
        added = int(self._tallies.workers.sum())
        if added != self._n_workers:
            raise ParameterError(f"{added} workers were added where {self._n_workers} were announced")
        if not added:
            return []
        self._compact()
        pattern, is_right = self._key >> np.uint32(1), (self._key & np.uint32(1)).astype(np.bool_)
        belief, at = np.unique(pattern, return_inverse=True)
        count = self._count.astype(np.int64)
        n = np.bincount(at, count).astype(np.int64)[::-1]
        right = np.bincount(at, count * is_right).astype(np.int64)[::-1]
        ranked = _Ranked(
            belief=belief[::-1].view(np.float32) if belief.size else belief.view(np.float32),
            up_to=np.cumsum(n),
            right_up_to=np.cumsum(right),
        )
        return [ranked.most_certain(share, added) for share in self._shares]

    def _compact(self) -> None:
        """Count the waiting keys, and forget those that cannot be among the most certain."""
        if not self._waiting:
            return
        keys = np.concatenate(self._waiting)
        self._waiting, self._n_waiting = [], 0
        keys.sort()
        start = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: keys.size])
        self._merge(keys[start], np.diff(np.append(start, keys.size)))

    def _merge(self, keys: Keys, counts: npt.NDArray[np.integer]) -> None:
        """Add counts of some keys."""
        key = np.concatenate((self._key, keys))
        count = np.concatenate((self._count, counts.astype(np.uint32)))
        order = np.argsort(key, kind="stable")
        key, count = key[order], count[order]
        start = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: key.size])
        key = key[start]
        count = np.add.reduceat(count, start) if start.size else count
        n_from = np.cumsum(count[::-1], dtype=np.int64)
        kept = int(np.searchsorted(n_from, self._most)) + 1
        if kept <= key.size and self._most:
            # All keys of the belief at which there are enough.
            self._least_key = key[key.size - kept] & ~np.uint32(1)
            first = int(np.searchsorted(key, self._least_key))
            key, count = key[first:].copy(), count[first:].copy()
        self._key, self._count = key, count


class _Ranked(NamedTuple):
    """Distinct beliefs in falling order; workers, and right predictions, with this belief or a greater one."""

    belief: npt.NDArray[np.float32]
    up_to: Ints
    right_up_to: Ints

    def most_certain(self, share: Fraction, n_workers: int) -> ConfidentAccuracy:
        """Accuracy of a share of all workers."""
        wanted = ceil(share * n_workers)
        at = int(np.searchsorted(self.up_to, wanted))
        above, right_above = (int(sums[at - 1]) if at else 0 for sums in (self.up_to, self.right_up_to))
        tied, right_at = int(self.up_to[at]) - above, int(self.right_up_to[at]) - right_above
        right_tied = right_at * (wanted - above) / tied
        return ConfidentAccuracy(
            share=share,
            n_workers=wanted,
            accuracy=float((right_above + right_tied) / wanted),
            least_belief=float(self.belief[at]),
            n_tied=tied,
        )
