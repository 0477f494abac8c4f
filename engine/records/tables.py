"""The model: tables of every attribute given its parents, with discrete Laplace noise, as integer weights.

A worker is in one cell of each table, so each table has sensitivity 1 when a record is added or removed, and m tables
compose to m times the epsilon of one. Departures from the paper: discrete Laplace noise, so that weights are integers,
drawn once from a keyed stream; the posterior mean, so that there is one model; all tables have the same epsilon.

A small public constant (alpha) is added to every possible cell. So a configuration that no worker has, or all of whose
noisy counts are 0, can still be drawn: its possible values are then equally likely. Structural zeros stay 0.

Source: P17 section 3.4, equations 11 to 14.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.errors import OverflowRefusedError, ParameterError
from engine.mechanisms.chances import draw_with_digits, noise_digits
from engine.parameters import LARGEST_EPSILON, Number, exact_fraction
from engine.records.cells import TableCells
from engine.records.kernels import model as kernels
from engine.records.structure import Structure
from engine.streams import Keyed, SecretKey, new_stream
from engine.threads import run_ranges

__all__ = ["ALPHA", "Codes", "FamilyCounts", "Model", "check_codes", "learn_model", "model_from_counts"]

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

ALPHA = Fraction(1, 1000)
"""Weight of every possible cell beside its noisy count, in workers."""

_MOST_WEIGHT = 1 << 61


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A Bayesian network with integer weights.

    Attributes
    ----------
    structure : Structure
    tables : kernels.ModelTables
        Families, and running sums of the weights of each configuration.
    epsilon : Fraction or None
        Epsilon of all tables together when a record is added or removed; None if they have no noise.
    scale : int
        Weight of one worker.
    """

    structure: Structure
    tables: kernels.ModelTables
    epsilon: Fraction | None
    scale: int

    @classmethod
    def of_weights(
        cls, structure: Structure, weights: Sequence[Ints], *, epsilon: Fraction | None = None, scale: int = 1
    ) -> "Model":
        """A model with these weights: for each attribute int64[configurations, values].

        Raises
        ------
        ParameterError
            A table has another shape, a negative weight, or a configuration without any weight.
        OverflowRefusedError
            The weights of a configuration reach 2^62.
        """
        parts = []
        for child, table in enumerate(weights):
            shape = (structure.n_configurations(child), structure.domain[child])
            if table.shape != shape or (table.size and table.min() < 0):
                raise ParameterError(
                    f"weights of attribute {child} have shape {table.shape}: give {shape}, none negative"
                )
            parts.append(table[structure.cells[child].places()].astype(np.int64))
        return cls.of_cells(structure, parts, epsilon=epsilon, scale=scale)

    @classmethod
    def of_cells(
        cls, structure: Structure, weights: Sequence[Ints], *, epsilon: Fraction | None, scale: int
    ) -> "Model":
        """A model with these weights of the cells of each attribute; errors as for :meth:`of_weights`."""
        parts = [
            _running_sums(child, cells, structure.cells[child].ptr) for child, cells in enumerate(weights)
        ]
        tables = kernels.ModelTables(structure.families, np.concatenate(parts))
        return cls(structure=structure, tables=tables, epsilon=epsilon, scale=scale)

    def weights(self, child: int) -> Ints:
        """Weights of an attribute: int64[configurations, values]."""
        cells = self.structure.cells[child]
        sums = self.tables.sums[_cells_of(self.structure, child)]
        before = np.concatenate(([0], sums[:-1]))
        before[cells.ptr[:-1]] = 0
        return self.structure.spread(child, sums - before)


def _running_sums(child: int, weights: Ints, ptr: Ints) -> Ints:
    """Running sums of the weights of each configuration."""
    if np.any(np.add.reduceat(weights.astype(np.float64), ptr[:-1]) > _MOST_WEIGHT):
        raise OverflowRefusedError(
            f"weights of attribute {child} reach 2^61 in a configuration: give a coarser alpha"
        )
    # Sums of all configurations may wrap around; differences of two of one configuration do not.
    sums = np.cumsum(weights, dtype=np.int64)
    sums -= np.repeat(sums[ptr[:-1]] - weights[ptr[:-1]], np.diff(ptr))
    if np.any(sums[ptr[1:] - 1] == 0):
        raise ParameterError(
            f"attribute {child} has a configuration without any weight: add a constant to every possible cell"
        )
    return sums


def _cells_of(structure: Structure, child: int) -> slice:
    """Where the cells of an attribute are among those of all."""
    families = structure.families
    return slice(
        int(families.cell_ptr[families.table_at[child]]), int(families.cell_ptr[families.table_at[child + 1]])
    )


class FamilyCounts:
    """Counts of every table of a structure, filled part by part: confidential.

    Parameters
    ----------
    structure : Structure
    """

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self._counts = np.zeros(int(structure.families.cell_ptr[-1]), dtype=np.int64)

    def add(self, codes: Codes, *, threads: int = 1) -> None:
        """Count records: int32[n, m].

        Raises
        ------
        ParameterError
            A code is outside its domain, or there is not one column for each attribute.
        """
        checked = check_codes(codes, self.structure.domain)
        families, counts = self.structure.families, self._counts
        run_ranges(
            lambda start, stop: kernels.count_families((start, stop), families, checked, counts),
            np.full(self.structure.n_attributes, codes.shape[0], dtype=np.int64),
            threads,
        )

    def scale(self, factor: int) -> None:
        """Let every record count ``factor`` times."""
        self._counts *= factor

    def of_attribute(self, child: int) -> Ints:
        """Counts of the cells of an attribute."""
        return self._counts[_cells_of(self.structure, child)]


def check_codes(codes: Codes, domain: Sequence[int]) -> Codes:
    """Records as the kernels take them: int32[n, m], C-contiguous, every code in its domain (ParameterError)."""
    if codes.ndim != 2 or codes.dtype != np.int32 or codes.shape[1] != len(domain):
        raise ParameterError(
            f"records are {codes.dtype} of shape {codes.shape}: give int32 with {len(domain)} columns"
        )
    for column, size in enumerate(domain):
        values = codes[:, column]
        if values.size and (values.min() < 0 or values.max() >= size):
            # The code itself is confidential.
            raise ParameterError(
                f"attribute {column} has a code outside its domain: allowed are 0 to {size - 1}"
            )
    return np.require(codes, requirements=["C", "W"])


def learn_model(
    codes: Codes | FamilyCounts,
    structure: Structure,
    *,
    epsilon: Number | None,
    key: SecretKey,
    alpha: Fraction = ALPHA,
    threads: int = 1,
) -> Model:
    """Learn all tables of a structure with discrete Laplace noise.

    Parameters
    ----------
    codes : int32[n, m] or FamilyCounts
        Confidential records, or their counts.
    structure : Structure
    epsilon : Fraction, str, int, float or None
        Epsilon of all tables together when a record is added or removed: each has epsilon / m. None: no noise, for
        comparisons only.
    key : SecretKey
        Noise comes from stage RECORD_NOISE, addressed by (attribute, configuration).
    alpha : Fraction
        Weight of every possible cell beside its noisy count; above 0.
    threads : int
        Threads to use; the model does not depend on it.

    Raises
    ------
    ParameterError
        Epsilon or alpha is out of range, or a code is outside its domain.
    OverflowRefusedError
        Weights would reach 2^61.
    """
    if isinstance(codes, FamilyCounts):
        counts = codes
    else:
        counts = FamilyCounts(structure)
        counts.add(codes, threads=threads)
    return model_from_counts(counts, epsilon, key, alpha, threads)


def model_from_counts(
    counts: FamilyCounts,
    epsilon: Number | None,
    key: Keyed,
    alpha: Fraction = ALPHA,
    threads: int = 1,
    *,
    check: Callable[[], object] | None = None,
) -> Model:
    """As :func:`learn_model`; a simulation, whose counts are not confidential, may have a public seed for its key.

    If `check` is given, it is called before each table, and ends the work by an exception.
    """
    structure = counts.structure
    rate = None if epsilon is None else _table_rate(epsilon, structure)
    if not alpha > 0 or alpha.denominator > 1 << 20:
        raise ParameterError(f"alpha is {alpha}: give a fraction above 0 with a denominator of at most 2^20")
    weights = []
    for child in range(structure.n_attributes):
        if check is not None:
            check()
        cells = structure.cells[child]
        noisy = _add_noise_to_table(child, counts.of_attribute(child), cells, rate, key, threads)
        weights.append(noisy * alpha.denominator + np.where(cells.possible, alpha.numerator, 0))
    exact = None if epsilon is None else exact_fraction(epsilon, "epsilon")
    return Model.of_cells(structure, weights, epsilon=exact, scale=alpha.denominator)


def _table_rate(epsilon: Number, structure: Structure) -> Fraction:
    exact = exact_fraction(epsilon, "epsilon")
    rate = exact / structure.n_attributes
    if not Fraction(1, 1 << 16) <= rate or exact > LARGEST_EPSILON:
        raise ParameterError(
            f"epsilon of the model is {float(exact):g}: allowed are {structure.n_attributes}/65536 to {LARGEST_EPSILON}"
        )
    return rate


def _add_noise_to_table(
    child: int, counts: Ints, cells: TableCells, rate: Fraction | None, key: Keyed, threads: int
) -> Ints:
    if rate is None:
        return np.where(cells.possible, counts, 0)
    exact = rate

    def over_ranges(n_digits: int, short: Ints) -> Ints:
        digits, noisy = noise_digits(exact, n_digits), counts.copy()
        run_ranges(
            lambda start, stop: kernels.add_noise(
                (start, stop), child, cells.ptr, cells.possible, key.words, new_stream(), digits, short, noisy
            ),
            np.diff(cells.ptr),
            threads,
        )
        return noisy

    return draw_with_digits(over_ranges)
