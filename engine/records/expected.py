"""Expected errors of counts of synthetic records, from the private model alone.

Records drawn from the model take the part of the confidential ones: a model is learned from them with the same noise,
records are drawn from that, and their counts are compared. This reads the private model and public numbers only, so it
is post-processing. It contains the noise and the chance of the draws. It cannot contain what the structure leaves out:
attributes that no table holds together are independent given their parents in the simulation as well. So each
combination says whether a table of the model holds it (``is_covered``).
"""

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.records.drawing import draw_records
from engine.records.kernels.model import count_joint
from engine.records.tables import Codes, FamilyCounts, Model, model_from_counts
from engine.streams import PublicSeed

__all__ = ["ErrorTerms", "expected_errors"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_MOST_RECORDS = 250_000
_MOST_CELLS_A_RECORD = 4
_MOST_TOGETHER = 3
_RUNS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorTerms:
    """Mean squared error of a released count of one combination of values: a + b count + c count^2.

    For the sum of several such counts, a is taken once for each that is not 0.

    Attributes
    ----------
    attributes : tuple of int
        One to three attributes.
    constant, per_worker, per_worker_squared : float
        a in workers squared, b in workers, and c.
    is_covered : bool
        Whether one table of the model holds the combination. If not, the error does not contain what the structure
        leaves out.
    """

    attributes: tuple[int, ...]
    constant: float
    per_worker: float
    per_worker_squared: float
    is_covered: bool

    def rms(self, count: float) -> float:
        """Expected root mean squared error of a released count, in workers."""
        return math.sqrt(self.constant + self.per_worker * count + self.per_worker_squared * count**2)


def expected_errors(
    model: Model,
    n_records: int,
    *,
    n_learned: int | None = None,
    runs: int = _RUNS,
    most_together: int = _MOST_TOGETHER,
    threads: int = 1,
    check: Callable[[], object] | None = None,
) -> tuple[ErrorTerms, ...]:
    """Terms of the expected errors of all combinations of one to three attributes.

    Parameters
    ----------
    model : Model
        The private model.
    n_records : int
        Records of the release.
    n_learned : int, optional
        Public number of records that the model was learned from; ``n_records`` by default.
    runs : int
        How often the release is simulated.
    most_together : int
        1, 2 or 3 attributes at most.
    threads : int
        Threads to use; the terms do not depend on it.
    check : callable, optional
        Called between steps, none of which takes much longer than a second; an exception that it raises ends the work.

    Raises
    ------
    ParameterError
        A number is out of range.

    Notes
    -----
    At most 250,000 records are drawn. For larger releases each counts several times, and the chance of drawing fewer is
    taken out of b again.
    """
    learned = n_records if n_learned is None else n_learned
    if min(n_records, learned, runs) < 1 or not 1 <= most_together <= _MOST_TOGETHER:
        raise ParameterError(
            f"{n_records} records, {learned} learned from, {runs} runs, {most_together} attributes together: "
            "give at least 1 of each, and at most 3 attributes"
        )
    check = check or _go_on
    factor = -(-n_records // _MOST_RECORDS)
    sums = {subset: _Bins() for subset in _subsets(model, most_together)}
    for run in range(runs):
        truth, drawn = _simulate_release(
            model, max(n_records // factor, 1), factor, learned / n_records, run, threads, check
        )
        for subset, bins in sums.items():
            check()
            bins.add(*_both_counts(truth, drawn, subset, model.structure.domain))
    return tuple(_terms(model, subset, bins, factor) for subset, bins in sums.items())


def _subsets(model: Model, most: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, most + 1):
        yield from combinations(range(model.structure.n_attributes), size)


def _go_on() -> None:
    """Nobody asks to end the work."""


def _simulate_release(
    model: Model,
    n: int,
    factor: int,
    share_learned: float,
    run: int,
    threads: int,
    check: Callable[[], object],
) -> tuple[Codes, Codes]:
    """Records in the place of the confidential ones, and a release of them."""
    seed = PublicSeed(hashlib.sha256(f"expected errors of records, run {run}".encode()).hexdigest())
    check()
    truth = draw_records(model, n, key=seed, threads=threads)
    check()
    counts = FamilyCounts(model.structure)
    counts.add(truth[: max(round(n * share_learned), 1)], threads=threads)
    counts.scale(factor)
    noisy = model_from_counts(counts, model.epsilon, seed, threads=threads, check=check)
    check()
    return truth, draw_records(noisy, n, first=n, key=seed, threads=threads)


def _both_counts(
    truth: Codes, drawn: Codes, subset: tuple[int, ...], domain: tuple[int, ...]
) -> tuple[Ints, Ints]:
    """Counts of each cell that is not empty in both, in the order of the cells."""
    sizes = [domain[column] for column in subset]
    n_cells = math.prod(sizes)
    if n_cells <= _MOST_CELLS_A_RECORD * truth.shape[0]:
        columns, steps = np.zeros((2, _MOST_TOGETHER), dtype=np.int64)
        columns[: len(subset)] = subset
        steps[: len(subset)] = [math.prod(sizes[place + 1 :]) for place in range(len(sizes))]
        counts = np.zeros((2, n_cells), dtype=np.int64)
        count_joint(truth, columns, steps, counts[0])
        count_joint(drawn, columns, steps, counts[1])
        some = counts.any(axis=0)
        return counts[0, some], counts[1, some]
    cells = [np.ravel_multi_index(tuple(codes[:, subset].T), tuple(sizes)) for codes in (truth, drawn)]
    # Sorted with their origin in the last bit, and counted in runs.
    marked = np.concatenate((2 * cells[0], 2 * cells[1] + 1))
    marked.sort()
    first = np.flatnonzero(np.diff(marked >> 1, prepend=-1))
    n_drawn = np.add.reduceat(marked & 1, first)
    return np.diff(first, append=marked.size) - n_drawn, n_drawn


class _Bins:
    """Mean counts and mean squared errors of cells, in bins of their released counts by powers of 2."""

    def __init__(self) -> None:
        self.sums = np.zeros((3, 64))

    def add(self, truth: Ints, drawn: Ints) -> None:
        """Add the cells of one run."""
        at = np.frexp(drawn.astype(np.float64))[1]
        for row, values in enumerate((np.ones(drawn.size), drawn, (drawn - truth) ** 2.0)):
            self.sums[row] += np.bincount(at, weights=values, minlength=64)

    def fit(self, factor: int) -> Floats:
        """Terms a, b and c, none negative, by weighted least squares, where every record counts ``factor`` times."""
        used = self.sums[0] > 0
        n, count, square = self.sums[:, used]
        count, square = count / n * factor, np.maximum(square / n, 1e-9) * factor**2
        weight = np.sqrt(n) / square
        from scipy.optimize import (
            nnls,
        )  # here because it takes long to import, and errors are expected beside a draw

        terms = np.stack([np.ones(count.size), count, count**2]) * weight
        fitted: Floats = nnls(terms.T, square * weight)[0]
        return fitted


def _terms(model: Model, subset: tuple[int, ...], bins: _Bins, factor: int) -> ErrorTerms:
    constant, slope, curve = bins.fit(factor)
    return ErrorTerms(
        attributes=subset,
        constant=_round_value(constant),
        per_worker=_round_value(max(slope - (factor - 1), 0.0)),
        per_worker_squared=_round_value(curve),
        is_covered=model.structure.covers(subset),
    )


def _round_value(value: float) -> float:
    """Four significant digits."""
    return float(f"{value:.4g}")
