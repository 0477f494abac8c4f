"""The naive Bayes attacker: someone who sees only boxes with counts, and knows every victim's quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray
from engine.audit.coded_tables import Predictions, as_codes, as_n_values, as_sizes, as_values, distinct_rows
from engine.audit.decomposition import Decomposition
from engine.audit.kernels.boxes import Beliefs, add_marginal, count_codes, predict_values

__all__ = ["CodeCounts", "KeptPredictions", "NaiveBayes"]

_FEW_VALUES: Final = 16
"""With so few values, a prediction takes less time than to find equal victims."""

_MOST_CELLS: Final = 1 << 20
"""Predictions for so many combinations of codes are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NaiveBayes:
    """Shares of the sensitive values, and of each attribute's codes among the people of each value.

    Attributes
    ----------
    sizes : int64[d]
        Number of codes of each attribute.
    prior : float64[V]
        Share of each value.
    table : float64[sum of sizes, V]
        Share of each code among the people of a value; the attributes one below the other.

    Source: C13, section II, "Attack model". There is no smoothing beyond that of the boxes. A count below 0 is 0.
    """

    sizes: npt.NDArray[np.int64]
    prior: FloatArray
    table: FloatArray

    @classmethod
    def of(cls, decomposition: Decomposition) -> NaiveBayes:
        """The attacker's model of a scheme. If no count is above 0, every value is equally likely."""
        entries, n_values = decomposition.entries, decomposition.n_values
        weight = np.bincount(entries.value, np.maximum(entries.people, 0.0), minlength=n_values)
        total = weight.sum()
        tables = []
        for attribute, size in enumerate(decomposition.sizes.tolist()):
            joint, n_open = np.zeros((size + 1, n_values)), np.zeros((size + 1, n_values), dtype=np.int32)
            lo, hi = (
                np.ascontiguousarray(bound[:, attribute]) for bound in (decomposition.lo, decomposition.hi)
            )
            add_marginal(lo, hi, entries, n_open, joint)
            tables.append(joint[:-1])
        return cls(
            sizes=decomposition.sizes,
            prior=weight / total if total > 0 else np.full(n_values, 1 / n_values),
            table=np.maximum(np.concatenate(tables), 0.0) / np.where(weight > 0, weight, 1.0),
        )

    def predict(self, codes: npt.ArrayLike) -> Predictions:
        """Predict the sensitive value of each victim.

        Beliefs that differ by less than 1e-11 of their value are ties.

        Parameters
        ----------
        codes : int[N, d]
            Quasi-identifiers of the victims.

        Raises
        ------
        ParameterError
            A code is out of range.
        """
        table = as_codes("codes", codes, self.sizes)
        if self.prior.size <= _FEW_VALUES:
            value, belief = np.full(table.shape[0], -1), np.zeros(table.shape[0])
            predict_values(self._beliefs(), table, value, belief)
            return Predictions(value, belief)
        cells, cell_of = distinct_rows(table, self.sizes)
        value, belief = np.full(cells.shape[0], -1), np.zeros(cells.shape[0])
        predict_values(self._beliefs(), cells, value, belief)
        return Predictions(value[cell_of], belief[cell_of])

    def values(self, codes: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The values that :meth:`predict` gives, int64[N], without the beliefs, which take most of its time.

        Rows that are in ascending order take the least time.

        Raises
        ------
        ParameterError
            A code is out of range.
        """
        table = as_codes("codes", codes, self.sizes)
        value = np.full(table.shape[0], -1)
        predict_values(self._beliefs(), table, value, np.zeros(0))
        return value

    def belief_of(self, codes: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """The attacker's belief, float64[N], in one given value of each victim.

        Raises
        ------
        ParameterError
            A code or a value is out of range.
        """
        table = as_codes("codes", codes, self.sizes)
        asked = as_values("value", value, self.prior.size, n_rows=table.shape[0]).copy()
        belief = np.zeros(asked.size)
        predict_values(self._beliefs(), table, asked, belief)
        return belief

    def _beliefs(self) -> Beliefs:
        with np.errstate(divide="ignore"):
            offset = np.concatenate(([0], np.cumsum(self.sizes)[:-1]))
            return Beliefs(np.log(self.prior), np.log(self.table), offset)


class CodeCounts:
    """Counts of records by value and by code, batch by batch: what :class:`NaiveBayes` learns of a release of records.

    Parameters
    ----------
    sizes : int[d]
        Number of codes of each attribute.
    n_values : int
        Number of values of the sensitive attribute.

    Raises
    ------
    ParameterError
        A size is below 1.
    """

    def __init__(self, sizes: npt.ArrayLike, n_values: int) -> None:
        self._sizes, self._n_values = as_sizes(sizes), as_n_values(n_values)
        self._offset = np.concatenate(([0], np.cumsum(self._sizes)[:-1]))
        self._joint = np.zeros((int(self._sizes.sum()), n_values), dtype=np.int64)
        self._weight = np.zeros(n_values, dtype=np.int64)

    def add(self, codes: npt.ArrayLike, sensitive: npt.ArrayLike) -> None:
        """Count some records.

        Parameters
        ----------
        codes : int[N, d]
        sensitive : int[N]

        Raises
        ------
        ParameterError
            A code or a value is out of range, or shapes do not agree.
        """
        table = as_codes("codes", codes, self._sizes)
        values = as_values("sensitive", sensitive, self._n_values, n_rows=table.shape[0])
        count_codes(table, values, self._offset, self._joint, self._weight)

    def model(self) -> NaiveBayes:
        """What :meth:`NaiveBayes.of` makes of boxes of one cell with the same records."""
        weight = self._weight.astype(np.float64)
        total = weight.sum()
        return NaiveBayes(
            sizes=self._sizes,
            prior=weight / total if total > 0 else np.full(self._n_values, 1 / self._n_values),
            table=self._joint / np.where(weight > 0, weight, 1.0),
        )


class KeptPredictions:
    """Predictions of a model for one batch of victims after another; those of a small domain are made once.

    Parameters
    ----------
    model : NaiveBayes
    """

    def __init__(self, model: NaiveBayes) -> None:
        self._model = model
        n_cells = int(np.prod(model.sizes, dtype=object))
        self._keeps = model.prior.size > _FEW_VALUES and n_cells <= _MOST_CELLS
        self._value = np.full(n_cells if self._keeps else 0, -1)
        self._belief = np.zeros(self._value.size)

    def predict(self, codes: npt.ArrayLike) -> Predictions:
        """As :meth:`NaiveBayes.predict`."""
        if not self._keeps:
            return self._model.predict(codes)
        table = as_codes("codes", codes, self._model.sizes)
        cell = np.ravel_multi_index(tuple(table.T), tuple(self._model.sizes.tolist()))
        is_new = np.zeros(self._value.size, dtype=np.bool_)
        is_new[cell] = True
        new = np.flatnonzero(is_new & (self._value < 0))
        rows = np.stack(np.unravel_index(new, tuple(self._model.sizes.tolist())), axis=1)
        self._value[new], self._belief[new] = self._model.predict(rows)
        return Predictions(self._value[cell], self._belief[cell])
