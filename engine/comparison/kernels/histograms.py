"""Histogram mechanisms of one synthesizer after another: noisy counts turned into m synthetic workers.

Symbols: n_i real workers in a point, y_i noisy count (at least 0), Y their sum, m synthetic workers. The steps after
the noisy counts read only these counts, m and public weights. Noise comes from stage NOISE, everything else from
stage TOTAL.

A kernel returns `DONE`, or identifies a synthesizer that cannot be used: its position if its stream ran out, or
`TOO_LARGE` minus its position if its noisy counts exceeded 2^31.
"""

from typing import NamedTuple

import numpy as np

from engine.jit import jit
from engine.kernels.arrays import Addresses, Indices, Ints, PointLists, Words
from engine.kernels.chacha import (
    STAGE_NOISE,
    STAGE_SAMPLE,
    STAGE_TOTAL,
    STREAM_FIELDS,
    below,
    has_run_out,
    open_stream,
)
from engine.kernels.noise import NO_LIMIT, discrete_laplace, geometric

__all__ = [
    "DONE",
    "MOST_NOISY",
    "TOO_LARGE",
    "HistogramInputs",
    "LaplaceNoise",
    "ThresholdNoise",
    "laplace_range",
    "most_points",
    "noise_everywhere",
    "plug_in_range",
    "sparse_range",
]

DONE = -1
TOO_LARGE = -2
MOST_NOISY = (1 << 31) - 1


class HistogramInputs(NamedTuple):
    """What every histogram kernel reads: real workers, their synthesizers' addresses and least weights, the prior.

    The prior has CSR offsets of each destination tract's support points [T + 1], and weights [K].
    """

    workers: PointLists
    addresses: Addresses
    min_weight: Ints
    support_ptr: Ints
    prior_weight: Ints


class LaplaceNoise(NamedTuple):
    """Digits of the noise's magnitude, of the gaps between points where it is above 0; a flag that they are too few."""

    magnitude: Ints
    gap: Ints
    short: Ints


class ThresholdNoise(NamedTuple):
    """Digits of the noise's magnitude, the least count that is published, and a flag that the digits are too few."""

    magnitude: Ints
    threshold: int
    short: Ints


@jit
def most_points(support_ptr: Ints) -> int:
    """Return the largest number of support points of a destination tract."""
    most = 0
    for tract in range(support_ptr.size - 1):
        most = max(most, support_ptr[tract + 1] - support_ptr[tract])
    return most


@jit
def noise_everywhere(
    key: Words,
    stream: Ints,
    noise: LaplaceNoise,
    workers: Indices,
    n_points: int,
    points: Indices,
    noisy: Ints,
) -> tuple[int, int]:
    """Add noise to every count; list the points whose noisy count is above 0, and return how many and their sum.

    Noise above 0 is drawn by the gaps between the points that get it. At all other points noise is 0 or less, which
    matters only in points with workers. `workers` is sorted.
    """
    short = noise.short
    listed, total, worker = 0, 0, 0
    raised = geometric(key, stream, noise.gap, n_points, short)
    while (raised < n_points or worker < workers.size) and not has_run_out(stream):
        point, value = raised, 0
        if worker < workers.size and workers[worker] <= raised:
            point = int(workers[worker])
        while worker < workers.size and workers[worker] == point:
            value += 1
            worker += 1
        if point == raised:
            value += 1 + geometric(key, stream, noise.magnitude, NO_LIMIT, short)
            raised += 1 + geometric(key, stream, noise.gap, n_points, short)
        else:
            value -= geometric(key, stream, noise.magnitude, NO_LIMIT, short)
        if value > 0:
            points[listed], noisy[listed] = point, value
            listed += 1
            total += value
    return listed, total


@jit
def _noise_where_occupied(
    key: Words,
    stream: Ints,
    noise: ThresholdNoise,
    workers: Indices,
    points: Indices,
    noisy: Ints,
) -> tuple[int, int]:
    """Add noise to the counts of occupied points; list those that reach the threshold. `workers` is sorted."""
    listed, total, worker = 0, 0, 0
    while worker < workers.size:
        point, value = workers[worker], 0
        while worker < workers.size and workers[worker] == point:
            value += 1
            worker += 1
        value += discrete_laplace(key, stream, noise.magnitude, noise.short)
        if value >= noise.threshold:
            points[listed], noisy[listed] = point, value
            listed += 1
            total += value
    return listed, total


@jit
def _apportion(key: Words, stream: Ints, points: Indices, noisy: Ints, total: int, drawn: Indices) -> None:
    """Divide m = drawn.size workers in proportion to noisy counts that sum to ``total``, at least 1.

    Each point gets m y_i / Y rounded down or up at random, so that m y_i / Y is its mean and the sum is m: the noisy
    workers are laid on a line, and marks at equal distances with one random offset select workers.
    """
    whole, part = drawn.size // total, drawn.size % total
    carried = below(key, stream, total)
    position = 0
    for listed in range(noisy.size):
        carried += part * noisy[listed]
        taken = whole * noisy[listed] + carried // total
        carried %= total
        drawn[position : position + taken] = points[listed]
        position += taken


@jit
def _prior_sums(weights: Ints, min_weight: int, cumulative: Ints) -> None:
    total = np.int64(0)
    for point in range(weights.size):
        total += max(weights[point], min_weight)
        cumulative[point] = total


@jit
def _draw_from_prior(key: Words, stream: Ints, cumulative: Ints, drawn: Indices) -> None:
    """Draw each worker by the public prior weights, whose running sums are given."""
    for position in range(drawn.size):
        value = below(key, stream, cumulative[cumulative.size - 1])
        drawn[position] = np.searchsorted(cumulative, value, side="right")


@jit
def laplace_range(
    bounds: tuple[int, int], inputs: HistogramInputs, noise: LaplaceNoise, key: Words, synthetic: PointLists
) -> int:
    """Laplace sanitizer of synthesizers ``bounds``; the module says what is returned."""
    addresses, support_ptr = inputs.addresses, inputs.support_ptr
    most = most_points(support_ptr)
    points, noisy = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int64)
    cumulative = np.empty(most, dtype=np.int64)
    stream = np.zeros(STREAM_FIELDS, dtype=np.int64)
    for synthesizer in range(bounds[0], bounds[1]):
        drawn = synthetic.point[synthetic.ptr[synthesizer] : synthetic.ptr[synthesizer + 1]]
        if drawn.size == 0:
            continue
        first, last = support_ptr[addresses.tract[synthesizer]], support_ptr[addresses.tract[synthesizer] + 1]
        workers = np.sort(
            inputs.workers.point[inputs.workers.ptr[synthesizer] : inputs.workers.ptr[synthesizer + 1]]
        )
        listed, total = 0, 0
        # Without real workers there is nothing to hide; their total is public.
        if workers.size > 0:
            open_stream(
                STAGE_NOISE, addresses.destination[synthesizer], addresses.segment[synthesizer], stream
            )
            listed, total = noise_everywhere(key, stream, noise, workers, last - first, points, noisy)
            if has_run_out(stream):
                return synthesizer
            if total > MOST_NOISY:
                return TOO_LARGE - synthesizer
        open_stream(STAGE_TOTAL, addresses.destination[synthesizer], addresses.segment[synthesizer], stream)
        if total > 0:
            _apportion(key, stream, points[:listed], noisy[:listed], total, drawn)
        else:
            _prior_sums(inputs.prior_weight[first:last], inputs.min_weight[synthesizer], cumulative)
            _draw_from_prior(key, stream, cumulative[: last - first], drawn)
        if has_run_out(stream):
            return synthesizer
    return DONE


@jit
def sparse_range(
    bounds: tuple[int, int], inputs: HistogramInputs, noise: ThresholdNoise, key: Words, synthetic: PointLists
) -> int:
    """Stability-based histogram of synthesizers ``bounds``; the module says what is returned."""
    addresses, support_ptr, min_weight = inputs.addresses, inputs.support_ptr, inputs.min_weight
    most = most_points(support_ptr)
    points, noisy = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int64)
    cumulative = np.empty(most, dtype=np.int64)
    stream = np.zeros(STREAM_FIELDS, dtype=np.int64)
    summed_tract, summed_weight = np.int64(-1), np.int64(-1)
    for synthesizer in range(bounds[0], bounds[1]):
        drawn = synthetic.point[synthetic.ptr[synthesizer] : synthetic.ptr[synthesizer + 1]]
        if drawn.size == 0:
            continue
        workers = np.sort(
            inputs.workers.point[inputs.workers.ptr[synthesizer] : inputs.workers.ptr[synthesizer + 1]]
        )
        open_stream(STAGE_NOISE, addresses.destination[synthesizer], addresses.segment[synthesizer], stream)
        listed, total = _noise_where_occupied(key, stream, noise, workers, points, noisy)
        if has_run_out(stream):
            return synthesizer
        if total > MOST_NOISY:
            return TOO_LARGE - synthesizer
        open_stream(STAGE_TOTAL, addresses.destination[synthesizer], addresses.segment[synthesizer], stream)
        if total > drawn.size:
            _apportion(key, stream, points[:listed], noisy[:listed], total, drawn)
        else:
            position = 0
            for place in range(listed):
                drawn[position : position + noisy[place]] = points[place]
                position += noisy[place]
            tract = addresses.tract[synthesizer]
            first, last = support_ptr[tract], support_ptr[tract + 1]
            if tract != summed_tract or min_weight[synthesizer] != summed_weight:
                _prior_sums(inputs.prior_weight[first:last], min_weight[synthesizer], cumulative)
                summed_tract, summed_weight = np.int64(tract), min_weight[synthesizer]
            _draw_from_prior(key, stream, cumulative[: last - first], drawn[position:])
        if has_run_out(stream):
            return synthesizer
    return DONE


@jit
def plug_in_range(bounds: tuple[int, int], inputs: HistogramInputs, key: Words, synthetic: PointLists) -> int:
    """Draw every synthetic worker from the real ones; the module says what is returned."""
    addresses, support_ptr = inputs.addresses, inputs.support_ptr
    cumulative = np.empty(most_points(support_ptr), dtype=np.int64)
    stream = np.zeros(STREAM_FIELDS, dtype=np.int64)
    for synthesizer in range(bounds[0], bounds[1]):
        drawn = synthetic.point[synthetic.ptr[synthesizer] : synthetic.ptr[synthesizer + 1]]
        if drawn.size == 0:
            continue
        open_stream(STAGE_SAMPLE, addresses.destination[synthesizer], addresses.segment[synthesizer], stream)
        workers = inputs.workers.point[inputs.workers.ptr[synthesizer] : inputs.workers.ptr[synthesizer + 1]]
        if workers.size > 0:
            for position in range(drawn.size):
                drawn[position] = workers[below(key, stream, workers.size)]
        else:
            first, last = (
                support_ptr[addresses.tract[synthesizer]],
                support_ptr[addresses.tract[synthesizer] + 1],
            )
            _prior_sums(inputs.prior_weight[first:last], inputs.min_weight[synthesizer], cumulative)
            _draw_from_prior(key, stream, cumulative[: last - first], drawn)
        if has_run_out(stream):
            return synthesizer
    return DONE
