"""Time to certify a country's classes: `python -m benchmarks.national_certificate [--tracts 2000] [--threads 1]`.

Makes workplace tracts of 900 support points with gravity-like prior shares (near tracts, then PUMAs, then SuperPUMAs)
and two sets of classes: (i) one synthesizer per workplace block, counts up to thousands; (ii) one per block and
segment, counts mostly below 40. Prints processor microseconds per class (all threads together), wall seconds, and what
share of the classes each rule certifies.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engine.accountant.paper import SynthesizerClasses
from engine.accountant.sound import SOUND_RULES, certify_sound
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.parameters import PrivacyParameters
from engine.support.support_table import SupportTable

N_POINTS = 900
SMALLEST = ("--tracts", "2")


def shares(rng: np.random.Generator, n_tracts: int, scale_mi: float, shape: float) -> npt.NDArray[np.float64]:
    """Prior shares by population and distance; each tract has other numbers of near tracts and PUMAs."""
    rows = np.empty((n_tracts, N_POINTS))
    for row in rows:
        near, mid = int(rng.integers(80, 200)), int(rng.integers(20, 80))
        far = N_POINTS - near - mid
        distance = np.concatenate(
            [7 * np.sqrt(rng.random(near)), rng.uniform(7, 22, mid), 22 + np.exp(rng.normal(6.2, 0.9, far))]
        )
        people = np.concatenate(
            [rng.gamma(4, 1e3, near), rng.gamma(3, 3e4, mid), rng.gamma(4, 1.3e5, far)],
        )
        mass = people * np.exp(-((np.maximum(distance, 0.3) / scale_mi) ** shape))
        row[:] = mass / mass.sum()
    return rows


def distinct_counts(rng: np.random.Generator, n_tracts: int, segments: bool) -> SynthesizerClasses:
    """Distinct counts of each tract; heavy-tailed over workplace blocks, small over segments."""
    middle, spread, draws = (1.5, 1.2, 75) if segments else (2.0, 1.6, 26)
    each = [
        np.unique(np.minimum(np.ceil(np.exp(rng.normal(middle, spread, draws))), 8_000))
        for _ in range(n_tracts)
    ]
    n = np.concatenate(each).astype(np.int64)
    tract = np.repeat(np.arange(n_tracts), [counts.size for counts in each])
    return SynthesizerClasses(tract=tract, likelihood_count=n, published_count=n)


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tracts", type=int, default=2_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--epsilon-final", default="8.982026635")
    parser.add_argument("--scale-mi", type=float, default=2.5, help="distance decay of the prior")
    parser.add_argument("--shape", type=float, default=0.62)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    options = argument_parser().parse_args(arguments)
    rng = np.random.Generator(np.random.PCG64(3))
    share = shares(rng, options.tracts, options.scale_mi, options.shape).ravel()
    prior = SupportTable(
        support_ptr=np.arange(options.tracts + 1, dtype=np.int64) * N_POINTS,
        base_weight=np.ceil(share * WEIGHT_UNITS).astype(np.int64),
        retention=np.ceil(np.clip(10 * share, 0.025, 1) * RETENTION_UNITS).astype(np.int64),
    )
    privacy = PrivacyParameters(
        epsilon=options.epsilon_final, delta="1e-6", min_retention="0.025", accountant="sound"
    )
    print("| classes | number | a tract | median n | largest n | CPU µs a class | wall s | by rule |")
    print("|---|---|---|---|---|---|---|---|")
    for name, segments in (("per workplace block", False), ("per block and segment", True)):
        classes = distinct_counts(rng, options.tracts, segments)
        certify_sound(prior, distinct_counts(rng, 1, segments), privacy)
        start, began = time.process_time(), time.perf_counter()
        found = certify_sound(prior, classes, privacy, threads=options.threads)
        seconds, wall = time.process_time() - start, time.perf_counter() - began
        n = classes.likelihood_count
        rules = ", ".join(
            f"{SOUND_RULES[code].removeprefix('sound: ')} {(found.rule == code).mean():.0%}"
            for code in np.unique(found.rule)
        )
        print(
            f"| {name} | {n.size:,} | {n.size / options.tracts:.1f} | {np.median(n):.0f} | {n.max():,} | "
            f"{seconds / n.size * 1e6:.1f} | {wall:.2f} | {rules} |"
        )


if __name__ == "__main__":
    main()
