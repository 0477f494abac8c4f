"""C13's experiments again: `python -m benchmarks.c13_adult [--data DIR] [--output DIR] [--queries 2000] [--seeds 8]`.

C13 (Cormode, Procopiuc, Shen, Srivastava and Yu 2013) compares k-anonymity, l-diversity, t-closeness and differential
privacy on UCI's Adult table: how far counts are off (median relative error), and how much better an attacker predicts
people's occupations than by always saying the most frequent one (breach increase). This prints C13's statements beside
what we find and every point of the curves. It draws the curves on Figure 5's axes, and Figure 6 over heights and data
sizes. docs/replications/audit.md explains the differences.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import c13_claims, c13_pictures, rhode_island
from benchmarks.adult_file import CodedTable, generated_table, read_adult
from benchmarks.c13_curves import Curve, Trial, curves, data_sizes, heights
from benchmarks.replications import line, save, table

SMALLEST = ("--generated", "400", "--queries", "40", "--seeds", "2", "--coarse", "--output", "{folder}")
PICTURE = "c13-adult.png"


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    rhode_island.add_data_option(parser)
    images = Path(__file__).parents[1] / "docs" / "images"
    parser.add_argument("--output", type=Path, default=images, help="folder of the picture")
    parser.add_argument("--queries", type=int, default=2000, help="of a workload")
    parser.add_argument("--seeds", type=int, default=8, help="draws of each private tree")
    parser.add_argument("--coarse", action="store_true", help="fewer parameters")
    parser.add_argument("--generated", type=int, metavar="PEOPLE", help="generated people instead of Adult's")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    people = _people(chosen)
    if people is None:
        print(
            f"no {chosen.data / 'adult'}: skipped; name the folder of Census files with --data",
            file=sys.stderr,
        )
        return
    trial = Trial.of(people, chosen.queries, chosen.seeds)
    found = curves(trial, coarse=chosen.coarse)
    by_height = heights(trial, coarse=chosen.coarse)
    by_size = data_sizes(trial, chosen.queries, coarse=chosen.coarse)
    table("C13 says", "C13", "here", "difference", "why")
    for claim in c13_claims.claims(trial, found, by_height, by_size):
        line(*claim)
    for curve in (*found.values(), *by_height, *by_size):
        _print_points(curve)
    save(c13_pictures.figure(found, by_height, by_size), chosen.output / PICTURE)


def _people(chosen: argparse.Namespace) -> CodedTable | None:
    return generated_table(chosen.generated) if chosen.generated is not None else read_adult(chosen.data)


def _print_points(curve: Curve) -> None:
    table(f"{curve.name}: {curve.parameter}", "error", "± sd", "breach increase", "± sd", "groups")
    for point in curve.points:
        numbers = (point.error, point.error_deviation, point.breach, point.breach_deviation)
        line(f"{point.parameter:g}", *(f"{number:.3f}" for number in numbers), f"{point.n_groups:.0f}")


if __name__ == "__main__":
    main()
