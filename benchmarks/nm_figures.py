"""Nabar and Mishra's figures again: `python -m benchmarks.nm_figures [--data DIR] [--dataset DIR] [--only PART …]`.

Prints, beside what the paper says, its Figures 3, 4 and 5 as we find them, and two data sets that the paper does not
use: UCI Adult, and tables of Rhode Island's jobs for three priors. `--only` takes figures, adult, and ri; ri needs
`--dataset`, and `--release` adds our own release of the same jobs as a prior. docs/replications/suppression.md explains
the differences.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import signal, stats

from benchmarks import nm_rhode_island, rhode_island
from benchmarks.nm_adult import print_adult
from benchmarks.replications import line, table
from benchmarks.sketch import STAMP, Sketch, both_totals
from engine.suppression.sampled import sampling_plan

SMALLEST: Final = ("--dataset", "{dataset}", "--runs", "2", "--tables", "1", "--data", "{folder}")
PARTS: Final = ("figures", "adult", "ri")

PEOPLE: Final = np.array([[200, 80, 100], [80, 200, 100], [100, 100, 200]])
RATES: Final = np.tile([0.5, 0.4, 0.3], (3, 1))
FIGURE_3: Final = np.array([[101, 23, 22], [32, 95, 24], [45, 38, 70]])
FIGURE_4: Final = np.array([[103, 20, 38], [33, 91, 1], [44, 42, 77]])

Floats = npt.NDArray[np.float64]


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    rhode_island.add_dataset_options(parser)
    parser.add_argument("--release", type=Path, help="our own release of the dataset, as one more prior")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--runs", type=int, default=200, help="tables drawn for Figure 3")
    parser.add_argument("--tables", type=int, default=20, help="tables drawn for Figure 5")
    parser.add_argument("--seed", type=int, default=2010)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    random = np.random.default_rng(chosen.seed)
    if "figures" in chosen.only:
        figure_3(chosen.runs, random)
        figure_4(random)
        figure_5(chosen.tables, random)
    if "adult" in chosen.only:
        print_adult(chosen.data)
    if "ri" in chosen.only and chosen.dataset is not None:
        nm_rhode_island.print_all(chosen.dataset, chosen.release, chosen.seed)
    elif "ri" in chosen.only:
        print("no --dataset: the tables of Rhode Island are left out", file=sys.stderr)


def figure_3(runs: int, random: np.random.Generator) -> None:
    """The table that the paper releases whole, and how often its like is."""
    shifts = np.abs(1 - FIGURE_3 / PEOPLE / RATES), np.abs(1 - (1 - FIGURE_3 / PEOPLE) / (1 - RATES))
    table("Figure 3", "paper", "here")
    line("largest shift of a belief", "–", float(np.max(shifts)))
    mean, deviation = exact_first_cell()
    sketch, queries = Sketch(PEOPLE.ravel(), RATES.ravel()), both_totals(3, 3)
    for query, value in zip(queries[:6], values_of(FIGURE_3)[:6], strict=True):
        sketch.release(query, float(value))
    line("first cell given all totals, exact mean ± sd", "–", f"{mean:.3f} ± {deviation:.3f}")
    line(f"the same ({STAMP})", "–", f"{sketch.mean[0]:.3f} ± {math.sqrt(sketch.covariance[0, 0]):.3f}")
    table(
        "Figure 3 drawn again, delta 0.2: epsilon",
        "cells released",
        "whole table",
        "by sampling: cells",
        "whole",
    )
    for epsilon in (0.5, 0.4, 0.3, 0.2):
        line(f"{epsilon}", *released_shares(PEOPLE, RATES, epsilon, runs, random))


def exact_first_cell() -> tuple[float, float]:
    """Mean and deviation of Figure 3's first cell given all row totals and column totals."""
    rows, columns = FIGURE_3.sum(axis=1), FIGURE_3.sum(axis=0)
    shape = (rows[0] + 1, rows[1] + 1)
    of_column = []
    for column in range(3):
        laws = [stats.binom.pmf(np.arange(450), PEOPLE[row, column], RATES[row, column]) for row in range(3)]
        first, second = np.indices(shape)
        third = columns[column] - first - second
        of_column.append(
            np.where(third >= 0, laws[0][first] * laws[1][second] * laws[2][np.maximum(third, 0)], 0.0)
        )
    others = signal.convolve2d(of_column[1], of_column[2])[: shape[0], : shape[1]]
    law = (of_column[0] * others[::-1, ::-1]).sum(axis=1)
    law /= law.sum()
    mean = float(law @ np.arange(law.size))
    return mean, math.sqrt(float(law @ (np.arange(law.size) - mean) ** 2))


def values_of(cells: npt.NDArray[np.int64]) -> Floats:
    """Row totals, column totals, and cells row by row."""
    return np.concatenate((cells.sum(axis=1), cells.sum(axis=0), cells.ravel())).astype(np.float64)


def released_shares(
    people: npt.NDArray[np.int64], rates: Floats, epsilon: float, runs: int, random: np.random.Generator
) -> tuple[str, str, str, str]:
    """Mean share of cells released and share of whole tables: by the chance itself, and by Algorithm 3's samples."""
    rows, columns = people.shape
    queries = both_totals(rows, columns)
    q = 0.2 / ((rows + 1) * (columns + 1))
    samples, most = sampling_plan(Fraction(q).limit_denominator(10**6))
    found: dict[bool, list[npt.NDArray[np.bool_]]] = {False: [], True: []}
    for _ in range(runs):
        values = values_of(random.binomial(people, rates))
        for sampled, outcomes in found.items():
            sketch, released = Sketch(people.ravel(), rates.ravel()), list[bool]()
            for query, value in zip(queries, values, strict=True):
                unsafe = sketch.unsafe_probability(query, epsilon)
                released.append(bool(random.binomial(samples, unsafe) <= most if sampled else unsafe <= q))
                if released[-1]:
                    sketch.release(query, float(value))
            outcomes.append(np.array(released[rows + columns :]))
    shares = [
        (np.mean([one.mean() for one in found[way]]), np.mean([one.all() for one in found[way]]))
        for way in (False, True)
    ]
    first, second = shares
    return f"{first[0]:.2f}", f"{first[1]:.2f}", f"{second[0]:.2f}", f"{second[1]:.2f}"


def figure_4(random: np.random.Generator) -> None:
    """The perturbed table: how far it is off, and what noise could have made it. It cannot be reproduced."""
    off = FIGURE_4 - FIGURE_3
    table("Figure 4 (shown, not reproduced)", "paper", "here")
    line("root mean square error of cells", f"{math.sqrt(float((off**2).mean())):.1f}", "–")
    line("row totals off by", "–", ", ".join(str(one) for one in off.sum(axis=1)))
    line("column totals off by", "–", ", ".join(str(one) for one in off.sum(axis=0)))
    for scale in (2.0, 4.0):
        line(f"Laplace noise of scale {scale:.0f} in each cell", "–", f"{math.sqrt(2) * scale:.1f}")
    line("Fourier noise over 16 coefficients", "–", f"{fourier_error(random):.1f}")


def fourier_error(random: np.random.Generator, epsilon: float = 0.5, n: int = 4, draws: int = 4000) -> float:
    """Root mean square error of a cell whose table of 2^n cells gets noise in every Fourier coefficient."""
    size = 2**n
    scale = 2 * size / (epsilon * 2 ** (n / 2))
    noise = random.laplace(0, scale, (draws, size)) * random.choice((-1.0, 1.0), size) / 2 ** (n / 2)
    return math.sqrt(float((noise.sum(axis=1) ** 2).mean()))


def figure_5(runs: int, random: np.random.Generator) -> None:
    """Ten by ten cells: how many are released, and how many noise puts off by more than a quarter.

    The paper says 10,000 people and 80 to 200 in a cell. So the mean is 100, and most cells are near 80; for comparison
    all sizes are as likely.
    """
    rates = random.uniform(0.3, 0.5, (10, 10))
    near_80 = 80 + np.minimum(random.exponential(20, (10, 10)), 120).astype(np.int64)
    sizes = {"mean 100": near_80, "mean 140": random.integers(80, 201, (10, 10))}
    table("Figure 5: perturbation, epsilon 0.5", "paper", "Laplace(2 / epsilon)", "Laplace(1 / epsilon)")
    for name, people in sizes.items():
        shares = [distorted(people, rates, scale, random) for scale in (4.0, 2.0)]
        line(f"cells off by more than 25%, {name}", "0.10", *(f"{share:.3f}" for share in shares))
    table(
        "Figure 5: cells released, delta 0.2",
        "paper",
        "epsilon",
        "by chance",
        "whole",
        "by sampling",
        "whole",
    )
    for name, people in sizes.items():
        for epsilon in (0.5, 0.7, 0.8):
            shown = released_shares(people, rates, epsilon, runs, random)
            line(name, "1.00 (epsilon not given)", f"{epsilon}", *shown)


def distorted(
    people: npt.NDArray[np.int64], rates: Floats, scale: float, random: np.random.Generator
) -> float:
    """Share of cells that noise puts off by more than a quarter of their value."""
    values = random.binomial(people, rates, (500, *people.shape))
    return float((np.abs(random.laplace(0, scale, values.shape)) > 0.25 * values).mean())


if __name__ == "__main__":
    main()
