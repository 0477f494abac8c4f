"""A dry run: what records would promise and show, from public inputs alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

from mapapp.answers.claims import as_json
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.residents_only import open_dataset
from mapapp.kinds.base.zones import require_attributes
from mapapp.kinds.records.make.attributes import BAND, HOME_PUMA, WORK_PUMA, WORK_TRACT
from mapapp.kinds.records.make.certificate import make_records_certificate
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.plan import Plan
from mapapp.kinds.records.make.run import read_plan, reasons_against, record_lines

__all__ = ["ExpectedRecords", "plan_only"]

_PLACES: Final = (WORK_PUMA, HOME_PUMA, WORK_TRACT, BAND)
_COUNTS: Final = (100, 1_000, 10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRecords:
    """What can be said before anything is drawn.

    Attributes
    ----------
    plan : Plan
    certificate : dict
        The claims that a run would make, without numbers that only a run gives.
    """

    plan: Plan
    certificate: dict[str, object]

    @property
    def table_noise(self) -> float:
        """Root mean square of the noise in a cell of the model's tables, in records of the release."""
        a = math.exp(-float(self.plan.model_epsilon) / len(self.plan.attributes.names))
        return math.sqrt(2 * a) / (1 - a) * self._each

    @property
    def _each(self) -> float:
        """Records of the release for each worker whose record fills the tables."""
        return self.plan.n_total / max(self.plan.n_parameters, 1)

    def error_of(self, count: int) -> float:
        """About the expected error of a count that a cell of one table holds: noise, a share of the workers, draws."""
        return math.sqrt(self.table_noise**2 + count * self._each)

    @property
    def not_carried(self) -> list[tuple[str, str]]:
        """Pairs of attributes of people, neither of which is a parent of the other, or in the same table as it."""
        attributes, structure = self.plan.attributes, self.plan.structure.structure
        people = [at for at, name in enumerate(attributes.names) if name not in _PLACES]
        tables = [{child, *parents} for child, parents in enumerate(structure.parents)]
        return [
            (attributes.names[first], attributes.names[second])
            for first, second in combinations(people, 2)
            if not any({first, second} <= table for table in tables)
        ]

    def to_dict(self) -> dict[str, object]:
        """Plain values for `--json`."""
        names = ("accountant", "promise", "seeds", "model", "resampling_order", "split", "whole_record")
        return {
            **{name: self.certificate[name] for name in names},
            "n_total": self.plan.n_total,
            "not_carried": [list(pair) for pair in self.not_carried],
            "table_noise": self.table_noise,
            "expected_errors": {str(count): self.error_of(count) for count in _COUNTS},
        }

    def lines(self) -> list[str]:
        """Sentences for a person."""
        errors = ", ".join(f"{count:,} ± {self.error_of(count):,.0f}" for count in _COUNTS)
        attributes = self.plan.attributes
        structure = self.plan.structure.structure
        lines = [
            f"{self.plan.n_total:,} records of {len(attributes.names)} attributes",
            *record_lines(self.certificate),
            *(
                f"  table            {name} | {_names(attributes.names, structure.parents[place])}: "
                f"{structure.n_cells(place):,} cells"
                for place, name in enumerate(attributes.names)
            ),
            f"  expected         counts by attributes of one table: {errors} (about, without seeds)",
        ]
        if self.not_carried:
            pairs = ", ".join(f"{first} and {second}" for first, second in self.not_carried)
            lines.append(
                f"  warning          no table holds these together, so records combine them as if they were "
                f"independent, even in ways that no worker can have: {pairs}; name one among the parents of the other "
                "in the schema, or declare with `never` what cannot be (docs/worker-records.md)"
            )
        if self.plan.choice.structure == "learned":
            lines.append(
                "  structure        the tables above are public ones; those learned are known after the run"
            )
        if self.plan.seeds is not None:
            lines.append(
                "  pass rate        cannot be said before the run: it depends on confidential group sizes, and the "
                "promise covers that it is published"
            )
        return [*lines, "  dry run: nothing was spent, drawn, or written, and no worker's record was read"]


def plan_only(dataset_path: Path, choice: Choice, *, report: Report = silent) -> ExpectedRecords:
    """Return what records would promise, from public inputs and the number of workers alone."""
    report("reading the dataset", 0, 0)
    dataset = open_dataset(dataset_path)
    require_attributes(dataset, "records are made of")
    report("planning", 0, 0)
    plan = read_plan(dataset, choice)
    certificate = make_records_certificate(
        dataset,
        plan,
        None,
        reasons=reasons_against(choice, dataset.manifest),
        confidential_inputs={},
        beside=[],
        characteristics=[],
    )
    return ExpectedRecords(plan=plan, certificate=as_json(certificate))


def _names(names: tuple[str, ...], places: tuple[int, ...]) -> str:
    return ", ".join(names[place] for place in places) or "nothing"
