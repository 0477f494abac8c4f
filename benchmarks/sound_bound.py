"""The sound accountant's bound against brute force: `python -m benchmarks.sound_bound [--cases 120000] [--seed 1]`.

Draws small mechanisms (k up to 4, n and m up to 6, unequal weights and retentions), lists every table, kept set and
output of each, and compares the exact failure probability with the bound at six values of epsilon. Exits with 1 if
any exact value exceeds its bound.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from engine.accountant.enumerator import compositions, exact_failure, transition_matrix
from engine.accountant.sound import sound_delta

_EPSILONS = 6
SMALLEST = ("--cases", "24")


def mechanism(rng: np.random.Generator) -> tuple[int, int, list[float], list[float]]:
    """Counts, prior weights and retentions on the grids that are certified."""
    k = int(rng.choice([2, 2, 3, 3, 4]))
    most = 6 if k < 4 else 4
    n, m = (int(count) for count in rng.integers(1, most + 1, 2))
    weight = rng.uniform(0.003, 0.1, k) if rng.random() < 0.4 else rng.uniform(0.05, 1.6, k)
    retention = rng.choice([1, 1, 0.5, 0.2, 0.05, 0.01], k)
    return n, m, list(np.ceil(weight * 2**20) / 2**20), list(np.ceil(retention * 2**32) / 2**32)


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=120_000)
    parser.add_argument("--seed", type=int, default=1)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    options = argument_parser().parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    exceeded, ratios = 0, []
    n_mechanisms = -(-options.cases // _EPSILONS)
    for _ in range(n_mechanisms):
        n, m, weight, retention = mechanism(rng)
        probability, tables = transition_matrix(n, m, weight, retention), compositions(n, len(weight))
        for epsilon in rng.uniform(0.3, 11, _EPSILONS):
            exact = exact_failure(tables, probability, epsilon).probability
            bound = sound_delta(n, m, weight, retention, float(epsilon)).delta
            exceeded += exact > bound * (1 + 1e-9) + 1e-13  # what the enumerator itself rounds
            if exact > 0 and bound < 1:
                ratios.append(bound / exact)
    print("| cases | above the bound | can fail, bounded below 1 | their median of bound/exact |")
    print("|---|---|---|---|")
    print(f"| {n_mechanisms * _EPSILONS:,} | {exceeded} | {len(ratios):,} | {np.median(ratios):.2f} |")
    if exceeded:
        sys.exit(f"{exceeded} exact probabilities exceed their bound")


if __name__ == "__main__":
    main()
