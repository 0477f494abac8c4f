"""Records of Rhode Island in several ways: `python -m benchmarks.records_ri --dataset ri.dataset [--release R …]`.

Prints the total variation distance between tables of synthetic records and of the confidential ones, which for LODES
are public: for the model alone, for seeds with and without a model that fills up what failed, for marginals, and for
releases of flows (`--release`). Then the seconds of each step. Further attributes of workers are left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.replications import line, opened, table
from engine.errors import ParameterError
from engine.records.acceptance import Acceptance
from engine.records.candidates import Candidates, draw_candidates
from engine.records.drawing import draw_records
from engine.records.expected import expected_errors
from engine.records.groups import GroupTable
from engine.records.learned import StructureRules, learn_structure
from engine.records.splitting import split_records
from engine.records.structure import Structure, public_structure
from engine.records.tables import Codes, Model, learn_model
from engine.records.topping_up import TopUp, top_up
from engine.records.tries import seed_promise
from engine.streams import SecretKey
from geodata.store.store import Store, open_store
from geodata.workers.schema import WorkerSchema
from mapapp.kinds.records.make.attributes import RecordAttributes, attributes_over
from mapapp.kinds.records.make.workers import read_codes
from mapapp.kinds.records.measure.validity import TableDistances

SMALLEST: Final = ("--dataset", "{dataset}")
KEY: Final = SecretKey.for_tests()
DELTA: Final = Fraction(1, 10**6)
FORCED_FAIL: Final = Fraction(2, 100)
SHARES: Final = (Fraction(60, 100), Fraction(25, 100), Fraction(15, 100))
"""Seeds, parameters, structure."""
MARGINS: Final = (
    ("work_puma", "home_puma"),
    ("home_puma", "earnings"),
    ("distance_band", "industry"),
    ("work_tract",),
    ("work_puma", "home_puma", "industry", "earnings"),
    ("work_tract", "home_puma"),
    ("work_tract", "distance_band"),
    ("home_puma", "age"),
)
COMMUTE: Final = ("work_puma", "home_puma", "industry", "earnings", "age", "work_tract", "distance_band")


@dataclass(frozen=True, slots=True)
class Study:
    """Confidential records of the seven attributes, with what is public about them."""

    attributes: RecordAttributes
    places: tuple[int, ...]
    codes: Codes
    subset: np.ndarray[tuple[int], np.dtype[np.int8]]
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, dataset: Store) -> Study:
        attributes = attributes_over(dataset, WorkerSchema())
        places = tuple(attributes.place(name) for name in COMMUTE)
        codes = codes_of(dataset, attributes, places)
        mixed = np.random.default_rng(2019).permutation(len(codes))
        return cls(
            attributes, places, np.ascontiguousarray(codes[mixed]), split_records(len(codes), SHARES, key=KEY)
        )

    @property
    def domain(self) -> tuple[int, ...]:
        """Sizes of the seven domains."""
        return tuple(self.attributes.domain[place] for place in self.places)

    def part(self, number: int) -> Codes:
        """Records of one subset."""
        return np.ascontiguousarray(self.codes[self.subset == number])

    def structure(self, n_records: int, wished: Mapping[str, tuple[str, ...]] | None = None) -> Structure:
        """The public structure, with other parents of some attributes if they are given."""
        parents = [
            (wished or {}).get(name, self.attributes.attributes[place].parents)
            for name, place in zip(COMMUTE, self.places, strict=True)
        ]
        at = {place: number for number, place in enumerate(self.places)}
        possible = [
            type(rule)(
                attribute=at[rule.attribute], given=tuple(at[one] for one in rule.given), table=rule.table
            )
            for rule in self.attributes.possible
        ]
        return public_structure(
            self.domain,
            [[COMMUTE.index(name) for name in one] for one in parents],
            n_records,
            coarser={at[place]: units for place, units in self.attributes.coarser.items()},
            possible=possible,
        ).structure

    def timed(self, name: str, draw: Callable[[], Codes]) -> Codes:
        """Draw, and keep the seconds."""
        start = time.perf_counter()
        found = draw()
        self.seconds[name] = time.perf_counter() - start
        return found


THIN: Final[Mapping[str, tuple[str, ...]]] = {
    "earnings": ("industry", "work_puma"),
    "age": ("industry", "earnings"),
}
"""Parents without homes."""
ANY: Final = 10**12
"""Records that fill any table: nothing is dropped."""


def codes_of(store: Store, attributes: RecordAttributes, places: Sequence[int]) -> Codes:
    """The workers of a dataset or of a release by the seven attributes."""
    return np.concatenate([part[:, list(places)] for part in read_codes(store, attributes)])


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", type=Path, required=True, help="a dataset that may be shown")
    parser.add_argument("--release", type=Path, nargs="*", default=(), help="releases of its flows")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    study = Study.of(opened(chosen.dataset))
    n = len(study.codes)
    print(f"{n:,} workers, domains {study.domain}")
    names = [" × ".join(margin) for margin in MARGINS]
    table("total variation distance", "epsilon (add/remove)", "passed", *names)
    again = study.codes[np.random.default_rng(7).integers(0, n, n)]
    show(study, "resample of the truth", "–", "–", again)
    for path in chosen.release:
        # Jobs of a release are by the same blocks as those of its dataset.
        jobs = open_store(path, "release").table("jobs")
        drawn = opened(chosen.dataset).replace_table("jobs", jobs)
        codes = codes_of(drawn, study.attributes, study.places)
        show(study, f"flows, {path.stem}", "replace: see its certificate", "–", codes)
    print_seedless(study)
    print_seeded(study)
    table("step", "seconds")
    for name, seconds in study.seconds.items():
        line(name, f"{seconds:.2f}")


def show(study: Study, name: str, epsilon: object, passed: object, codes: Codes) -> None:
    """One row: distances of all margins."""
    if not len(codes):
        line(name, epsilon, passed, *["–"] * len(MARGINS))
        return
    listed = [study.attributes.attributes[place] for place in study.places]
    distances = TableDistances(listed, study.codes, codes)
    line(name, epsilon, passed, *(f"{distances.of(margin)[0]:.3f}" for margin in MARGINS))


def print_seedless(study: Study) -> None:
    """Marginals, and models of everybody or of a part, without seeds."""
    n = len(study.codes)
    marginals = Structure.of_marginals(study.domain)
    rows = [
        ("marginals", marginals, study.codes, 1),
        ("seedless, a quarter of the workers", study.structure(n // 4), study.part(1), 4),
        ("seedless, thin structure", study.structure(n, THIN), study.codes, 1),
        ("seedless, tables of any size", study.structure(ANY), study.codes, 1),
        ("seedless, everybody", study.structure(n), study.codes, 4),
        ("**seedless, everybody**", study.structure(n), study.codes, 1),
    ]
    model = None
    for name, structure, codes, epsilon in rows:
        model = learned(study, codes, structure, epsilon)
        drawn = study.timed(f"draw {n:,} records", partial(draw_records, model, n, key=KEY))
        show(study, name, epsilon, 1, drawn)
    print_learned_structure(study)
    start = time.perf_counter()
    if model is not None:
        expected_errors(model, n)
    study.seconds["expected errors"] = time.perf_counter() - start


def learned(study: Study, codes: Codes, structure: Structure, epsilon: int) -> Model:
    """A model, and the seconds it took."""
    start = time.perf_counter()
    model = learn_model(codes, structure, epsilon=epsilon, key=KEY)
    study.seconds["learn a model"] = time.perf_counter() - start
    return model


def print_learned_structure(study: Study) -> None:
    """A structure that is learned from its own part, with epsilon 1, and tables of the other parts."""
    n = len(study.codes)
    rest = np.ascontiguousarray(study.codes[study.subset != 2])
    rules = StructureRules(
        n_parameters=len(rest), buckets={}, required=((5, 0),), possible=study.structure(n).possible
    )
    start = time.perf_counter()
    found = learn_structure(study.part(2), study.domain, rules, epsilon=Fraction(1), delta=DELTA, key=KEY)
    study.seconds["learn a structure"] = time.perf_counter() - start
    model = learned(study, rest, found.structure, 1)
    show(study, "seedless, learned structure", 1, 1, draw_records(model, n, key=KEY))


def print_seeded(study: Study) -> None:
    """Seeds with and without a model that fills up what failed."""
    n = len(study.codes)
    parameters = study.part(1)
    thin, full = study.structure(ANY, THIN), study.structure(len(parameters))
    rows = [
        (4, 500, "0.035", "thin", thin, 1, False),
        (4, 500, "0.035", "thin", thin, 1, True),
        (4, 500, "0.035", "thin", thin, 4, True),
        (4, 500, "0.035", "full", full, 4, True),
        (4, 1000, "0.0175", "thin", thin, 1, True),
        (2, 1000, "0.0175", "thin", thin, 1, True),
    ]
    for kept, k, rate, name, structure, epsilon, fills in rows:
        model = learned(study, parameters, structure, epsilon)
        acceptance = Acceptance(min_plausible_seeds=k, threshold_epsilon=rate, forced_fail=FORCED_FAIL)
        seeds = study.part(0)
        groups = GroupTable.of(seeds[:, :kept], study.domain[:kept])
        tried = partial(draw_candidates, seeds, groups, acceptance, model, n=n, key=KEY)
        passed = study.timed(f"try {n:,} candidates", partial(codes_that_pass, tried))
        records = passed
        if fills:
            numbers = TopUp(
                n_total=n,
                n_tried=n,
                n_seeds=len(seeds),
                min_plausible_seeds=k,
                threshold_epsilon=Fraction(rate),
                forced_fail=FORCED_FAIL,
            )
            more = study.timed("top up", partial(top_up, model, passed, kept, numbers, key=KEY))
            records = np.concatenate((passed, more))
        spent = promise_of(acceptance, len(seeds), n)
        how = f"topped up by the {name} model, epsilon {epsilon}" if fills else "not topped up"
        show(study, f"{kept} kept, k {k}, {how}", spent, f"{len(passed) / n:.3f}", records)


def codes_that_pass(tried: Callable[[], Candidates]) -> Codes:
    """Records of the candidates that pass."""
    return tried().codes


def promise_of(acceptance: Acceptance, n_seeds: int, n_tries: int) -> str:
    """Epsilon of the seeds by the sound accountant; none for seeds too few for the test."""
    try:
        promise = seed_promise(acceptance, n_min=n_seeds, n_tries=n_tries, delta=DELTA)
    except ParameterError:
        return "none"
    return f"{float(promise.epsilon):.2f}"


if __name__ == "__main__":
    main()
