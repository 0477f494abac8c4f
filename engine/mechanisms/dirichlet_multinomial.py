"""Synthesis: pruning and the Dirichlet-multinomial draw of every synthesizer, in exact integers."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray, IntArray, as_int, as_ptr
from engine.errors import OverflowRefusedError, ParameterError, SupportError
from engine.kernels.arrays import Addresses, PointLists, Support
from engine.kernels.chacha import ATTEMPT_SHIFT, BLOCK_BYTES, LANE_WORDS, WINDOW_WORDS
from engine.mechanisms.kernels.urn import (
    Candidates,
    RedrawWeights,
    UrnRules,
    UrnSpace,
    check_synthesizers,
    redraw_range,
    synthesize_range,
)
from engine.streams import SecretKey, Stage, check_addresses, check_attempt, new_stream
from engine.support.coarsening import LEVEL_REMAINDER, Coarsening
from engine.support.kernels.skipping import CERTAIN_CLASS, JUMP_DIGITS, JUMP_TABLES, N_CLASSES
from engine.support.pruning import NEVER_CERTAIN
from engine.support.support_table import SupportTable
from engine.threads import run_ranges

__all__ = [
    "Synthesizers",
    "SyntheticPoints",
    "check_fit",
    "redraw_remainder",
    "refuse_run_out",
    "synthesize",
]

_WEIGHT_LIMIT = 1 << 62
_MOST_WORKERS = 1 << 40
# What a synthesizer costs besides its workers, in workers: its random blocks and the points that stay.
_FIXED_WORK = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesizers:
    """S synthesizers, one for each (destination, segment), with their real workers.

    Attributes
    ----------
    tract : int32[S]
        Position of the destination's tract in the batch, 0 to T - 1.
    destination : int64[S]
        Global number of the destination (0 to 2^32 - 1), the same in every batch: it addresses the stream.
    segment : int64[S]
        Number of the segment, 0 to 2^32 - 1; no (destination, segment) pair twice.
    worker_ptr : int64[S + 1]
        CSR offsets of each synthesizer's real workers; n is the difference.
    worker_point : int32[sum(n)]
        Local support point of each real worker (likelihood).
    min_prior_weight : int64[S]
        min_alpha in units of 2^-20, at least 1.
    published_count : int64[S], optional
        m, workers to draw; n where it is not given.
    prunes : bool[S], optional
        False where a synthesizer keeps all its points; every one prunes where it is not given.

    Raises
    ------
    ParameterError
        If arrays do not agree, a value is out of range or an address occurs twice.
    """

    tract: npt.NDArray[np.int32]
    destination: npt.NDArray[np.int64]
    segment: npt.NDArray[np.int64]
    worker_ptr: npt.NDArray[np.int64]
    worker_point: npt.NDArray[np.int32]
    min_prior_weight: npt.NDArray[np.int64]
    published_count: npt.NDArray[np.int64] | None = None
    prunes: npt.NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        destination, segment = check_addresses(self.destination, self.segment)
        worker_point = as_int("worker_point", self.worker_point, dtype=np.int32)
        checked: dict[str, IntArray | BoolArray] = {
            "tract": as_int("tract", self.tract, dtype=np.int32),
            "destination": destination,
            "segment": segment,
            "worker_ptr": as_ptr("worker_ptr", self.worker_ptr, total=worker_point.size),
            "worker_point": worker_point,
            "min_prior_weight": as_int("min_prior_weight", self.min_prior_weight, low=1),
        }
        if self.published_count is not None:
            checked["published_count"] = as_int("published_count", self.published_count, high=_MOST_WORKERS)
        if self.prunes is not None:
            if self.prunes.dtype != np.bool_:
                raise ParameterError(f"prunes is {self.prunes.dtype}: give one bool for each synthesizer")
            checked["prunes"] = self.prunes
        for name, array in checked.items():
            wanted = {"worker_ptr": destination.size + 1, "worker_point": worker_point.size}
            if array.size != wanted.get(name, destination.size):
                raise ParameterError(
                    f"{name} has {array.size} values for {destination.size} synthesizers: give one each"
                )
            object.__setattr__(self, name, array)

    @property
    def n_likelihood(self) -> npt.NDArray[np.int64]:
        """n, real workers of each synthesizer: int64[S]."""
        return np.diff(self.worker_ptr)

    @property
    def n_synthetic(self) -> npt.NDArray[np.int64]:
        """m, workers to draw for each synthesizer: int64[S]."""
        return self.n_likelihood if self.published_count is None else self.published_count


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticPoints:
    """Support points drawn for synthetic workers.

    Attributes
    ----------
    synthetic_ptr : int64[S + 1]
        CSR offsets of each synthesizer's synthetic workers; m is the difference.
    synthetic_point : int32[sum(m)]
        Local support point of each synthetic worker.
    """

    synthetic_ptr: npt.NDArray[np.int64]
    synthetic_point: npt.NDArray[np.int32]


def synthesize(
    key: SecretKey,
    synthesizers: Synthesizers,
    support: SupportTable,
    *,
    certain_above: int = NEVER_CERTAIN,
    attempt: int = 0,
    threads: int = 1,
) -> SyntheticPoints:
    """Prune each synthesizer's support and draw its synthetic workers.

    Parameters
    ----------
    key : SecretKey
    synthesizers : Synthesizers
    support : SupportTable
    certain_above : int
        Prior weight (units of 2^-20, the least weight applied) above which a point is never pruned;
        ``WEIGHT_UNITS`` for the paper accountant.
    attempt : int
        0 to 2^24 - 1: draws the workers anew, from the same kept points.
    threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    SyntheticPoints

    Raises
    ------
    ParameterError
        If arrays do not agree, an address occurs twice or a worker's point is not in its support.
    SupportError
        If a synthesizer has workers to draw and no support point.
    OverflowRefusedError
        If a synthesizer's weights could reach 2^62.

    Source: P08 Algorithms 1 and 2; docs/theory/method.md, sections 6 and 7.
    """
    check_attempt(attempt)
    n_synthetic = synthesizers.n_synthetic
    synthetic_ptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(n_synthetic)))
    check_fit(synthesizers, support, synthetic_ptr)
    synthetic = PointLists(synthetic_ptr, np.empty(int(synthetic_ptr[-1]), dtype=np.int32))
    workers = PointLists(synthesizers.worker_ptr, synthesizers.worker_point)
    addresses = Addresses(synthesizers.tract, synthesizers.destination, synthesizers.segment)
    rules = _rules(synthesizers, support, certain_above)
    table = Support(support.support_ptr, support.base_weight, support.retention)
    candidates = _candidates(support, certain_above)
    sample_tag = int(Stage.SAMPLE) | attempt << ATTEMPT_SHIFT
    n_workers = synthesizers.n_likelihood + n_synthetic
    most_points = int(support.n_support.max(initial=0))
    most_balls = most_points + int(n_workers.max(initial=0))

    def draw(start: int, stop: int) -> int:
        bounds, space = (start, stop), _space(most_points, most_balls)
        return synthesize_range(
            bounds, workers, addresses, rules, table, candidates, sample_tag, key.words, space, synthetic
        )

    work = n_workers + _FIXED_WORK
    refuse_run_out(run_ranges(draw, work, threads), synthesizers)
    return SyntheticPoints(synthetic_ptr=synthetic.ptr, synthetic_point=synthetic.point)


def _rules(synthesizers: Synthesizers, support: SupportTable, certain_above: int) -> UrnRules:
    prunes = synthesizers.prunes
    if prunes is None:
        prunes = np.ones(synthesizers.tract.size, dtype=np.bool_)
    is_even = _largest_weight(support)[synthesizers.tract] <= synthesizers.min_prior_weight
    return UrnRules(synthesizers.min_prior_weight, prunes, is_even, certain_above)


def _candidates(support: SupportTable, certain_above: int) -> Candidates:
    classes = support.retention_classes()
    return Candidates(
        classes=classes,
        heavy=_heavy_points(support, certain_above),
        retain_blocks=_retain_blocks(classes.ptr),
        jumps=JUMP_TABLES,
    )


def _space(most_points: int, most_balls: int) -> UrnSpace:
    """Arrays that one thread works in."""
    return UrnSpace(
        marks=np.full(most_points, -1, dtype=np.int64),
        cumulative=np.empty(most_points, dtype=np.int64),
        balls=np.empty(most_balls, dtype=np.int32),
        lanes=np.zeros(LANE_WORDS, dtype=np.uint32),
        window=np.empty(WINDOW_WORDS, dtype=np.uint32),
        stream=new_stream(),
        digits=np.empty(JUMP_DIGITS, dtype=np.int64),
    )


def _heavy_points(support: SupportTable, certain_above: int) -> PointLists:
    """Points of each destination tract whose prior weight alone makes them certain."""
    heavy = np.flatnonzero(support.base_weight > certain_above)
    ptr = np.searchsorted(heavy, support.support_ptr)
    return PointLists(ptr, (heavy - np.repeat(support.support_ptr[:-1], np.diff(ptr))).astype(np.int32))


def _retain_blocks(class_ptr: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Random blocks that most synthesizers of a tract read to prune it, a quarter to spare: int64[T]."""
    n_points = np.diff(class_ptr).reshape(-1, N_CLASSES)[:, :CERTAIN_CLASS]
    words = (n_points >> np.arange(CERTAIN_CLASS)) + (n_points > 0)
    blocks: npt.NDArray[np.int64] = 1 + 5 * words.sum(axis=1) // BLOCK_BYTES
    return blocks


def refuse_run_out(failed: list[int], synthesizers: Synthesizers) -> None:
    """Raise if a kernel says that a stream ran past its end."""
    worst = max(failed, default=-1)
    if worst >= 0:
        raise OverflowRefusedError(
            f"the random stream of destination {synthesizers.destination[worst]}, segment "
            f"{synthesizers.segment[worst]} passed its 2^32 blocks: split its workers into more segments"
        )


def check_fit(
    synthesizers: Synthesizers, support: SupportTable, synthetic_ptr: npt.NDArray[np.int64]
) -> None:
    """Refuse tracts without points, workers outside their support, and weights that could reach 2^62."""
    n_tracts = support.support_ptr.size - 1
    if synthesizers.tract.size == 0:
        return
    if int(synthesizers.tract.max()) >= n_tracts:
        raise ParameterError(f"tract reaches {synthesizers.tract.max()}: allowed are 0 to {n_tracts - 1}")
    largest = _largest_weight(support)
    bare, n_outside, heavy = check_synthesizers(
        support.support_ptr,
        synthetic_ptr,
        PointLists(synthesizers.worker_ptr, synthesizers.worker_point),
        synthesizers.tract,
        synthesizers.min_prior_weight,
        largest,
        (_WEIGHT_LIMIT, _MOST_WORKERS),
    )
    if bare >= 0:
        raise SupportError(
            f"destination {synthesizers.destination[bare]} has no support point: its tract needs one"
        )
    if n_outside:
        # Says how many, not whose: the points of real workers are confidential.
        raise ParameterError(
            f"{n_outside} workers are in a support point that their destination tract does not "
            "have: map origins with point_of_tract of the same coarsening"
        )
    if heavy >= 0:
        tract = synthesizers.tract[heavy]
        weight = max(largest[tract], synthesizers.min_prior_weight[heavy])
        raise OverflowRefusedError(
            f"destination {synthesizers.destination[heavy]}, segment {synthesizers.segment[heavy]}: "
            f"{support.n_support[tract]} points of prior weight up to "
            f"{weight} × 2^-20 could pass 2^42 workers in all: lower the prior's strength"
        )


def _largest_weight(support: SupportTable) -> npt.NDArray[np.int64]:
    """Largest prior weight of each destination tract, 0 without points: int64[T]."""
    largest = np.zeros(support.support_ptr.size - 1, dtype=np.int64)
    filled = np.flatnonzero(np.diff(support.support_ptr))
    if filled.size:
        largest[filled] = np.maximum.reduceat(support.base_weight, support.support_ptr[filled])
    return largest


def redraw_remainder(
    key: SecretKey,
    synthesizers: Synthesizers,
    drawn: SyntheticPoints,
    coarsening: Coarsening,
    redraw_weight: npt.NDArray[np.int64],
    *,
    threads: int = 1,
) -> SyntheticPoints:
    """Draw again, from the public prior, every synthetic worker that fell in a remainder point.

    The new point comes from the prior over the whole edited domain, never from the kept points, which
    depend on confidential counts; so this is post-processing. No result is a remainder point.

    Parameters
    ----------
    key : SecretKey
        Draws come from stage REMAINDER, addressed by (destination, segment).
    synthesizers : Synthesizers
    drawn : SyntheticPoints
    coarsening : Coarsening
        The edited support points.
    redraw_weight : int64[K]
        Prior shares as integers (:func:`engine.support.prior.redraw_weight`); a remainder's own is ignored.
    threads : int

    Returns
    -------
    SyntheticPoints
        `drawn` itself if no destination tract has a remainder.

    Raises
    ------
    SupportError
        If a destination tract has no weight outside its remainder.

    Source: docs/theory/method.md, section 4.
    """
    if drawn.synthetic_ptr.size != synthesizers.tract.size + 1:
        raise ParameterError(
            "drawn and synthesizers differ in number: give what synthesize returned for them"
        )
    if coarsening.support_level.size == redraw_weight.size and not np.any(
        coarsening.support_level == LEVEL_REMAINDER
    ):
        return drawn
    table = _redraw_table(coarsening, as_int("redraw_weight", redraw_weight))
    redrawn = PointLists(drawn.synthetic_ptr, drawn.synthetic_point.copy())
    addresses = Addresses(synthesizers.tract, synthesizers.destination, synthesizers.segment)

    def draw(start: int, stop: int) -> int:
        bounds, stream = (start, stop), new_stream()
        return redraw_range(bounds, coarsening.support_ptr, addresses, table, key.words, stream, redrawn)

    refuse_run_out(run_ranges(draw, np.diff(redrawn.ptr), threads), synthesizers)
    return SyntheticPoints(synthetic_ptr=redrawn.ptr, synthetic_point=redrawn.point)


def _redraw_table(coarsening: Coarsening, weight: npt.NDArray[np.int64]) -> RedrawWeights:
    """Points of each destination tract but its remainder, and running weights within the tract."""
    is_remainder = coarsening.support_level == LEVEL_REMAINDER
    if weight.size != is_remainder.size:
        raise ParameterError(f"{weight.size} redraw weights for {is_remainder.size} points: give one each")
    if weight.sum(dtype=np.float64) >= _WEIGHT_LIMIT / 2:
        raise OverflowRefusedError(
            f"redraw weights add up to {weight.sum(dtype=np.float64):.3g}: they must stay below 2^61; take "
            "fewer destination tracts at a time"
        )
    running = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(np.where(is_remainder, 0, weight))))
    before = running[coarsening.support_ptr]
    n_points = coarsening.n_support - np.bincount(
        coarsening.tract_of_point[is_remainder], minlength=coarsening.n_destination_tracts
    )
    without = np.flatnonzero((np.diff(before) == 0) & (n_points < coarsening.n_support))
    if without.size:
        raise SupportError(
            f"destination tract at position {without[0]} has no prior weight outside its remainder: "
            "fill its prior mass first"
        )
    return RedrawWeights(n_points, running[1:] - before[coarsening.tract_of_point])
