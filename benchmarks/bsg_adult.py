"""The experiment of Bindschaedler, Shokri and Gunter on UCI Adult: `python -m benchmarks.bsg_adult [--data DIR]`.

Prints, for real records, for marginals, and for synthetic records of several models, the distances of pairs and single
attributes, the accuracy of classifiers (Tables 3 and 4), how often a forest and a tree tell the records from real ones
(Table 5), how many candidates pass by k and by the number of attributes drawn (Figure 6), and how fast candidates are
tried (Figure 5). docs/replications/records.md compares with what the paper prints.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from benchmarks import rhode_island
from benchmarks.bsg_records import BUCKETS, SIZES, AdultRecords, Codes, generated_records, read_adult
from benchmarks.bsg_utility import CLASSIFIERS, Predictions, distance, told_apart, train
from benchmarks.replications import line, table
from engine.records.acceptance import Acceptance
from engine.records.candidates import draw_candidates
from engine.records.drawing import draw_records
from engine.records.groups import GroupTable
from engine.records.learned import LearnedStructure, StructureRules, learn_structure
from engine.records.splitting import split_records
from engine.records.structure import RECORDS_PER_CELL, Structure
from engine.records.tables import Model, learn_model
from engine.streams import SecretKey

SMALLEST: Final = ("--generated", "4000", "--tries", "300")
KEY: Final = SecretKey.for_tests()
SHARES: Final = (Fraction(45, 100), Fraction(15, 100), Fraction(20, 100), Fraction(20, 100))
"""Seeds, structure, parameters, and test."""
DELTA: Final = Fraction(1, 10**6)
K: Final = (50, 200)
DRAWN: Final = (10, 9, 8, 7, 6, 5)


@dataclass(frozen=True, slots=True)
class Parts:
    """Disjoint records, in random order."""

    seeds: Codes
    structure: Codes
    parameters: Codes
    test: Codes

    @classmethod
    def of(cls, records: AdultRecords) -> Parts:
        subset = split_records(len(records.codes), SHARES, key=KEY)
        mixed = np.random.default_rng(2017).permutation(len(records.codes))
        return cls(*(records.codes[mixed][subset[mixed] == part] for part in range(4)))


@dataclass(frozen=True, slots=True)
class OrderedModel:
    """A model whose attributes are in another order than the records."""

    model: Model
    order: tuple[int, ...]

    def turned(self, codes: Codes) -> Codes:
        """Records in the order of the model."""
        return np.ascontiguousarray(codes[:, list(self.order)])

    def back(self, codes: Codes) -> Codes:
        """Records of the model in the order of the attributes."""
        return np.ascontiguousarray(codes[:, np.argsort(self.order)])


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    rhode_island.add_data_option(parser)
    parser.add_argument("--generated", type=int, metavar="PEOPLE", help="generated people instead of Adult's")
    parser.add_argument("--tries", type=int, default=100_000, help="candidates for pass rates and speed")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    records = generated_records(chosen.generated) if chosen.generated else read_adult(chosen.data)
    if records is None:
        print(
            f"no {chosen.data / 'adult'}: skipped; name the folder with --data, or try --generated 2000",
            file=sys.stderr,
        )
        return
    parts = Parts.of(records)
    learned = {epsilon: learn(parts, epsilon) for epsilon in (None, Fraction(1))}
    print_structures(learned, parts)
    print_cells(parts)
    print_utility(learned, parts)
    print_pass_rates(learned[None], parts, chosen.tries)
    print_speed(learned[None], parts, chosen.tries)


def learn(parts: Parts, epsilon: Fraction | None) -> LearnedStructure:
    """A structure from the part for it; few records may hide it all in noise."""
    rules = StructureRules(n_parameters=len(parts.parameters), buckets=BUCKETS, keeps_order=False)
    return learn_structure(parts.structure, SIZES, rules, epsilon=epsilon, delta=DELTA, key=KEY)


def with_cells(parts: Parts, cells: int) -> LearnedStructure:
    """A structure learned without noise, in the place of a public one, whose tables have at most so many cells."""
    rules = StructureRules(n_parameters=RECORDS_PER_CELL * cells, buckets=BUCKETS, keeps_order=False)
    return learn_structure(parts.structure, SIZES, rules, epsilon=None, delta=DELTA, key=KEY)


def print_cells(parts: Parts) -> None:
    """What larger tables give, and what their noise takes: records drawn without seeds."""
    rule = len(parts.parameters) // RECORDS_PER_CELL
    table("most cells of a table", "tables", "pair distance", "single distance", *CLASSIFIERS)
    for cells in (rule, 3 * rule, 10 * rule, 300 * rule):
        given = with_cells(parts, cells)
        for epsilon in (1, None):
            ordered = model_of(parts, given, epsilon)
            codes = ordered.back(draw_records(ordered.model, len(parts.test), key=KEY))
            found = train(codes, parts.test)
            line(
                cells,
                "no noise" if epsilon is None else f"epsilon {epsilon}",
                distance(codes, parts.test, 2),
                distance(codes, parts.test, 1),
                *(found.accuracy(name, parts.test) for name in CLASSIFIERS),
            )


def model_of(parts: Parts, learned: LearnedStructure, epsilon: int | None) -> OrderedModel:
    """A model from the part for parameters."""
    turned = np.ascontiguousarray(parts.parameters[:, list(learned.order)])
    return OrderedModel(learn_model(turned, learned.structure, epsilon=epsilon, key=KEY), learned.order)


def marginals(parts: Parts) -> OrderedModel:
    """Every attribute by itself, epsilon 1."""
    structure = Structure.of_marginals(SIZES)
    return OrderedModel(
        learn_model(parts.parameters, structure, epsilon=1, key=KEY), tuple(range(len(SIZES)))
    )


def candidates(ordered: OrderedModel, parts: Parts, n_drawn: int, acceptance: Acceptance, n: int) -> Codes:
    """Candidates that pass, in the order of the attributes."""
    kept = len(SIZES) - n_drawn
    seeds = ordered.turned(parts.seeds)
    groups = GroupTable.of(seeds[:, :kept], ordered.model.structure.domain[:kept])
    tried = draw_candidates(seeds, groups, acceptance, ordered.model, n=n, key=KEY, threads=1)
    return ordered.back(tried.codes)


def test_of(k: int) -> Acceptance:
    """Test 2 with the paper's threshold epsilon, 1."""
    return Acceptance(min_plausible_seeds=k, threshold_epsilon=Fraction(1))


def print_structures(learned: dict[Fraction | None, LearnedStructure], parts: Parts) -> None:
    table("structure", "records", "entropies", "epsilon of each", "noise of each, bits", "edges")
    for epsilon, found in learned.items():
        edges = sum(len(parents) for parents in found.structure.parents)
        each = "–" if found.entropy_epsilon is None else f"{float(found.entropy_epsilon):.4f}"
        name = "without noise" if epsilon is None else f"epsilon {epsilon}"
        line(name, len(parts.structure), found.n_entropies, each, found.noise_bits, edges)


def print_utility(learned: dict[Fraction | None, LearnedStructure], parts: Parts) -> None:
    """Distances, classifiers, and the game, for sets of as many records as there are test records."""
    n = len(parts.test)
    enough = 3 * n
    plain, noisy = learned[None], learned[Fraction(1)]
    larger = with_cells(parts, 3 * len(parts.parameters) // RECORDS_PER_CELL)
    by_marginals = marginals(parts)
    sets = {
        "reals": parts.seeds[:n],
        "marginals, epsilon 1": by_marginals.back(draw_records(by_marginals.model, n, key=KEY)),
    }
    models = {
        "structure and tables epsilon 1": model_of(parts, noisy, 1),
        "structure given, tables epsilon 1": model_of(parts, plain, 1),
        "structure given, no noise": model_of(parts, plain, None),
        "3 × cells, tables epsilon 1": model_of(parts, larger, 1),
        "3 × cells, no noise": model_of(parts, larger, None),
    }
    for name, ordered in models.items():
        sets[f"9 drawn, k 50, {name}"] = candidates(ordered, parts, 9, test_of(50), enough)[:n]
        sets[f"all drawn, {name}"] = ordered.back(draw_records(ordered.model, n, key=KEY))
    real = train(sets["reals"], parts.test)
    majority = float(np.mean(parts.test[:, -1] == 0))
    print(f"\nmajority class {majority:.3f}; {n} records in each set")
    head = [*CLASSIFIERS, *(f"agrees {name}" for name in ("Tree", "RF", "Ada")), "told by RF", "told by Tree"]
    table("records", "n", "pair distance", "single distance", *head)
    for name, codes in sets.items():
        print_set(name, codes, parts, real)


def print_set(name: str, codes: Codes, parts: Parts, real: Predictions) -> None:
    if len(codes) < 4:
        line(name, len(codes), *["–"] * 12)
        return
    found = train(codes, parts.test)
    # Reals are told from other reals.
    told = told_apart(parts.test, codes)
    line(
        name,
        len(codes),
        distance(codes, parts.test, 2),
        distance(codes, parts.test, 1),
        *(found.accuracy(one, parts.test) for one in CLASSIFIERS),
        *(found.agreement(one, real) for one in ("Tree", "RF", "Ada")),
        told["RF"],
        told["Tree"],
    )


def print_pass_rates(plain: LearnedStructure, parts: Parts, n: int) -> None:
    ordered = model_of(parts, plain, 1)
    table("attributes drawn", *(f"k {k}, Test {test}" for k in K for test in (1, 2)))
    for n_drawn in DRAWN:
        tests = [
            one for k in K for one in (Acceptance(min_plausible_seeds=k, test="deterministic"), test_of(k))
        ]
        rates = [len(candidates(ordered, parts, n_drawn, one, n)) / n for one in tests]
        line(n_drawn, *rates)


def print_speed(plain: LearnedStructure, parts: Parts, n: int) -> None:
    ordered = model_of(parts, plain, 1)
    candidates(ordered, parts, 9, test_of(50), 100)
    table("candidates, one thread", "seconds", "microseconds each")
    start = time.perf_counter()
    candidates(ordered, parts, 9, test_of(50), n)
    seconds = time.perf_counter() - start
    line(f"{n:,} of {len(parts.seeds):,} seeds, 9 drawn", seconds, 1e6 * seconds / n)


if __name__ == "__main__":
    main()
