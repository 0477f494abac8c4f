"""The model: tables of every attribute given its parents, with discrete Laplace noise, as integer weights.

A worker is in one cell of each table, so each table has sensitivity 1 when a record is added or removed, and m tables
compose to m times the epsilon of one. Departures from the paper: discrete Laplace noise, so that weights are integers,
drawn once from a keyed stream; the posterior mean, so that there is one model; all tables have the same epsilon.

A small public constant (alpha) is added to every possible cell. So a configuration that no worker has, or all of whose
noisy counts are 0, can still be drawn: its possible values are then equally likely. Structural zeros stay 0.

Source: P17 section 3.4, equations 11 to 14.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine._kernels import record_model as kernels
from engine._threads import run_ranges
from engine.errors import OverflowRefusedError, ParameterError
from engine.mechanisms.chances import noise_digits
from engine.mechanisms.drawing import with_digits
from engine.parameters import LARGEST_EPSILON, Number, exact_fraction
from engine.records.structure import Structure
from engine.streams import Keyed, SecretKey, new_stream

__all__ = ["ALPHA", "Codes", "FamilyCounts", "Model", "check_codes", "learn_model", "model_from_counts"]

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

ALPHA = Fraction(1, 1000)
"""Weight of every possible cell beside its noisy count, in workers."""

_MOST_WEIGHT = 1 << 62


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
            if np.any(table.sum(axis=1, dtype=np.float64) > _MOST_WEIGHT / 2):
                raise OverflowRefusedError(
                    f"weights of attribute {child} reach 2^61 in a configuration: give a coarser alpha"
                )
            sums = np.cumsum(table, axis=1, dtype=np.int64)
            if np.any(sums[:, -1] == 0):
                raise ParameterError(
                    f"attribute {child} has a configuration without any weight: add a constant to every possible cell"
                )
            parts.append(sums.ravel())
        tables = kernels.ModelTables(structure.families, np.concatenate(parts))
        return cls(structure=structure, tables=tables, epsilon=epsilon, scale=scale)

    def weights(self, child: int) -> Ints:
        """Weights of an attribute: int64[configurations, values]."""
        shape = (self.structure.n_configurations(child), self.structure.domain[child])
        start = int(self.structure.families.table_at[child])
        sums = self.tables.sums[start : start + shape[0] * shape[1]].reshape(shape)
        return np.diff(sums, axis=1, prepend=0)


class FamilyCounts:
    """Counts of every table of a structure, filled part by part: confidential.

    Parameters
    ----------
    structure : Structure
    """

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        last = structure.n_configurations(structure.n_attributes - 1) * structure.domain[-1]
        self._counts = np.zeros(int(structure.families.table_at[-1]) + last, dtype=np.int64)

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

    def table(self, child: int) -> Ints:
        """Counts of an attribute: int64[configurations, values]."""
        shape = (self.structure.n_configurations(child), self.structure.domain[child])
        start = int(self.structure.families.table_at[child])
        return self._counts[start : start + shape[0] * shape[1]].reshape(shape)


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
    counts: FamilyCounts, epsilon: Number | None, key: Keyed, alpha: Fraction = ALPHA, threads: int = 1
) -> Model:
    """As :func:`learn_model`; a simulation, whose counts are not confidential, may have a public seed for its key."""
    structure = counts.structure
    rate = None if epsilon is None else _table_rate(epsilon, structure)
    if not alpha > 0 or alpha.denominator > 1 << 20:
        raise ParameterError(f"alpha is {alpha}: give a fraction above 0 with a denominator of at most 2^20")
    weights = []
    for child in range(structure.n_attributes):
        possible = structure.possible_cells(child)
        table = _noisy(child, counts.table(child), possible, rate, key, threads)
        weights.append(table * alpha.denominator + np.where(possible, alpha.numerator, 0))
    exact = None if epsilon is None else exact_fraction(epsilon, "epsilon")
    return Model.of_weights(structure, weights, epsilon=exact, scale=alpha.denominator)


def _table_rate(epsilon: Number, structure: Structure) -> Fraction:
    exact = exact_fraction(epsilon, "epsilon")
    rate = exact / structure.n_attributes
    if not Fraction(1, 1 << 16) <= rate or exact > LARGEST_EPSILON:
        raise ParameterError(
            f"epsilon of the model is {float(exact):g}: allowed are {structure.n_attributes}/65536 to {LARGEST_EPSILON}"
        )
    return rate


def _noisy(
    child: int,
    table: Ints,
    possible: npt.NDArray[np.bool_],
    rate: Fraction | None,
    key: Keyed,
    threads: int,
) -> Ints:
    if rate is None:
        return np.where(possible, table, 0)
    exact = rate

    def over_ranges(n_digits: int, short: Ints) -> Ints:
        digits, noisy = noise_digits(exact, n_digits), table.copy()
        run_ranges(
            lambda start, stop: kernels.add_noise(
                (start, stop), child, possible, key.words, new_stream(), digits, short, noisy
            ),
            np.full(table.shape[0], table.shape[1], dtype=np.int64),
            threads,
        )
        return noisy

    return with_digits(over_ranges)
