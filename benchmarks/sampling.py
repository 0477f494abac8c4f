"""Sampling against NumPy, and against its own random bits: `python -m benchmarks.sampling`.

First table: seconds per synthesizer of the engine and of three simpler ways to do Algorithms 1 and 2 of P08, on the
same inputs in the same run (medians; each ratio is the median over the runs). The engine's time counts all checks
and the sorting of support points into classes. Workplaces have heavy-tailed (lognormal) numbers of workers:

- "destinations": 100 workers in the mean, 19 synthesizers to a tract, alpha 0.1, as 1.4 million workplace blocks have;
- "segments": 7 in the mean, 270 to a tract, alpha 0.05, as 20 million (destination, segment) pairs have.

The exponential mechanism draws the same workers at the epsilon of the recommended preset and at that of OnTheMap V3. It
prunes nothing and uses no prior.

Second table: what part of the engine's time its random bits alone would take, at the rate of the vectorised ChaCha20,
and how many bits there would have to be: k H(f) for pruning and the entropy of each draw.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.jit import lean_jit
from engine.kernels import chacha
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.mechanisms.dirichlet_multinomial import Synthesizers, synthesize
from engine.mechanisms.exponential import exponential
from engine.mechanisms.kernels import urn
from engine.streams import SecretKey
from engine.support.kernels import skipping
from engine.support.support_table import SupportTable

Ints = npt.NDArray[np.int64]
KEY = SecretKey.for_tests()
EXPONENTIAL_EPSILONS = ("6.5", "8.982")
SMALLEST = ("--synthesizers", "200", "--n-support", "50", "--runs", "1")


def make_inputs(
    n_synthesizers: int,
    mean: float,
    n_support: int,
    per_tract: int,
    retention: float,
    alpha: float,
    seed: int = 1,
) -> tuple[Synthesizers, dict[str, Ints]]:
    """Synthesizers with lognormal numbers of workers, and the arguments of their support table."""
    rng = np.random.default_rng(seed)
    spread = 1.5
    n_workers = np.round(rng.lognormal(np.log(mean) - spread**2 / 2, spread, n_synthesizers)).astype(np.int64)
    n_workers = np.maximum(n_workers, 1)
    n_tracts = -(-n_synthesizers // per_tract)
    threshold = np.full(n_tracts * n_support, int(np.ceil(retention * RETENTION_UNITS)))
    threshold[n_support - 1 :: n_support] = RETENTION_UNITS  # the remainder of each tract
    # Most workers live in few of the support points.
    share = np.cumsum(rng.dirichlet(np.full(n_support, 0.1)))
    home = np.searchsorted(share, rng.random(n_workers.sum()) * share[-1], side="right")
    synthesizers = Synthesizers(
        tract=np.arange(n_synthesizers, dtype=np.int32) // per_tract,
        destination=np.arange(n_synthesizers),
        segment=np.zeros(n_synthesizers, np.int64),
        worker_ptr=np.concatenate(([0], np.cumsum(n_workers))),
        worker_point=np.minimum(home, n_support - 1),
        min_prior_weight=np.full(n_synthesizers, round(alpha * WEIGHT_UNITS)),
    )
    table = {
        "support_ptr": np.arange(n_tracts + 1) * n_support,
        "base_weight": np.zeros(n_tracts * n_support, np.int64),
        "retention": threshold,
    }
    return synthesizers, table


def by_engine(synthesizers: Synthesizers, table: dict[str, Ints], threads: int) -> npt.NDArray[np.int32]:
    return synthesize(KEY, synthesizers, SupportTable(**table), threads=threads).synthetic_point


def by_exponential(
    synthesizers: Synthesizers, table: dict[str, Ints], epsilon: str, threads: int
) -> npt.NDArray[np.int32]:
    support = SupportTable(**table)
    return exponential(KEY, synthesizers, support, epsilon=epsilon, threads=threads).synthetic_point


def by_numpy(synthesizers: Synthesizers, table: dict[str, Ints], counts_kept: bool) -> npt.NDArray[np.int32]:
    """One synthesizer after another with NumPy's generator, in floating point."""
    rng = np.random.default_rng(2)
    retention = table["retention"] / RETENTION_UNITS
    weight = table["base_weight"] / WEIGHT_UNITS
    synthetic = np.empty(synthesizers.worker_point.size, np.int32)
    ptr, tract = synthesizers.worker_ptr.tolist(), synthesizers.tract.tolist()
    first_of = table["support_ptr"].tolist()
    least_of = (synthesizers.min_prior_weight / WEIGHT_UNITS).tolist()
    for one, at in enumerate(tract):
        points = slice(first_of[at], first_of[at + 1])
        counts = np.bincount(
            synthesizers.worker_point[ptr[one] : ptr[one + 1]], minlength=points.stop - points.start
        )
        if counts_kept:
            # Where all points but the remainder have one f: how many stay, and which.
            n_points = counts.size - 1
            n_kept = rng.binomial(n_points, retention[points.start])
            stays = counts > 0
            stays[rng.choice(n_points, n_kept, replace=False, shuffle=False)] = True
            stays[-1] = True
        else:
            stays = (rng.random(counts.size) < retention[points]) | (counts > 0)
        kept = np.flatnonzero(stays)
        posterior = rng.dirichlet(np.maximum(weight[points][kept], least_of[one]) + counts[kept])
        n_workers = ptr[one + 1] - ptr[one]
        synthetic[ptr[one] : ptr[one + 1]] = np.repeat(kept, rng.multinomial(n_workers, posterior))
    return synthetic


@lean_jit
def _plain(
    key: Any, tract_of: Any, ptr: Any, worker: Any, min_weight: Any, table: Any, scratch: Any, out: Any
) -> None:
    support_ptr, prior_weight, threshold = table
    stream, marks, kept, running = scratch
    for one in range(tract_of.size):
        first, last = support_ptr[tract_of[one]], support_ptr[tract_of[one] + 1]
        for position in range(ptr[one], ptr[one + 1]):
            marks[worker[position]] = one
        chacha.open_stream(chacha.STAGE_RETAIN, one, 0, stream)
        n_kept = np.int64(0)
        total = np.int64(0)
        for point in range(last - first):
            stays = chacha.next_word(key, stream) < threshold[first + point]
            if stays or marks[point] == one:
                total += max(prior_weight[first + point], min_weight[one])
                kept[n_kept], running[n_kept] = point, total
                n_kept += 1
        chacha.open_stream(chacha.STAGE_SAMPLE, one, 0, stream)
        n_workers = ptr[one + 1] - ptr[one]
        for position in range(n_workers):
            value = chacha.below(key, stream, total + ((n_workers + position) << 20))
            past = (value - total) >> 20
            if value < total:
                out[ptr[one] + position] = kept[urn.find_weight(running, 0, int(n_kept), value)]
            elif past < n_workers:
                out[ptr[one] + position] = worker[ptr[one] + past]
            else:
                out[ptr[one] + position] = out[ptr[one] + past - n_workers]


def by_plain_kernel(synthesizers: Synthesizers, table: dict[str, Ints]) -> npt.NDArray[np.int32]:
    """Compiled and exact, but 32 random bits for every support point and every draw, block by block."""
    synthetic = np.empty(synthesizers.worker_point.size, np.int32)
    most = int(np.diff(table["support_ptr"]).max())
    scratch = (
        np.zeros(chacha.STREAM_FIELDS, np.int64),
        np.full(most, -1),
        np.empty(most, np.int32),
        np.empty(most, np.int64),
    )
    _plain(
        KEY.words,
        synthesizers.tract,
        synthesizers.worker_ptr,
        synthesizers.worker_point,
        synthesizers.min_prior_weight,
        tuple(table.values()),
        scratch,
        synthetic,
    )
    return synthetic


@lean_jit
def _blocks(key: Any, n: int, wide: bool, lanes: Any, window: Any, nonce: Any) -> None:
    for number in range(n):
        if wide:
            lanes[0] = number
            chacha.fill_blocks(key, lanes, window)
        else:
            chacha.block(key, number, nonce, window)


def chacha_seconds_per_byte(wide: bool) -> float:
    """Seconds per byte of keystream, the best of several tries."""
    lanes, window = np.zeros(chacha.LANE_WORDS, np.uint32), np.zeros(chacha.WINDOW_WORDS, np.uint32)
    n, nonce = 20_000, np.zeros(3, np.int64)
    n_bytes = n * chacha.BLOCK_BYTES * (chacha.WIDTH if wide else 1)
    tries = []
    for _ in range(9):
        start = time.perf_counter()
        _blocks(KEY.words, n, wide, lanes, window, nonce)
        tries.append(time.perf_counter() - start)
    return min(tries[1:]) / n_bytes


def bytes_read(synthesizers: Synthesizers, table: dict[str, Ints], n_sample: int) -> tuple[float, float]:
    """Mean bytes that pruning and drawing read from their streams, over the first synthesizers."""
    support = SupportTable(**table)
    k, classes = int(support.n_support.max()), support.retention_classes()
    digits = np.empty(skipping.JUMP_DIGITS, np.int64)
    stream, lanes = np.zeros(chacha.STREAM_FIELDS, np.int64), np.zeros(chacha.LANE_WORDS, np.uint32)
    read, no_sums = np.zeros(2), np.zeros(1, np.int64)
    for one in range(n_sample):
        tract, n = int(synthesizers.tract[one]), int(synthesizers.n_likelihood[one])
        kept, marks = np.zeros(k + 2 * n + 1, np.int32), np.full(k, -1)
        chacha.open_stream(chacha.STAGE_RETAIN, one, 0, stream)
        n_kept = skipping.keep_by_chance(
            KEY.words,
            stream,
            skipping.JUMP_TABLES,
            digits,
            classes,
            tract,
            skipping.KeptPoints(kept, marks, one),
            0,
        )
        read[0] += position(stream)
        even = int(synthesizers.min_prior_weight[one])
        chacha.open_stream(chacha.STAGE_SAMPLE, one, 0, stream)
        urn._draw(KEY.words, stream, lanes, no_sums, even, kept, (max(n_kept, 1), n, n))
        read[1] += position(stream)
    pruning, drawing = (read / n_sample).tolist()
    return pruning, drawing


def position(stream: Ints) -> int:
    """Bytes read from a stream."""
    at_hand = stream[chacha.END] - stream[chacha.POSITION]
    return int(chacha.BLOCK_BYTES * stream[chacha.COUNTER] - at_hand)


def entropy_bytes(synthesizers: Synthesizers, n_support: int, retention: float) -> tuple[float, float]:
    """Mean entropy, in bytes, of the kept points and of the balls drawn: no method can read less in the mean."""
    binary = -(retention * np.log2(retention) + (1 - retention) * np.log2(1 - retention))
    mass = (1 + retention * (n_support - 1)) * synthesizers.min_prior_weight / WEIGHT_UNITS
    least = synthesizers.min_prior_weight / WEIGHT_UNITS
    bits = 0.0
    for n, prior, alpha in zip(synthesizers.n_likelihood, mass, least, strict=True):
        total = prior + n + np.arange(n)
        bits += float((np.log2(total) - prior / total * np.log2(alpha)).sum())
    return binary * (n_support - 1) / 8, bits / 8 / mass.size


def compare(ways: dict[str, Callable[[], object]], runs: int) -> dict[str, list[float]]:
    """Wall seconds of each way in each run; one run beforehand compiles."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for run in range(runs + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            if run:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--synthesizers", type=int, default=20_000)
    parser.add_argument("--n-support", type=int, default=1000)
    parser.add_argument("--retention", type=float, default=0.025)
    parser.add_argument("--runs", type=int, default=7)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    k, retention, count = chosen.n_support, chosen.retention, chosen.synthesizers
    limits = []
    for name, mean, per_tract, alpha in (("destinations", 100, 19, 0.1), ("segments", 7, 270, 0.05)):
        synthesizers, table = make_inputs(count, mean, k, per_tract, retention, alpha)
        ways: dict[str, Callable[[], object]] = {
            "NumPy: random, dirichlet, multinomial": partial(by_numpy, synthesizers, table, False),
            "NumPy: binomial and choice, dirichlet, multinomial": partial(
                by_numpy, synthesizers, table, True
            ),
            "plain kernel, 32 bits a trial": partial(by_plain_kernel, synthesizers, table),
            "engine, 1 thread": partial(by_engine, synthesizers, table, 1),
            "engine, 2 threads": partial(by_engine, synthesizers, table, 2),
            **{
                f"exponential mechanism, epsilon {epsilon}, {threads} thread{'s'[: threads - 1]}": partial(
                    by_exponential, synthesizers, table, epsilon, threads
                )
                for epsilon in EXPONENTIAL_EPSILONS
                for threads in (1, 2)
            },
            "(of which points into classes)": partial(SupportTable, **table),
        }
        seconds = compare(ways, chosen.runs)
        mean_n = float(synthesizers.n_likelihood.mean())
        print(
            f"\n{name}: {count:,} synthesizers, mean n = m = {mean_n:.1f}, k = {k}, f = {retention}, alpha = {alpha}\n"
        )
        print(
            "| way | µs per synthesizer | engine, 1 thread, is faster by | engine, 2 threads |\n|---|---|---|---|"
        )
        for way, spent in seconds.items():
            ratios = [
                statistics.median(other / own for other, own in zip(spent, seconds[engine], strict=True))
                for engine in ("engine, 1 thread", "engine, 2 threads")
            ]
            print(
                f"| {way} | {statistics.median(spent) / count * 1e6:.2f} | {ratios[0]:.1f} | {ratios[1]:.1f} |"
            )
        own = statistics.median(seconds["engine, 1 thread"]) / count
        read = bytes_read(synthesizers, table, min(count, 2000))
        limits.append((name, own, read, entropy_bytes(synthesizers, k, retention)))
    print_limits(limits)


def print_limits(limits: list[tuple[str, float, tuple[float, float], tuple[float, float]]]) -> None:
    """The second table."""
    wide, single = chacha_seconds_per_byte(True), chacha_seconds_per_byte(False)
    print(
        f"\nChaCha20: {1e-9 / wide:.2f} GB/s in {chacha.WIDTH} lanes, {1e-9 / single:.2f} GB/s block by block\n"
    )
    print(
        "| synthesizers | bytes read: pruning + drawing | entropy, bytes | µs of their ChaCha20 | engine, µs | ratio |"
    )
    print("|---|---|---|---|---|---|")
    for name, own, read, entropy in limits:
        bits = sum(read) * wide
        print(
            f"| {name} | {read[0]:.0f} + {read[1]:.0f} | {entropy[0]:.0f} + {entropy[1]:.0f} | {bits * 1e6:.2f} "
            f"| {own * 1e6:.2f} | {own / bits:.1f} |"
        )


if __name__ == "__main__":
    main()
