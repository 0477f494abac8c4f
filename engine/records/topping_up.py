"""Records of the model that take the place of candidates that failed.

Candidates in small groups fail more often than in large ones, so what passes lacks long commutes. What is missing in
each group of kept attributes is estimated from what was released and from the private model alone, which is
post-processing, and is drawn from the model.

A group is *complete* if so many of its candidates passed that the test can hardly have failed any: at least
(k + 3 / eps0) (1 - beta) tries / records. Its size is estimated from what passed; the size of every other group from
the model's share of it.

The paper releases only what passes; topping up is ours.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.errors import OverflowRefusedError, ParameterError
from engine.records.drawing import blocks
from engine.records.kernels import model as kernels
from engine.records.tables import Codes, Model, check_codes
from engine.streams import SecretKey, new_stream
from engine.threads import run_ranges

__all__ = ["TopUp", "count_groups", "draw_top_up", "missing_sums", "missing_workers", "top_up"]

Ints = npt.NDArray[np.int64]

_MOST_GROUPS = 1 << 24
_MOST_UNITS = 1 << 61


@dataclass(frozen=True, slots=True, kw_only=True)
class TopUp:
    """Public numbers of a seeded release, from which follows what is missing in it.

    Attributes
    ----------
    n_total : int
        Records that the release shall have.
    n_tried : int
        Candidates that were tried.
    n_seeds : int
        Public lower bound of the number of seeds.
    min_plausible_seeds : int
        Threshold k of the test.
    threshold_epsilon : Fraction
        Epsilon of the threshold's noise (eps0).
    forced_fail : Fraction
        Chance that a candidate fails whatever the test says (beta).

    Raises
    ------
    ParameterError
        A number is out of range.
    """

    n_total: int
    n_tried: int
    n_seeds: int
    min_plausible_seeds: int
    threshold_epsilon: Fraction
    forced_fail: Fraction

    def __post_init__(self) -> None:
        if min(self.n_total, self.n_tried, self.n_seeds, self.min_plausible_seeds) < 1:
            raise ParameterError("records, tries, seeds, and plausible seeds must each be at least 1")
        if not (self.threshold_epsilon > 0 and 0 <= self.forced_fail < 1):
            raise ParameterError(
                f"threshold epsilon is {self.threshold_epsilon} and forced failure {self.forced_fail}: "
                "give a threshold epsilon above 0 and a forced failure from 0 to below 1"
            )

    @property
    def complete_from(self) -> int:
        """Least number of released records of a group that is taken as complete."""
        least = self.min_plausible_seeds + 3 / self.threshold_epsilon
        return math.ceil(least * (1 - self.forced_fail) * Fraction(self.n_tried, self.n_seeds))

    @property
    def records_each(self) -> Fraction:
        """Records that the release shall have for each that passed in a complete group."""
        return Fraction(self.n_total, self.n_tried) / (1 - self.forced_fail)


def count_groups(model: Model, released: Codes, kept: int) -> Ints:
    """How many records of a release, or of a part of it, are in each group: int64[groups].

    Groups are the values of the first ``kept`` attributes, the last of which varies fastest.

    Raises
    ------
    ParameterError
        There are more than 2^24 groups, a code is outside its domain, or ``kept`` is not the length of a prefix.
    """
    sizes = model.structure.domain[:kept]
    if not 0 <= kept <= model.structure.n_attributes or math.prod(sizes) > _MOST_GROUPS:
        raise ParameterError(
            f"{kept} kept attributes make {math.prod(sizes):,} groups: at most 2^24 can be topped up; keep fewer"
        )
    checked = check_codes(released, model.structure.domain)
    groups = np.zeros(checked.shape[0], dtype=np.int64)
    for column, size in enumerate(sizes):
        groups = groups * size + checked[:, column]
    return np.bincount(groups, minlength=math.prod(sizes)).astype(np.int64)


def missing_workers(model: Model, counts: Ints, kept: int, numbers: TopUp) -> Ints:
    """What is missing in each group, in small equal parts of a worker: int64[groups].

    Parameters
    ----------
    model : Model
    counts : int64[groups]
        Candidates that passed, of each group; see :func:`count_groups`.
    kept : int
    numbers : TopUp

    Raises
    ------
    ParameterError
        More than 2^40 records.
    """
    if numbers.n_total > 1 << 40:
        raise ParameterError(f"{numbers.n_total:,} records: allowed are at most 2^40")
    unit = _MOST_UNITS // max(numbers.n_total, int(counts.sum()), 1)
    missing: Ints = _targets(model, kept, unit * numbers.n_total) - counts * unit
    complete = np.flatnonzero(counts >= numbers.complete_from)
    more = numbers.records_each - 1
    exact = [int(count) * unit * more.numerator // more.denominator for count in counts[complete]]
    missing[complete] = np.array([min(units, _MOST_UNITS) for units in exact], dtype=np.int64)
    missing[missing < 0] = 0
    return missing


def _targets(model: Model, kept: int, amount: int) -> Ints:
    """An amount split among the groups by the model's shares, rounded down."""
    row = np.zeros(model.structure.n_attributes, dtype=np.int32)
    amounts = np.array([amount], dtype=np.int64)
    for attribute in range(kept):
        parts = np.empty(amounts.size * model.structure.domain[attribute], dtype=np.int64)
        kernels.split_amounts((0, amounts.size), attribute, model.tables, row, amounts, parts)
        amounts = parts
    return amounts


def top_up(
    model: Model, released: Codes, kept: int, numbers: TopUp, *, key: SecretKey, threads: int = 1
) -> Codes:
    """Draw the records that bring a release up to its total, in proportion to what is missing in each group.

    Parameters
    ----------
    model : Model
    released : int32[R, m]
        Candidates that passed.
    kept : int
        Number of attributes that were kept from seeds.
    numbers : TopUp
        Public numbers of the release.
    key : SecretKey
        Draws come from stage RECORD_TOP_UP, addressed by the record's number.
    threads : int
        Threads to use; the records do not depend on it.

    Returns
    -------
    int32[n_total - R, m]
        No records if as many or more passed.

    Raises
    ------
    ParameterError
        As :func:`count_groups` and :func:`missing_workers`.
    """
    sums = missing_sums(model, count_groups(model, released, kept), kept, numbers)
    n = max(numbers.n_total - released.shape[0], 0)
    return draw_top_up(model, sums, kept, n, key=key, threads=threads)


def missing_sums(model: Model, counts: Ints, kept: int, numbers: TopUp) -> Ints:
    """Running sums of what is missing in each group, of its share in the model if nothing is: int64[groups].

    Parameters and errors as for :func:`missing_workers`.
    """
    missing = missing_workers(model, counts, kept, numbers)
    if not missing.any():
        missing = _targets(model, kept, _MOST_UNITS)
    # Shift before summing, so that running sums stay below 2^62.
    shift = max(int(missing.sum(dtype=np.float64) / 2**61).bit_length(), 0)
    return np.cumsum(missing >> shift)


def draw_top_up(
    model: Model, sums: Ints, kept: int, n: int, *, first: int = 0, key: SecretKey, threads: int = 1
) -> Codes:
    """Draw records ``first`` to ``first + n - 1`` of those that bring a release up to its total: int32[n, m].

    Parameters
    ----------
    model : Model
    sums : int64[groups]
        As :func:`missing_sums` has them.
    kept : int
    n, first : int
        Parts drawn one after the other are the same as all at once.
    key : SecretKey
        Draws come from stage RECORD_TOP_UP, addressed by the record's number.
    threads : int
        Threads to use; the records do not depend on it.
    """
    codes = np.zeros((n, model.structure.n_attributes), dtype=np.int32)
    failed = run_ranges(
        lambda start, stop: kernels.top_up_range(
            (start, stop), first, kept, sums, model.tables, key.words, new_stream(), codes
        ),
        blocks(n),
        threads,
    )
    if max(failed, default=-1) >= 0:
        raise OverflowRefusedError("a random stream passed its 2^32 blocks: draw with another key")
    return codes
