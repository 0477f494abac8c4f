"""Expected errors of counts of synthetic records, from the private model alone.

Records drawn from the model take the part of the confidential ones: a model is learned from them with the same noise,
records are drawn from that, and their counts are compared. This reads the private model and public numbers only, so it
is post-processing. The noise has already filled cells that were empty, and noise moves fewer workers into cells that
are not. So it is taken out first, as far as public numbers allow: a worker is in one cell of each table, so the weights
of a table should add up to the number of records, and all weights are lowered by the same amount, but not below 0,
until they do. What is left is the closest such table. The errors contain the noise and the chance of the draws. They
cannot contain what the structure leaves out:
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
_UNSEEN = 1.2
"""Squared errors of real records are so many times those of simulated ones, whose small cells are fewer and fuller:
measured on Rhode Island and on the demo (docs/theory/synthetic-records.md, "Expected errors")."""
_REPEATED = 8
_KNEES = (16, 64, 256, 1024)
_LEAST_SQUARE = 0.25
"""Squared workers: no bin of counts is taken to be more exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorTerms:
    """Mean squared error of a released count of one combination of values.

    It is a + b count + c count^2 + d count/(1 + count/knee), and z for a count of 0. The part with d is for small ones:
    noise makes vaguer what their workers have in common, by an amount that no longer grows with large counts. The sum
    of several such counts is that of equal ones: a and d are taken for each that is not 0, and z for each that is.

    Attributes
    ----------
    attributes : tuple of int
        One to three attributes.
    constant, per_worker, per_worker_squared : float
        a in workers squared, b in workers, and c.
    per_worker_of_small : float
        d in workers.
    knee : int
        Count from which on d hardly matters.
    of_empty : float
        z in workers squared; above 0.
    is_covered : bool
        Whether one table of the model holds the combination. If not, the error does not contain what the structure
        leaves out.
    """

    attributes: tuple[int, ...]
    constant: float
    per_worker: float
    per_worker_squared: float
    per_worker_of_small: float
    knee: int
    of_empty: float
    is_covered: bool

    def rms(self, count: float) -> float:
        """Expected root mean squared error of a released count, in workers."""
        if not count:
            return math.sqrt(self.of_empty)
        small = self.per_worker_of_small * count / (1.0 + count / self.knee)
        return math.sqrt(self.constant + self.per_worker * count + self.per_worker_squared * count**2 + small)


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
    taken out again.
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
    likely = _remove_noise(model, learned)
    for run in range(runs):
        truth, drawn = _simulate_release(
            likely, max(n_records // factor, 1), factor, learned / n_records, run, threads, check
        )
        for subset, bins in sums.items():
            check()
            n_cells = math.prod(model.structure.domain[column] for column in subset)
            bins.add(*_both_counts(truth, drawn, subset, model.structure.domain), n_cells)
    return tuple(_terms(model, subset, bins, factor) for subset, bins in sums.items())


def _subsets(model: Model, most: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, most + 1):
        yield from combinations(range(model.structure.n_attributes), size)


def _go_on() -> None:
    """Nobody asks to end the work."""


def _remove_noise(model: Model, n_learned: int) -> Model:
    """A model whose tables are the closest to those of a noisy one that have as many workers as it was learned from."""
    if model.epsilon is None:
        return model
    tables = []
    for child, cells in enumerate(model.structure.cells):
        weights = model.weights(child)[cells.places()] * cells.possible
        lowered = np.maximum(weights - _excess(weights / model.scale, n_learned) * model.scale, 0.0)
        # A configuration that is empty now must still be drawn.
        tables.append(np.rint(lowered).astype(np.int64) + cells.possible)
    return Model.of_cells(model.structure, tables, epsilon=model.epsilon, scale=model.scale)


def _excess(weights: Floats, total: int) -> float:
    """By how much weights are lowered, but not below 0, so that they add up to a total; 0 if they are less already."""
    largest = np.sort(weights)[::-1]
    excess = (np.cumsum(largest) - total) / np.arange(1, largest.size + 1)
    kept = np.flatnonzero(largest > excess)
    return max(float(excess[kept[-1]]), 0.0) if kept.size else 0.0


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

    def add(self, truth: Ints, drawn: Ints, n_cells: int) -> None:
        """Add the cells of one run; of all `n_cells`, those that are not given are empty in both."""
        at = np.frexp(drawn.astype(np.float64))[1]
        for row, values in enumerate((np.ones(drawn.size), drawn, (drawn - truth) ** 2.0)):
            self.sums[row] += np.bincount(at, weights=values, minlength=64)
        self.sums[0, 0] += n_cells - drawn.size

    def of_empty(self, factor: int) -> float:
        """Mean squared error of a count of 0, and one worker more in all: no simulation shows that there is none."""
        n, _, square = self.sums[:, 0]
        return float(_UNSEEN * (square * factor**2 + 1.0) / (n + 1.0))

    def fit(self, factor: int) -> tuple[Floats, int]:
        """Terms a, b, c and d, none negative, and the knee that fits best, where every record counts ``factor`` times.

        The error of a bin's mean square is in proportion to what is expected, so its weight follows from the fit, which
        is repeated. If it were taken from the bin itself, one cell that happens to be exact would decide.
        """
        used = self.sums[0] > 0
        used[0] = False
        n, count, square = self.sums[:, used]
        if not n.size:
            return np.zeros(4), _KNEES[0]
        count, square = count / n * factor, square / n * factor**2
        # Drawing fewer records adds chance, at most all but the chance of drawing as many as there are.
        square = _UNSEEN * np.maximum(square - (factor - 1) * count, square / factor)
        fits = [_fit_squares(n, count, square, knee) for knee in _KNEES]
        best = min(range(len(fits)), key=lambda at: fits[at][1])
        return fits[best][0], _KNEES[best]


def _fit_squares(n: Floats, count: Floats, square: Floats, knee: int) -> tuple[Floats, float]:
    """Terms for one knee, and the weighted squared distance of mean squares from the fit."""
    from scipy.optimize import nnls  # here because it takes long to import

    terms = np.stack([np.ones(count.size), count, count**2, count / (1.0 + count / knee)])
    expected, fitted = np.maximum(square, count), np.zeros(4)
    for _ in range(_REPEATED):
        weight = np.sqrt(n) / expected
        fitted = nnls((terms * weight).T, square * weight)[0]
        expected = np.maximum(fitted @ terms, _LEAST_SQUARE)
    # Of errors in proportion to what is expected, which makes fits comparable.
    distance = float((n * np.log(np.maximum(square, 1.0) / expected) ** 2).sum())
    return np.asarray(fitted, dtype=np.float64), distance


def _terms(model: Model, subset: tuple[int, ...], bins: _Bins, factor: int) -> ErrorTerms:
    (constant, slope, curve, small), knee = bins.fit(factor)
    empty = bins.of_empty(factor)
    if factor > 1:
        # Fewer records leave more cells empty, but a real one is no worse than a count of one worker.
        empty = min(empty, max(constant + slope + small, 1.0))
    return ErrorTerms(
        attributes=subset,
        constant=_round_value(constant),
        per_worker=_round_value(slope),
        per_worker_squared=_round_value(curve),
        per_worker_of_small=_round_value(small),
        knee=knee,
        of_empty=_round_value(empty),
        is_covered=model.structure.covers(subset),
    )


def _round_value(value: float) -> float:
    """Four significant digits."""
    return float(f"{value:.4g}")
