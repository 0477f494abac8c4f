"""Least prior weights of both accountants for one promise: `python -m benchmarks.least_alpha [--dataset DATASET]`.

Prints, for equal weights, the least weight by the paper accountant (which adds the cost of pruning to epsilon) and by
the sound one at the same epsilon_final. With a dataset: the same over its (workplace tract, n), which rule and which
term of the bound decides, and how long certifying takes. Reads workplace counts only, which are public.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from engine.accountant.paper import SynthesizerClasses, certify_classes
from engine.accountant.sound import SOUND_RULES, SoundAccounting, certify_sound, least_sound_weight
from engine.accountant.theorems import RULES, least_prior_weight, pruned_epsilon
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.parameters import SynthesisParameters
from engine.streams import PublicSeed
from geodata.store.store import open_store
from mapapp.kinds.release.make.batch import open_source
from mapapp.kinds.release.make.settings import privacy_of

COUNTS = (1, 2, 5, 9, 15, 30, 100, 300)
SMALLEST = ("--n-support", "20", "--dataset", "{dataset}")


def equal_weights(n_support: int, retention: str, final: Fraction, delta: str) -> None:
    """The table for equal weights; the paper's epsilon is what pruning leaves of epsilon_final."""
    before = final - pruned_epsilon(Fraction(0), Fraction(retention))
    print(f"k = {n_support}, f = {retention}, epsilon_final = {float(final):g}, delta = {delta}\n")
    print("| n | paper | rule | sound | rule | sound / paper |\n|---|---|---|---|---|---|")
    for n in COUNTS:
        old = least_prior_weight(n, n, n_support, before, delta)
        new = least_sound_weight(n, n, n_support, retention, final, delta)
        share = new.weight / old.weight
        print(f"| {n} | {old.weight:.4f} | {old.rule} | {new.weight:.4f} | {new.rule} | {share:.2f} |")


def of_dataset(path: Path, retention: str, delta: str) -> None:
    """Rules, deciding terms, weights and time over the classes of a dataset."""
    paper = privacy_of(accountant="paper", delta=delta, min_retention=retention)
    sound = privacy_of(accountant="sound", delta=delta, min_retention=retention)
    store = open_store(path, "dataset", verify=False)
    source = open_source(store, PublicSeed.for_tests(), paper, SynthesisParameters(), n_batches=1)
    inputs = source.inputs(0)
    prior = source.support(inputs.destination_tract).table
    pairs = np.stack([inputs.tract.astype(np.int64), inputs.count], axis=1)
    distinct, times = np.unique(pairs, axis=0, return_counts=True)
    tract, n = (np.ascontiguousarray(column) for column in distinct.T)
    classes = SynthesizerClasses(tract=tract, likelihood_count=n, published_count=n)
    old = certify_classes(prior, classes, paper)
    for run in ("first", "second"):
        start = time.perf_counter()
        new = certify_sound(prior, classes, sound)
        print(f"{run} certification of {n.size:,} classes: {time.perf_counter() - start:.2f} s")
    workers = times * n
    for name, rules, codes in (("paper", RULES, old.rule), ("sound", SOUND_RULES, new.rule)):
        for code in np.unique(codes):
            of = codes == code
            print(
                f"{name}, {rules[code]}: {share(times, of)} of synthesizers, {share(workers, of)} of workers"
            )
    print(f"mean least weight over synthesizers: paper {mean(old.min_weight, times):.4f}, ", end="")
    print(f"sound {mean(new.min_weight, times):.4f}")
    deciding_terms(new, times)


def deciding_terms(new: SoundAccounting, times: np.ndarray) -> None:
    """Where tails are used: which term of the bound is the largest, and whether the kept mass is certain."""
    tails = np.flatnonzero(new.delta_bound > 0)
    bounds = [new.bound(int(j)) for j in tails]
    largest = np.array([int(np.argmax([b.mass_term, b.empty_term, b.occupied_term])) for b in bounds])
    for code, name in enumerate(("kept mass", "points without workers", "points with workers")):
        print(f"largest term {name}: {share(times[tails], largest == code)} of synthesizers under tails")
    certain = np.array([b.mass_term == 0 for b in bounds])
    print(f"counting on the certain mass only: {share(times[tails], certain)} of synthesizers under tails")


def share(times: np.ndarray, chosen: np.ndarray) -> str:
    return f"{times[chosen].sum() / times.sum():.1%}"


def mean(units: np.ndarray, times: np.ndarray) -> float:
    return float(np.average(units, weights=times) / WEIGHT_UNITS)


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n-support", type=int, default=1000)
    parser.add_argument("--retention", default="0.025")
    parser.add_argument("--epsilon-final", default="8.98")
    parser.add_argument("--delta", default="1e-6")
    parser.add_argument("--dataset", type=Path)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argument_parser()
    options = parser.parse_args(arguments)
    if not 1 / RETENTION_UNITS <= float(options.retention) <= 1:
        parser.error("--retention must lie above 0 and at most at 1")
    equal_weights(options.n_support, options.retention, Fraction(options.epsilon_final), options.delta)
    if options.dataset:
        print()
        of_dataset(options.dataset, options.retention, options.delta)


if __name__ == "__main__":
    main()
